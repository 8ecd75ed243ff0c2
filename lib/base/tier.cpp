// SPDX-License-Identifier: Apache-2.0
#include <tracer/tier.hpp>

#include <array>
#include <cstddef>

namespace tracer {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"kernel", "service", "proc", "recording"};

}  // namespace

std::string_view to_string(Tier tier) noexcept {
  const auto place = static_cast<std::size_t>(tier);
  return place < kNames.size() ? kNames[place] : std::string_view();
}

std::optional<Tier> tier_from_name(std::string_view name) noexcept {
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == name) return static_cast<Tier>(i);
  return std::nullopt;
}

}  // namespace tracer
