// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>

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
  /// What was written survives a crash of the machine from now on.
  void keep_on_disk() noexcept;
  /// See OutputLimit::rescue.
  void set_rescue(std::function<int(std::uint64_t)> rescue) noexcept { rescue_ = std::move(rescue); }
  /// Memory ran out for what should be written next: as a failure to write.
  void fail_for_memory() noexcept;
  /// Goes on in another file, which takes the name of this one in messages.
  void replace(UniqueFd file) noexcept;
  const std::string& name() const noexcept { return name_; }
  bool good() const noexcept { return rescued_ || error_number_.load(std::memory_order_relaxed) == 0; }
  /// A failure, or what somebody else did to the file meanwhile; that stops nothing. From any thread.
  std::optional<Problem> problem() const;

 private:
  enum class Meddled { kNo, kCut, kRemoved, kWritten };
  void see_whose_it_is() noexcept;
  /// `put`: what was written since the last look.
  void look_at_file(std::size_t put) noexcept;
  void fail(int error_number) noexcept;
  /// True: it goes on in another file, which has all that was written before.
  bool go_on_elsewhere() noexcept;
  Problem what_others_did() const;

  UniqueFd fd_;
  std::string name_;
  /// A regular file, opened by its name to be appended to: nobody else should write to it. What was inherited, such as
  /// standard output, others may share.
  bool alone_ = false;
  std::optional<off_t> size_;  ///< When it was last looked at.
  bool linked_ = false;        ///< It had a name then.
  std::function<int(std::uint64_t)> rescue_;
  bool rescued_ = false;
  std::uint64_t written_ = 0;  ///< In whole calls of write().
  std::atomic<int> error_number_ = 0;
  std::atomic<Meddled> meddled_ = Meddled::kNo;
};

}  // namespace tracer::internal
