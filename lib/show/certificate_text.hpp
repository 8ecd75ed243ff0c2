// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tracer/recording.hpp>
#include <tracer/report.hpp>

namespace tracer::internal {

/// "80 of 122 ended processes seen, by the service; ring_full_process_exit: 42", "…, nothing lost": without a full
/// stop.
std::string seen_text(const Completeness& certificate);

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
