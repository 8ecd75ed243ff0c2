// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <tracer/error.hpp>
#include <tracer/export.hpp>

namespace tracer {

/// Signals are loaded in families; one that a kernel refuses never takes the others down.
enum class Family {
  kLifecycle,  ///< Starts, execs, exits and accounts. Always there.
  kWaits,      ///< Ledger.
  kSnapshots,  ///< ProcessSample at an interval.
};

/// "lifecycle", "waits", "snapshots".
TRACER_EXPORT std::string_view to_string(Family family) noexcept;

/// How a family is there.
struct SignalState {
  Family family = Family::kLifecycle;
  bool active = false;
  std::string mechanism;           ///< What it hangs on in the kernel.
  std::optional<Problem> problem;  ///< Why it is not active, though asked for; or what of it is missing.
};

}  // namespace tracer
