// SPDX-License-Identifier: Apache-2.0
#include <tracer/key.hpp>

#include <charconv>
#include <system_error>

#include <fmt/format.h>

namespace tracer {

std::string to_string(Key key) { return fmt::format("{:016x}", static_cast<std::uint64_t>(key)); }

std::optional<Key> key_from(std::string_view digits) noexcept {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  if (digits.empty() || digits.size() > 16 || error != std::errc() || end != digits.data() + digits.size())
    return std::nullopt;
  return Key{value};
}

}  // namespace tracer
