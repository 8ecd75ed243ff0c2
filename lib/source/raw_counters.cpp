// SPDX-License-Identifier: Apache-2.0
#include "source/raw_counters.hpp"

#include <unistd.h>

#include <bit>
#include <functional>

namespace tracer::internal {

std::uint64_t bytes_of_pages(std::uint64_t pages) noexcept {
  static const auto page_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return pages * page_bytes;
}

namespace {

constexpr std::size_t kWords = sizeof(RawCounts) / sizeof(std::uint64_t);
using Words = std::array<std::uint64_t, kWords>;

std::uint64_t less(std::uint64_t a, std::uint64_t b) noexcept { return a > b ? a - b : 0; }

using Causes = std::array<std::uint64_t, kWaitCauses>;

void take_off(Causes& from, const Causes& by) noexcept {
  for (std::size_t i = 0; i < kWaitCauses; ++i) from[i] = less(from[i], by[i]);
}

/// What a peer ended before is taken off where it is the same one.
void take_off_peer(std::uint32_t& peer, std::uint64_t& ended_ns, std::uint32_t before,
                   std::uint64_t before_ns) noexcept {
  if (peer == before) ended_ns = less(ended_ns, before_ns);
  if (ended_ns == 0) peer = 0;
}

/// Of two threads of a process, one tells of its peers.
void add_peer(std::uint32_t& peer, std::uint64_t& ended_ns, std::uint32_t other, std::uint64_t other_ns) noexcept {
  if (peer == 0) peer = other, ended_ns = other_ns;
}

template <class OfWords>
RawAccount of_both(const RawAccount& a, const RawAccount& b, OfWords of_words) noexcept {
  auto words = std::bit_cast<Words>(static_cast<const RawCounts&>(a));
  const auto others = std::bit_cast<Words>(static_cast<const RawCounts&>(b));
  for (std::size_t i = 0; i < kWords; ++i) words[i] = of_words(words[i], others[i]);
  return {std::bit_cast<RawCounts>(words), static_cast<std::uint8_t>(a.unknown_parts | b.unknown_parts)};
}

}  // namespace

RawProcessWaits waits_of_only_thread(const RawWaits& waits) noexcept {
  return {waits.wall_ns, waits.cpu_ns, waits.run_queue_ns, waits.wait_ns, waits.limits_known != 0};
}

RawAccount difference(const RawAccount& a, const RawAccount& b) noexcept {
  return of_both(a, b, [](std::uint64_t of_a, std::uint64_t of_b) { return less(of_a, of_b); });
}

RawAccount sum_of(const RawAccount& a, const RawAccount& b) noexcept { return of_both(a, b, std::plus<>()); }

RawWaits difference(const RawWaits& a, const RawWaits& b) noexcept {
  RawWaits left = a;
  left.wall_ns = less(a.wall_ns, b.wall_ns);
  left.cpu_ns = less(a.cpu_ns, b.cpu_ns);
  left.run_queue_ns = less(a.run_queue_ns, b.run_queue_ns);
  take_off(left.wait_ns, b.wait_ns);
  take_off_peer(left.local_socket_peer, left.local_socket_peer_ns, b.local_socket_peer, b.local_socket_peer_ns);
  take_off_peer(left.lock_peer, left.lock_peer_ns, b.lock_peer, b.lock_peer_ns);
  return left;
}

RawProcessWaits difference(const RawProcessWaits& a, const RawProcessWaits& b) noexcept {
  RawProcessWaits left = a;
  left.life_ns = less(a.life_ns, b.life_ns);
  left.running_ns = less(a.running_ns, b.running_ns);
  left.run_queue_ns = less(a.run_queue_ns, b.run_queue_ns);
  take_off(left.wait_ns, b.wait_ns);
  return left;
}

RawWaits sum_of(const RawWaits& a, const RawWaits& b) noexcept {
  const auto longer = [&](WaitCause cause, std::uint32_t of_a, std::uint32_t of_b) {
    if (of_a == 0 || of_b == 0) return of_a | of_b;
    return a.of(cause) >= b.of(cause) ? of_a : of_b;
  };
  RawWaits sum = a;
  sum.pipe_read_peer = longer(WaitCause::kPipeRead, a.pipe_read_peer, b.pipe_read_peer);
  sum.pipe_write_peer = longer(WaitCause::kPipeWrite, a.pipe_write_peer, b.pipe_write_peer);
  add_peer(sum.local_socket_peer, sum.local_socket_peer_ns, b.local_socket_peer, b.local_socket_peer_ns);
  add_peer(sum.lock_peer, sum.lock_peer_ns, b.lock_peer, b.lock_peer_ns);
  sum.wall_ns += b.wall_ns;
  sum.cpu_ns += b.cpu_ns;
  sum.run_queue_ns += b.run_queue_ns;
  sum.threads += b.threads;
  sum.limits_known |= b.limits_known;
  for (std::size_t i = 0; i < kWaitCauses; ++i) sum.wait_ns[i] += b.wait_ns[i];
  return sum;
}

}  // namespace tracer::internal
