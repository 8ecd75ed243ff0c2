// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tracer::internal {

/// What lived for a part of the time that is shown.
struct LifeBar {
  std::string name;
  std::string id;
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
  bool computed = false;  ///< For half of its life or more.
};

/// A line for each, in the order of their beginnings, under a title that says what the signs mean. At most `most`:
/// those that lived longest.
std::string life_bars(const std::string& title, std::vector<LifeBar> bars, std::uint64_t begin_ns, std::uint64_t end_ns,
                      std::size_t most);

}  // namespace tracer::internal
