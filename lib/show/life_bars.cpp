// SPDX-License-Identifier: Apache-2.0
#include "show/life_bars.hpp"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include "show/figures.hpp"
#include "show/grid.hpp"
#include "show/printable.hpp"
#include "show/screen.hpp"

namespace tracer::internal {
namespace {

constexpr std::size_t kLifeCells = 40;
constexpr std::size_t kMostLifeName = 32;

/// Each life has one cell at least.
std::string life_of(const LifeBar& bar, std::uint64_t begin_ns, std::uint64_t end_ns) {
  const auto whole = static_cast<double>(end_ns - begin_ns);
  const auto cell_of = [&](std::uint64_t time_ns) {
    const auto part = static_cast<double>(std::clamp(time_ns, begin_ns, end_ns) - begin_ns);
    return std::min(static_cast<std::size_t>(part * kLifeCells / whole), kLifeCells - 1);
  };
  const std::size_t first = cell_of(bar.begin_ns);
  const std::size_t last = std::max(first, cell_of(bar.end_ns));
  std::string out;
  for (std::size_t cell = 0; cell < kLifeCells; ++cell)
    out += cell < first || cell > last ? " " : bar.computed ? symbols().running : symbols().waiting;
  return out;
}

}  // namespace

std::string life_bars(const std::string& title, std::vector<LifeBar> bars, std::uint64_t begin_ns, std::uint64_t end_ns,
                      std::size_t most) {
  if (bars.empty() || end_ns <= begin_ns) return {};
  const auto life = [](const LifeBar& bar) { return bar.end_ns - std::min(bar.begin_ns, bar.end_ns); };
  std::stable_sort(bars.begin(), bars.end(), [&](const LifeBar& a, const LifeBar& b) { return life(a) > life(b); });
  if (bars.size() > most) bars.resize(most);
  std::stable_sort(bars.begin(), bars.end(),
                   [](const LifeBar& a, const LifeBar& b) { return a.begin_ns < b.begin_ns; });
  Grid grid({Align::kLeft, Align::kRight, Align::kLeft, Align::kRight});
  for (const LifeBar& bar : bars)
    grid.add({"  " + printable(bar.name, kMostLifeName), bar.id, '|' + life_of(bar, begin_ns, end_ns) + '|',
              format_duration(life(bar))});
  return fmt::format("\n{} ({} computed for half of its life or more, {} less):\n{}", title, symbols().running,
                     symbols().waiting, grid.text());
}

}  // namespace tracer::internal
