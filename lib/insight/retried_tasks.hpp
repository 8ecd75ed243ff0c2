// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tracer/event.hpp>

#include "insight/finding_book.hpp"

namespace tracer::internal {

/// Finds tasks whose attempts fail alike, or run out of memory one after the other, and notes of those that failed that
/// a later attempt has succeeded.
class RetriedTasks {
 public:
  explicit RetriedTasks(FindingBook& book) : book_(book), attempts_(kMostBytes, {}, book.accounts()) {
    book.scopes().when_gone([this](ScopeId id, ScopeId into) { gone(id, into); });
  }

  /// Findings about the failure of a task. Null: there are none.
  using Said = std::shared_ptr<const std::vector<FindingDraft>>;

  /// `ran_out_of_memory`: the kernel killed a process of it for that; more memory may be all that it needs. `said`: of
  /// what failed in it.
  void finished(const TaskFinish& finish, bool ran_out_of_memory, const Said& said, std::vector<Event>& events);

 private:
  void gone(ScopeId run, ScopeId into);

  static constexpr std::size_t kMostBytes = 4u << 20;
  struct Attempt {
    std::optional<std::int32_t> exit_code;
    std::optional<std::int32_t> exit_signal;
    Requested requested = {};
    bool ran_out_of_memory = false;
    Said said = {};
    std::uint64_t count = 1;
    std::uint64_t starved = 0;  ///< Attempts in a row, up to this one, that ran out of memory.
    std::string sizes = {};     ///< The memory that these requested, in words.
  };

  void report_starved(const Attempt& attempt, const TaskFinish& finish, std::vector<Event>& events);

  void succeeded(const Attempt& failed, const TaskFinish& finish, std::vector<Event>& events);
  static bool may_do_better(const Attempt& next, const Attempt& last);

  FindingBook& book_;
  /// The last ones that failed, by hashes of their tasks' names.
  using Attempts = std::map<std::uint64_t, Attempt>;
  Bounded<ScopeId, Attempts> attempts_;  ///< By run.
};

}  // namespace tracer::internal
