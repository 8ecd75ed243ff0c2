// SPDX-License-Identifier: Apache-2.0
#include "correlate/ledger.hpp"

#include <doctest/doctest.h>

using namespace tracer;
using namespace tracer::internal;

namespace {

std::uint64_t number(WaitCause cause) { return static_cast<std::uint64_t>(cause); }

/// Every sum different, so that a mix-up shows; the named ones are 204 units of the wall time's 214.
RawWaits waited(std::uint64_t unit) {
  RawWaits waits{};
  waits.cpu_ns = 100 * unit;
  waits.run_queue_ns = 11 * unit;
  for (std::uint64_t cause = 0; cause < kWaitCauses; ++cause) waits.wait_ns[cause] = cause * unit;
  waits.wall_ns = 214 * unit;
  waits.threads = 1;
  return waits;
}

}  // namespace

TEST_CASE("every cause lands in its own field, and the rest is the others'") {
  RawWaits waits = waited(3);
  waits.limits_known = 1;
  const Ledger ledger = to_ledger(waits, {}).value();
  CHECK(ledger.cpu_ns == 300);
  CHECK(ledger.run_queue_ns == 33);
  CHECK(ledger.disk_ns == 3 * number(WaitCause::kDisk));
  CHECK(ledger.pipe_read_ns == 3 * number(WaitCause::kPipeRead));
  CHECK(ledger.pipe_write_ns == 3 * number(WaitCause::kPipeWrite));
  CHECK(ledger.pipe_ns == 3 * (number(WaitCause::kPipeRead) + number(WaitCause::kPipeWrite)));
  CHECK(ledger.network_ns == 3 * number(WaitCause::kNetwork));
  CHECK(ledger.local_socket_ns == 3 * number(WaitCause::kLocalSocket));
  CHECK(ledger.lock_ns == 3 * number(WaitCause::kLock));
  CHECK(ledger.child_ns == 3 * number(WaitCause::kChild));
  CHECK(ledger.sleep_ns == 3 * number(WaitCause::kSleep));
  CHECK(ledger.poll_ns == 3 * number(WaitCause::kPoll));
  CHECK(ledger.reclaim_ns == 3 * number(WaitCause::kReclaim));
  CHECK(ledger.swap_ns == 3 * number(WaitCause::kSwap));
  CHECK(ledger.throttled_ns == 3 * number(WaitCause::kThrottled));
  CHECK(ledger.stopped_ns == 3 * number(WaitCause::kStopped));
  CHECK(ledger.wall_ns == 642);
  CHECK(ledger.other_ns == 30);
  CHECK_FALSE(ledger.pipe_read_peer_pid.has_value());
  CHECK_FALSE(ledger.pipe_write_peer_pid.has_value());
}

TEST_CASE("throttled time is known only where limits are, be it none") {
  RawWaits waits = waited(1);
  waits.of(WaitCause::kThrottled) = 0;
  CHECK_FALSE(to_ledger(waits, {})->throttled_ns.has_value());
  CHECK(to_ledger(waits, {})->other_ns == 10 + number(WaitCause::kThrottled));
  waits.limits_known = 1;
  CHECK(to_ledger(waits, {})->throttled_ns == 0);
}

TEST_CASE("of no threads nothing is known") {
  RawWaits waits = waited(1);
  waits.threads = 0;
  waits.limits_known = 1;
  CHECK_FALSE(to_ledger(waits, {}).has_value());
}

TEST_CASE("what is left over never goes below zero") {
  RawWaits waits = waited(1);
  waits.wall_ns = 150;
  CHECK(to_ledger(waits, {})->other_ns == 0);
}

TEST_CASE("the samples split the ledger's CPU time, and without a sample there is no split") {
  RawAccount account{};
  CHECK_FALSE(to_ledger(waited(1), account)->cpu_user_ns.has_value());
  CHECK_FALSE(to_ledger(waited(1), account)->cpu_system_ns.has_value());
  account.user_sampled_ns = 30;
  account.system_sampled_ns = 10;
  const Ledger ledger = to_ledger(waited(1), account).value();
  CHECK(ledger.cpu_user_ns == 75);
  CHECK(ledger.cpu_system_ns == 25);
}

TEST_CASE("user and system time of a ledger always add up to its CPU time") {
  constexpr std::uint64_t kOdd = (1ull << 53) + 3;  // not a double
  RawWaits waits = waited(1);
  waits.cpu_ns = kOdd;
  RawAccount account{};
  account.system_sampled_ns = 1;
  const Ledger ledger = to_ledger(waits, account).value();
  CHECK(*ledger.cpu_system_ns <= kOdd);
  CHECK(*ledger.cpu_user_ns + *ledger.cpu_system_ns == kOdd);
}

TEST_CASE("peers are told by number") {
  RawWaits waits = waited(1);
  waits.pipe_read_peer = 7;
  waits.pipe_write_peer = 9;
  CHECK(to_ledger(waits, {})->pipe_read_peer_pid == 7u);
  CHECK(to_ledger(waits, {})->pipe_write_peer_pid == 9u);
}

TEST_CASE("of a process's other peers it is told what they ended, of a program what they ended meanwhile") {
  RawWaits waits = waited(1);
  waits.local_socket_peer = 7;
  waits.local_socket_peer_ns = 50;
  waits.lock_peer = 9;
  waits.lock_peer_ns = 30;
  CHECK(to_ledger(waits, {})->local_socket_peer_pid == 7u);
  CHECK(to_ledger(waits, {})->local_socket_peer_ns == 50);
  RawWaits before = waits;
  before.local_socket_peer_ns = 20;
  before.lock_peer = 8;
  const Ledger program = to_ledger(difference(waits, before), {}).value();
  CHECK(program.local_socket_peer_pid == 7u);
  CHECK(program.local_socket_peer_ns == 30);
  CHECK(program.lock_peer_pid == 9u);
  CHECK(program.lock_peer_ns == 30);
  const Ledger none = to_ledger(difference(waits, waits), {}).value();
  CHECK_FALSE(none.lock_peer_pid.has_value());
  CHECK(none.lock_peer_ns == 0);
  // The first thread tells it of the process.
  const RawWaits sum = sum_of(waited(1), waits);
  CHECK(sum.lock_peer == 9);
  CHECK(sum.lock_peer_ns == 30);
}

TEST_CASE("a difference of waits never goes below zero, and keeps the later threads and peers") {
  RawWaits later = waited(3);
  later.threads = 2;
  later.pipe_read_peer = 7;
  RawWaits earlier = waited(1);
  earlier.pipe_read_peer = 8;
  const RawWaits share = difference(later, earlier);
  CHECK(share.wall_ns == 428);
  CHECK(share.cpu_ns == 200);
  CHECK(share.run_queue_ns == 22);
  CHECK(share.of(WaitCause::kOther) == 2 * number(WaitCause::kOther));
  CHECK(share.threads == 2);
  CHECK(share.pipe_read_peer == 7);
  const RawWaits none = difference(earlier, later);
  CHECK(none.wall_ns == 0);
  CHECK(none.of(WaitCause::kOther) == 0);
}

TEST_CASE("a sum of waits adds all, threads included") {
  const RawWaits sum = sum_of(waited(1), waited(2));
  CHECK(sum.wall_ns == 642);
  CHECK(sum.cpu_ns == 300);
  CHECK(sum.run_queue_ns == 33);
  CHECK(sum.of(WaitCause::kDisk) == 3 * number(WaitCause::kDisk));
  CHECK(sum.of(WaitCause::kOther) == 3 * number(WaitCause::kOther));
  CHECK(sum.threads == 2);
}

TEST_CASE("where limits are known of one part, they are of a sum, in either order, and of a difference") {
  RawWaits limited = waited(1);
  limited.limits_known = 1;
  CHECK(sum_of(limited, waited(1)).limits_known == 1);
  CHECK(sum_of(waited(1), limited).limits_known == 1);
  CHECK(sum_of(limited, limited).limits_known == 1);
  CHECK(sum_of(waited(1), waited(1)).limits_known == 0);
  CHECK(sum_of(limited, RawWaits{}).of(WaitCause::kThrottled) == number(WaitCause::kThrottled));
  CHECK(to_ledger(difference(limited, RawWaits{}), {})->throttled_ns == number(WaitCause::kThrottled));
}

TEST_CASE("the peer of a sum is that of the longer wait, in either order; one that is not known counts for nothing") {
  RawWaits brief = waited(1);
  brief.pipe_read_peer = 7;
  brief.pipe_write_peer = 8;
  RawWaits longer = waited(2);
  longer.pipe_read_peer = 9;
  CHECK(sum_of(brief, longer).pipe_read_peer == 9);
  CHECK(sum_of(longer, brief).pipe_read_peer == 9);
  CHECK(sum_of(brief, longer).pipe_write_peer == 8);
  CHECK(sum_of(longer, brief).pipe_write_peer == 8);
}
