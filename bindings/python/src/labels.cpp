// SPDX-License-Identifier: Apache-2.0
/// Tasks and the labels of threads, for _task.py and _hooks.py.
#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <pybind11/stl.h>

#include "binders.hpp"
#include "context.hpp"
#include "context/layers.hpp"
#include "errors.hpp"
#include "gil.hpp"
#include "session.hpp"
#include "task_scope.hpp"

namespace py = pybind11;

namespace tracer::python {

namespace {

using Scope = std::shared_ptr<TaskScope>;

/// What a task has of the session and of the task around it, and says itself.
Context merged(const TaskSession& session, const Scope& outer, const Context& own) {
  Context context = session.context;
  for (Scope each = outer; each; each = each->outer()) {
    const auto around = each->context_in(session.id, Surety::kSure);
    if (!around) continue;
    context.sample = around->sample;
    context.labels = around->labels;
    break;
  }
  if (own.pipeline) context.pipeline = own.pipeline;
  if (own.run) context.run = own.run;
  if (own.sample) context.sample = own.sample;
  context.step = own.step;
  context.task = own.task;
  context.task_id = own.task_id;
  context.attempt = own.attempt;
  for (const Label& label : own.labels) {
    const auto same = std::find_if(context.labels.begin(), context.labels.end(),
                                   [&](const Label& a) { return a.name == label.name; });
    if (same == context.labels.end()) {
      context.labels.push_back(label);
    } else {
      same->value = label.value;
    }
  }
  std::sort(context.labels.begin(), context.labels.end());
  return context;
}

void set_variable(const Scope& scope) {
  const py::object value = scope ? py::cast(scope) : py::none();
  const auto token = py::reinterpret_steal<py::object>(PyContextVar_Set(task_variable(), value.ptr()));
  if (!token) throw py::error_already_set();
}

Surety surety_of(bool sure) { return sure ? Surety::kSure : Surety::kUnsure; }

/// Begins a task in the session, or in all that are open, for the context and the thread that call. Returns it, and the
/// exceptions for sessions that had no room for its label.
py::tuple begin_task(std::optional<std::uint64_t> session_id, py::handle fields, py::handle frame, bool sure) {
  const Context own = context_of(fields);
  const Scope around = innermost_task();
  const auto scope = begun_task();
  py::list problems;
  for (const TaskSession& session : *task_sessions()) {
    if (session_id && session.id != *session_id) continue;
    if (const auto problem = scope->label_in(session, merged(session, around, own), surety_of(sure)))
      problems.append(exception_of({&*problem, 1}));
  }
  set_variable(scope);
  if (!frame.is_none()) scope->count_in_frame(frame.ptr());
  begin_own_work(scope, sure);
  sync_labels(surety_of(sure));
  return py::make_tuple(scope, problems);
}

/// In the context that calls, `scope` is the task now: that of whoever submitted the work, or outside. Returns what was
/// before.
Scope enter_task(const Scope& scope) {
  PyObject* value = nullptr;
  if (PyContextVar_Get(task_variable(), nullptr, &value) < 0) throw py::error_already_set();
  const auto before = py::reinterpret_steal<py::object>(value);
  set_variable(scope);
  sync_labels(Surety::kSure);
  return py::isinstance<TaskScope>(before) ? before.cast<Scope>() : nullptr;
}

/// Where `scope` is the task, the one around it is it now.
void leave_task(const Scope& scope, bool sure) {
  PyObject* value = nullptr;
  if (PyContextVar_Get(task_variable(), nullptr, &value) < 0) throw py::error_already_set();
  const auto current = py::reinterpret_steal<py::object>(value);
  if (py::isinstance<TaskScope>(current) && current.cast<TaskScope*>() == scope.get()) set_variable(scope->outer());
  sync_labels(surety_of(sure));
}

/// The task labels nothing from now on; in a context whose task it is, the one around it counts again.
void end_task(const Scope& scope, bool sure) {
  end_own_work(scope, sure);
  scope->end();
  leave_task(scope, sure);
}

/// The pid that a fork server has written, which stays in the pipe for whom it is for; absent: it is gone.
std::optional<pid_t> peek_pid(int descriptor) {
  int pipe[2];
  if (::pipe2(pipe, O_CLOEXEC) != 0) return std::nullopt;
  std::int64_t pid = 0;
  bool known = false;
  {
    const ReleasedGil released;
    ssize_t count;
    do {
      count = ::tee(descriptor, pipe[1], sizeof pid, 0);
    } while (count < 0 && errno == EINTR);
    known = count == sizeof pid && ::read(pipe[0], &pid, sizeof pid) == sizeof pid;
  }
  ::close(pipe[0]);
  ::close(pipe[1]);
  return known ? std::optional(static_cast<pid_t>(pid)) : std::nullopt;
}

/// A process that another one has forked for the calling thread belongs to its task.
void label_process(pid_t pid) {
  const Surety surety = surety_here();
  std::vector<std::pair<std::shared_ptr<Session>, Context>> said;
  for (const TaskSession& session : *task_sessions())
    for (Scope each = task_of_thread(); each; each = each->outer()) {
      auto context = each->context_in(session.id, surety);
      if (!context) continue;
      if (auto living = session.session.lock()) said.emplace_back(std::move(living), std::move(*context));
      break;
    }
  const ReleasedGil released;
  for (const auto& [session, context] : said) {
    try {
      session->track(pid, context);
    } catch (const Error&) {
      // It has ended, or there is no room: it stays without a label.
    }
  }
}

}  // namespace

void bind_labels(py::module_& module) {
  make_task_variable();
  module.attr("task_variable") = py::reinterpret_borrow<py::object>(task_variable());
  py::class_<TaskScope, std::shared_ptr<TaskScope>>(module, "TaskScope")
      .def_property_readonly("open", &TaskScope::open)
      .def_property_readonly("outer", &TaskScope::outer);
  module.attr("outside") = py::cast(TaskScope::outside());

  module.def("add_task_session", [](const std::shared_ptr<HeldSession>& held, py::handle context) {
    return add_task_session(held->session(), context_of(context));
  });
  module.def("remove_task_session", &remove_task_session);
  module.def("report_own_work", [](std::uint64_t id) { report_own_work(id, OwnReport::kSoFar); });
  module.def("tasks_in_use", &tasks_in_use);

  module.def("begin_task", &begin_task);
  module.def("end_task", &end_task);
  module.def("innermost_task", &innermost_task);
  module.def("task_of_thread", &task_of_thread);
  module.def("enter_task", &enter_task);
  module.def("leave_task", &leave_task);

  module.def("sync_labels", [] { sync_labels(Surety::kSure); });
  module.def("loosen_labels", [] { sync_labels(Surety::kUnsure); });
  module.def("sync_labels_for", [](py::handle context) { sync_labels_for(context.ptr()); });
  module.def("unlabel_thread", &unlabel_thread);
  module.def("set_thread_base", &set_thread_base);
  module.def("count_unsure", &count_unsure);
  module.def("peek_pid", &peek_pid);
  module.def("label_process", &label_process);
  module.def("in_home_interpreter", &in_home_interpreter);
  module.def("add_audit_hook", &add_audit_hook);
  module.def("audit_probes", &audit_probes);
}

}  // namespace tracer::python
