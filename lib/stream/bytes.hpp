// SPDX-License-Identifier: Apache-2.0
/// Little-endian numbers and varints, as streams have them. A reader takes bytes that nobody may trust.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace tracer::internal {

using Bytes = std::vector<std::byte>;

template <class T>
void store(std::byte* at, T value) noexcept {
  for (std::size_t i = 0; i < sizeof value; ++i) at[i] = static_cast<std::byte>((value >> (8 * i)) & 0xffu);
}

template <class T>
T load(const std::byte* at) noexcept {
  T value = 0;
  for (std::size_t i = 0; i < sizeof value; ++i) value |= static_cast<T>(static_cast<T>(at[i]) << (8 * i));
  return value;
}

inline void put_varint(Bytes& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<std::byte>((value & 0x7fu) | 0x80u));
  out.push_back(static_cast<std::byte>(value));
}

inline void put_bytes(Bytes& out, std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  const std::size_t begin = out.size();
  out.resize(begin + bytes.size());
  std::memcpy(out.data() + begin, bytes.data(), bytes.size());
}

/// Reads from the front. After a read past the end, or a number that is none, good() is false and all reads give 0.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) noexcept : rest_(bytes) {}

  bool good() const noexcept { return good_; }
  bool empty() const noexcept { return rest_.empty(); }

  std::span<const std::byte> take(std::uint64_t count) noexcept {
    if (count > rest_.size()) return fail(), std::span<const std::byte>();
    const auto taken = rest_.first(static_cast<std::size_t>(count));
    rest_ = rest_.subspan(taken.size());
    return taken;
  }
  std::uint8_t byte() noexcept {
    const auto one = take(1);
    return one.empty() ? std::uint8_t{0} : static_cast<std::uint8_t>(one.front());
  }
  std::uint64_t u64() noexcept {
    const auto bytes = take(8);
    return bytes.empty() ? 0 : load<std::uint64_t>(bytes.data());
  }
  std::uint64_t varint() noexcept {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const std::uint64_t next = byte();
      if (shift == 63 && next > 1) break;
      value |= (next & 0x7f) << shift;
      if (next < 0x80) return good_ ? value : 0;
    }
    fail();
    return 0;
  }

 private:
  void fail() noexcept {
    good_ = false;
    rest_ = {};
  }

  std::span<const std::byte> rest_;
  bool good_ = true;
};

}  // namespace tracer::internal
