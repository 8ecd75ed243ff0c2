// SPDX-License-Identifier: Apache-2.0
#include "correlate/ledger.hpp"

#include <cstddef>

#include "correlate/account.hpp"

namespace tracer::internal {
namespace {

std::uint64_t less(std::uint64_t a, std::uint64_t b) noexcept { return a > b ? a - b : 0; }

std::optional<std::uint32_t> pid_of(std::uint32_t pid) noexcept {
  if (pid == 0) return std::nullopt;
  return pid;
}

}  // namespace

RawWaits difference(const RawWaits& a, const RawWaits& b) noexcept {
  RawWaits left = a;
  left.wall_ns = less(a.wall_ns, b.wall_ns);
  left.cpu_ns = less(a.cpu_ns, b.cpu_ns);
  left.run_queue_ns = less(a.run_queue_ns, b.run_queue_ns);
  for (std::size_t i = 0; i < TRACER_WAIT_CAUSES; ++i) left.wait_ns[i] = less(a.wait_ns[i], b.wait_ns[i]);
  return left;
}

RawWaits sum_of(const RawWaits& a, const RawWaits& b) noexcept {
  const auto longer = [&](std::size_t cause, std::uint32_t of_a, std::uint32_t of_b) {
    if (of_a == 0 || of_b == 0) return of_a | of_b;
    return a.wait_ns[cause] >= b.wait_ns[cause] ? of_a : of_b;
  };
  RawWaits sum = a;
  sum.pipe_read_peer = longer(TRACER_WAIT_PIPE_READ, a.pipe_read_peer, b.pipe_read_peer);
  sum.pipe_write_peer = longer(TRACER_WAIT_PIPE_WRITE, a.pipe_write_peer, b.pipe_write_peer);
  sum.wall_ns += b.wall_ns;
  sum.cpu_ns += b.cpu_ns;
  sum.run_queue_ns += b.run_queue_ns;
  sum.threads += b.threads;
  sum.limits_known |= b.limits_known;
  for (std::size_t i = 0; i < TRACER_WAIT_CAUSES; ++i) sum.wait_ns[i] += b.wait_ns[i];
  return sum;
}

std::optional<Ledger> to_ledger(const RawWaits& waits, const RawAccount& account) noexcept {
  if (waits.threads == 0) return std::nullopt;
  Ledger ledger;
  const auto of = [&waits](std::size_t cause) { return waits.wait_ns[cause]; };
  ledger.cpu_ns = waits.cpu_ns;
  ledger.cpu_system_ns = system_share(waits.cpu_ns, account);
  if (ledger.cpu_system_ns) ledger.cpu_user_ns = waits.cpu_ns - *ledger.cpu_system_ns;
  ledger.run_queue_ns = waits.run_queue_ns;
  ledger.disk_ns = of(TRACER_WAIT_DISK);
  ledger.pipe_read_ns = of(TRACER_WAIT_PIPE_READ);
  ledger.pipe_write_ns = of(TRACER_WAIT_PIPE_WRITE);
  ledger.pipe_ns = ledger.pipe_read_ns + ledger.pipe_write_ns;
  ledger.socket_ns = of(TRACER_WAIT_SOCKET);
  ledger.lock_ns = of(TRACER_WAIT_LOCK);
  ledger.child_ns = of(TRACER_WAIT_CHILD);
  ledger.sleep_ns = of(TRACER_WAIT_SLEEP);
  ledger.poll_ns = of(TRACER_WAIT_POLL);
  ledger.reclaim_ns = of(TRACER_WAIT_RECLAIM);
  ledger.swap_ns = of(TRACER_WAIT_SWAP);
  if (waits.limits_known != 0) ledger.throttled_ns = of(TRACER_WAIT_THROTTLED);
  ledger.stopped_ns = of(TRACER_WAIT_STOPPED);
  ledger.wall_ns = waits.wall_ns;
  std::uint64_t named_ns = waits.cpu_ns + waits.run_queue_ns;
  for (std::size_t cause = 0; cause < TRACER_WAIT_CAUSES; ++cause)
    if (cause != TRACER_WAIT_OTHER && cause != TRACER_WAIT_NONE) named_ns += of(cause);
  ledger.other_ns = less(waits.wall_ns, named_ns);
  ledger.pipe_read_peer_pid = pid_of(waits.pipe_read_peer);
  ledger.pipe_write_peer_pid = pid_of(waits.pipe_write_peer);
  return ledger;
}

}  // namespace tracer::internal
