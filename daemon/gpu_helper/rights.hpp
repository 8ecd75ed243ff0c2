// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tracer_gpu {

/// Gives up everything but what an ordinary user has, before foreign code runs: root's identity, all capabilities,
/// other open files, memory without end. False: the kernel refused.
bool give_up_rights() noexcept;

}  // namespace tracer_gpu
