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
