// SPDX-License-Identifier: Apache-2.0
/// Values in memory that the next process of a service reads, on the same machine.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>

#include "stream/bytes.hpp"

namespace tracer::internal {

template <class T>
void put_value(Bytes& out, const T& value) {
  put_bytes(out, std::as_bytes(std::span(&value, 1)));
}

/// Values off the front of bytes; nothing more once they were too few.
class Taker {
 public:
  explicit Taker(std::span<const std::byte> bytes) noexcept : bytes_(bytes) {}
  template <class T>
  T take() noexcept {
    T value{};
    const auto from = bytes(sizeof value);
    if (from.size() == sizeof value) std::memcpy(&value, from.data(), sizeof value);
    return value;
  }
  std::span<const std::byte> bytes(std::size_t count) noexcept {
    good_ = good_ && count <= bytes_.size();
    if (!good_) return {};
    const auto front = bytes_.first(count);
    bytes_ = bytes_.subspan(count);
    return front;
  }
  std::span<const std::byte> rest() noexcept { return bytes(bytes_.size()); }
  bool good() const noexcept { return good_; }

 private:
  std::span<const std::byte> bytes_;
  bool good_ = true;
};

}  // namespace tracer::internal
