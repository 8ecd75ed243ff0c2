// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include <tracer/error.hpp>

#include "base/unique_fd.hpp"

namespace tracer::internal {

/// A file that is only appended to. The first failure is kept, and nothing is written after it.
class OutputFile {
 public:
  /// Creates or replaces. Throws Error(kFileUnwritable).
  explicit OutputFile(const std::filesystem::path& file);
  OutputFile(int file_descriptor, std::string name);

  /// All or, after a failure, as much as there was room for. Waits for room.
  void write(std::span<const std::byte> bytes) noexcept;
  /// Memory ran out for what should be written next: as a failure to write.
  void fail_for_memory() noexcept;
  bool good() const noexcept { return error_number_.load(std::memory_order_relaxed) == 0; }
  /// From any thread.
  std::optional<Problem> problem() const;

 private:
  void fail(int error_number) noexcept;

  UniqueFd fd_;
  std::string name_;
  std::atomic<int> error_number_ = 0;
};

}  // namespace tracer::internal
