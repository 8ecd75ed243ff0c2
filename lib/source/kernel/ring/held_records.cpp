// SPDX-License-Identifier: Apache-2.0
#include "source/kernel/ring/held_records.hpp"

#include <cstring>

namespace tracer::internal {
namespace {

/// As the kernel's ring: 8 bytes of header, and all rounded up to 8.
constexpr std::size_t kHeaderBytes = 8;
std::size_t place_of(std::size_t size) { return (kHeaderBytes + size + 7) / 8 * 8; }

/// Below this it is not worth moving what is left to the front.
constexpr std::size_t kLeastToMove = 64u << 10;

}  // namespace

void HeldRecords::hold(std::span<const std::byte> record) {
  if (begin_ >= kLeastToMove && begin_ > bytes_.size() / 2) {
    bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(begin_));
    begin_ = 0;
  }
  const std::size_t at = bytes_.size();
  const std::uint64_t size = record.size();
  bytes_.resize(at + place_of(record.size()));
  std::memcpy(bytes_.data() + at, &size, sizeof size);
  if (!record.empty()) std::memcpy(bytes_.data() + at + kHeaderBytes, record.data(), record.size());
}

std::span<const std::byte> HeldRecords::front() const noexcept {
  std::uint64_t size = 0;
  std::memcpy(&size, bytes_.data() + begin_, sizeof size);
  return std::span(bytes_).subspan(begin_ + kHeaderBytes, static_cast<std::size_t>(size));
}

void HeldRecords::pop() noexcept {
  begin_ += place_of(front().size());
  if (!empty()) return;
  bytes_.clear();
  begin_ = 0;
}

}  // namespace tracer::internal
