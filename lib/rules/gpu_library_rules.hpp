// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tracer::internal {

/// A function of a GPU driver's library, and what a call of it does.
struct GpuFunction {
  enum class Does : std::uint8_t { kAllocate, kFree, kWait, kSwitch };
  std::string name;
  Does does = Does::kWait;
  /// Numbers of arguments, from 1; 0: none. kAllocate: their product is the size. kFree: what is freed.
  std::array<std::uint8_t, 2> arguments{};
};

struct GpuLibraryRule {
  std::string interface;
  std::vector<std::string> files;
  std::vector<GpuFunction> functions;
};

/// Which functions of which libraries are probed, by rules/gpu_libraries.toml. Immutable after parse(), so any thread
/// may ask.
class GpuLibraryRules {
 public:
  /// Throws Error(kInvalidRules) that names origin, line and the mistake, for all mistakes at once.
  static GpuLibraryRules parse(std::string_view toml, std::string_view origin);
  /// Those that are built into the library; parsed once.
  static const GpuLibraryRules& builtin();

  const std::vector<std::string>& folders() const noexcept { return folders_; }
  const std::vector<GpuLibraryRule>& libraries() const noexcept { return libraries_; }

 private:
  friend class GpuLibraryRulesReader;

  std::vector<std::string> folders_;
  std::vector<GpuLibraryRule> libraries_;
};

}  // namespace tracer::internal
