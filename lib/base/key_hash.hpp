// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <tracer/key.hpp>

namespace tracer::internal {

/// FNV-1a over texts, each with a 0 behind it, and the finisher of MurmurHash3, as FNV's upper bits are weak.
class KeyHash {
 public:
  KeyHash& add(std::string_view text) {
    for (const char byte : text) take(static_cast<unsigned char>(byte));
    take(0);
    return *this;
  }
  KeyHash& add_known(const std::optional<std::string>& text) {
    return add(text ? std::string_view(*text) : std::string_view());
  }
  Key key() const {
    std::uint64_t mixed = state_;
    mixed ^= mixed >> 33;
    mixed *= 0xff51afd7ed558ccdu;
    mixed ^= mixed >> 33;
    mixed *= 0xc4ceb9fe1a85ec53u;
    mixed ^= mixed >> 33;
    return Key{mixed == 0 ? 1 : mixed};
  }

 private:
  void take(unsigned char byte) {
    state_ ^= byte;
    state_ *= 0x100000001b3u;
  }

  std::uint64_t state_ = 0xcbf29ce484222325u;
};

}  // namespace tracer::internal
