// SPDX-License-Identifier: Apache-2.0
#include "state/held_memory.hpp"

#include <algorithm>

namespace tracer::internal {

void HeldMemory::add(const ProcessSample& sample) {
  known_ = known_ && sample.rss_anonymous_bytes.has_value();
  const std::uint64_t anonymous_bytes = sample.rss_anonymous_bytes.value_or(0);
  if (sample.pss_bytes) {
    bytes_ += *sample.pss_bytes;
    anonymous_bytes_ += std::min(anonymous_bytes, *sample.pss_bytes);
    return;
  }
  bytes_ += anonymous_bytes + sample.rss_shared_bytes.value_or(0);
  anonymous_bytes_ += anonymous_bytes;
  // Mapped files that processes of the same executable hold are mostly the same pages.
  std::uint64_t& most = file_bytes_[sample.process->program->exe.value_or("")];
  const std::uint64_t file_bytes = sample.rss_file_bytes.value_or(0);
  if (file_bytes > most) bytes_ += file_bytes - most;
  most = std::max(most, file_bytes);
}

void HeldMemory::add(const ToolSample& sample) {
  known_ = known_ && sample.held_bytes.has_value();
  bytes_ += sample.held_bytes.value_or(0);
}

}  // namespace tracer::internal
