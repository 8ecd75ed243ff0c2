// SPDX-License-Identifier: Apache-2.0
#include "context/note_thread.hpp"

#include <condition_variable>
#include <map>
#include <mutex>
#include <utility>

#include "base/proc_stat.hpp"

namespace tracer::internal {
namespace {

bool lives(const Process& process) {
  const auto stat = read_proc_stat(static_cast<pid_t>(process.pid));
  return stat && stat->started_from_ns <= process.start_ns && process.start_ns <= stat->started_until_ns;
}

}  // namespace

struct NoteThread::State {
  std::mutex mutex;
  std::condition_variable changed;
  Read read;
  /// By the name of the question: of those that wait or are being read nothing is there.
  std::map<std::string, std::optional<NoteAnswer>> answers;
};

NoteThread::NoteThread(Read read) : state_(std::make_shared<State>()) { state_->read = std::move(read); }

NoteAnswer NoteThread::read(State& state, const NoteRequest& request, const Process& process) {
  NoteAnswer answer;
  try {
    answer.lines = state.read(request, process);
    answer.in_time = lives(process);
    answer.whole = answer.lines && is_whole(request, *answer.lines);
  } catch (...) {
    // Out of memory: as if it could not be read.
  }
  return answer;
}

NoteAnswer NoteThread::ask(std::string_view asker, const NoteRequest& request, const Process& process) {
  const std::string name = std::string(asker) + ' ' + request.path;
  std::unique_lock lock(state_->mutex);
  auto known = state_->answers.find(name);
  if (known == state_->answers.end()) {
    // Of those who never came back.
    if (state_->answers.size() >= kMostRequests)
      std::erase_if(state_->answers, [](const auto& one) { return one.second.has_value(); });
    if (state_->answers.size() >= kMostRequests) return {};
    const bool idle = thread_.is_idle();
    known = state_->answers.emplace(name, std::nullopt).first;
    thread_.add([state = state_, name, request, process] {
      NoteAnswer answer = read(*state, request, process);
      const std::lock_guard answered(state->mutex);
      state->answers[name] = std::move(answer);
      state->changed.notify_all();
    });
    if (idle) state_->changed.wait_for(lock, kPatience, [&] { return known->second.has_value(); });
  }
  if (!known->second) return {true, {}};
  NoteAnswer answer;
  std::swap(answer, *known->second);
  state_->answers.erase(known);
  return answer;
}

}  // namespace tracer::internal
