// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tracer/run.hpp>

namespace tracer::internal {

/// Becomes this user for good; to be called between fork and exec, and so async-signal-safe. False: errno says why.
bool become(const User& user) noexcept;

}  // namespace tracer::internal
