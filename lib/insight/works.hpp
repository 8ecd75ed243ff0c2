// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>

#include <tracer/event.hpp>

#include "base/bounded.hpp"
#include "context/same_owner.hpp"
#include "insight/finding_book.hpp"
#include "state/book.hpp"

namespace tracer::internal {

/// What a detector keeps of runs and tasks until it is erased, or there are none. Where there is no room, the user
/// whose runs and tasks take most loses the oldest, which is counted.
template <class Work>
class Works {
 public:
  explicit Works(const FindingBook& findings, std::size_t most_bytes = kMostBytes)
      : scopes_(findings.scopes()), rows_(most_bytes, "findings_full", findings.accounts()) {
    // What the other has already stays.
    scopes_.when_gone([this](ScopeId id, ScopeId into) {
      into == ScopeId::kNone ? rows_.erase(id) : static_cast<void>(rows_.rename(id, into));
    });
  }

  Work* find(ScopeId id) { return rows_.find(id); }
  /// Of its innermost run or task.
  Work* find(const Process& process) { return find(scopes_.id_of(*process.context)); }
  /// The same, made where there is none. Null: the process is in no run or task, or there is no room.
  Work* make(const Process& process) { return make(*process.context, owner_of(process)); }
  Work* make(const Context& context, const std::optional<uid_t>& owner) {
    const auto scope = scopes_.make(context);
    return scope ? make(scope->id, owner) : nullptr;
  }
  Work* make(ScopeId id, const std::optional<uid_t>& owner) {
    if (id == ScopeId::kNone) return nullptr;
    Work* const known = find(id);
    return known != nullptr ? known : rows_.put(id, owner, 0, {});
  }
  /// As Bounded::charge().
  bool charge(ScopeId id, std::size_t bytes) { return rows_.charge(id, bytes); }
  bool charge(const Process& process, std::size_t bytes) { return charge(scopes_.id_of(*process.context), bytes); }
  void erase(ScopeId id) { rows_.erase(id); }
  /// As Bounded::each().
  template <class Visit>
  void each(const Visit& visit) {
    rows_.each(visit);
  }

 private:
  /// For 32,768 runs and tasks of which nothing more is charged.
  static constexpr std::size_t kMostBytes = 32768 * (sizeof(Work) + 128);

  Book& scopes_;
  Bounded<ScopeId, Work> rows_;
};

}  // namespace tracer::internal
