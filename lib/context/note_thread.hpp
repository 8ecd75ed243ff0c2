// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/side_thread.hpp"
#include "context/note_reader.hpp"

namespace tracer::internal {

struct NoteAnswer {
  bool pending = false;  ///< It is not known yet: ask again.
  std::optional<std::vector<std::string>> lines = {};
  bool in_time = true;  ///< The process that they were read for still lived, so that they say nothing of later times.
  bool whole = true;    ///< There was no more to read.
};

/// Reads notes beside the events, which a file system that hangs must not hold up. The files of one user are read one
/// after the other, so one that hangs holds up that user alone. Asked by one thread.
class NoteThread {
 public:
  using Read = std::function<std::optional<std::vector<std::string>>(const NoteRequest&, const Process&)>;
  static constexpr std::size_t kMostRequests = 4096;        ///< At one time; more are answered with nothing.
  static constexpr std::size_t kMostRequestsOfUser = 1024;  ///< Likewise.
  static constexpr std::size_t kMostThreads = 8;            ///< As many users' files may hang.
  static constexpr std::chrono::milliseconds kPatience{5};

  explicit NoteThread(Read read = read_note_lines);
  NoteThread(const NoteThread&) = delete;
  NoteThread& operator=(const NoteThread&) = delete;

  /// Waits for a moment, unless the user's files are busy with something else. `asker`: whoever gets the answer, by the
  /// same request, also for another of its processes.
  NoteAnswer ask(std::string_view asker, const NoteRequest& request, const Process& process);

 private:
  struct State;
  static NoteAnswer read(State& state, const NoteRequest& request, const Process& process);
  /// Null: all threads are busy with other users' files.
  SideThread* thread_of(uid_t user);

  std::shared_ptr<State> state_;
  std::map<uid_t, SideThread> threads_;
};

}  // namespace tracer::internal
