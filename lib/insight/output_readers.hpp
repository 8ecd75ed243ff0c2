// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include <tracer/event.hpp>

#include "base/bounded.hpp"

namespace tracer::internal {

/// Which processes have read through a pipe what another had written, and ended well: those that waited for it.
/// Bounded: by kMostBytes.
class OutputReaders {
 public:
  /// Of less than this many bytes nothing is said: it may be a message as well as output.
  OutputReaders(std::uint64_t least_bytes, std::shared_ptr<Accounts> accounts)
      : least_bytes_(least_bytes), readers_(kMostBytes, {}, std::move(accounts)) {}

  void saw(const ProcessExit& exit);
  /// Who has used the output of a process that ended then, having written so much; null: nobody, or not known.
  std::shared_ptr<const Process> reader_of(std::uint32_t writer_pid, std::uint64_t end_ns,
                                           std::uint64_t written_bytes) const;

 private:
  static constexpr std::size_t kMostBytes = 2u << 20;

  struct Reader {
    std::uint64_t begin_ns = 0;
    std::uint64_t end_ns = 0;
    std::shared_ptr<const Process> process;
  };

  std::uint64_t least_bytes_;
  Bounded<std::uint32_t, Reader> readers_;  ///< By the pid that they read from.
};

}  // namespace tracer::internal
