// SPDX-License-Identifier: Apache-2.0
/// Quantities as people read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tracer::internal {

/// "4.2 s", "13 ms"
std::string format_duration(std::uint64_t ns);
/// "1.2 GiB"
std::string format_bytes(std::uint64_t bytes);
/// "71 %"
std::string format_share(double share);
/// "1 process", "2 processes"
std::string format_count(std::uint64_t count, std::string_view one, std::string_view many);

}  // namespace tracer::internal
