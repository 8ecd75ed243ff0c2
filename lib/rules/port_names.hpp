// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tracer::internal {

/// The names of well-known server ports, from rules/ports.toml. Immutable after parse(), so any thread may ask.
class PortNames {
 public:
  /// Throws Error(kInvalidRules) that names origin, line and the mistake, for all mistakes at once.
  static PortNames parse(std::string_view toml, std::string_view origin);
  /// Those that are built into the library; parsed once.
  static const PortNames& builtin();

  /// `protocol`: "tcp" or "udp". Absent: the port has no common meaning.
  std::optional<std::string> name_of(std::string_view protocol, std::uint16_t port) const;

 private:
  friend class PortNamesReader;

  std::map<std::pair<std::string, std::uint16_t>, std::string, std::less<>> names_;
};

}  // namespace tracer::internal
