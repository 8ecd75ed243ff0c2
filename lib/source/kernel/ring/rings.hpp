// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/unique_fd.hpp"
#include "source/kernel/ring/ring.hpp"
#include "source/kernel/ring/time_merge.hpp"
#include "wire.h"

namespace tracer::internal {

class KeptKernel;

/// Into how many rings so many CPUs write: each ring has a lock, and its last page is one that all of them write to.
struct RingLayout {
  std::uint32_t rings = 1;
  std::uint32_t cpus_shift = 0;  ///< A ring's CPUs are a power of two in a row.
};
/// `wanted`: 0: one below 8 CPUs, else one for each 4 to 8 CPUs, 16 at most.
/// Fewer, where `ring_bytes` is not enough for so many.
RingLayout ring_layout(std::uint32_t cpus, std::size_t ring_bytes, std::uint32_t wanted = 0) noexcept;
/// Of so many together.
std::size_t bytes_of_each(const RingLayout& layout, std::size_t ring_bytes) noexcept;

/// The maps of bpf/common/emit.h, of programs that are loaded.
struct RingMaps {
  int events = -1;
  int event_rings = -1;  ///< Filled in where there are several.
  int reader = -1;
  RingLayout layout = {};
  std::size_t bytes = 0;       ///< Of each ring.
  KeptKernel* keep = nullptr;  ///< Null: the rings end with this process, and records leave them when they are read.
};

/// All rings of the kernel side as one stream in the order of time. One thread at a time, unless it says otherwise.
class Rings {
 public:
  /// Makes those that the programs, which are not attached yet, don't have. The maps must outlive it. Throws
  /// Error(kProgramRefused or kNoMemory).
  explicit Rings(const RingMaps& maps);

  /// Readable when the kernel has woken the reader.
  int fd() const noexcept;
  /// Gives what is there, without waiting. True: `take` stopped it, or more may be there. Throws what it throws, behind
  /// that record.
  bool consume(const TakeRecord& take);
  /// Gives what was there when this was called, up to this time, in the order of time; what is later stays.
  void give_until(std::uint64_t until_ns, const TakeRecord& take);
  /// False: it was done in the last moments, or records are being given, while which none may be moved.
  bool is_time_to_keep_up() const noexcept;
  /// Makes room for what comes while the reader is busy elsewhere. What was there is given later.
  void keep_up();
  /// What lies in the ring that has most.
  std::uint64_t unread_bytes_of_fullest() const noexcept;

  /// From now on a program that fills a ring to the mark wakes the reader again, once.
  void ask_to_be_woken() noexcept;

  // Where the rings are kept, as KernelSide::given(), release() and unreleased_share().
  std::vector<std::uint64_t> given() const;
  /// From any thread, as the next.
  void release(std::span<const std::uint64_t> given) noexcept;
  double unreleased_share() const noexcept;
  /// What an earlier process had released.
  void go_on_at(std::span<const std::uint64_t> given) noexcept;

  // As Source::end_position() and position().
  std::uint64_t end_position() const noexcept;
  std::uint64_t position() const noexcept;
  /// Of the rings that the programs don't have.
  std::uint64_t extra_memory_bytes() const noexcept { return extra_bytes_; }

 private:
  /// What the programs know of the reader.
  class ReaderState {
   public:
    explicit ReaderState(int map);
    ~ReaderState();
    ReaderState(const ReaderState&) = delete;
    ReaderState& operator=(const ReaderState&) = delete;
    tracer_reader* operator->() const noexcept { return static_cast<tracer_reader*>(address_); }

   private:
    void* address_;
  };

  bool hold(std::size_t ring, std::size_t most_bytes);
  struct Held {
    std::uint64_t until_ns;  ///< What is of before is held.
    bool all;                ///< All that was there is.
  };
  Held hold_all();
  bool release(std::uint64_t until_ns, const TakeRecord& take);

  ReaderState reader_;
  std::vector<UniqueFd> maps_;  ///< Of those that were made here.
  std::vector<std::unique_ptr<Ring>> rings_;
  TimeMerge merge_;
  std::vector<std::uint64_t> held_until_;  ///< The time of the last that is, or was, held of each.
  std::vector<std::uint64_t> produced_;    ///< Of each, when the last turn began.
  UniqueFd any_;                           ///< Of several.
  std::uint64_t extra_bytes_ = 0;
  std::uint64_t ring_bytes_ = 0;  ///< Of each.
  std::uint64_t kept_up_ns_ = 0;  ///< When it last did, by the boot clock.
  bool giving_ = false;
};

}  // namespace tracer::internal
