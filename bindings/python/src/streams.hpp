// SPDX-License-Identifier: Apache-2.0
/// Arrow streams as capsules, and what went wrong in them: consumers pass on no more than a text.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include <tracer/table.hpp>

namespace tracer::python {

/// Shared by a stream, wherever it was moved, and Python.
class StreamStatus {
 public:
  void note(std::optional<Problem> problem, std::optional<RecordingDamage> damage) {
    const std::lock_guard lock(mutex_);
    if (problem) problem_ = std::move(problem);
    if (damage) damage_ = damage;
  }
  std::optional<Problem> problem() const {
    const std::lock_guard lock(mutex_);
    return problem_;
  }
  std::optional<RecordingDamage> damage() const {
    const std::lock_guard lock(mutex_);
    return damage_;
  }

 private:
  mutable std::mutex mutex_;
  std::optional<Problem> problem_;
  std::optional<RecordingDamage> damage_;
};

/// Throws Error(kInvalidArgument).
Table table_named(std::string_view name);

/// A stream whose problems `status` has. Takes `stream` over.
ArrowArrayStream watched(ArrowArrayStream stream, std::shared_ptr<StreamStatus> status);

/// A stream of one batch, which stays with its owner.
ArrowArrayStream stream_of_batch(std::shared_ptr<ArrowArray> batch, Table table);
/// The same buffers again: released on its own.
ArrowArray again(const std::shared_ptr<ArrowArray>& batch);

pybind11::capsule capsule_of(ArrowSchema schema);
pybind11::capsule capsule_of(ArrowArray array);
pybind11::capsule capsule_of(ArrowArrayStream stream);

}  // namespace tracer::python
