// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <tracer/event.hpp>

#include "serve/ownership.hpp"
#include "serve/sight.hpp"

namespace tracer::internal {

/// The event as its owner gets it, where that is not root: without the arguments of a process that runs as another
/// user, such as root in a container, without paths and addresses that were used, or that a program was executed with,
/// as another user, without the context of another user's run or task, and without the program that the process ran
/// before it became this user's. `changed_user`: as Ownership::changed_user() of this event.
Event for_owner(const Event& event, const Owner& owner, bool changed_user, const Ownership& ownership);
/// `ownership`: it has just said who the owner is.
inline Event for_owner(const Event& event, const Owner& owner, const Ownership& ownership) {
  return for_owner(event, owner, ownership.changed_user(), ownership);
}

}  // namespace tracer::internal
