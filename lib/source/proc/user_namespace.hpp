// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tracer::internal {

/// This process is in another one than the initial one: whatever rights it has there, it may load no BPF programs.
bool in_user_namespace() noexcept;

/// What helps then.
inline constexpr const char* kTraceFromOutside =
    "a user namespace can't give the right to load BPF programs: trace as root from outside of it, such as from the "
    "host "
    "of a container, or start the service there (tracerd serve)";

}  // namespace tracer::internal
