// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace tracer::internal {

/// The number behind the last CPU of a list as "0-3,8-11"; absent when it is none.
inline std::optional<int> end_of_cpu_list(std::string_view list) noexcept {
  const std::size_t begin = list.find_last_of("-,");
  const std::string_view last = begin == std::string_view::npos ? list : list.substr(begin + 1);
  int cpu = -1;
  if (std::from_chars(last.data(), last.data() + last.size(), cpu).ec != std::errc() || cpu < 0) return std::nullopt;
  return cpu + 1;
}

}  // namespace tracer::internal
