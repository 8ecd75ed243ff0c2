// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace tracer::internal {

/// Of a user, by /etc/passwd. Absent: they are not in it. Any thread may ask.
std::optional<std::string> home_folder(uid_t uid);

}  // namespace tracer::internal
