// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <tracer/event.hpp>

#include "base/bounded.hpp"
#include "base/process_id.hpp"
#include "correlate/process_table.hpp"
#include "source/records.hpp"

namespace tracer::internal {

/// What block devices did since the last snapshot, and who asked them for most, be it that it has ended since.
class DeviceSamples {
 public:
  explicit DeviceSamples(std::shared_ptr<Accounts> accounts) : ended_(kMostBytesOfEnded, {}, std::move(accounts)) {}

  /// `process`: null if it is not reported.
  void ended(const ExitRecord& record, std::shared_ptr<const Process> process);
  void add(const DeviceRecord& record, ProcessTable& processes);
  /// Forgets what was added.
  void clear() noexcept { samples_.clear(); }
  void take(std::uint64_t time_ns, std::vector<Event>& events);
  /// Nothing comes any more.
  void stop() noexcept;

 private:
  /// Null within: it is known, and not reported. Absent: it is not known.
  std::optional<std::shared_ptr<const Process>> find(const DeviceRecord::Use& use, ProcessTable& processes) const;

  static constexpr std::size_t kMostBytesOfEnded = 1u << 20;

  std::vector<DeviceSample> samples_;  ///< Of the snapshot that is being taken, without its time.
  /// Since the last snapshot, with anything read from or written to storage.
  Bounded<ProcessId, std::shared_ptr<const Process>, ProcessIdHash> ended_;
  bool active_ = true;
};

}  // namespace tracer::internal
