// SPDX-License-Identifier: Apache-2.0
/// Which task a thread's next child belongs to.
#include <algorithm>
#include <utility>

#include "task_scope.hpp"

namespace py = pybind11;

namespace tracer::python {

namespace {

PyObject* variable = nullptr;
PyInterpreterState* home = nullptr;

thread_local std::shared_ptr<TaskScope> thread_base;
thread_local int unsure_depth = 0;
/// False: what the kernel knows of a thread that was made in a task still holds.
thread_local bool ever_labeled = false;

/// What was written last for this thread, so that each step of an event loop need not write it again.
struct Written {
  std::uint64_t changes = 0;
  const TaskScope* innermost = nullptr;
};
thread_local Written written;

PyThreadState* current_thread() noexcept {
#if PY_VERSION_HEX >= 0x030D0000
  return PyThreadState_GetUnchecked();
#else
  return _PyThreadState_UncheckedGet();
#endif
}

/// Of a value of the variable; null: it says nothing.
std::shared_ptr<TaskScope> scope_in(py::handle value) {
  return value && py::isinstance<TaskScope>(value) ? value.cast<std::shared_ptr<TaskScope>>() : nullptr;
}

bool counts(const std::shared_ptr<TaskScope>& scope) { return scope->open() && scope->counts_here(); }

std::shared_ptr<TaskScope> first_that_counts(std::shared_ptr<TaskScope> scope) {
  while (scope && !counts(scope)) scope = scope->outer();
  if (!scope || scope->suspended().empty()) return scope;
  const auto& suspended = scope->suspended();
  for (auto each = scope->outer(); each; each = each->outer())
    if (std::find(suspended.begin(), suspended.end(), each->id()) != suspended.end() && counts(each)) return each;
  return scope;
}

std::shared_ptr<TaskScope> scope_of_context() {
  PyObject* value = nullptr;
  if (PyContextVar_Get(variable, nullptr, &value) < 0) throw py::error_already_set();
  return scope_in(py::reinterpret_steal<py::object>(value));
}

/// True: the thread has what this chain says of the session.
bool write_chain(const TaskSession& session, const std::shared_ptr<TaskScope>& innermost, Surety surety) {
  for (auto scope = innermost; scope; scope = first_that_counts(scope->outer())) {
    if (scope == TaskScope::outside()) {
      if (const auto living = session.session.lock()) living->unlabel_thread();
      return true;
    }
    if (scope->resume(session, surety)) return true;
  }
  return false;
}

void write_labels(const std::shared_ptr<TaskScope>& innermost, Surety surety) {
  work_for(innermost ? innermost : first_that_counts(thread_base), OwnSwitch::kStep);
  const TaskSessions sessions = task_sessions();
  for (const TaskSession& session : *sessions) {
    if (write_chain(session, innermost, surety) ||
        (thread_base && write_chain(session, first_that_counts(thread_base), surety))) {
      ever_labeled = true;
    } else if (ever_labeled) {
      if (const auto living = session.session.lock()) living->unlabel_thread();
    }
  }
}

}  // namespace

std::shared_ptr<TaskScope> innermost_task() { return first_that_counts(scope_of_context()); }

std::shared_ptr<TaskScope> task_of_thread() {
  auto innermost = innermost_task();
  return innermost ? innermost : first_that_counts(thread_base);
}

std::shared_ptr<TaskScope> begun_task() {
  auto outer = scope_of_context();
  while (outer && !outer->open()) outer = outer->outer();
  std::vector<std::uint64_t> suspended;
  for (auto each = outer; each; each = each->outer())
    if (!each->counts_here()) suspended.push_back(each->id());
  return std::make_shared<TaskScope>(std::move(outer), std::move(suspended));
}

void sync_labels(Surety surety) noexcept {
  if (!tasks_in_use()) return;
  try {
    const py::error_scope kept;
    written = {};
    write_labels(innermost_task(), unsure_depth > 0 ? Surety::kUnsure : surety);
  } catch (...) {
    // Without memory for it the thread keeps the label that it has.
  }
}

void sync_labels_for(PyObject* python_context) noexcept {
  if (!tasks_in_use()) return;
  try {
    const py::error_scope kept;
    const std::uint64_t changes = task_changes();
    const auto value = py::handle(python_context).attr("get")(py::handle(variable));
    const auto innermost = scope_in(value);
    if (written.changes == changes && written.innermost == innermost.get()) return;
    write_labels(first_that_counts(innermost), Surety::kSure);
    written = {changes, innermost.get()};
  } catch (...) {
    // Likewise.
  }
}

void unlabel_thread() noexcept {
  if (!tasks_in_use()) return;
  written = {};
  ever_labeled = true;
  const TaskSessions sessions = task_sessions();
  for (const TaskSession& session : *sessions)
    if (const auto living = session.session.lock()) living->unlabel_thread();
}

void set_thread_base(std::shared_ptr<TaskScope> scope) noexcept {
  thread_base = std::move(scope);
  if (tasks_in_use()) work_for(thread_base, OwnSwitch::kStep);
}
void count_unsure(int change) noexcept { unsure_depth = std::max(0, unsure_depth + change); }
void forget_thread() noexcept {
  unsure_depth = 0;
  ever_labeled = false;
  written = {};
}
Surety surety_here() noexcept { return unsure_depth > 0 ? Surety::kUnsure : Surety::kSure; }

PyObject* task_variable() { return variable; }

void make_task_variable() {
  home = PyInterpreterState_Get();
  variable = PyContextVar_New("tracer_task", Py_None);
  if (variable == nullptr) throw py::error_already_set();
}

bool in_home_interpreter() noexcept {
  PyThreadState* const thread = current_thread();
  return thread != nullptr && PyThreadState_GetInterpreter(thread) == home;
}

}  // namespace tracer::python
