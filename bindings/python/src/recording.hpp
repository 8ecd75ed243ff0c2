// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pybind11/pybind11.h>

#include <filesystem>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include <tracer/recording.hpp>

namespace tracer::python {

/// A recording that is read from its beginning on. Thread-safe; no method needs the GIL.
class HeldReader {
 public:
  explicit HeldReader(RecordingReader reader) : reader_(std::move(reader)) {}

  std::vector<Event> read(std::size_t most) {
    const std::lock_guard lock(mutex_);
    std::vector<Event> events(most);
    events.resize(reader_.read(events));
    return events;
  }
  void keep_only(std::span<const EventKind> kinds) {
    const std::lock_guard lock(mutex_);
    reader_.keep_only(kinds);
  }
  HostInfo host() const {
    const std::lock_guard lock(mutex_);
    return reader_.host();
  }
  /// The Unix time of what was read last, the number and the owner.
  template <class Ask>
  auto about(const Ask& ask) const {
    const std::lock_guard lock(mutex_);
    return ask(reader_);
  }
  /// What reads it.
  template <class Read>
  auto with(const Read& read) {
    const std::lock_guard lock(mutex_);
    return read(reader_);
  }
  RecordingDamage damage() const {
    const std::lock_guard lock(mutex_);
    return reader_.damage();
  }
  /// For who reads it from now on; this one has nothing more.
  RecordingReader take() {
    const std::lock_guard lock(mutex_);
    return std::move(reader_);
  }

 private:
  mutable std::mutex mutex_;
  RecordingReader reader_;
};

std::vector<std::filesystem::path> paths_of(const pybind11::list& files);

}  // namespace tracer::python
