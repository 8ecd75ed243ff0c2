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

std::optional<Ledger> to_ledger(const RawWaits& waits, const RawAccount& account) noexcept {
  if (waits.threads == 0) return std::nullopt;
  Ledger ledger;
  const auto of = [&waits](WaitCause cause) { return waits.of(cause); };
  ledger.cpu_ns = waits.cpu_ns;
  ledger.cpu_system_ns = system_share(waits.cpu_ns, account);
  if (ledger.cpu_system_ns) ledger.cpu_user_ns = waits.cpu_ns - *ledger.cpu_system_ns;
  ledger.run_queue_ns = waits.run_queue_ns;
  ledger.disk_ns = of(WaitCause::kDisk);
  ledger.pipe_read_ns = of(WaitCause::kPipeRead);
  ledger.pipe_write_ns = of(WaitCause::kPipeWrite);
  ledger.pipe_ns = ledger.pipe_read_ns + ledger.pipe_write_ns;
  ledger.socket_ns = of(WaitCause::kSocket);
  ledger.lock_ns = of(WaitCause::kLock);
  ledger.child_ns = of(WaitCause::kChild);
  ledger.sleep_ns = of(WaitCause::kSleep);
  ledger.poll_ns = of(WaitCause::kPoll);
  ledger.reclaim_ns = of(WaitCause::kReclaim);
  ledger.swap_ns = of(WaitCause::kSwap);
  if (waits.limits_known != 0) ledger.throttled_ns = of(WaitCause::kThrottled);
  ledger.stopped_ns = of(WaitCause::kStopped);
  ledger.wall_ns = waits.wall_ns;
  std::uint64_t named_ns = waits.cpu_ns + waits.run_queue_ns;
  for (std::size_t cause = 0; cause < kWaitCauses; ++cause) named_ns += waits.wait_ns[cause];
  named_ns -= of(WaitCause::kOther) + of(WaitCause::kNone);
  ledger.other_ns = less(waits.wall_ns, named_ns);
  ledger.pipe_read_peer_pid = pid_of(waits.pipe_read_peer);
  ledger.pipe_write_peer_pid = pid_of(waits.pipe_write_peer);
  return ledger;
}

}  // namespace tracer::internal
