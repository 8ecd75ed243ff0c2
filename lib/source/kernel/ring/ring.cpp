// SPDX-License-Identifier: Apache-2.0
#include "source/kernel/ring/ring.hpp"

#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "source/kernel/load/libbpf_log.hpp"

namespace tracer::internal {
namespace {

std::size_t page_bytes() noexcept { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

std::size_t bytes_of_ring(int map) {
  bpf_map_info info{};
  __u32 size = sizeof info;
  if (::bpf_obj_get_info_by_fd(map, &info, &size) != 0) refuse("look at a ring", errno, LibbpfLog());
  return info.max_entries;
}

}  // namespace

Ring::Pages::Pages(int map, off_t offset, std::size_t bytes, int protection)
    : address_(::mmap(nullptr, bytes, protection, MAP_SHARED, map, offset)), bytes_(bytes) {
  if (address_ == MAP_FAILED) refuse("map a ring", errno, LibbpfLog());
}

Ring::Pages::~Pages() { ::munmap(address_, bytes_); }

Ring::Ring(int map, Release release)
    : bytes_(bytes_of_ring(map)),
      release_(release),
      consumer_(map, 0, page_bytes(), PROT_READ | PROT_WRITE),
      producer_(map, static_cast<off_t>(page_bytes()), page_bytes() + bytes_ + bytes_behind_end(bytes_), PROT_READ),
      woken_(::epoll_create1(EPOLL_CLOEXEC)),
      consumed_(consumer_->load(std::memory_order_acquire)) {
  epoll_event readable{};
  // What is read and not released keeps the map readable: only that it was woken counts.
  readable.events = release_ == Release::kAtOnce ? EPOLLIN : EPOLLIN | EPOLLET;
  if (!woken_ || ::epoll_ctl(woken_.get(), EPOLL_CTL_ADD, map, &readable) != 0)
    refuse("wait for a ring", errno, LibbpfLog());
}

RingRecord record_in_ring(const std::byte* records, std::size_t ring_bytes, std::uint64_t position) noexcept {
  const std::byte* const place = records + (position & (ring_bytes - 1));
  // Whoever wrote the record has stored its length last.
  const std::uint32_t length = __atomic_load_n(reinterpret_cast<const std::uint32_t*>(place), __ATOMIC_ACQUIRE);
  if ((length & BPF_RINGBUF_BUSY_BIT) != 0) return {};
  const std::size_t size = length & ~static_cast<std::uint32_t>(BPF_RINGBUF_DISCARD_BIT);
  return {.whole = true,
          .discarded = (length & BPF_RINGBUF_DISCARD_BIT) != 0,
          .bytes = std::span(place + BPF_RINGBUF_HDR_SZ, std::min(size, bytes_behind_end(ring_bytes))),
          .next = position + (BPF_RINGBUF_HDR_SZ + size + 7) / 8 * 8};
}

bool Ring::consume(const TakeRecord& take) {
  if (release_ == Release::kWhenTold) {
    epoll_event woken{};
    ::epoll_wait(woken_.get(), &woken, 1, 0);
  }
  const std::byte* const records = producer_.bytes() + page_bytes();
  std::uint64_t at = consumed();
  // The writers' page is looked at once for all that is there, as it is theirs.
  for (std::uint64_t end = producer_->load(std::memory_order_acquire); at < end;) {
    const RingRecord record = record_in_ring(records, bytes_, at);
    if (!record.whole) return false;
    at = record.next;
    // Behind the record, whatever becomes of it.
    struct Done {
      Ring& ring;
      const std::uint64_t position;
      ~Done() { ring.came_to(position); }
    } done{*this, at};
    if (!record.discarded && !take(record.bytes)) return true;
    if (at == end) end = producer_->load(std::memory_order_acquire);
  }
  return false;
}

void Ring::came_to(std::uint64_t position) noexcept {
  consumed_.store(position, std::memory_order_release);
  // Its only reader.
  if (release_ == Release::kAtOnce) consumer_->store(position, std::memory_order_release);
}

void Ring::release(std::uint64_t position) noexcept {
  unsigned long released = consumer_->load(std::memory_order_acquire);
  // Another thread may have come further.
  while (position > released && !consumer_->compare_exchange_weak(released, position, std::memory_order_release))
    continue;
}

void Ring::go_on_at(std::uint64_t position) noexcept {
  if (position < consumed() || position > produced()) return;
  consumed_.store(position, std::memory_order_release);
  release(position);
}

}  // namespace tracer::internal
