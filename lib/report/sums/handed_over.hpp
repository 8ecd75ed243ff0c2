// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include <tracer/process.hpp>

namespace tracer::internal {

/// Counts what clients had daemons do, and notices where that was followed, too.
class HandedOver {
 public:
  void saw(const Process& process);
  /// By the daemon's name; without those whose work was seen.
  std::map<std::string, std::uint64_t> calls() const;

 private:
  static constexpr std::size_t kMostPlaces = 64;

  struct Daemon {
    std::uint64_t calls = 0;
    bool seen = false;
    std::set<std::string> clients = {};  ///< Their cgroups.
    std::set<std::string> places = {};   ///< Cgroups of its work.
  };

  std::map<std::string, Daemon> daemons_;
};

}  // namespace tracer::internal
