// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>

#include <tracer/event.hpp>

#include "base/bounded.hpp"
#include "context/same_owner.hpp"
#include "insight/finding_book.hpp"
#include "insight/renamed_keys.hpp"
#include "state/process_spans.hpp"

namespace tracer::internal {

/// The key of a context's run or task. 0: it has none.
inline std::uint64_t key_of(const Context& context, bool is_run) noexcept {
  const auto& key = is_run ? context.run_key : context.task_key;
  return key ? static_cast<std::uint64_t>(*key) : 0;
}

/// What findings are made of, by run and task until it is erased. Where there is no room, the user whose runs and tasks
/// take most loses the oldest, which is counted.
template <class Work>
class Works {
  using Rows = Bounded<std::uint64_t, Work>;

 public:
  explicit Works(const FindingBook& book) : rows_(kMostBytes, "findings_full", book.accounts()) {}

  Work* find(std::uint64_t key) { return rows_.find(key); }
  Work* find(const Context& context, bool is_run) { return find(key_of(context, is_run)); }
  /// By work_key().
  Work* find(const Process& process) { return find(work_key(*process.context)); }
  /// The same, made where there is none. Null: the process is in no run or task, or there is no room.
  Work* make(const Process& process) { return make(work_key(*process.context), owner_of(process)); }
  Work* make(std::uint64_t key, const std::optional<uid_t>& owner) {
    if (key == 0) return nullptr;
    Work* const known = find(key);
    return known != nullptr ? known : rows_.put(key, owner, 0, {});
  }
  /// As Bounded::charge().
  bool charge(const Process& process, std::size_t bytes) { return rows_.charge(work_key(*process.context), bytes); }
  void erase(std::uint64_t key) { rows_.erase(key); }
  void erase(const Context& context, bool is_run) { erase(key_of(context, is_run)); }
  /// What has the new key already stays.
  void saw(const ContextChange& change) {
    for_each_new_key(change, [this](std::uint64_t from, std::uint64_t to) { rows_.rename(from, to); });
  }
  /// As Bounded::each().
  template <class Visit>
  void each(const Visit& visit) {
    rows_.each(visit);
  }

 private:
  /// For 32,768 runs and tasks of which nothing more is charged.
  static constexpr std::size_t kMostBytes = 32768 * (sizeof(Work) + 128);

  Rows rows_;
};

}  // namespace tracer::internal
