// SPDX-License-Identifier: Apache-2.0
#include "source/proc/proc_memory.hpp"

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/text.hpp"

namespace tracer::internal {
namespace {

/// Its first thread may have ended before the others, which hold the memory still.
bool has_more_threads(const std::string& status) {
  const std::size_t at = status.find("\nThreads:");
  return at != std::string::npos && std::strtoul(status.c_str() + at + 9, nullptr, 10) > 1;
}

}  // namespace

std::optional<std::uint64_t> read_pss_bytes(std::uint32_t pid, std::uint64_t huge_sharers) {
  const std::string folder = fmt::format("/proc/{}", pid);
  const auto text = read_small_file(folder + "/smaps_rollup");
  const auto bytes_of = [&text](std::string_view name) -> std::uint64_t {
    const std::size_t at = text->find(name);
    return at == std::string::npos ? 0 : std::strtoull(text->c_str() + at + name.size(), nullptr, 10) * 1024;
  };
  const std::size_t at = text ? text->find("\nPss:") : std::string::npos;
  if (at == std::string::npos) {
    // Of one that is ending the memory is gone already, of one that has ended all.
    const auto status = read_small_file(folder + "/status");
    const bool ended = status ? status->find("\nVmRSS:") == std::string::npos && !has_more_threads(*status)
                              : ::kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH;
    return ended ? std::optional<std::uint64_t>(0) : std::nullopt;
  }
  // One that is swapped out has none, and lives.
  const std::uint64_t huge =
      bytes_of("\nPrivate_Hugetlb:") + bytes_of("\nShared_Hugetlb:") / std::max<std::uint64_t>(huge_sharers, 1);
  return std::max<std::uint64_t>(bytes_of("\nPss:") + huge, 1);
}

}  // namespace tracer::internal
