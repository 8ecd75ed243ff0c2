// SPDX-License-Identifier: Apache-2.0
/// What tests of the wall-time ledger compare with.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <tracer/ledger.hpp>

#include "capture.hpp"

namespace expect {

inline constexpr std::uint64_t kMillisecond = 1'000'000;

/// By how much a time may miss the truth: 5 % or 5 ms, more under emulation.
std::uint64_t slack_ns(std::uint64_t truth_ns);
std::uint64_t distance(std::uint64_t a, std::uint64_t b);

std::vector<std::uint64_t> numbers_of(const std::string& text);
/// The numbers that a truth program has written, one a line.
std::vector<std::uint64_t> told(const Capture& capture);

/// Of the last program. Absent, and said: this emulated machine was so slow that its clock was not known at the exec.
std::optional<tracer::Ledger> program_ledger(const Capture& capture);

/// Fails the test when it is absent.
const tracer::Ledger& known(const std::optional<tracer::Ledger>& ledger);
/// The causes with these names have these times, as far as the run queue did not delay their ends; others are near 0.
void waits(const std::optional<tracer::Ledger>& ledger, const std::map<std::string, std::uint64_t>& truths);
/// As long as that, not counting what the run queue has.
void throttled(const std::optional<tracer::Ledger>& ledger, std::uint64_t truth_ns);
/// The causes sum to the wall time, within 1 % and `unsure_ns`, and little is left over.
void sums(const std::optional<tracer::Ledger>& ledger, std::uint64_t unsure_ns = 0);
/// Likewise, of the process taken as a whole: the causes sum to its life; no more than that and no less than its share
/// of CPU time is run time.
void process_sums(const tracer::Account& account, std::uint64_t unsure_ns = 0);
/// Of each process that ended: the sums; and its wall time, where one thread lived all of it in view.
void sound(const Capture& capture, std::uint64_t unsure_ns = 0);

}  // namespace expect
