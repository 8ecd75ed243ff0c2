// SPDX-License-Identifier: Apache-2.0
#include "source/proc/proc_text.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <string>

#include <fmt/format.h>

#include "base/proc_stat.hpp"
#include "base/text.hpp"
#include "source/kernel/program_text.hpp"
#include "wire.h"

namespace tracer::internal {
namespace {

constexpr std::size_t kMostArgvBytes = 4u << 20;

std::optional<std::string> link_target(const std::string& link) {
  char buffer[TRACER_PATH_MAX_BYTES];
  const ssize_t size = ::readlink(link.c_str(), buffer, sizeof buffer);
  if (size < 0) return std::nullopt;
  return std::string(buffer, static_cast<std::size_t>(size));
}

/// The kernel makes root the owner where another user may not look at the process: it has executed a setuid program.
std::optional<std::uint32_t> owner_of_link(const std::string& link) {
  struct stat status {};
  if (::lstat(link.c_str(), &status) != 0) return std::nullopt;
  return status.st_uid;
}

}  // namespace

/// /proc/PID/cgroup has a line "number:controllers:path" for each hierarchy; v2's is "0::path".
std::optional<std::string> proc_cgroup_of(std::uint32_t pid, std::string_view wanted, const std::string& proc) {
  const auto text = read_small_file(fmt::format("{}/{}/cgroup", proc, pid));
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

std::optional<std::string> proc_cgroup(std::uint32_t pid, Hierarchy hierarchy, const std::string& proc) {
  const std::string_view controller = hierarchy == Hierarchy::kV1Memory ? "memory"
                                      : hierarchy == Hierarchy::kV1Pids ? "pids"
                                                                        : "";
  return proc_cgroup_of(pid, controller, proc);
}

namespace {

/// The paths of /proc begin at the reader's own cgroup namespace, those of the kernel side at the root.
bool in_first_cgroup_namespace() noexcept {
  constexpr ino_t kInitial = 0xEFFFFFFB;  // PROC_CGROUP_INIT_INO, since 4.6.
  struct stat status {};
  return ::stat("/proc/self/ns/cgroup", &status) != 0 || status.st_ino == kInitial;
}

}  // namespace

bool knows_cgroup_paths() noexcept {
  static const bool knows = in_first_cgroup_namespace();
  return knows;
}

namespace {

/// Where a process has overwritten the end of its arguments, the kernel goes on into its environment, to the first byte
/// that is 0. False: that can't be told. How long the arguments are is hidden from who may not trace the process.
bool leave_environment_out(std::string& argv, std::uint64_t arguments_bytes) {
  if (arguments_bytes != 0) {
    argv.resize(std::min<std::uint64_t>(argv.size(), arguments_bytes));
    return true;
  }
  const std::size_t first_end = argv.find('\0');
  return argv.empty() || (first_end != std::string::npos && first_end + 1 < argv.size());
}

}  // namespace

TextRecord proc_text(std::uint32_t pid, std::uint64_t start_ns, Hierarchy hierarchy, const std::string& proc) {
  const std::string folder = fmt::format("{}/{}", proc, pid);
  TextRecord nothing;
  nothing.pid = pid;
  nothing.start_ns = start_ns;
  TextRecord record = nothing;
  record.text.exe = link_target(folder + "/exe");
  constexpr std::string_view kDeleted = " (deleted)";
  if (std::optional<std::string>& exe = record.text.exe; exe && exe->ends_with(kDeleted))
    exe->resize(exe->size() - kDeleted.size());
  record.text.cwd = link_target(folder + "/cwd");
  record.text.euid = owner_of_link(folder + "/cwd");
  std::optional<std::string> argv = read_small_file(folder + "/cmdline", kMostArgvBytes);
  if (knows_cgroup_paths()) record.cgroup = proc_cgroup(pid, hierarchy, proc);
  // It lives still, so that all this was its own: a pid comes again.
  const auto text = read_small_file(folder + "/stat");
  const auto stat = text ? parse_proc_stat(*text) : std::nullopt;
  if (!stat || start_ns < stat->started_from_ns || start_ns > stat->started_until_ns) return nothing;
  record.copy = (stat->flags & kForkedOnly) != 0;
  if (argv && !leave_environment_out(*argv, stat->arguments_bytes)) argv.reset();
  if (argv) {
    const std::uint64_t total = argv->size();
    if (total > TRACER_ARGV_HEAD_BYTES + TRACER_ARGV_TAIL_BYTES)
      argv->erase(TRACER_ARGV_HEAD_BYTES, total - TRACER_ARGV_HEAD_BYTES - TRACER_ARGV_TAIL_BYTES);
    set_argv(record.text, *argv, total);
  }
  return record;
}

}  // namespace tracer::internal
