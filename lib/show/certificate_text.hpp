// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tracer/recording.hpp>
#include <tracer/report.hpp>

namespace tracer::internal {

/// "60 of 61 ended processes seen, by the service", or that nobody knows how many ended.
std::string ended_text(const Completeness& certificate);
/// "ring_full_process_exit: 42"; a gap without its number, which may stand for one that is not known.
std::string loss_text(std::string_view cause, std::uint64_t count);

/// Families that are missing for the same reason.
struct MissingFamilies {
  std::string names;                 ///< "without waits, files", or "not all of lifecycle".
  const Problem* problem = nullptr;  ///< Of the certificate. Null: no reason is known.
};
std::vector<MissingFamilies> missing_families(const Completeness& certificate);

/// What is not known of a report, in words.
std::vector<std::string> unknown_of(const Report& report);

/// What a recording could not give back, in words. Empty: all is there.
std::vector<std::string> lines_of(const RecordingDamage& damage);

}  // namespace tracer::internal
