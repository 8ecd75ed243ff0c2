// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <tracer/event.hpp>

#include "base/process_id.hpp"
#include "base/user_ids.hpp"
#include "context/proven_owners.hpp"
#include "serve/sight.hpp"

namespace tracer::internal {

/// Decides whose each event is. A process belongs to its real user; a subordinate user id to the user whose it is; a
/// process of root, as of sudo, to whom the process belongs that began it, else to the user for whom it is proven to
/// work, as in a container. A run or task belongs to its context's
/// `owner_uid`, and never to whoever gives an equal name or key. What says something of the whole host is root's, but
/// for what carries nothing about others. One thread.
class Ownership {
 public:
  /// `proven`: null: nothing is proven of processes of root.
  explicit Ownership(UserIds user_ids = UserIds(), std::shared_ptr<ProvenOwners> proven = nullptr)
      : user_ids_(std::move(user_ids)), proven_(std::move(proven)) {}

  /// In the order of events.
  Owner owner_of(const Event& event);
  Owner owner_of(const Process& process) const;
  /// Of what lives, told again: nothing new is learned of it.
  Owner owner_of_living(const Event& event) const;
  /// Of a run, a task or labels.
  Owner owner_of(const Context& context) const { return owner_of_task(context, 0, 0); }
  /// The last event that owner_of() was asked about is an exec by which a process has become another user's, as after
  /// `sudo -u`, or in a container: the program that it ran before is not its owner's.
  bool changed_user() const noexcept { return changed_user_; }
  /// What is done as `uid` is the owner's own.
  bool is_own(const Owner& owner, const std::optional<uid_t>& uid) const noexcept {
    return uid && owner_of_user(*uid) == owner;
  }
  /// Whether the owner of a process, which runs as `uid`, may know its context: it may be inside another user's task.
  bool owns(const Owner& owner, const Context& context, const std::optional<uid_t>& uid) const;

  std::size_t processes() const noexcept { return processes_.size(); }

 private:
  struct Living {
    uid_t owner = 0;
    bool is_root = false;  ///< It runs as root by now.
    std::optional<std::uint64_t> cgroup = {};
    std::size_t led = 0;  ///< Runs and tasks of root that began with it, and are not finished.
    bool ended = false;
  };
  struct CgroupOwner {
    Owner owner;
    std::size_t living = 0;  ///< Processes of users.
  };

  template <class E>
  Owner of(const E& event);
  Owner owner_of_task(const Context& context, std::uint32_t pid, std::uint64_t start_ns) const;
  Owner owner_of_user(uid_t uid) const noexcept;
  /// Whose program it ran, as far as events have said.
  bool was_of(const Process& process, const Owner& owner) const;
  Owner owner_of_roots(std::uint32_t pid, std::uint64_t start_ns) const;
  /// That it is not of the user in whose run or task it is.
  void note_stranger(const Process& process, const Owner& owner);
  void remember(const Process& process);
  /// True: from now on it is a user's, for whom it is proven to work.
  bool take_proof(const Process& process, std::uint64_t time_ns);
  void ended(const Process& process);
  void leads(const Context& context, std::uint32_t pid, std::uint64_t start_ns);
  void finished(std::uint32_t pid, std::uint64_t start_ns);
  void join(const Process& process, const Owner& owner);
  void leave_cgroup(const Living& living);

  const UserIds user_ids_;
  const std::shared_ptr<ProvenOwners> proven_;
  bool changed_user_ = false;
  std::unordered_map<ProcessId, Living, ProcessIdHash> processes_;  ///< Living ones that belong to a user.
  std::unordered_map<std::uint64_t, CgroupOwner> cgroups_;
  /// Processes in another user's run or task, living or ended; and the same in their order.
  std::unordered_set<ProcessId, ProcessIdHash> strangers_;
  std::deque<ProcessId> stranger_order_;
};

}  // namespace tracer::internal
