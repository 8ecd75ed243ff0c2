// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "source/records.hpp"

namespace tracer::internal {

/// Sets argv from strings ended by NUL. With a `total` beyond what is here, the middle is missing after the first 3
/// KiB.
void set_argv(ProgramText& text, std::string_view bytes, std::uint64_t total);

}  // namespace tracer::internal
