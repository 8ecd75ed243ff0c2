// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/unique_fd.hpp"
#include "source/kernel/ring/held_records.hpp"

namespace tracer::internal {

/// What is at a position of a ring's memory, as bpf_ringbuf_commit() in the kernel leaves it.
struct RingRecord {
  bool whole = false;  ///< False: it is being written, and the next two mean nothing.
  bool discarded = false;
  std::span<const std::byte> bytes = {};
  std::uint64_t next = 0;  ///< The position behind it.
};
/// No record is longer: see EXEC_MASK in bpf/. So much of a ring's beginning is mapped again behind its end: all of it
/// would count as twice the memory.
inline constexpr std::size_t kMostRecordBytes = 64u << 10;
constexpr std::size_t bytes_behind_end(std::size_t ring_bytes) noexcept {
  return std::min(ring_bytes, kMostRecordBytes);
}
/// `records`: the memory, and behind it bytes_behind_end() from its beginning; `ring_bytes`: its size, a power of two.
/// One that claims to be longer is cut there.
RingRecord record_in_ring(const std::byte* records, std::size_t ring_bytes, std::uint64_t position) noexcept;

/// The reader's end of a ring buffer. It is not libbpf's, which lets the kernel overwrite a record as soon as it was
/// given: see Release. One thread at a time, unless it says otherwise.
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
  void came_to(std::uint64_t position) noexcept;

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
  Pages producer_;  ///< And behind its page the records.
  UniqueFd woken_;
  std::atomic<std::uint64_t> consumed_;
};

}  // namespace tracer::internal
