// SPDX-License-Identifier: Apache-2.0
#include "source/kernel/proc_text.hpp"

#include <unistd.h>

#include <cstring>
#include <optional>
#include <sstream>
#include <string>

#include <fmt/format.h>

#include "base/text.hpp"
#include "wire.h"

namespace tracer {
namespace {

constexpr std::uint32_t kUnknownSize = 0xffffffff;

std::optional<std::string> link_target(const std::string& link) {
  char buffer[TRACER_PATH_MAX_BYTES];
  const ssize_t size = ::readlink(link.c_str(), buffer, sizeof buffer);
  if (size < 0) return std::nullopt;
  return std::string(buffer, static_cast<std::size_t>(size));
}

}  // namespace

/// /proc/PID/cgroup has a line "number:controllers:path" for each hierarchy; v2's is "0::path".
std::optional<std::string> proc_cgroup(std::uint32_t pid, std::uint32_t hierarchy) {
  const std::string_view wanted = hierarchy == TRACER_HIERARCHY_V1_MEMORY ? "memory"
                                  : hierarchy == TRACER_HIERARCHY_V1_PIDS ? "pids"
                                                                          : "";
  const auto text = read_small_file(fmt::format("/proc/{}/cgroup", pid));
  if (!text) return std::nullopt;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::istringstream controllers(line.substr(first + 1, second - first - 1));
    if (wanted.empty() && line.starts_with("0:")) return line.substr(second + 1);
    for (std::string controller; std::getline(controllers, controller, ',');)
      if (!wanted.empty() && controller == wanted) return line.substr(second + 1);
  }
  return std::nullopt;
}

std::vector<std::byte> proc_text(std::uint32_t pid, std::uint64_t start_ns, std::uint32_t hierarchy) {
  const std::string folder = fmt::format("/proc/{}", pid);
  std::optional<std::string> exe = link_target(folder + "/exe");
  constexpr std::string_view kDeleted = " (deleted)";
  if (exe && exe->ends_with(kDeleted)) exe->resize(exe->size() - kDeleted.size());
  const std::optional<std::string> cwd = link_target(folder + "/cwd");
  std::optional<std::string> argv = read_small_file(folder + "/cmdline", 4u << 20);
  const std::optional<std::string> cgroup = proc_cgroup(pid, hierarchy);

  tracer_wire_text record{};
  record.argv_total = argv ? argv->size() : 0;
  constexpr std::size_t kMost = TRACER_ARGV_HEAD_BYTES + TRACER_ARGV_TAIL_BYTES;
  if (argv && argv->size() > kMost)
    *argv = argv->substr(0, TRACER_ARGV_HEAD_BYTES) + argv->substr(argv->size() - TRACER_ARGV_TAIL_BYTES);

  std::string text;
  const auto append = [&text](const std::optional<std::string>& part) {
    if (!part) return kUnknownSize;
    text += *part;
    return static_cast<std::uint32_t>(part->size());
  };
  record.exe_size = append(exe);
  record.cwd_size = append(cwd);
  record.argv_size = append(argv);
  record.cgroup_size = append(cgroup);
  record.header.kind = TRACER_WIRE_TEXT;
  record.header.size = static_cast<std::uint32_t>(sizeof record + text.size());
  record.header.pid = pid;
  record.header.start_ns = start_ns;

  std::vector<std::byte> bytes(sizeof record + text.size());
  std::memcpy(bytes.data(), &record, sizeof record);
  std::memcpy(bytes.data() + sizeof record, text.data(), text.size());
  return bytes;
}

}  // namespace tracer
