// SPDX-License-Identifier: Apache-2.0
/// Findings as people read them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <tracer/finding.hpp>

namespace tracer::internal {

/// Findings of one code about one tool in one step, or task without a step: the first of them stands for all.
struct AlikeFindings {
  const Finding* first = nullptr;
  std::uint64_t others = 0;
};
/// In the order of the first ones.
std::vector<AlikeFindings> alike(const std::vector<Finding>& findings);

/// The worst five, the others counted; "" if there are none. `findings`: as in Report, the worst first.
std::string format_findings(const std::vector<Finding>& findings, std::optional<std::size_t> columns);

/// One with what is known of it besides its sentence. `origin_ns`: when the recording began.
std::string format_finding(const Finding& finding, std::uint64_t origin_ns, std::optional<std::size_t> columns);

/// "2.0 s after the start", "at the start".
std::string moment_of(std::uint64_t time_ns, std::uint64_t origin_ns);

/// "3 errors, 1 note"; empty if there are none. `what` stands before each word.
std::string count_by_severity(const std::vector<const Finding*>& findings, const std::string& what = {});

}  // namespace tracer::internal
