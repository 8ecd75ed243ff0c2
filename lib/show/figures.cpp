// SPDX-License-Identifier: Apache-2.0
#include "show/figures.hpp"

#include <fmt/format.h>

#include "show/screen.hpp"

namespace tracer::internal {

std::string with_bound(Bound bound, const std::string& text) {
  switch (bound) {
    case Bound::kAtLeast: return fmt::format("{} {}", symbols().at_least, text);
    case Bound::kAtMost: return fmt::format("{} {}", symbols().at_most, text);
    case Bound::kExact: break;
  }
  return text;
}

std::string format_figure(const std::optional<Figure>& figure, std::string (*format)(std::uint64_t)) {
  return figure ? with_bound(figure->bound, format(figure->value)) : kUnknownFigure;
}

}  // namespace tracer::internal
