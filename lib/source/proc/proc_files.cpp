// SPDX-License-Identifier: Apache-2.0
#include "source/proc/proc_files.hpp"

#include <dirent.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <memory>

#include <fmt/format.h>

#include "base/number.hpp"
#include "base/text.hpp"
#include "source/proc/proc_text.hpp"

namespace tracer::internal {
namespace {

constexpr std::size_t kMostOfOne = 16u << 10;
constexpr std::size_t kMostChildren = 4u << 20;
/// The line of interrupts is before the one that matters, and has a number for each.
constexpr std::size_t kMostOfMachine = 4u << 20;

/// The number at the beginning, behind blanks.
std::optional<std::uint64_t> leading_number(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return std::nullopt;
  std::uint64_t value = 0;
  if (std::from_chars(text.data() + first, text.data() + text.size(), value).ec != std::errc()) return std::nullopt;
  return value;
}

/// Of a line "name: 123 …".
std::optional<std::uint64_t> number_of(std::string_view text, std::string_view name) {
  for (std::size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1))
    if (at == 0 || text[at - 1] == '\n') return leading_number(text.substr(at + name.size()));
  return std::nullopt;
}

std::optional<std::uint64_t> pages_of(std::string_view text, std::string_view name) {
  static const auto page_kib = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) / 1024;
  const auto kib = number_of(text, name);
  return kib ? std::optional(*kib / page_kib) : std::nullopt;
}

/// Of a line "name: 5 5 5 5"; absent: they are not the same, or not there.
std::optional<std::uint32_t> same_number_of(std::string_view text, std::string_view name) {
  const std::size_t at = text.starts_with(name) ? 0 : text.find(fmt::format("\n{}", name));
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view line = text.substr(at + (at == 0 ? 0 : 1) + name.size());
  line = line.substr(0, line.find('\n'));
  std::optional<std::uint32_t> same;
  while (const auto number = leading_number(line)) {
    if (same && *same != *number) return std::nullopt;
    same = static_cast<std::uint32_t>(*number);
    line.remove_prefix(line.find_first_of("0123456789"));
    line.remove_prefix(std::min(line.find_first_not_of("0123456789"), line.size()));
  }
  return same;
}

std::vector<std::uint32_t> numbers(std::string_view text) {
  std::vector<std::uint32_t> found;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(" \n"), text.size());
    std::uint32_t value = 0;
    if (std::from_chars(text.data(), text.data() + end, value).ec == std::errc() && value != 0) found.push_back(value);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return found;
}

}  // namespace

std::optional<SchedulerTimes> parse_schedstat(std::string_view text) {
  const auto cpu_ns = leading_number(text);
  const std::size_t blank = text.find(' ');
  const auto run_queue_ns = blank == std::string_view::npos ? std::nullopt : leading_number(text.substr(blank));
  if (!cpu_ns || !run_queue_ns) return std::nullopt;
  return SchedulerTimes{*cpu_ns, *run_queue_ns};
}

std::optional<ProcStatus> parse_proc_status(std::string_view text) {
  const auto uid = number_of(text, "Uid:");
  if (!uid) return std::nullopt;
  ProcStatus status;
  status.uid = static_cast<std::uint32_t>(*uid);
  status.all_uid = same_number_of(text, "Uid:");
  status.all_gid = same_number_of(text, "Gid:");
  status.voluntary_switches = number_of(text, "voluntary_ctxt_switches:");
  status.involuntary_switches = number_of(text, "nonvoluntary_ctxt_switches:");
  status.peak_pages = pages_of(text, "VmHWM:").value_or(0);
  const auto anonymous = pages_of(text, "RssAnon:");
  const auto file = pages_of(text, "RssFile:");
  const auto shared = pages_of(text, "RssShmem:");
  if (anonymous && file && shared)
    status.memory = {*anonymous, *file, *shared, pages_of(text, "HugetlbPages:").value_or(0)};
  return status;
}

bool parse_proc_io(std::string_view text, RawAccount& account) {
  const std::pair<std::string_view, std::uint64_t*> lines[] = {
      {"rchar:", &account.read_bytes},
      {"wchar:", &account.written_bytes},
      {"syscr:", &account.read_calls},
      {"syscw:", &account.write_calls},
      {"read_bytes:", &account.storage_read_bytes},
      {"write_bytes:", &account.storage_written_bytes},
      {"cancelled_write_bytes:", &account.storage_cancelled_bytes}};
  for (const auto& [name, value] : lines) {
    const auto number = number_of(text, name);
    if (!number) return false;
    *value = *number;
  }
  return true;
}

ProcFiles::ProcFiles(std::string root)
    : root_(std::move(root)),
      lists_children_(::access(fmt::format("{}/self/task/{}/children", root_, ::getpid()).c_str(), R_OK) == 0) {}

std::optional<std::string> ProcFiles::read(std::uint32_t pid, const char* name, std::size_t limit) const {
  return read_small_file(fmt::format("{}/{}/{}", root_, pid, name), limit);
}

std::optional<ProcStat> ProcFiles::stat(std::uint32_t pid) const {
  const auto text = read(pid, "stat", kMostOfOne);
  return text ? parse_proc_stat(*text) : std::nullopt;
}

bool ProcFiles::is_gone(std::uint32_t pid) const noexcept {
  char path[512];
  const auto end = fmt::format_to_n(path, sizeof path - 1, "{}/{}/stat", root_, pid);
  *end.out = '\0';
  if (::access(path, F_OK) == 0 || (errno != ENOENT && errno != ESRCH)) return false;
  // A mount may hide it from the moment on in which it becomes another user's.
  return root_ != "/proc" || (::kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH);
}

std::optional<SchedulerTimes> ProcFiles::scheduler_times(std::uint32_t pid) const {
  const auto text = read(pid, "schedstat", kMostOfOne);
  return text ? parse_schedstat(*text) : std::nullopt;
}

std::optional<ProcStatus> ProcFiles::status(std::uint32_t pid) const {
  const auto text = read(pid, "status", kMostOfOne);
  return text ? parse_proc_status(*text) : std::nullopt;
}

bool ProcFiles::io(std::uint32_t pid, RawAccount& account) const {
  const auto text = read(pid, "io", kMostOfOne);
  return text && parse_proc_io(*text, account);
}

std::optional<std::pair<Hierarchy, std::string>> ProcFiles::cgroup(std::uint32_t pid) const {
  for (const Hierarchy hierarchy : {Hierarchy::kV1Memory, Hierarchy::kV1Pids})
    if (auto path = proc_cgroup(pid, hierarchy, root_); path && *path != "/") return {{hierarchy, std::move(*path)}};
  if (auto path = proc_cgroup(pid, Hierarchy::kV2, root_)) return {{Hierarchy::kV2, std::move(*path)}};
  return std::nullopt;
}

std::vector<std::uint32_t> ProcFiles::numbers_in(const std::string& folder) const {
  std::vector<std::uint32_t> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(folder.c_str()), ::closedir);
  if (!open) return found;
  while (const dirent* entry = ::readdir(open.get())) {
    if (const auto value = parse_number<std::uint32_t>(entry->d_name).value_or(0)) found.push_back(value);
  }
  return found;
}

std::vector<std::uint32_t> ProcFiles::threads(std::uint32_t pid) const {
  return numbers_in(fmt::format("{}/{}/task", root_, pid));
}

std::vector<std::uint32_t> ProcFiles::children(std::uint32_t pid, std::uint32_t tid) const {
  const auto text = read_small_file(fmt::format("{}/{}/task/{}/children", root_, pid, tid), kMostChildren);
  return text ? numbers(*text) : std::vector<std::uint32_t>();
}

std::vector<std::uint32_t> ProcFiles::pids() const { return numbers_in(root_); }

std::optional<ProcFiles::Load> ProcFiles::load() const {
  const auto text = read_small_file(root_ + "/loadavg", kMostOfOne);
  if (!text) return std::nullopt;
  const std::size_t slash = text->find('/');
  const std::size_t blank = slash == std::string::npos ? slash : text->find(' ', slash);
  if (blank == std::string::npos) return std::nullopt;
  const auto threads = leading_number(std::string_view(*text).substr(slash + 1));
  const auto last_pid = leading_number(std::string_view(*text).substr(blank));
  if (!threads || !last_pid) return std::nullopt;
  return Load{*threads, *last_pid};
}

std::optional<std::uint64_t> ProcFiles::forks() const {
  const auto text = read_small_file(root_ + "/stat", kMostOfMachine);
  return text ? number_of(*text, "processes ") : std::nullopt;
}

}  // namespace tracer::internal
