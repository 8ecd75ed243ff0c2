// SPDX-License-Identifier: Apache-2.0
#include "source/proc/cgroup_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "base/unique_fd.hpp"
#include "source/kernel/load/kernel_types.hpp"

namespace tracer::internal {
namespace {

struct Mount {
  std::string folder;
  Hierarchy hierarchy = Hierarchy::kV2;
};

bool names_controller(const std::string& options, const std::string& controller) {
  std::istringstream words(options);
  for (std::string word; std::getline(words, word, ',');)
    if (word == controller) return true;
  return false;
}

/// Calls `each` with the folder, the type and the options of each file system that is mounted.
template <class Each>
void for_each_mount(const Each& each) {
  std::istringstream lines(read_small_file("/proc/self/mounts").value_or(""));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string device;
    std::string folder;
    std::string type;
    std::string options;
    if (words >> device >> folder >> type >> options) each(folder, type, options);
  }
}

/// In the order in which the kernel side chooses: memory, pids, v2.
std::vector<Mount> cgroup_mounts() {
  const CgroupLayout layout = cgroup_layout();
  std::vector<Mount> memory;
  std::vector<Mount> pids;
  std::vector<Mount> v2;
  for_each_mount([&](const std::string& folder, const std::string& type, const std::string& options) {
    if (type == "cgroup2") v2.push_back({folder, Hierarchy::kV2});
    if (type != "cgroup") return;
    if (layout.memory_is_v1 && names_controller(options, "memory")) memory.push_back({folder, Hierarchy::kV1Memory});
    if (layout.pids_is_v1 && names_controller(options, "pids")) pids.push_back({folder, Hierarchy::kV1Pids});
  });
  memory.insert(memory.end(), pids.begin(), pids.end());
  memory.insert(memory.end(), v2.begin(), v2.end());
  return memory;
}

std::optional<std::uint64_t> folder_id(const std::string& folder) {
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return std::nullopt;
  return status.st_ino;
}

/// The kernel opens it by its id alone, where the caller may.
std::optional<std::string> folder_by_handle(const Mount& mount, std::uint64_t id) {
  constexpr int kKernfsId = 0xfe;  // FILEID_KERNFS of the kernel, in no header for programs.
  alignas(file_handle) char buffer[sizeof(file_handle) + sizeof id];
  auto* handle = reinterpret_cast<file_handle*>(buffer);
  handle->handle_bytes = sizeof id;
  handle->handle_type = kKernfsId;
  std::memcpy(handle->f_handle, &id, sizeof id);
  const UniqueFd top(::open(mount.folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const UniqueFd found(top ? ::open_by_handle_at(top.get(), handle, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1);
  if (!found) return std::nullopt;
  char path[PATH_MAX];
  const ssize_t size = ::readlink(fmt::format("/proc/self/fd/{}", found.get()).c_str(), path, sizeof path);
  if (size <= 0) return std::nullopt;
  std::string folder(path, static_cast<std::size_t>(size));
  // Removed, or outside of what is mounted here.
  if (folder != mount.folder && !folder.starts_with(mount.folder + "/")) return std::nullopt;
  if (folder_id(folder) != id) return std::nullopt;
  return folder;
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

std::optional<std::string> v1_mount(const std::string& controller) {
  std::optional<std::string> found;
  for_each_mount([&](const std::string& folder, const std::string& type, const std::string& options) {
    if (!found && type == "cgroup" && names_controller(options, controller)) found = folder;
  });
  return found;
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

bool walk_cgroups(const CgroupFolder& top, const std::function<bool(const CgroupFolder&)>& each) {
  if (!each(top)) return false;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(top.folder, ignored)) {
    std::error_code none;
    if (!entry.is_directory(none) || entry.is_symlink(none)) continue;
    const std::string folder = entry.path().string();
    if (const auto id = folder_id(folder); id && !walk_cgroups({*id, top.hierarchy, folder}, each)) return false;
  }
  return true;
}

std::optional<std::string> cgroup_path(Hierarchy hierarchy, std::uint64_t id) {
  for (const Mount& mount : cgroup_mounts()) {
    if (mount.hierarchy != hierarchy) continue;
    std::optional<std::string> folder = folder_by_handle(mount, id);
    const auto top = folder ? std::nullopt : folder_id(mount.folder);
    if (top)
      walk_cgroups({*top, hierarchy, mount.folder}, [&](const CgroupFolder& each) {
        if (each.id == id) folder = each.folder;
        return each.id != id;
      });
    if (folder) return path_in_hierarchy(std::move(*folder));
  }
  return std::nullopt;
}

}  // namespace tracer::internal
