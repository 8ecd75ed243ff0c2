// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <tracer/error.hpp>
#include <tracer/export.hpp>

namespace tracer {

/// What a session can see is loaded in families; when a kernel refuses one, the others work all the same.
enum class Family {
  kLifecycle,  ///< Starts, execs, exits and accounts. Always loaded.
  kWaits,      ///< Ledger.
  kSnapshots,  ///< ProcessSample at an interval.
};

/// "lifecycle", "waits", "snapshots".
TRACER_EXPORT std::string_view to_string(Family family) noexcept;

/// The state of a family.
struct FamilyState {
  Family family = Family::kLifecycle;
  bool active = false;
  std::string mechanism;           ///< The kernel hooks it uses.
  std::optional<Problem> problem;  ///< Why it is not active although requested, or what of it is missing.
};

}  // namespace tracer
