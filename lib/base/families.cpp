// SPDX-License-Identifier: Apache-2.0
#include <tracer/families.hpp>

namespace tracer {

std::string_view to_string(Family family) noexcept {
  switch (family) {
    case Family::kLifecycle: return "lifecycle";
    case Family::kWaits: return "waits";
    case Family::kSnapshots: return "snapshots";
  }
  return {};
}

}  // namespace tracer
