// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tracer/run.hpp>

namespace tracer::internal {

/// Becomes this user for good; to be called between fork and exec, and so async-signal-safe. False: errno says why.
bool become(const User& user) noexcept;

/// Gives up the capabilities that a program of an ordinary user would inherit; for root there are none. Between fork
/// and exec, as become().
void drop_inherited_capabilities() noexcept;

}  // namespace tracer::internal
