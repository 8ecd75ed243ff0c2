// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <tracer/event.hpp>

#include "serve/sight.hpp"

namespace tracer::internal {

/// A range of user ids that belongs to a user, as /etc/subuid has it: rootless containers run with these.
struct SubordinateIds {
  uid_t owner = 0;
  uid_t first = 0;
  std::uint64_t count = 0;
};

/// From the text of /etc/subuid. Lines with a name that `uid_of` does not know are left out.
std::vector<SubordinateIds> subordinate_ids(std::string_view text, uid_t (*uid_of)(std::string_view name));

/// Decides whose each event is. A process belongs to its real user; a subordinate user id to the user whose it is; a
/// process of root, as of sudo, to whom the process belongs that began it. A run or task belongs to whom its processes
/// belong; one in which processes of several users were seen is root's. What says something of the whole host is
/// root's, but for what carries nothing about others. One thread.
class Ownership {
 public:
  explicit Ownership(std::vector<SubordinateIds> ranges = {}) : ranges_(std::move(ranges)) {}

  /// In the order of events.
  Owner owner_of(const Event& event);
  Owner owner_of(const Process& process) const;

  std::size_t processes() const noexcept { return processes_.size(); }

 private:
  struct Id {
    std::uint64_t start_ns = 0;
    std::uint32_t pid = 0;
    bool operator==(const Id&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Id& id) const noexcept {
      return static_cast<std::size_t>(id.start_ns * 0x9e3779b97f4a7c15u + id.pid);
    }
  };
  template <class E>
  Owner of(const E& event);
  Owner owner_of_task(const Context& context, std::uint32_t pid, std::uint64_t start_ns) const;
  Owner owner_of_user(uid_t uid) const noexcept;
  void remember(const Process& process);
  void join(const Process& process, const Owner& owner);
  void meet(std::unordered_map<std::uint64_t, Owner>& owners, std::uint64_t key, const Owner& owner);

  std::vector<SubordinateIds> ranges_;
  std::unordered_map<Id, uid_t, Hash> processes_;    ///< Living ones that belong to a user; 0: to root, after all.
  std::unordered_map<std::uint64_t, Owner> scopes_;  ///< Of runs and tasks, by their keys.
  std::unordered_map<std::uint64_t, Owner> cgroups_;
};

}  // namespace tracer::internal
