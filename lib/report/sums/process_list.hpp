// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tracer/event.hpp>
#include <tracer/key.hpp>
#include <tracer/report.hpp>

#include "base/process_id.hpp"

namespace tracer::internal {

/// One process, cut to what is shown.
struct ListedProcess {
  std::optional<Key> in;  ///< Its task, or its run. Absent: none.
  std::string tool;
  std::vector<std::string> argv;  ///< Its head; "…" behind it where it is longer.
  std::uint32_t pid = 0;
  std::optional<std::uint32_t> parent_pid;
  std::uint64_t start_ns = 0;
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
  bool living = false;  ///< end_ns is its last sample's.
  std::optional<std::int32_t> exit_code;
  std::optional<std::int32_t> exit_signal;
  std::optional<std::uint64_t> cpu_ns;
  std::optional<Figure> memory_bytes;
};

/// Those that consumed most CPU, as many as there is room for; its memory is bounded by that.
class ProcessList {
 public:
  explicit ProcessList(std::size_t most) : most_(most) {}

  /// A command that was held until this has not lived before.
  void began(const ProcessExec& exec);
  void add(const ProcessExit& exit);
  void add(const ProcessSample& living);
  /// Most CPU first.
  std::vector<ListedProcess> in_order() const;

 private:
  bool has_room(std::uint64_t cpu_ns) const;
  void take(ListedProcess process, const Process& of, const Account& account);

  std::size_t most_;
  std::map<ProcessId, std::uint64_t> begins_;  ///< Of commands that were held, and live.
  std::vector<ListedProcess> heap_;            ///< The one with the least CPU in front.
};

}  // namespace tracer::internal
