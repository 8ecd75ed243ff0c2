// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bpf/libbpf.h>
#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>

#include "source/kernel/ring/held_records.hpp"

namespace tracer::internal {

/// The reader's end of a ring buffer. One thread at a time.
class Ring {
 public:
  /// Of a map, which must outlive it. Throws Error(kProgramRefused or kNoMemory).
  explicit Ring(int map);

  /// Readable when the kernel has woken the reader.
  int fd() const noexcept;
  /// Gives what is there, without waiting. True: `take` stopped it. Throws what it throws, behind that record.
  bool consume(const TakeRecord& take);
  /// How many bytes were put into it, and taken out of it, since it was made. From any thread. The look comes after
  /// the request to be woken that was stored before it: that wants the strictest order.
  std::uint64_t produced() const noexcept { return producer_->load(std::memory_order_seq_cst); }
  std::uint64_t consumed() const noexcept { return consumer_->load(std::memory_order_acquire); }

 private:
  using Position = const std::atomic<unsigned long>;
  /// A page of the kernel's, as bpf_ringbuf_map() in the kernel lays them out.
  class Page {
   public:
    Page(int map, off_t offset);
    ~Page();
    Page(const Page&) = delete;
    Page& operator=(const Page&) = delete;
    Position* operator->() const noexcept { return static_cast<Position*>(address_); }

   private:
    void* address_;
  };
  struct Closer {
    void operator()(ring_buffer* ring) const noexcept { ::ring_buffer__free(ring); }
  };
  static int on_record(void* self, void* data, std::size_t size);

  Page consumer_;
  Page producer_;
  std::unique_ptr<ring_buffer, Closer> ring_;
  const TakeRecord* take_ = nullptr;  ///< While it is being consumed.
  bool stopped_ = false;
  std::exception_ptr failure_;
};

}  // namespace tracer::internal
