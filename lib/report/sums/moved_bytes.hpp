// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <tracer/process.hpp>

namespace tracer::internal {

/// What a program has read and written, at least: by calls, or for storage where calls don't explain that. 0: not
/// known.
std::uint64_t read_at_least(const Account& account) noexcept;
std::uint64_t written_at_least(const Account& account) noexcept;

}  // namespace tracer::internal
