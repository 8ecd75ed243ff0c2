// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include <tracer/process.hpp>

#include "base/counter.hpp"
#include "source/host_questions.hpp"
#include "source/records.hpp"

namespace tracer::internal {

/// Each cgroup that was seen, by hierarchy and id, as the part that its processes share. When room is needed, those
/// that nobody holds any more are forgotten; one that comes again is looked up, as the kernel side sends each path only
/// once.
class CgroupTable {
 public:
  static constexpr std::size_t kCapacity = 4096;

  /// `host`: outlives it; null: nobody knows paths.
  explicit CgroupTable(const HostQuestions* host = nullptr, std::size_t capacity = kCapacity)
      : host_(host), capacity_(capacity), room_until_(capacity) {}

  /// Its path is known now. The part that new processes in it share. Never null.
  std::shared_ptr<const Cgroup> set(Hierarchy hierarchy, std::uint64_t id, std::string path);
  /// Never null; without a path where none is known.
  std::shared_ptr<const Cgroup> part(Hierarchy hierarchy, std::uint64_t id);
  /// Cgroups whose path was forgotten and could not be found again. From any thread.
  std::uint64_t forgotten() const noexcept { return forgotten_.value(); }

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
  void make_room();

  const HostQuestions* host_;
  std::size_t capacity_;
  std::size_t room_until_;  ///< Entries until the next look for ones that nobody holds.
  std::unordered_map<Key, std::shared_ptr<const Cgroup>, Hash> cgroups_;
  std::unordered_set<Key, Hash> forgotten_keys_;  ///< Whose paths were known once.
  Counter forgotten_;
};

/// "v2", "memory" or "pids".
std::string_view hierarchy_name(Hierarchy hierarchy) noexcept;
Hierarchy hierarchy_of(const Cgroup& cgroup) noexcept;

/// True: `cgroup` is the one with this id.
bool in_cgroup(const Cgroup& cgroup, Hierarchy hierarchy, std::uint64_t id) noexcept;

/// The 64 hexadecimal digits with which Docker, podman, containerd, CRI-O, kubelet and ECS end a container's cgroup;
/// the innermost if there are several.
std::optional<std::string> container_id_of(std::string_view cgroup_path);

}  // namespace tracer::internal
