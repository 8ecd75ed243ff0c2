// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "correlate/replay_filter.hpp"
#include "serve/restart_bytes.hpp"
#include "serve/sight.hpp"

namespace tracer::internal {

/// What a filter has decided, as in Filtered.
struct KeptFilter {
  std::uint64_t id = 0;  ///< Among those of its sight; not 0.
  bool shared = true;
  std::string rules = {};
  std::vector<std::uint64_t> streams = {};
  ReplayFilter::Decided decided = {};
};

/// How far the numbers of a sight have come, or of a filter of it.
struct KeptViewer {
  Sight sight;
  std::uint64_t last = 0;
  std::uint64_t samples = 0;
  std::uint64_t started = 0;
  std::uint64_t ended = 0;
  std::optional<KeptFilter> filtered = {};
};

/// Without its filter.
void put_viewer(Bytes& out, const KeptViewer& viewer);
KeptViewer viewer_from(Taker& taker);
/// One that has a filter.
void put_filtered(Bytes& out, const KeptViewer& viewer);
KeptViewer filtered_from(Taker& taker);

}  // namespace tracer::internal
