// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include <tracer/run.hpp>

namespace tracerd {

/// The user that `wanted` names, else the one who called sudo; absent: nobody else.
/// Throws tracer::Error: kNoSuchUser, kPermission.
std::optional<tracer::User> user_to_run_as(const std::optional<std::string>& wanted);

/// Gives up every capability that tracing does not need any more, for good.
void drop_privileges() noexcept;

}  // namespace tracerd
