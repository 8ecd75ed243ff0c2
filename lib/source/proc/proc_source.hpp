// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "source/source.hpp"
#include "source/source_request.hpp"

namespace tracer::internal {

struct ProcSourceOptions : SourceRequest {
  std::string root = "/proc";
};

/// Looks at /proc again and again, and needs no rights; without a `max_cost_share` for PollClock::kDefaultShare of a
/// CPU. Families other than snapshots are reported as missing. Throws Error: kFilterNamesNothing, kPermission,
/// kPidNamespace, kFileUnreadable (this /proc does not show the machine's own files).
std::unique_ptr<Source> proc_source(ProcSourceOptions options);

}  // namespace tracer::internal
