// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/unique_fd.hpp"
#include "source/kernel/ring/held_records.hpp"

namespace tracer::internal {

/// The reader's end of a ring buffer. One thread at a time, unless it says otherwise.
class Ring {
 public:
  /// When the kernel may use the room of a record again.
  enum class Release { kAtOnce, kWhenTold };

  /// Of a map, which must outlive it; goes on where an earlier reader has released. Throws Error(kProgramRefused or
  /// kNoMemory).
  Ring(int map, Release release);

  /// Readable when the kernel has woken the reader.
  int fd() const noexcept { return woken_.get(); }
  /// Gives what is there, without waiting. True: `take` stopped it. Throws what it throws, behind that record.
  bool consume(const TakeRecord& take);
  /// How many bytes were put into it, and taken out of it, since it was made. From any thread. The look comes after
  /// the request to be woken that was stored before it: that wants the strictest order.
  std::uint64_t produced() const noexcept { return producer_->load(std::memory_order_seq_cst); }
  std::uint64_t consumed() const noexcept { return consumed_.load(std::memory_order_acquire); }
  /// Release::kWhenTold: what lies before this is not needed any more. From any thread.
  void release(std::uint64_t position) noexcept;
  std::uint64_t released() const noexcept { return consumer_->load(std::memory_order_acquire); }
  /// What lies before this was read by an earlier process. Nothing, if it can't be.
  void go_on_at(std::uint64_t position) noexcept;

 private:
  using Position = std::atomic<unsigned long>;
  /// Pages of the kernel's, as bpf_ringbuf_map() in the kernel lays them out.
  class Pages {
   public:
    Pages(int map, off_t offset, std::size_t bytes, int protection);
    ~Pages();
    Pages(const Pages&) = delete;
    Pages& operator=(const Pages&) = delete;
    Position* operator->() const noexcept { return static_cast<Position*>(address_); }
    std::byte* bytes() const noexcept { return static_cast<std::byte*>(address_); }

   private:
    void* address_;
    std::size_t bytes_;
  };

  const std::size_t bytes_;  ///< Of records.
  const Release release_;
  Pages consumer_;
  Pages producer_;  ///< And behind its page the records, twice.
  UniqueFd woken_;
  std::atomic<std::uint64_t> consumed_;
};

}  // namespace tracer::internal
