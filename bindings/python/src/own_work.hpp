// SPDX-License-Identifier: Apache-2.0
/// What this process itself does in tasks, and outside of them: the CPU time of its threads while they are in a task,
/// and all that the process consumed in a session, less libtracer's own threads.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>

#include <tracer/session.hpp>

namespace tracer::python {

class TaskScope;

/// What a task has consumed. Guarded by a lock of own_work.cpp.
struct OwnPart {
  bool counts = false;  ///< False: it can't be told from what is beside it.
  std::uint64_t begin_ns = 0;
  std::uint64_t cpu_ns = 0;
  /// When it began: of the process, and of those of its threads that are known.
  std::uint64_t process_cpu_ns = 0;
  std::uint64_t known_cpu_ns = 0;
  std::uint64_t peak_bytes = 0;
  std::uint64_t resident_bytes = 0;
  pid_t thread = 0;
  bool io_known = false;
  std::uint64_t read_bytes = 0;  ///< Of the thread when it began, and of what was within it since.
  std::uint64_t written_bytes = 0;
};

enum class OwnSwitch {
  kNested,  ///< A task begins or ends on this thread.
  kStep,    ///< Another one goes on.
};

/// The calling thread works for this task from now on; null: for none. Cheap if that is so already.
void work_for(const std::shared_ptr<TaskScope>& scope, OwnSwitch how) noexcept;
/// The task begins on the calling thread, which works for it. `alone`: nothing else runs on it unseen.
void begin_own_work(const std::shared_ptr<TaskScope>& scope, bool alone) noexcept;
/// It ends: reports what it did in each of its sessions.
void end_own_work(const std::shared_ptr<TaskScope>& scope, bool alone) noexcept;

/// It is gone without an end.
void abandon_own_work(TaskScope* scope) noexcept;

/// Counts from now on.
void begin_own_session(std::uint64_t session_id) noexcept;
enum class OwnReport {
  kSoFar,
  kLast,  ///< Nothing is counted any more: of tasks that are open, too.
};
/// Reports what was done outside of its tasks since the last call.
void report_own_session(std::uint64_t session_id, Session& session, OwnReport which) noexcept;

/// In a child made by fork: it is all the parent's.
void forget_own_work() noexcept;

}  // namespace tracer::python
