// SPDX-License-Identifier: Apache-2.0
#include "context/note_thread.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "base/proc_stat.hpp"

namespace tracer::internal {

struct NoteThread::State {
  std::mutex mutex;
  std::condition_variable changed;
  Read read;
  /// By the name of the question: of those that wait or are being read nothing is there.
  std::map<std::string, std::optional<NoteAnswer>> answers;
  std::map<uid_t, std::size_t> open;  ///< Questions of a user that have no answer yet.

  void answered(const std::string& name, uid_t user, NoteAnswer answer) {
    const std::lock_guard lock(mutex);
    if (const auto of_user = open.find(user); --of_user->second == 0) open.erase(of_user);
    if (const auto known = answers.find(name); known != answers.end()) known->second = std::move(answer);
    changed.notify_all();
  }
};

NoteThread::NoteThread(Read read) : state_(std::make_shared<State>()) { state_->read = std::move(read); }

NoteAnswer NoteThread::read(State& state, const NoteRequest& request, const Process& process) {
  NoteAnswer answer;
  try {
    answer.lines = state.read(request, process);
    answer.in_time = lives(process.pid, process.start_ns);
    answer.whole = answer.lines && is_whole(request, *answer.lines);
  } catch (...) {
    // Out of memory: as if it could not be read.
  }
  return answer;
}

SideThread* NoteThread::thread_of(uid_t user) {
  if (threads_.size() >= kMostThreads && !threads_.contains(user)) {
    const auto idle =
        std::find_if(threads_.begin(), threads_.end(), [](const auto& one) { return one.second.is_idle(); });
    if (idle == threads_.end()) return nullptr;
    threads_.erase(idle);
  }
  return &threads_[user];
}

NoteAnswer NoteThread::ask(std::string_view asker, const NoteRequest& request, const Process& process) {
  const std::string name = std::string(asker) + ' ' + request.path;
  const uid_t user = process.uid.value_or(0);
  std::unique_lock lock(state_->mutex);
  auto known = state_->answers.find(name);
  if (known == state_->answers.end()) {
    // Of those who never came back.
    if (state_->answers.size() >= kMostRequests)
      std::erase_if(state_->answers, [](const auto& one) { return one.second.has_value(); });
    if (state_->answers.size() >= kMostRequests) return {};
    if (const auto before = state_->open.find(user);
        before != state_->open.end() && before->second >= kMostRequestsOfUser)
      return {};
    lock.unlock();
    SideThread* const thread = thread_of(user);
    if (thread == nullptr) return {true, {}};
    lock.lock();
    known = state_->answers.emplace(name, std::nullopt).first;
    const bool first = ++state_->open[user] == 1;
    thread->add([state = state_, name, request, process, user] {
      state->answered(name, user, read(*state, request, process));
    });
    if (first) state_->changed.wait_for(lock, kPatience, [&] { return known->second.has_value(); });
  }
  if (!known->second) return {true, {}};
  NoteAnswer answer;
  std::swap(answer, *known->second);
  state_->answers.erase(known);
  return answer;
}

}  // namespace tracer::internal
