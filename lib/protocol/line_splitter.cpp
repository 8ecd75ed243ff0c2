// SPDX-License-Identifier: Apache-2.0
#include "protocol/line_splitter.hpp"

#include <utility>

namespace tracer::internal {

void LineSplitter::feed(std::span<const std::byte> bytes) {
  if (too_long_) return;
  if (begin_ != 0) {
    buffer_.erase(0, begin_);
    searched_ -= begin_;
    begin_ = 0;
  }
  buffer_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

std::optional<std::string_view> LineSplitter::next() {
  if (too_long_) return std::nullopt;
  const std::size_t end = buffer_.find('\n', searched_);
  const std::size_t length = (end == std::string::npos ? buffer_.size() : end) - begin_;
  if (length > longest_) {
    too_long_ = true;
    buffer_ = {};
    begin_ = searched_ = 0;
    return std::nullopt;
  }
  if (end == std::string::npos) {
    searched_ = buffer_.size();
    // An idle connection keeps no room.
    if (begin_ == buffer_.size()) {
      buffer_ = {};
      begin_ = searched_ = 0;
    }
    return std::nullopt;
  }
  const std::string_view line = std::string_view(buffer_).substr(begin_, length);
  begin_ = searched_ = end + 1;
  return line;
}

std::string LineSplitter::take_rest() {
  std::string rest = buffer_.substr(begin_);
  buffer_ = {};
  begin_ = searched_ = 0;
  return rest;
}

}  // namespace tracer::internal
