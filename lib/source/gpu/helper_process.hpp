// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/unique_fd.hpp"

namespace tracer::internal {

/// A child with pipes to its standard input and output, neither of which blocks here. It gets no environment, and a
/// process group of its own. One thread at a time.
class HelperProcess {
 public:
  /// `program`: its absolute path. Throws Error(kNoGpu).
  explicit HelperProcess(const std::string& program);
  /// Kills it.
  ~HelperProcess();
  HelperProcess(const HelperProcess&) = delete;
  HelperProcess& operator=(const HelperProcess&) = delete;

  pid_t pid() const noexcept { return pid_; }
  int output() const noexcept { return output_.get(); }
  /// False: it does not read, or has ended.
  bool send(char byte) noexcept;
  /// CPU time of the child so far; 0: not known.
  std::uint64_t cpu_ns() const noexcept;

 private:
  pid_t pid_ = -1;
  UniqueFd process_;  ///< A pidfd: whoever else waits for children may have reaped it, and its number be another's.
  UniqueFd input_;
  UniqueFd output_;
};

}  // namespace tracer::internal
