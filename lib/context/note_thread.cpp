// SPDX-License-Identifier: Apache-2.0
#include "context/note_thread.hpp"

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
  };
  std::mutex mutex;
  std::condition_variable changed;
  Read read;
  std::deque<Question> waiting;
  /// By the name of the question: of those that wait or are being read nothing is there.
  std::map<std::string, std::optional<NoteAnswer>> answers;
  bool busy = false;
  bool over = false;
  bool ended = false;
};

NoteThread::NoteThread(Read read) : state_(std::make_shared<State>()) { state_->read = std::move(read); }

NoteThread::~NoteThread() {
  if (!thread_.joinable()) return;
  std::unique_lock lock(state_->mutex);
  state_->over = true;
  state_->changed.notify_all();
  const bool ended = state_->changed.wait_for(lock, std::chrono::milliseconds(100), [&] { return state_->ended; });
  lock.unlock();
  if (ended) {
    thread_.join();
  } else {
    thread_.detach();
  }
}

void NoteThread::work(const std::shared_ptr<State>& state) {
  std::unique_lock lock(state->mutex);
  while (true) {
    state->changed.wait(lock, [&] { return state->over || !state->waiting.empty(); });
    if (state->over) break;
    const State::Question question = std::move(state->waiting.front());
    state->waiting.pop_front();
    state->busy = true;
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
    state->busy = false;
    state->answers[question.name] = std::move(answer);
    state->changed.notify_all();
  }
  state->ended = true;
  state->changed.notify_all();
}

NoteAnswer NoteThread::ask(std::string_view asker, const NoteRequest& request, const Process& process) {
  if (!thread_.joinable()) thread_ = start_quiet_thread([state = state_] { work(state); });
  const std::string name = std::string(asker) + ' ' + request.path;
  std::unique_lock lock(state_->mutex);
  auto known = state_->answers.find(name);
  if (known == state_->answers.end()) {
    // Of those who never came back.
    if (state_->answers.size() >= kMostRequests)
      std::erase_if(state_->answers, [](const auto& one) { return one.second.has_value(); });
    if (state_->answers.size() >= kMostRequests) return {};
    const bool idle = !state_->busy && state_->waiting.empty();
    known = state_->answers.emplace(name, std::nullopt).first;
    state_->waiting.push_back({name, request, process});
    state_->changed.notify_all();
    if (idle) state_->changed.wait_for(lock, kPatience, [&] { return known->second.has_value(); });
  }
  if (!known->second) return {true, {}};
  NoteAnswer answer;
  std::swap(answer, *known->second);
  state_->answers.erase(known);
  return answer;
}

}  // namespace tracer::internal
