// SPDX-License-Identifier: Apache-2.0
#include "context/note_thread.hpp"

#include <sys/types.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <utility>

#include "base/proc_stat.hpp"
#include "base/quiet_thread.hpp"

namespace tracer::internal {
namespace {

bool lives(const Process& process) {
  const auto stat = read_proc_stat(static_cast<pid_t>(process.pid));
  return stat && stat->started_from_ns <= process.start_ns && process.start_ns <= stat->started_until_ns;
}

}  // namespace

struct NoteThread::State {
  struct Question {
    std::string name;
    NoteRequest request;
    Process process;
    uid_t user = 0;
  };
  /// Of one user.
  struct Asked {
    std::size_t open = 0;  ///< Questions without an answer.
    bool busy = false;     ///< A thread reads.
  };
  struct Known {
    std::optional<NoteAnswer> answer;  ///< Absent: it waits, or is being read.
  };

  /// The first question of a user whose files no thread reads; the end: none.
  std::deque<Question>::iterator next() {
    return std::find_if(waiting.begin(), waiting.end(), [this](const Question& one) { return !asked[one.user].busy; });
  }
  /// Users whose question a thread could read now.
  std::size_t ready() const {
    return static_cast<std::size_t>(
        std::count_if(asked.begin(), asked.end(), [](const auto& one) { return !one.second.busy; }));
  }
  void answered(uid_t user) {
    const auto of_user = asked.find(user);
    of_user->second.busy = false;
    if (--of_user->second.open == 0) asked.erase(of_user);
  }

  std::mutex mutex;
  std::condition_variable changed;
  Read read;
  std::deque<Question> waiting;
  std::map<uid_t, Asked> asked;
  std::map<std::string, Known> answers;  ///< By the name of the question.
  std::size_t idle = 0;                  ///< Threads.
  std::size_t ended = 0;                 ///< Likewise.
  bool over = false;
};

NoteThread::NoteThread(Read read) : state_(std::make_shared<State>()) { state_->read = std::move(read); }

NoteThread::~NoteThread() {
  std::unique_lock lock(state_->mutex);
  state_->over = true;
  state_->changed.notify_all();
  const bool ended =
      state_->changed.wait_for(lock, std::chrono::milliseconds(100), [&] { return state_->ended == threads_.size(); });
  lock.unlock();
  for (std::thread& thread : threads_) {
    if (ended) {
      thread.join();
    } else {
      thread.detach();
    }
  }
}

void NoteThread::work(const std::shared_ptr<State>& state) {
  std::unique_lock lock(state->mutex);
  while (!state->over) {
    const auto next = state->next();
    if (next == state->waiting.end()) {
      ++state->idle;
      state->changed.wait(lock);
      --state->idle;
      continue;
    }
    const State::Question question = std::move(*next);
    state->waiting.erase(next);
    state->asked[question.user].busy = true;
    lock.unlock();
    NoteAnswer answer;
    try {
      answer.lines = state->read(question.request, question.process);
      answer.in_time = lives(question.process);
      answer.whole = answer.lines && is_whole(question.request, *answer.lines);
    } catch (...) {
      // Out of memory: as if it could not be read.
    }
    lock.lock();
    state->answered(question.user);
    if (const auto known = state->answers.find(question.name); known != state->answers.end())
      known->second.answer = std::move(answer);
    state->changed.notify_all();
  }
  ++state->ended;
  state->changed.notify_all();
}

NoteAnswer NoteThread::ask(std::string_view asker, const NoteRequest& request, const Process& process) {
  const std::string name = std::string(asker) + ' ' + request.path;
  const uid_t user = process.uid.value_or(0);
  std::unique_lock lock(state_->mutex);
  auto known = state_->answers.find(name);
  if (known == state_->answers.end()) {
    // Of those who never came back.
    if (state_->answers.size() >= kMostRequests)
      std::erase_if(state_->answers, [](const auto& one) { return one.second.answer.has_value(); });
    const auto before = state_->asked.find(user);
    if (state_->answers.size() >= kMostRequests) return {};
    if (before != state_->asked.end() && before->second.open >= kMostRequestsOfUser) return {};
    known = state_->answers.emplace(name, State::Known{}).first;
    state_->waiting.push_back({name, request, process, user});
    State::Asked& asked = state_->asked[user];
    const bool first = ++asked.open == 1;
    if (state_->ready() > state_->idle && threads_.size() < kMostThreads)
      threads_.push_back(start_quiet_thread([state = state_] { work(state); }));
    const bool soon = first && state_->waiting.size() == 1;
    state_->changed.notify_all();
    if (soon) state_->changed.wait_for(lock, kPatience, [&] { return known->second.answer.has_value(); });
  }
  if (!known->second.answer) return {true, {}};
  NoteAnswer answer;
  std::swap(answer, *known->second.answer);
  state_->answers.erase(known);
  return answer;
}

}  // namespace tracer::internal
