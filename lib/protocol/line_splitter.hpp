// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tracer::internal {

/// The longest request, without its line end.
inline constexpr std::size_t kMaxRequestBytes = 256u << 10;
/// The longest reply: lists of what lives may be long.
inline constexpr std::size_t kMaxReplyBytes = 16u << 20;

/// Cuts what a connection yields, in pieces of any size, into lines. Of a line that has not
/// ended, it holds no more than the longest one and what was fed last.
class LineSplitter {
 public:
  explicit LineSplitter(std::size_t longest = kMaxRequestBytes) : longest_(longest) {}

  /// Bytes behind a line that is too long are passed over.
  void feed(std::span<const std::byte> bytes);
  /// The next whole line, without its end; valid until the next call of feed() or next(). Absent: feed more.
  std::optional<std::string_view> next();
  /// A line is longer than allowed: where the next one begins is not worth looking for.
  bool too_long() const noexcept { return too_long_; }
  /// Takes all bytes that next() has not given: what follows the last line is no line.
  std::string take_rest();
  /// What is held now.
  std::size_t held_bytes() const noexcept { return buffer_.size() - begin_; }

 private:
  std::size_t longest_;
  std::string buffer_;
  std::size_t begin_ = 0;
  std::size_t searched_ = 0;  ///< Up to here, there is no line end.
  bool too_long_ = false;
};

}  // namespace tracer::internal
