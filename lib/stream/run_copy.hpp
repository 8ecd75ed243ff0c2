// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <vector>

#include <tracer/context.hpp>

#include "stream/recording_series.hpp"

namespace tracer::internal {

/// What is copied of a recording: the events of a run, and of its tasks.
struct RunCopy {
  std::set<Key> run_keys;
  /// By the keys that tasks have in the recording: what the host of their engine says of them. They become its run's.
  std::map<Key, Context> names = {};
  bool is_over = false;  ///< It has ended, though that is not in the recording.
};

/// As a recording of a session that followed the run alone. `open`: the recording, of which the newest session comes
/// first; it is read twice. Throws what `open` and `write` throw.
void copy_run(const RunCopy& copy, const std::function<std::vector<RecordingSeries>()>& open,
              const std::function<void(std::span<const std::byte>)>& write);

}  // namespace tracer::internal
