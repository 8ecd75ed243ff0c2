// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include <tracer/sink.hpp>

#include "base/unique_fd.hpp"
#include "stream/output_file.hpp"

namespace tracer::internal {

/// A file that grows to a bound, and the files after it. Its user asks whether a piece fits before it writes it.
class BoundedOutput {
 public:
  /// Kept free for what a file ends with.
  static constexpr std::size_t kEndBytes = 4u << 10;

  explicit BoundedOutput(OutputLimit limit, auto&&... file)
      : file_(std::forward<decltype(file)>(file)...), limit_(std::move(limit)) {
    if (limit_.max_bytes != 0 && limit_.max_bytes < OutputLimit::kLeastBytes)
      limit_.max_bytes = OutputLimit::kLeastBytes;
    file_.set_rescue(std::move(limit_.rescue));
  }

  /// `is_end`: nothing comes behind it.
  bool fits(std::size_t bytes, bool is_end = false) const noexcept { return fits_behind(written_, bytes, is_end); }
  /// In a file that holds nothing yet.
  bool fits_alone(std::size_t bytes) const noexcept { return fits_behind(0, bytes, false); }
  /// An empty file to go on in; none: from now on the output is full.
  UniqueFd next_file() noexcept;
  /// What is written from now on goes there.
  void go_on_in(UniqueFd file) noexcept;
  bool full() const noexcept { return full_.load(std::memory_order_relaxed); }

  void write(std::span<const std::byte> bytes) noexcept;
  void keep_on_disk() noexcept { file_.keep_on_disk(); }
  void fail_for_memory() noexcept { file_.fail_for_memory(); }
  bool good() const noexcept { return file_.good(); }

  void count_missing(std::size_t events) noexcept { missing_.fetch_add(events, std::memory_order_relaxed); }
  /// What a full output ends with, before `end`.
  Loss loss_before(const Event& end) const;
  /// From any thread.
  std::optional<Problem> problem() const;

 private:
  bool fits_behind(std::uint64_t written, std::size_t bytes, bool is_end) const noexcept {
    return limit_.max_bytes == 0 || written + bytes + (is_end ? 0 : kEndBytes) <= limit_.max_bytes;
  }

  OutputFile file_;
  OutputLimit limit_;
  std::uint64_t written_ = 0;
  std::atomic<int> next_error_ = 0;
  std::atomic<bool> full_ = false;
  std::atomic<std::uint64_t> missing_ = 0;
};

}  // namespace tracer::internal
