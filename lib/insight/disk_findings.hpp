// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tracer/event.hpp>

#include "insight/finding_book.hpp"
#include "insight/task_ledgers.hpp"
#include "insight/works.hpp"
#include "state/process_spans.hpp"

namespace tracer::internal {

/// Findings about storage that others keep busy, and about files that a task reads again and again. Bounded: as Works,
/// and by kMostFiles of each.
class DiskFindings {
 public:
  explicit DiskFindings(FindingBook& book);

  void saw(const ProcessSpan& span);
  /// `heaviest`: the process that it names; null: not known.
  void saw(const DeviceSample& sample, const std::shared_ptr<const Process>& heaviest);
  void saw(const FileUse& use);
  void saw(const ContextChange& change);
  /// At the end of a snapshot, before living().
  void snapshot(std::uint64_t time_ns);
  void living(const ScopeFigures& figures, std::uint64_t time_ns, std::vector<Event>& events) {
    look_at_contention(figures, time_ns, events);
  }
  void finished(const Context& context, bool is_run, const std::optional<ScopeFigures>& figures, std::uint64_t time_ns,
                std::vector<Event>& events);

 private:
  static constexpr std::size_t kMostFiles = 1024;
  static constexpr std::size_t kMostNeighbors = 64;

  struct File {
    std::string path;
    std::uint64_t size_bytes = 0;
    std::uint64_t read_bytes = 0;
    std::uint64_t opens = 0;
    std::shared_ptr<const Process> process;  ///< The last that read it.
    std::optional<std::uint32_t> euid;       ///< As which user.
  };
  /// Who kept the device busy meanwhile.
  struct Neighbor {
    std::string tool;
    std::shared_ptr<const Context> context;
    std::uint64_t contended_ns = 0;
  };
  /// By work_key() and user: what is in no task may be of several. Absent: the user is not known.
  using NeighborId = std::pair<std::uint64_t, std::optional<std::uint32_t>>;
  using Neighbors = std::map<NeighborId, Neighbor>;
  struct Device {
    DeviceSample sample;
    std::optional<std::uint32_t> heaviest_uid;
  };
  struct Work {
    std::uint64_t window_disk_ns = 0;  ///< Waited since the last device_sample.
    std::uint64_t contended_ns = 0;    ///< While another kept the only busy device busy.
    Neighbors neighbors = {};
    std::map<std::pair<std::uint64_t, std::uint64_t>, File> files = {};  ///< By device and inode.
    std::shared_ptr<const Process> waiter = {};                          ///< The process that waited longest.
    std::uint64_t waiter_ns = 0;
  };

  static void rename(Neighbors& neighbors, std::uint64_t from, std::uint64_t to);
  void look_at_contention(const ScopeFigures& figures, std::uint64_t time_ns, std::vector<Event>& events);
  void look_at_files(const ScopeFigures& figures, const Work& work, std::uint64_t time_ns, std::vector<Event>& events);

  FindingBook& book_;
  std::vector<Device> devices_;  ///< Of this snapshot.
  Works<Work> works_;
};

}  // namespace tracer::internal
