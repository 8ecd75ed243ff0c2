// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pybind11/pybind11.h>

#include <cxxabi.h>
#include <unistd.h>

namespace tracer::python {

namespace detail {

/// Takes the GIL by `take`. Where the interpreter ends meanwhile, Python before 3.14 ends the thread by unwinding it,
/// which aborts the process at the first frame that may not throw: such a thread sleeps, as it does in Python
/// since 3.14.
template <class Take>
void take_gil(Take take) noexcept {
  try {
    take();
  } catch (const abi::__forced_unwind&) {
    for (;;) ::pause();
  }
}

}  // namespace detail

/// The calling thread, which has the GIL, is without it for a scope.
class ReleasedGil {
 public:
  ReleasedGil() noexcept : state_(PyEval_SaveThread()) {}
  ~ReleasedGil() {
    detail::take_gil([this] { PyEval_RestoreThread(state_); });
  }
  ReleasedGil(const ReleasedGil&) = delete;
  ReleasedGil& operator=(const ReleasedGil&) = delete;

 private:
  PyThreadState* state_;
};

/// The calling thread, Python's or not, has the GIL for a scope. Not when is_finalizing().
class AcquiredGil {
 public:
  AcquiredGil() noexcept {
    detail::take_gil([this] { state_ = PyGILState_Ensure(); });
  }
  ~AcquiredGil() { PyGILState_Release(state_); }
  AcquiredGil(const AcquiredGil&) = delete;
  AcquiredGil& operator=(const AcquiredGil&) = delete;

 private:
  PyGILState_STATE state_{};
};

/// Python ends: its GIL is not to be asked for any more, by threads that are not Python's. Any thread.
inline bool is_finalizing() noexcept {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsFinalizing() != 0;
#else
  return _Py_IsFinalizing() != 0;
#endif
}

}  // namespace tracer::python
