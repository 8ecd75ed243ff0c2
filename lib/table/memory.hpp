// SPDX-License-Identifier: Apache-2.0
/// The buffers that columns grow in. A consumer of arrays holds them on.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

namespace tracer::internal {

using Memory = std::shared_ptr<const void>;

/// A type of its own: a function's would be exported.
struct Free {
  void operator()(void* memory) const noexcept { std::free(memory); }
};

/// Never null, and all zero.
inline Memory zero_memory(std::size_t bytes) {
  void* const made = std::calloc(std::max<std::size_t>(bytes, 8), 1);
  if (made == nullptr) throw std::bad_alloc();
  return {made, Free()};
}

/// As std::vector, but what is new is not set to anything, and large ones grow without a copy.
template <class T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Buffer() = default;
  Buffer(Buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    return *this;
  }
  ~Buffer() { std::free(data_); }

  std::size_t size() const noexcept { return size_; }
  T* data() noexcept { return data_; }
  const T* data() const noexcept { return data_; }
  T& operator[](std::size_t at) noexcept { return data_[at]; }
  const T& operator[](std::size_t at) const noexcept { return data_[at]; }

  void reserve(std::size_t capacity) {
    if (capacity <= capacity_) return;
    void* const grown = std::realloc(static_cast<void*>(data_), capacity * sizeof(T));
    if (grown == nullptr) throw std::bad_alloc();
    data_ = static_cast<T*>(grown);
    capacity_ = capacity;
  }
  /// The first of `count` new ones.
  T* extend(std::size_t count) {
    if (size_ + count > capacity_) reserve(std::max(size_ + count, 2 * capacity_));
    size_ += count;
    return data_ + (size_ - count);
  }
  void clear() noexcept { size_ = 0; }
  void push_back(T value) { *extend(1) = value; }
  void append(std::span<const T> values) {
    if (!values.empty()) std::memcpy(extend(values.size()), values.data(), values.size_bytes());
  }
  void fill(std::size_t count) {
    if (count != 0) std::memset(static_cast<void*>(extend(count)), 0, count * sizeof(T));
  }

  /// All of it, without what is not in use. Empty from then on.
  Memory take() {
    if (size_ == 0) return zero_memory(sizeof(T));
    if (size_ < capacity_ - capacity_ / 8)
      if (void* const fitting = std::realloc(static_cast<void*>(data_), size_ * sizeof(T)))
        data_ = static_cast<T*>(fitting);
    size_ = capacity_ = 0;
    return {static_cast<void*>(std::exchange(data_, nullptr)), Free()};  // Freed also where there is no more memory.
  }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

inline bool bit_at(const std::byte* bits, std::size_t at) noexcept {
  return ((static_cast<unsigned>(bits[at / 8]) >> (at % 8)) & 1u) != 0;
}

/// A bit a row, from the lowest.
class Bits {
 public:
  std::size_t size() const noexcept { return size_; }
  void reserve(std::size_t bits) { bytes_.reserve(bits / 8 + kSlack); }

  void fill(bool value, std::size_t count) {
    grow(count);
    for (; value && count != 0 && size_ % 8 != 0; --count) set(size_++);
    if (value) {
      std::memset(static_cast<void*>(bytes_.data() + size_ / 8), 0xff, count / 8);
      size_ += count / 8 * 8;
      for (count %= 8; count != 0; --count) set(size_++);
    } else {
      size_ += count;
    }
  }
  void append(const std::byte* from, std::size_t first, std::size_t count) {
    grow(count);
    const std::byte* const end = from + (first + count + 7) / 8;
    while (count != 0) {
      const std::size_t step = std::min<std::size_t>(count, 56);
      const std::byte* const at = from + first / 8;
      std::uint64_t word = 0;
      std::memcpy(&word, at, std::min<std::size_t>(sizeof word, static_cast<std::size_t>(end - at)));
      word = (word >> (first % 8)) & ((std::uint64_t{1} << step) - 1);
      std::uint64_t old = 0;
      std::byte* const to = bytes_.data() + size_ / 8;
      std::memcpy(&old, to, sizeof old);
      old |= word << (size_ % 8);
      std::memcpy(to, &old, sizeof old);
      size_ += step;
      first += step;
      count -= step;
    }
  }
  void push_back(bool value) { fill(value, 1); }
  void set(std::size_t at) noexcept { bytes_[at / 8] |= static_cast<std::byte>(1u << (at % 8)); }
  std::size_t count() const noexcept {
    std::size_t all = 0;
    for (std::size_t i = 0; i < (size_ + 7) / 8; ++i)
      all += static_cast<std::size_t>(std::popcount(static_cast<unsigned>(bytes_[i])));
    return all;
  }
  Memory take() {
    size_ = 0;
    return bytes_.take();
  }

 private:
  static constexpr std::size_t kSlack = 16;  ///< append() writes whole words.

  void grow(std::size_t count) {
    const std::size_t needed = (size_ + count) / 8 + kSlack;
    if (needed > bytes_.size()) bytes_.fill(needed - bytes_.size());
  }

  Buffer<std::byte> bytes_;
  std::size_t size_ = 0;
};

}  // namespace tracer::internal
