// SPDX-License-Identifier: Apache-2.0
/// The tasks of this process, as its threads and coroutines have them, and the labels of threads that come of them.
#pragma once

#include <pybind11/pybind11.h>

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <tracer/session.hpp>

#include "own_work.hpp"

namespace tracer::python {

/// A session in which tasks label.
struct TaskSession {
  std::uint64_t id = 0;
  std::weak_ptr<Session> session;
  Context context;  ///< Of the session itself: a label stands instead of it.
};

using TaskSessions = std::shared_ptr<const std::vector<TaskSession>>;

/// All that are open; empty in a child made by fork. Any thread.
TaskSessions task_sessions();
std::uint64_t add_task_session(const std::shared_ptr<Session>& session, Context context);
void remove_task_session(std::uint64_t id);
/// What this process has done in it, outside of all tasks.
void report_own_work(std::uint64_t id, OwnReport which);
/// True: there is one. One atomic load.
bool tasks_in_use() noexcept;
/// Counts what begins or ends a task, or a session.
std::uint64_t task_changes() noexcept;

/// Whether it is known that what is forked next belongs to the task.
enum class Surety : std::uint8_t {
  kSure,    ///< Labels have the provenance "label".
  kUnsure,  ///< Others may run on this thread, or in this process, before the label is set again: "inferred".
};

/// One execution of a task. Its own lock is never held while Python is called. In a child made by fork it is over, and
/// what it holds is left alone: the labels are the parent's.
class TaskScope {
 public:
  /// `outer`: what counts again when this one has ended; null: nothing is known. `suspended`: those around it that did
  /// not count when it began. Where one of them counts again, its generator goes on inside this task, and has its own.
  explicit TaskScope(std::shared_ptr<TaskScope> outer, std::vector<std::uint64_t> suspended = {});
  ~TaskScope();
  TaskScope(const TaskScope&) = delete;
  TaskScope& operator=(const TaskScope&) = delete;

  /// Says that there is no task, whatever the thread was made in.
  static const std::shared_ptr<TaskScope>& outside();

  /// Labels the calling thread in this session. What does not fit into its tables is returned.
  std::optional<Problem> label_in(const TaskSession& session, const Context& said, Surety surety);
  /// It labels nothing from now on. Any thread; idempotent.
  void end() noexcept;
  bool open() const noexcept;
  std::uint64_t id() const noexcept { return id_; }
  const std::vector<std::uint64_t>& suspended() const noexcept { return suspended_; }
  /// The innermost around it that is open.
  std::shared_ptr<TaskScope> outer();

  /// The calling thread has its label of this session again. False: it has none there, or has ended.
  bool resume(const TaskSession& session, Surety surety) noexcept;
  /// Its context in a session, with this surety; absent where it has none.
  std::optional<Context> context_in(std::uint64_t session_id, Surety surety) const;

  /// It was entered in a generator, which its caller goes on beside: in the context that is now the thread's it counts
  /// only while the frame runs. Needs the GIL.
  void count_in_frame(PyObject* frame);
  /// Needs the GIL.
  bool counts_here() const;
  bool in_frame() const;

  /// With the lock of own_work.cpp.
  OwnPart& own() noexcept { return own_; }

 private:
  struct Labels {
    std::uint64_t session_id = 0;
    Context context;
    std::optional<ThreadLabel> sure;
    std::optional<ThreadLabel> unsure;
  };
  bool foreign() const noexcept;
  void forget_frame() noexcept;

  const std::uint64_t id_;
  const std::vector<std::uint64_t> suspended_;
  const std::uint64_t process_;
  mutable std::mutex mutex_;
  std::atomic<bool> open_{true};
  std::shared_ptr<TaskScope> outer_;
  std::vector<Labels> labels_;
  OwnPart own_;
  PyObject* frame_ = nullptr;
  const void* python_context_ = nullptr;  ///< Compared only.
};

/// The thread's label is that of the innermost open task of its Python context, in each session: before it forks.
/// Needs the GIL; leaves Python's current exception alone, and raises none.
void sync_labels(Surety surety) noexcept;
/// Likewise for another context, in which the thread runs next; quick if nothing has changed.
void sync_labels_for(PyObject* python_context) noexcept;
/// What is forked next is nobody's.
void unlabel_thread() noexcept;
/// The innermost task of the context that is open and counts here; null: nothing is known. Needs the GIL.
std::shared_ptr<TaskScope> innermost_task();
/// A new one, within that which the context has, whether it counts here or not. Needs the GIL.
std::shared_ptr<TaskScope> begun_task();
/// As innermost_task(); where nothing is known, that in which the thread was made.
std::shared_ptr<TaskScope> task_of_thread();
/// Where the calling thread was made.
void set_thread_base(std::shared_ptr<TaskScope> scope) noexcept;
/// While it is held, what the calling thread forks is not known to belong to its task alone.
void count_unsure(int change) noexcept;
/// In a child made by fork: what is known of the thread is the parent's.
void forget_thread() noexcept;
Surety surety_here() noexcept;

/// The context variable that holds the task. Borrowed.
PyObject* task_variable();
void make_task_variable();

/// Whether this is the interpreter that has imported the module, and the calling thread runs Python code. Any thread.
bool in_home_interpreter() noexcept;
/// PySys_AddAuditHook, which lasts for the process's life. Needs the GIL.
void add_audit_hook();
/// How often the hook has seen tracer.probe, which it was asked to.
std::uint64_t audit_probes() noexcept;

}  // namespace tracer::python
