// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tracer::internal {

/// Wide enough for the product of two numbers of 64 bits.
__extension__ using Wide = unsigned __int128;

}  // namespace tracer::internal
