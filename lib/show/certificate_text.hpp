// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <tracer/recording.hpp>
#include <tracer/report.hpp>

namespace tracer::internal {

/// Who has seen what a certificate is about, in words. Empty: this session itself.
std::string_view seen_by(Tier tier) noexcept;

/// What is not known of a report, in words.
std::vector<std::string> unknown_of(const Report& report);

/// What a recording could not give back, in words. Empty: all is there.
std::vector<std::string> lines_of(const RecordingDamage& damage);

}  // namespace tracer::internal
