// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tracer/event.hpp>

#include "serve/sight.hpp"

namespace tracer::internal {

/// The event as its owner gets it, where that is not root: without the arguments of a process that runs as another
/// user, such as root in a container.
Event for_owner(const Event& event, const Owner& owner);

}  // namespace tracer::internal
