// SPDX-License-Identifier: Apache-2.0
#include "callback.hpp"

#include <optional>
#include <stdexcept>
#include <utility>

#include "binders.hpp"
#include "events.hpp"
#include "gil.hpp"

namespace py = pybind11;

namespace tracer::python {

namespace {

/// A Python function that may be let go of on any thread.
class Callback {
 public:
  explicit Callback(py::function function) : function_(function.release().ptr()) {}
  ~Callback() {
    if (is_finalizing()) return;
    const AcquiredGil acquired;
    Py_DECREF(function_);
  }
  Callback(const Callback&) = delete;
  Callback& operator=(const Callback&) = delete;

  void call(const Event& event) const {
    if (is_finalizing()) return;
    const AcquiredGil acquired;
    try {
      const py::object made = object_of(event);
      py::reinterpret_steal<py::object>(PyObject_CallOneArg(function_, made.ptr()));
      if (PyErr_Occurred() == nullptr) return;
      PyErr_WriteUnraisable(function_);
    } catch (py::error_already_set& error) {
      error.discard_as_unraisable("a callback of tracer");
    }
    throw std::runtime_error("a Python callback has raised");
  }

 private:
  PyObject* function_;
};

}  // namespace

HeldSubscription::~HeldSubscription() {
  if (!active()) return;
  std::optional<ReleasedGil> released;
  // Its call needs the GIL to end, unless it is the caller.
  if (PyGILState_Check() != 0) released.emplace();
  cancel();
}

std::unique_ptr<HeldSubscription> subscribe(const std::shared_ptr<Session>& session, std::optional<EventKind> kind,
                                            bool living_first, py::function callback) {
  auto held = std::make_shared<Callback>(std::move(callback));
  const ReleasedGil released;
  return std::make_unique<HeldSubscription>(session->subscribe(
      kind, [held = std::move(held)](const Event& event) { held->call(event); }, {.living_first = living_first}));
}

void bind_callback(py::module_& module) {
  py::class_<HeldSubscription>(module, "Subscription")
      .def("cancel", &HeldSubscription::cancel, py::call_guard<ReleasedGil>())
      .def_property_readonly("active", &HeldSubscription::active);
}

}  // namespace tracer::python
