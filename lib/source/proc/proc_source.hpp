// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tracer/families.hpp>

#include "source/proc/process_choice.hpp"
#include "source/source.hpp"

namespace tracer::internal {

struct ProcSourceOptions {
  std::string root = "/proc";
  std::size_t max_processes = 32768;
  std::vector<Family> families = {};          ///< That were asked for: all but snapshots are reported as missing.
  std::optional<double> max_cost_share = {};  ///< Of one CPU, for looking; absent: PollClock::kDefaultShare.
  ProcessChoice::Rules choice = {};
};

/// Looks at /proc again and again, and needs no rights. Throws Error: kFilterNamesNothing, kPermission, kPidNamespace,
/// kFileUnreadable (this /proc does not show the machine's own files).
std::unique_ptr<Source> proc_source(ProcSourceOptions options);

}  // namespace tracer::internal
