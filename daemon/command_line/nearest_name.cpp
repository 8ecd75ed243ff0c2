// SPDX-License-Identifier: Apache-2.0
#include "command_line/nearest_name.hpp"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

namespace tracerd {
namespace {

constexpr std::size_t kMostMistakes = 2;

/// Letters that are missing, too many, others, or exchanged with their neighbor.
std::size_t mistakes(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> least(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        least[i][j] = i + j;
        continue;
      }
      least[i][j] = std::min({least[i - 1][j] + 1, least[i][j - 1] + 1, least[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        least[i][j] = std::min(least[i][j], least[i - 2][j - 2] + 1);
    }
  }
  return least[a.size()][b.size()];
}

}  // namespace

std::string did_you_mean(std::string_view word, const std::vector<std::string>& names) {
  constexpr std::size_t kLongest = 64;
  if (word.size() > kLongest) return {};
  std::string best;
  std::size_t fewest = std::min(kMostMistakes, word.size() / 2) + 1;
  for (const std::string& name : names) {
    if (const std::size_t found = mistakes(word, name); found < fewest) {
      fewest = found;
      best = name;
    }
  }
  return best.empty() ? "" : fmt::format("; did you mean '{}'?", best);
}

}  // namespace tracerd
