// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tracer/event.hpp>

#include "base/file_id.hpp"
#include "insight/detector.hpp"
#include "insight/works.hpp"

namespace tracer::internal {

/// Findings about storage that others keep busy, and about files that a task reads again and again. Bounded: as Works,
/// and by kMostFiles of each.
class DiskFindings : public Detector {
 public:
  explicit DiskFindings(FindingBook& book);

  void process_lived(const ProcessSpan& span, std::vector<Event>& events) override;
  void device_sampled(const DeviceSample& sample, const std::shared_ptr<const Process>& heaviest) override;
  void file_used(const FileUse& use) override;
  void snapshot_ended(const SnapshotEnd& snapshot, std::vector<Event>& events) override;
  void scope_lives(const ScopeFigures& figures, std::uint64_t time_ns, std::vector<Event>& events) override {
    look_at_contention(figures, time_ns, events);
  }
  void scope_ended(const ScopeEnd& end, std::vector<Event>& events) override;

 private:
  static constexpr std::size_t kMostFiles = 1024;
  static constexpr std::size_t kMostNeighbors = 64;

  struct File {
    std::string path;
    std::uint64_t size_bytes = 0;
    std::uint64_t read_bytes = 0;
    std::uint64_t opens = 0;
    std::uint64_t read_from_ns = std::numeric_limits<std::uint64_t>::max();  ///< The first of these reads began then.
    std::shared_ptr<const Process> process;                                  ///< The last that read it.
    std::optional<std::uint32_t> euid;                                       ///< As which user.
  };
  /// Who kept the device busy meanwhile.
  struct Neighbor {
    std::string tool;
    std::shared_ptr<const Context> context;
    std::uint64_t contended_ns = 0;
  };
  /// By user, too: what is in no task may be of several. Absent: the user is not known.
  using NeighborId = std::pair<ScopeId, std::optional<std::uint32_t>>;
  using Neighbors = std::map<NeighborId, Neighbor>;
  struct Device {
    DeviceSample sample;
    std::optional<std::uint32_t> heaviest_uid;
  };
  struct Work {
    std::uint64_t window_disk_ns = 0;  ///< Waited since the last device_sample.
    std::uint64_t contended_ns = 0;    ///< While another kept the only busy device busy.
    Neighbors neighbors = {};
    std::map<FileId, File> files = {};
    std::shared_ptr<const Process> waiter = {};  ///< The process that waited longest.
    std::uint64_t waiter_ns = 0;
  };

  void look_at_contention(const ScopeFigures& figures, std::uint64_t time_ns, std::vector<Event>& events);
  void look_at_files(const ScopeFigures& figures, const Work& work, std::uint64_t time_ns, std::vector<Event>& events);

  FindingBook& book_;
  std::vector<Device> devices_;  ///< Of this snapshot.
  Works<Work> works_;
};

}  // namespace tracer::internal
