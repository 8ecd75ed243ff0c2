// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "source/records.hpp"

namespace tracer::internal {

/// The path of each cgroup that was seen, by hierarchy and id; those of removed ones stay until room is needed.
class CgroupTable {
 public:
  explicit CgroupTable(std::size_t capacity = 16384) : capacity_(capacity) {}

  void set(Hierarchy hierarchy, std::uint64_t id, std::string path);
  /// Null: not known. Valid until the next set().
  const std::string* find(Hierarchy hierarchy, std::uint64_t id) const;

 private:
  struct Key {
    Hierarchy hierarchy;
    std::uint64_t id;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const noexcept {
      return std::hash<std::uint64_t>{}(key.id * 4 + static_cast<std::uint64_t>(key.hierarchy));
    }
  };
  std::size_t capacity_;
  std::unordered_map<Key, std::string, Hash> paths_;
};

/// "v2", "memory" or "pids".
std::string_view hierarchy_name(Hierarchy hierarchy) noexcept;

/// The 64 hexadecimal digits with which Docker, podman, containerd, CRI-O, kubelet and ECS end a container's cgroup;
/// the innermost if there are several.
std::optional<std::string> container_id_of(std::string_view cgroup_path);

}  // namespace tracer::internal
