// SPDX-License-Identifier: Apache-2.0
#include <tracer/error.hpp>

#include <cstring>

#include <fmt/format.h>

namespace tracer {
namespace {

std::vector<Problem> at_least_one(std::vector<Problem> problems) {
  if (problems.empty()) problems.push_back({ErrorCode::kInternal, 0, "unknown error", {}, {}});
  return problems;
}

std::string describe(const std::vector<Problem>& problems) {
  std::string text;
  for (const Problem& problem : problems) {
    if (!text.empty()) text += '\n';
    text += fmt::format("{} [{}]", problem.what, to_string(problem.code));
    if (problem.error_number != 0) text += fmt::format("\n  system: {}", std::strerror(problem.error_number));
    if (!problem.fix.empty()) text += fmt::format("\n  fix:    {}", problem.fix);
    if (!problem.detail.empty()) text += fmt::format("\n  detail: {}", problem.detail);
  }
  return text;
}

}  // namespace

Error::Error(Problem problem) : Error(std::vector<Problem>{std::move(problem)}) {}

Error::Error(std::vector<Problem> problems)
    : problems_(at_least_one(std::move(problems))), text_(describe(problems_)) {}

std::string to_string(ErrorCode code) { return fmt::format("TRC{}", static_cast<int>(code)); }

}  // namespace tracer
