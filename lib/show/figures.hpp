// SPDX-License-Identifier: Apache-2.0
/// Figures as people read them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <tracer/report.hpp>

namespace tracer::internal {

/// What is not known.
inline constexpr const char* kUnknown = "-";

/// "4.2 s", "13 ms"
std::string format_duration(std::uint64_t ns);
/// "1.2 GiB"
std::string format_bytes(std::uint64_t bytes);
/// "71 %"
std::string format_share(double share);
/// "1 process", "2 processes"
std::string format_count(std::uint64_t count, std::string_view one, std::string_view many);

/// "≥ 13 ms" for what is a bound; "-" for what is absent.
std::string format_figure(const std::optional<Figure>& figure, std::string (*format)(std::uint64_t));
std::string with_bound(Bound bound, const std::string& text);

}  // namespace tracer::internal
