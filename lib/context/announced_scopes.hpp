// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "context/announcements.hpp"
#include "context/context_place.hpp"
#include "context/scope.hpp"

namespace tracer::internal {

/// A scope that was put into others after processes had come to it.
struct ScopeMove {
  std::shared_ptr<Scope> scope;
  std::vector<std::shared_ptr<Scope>> gained;  ///< That are around it since this move, the outermost first.
};

/// Puts processes into the runs and tasks that were announced. One thread at a time.
class AnnouncedScopes {
 public:
  /// Programs of one process are compared with so many patterns at most, those for the nearest ancestors first.
  static constexpr std::size_t kMostCompared = 1024;

  /// `contexts` and `kept` outlive this.
  AnnouncedScopes(ScopeContexts& contexts, KeptScopes& kept, std::size_t most_announcements,
                  std::shared_ptr<Accounts> accounts)
      : contexts_(contexts),
        kept_(kept),
        shares_(most_announcements, std::move(accounts)),
        announcements_(most_announcements, contexts.user_ids(), shares_) {}

  AnnouncementShares& shares() noexcept { return shares_; }

  Announcements& announcements() noexcept { return announcements_; }
  const Announcements& announcements() const noexcept { return announcements_; }

  /// Compares a process, and those that it comes from, with what was announced since the last time.
  void look(ContextPlace& place, const Process& process);
  std::vector<ScopeMove> take_moves() { return std::exchange(moves_, {}); }
  bool has_moves() const noexcept { return !moves_.empty(); }
  /// Has `scope` in `outer` from now on.
  void put(const std::shared_ptr<Scope>& scope, const std::shared_ptr<Scope>& outer);

 private:
  void look(Lineage& lineage);
  void compare(std::shared_ptr<Scope>& scope, const std::shared_ptr<Lineage>& above, const Process& process,
               const std::optional<Folder>& folder, bool ended);
  void follow(std::shared_ptr<Scope>& scope, const Lineage& above);
  void meet(Announcements::Known& known, std::string_view key, std::shared_ptr<Scope>& scope, const Process& process,
            bool ended);
  std::shared_ptr<Scope> made(const Context& context, std::string_view key, const std::shared_ptr<Scope>& scope,
                              const Process& process, bool ended);
  void say(Scope& scope, const Context& context, const Requested& requested, const Process& process);
  void give_run(Scope& scope, const Context& context, const Process& process);
  void join(std::shared_ptr<Scope>& scope, const std::shared_ptr<Scope>& announced);
  /// Whether what `said_by` says holds for the scope. Absent: root, or the session's own owner.
  bool may_speak_of(Scope& scope, std::optional<uid_t> said_by);

  ScopeContexts& contexts_;
  KeptScopes& kept_;
  AnnouncementShares shares_;
  Announcements announcements_;
  /// That only announcements speak of, by what is around them and their names.
  std::map<std::pair<const Scope*, std::string>, std::weak_ptr<Scope>> runs_;
  std::vector<ScopeMove> moves_;
};

}  // namespace tracer::internal
