// SPDX-License-Identifier: Apache-2.0
#include "source/kernel/cgroup_files.hpp"

#include <sys/stat.h>

#include <filesystem>
#include <sstream>
#include <vector>

#include "base/text.hpp"
#include "source/kernel/kernel_support.hpp"
#include "wire.h"

namespace tracer {
namespace {

struct Mount {
  std::string folder;
  std::uint32_t hierarchy = 0;
};

bool names_controller(const std::string& options, const std::string& controller) {
  std::istringstream words(options);
  for (std::string word; std::getline(words, word, ',');)
    if (word == controller) return true;
  return false;
}

/// In the order in which the kernel side chooses: memory, pids, v2.
std::vector<Mount> cgroup_mounts() {
  const CgroupLayout layout = cgroup_layout();
  std::vector<Mount> memory;
  std::vector<Mount> pids;
  std::vector<Mount> v2;
  std::istringstream lines(read_small_file("/proc/self/mounts").value_or(""));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string device;
    std::string folder;
    std::string type;
    std::string options;
    if (!(words >> device >> folder >> type >> options)) continue;
    if (type == "cgroup2") v2.push_back({folder, TRACER_HIERARCHY_V2});
    if (type != "cgroup") continue;
    if (layout.memory_is_v1 && names_controller(options, "memory"))
      memory.push_back({folder, TRACER_HIERARCHY_V1_MEMORY});
    if (layout.pids_is_v1 && names_controller(options, "pids")) pids.push_back({folder, TRACER_HIERARCHY_V1_PIDS});
  }
  memory.insert(memory.end(), pids.begin(), pids.end());
  memory.insert(memory.end(), v2.begin(), v2.end());
  return memory;
}

std::optional<std::uint64_t> folder_id(const std::string& folder) {
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return std::nullopt;
  return status.st_ino;
}

}  // namespace

std::optional<CgroupFolder> find_cgroup(const std::string& path) {
  const std::vector<Mount> mounts = cgroup_mounts();
  for (const Mount& mount : mounts)
    if (path == mount.folder || path.starts_with(mount.folder + "/"))
      if (const auto id = folder_id(path)) return CgroupFolder{*id, mount.hierarchy, path};
  for (const Mount& mount : mounts) {
    const std::string folder = mount.folder + (path.starts_with('/') ? "" : "/") + path;
    if (const auto id = folder_id(folder)) return CgroupFolder{*id, mount.hierarchy, folder};
  }
  return std::nullopt;
}

std::string path_in_hierarchy(std::string path) {
  for (const Mount& mount : cgroup_mounts())
    if (path == mount.folder) {
      return "/";
    } else if (path.starts_with(mount.folder + "/")) {
      path.erase(0, mount.folder.size());
      break;
    }
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

void walk_cgroups(const CgroupFolder& top, const std::function<void(const CgroupFolder&)>& each) {
  each(top);
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(top.folder, ignored)) {
    std::error_code none;
    if (!entry.is_directory(none) || entry.is_symlink(none)) continue;
    const std::string folder = entry.path().string();
    if (const auto id = folder_id(folder)) walk_cgroups({*id, top.hierarchy, folder}, each);
  }
}

}  // namespace tracer
