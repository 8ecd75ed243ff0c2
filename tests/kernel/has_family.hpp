// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>

#include <doctest/doctest.h>

#include "capture.hpp"

/// False where this kernel has refused it, which the test reports.
inline bool has_family(const Capture& capture, const std::string& family) {
  const auto ends = capture.all<tracer::SessionEnd>();
  REQUIRE(ends.size() == 1);
  const auto& missing = ends[0].missing_families.value();
  if (std::find(missing.begin(), missing.end(), family) == missing.end()) return true;
  MESSAGE("SKIP: no family " << family << " on this kernel");
  return false;
}
