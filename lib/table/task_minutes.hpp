// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include <tracer/context.hpp>
#include <tracer/event.hpp>

#include "base/process_id.hpp"
#include "state/held_memory.hpp"
#include "stream/column_frame.hpp"
#include "stream/event_frames.hpp"
#include "stream/event_rows.hpp"
#include "table/frame_values.hpp"

namespace tracer::internal {

/// What a process had used in all, when it was looked at last.
struct Look {
  ProcessId id;
  std::uint64_t time_ns = 0;
  /// CPU time, bytes read and written. Absent: no look has shown it.
  std::array<std::optional<std::uint64_t>, 3> used = {};
  std::array<std::uint64_t, 3> outside = {};  ///< The part of it that was in no task.
};

/// What tasks use in each minute of Unix time, by their processes' samples and ends.
class TaskMinutes {
 public:
  static constexpr std::array kRead = {EventKind::kProcessSample, EventKind::kProcessExit};

  /// `before`: the looks at what lives, before the first frame.
  explicit TaskMinutes(std::vector<Look> before);
  void read(const ColumnFrame& frame, std::size_t first_row);
  /// Calls `take` with frames of a ToolSample for each task and minute: its account is what was used in the minute,
  /// `processes` and `held_bytes` are of the snapshot in it at which they held most; 0 and absent: not known.
  template <class Take>
  void give(const Take& take) {
    end_snapshot();
    for (const auto& [of, minute] : minutes_) {
      const Event event = event_of(of.first, of.second, minute);
      if (!frames_.has_room(event)) take(frames_.close(clock_));
      frames_.add(event);
    }
    if (!frames_.empty()) take(frames_.close(clock_));
  }
  /// At what lives on; empty where the session has ended.
  std::vector<Look> looks() const;

 private:
  struct Used {
    std::uint64_t amount = 0;
    bool some = false;
    bool lacks = false;  ///< That of a process, which is not known.
  };
  struct Minute {
    std::array<Used, 3> used = {};
    std::uint64_t processes = 0;
    std::optional<std::uint64_t> held_bytes;
  };
  struct AtOnce {
    std::uint64_t processes = 0;
    HeldMemory held;
  };
  struct Columns;

  void read(const ColumnFrame& frame, const Columns& columns, std::size_t first);
  void note(std::optional<std::uint64_t> task, std::uint64_t begin_ns, const Look& now, bool is_end);
  void spread(std::uint64_t task, std::size_t what, std::uint64_t from_ns, std::uint64_t to_ns,
              std::optional<std::uint64_t> amount);
  void end_snapshot();
  std::uint64_t minute_of(std::uint64_t time_ns) const noexcept;
  Event event_of(std::uint64_t task, std::uint64_t minute, const Minute& used) const;

  std::unordered_map<ProcessId, Look, ProcessIdHash> looks_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, Minute> minutes_;  ///< By task and minute.
  std::unordered_map<std::uint64_t, std::shared_ptr<const Context>> contexts_;
  std::uint64_t snapshot_ns_ = 0;
  std::map<std::uint64_t, AtOnce> snapshot_;  ///< By task.
  ClockUpdate clock_;
  FrameValues values_;
  EventRows rows_;
  EventFrames frames_;
};

}  // namespace tracer::internal
