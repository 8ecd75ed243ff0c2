// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include <tracer/error.hpp>

#include "base/unique_fd.hpp"

namespace tracer {

/// A file that is only appended to. The first failure is kept, and nothing is written after it.
class OutputFile {
 public:
  /// Creates or replaces. Throws Error(kFileUnwritable).
  explicit OutputFile(const std::filesystem::path& file);
  OutputFile(int file_descriptor, std::string name);

  /// All or, after a failure, as much as there was room for; false then.
  bool write(std::span<const std::byte> bytes) noexcept;
  bool good() const noexcept { return error_number_ == 0; }
  std::optional<Problem> problem() const;

 private:
  UniqueFd fd_;
  std::string name_;
  int error_number_ = 0;
};

}  // namespace tracer
