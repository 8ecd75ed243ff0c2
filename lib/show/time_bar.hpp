// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <tracer/report.hpp>

namespace tracer::internal {

/// "██▒░░░░░": which part of their time threads ran, were ready to, and waited. Empty where it is not known.
std::string time_bar(const std::vector<TimeShare>& time);

/// "lock 68 %, CPU 31 %": at most that many causes, the largest first; those that hardly matter are left out.
std::string main_causes(const std::vector<TimeShare>& time, std::size_t most);

/// What the signs of the bars mean; lines, each with its end.
std::string time_bar_legend(bool has_unclear);

}  // namespace tracer::internal
