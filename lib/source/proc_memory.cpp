// SPDX-License-Identifier: Apache-2.0
#include "source/proc_memory.hpp"

#include <cstdlib>

#include <fmt/format.h>

#include "base/text.hpp"

namespace tracer {

std::optional<std::uint64_t> read_pss_bytes(std::uint32_t pid) {
  const auto text = read_small_file(fmt::format("/proc/{}/smaps_rollup", pid).c_str());
  if (!text) return std::nullopt;
  const std::size_t at = text->find("\nPss:");
  if (at == std::string::npos) return std::nullopt;
  return std::strtoull(text->c_str() + at + 5, nullptr, 10) * 1024;
}

}  // namespace tracer
