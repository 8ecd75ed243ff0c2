// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>

#include <tracer/check.hpp>

#include "source/kernel/families/family.hpp"

namespace tracer::internal {

/// What this process may do, and what the kernel has that these families need or can use; first what is required.
CheckReport check_kernel(const KernelTypes& types, std::span<const std::unique_ptr<KernelFamily>> families);

}  // namespace tracer::internal
