// SPDX-License-Identifier: Apache-2.0
/// Figures as people read them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <tracer/report.hpp>

#include "base/quantities.hpp"

namespace tracer::internal {

/// What is not known.
inline constexpr const char* kUnknownFigure = "-";

/// "≥ 13 ms" for what is a bound; "-" for what is absent.
std::string format_figure(const std::optional<Figure>& figure, std::string (*format)(std::uint64_t));
std::string with_bound(Bound bound, const std::string& text);

}  // namespace tracer::internal
