// SPDX-License-Identifier: Apache-2.0
#include <tracer/tier.hpp>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <string>

#include <tracer/error.hpp>

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

std::vector<Tier> tiers_to_try() {
  const char* const given = std::getenv("TRACER_SOURCE");
  if (given == nullptr || *given == '\0') return {Tier::kKernel, Tier::kService, Tier::kProc};
  const auto tier = tier_from_name(given);
  if (!tier || *tier == Tier::kRecording)
    throw Error({ErrorCode::kInvalidArgument,
                 0,
                 "TRACER_SOURCE is \"" + std::string(given).substr(0, 100) + "\", which is no source of live events",
                 "set it to kernel, service or proc, or leave it out",
                 {}});
  return {*tier};
}

std::filesystem::path service_socket_to_try() {
  const char* const given = std::getenv("TRACER_SOCKET");
  return given == nullptr || *given == '\0' ? "/run/tracer/tracer.sock" : given;
}

}  // namespace tracer
