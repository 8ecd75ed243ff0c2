// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <tracer/event.hpp>

namespace tracer::python {

/// One process that ended, cut to what is shown.
struct ListedProcess {
  std::string tool;
  std::string command;  ///< Its head; "…" at the end where it is longer.
  std::string task;
  std::uint32_t pid = 0;
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;
  bool failed = false;
  std::optional<std::int32_t> exit_code;
  std::optional<std::int32_t> exit_signal;
  std::optional<std::uint64_t> cpu_ns;
  std::optional<std::uint64_t> peak_bytes;
  std::optional<std::uint64_t> read_bytes;
  std::optional<std::uint64_t> written_bytes;
  std::optional<Ledger> ledger;
  std::optional<ProcessLedger> process_ledger;
};

/// Those that consumed most CPU, as many as there is room for; its memory is bounded by that.
class ProcessList {
 public:
  explicit ProcessList(std::size_t most) : most_(most) {}

  void add(const ProcessExit& exit);
  /// Most CPU first.
  std::vector<ListedProcess> in_order() const;

 private:
  std::size_t most_;
  std::vector<ListedProcess> heap_;  ///< The one with the least CPU in front.
};

}  // namespace tracer::python
