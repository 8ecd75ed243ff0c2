// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bpf/libbpf.h>

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <span>

namespace tracer::internal {

/// The reader's end of a ring buffer. One thread at a time.
class Ring {
 public:
  /// Takes a record, which is valid during the call, and says whether to go on.
  using Take = std::function<bool(std::span<const std::byte>)>;

  /// Throws Error(kProgramRefused or kNoMemory).
  explicit Ring(const bpf_map& map);

  /// Readable when the kernel has woken the reader.
  int fd() const noexcept;
  /// Gives what is there, without waiting. True: `take` stopped it. Throws what it throws, behind that record.
  bool consume(const Take& take);

 private:
  struct Closer {
    void operator()(ring_buffer* ring) const noexcept { ::ring_buffer__free(ring); }
  };
  static int on_record(void* self, void* data, std::size_t size);

  std::unique_ptr<ring_buffer, Closer> ring_;
  const Take* take_ = nullptr;  ///< While it is being consumed.
  bool stopped_ = false;
  std::exception_ptr failure_;
};

}  // namespace tracer::internal
