// SPDX-License-Identifier: Apache-2.0
#include "source/proc/cgroup_memory.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <set>
#include <sstream>

#include "base/text.hpp"
#include "source/proc/cgroup_files.hpp"
#include "source/proc/proc_text.hpp"

namespace tracer::internal {
namespace {

constexpr std::size_t kMostProcsBytes = 4u << 20;

std::optional<std::uint64_t> number_in(const std::string& file) {
  const auto text = read_small_file(file);
  if (!text || text->empty() || (*text)[0] < '0' || (*text)[0] > '9') return std::nullopt;
  return std::strtoull(text->c_str(), nullptr, 10);
}

/// Of a file with a name and a number in each line.
std::optional<std::uint64_t> field_of(const std::string& text, const std::string& name) {
  const std::string lines = '\n' + text;
  const std::size_t at = lines.find('\n' + name + ' ');
  if (at == std::string::npos) return std::nullopt;
  return std::strtoull(lines.c_str() + at + name.size() + 2, nullptr, 10);
}

/// Before a8c49af3be5f ("memcg: add per-memcg total kernel memory stat", 5.18) only its parts are told.
std::uint64_t kernel_bytes_of(const std::string& stat) {
  if (const auto all = field_of(stat, "kernel")) return *all;
  std::uint64_t sum = 0;
  for (const char* part : {"kernel_stack", "pagetables", "percpu", "slab"}) sum += field_of(stat, part).value_or(0);
  return sum;
}

/// The kernel counts shared memory and files on tmpfs, which only swapping frees, as files, too.
void take_files(const std::string& stat, const char* files, const char* shared, CgroupMemoryRecord& record) {
  record.shmem_bytes = field_of(stat, shared);
  const auto both = field_of(stat, files);
  if (both && record.shmem_bytes) record.file_bytes = *both - std::min(*both, *record.shmem_bytes);
}

void lower(std::optional<std::uint64_t>& limit, std::optional<std::uint64_t> other) {
  if (other && (!limit || *other < *limit)) limit = other;
}

/// "200000 100000": µs of CPU in each period of so many µs; "max 100000": no limit.
std::optional<std::uint64_t> millicpus_of(const std::string& file) {
  const auto text = read_small_file(file);
  if (!text) return std::nullopt;
  std::istringstream words(*text);
  std::uint64_t quota_us = 0;
  std::uint64_t period_us = 0;
  if (!(words >> quota_us >> period_us) || period_us == 0) return std::nullopt;
  return quota_us * 1000 / period_us;
}

/// A limit of a cgroup above holds for all below it.
void read_limits(std::string folder, CgroupMemoryRecord& record) {
  constexpr int kMostLevels = 64;
  for (int level = 0; level < kMostLevels && ::access((folder + "/cgroup.procs").c_str(), F_OK) == 0; ++level) {
    lower(record.memory_limit_bytes, number_in(folder + "/memory.max"));
    lower(record.cpu_limit_millicpus, millicpus_of(folder + "/cpu.max"));
    folder.resize(folder.rfind('/'));
  }
}

void read_v2(const std::string& folder, CgroupMemoryRecord& record) {
  record.memory_bytes = number_in(folder + "/memory.current");
  record.peak_bytes = number_in(folder + "/memory.peak");
  if (const auto stat = read_small_file(folder + "/memory.stat")) {
    take_files(*stat, "file", "shmem", record);
    record.kernel_bytes = kernel_bytes_of(*stat);
  }
  if (const auto stat = read_small_file(folder + "/cpu.stat"))
    if (const auto throttled_us = field_of(*stat, "throttled_usec")) record.throttled_ns = *throttled_us * 1000;
  read_limits(folder, record);
}

std::set<std::uint32_t> pids_in(const std::string& folder) {
  std::set<std::uint32_t> all;
  std::istringstream pids(read_small_file(folder + "/cgroup.procs", kMostProcsBytes).value_or(""));
  for (std::uint32_t pid = 0; pids >> pid;) all.insert(pid);
  return all;
}

/// Microseconds of CPU in each period of so many; a quota of -1: no limit.
std::optional<std::uint64_t> v1_millicpus_of(const std::string& folder) {
  const auto quota_us = number_in(folder + "/cpu.cfs_quota_us");
  const auto period_us = number_in(folder + "/cpu.cfs_period_us");
  if (!quota_us || period_us.value_or(0) == 0) return std::nullopt;
  return *quota_us * 1000 / *period_us;
}

/// From v1's CPU hierarchy, where all processes of the cgroup are in one cgroup.
void read_v1_cpu(const std::string& folder, std::uint32_t pid, CgroupMemoryRecord& record) {
  constexpr int kMostStrays = 16;  // They have begun or ended between two reads; or are elsewhere.
  const auto path = proc_cgroup_of(pid, "cpu");
  const auto mount = path && *path != "/" && !path->starts_with("/..") ? v1_mount("cpu") : std::nullopt;
  if (!mount) return;
  std::string cpu_folder = *mount + *path;
  const auto processes = pids_in(folder);
  const auto limited = pids_in(cpu_folder);
  int strays = 0;
  for (const std::uint32_t each : processes) {
    if (limited.contains(each)) continue;
    const auto other = proc_cgroup_of(each, "cpu");
    if (++strays > kMostStrays || (other && other != path)) return;
  }
  // In nanoseconds, unlike v2's.
  if (const auto stat = read_small_file(cpu_folder + "/cpu.stat"))
    record.throttled_ns = field_of(*stat, "throttled_time");
  for (; cpu_folder.size() > mount->size(); cpu_folder.resize(cpu_folder.rfind('/')))
    lower(record.cpu_limit_millicpus, v1_millicpus_of(cpu_folder));
}

void read_v1(const std::string& folder, std::uint32_t pid, CgroupMemoryRecord& record) {
  record.memory_bytes = number_in(folder + "/memory.usage_in_bytes");
  record.peak_bytes = number_in(folder + "/memory.max_usage_in_bytes");
  record.kernel_bytes = number_in(folder + "/memory.kmem.usage_in_bytes");
  if (const auto stat = read_small_file(folder + "/memory.stat")) {
    take_files(*stat, "total_cache", "total_shmem", record);
    // Without a limit it is the most that a signed number holds, in whole pages.
    constexpr std::uint64_t kNoLimit = 1ULL << 62;
    record.memory_limit_bytes = field_of(*stat, "hierarchical_memory_limit");
    if (record.memory_limit_bytes && *record.memory_limit_bytes >= kNoLimit) record.memory_limit_bytes.reset();
  }
  read_v1_cpu(folder, pid, record);
}

/// Empty: not to be found, or this process has left it.
std::string folder_of(std::uint32_t pid, Hierarchy hierarchy, std::uint64_t id) {
  const auto path = proc_cgroup(pid, hierarchy);
  const auto found = path ? find_cgroup(*path) : std::nullopt;
  return found && found->id == id && found->hierarchy == hierarchy ? found->folder : std::string();
}

void count_processes(const std::string& folder, const std::function<bool(std::uint32_t pid)>& is_tracked,
                     CgroupMemoryRecord& record) {
  struct stat status {};
  constexpr nlink_t kLinksOfLeaf = 2;
  if (::stat(folder.c_str(), &status) != 0 || status.st_nlink > kLinksOfLeaf) record.has_below = true;
  const auto text = read_small_file(folder + "/cgroup.procs", kMostProcsBytes);
  if (!text) return;
  std::uint64_t processes = 0;
  std::uint64_t foreign = 0;
  std::istringstream pids(*text);
  for (std::uint32_t pid = 0; pids >> pid;) {
    ++processes;
    if (!is_tracked(pid)) ++foreign;
  }
  record.processes = processes;
  record.foreign = foreign;
}

}  // namespace

void CgroupMemoryReader::saw(std::uint32_t pid, Hierarchy hierarchy, std::uint64_t cgroup_id) {
  if (hierarchy == Hierarchy::kV1Pids || seen_.size() >= kMostCgroups) return;
  seen_.try_emplace({hierarchy, cgroup_id}, pid);
}

void CgroupMemoryReader::read(Feed& feed, const std::function<std::function<bool(std::uint32_t pid)>()>& tracks,
                              const std::function<void()>& between) {
  if (seen_.empty()) return;
  constexpr auto kLeastPeriod = std::chrono::milliseconds(900);
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return seen_.clear();
  next_ = now + kLeastPeriod;
  const auto is_tracked = tracks();
  std::erase_if(folders_, [this](const auto& known) { return !seen_.contains(known.first); });
  for (const auto& [key, pid] : std::exchange(seen_, {})) {
    between();
    const auto [hierarchy, id] = key;
    std::string& folder = folders_[key];
    if (folder.empty()) folder = folder_of(pid, hierarchy, id);
    if (folder.empty()) continue;
    CgroupMemoryRecord record;
    record.cgroup_id = id;
    record.hierarchy = hierarchy;
    hierarchy == Hierarchy::kV2 ? read_v2(folder, record) : read_v1(folder, pid, record);
    if (!record.memory_bytes) continue;
    count_processes(folder, is_tracked, record);
    feed.record(record);
  }
}

}  // namespace tracer::internal
