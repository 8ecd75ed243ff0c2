// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/subjects.hpp"

namespace tracer::internal {

struct WhyOptions {
  std::uint64_t wall_offset_ns = 0;  ///< HostInfo::wall_offset_ns.
  std::optional<std::size_t> columns = {};
};

/// All findings of a recording, each whole.
std::string why_text(const Subjects& subjects, const WhyOptions& options);
/// One task, run or process: when it ran, where its time went, its processes, findings, and what ran beside it.
std::string why_text(const Subjects& subjects, const Subject& subject, const WhyOptions& options);
/// A line for each, with what tells it from the others: what a name that says too little may mean.
std::string list_of_subjects(const std::vector<Subject>& subjects);

}  // namespace tracer::internal
