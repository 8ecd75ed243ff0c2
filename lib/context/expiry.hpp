// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>

#include <tracer/error.hpp>

namespace tracer::internal {

/// How long what somebody says holds, from now on: 100 years at most. `what`: "an announcement". Throws
/// Error(kInvalidArgument) for a time that is over.
inline std::uint64_t expiry_ns(std::chrono::milliseconds expires_after, std::string_view what) {
  constexpr std::chrono::milliseconds kLongest = std::chrono::hours(24 * 365 * 100);
  if (expires_after.count() < 0)
    throw Error({ErrorCode::kInvalidArgument,
                 0,
                 fmt::format("{} that has expired before it is made", what),
                 "give a time from now on",
                 {}});
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(std::min(expires_after, kLongest)).count());
}

}  // namespace tracer::internal
