// SPDX-License-Identifier: Apache-2.0
#include "task_scope.hpp"

#include <pthread.h>

#include <algorithm>
#include <cstddef>
#include <new>
#include <utility>

#include "context/layers.hpp"

namespace py = pybind11;

namespace tracer::python {

namespace {

struct Registry {
  std::mutex mutex;
  TaskSessions sessions = std::make_shared<const std::vector<TaskSession>>();
};

// Never destroyed: threads may fork until the very end. Made anew in a child, where its lock may be held forever.
alignas(Registry) std::byte registry_storage[sizeof(Registry)];
std::atomic<std::uint64_t> process_number{1};
std::atomic<std::uint64_t> changes{1};
std::atomic<std::uint64_t> last_session_id{0};
std::atomic<std::uint64_t> last_scope_id{0};
std::atomic<bool> in_use{false};

void in_forked_child() {
  in_use.store(false);
  process_number.fetch_add(1);
  changes.fetch_add(1);
  new (registry_storage) Registry;
  forget_thread();
  forget_own_work();
}

Registry& registry() {
  static const bool made = [] {
    new (registry_storage) Registry;
    ::pthread_atfork(nullptr, nullptr, in_forked_child);
    return true;
  }();
  static_cast<void>(made);
  return *std::launder(reinterpret_cast<Registry*>(registry_storage));
}

template <class Change>
void change_sessions(Change change) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  auto sessions = *all.sessions;
  change(sessions);
  in_use.store(!sessions.empty());
  changes.fetch_add(1);
  all.sessions = std::make_shared<const std::vector<TaskSession>>(std::move(sessions));
}

/// Says that all of it is only inferred.
Context unsure(Context context) {
  internal::stamp(context, Provenance::kInferred);
  return context;
}

const void* current_python_context() { return PyThreadState_Get()->context; }

}  // namespace

TaskSessions task_sessions() {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  return all.sessions;
}

std::uint64_t add_task_session(const std::shared_ptr<Session>& session, Context context) {
  const std::uint64_t id = last_session_id.fetch_add(1) + 1;
  change_sessions([&](auto& sessions) { sessions.push_back({id, session, std::move(context)}); });
  begin_own_session(id);
  return id;
}

void remove_task_session(std::uint64_t id) {
  report_own_work(id, OwnReport::kLast);
  change_sessions([&](auto& sessions) { std::erase_if(sessions, [&](const auto& each) { return each.id == id; }); });
}

void report_own_work(std::uint64_t id, OwnReport which) {
  for (const TaskSession& each : *task_sessions()) {
    const auto living = each.id == id ? each.session.lock() : nullptr;
    if (living) report_own_session(id, *living, which);
  }
}

bool tasks_in_use() noexcept { return in_use.load(std::memory_order_relaxed); }
std::uint64_t task_changes() noexcept { return changes.load(); }

TaskScope::TaskScope(std::shared_ptr<TaskScope> outer, std::vector<std::uint64_t> suspended)
    : id_(last_scope_id.fetch_add(1) + 1),
      suspended_(std::move(suspended)),
      process_(process_number.load()),
      outer_(std::move(outer)) {}

TaskScope::~TaskScope() {
  if (foreign()) {
    // Their destructors would end the parent's labels.
    static_cast<void>(new std::vector<Labels>(std::move(labels_)));
    return;
  }
  abandon_own_work(this);
  forget_frame();
  changes.fetch_add(1);
}

const std::shared_ptr<TaskScope>& TaskScope::outside() {
  static const auto* const outside = new std::shared_ptr<TaskScope>(std::make_shared<TaskScope>(nullptr));
  return *outside;
}

bool TaskScope::foreign() const noexcept { return process_ != process_number.load(); }

bool TaskScope::open() const noexcept { return this == outside().get() || (open_.load() && !foreign()); }

std::optional<Problem> TaskScope::label_in(const TaskSession& session, const Context& said, Surety surety) {
  {
    const std::lock_guard lock(mutex_);
    labels_.push_back({session.id, said, {}, {}});
  }
  changes.fetch_add(1);
  const auto living = session.session.lock();
  if (!living) return std::nullopt;
  try {
    const bool sure = surety == Surety::kSure;
    ThreadLabel label = living->label_thread(sure ? said : unsure(said));
    const std::lock_guard lock(mutex_);
    (sure ? labels_.back().sure : labels_.back().unsure).emplace(std::move(label));
  } catch (const Error& error) {
    const std::lock_guard lock(mutex_);
    labels_.pop_back();
    return error.problems().front();
  }
  return std::nullopt;
}

void TaskScope::end() noexcept {
  if (this == outside().get() || foreign() || !open_.exchange(false)) return;
  std::vector<Labels> ended;
  {
    const std::lock_guard lock(mutex_);
    ended.swap(labels_);
  }
  ended.clear();
  forget_frame();
  changes.fetch_add(1);
}

std::shared_ptr<TaskScope> TaskScope::outer() {
  if (foreign()) return nullptr;
  // When the lock is free again: what ends with them takes others.
  std::vector<std::shared_ptr<TaskScope>> let_go;
  const std::lock_guard lock(mutex_);
  // Ended ones are let go, so that no chain of them grows.
  while (outer_ && !outer_->open()) {
    auto further = outer_->foreign() ? nullptr : outer_->outer();
    let_go.push_back(std::exchange(outer_, std::move(further)));
  }
  return outer_;
}

bool TaskScope::resume(const TaskSession& session, Surety surety) noexcept {
  if (!open()) return false;
  const std::lock_guard lock(mutex_);
  const auto known =
      std::find_if(labels_.begin(), labels_.end(), [&](const Labels& each) { return each.session_id == session.id; });
  if (known == labels_.end()) return false;
  auto& label = surety == Surety::kSure ? known->sure : known->unsure;
  if (label) {
    label->resume();
    return true;
  }
  try {
    const auto living = session.session.lock();
    if (!living) return false;
    label.emplace(living->label_thread(surety == Surety::kSure ? known->context : unsure(known->context)));
  } catch (...) {
    // No room for it: the other one is nearly as good.
    auto& other = surety == Surety::kSure ? known->unsure : known->sure;
    if (!other) return false;
    other->resume();
  }
  return true;
}

std::optional<Context> TaskScope::context_in(std::uint64_t session_id, Surety surety) const {
  if (foreign()) return std::nullopt;
  const std::lock_guard lock(mutex_);
  for (const Labels& each : labels_)
    if (each.session_id == session_id) return surety == Surety::kSure ? each.context : unsure(each.context);
  return std::nullopt;
}

void TaskScope::count_in_frame(PyObject* frame) {
  const void* context = current_python_context();
  const std::lock_guard lock(mutex_);
  if (!open_.load() || frame_ != nullptr) return;
  Py_INCREF(frame);
  frame_ = frame;
  python_context_ = context;
}

bool TaskScope::in_frame() const {
  const std::lock_guard lock(mutex_);
  return frame_ != nullptr;
}

bool TaskScope::counts_here() const {
  py::object frame;
  {
    const std::lock_guard lock(mutex_);
    if (frame_ == nullptr || python_context_ != current_python_context()) return true;
    frame = py::reinterpret_borrow<py::object>(frame_);
  }
  // A generator that is suspended has nothing below it.
  const auto back = py::reinterpret_steal<py::object>(
      reinterpret_cast<PyObject*>(PyFrame_GetBack(reinterpret_cast<PyFrameObject*>(frame.ptr()))));
  return static_cast<bool>(back);
}

void TaskScope::forget_frame() noexcept {
  PyObject* frame = nullptr;
  {
    const std::lock_guard lock(mutex_);
    std::swap(frame, frame_);
  }
  if (frame != nullptr && Py_IsInitialized() != 0 && PyGILState_Check() != 0) Py_DECREF(frame);
}

}  // namespace tracer::python
