// SPDX-License-Identifier: Apache-2.0
#include "history/session_history.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <tracer/error.hpp>

#include "base/quiet_thread.hpp"
#include "history/owner.hpp"

namespace tracer::internal {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLastPatience{2000};
/// For the thread to end: as long as it waits for other writers, and for its disk.
constexpr milliseconds kEndPatience{5000};

/// In one line: what, and why.
std::string sentence_of(const Error& error) { return error.problems().front().what; }

}  // namespace

/// A question, and what came of it.
struct SessionHistory::Asked {
  HistoryQuestion question;
  bool answered = false;
  HistoryAnswer answer;
  std::exception_ptr failure;
};

struct SessionHistory::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::unique_ptr<HistoryFile> file;  ///< Null: there is no history, or no longer. Only the thread uses it.
  bool can_write = false;
  bool dropped = false;         ///< A task that came while too many waited.
  std::deque<TaskKind> kinds;   ///< That were wanted, the oldest first.
  std::deque<TaskKind> wanted;  ///< Those of them that were not looked up.
  bool looking = false;
  std::deque<std::shared_ptr<Asked>> asked;
  std::map<TaskKind, std::shared_ptr<const UsualOfKind>> known;
  std::vector<PastTask> tasks;  ///< Not written yet.
  std::vector<HistoryRun> runs;
  bool write = false;
  bool over = false;  ///< Writes what is there, and ends.
  bool ended = false;
  std::optional<std::string> problem;

  void give_up(std::string why) {
    problem = std::move(why);
    can_write = false;
    tasks.clear();
    runs.clear();
  }
  /// The next three are called with the lock, and let go of it while they use the file.
  void look_up(std::unique_lock<std::mutex>& lock);
  void answer(std::unique_lock<std::mutex>& lock);
  void write_what_is_there(std::unique_lock<std::mutex>& lock, milliseconds patience);
};

void SessionHistory::State::look_up(std::unique_lock<std::mutex>& lock) {
  const TaskKind kind = std::move(wanted.front());
  wanted.pop_front();
  looking = true;
  lock.unlock();
  std::shared_ptr<const UsualOfKind> usual;
  std::string why;
  try {
    const std::vector<PastTask> past = file->succeeded(kind, UsualOfKind::kMostTasks);
    usual = std::make_shared<const UsualOfKind>(succeeded(past));
  } catch (const Error& error) {
    why = sentence_of(error);
  } catch (const std::exception& error) {
    why = fmt::format("the history: {}", error.what());
  }
  lock.lock();
  looking = false;
  if (usual) {
    if (std::find(kinds.begin(), kinds.end(), kind) != kinds.end()) known[kind] = std::move(usual);
  } else {
    wanted.clear();
    give_up(why + ": this session is not all compared, nor all in it");
  }
}

void SessionHistory::State::answer(std::unique_lock<std::mutex>& lock) {
  const std::shared_ptr<Asked> one = asked.front();
  asked.pop_front();
  write_what_is_there(lock, milliseconds(0));
  lock.unlock();
  try {
    one->answer = file->answer(one->question);
  } catch (...) {
    one->failure = std::current_exception();
  }
  lock.lock();
  one->answered = true;
}

void SessionHistory::State::write_what_is_there(std::unique_lock<std::mutex>& lock, milliseconds patience) {
  write = false;
  if (!can_write || (tasks.empty() && runs.empty())) return;
  std::vector<PastTask> new_tasks = std::exchange(tasks, {});
  std::vector<HistoryRun> new_runs = std::exchange(runs, {});
  lock.unlock();
  bool written = false;
  std::string why;
  try {
    written = file->add(new_tasks, new_runs, patience);
  } catch (const Error& error) {
    why = sentence_of(error);
  } catch (const std::exception& error) {
    why = fmt::format("the history: {}", error.what());
  }
  lock.lock();
  if (written) return;
  if (!why.empty()) return give_up(why + ": this session is not all in it");
  // Another program writes.
  std::swap(tasks, new_tasks);
  std::swap(runs, new_runs);
  tasks.insert(tasks.end(), std::make_move_iterator(new_tasks.begin()), std::make_move_iterator(new_tasks.end()));
  runs.insert(runs.end(), std::make_move_iterator(new_runs.begin()), std::make_move_iterator(new_runs.end()));
}

void SessionHistory::work(const std::shared_ptr<State>& state) {
  std::unique_lock lock(state->mutex);
  while (true) {
    state->changed.wait(lock,
                        [&] { return state->over || state->write || !state->wanted.empty() || !state->asked.empty(); });
    if (!state->wanted.empty()) {
      state->look_up(lock);
    } else if (!state->asked.empty()) {
      state->answer(lock);
    } else if (state->over) {
      break;
    } else {
      state->write_what_is_there(lock, milliseconds(0));
    }
    state->changed.notify_all();
  }
  state->write_what_is_there(lock, kLastPatience);
  if (!state->tasks.empty() || !state->runs.empty())
    state->give_up("the history is held by another program: this session is not all in it");
  lock.unlock();
  // Closing it may write, too.
  state->file.reset();
  lock.lock();
  state->ended = true;
  state->changed.notify_all();
}

SessionHistory::SessionHistory(const std::filesystem::path& path, HistoryFile::Access access,
                               std::optional<UserIds> owners)
    : state_(std::make_shared<State>()), owners_(std::move(owners)) {
  try {
    const FilesOf rights(HistoriesOf::current());
    state_->file = std::make_unique<HistoryFile>(path, access);
    script_key_ = state_->file->script_key();
    has_file_ = true;
    state_->can_write = !state_->file->is_read_only();
    if (!state_->can_write && access == HistoryFile::Access::kWrite)
      state_->problem = fmt::format("the history {} can only be read: this session is not added", path.string());
  } catch (const Error& error) {
    state_->problem = sentence_of(error) + ": this session has none";
  } catch (const std::exception& error) {
    state_->problem = fmt::format("the history {}: {}: this session has none", path.string(), error.what());
  }
}

bool SessionHistory::start() {
  if (thread_.joinable() || !has_file_) return has_file_;
  try {
    thread_ = start_quiet_thread([state = state_] { work(state); });
  } catch (const Error&) {
    // The host has no process to spare: the next call tries again.
    return false;
  }
  return true;
}

SessionHistory::~SessionHistory() {
  if (!thread_.joinable()) return;
  // A child has no such thread. What that shared stays: its lock may be held forever.
  if (::getpid() != pid_) {
    thread_.detach();
    return;
  }
  {
    const std::lock_guard lock(state_->mutex);
    state_->tasks.clear();
    state_->runs.clear();
  }
  write_all();
}

TaskKind SessionHistory::kind_of(const Context& context, std::string_view tool) const {
  TaskKind kind = tracer::kind_of(context, tool);
  if (owners_) kind.owner_uid = context.owner_uid ? owners_->user_of(*context.owner_uid).value_or(0) : 0;
  return kind;
}

SessionHistory::Ask SessionHistory::begin_to_answer() {
  start();
  return [state = state_](const HistoryQuestion& question, milliseconds patience) {
    const auto one = std::make_shared<Asked>();
    one->question = question;
    std::unique_lock lock(state->mutex);
    if (!state->ended) {
      state->asked.push_back(one);
      state->changed.notify_all();
      state->changed.wait_for(lock, patience, [&] { return one->answered || state->ended; });
    }
    if (one->failure) std::rethrow_exception(one->failure);
    if (one->answered) return std::move(one->answer);
    std::erase(state->asked, one);
    throw Error({ErrorCode::kServiceRefused, 0, "the history does not answer now", "try again later", {}});
  };
}

void SessionHistory::want(const TaskKind& kind) {
  if (!start()) return;
  const std::lock_guard lock(state_->mutex);
  auto& kinds = state_->kinds;
  if (std::find(kinds.begin(), kinds.end(), kind) != kinds.end()) return;
  if (kinds.size() >= kMostKinds) {
    std::map<std::optional<std::uint32_t>, std::size_t> of_owners;
    for (const TaskKind& each : kinds) ++of_owners[each.owner_uid];
    const auto most = std::max_element(of_owners.begin(), of_owners.end(),
                                       [](const auto& one, const auto& other) { return one.second < other.second; });
    const auto oldest =
        std::find_if(kinds.begin(), kinds.end(), [&](const TaskKind& each) { return each.owner_uid == most->first; });
    state_->known.erase(*oldest);
    std::erase(state_->wanted, *oldest);
    kinds.erase(oldest);
  }
  kinds.push_back(kind);
  state_->wanted.push_back(kind);
  state_->changed.notify_all();
}

std::shared_ptr<const UsualOfKind> SessionHistory::usual(const TaskKind& kind) {
  const std::lock_guard lock(state_->mutex);
  const auto known = state_->known.find(kind);
  return known == state_->known.end() ? nullptr : known->second;
}

bool SessionHistory::settle(milliseconds patience) {
  if (!thread_.joinable()) return true;
  std::unique_lock lock(state_->mutex);
  return state_->changed.wait_for(lock, patience,
                                  [this] { return state_->ended || (state_->wanted.empty() && !state_->looking); });
}

void SessionHistory::add(PastTask task) {
  const std::lock_guard lock(state_->mutex);
  if (!state_->can_write) return;
  if (state_->tasks.size() < kMostWaiting) {
    state_->tasks.push_back(std::move(task));
    if (state_->tasks.size() % kMostUnwritten != 0) return;
    state_->write = true;
    state_->changed.notify_all();
    return;
  }
  // One user's flood is no reason to keep nothing of others.
  if (owners_) {
    if (!std::exchange(state_->dropped, true))
      state_->problem = "more tasks ended than the history can keep: some are not in it";
    return;
  }
  state_->give_up("the history was not written for too long: this session is only partly in it");
}

void SessionHistory::add(HistoryRun run) {
  const std::lock_guard lock(state_->mutex);
  if (state_->can_write && state_->runs.size() < kMostWaiting) state_->runs.push_back(std::move(run));
}

void SessionHistory::write_sometimes(std::uint64_t now_ns) {
  if (written_ns_ == 0) written_ns_ = now_ns;
  if (now_ns < written_ns_ + kBetweenWrites_ns) return;
  written_ns_ = now_ns;
  if (!has_new() || !start()) return;
  const std::lock_guard lock(state_->mutex);
  state_->write = true;
  state_->changed.notify_all();
}

bool SessionHistory::has_new() {
  const std::lock_guard lock(state_->mutex);
  return !state_->tasks.empty() || !state_->runs.empty();
}

void SessionHistory::write_all() {
  if (!thread_.joinable() && (!has_file_ || !has_new())) return;
  const bool started = start();
  std::unique_lock lock(state_->mutex);
  if (!started) return state_->give_up("no thread can be started: this session is not in the history");
  state_->over = true;
  state_->wanted.clear();
  state_->changed.notify_all();
  const bool ended = state_->changed.wait_for(lock, kEndPatience, [this] { return state_->ended; });
  if (!ended) state_->give_up("the history's file system does not answer: this session is not all in it");
  lock.unlock();
  has_file_ = false;
  if (ended) {
    thread_.join();
  } else {
    thread_.detach();
  }
}

std::optional<std::string> SessionHistory::take_problem() {
  const std::lock_guard lock(state_->mutex);
  return std::exchange(state_->problem, std::nullopt);
}

}  // namespace tracer::internal
