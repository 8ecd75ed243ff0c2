// SPDX-License-Identifier: Apache-2.0
#include "source/kernel/ring/ring.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "source/kernel/load/libbpf_log.hpp"

namespace tracer::internal {

Ring::Page::Page(int map, off_t offset)
    : address_(::mmap(nullptr, static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)), PROT_READ, MAP_SHARED, map, offset)) {
  if (address_ == MAP_FAILED) refuse("map the ring's positions", errno, LibbpfLog());
}

Ring::Page::~Page() { ::munmap(address_, static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))); }

Ring::Ring(int map) : consumer_(map, 0), producer_(map, ::sysconf(_SC_PAGESIZE)) {
  const LibbpfLog log;
  ring_.reset(::ring_buffer__new(map, &Ring::on_record, this, nullptr));
  if (!ring_) refuse("map the ring", errno, log);
}

int Ring::fd() const noexcept { return ::ring_buffer__epoll_fd(ring_.get()); }

bool Ring::consume(const TakeRecord& take) {
  take_ = &take;
  stopped_ = false;
  ::ring_buffer__consume(ring_.get());
  take_ = nullptr;
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  return stopped_;
}

/// What is below 0 ends ring_buffer__consume, after this record has left the ring.
int Ring::on_record(void* self, void* data, std::size_t size) {
  auto& ring = *static_cast<Ring*>(self);
  try {
    ring.stopped_ = !(*ring.take_)(std::span(static_cast<const std::byte*>(data), size));
  } catch (...) {
    ring.failure_ = std::current_exception();
    ring.stopped_ = true;
  }
  return ring.stopped_ ? -ECANCELED : 0;
}

}  // namespace tracer::internal
