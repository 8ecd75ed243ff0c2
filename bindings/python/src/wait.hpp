// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pybind11/pybind11.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "gil.hpp"

namespace tracer::python {

/// Calls `step(slice)` without the GIL, again and again, until it says true; false when `timeout_s` has passed (absent:
/// never). In between, Python's signal handlers run, and what they raise is thrown: Ctrl-C comes at once.
template <class Step>
bool wait_interruptibly(std::optional<double> timeout_s, Step step) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kSlice{50};
  constexpr double kForever = 1e9;
  const auto begin = Clock::now();
  const bool forever = !timeout_s || *timeout_s > kForever;
  const auto limit = std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(forever ? 0.0 : std::max(0.0, *timeout_s)));
  for (;;) {
    std::chrono::milliseconds slice = kSlice;
    if (!forever)
      slice = std::clamp(std::chrono::ceil<std::chrono::milliseconds>(begin + limit - Clock::now()),
                         std::chrono::milliseconds(0), kSlice);
    bool done = false;
    {
      const ReleasedGil released;
      done = step(slice);
    }
    if (done) return true;
    if (PyErr_CheckSignals() != 0) throw pybind11::error_already_set();
    if (!forever && Clock::now() - begin >= limit) return false;
  }
}

}  // namespace tracer::python
