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

/// What both kinds of ledger have.
template <class L, class W>
void set_waits(L& ledger, const W& waits, bool limits_known) noexcept {
  const auto of = [&waits](WaitCause cause) { return waits.of(cause); };
  ledger.run_queue_ns = waits.run_queue_ns;
  ledger.disk_ns = of(WaitCause::kDisk);
  ledger.pipe_read_ns = of(WaitCause::kPipeRead);
  ledger.pipe_write_ns = of(WaitCause::kPipeWrite);
  ledger.pipe_ns = ledger.pipe_read_ns + ledger.pipe_write_ns;
  ledger.network_ns = of(WaitCause::kNetwork);
  ledger.local_socket_ns = of(WaitCause::kLocalSocket);
  ledger.lock_ns = of(WaitCause::kLock);
  ledger.child_ns = of(WaitCause::kChild);
  ledger.sleep_ns = of(WaitCause::kSleep);
  ledger.poll_ns = of(WaitCause::kPoll);
  ledger.reclaim_ns = of(WaitCause::kReclaim);
  ledger.swap_ns = of(WaitCause::kSwap);
  if (limits_known) ledger.throttled_ns = of(WaitCause::kThrottled);
  ledger.stopped_ns = of(WaitCause::kStopped);
}

/// Run-queue time and the waits whose cause is known.
template <class W>
std::uint64_t named_ns(const W& waits) noexcept {
  std::uint64_t sum = waits.run_queue_ns;
  for (std::size_t cause = 0; cause < kWaitCauses; ++cause) sum += waits.wait_ns[cause];
  return sum - waits.of(WaitCause::kOther) - waits.of(WaitCause::kNone);
}

}  // namespace

std::optional<Ledger> to_ledger(const RawWaits& waits, const RawAccount& account) noexcept {
  if (waits.threads == 0) return std::nullopt;
  Ledger ledger;
  ledger.cpu_ns = waits.cpu_ns;
  ledger.cpu_system_ns = system_share(waits.cpu_ns, account);
  if (ledger.cpu_system_ns) ledger.cpu_user_ns = waits.cpu_ns - *ledger.cpu_system_ns;
  set_waits(ledger, waits, waits.limits_known != 0);
  ledger.wall_ns = waits.wall_ns;
  ledger.other_ns = less(waits.wall_ns, waits.cpu_ns + named_ns(waits));
  ledger.pipe_read_peer_pid = pid_of(waits.pipe_read_peer);
  ledger.pipe_write_peer_pid = pid_of(waits.pipe_write_peer);
  ledger.local_socket_peer_pid = pid_of(waits.local_socket_peer);
  ledger.local_socket_peer_ns = waits.local_socket_peer_ns;
  ledger.lock_peer_pid = pid_of(waits.lock_peer);
  ledger.lock_peer_ns = waits.lock_peer_ns;
  return ledger;
}

std::optional<ProcessLedger> to_process_ledger(const RawProcessWaits& waits) noexcept {
  if (waits.life_ns == 0) return std::nullopt;
  ProcessLedger ledger;
  ledger.running_ns = waits.running_ns;
  set_waits(ledger, waits, waits.limits_known);
  ledger.life_ns = waits.life_ns;
  ledger.other_ns = less(waits.life_ns, waits.running_ns + named_ns(waits));
  return ledger;
}

}  // namespace tracer::internal
