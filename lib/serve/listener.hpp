// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <filesystem>

#include "base/unique_fd.hpp"

namespace tracer::internal {

/// A socket that listens, by a name that appears with its mode at once. Its folder must exist. A name that a service
/// left behind, on which nobody listens, is replaced. Throws Error: kInvalidArgument (too long, not absolute),
/// kContradiction (a service listens on it), kFileUnwritable.
UniqueFd listen_on(const std::filesystem::path& path, mode_t mode);

}  // namespace tracer::internal
