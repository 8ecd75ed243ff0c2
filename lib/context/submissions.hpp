// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tracer/announcement.hpp>
#include <tracer/event.hpp>

#include "base/bounded.hpp"
#include "base/caller.hpp"
#include "base/context_key.hpp"
#include "context/announcements.hpp"
#include "context/keys.hpp"

namespace tracer::internal {

/// What was told of a submission last: by a TaskSubmit of that time.
struct ToldOfSubmitted {
  enum class State : std::uint8_t { kQueued, kStarted, kElsewhere };
  State state = State::kQueued;
  std::uint64_t time_ns = 0;

  /// Absent: it is over then.
  static std::optional<State> state_from(std::string_view state) noexcept;
};

/// Of one that an earlier process of the service has got.
struct SubmittedEarlier {
  std::uint64_t submitted_ns = 0;
  std::optional<ToldOfSubmitted> told = {};
};

/// A submission that was checked: its context has the keys of the run and, of a task, of the task.
struct Submitted {
  std::shared_ptr<const Context> context;
  Requested requested = {};
  std::vector<ExpectedTasks> expected = {};
  std::uint64_t submitted_ns = 0;
  std::uint64_t expires_after_ns = 0;
  uid_t uid = 0;
  std::optional<ToldOfSubmitted> told = {};  ///< Absent: nothing yet.

  Key key() const noexcept { return *innermost_key(*context); }
};

/// `owner`: whose it is, where the session serves several users. Throws Error(kInvalidArgument).
Submitted checked(const Submission& submission, const Caller& caller, const KeyOrigin& origin,
                  std::optional<uid_t> owner);
/// Throws Error(kInvalidArgument).
void check(const Withdrawal& withdrawal);
/// Of the task that these words submit; absent: they are not enough.
std::optional<Key> task_key_of(Context context, const KeyOrigin& origin, std::optional<uid_t> owner);

/// Tasks that wait for their turn, and runs with what is expected of them. One thread at a time.
class Submissions {
 public:
  static constexpr std::size_t kMostBytes = 64u << 20;
  /// The cause under which is counted what finds no room.
  static constexpr std::string_view kFull = "submissions_full";
  /// What was announced again, as it began, and has no process here after so long, runs elsewhere.
  static constexpr std::uint64_t kElsewhereAfter_ns = 10'000'000'000;

  explicit Submissions(std::shared_ptr<Accounts> accounts)
      : rows_(kMostBytes, kFull, std::move(accounts),
              [this](Key, Row& row) { dropped_.push_back(std::move(row.submitted)); }) {}

  bool empty() const noexcept { return rows_.empty(); }
  /// Of all, what was told of it last; runs first.
  std::vector<Event> told() const;
  void submit(Submitted submitted, std::vector<Event>& events);
  /// Its task is about to begin; again with the same key: it has begun. `task_key`: of the context that it gives.
  void announced(Key task_key, const std::string& key, uid_t uid, std::uint64_t now_ns);
  /// A process of a task has begun. Returns when the task was submitted; absent: it was not.
  std::optional<std::uint64_t> started(const Context& context, std::uint64_t time_ns, std::vector<Event>& events);
  /// Returns the announcements of what is over.
  std::vector<AnnouncementName> withdraw(const Withdrawal& withdrawal, uid_t uid, std::uint64_t now_ns,
                                         std::vector<Event>& events);
  /// What has waited too long, and what runs elsewhere by now.
  void look(std::uint64_t now_ns, std::vector<Event>& events);

 private:
  using State = ToldOfSubmitted::State;
  struct Row {
    Submitted submitted;
    std::uint64_t begun_ns = 0;  ///< By its engine's word. 0: it has not.
    std::vector<AnnouncementName> names = {};
  };

  static void tell(Submitted& submitted, State state, std::uint64_t time_ns, std::vector<Event>& events);
  static std::size_t bytes_of(const Row& row);
  void over(Key key, Row& row, const Withdrawal& withdrawal, std::uint64_t now_ns, std::vector<Event>& events,
            std::vector<AnnouncementName>& names);

  std::vector<Submitted> dropped_;  ///< That found no room, and of which no event speaks yet.
  Bounded<Key, Row> rows_;
};

}  // namespace tracer::internal
