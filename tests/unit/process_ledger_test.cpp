// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include <doctest/doctest.h>

#include "correlate/ledger.hpp"
#include "decoded.hpp"
#include "source/kernel/ring/decoder.hpp"
#include "wire_builder.hpp"

using namespace tracer;
using namespace tracer::internal;

namespace {

constexpr std::uint32_t kPid = 42;
const wire::Who kWho{.pid = kPid, .start_ns = 100};

tracer_wire_waits waits_of_threads(std::uint32_t threads) {
  tracer_wire_waits waits{};
  waits.wall_ns = 5000;
  waits.cpu_ns = 700;
  waits.run_queue_ns = 50;
  waits.wait_ns[TRACER_WAIT_LOCK] = 4000;
  waits.threads = threads;
  waits.limits_known = 1;
  return waits;
}

tracer_wire_process_waits waits_of_whole() {
  tracer_wire_process_waits waits{};
  waits.life_ns = 1000;
  waits.run_queue_ns = 100;
  for (int cause = TRACER_WAIT_DISK; cause < TRACER_WAIT_CAUSES; ++cause)
    waits.wait_ns[cause] = static_cast<std::uint64_t>(cause);
  return waits;
}

template <class R>
R decoded(const wire::Bytes& bytes) {
  Decoder decoder;
  const wire::Exact exact(bytes);
  const std::optional<Record> record = collect::decoded(decoder, exact.span());
  REQUIRE(record.has_value());
  return std::get<R>(*record);
}

}  // namespace

TEST_CASE("what is no queue and no wait of the process is its run time") {
  ExitRecord exit = decoded<ExitRecord>(wire::exit_record(
      kWho, {.late = tracer_wire_account{}, .waits = waits_of_threads(8), .process_waits = waits_of_whole()}));
  const ProcessLedger ledger = to_process_ledger(exit.process_waits).value();
  CHECK(ledger.life_ns == 1000);
  CHECK(ledger.run_queue_ns == 100);
  CHECK(ledger.disk_ns == TRACER_WAIT_DISK);
  CHECK(ledger.pipe_read_ns == TRACER_WAIT_PIPE_READ);
  CHECK(ledger.pipe_write_ns == TRACER_WAIT_PIPE_WRITE);
  CHECK(ledger.pipe_ns == TRACER_WAIT_PIPE_READ + TRACER_WAIT_PIPE_WRITE);
  CHECK(ledger.network_ns == TRACER_WAIT_NETWORK);
  CHECK(ledger.local_socket_ns == TRACER_WAIT_LOCAL_SOCKET);
  CHECK(ledger.lock_ns == TRACER_WAIT_LOCK);
  CHECK(ledger.child_ns == TRACER_WAIT_CHILD);
  CHECK(ledger.sleep_ns == TRACER_WAIT_SLEEP);
  CHECK(ledger.poll_ns == TRACER_WAIT_POLL);
  CHECK(ledger.reclaim_ns == TRACER_WAIT_RECLAIM);
  CHECK(ledger.swap_ns == TRACER_WAIT_SWAP);
  CHECK(ledger.stopped_ns == TRACER_WAIT_STOPPED);
  CHECK(ledger.throttled_ns == TRACER_WAIT_THROTTLED);
  CHECK(ledger.other_ns == TRACER_WAIT_OTHER);
  CHECK(ledger.running_ns == 1000 - 100 - (14 * 15) / 2);
}

TEST_CASE("gaps that add up to more than the life leave no run time, and no other is negative") {
  tracer_wire_process_waits waits = waits_of_whole();
  waits.wait_ns[TRACER_WAIT_SLEEP] = 2000;
  const auto exit = decoded<ExitRecord>(
      wire::exit_record(kWho, {.late = tracer_wire_account{}, .waits = waits_of_threads(8), .process_waits = waits}));
  CHECK(to_process_ledger(exit.process_waits)->running_ns == 0);
  CHECK(to_process_ledger(exit.process_waits)->other_ns == 0);
}

TEST_CASE("the waits of a process that never had a second thread are those of its thread") {
  const auto exit = decoded<ExitRecord>(wire::exit_record(kWho, {.waits = waits_of_threads(1)}));
  const ProcessLedger ledger = to_process_ledger(exit.process_waits).value();
  CHECK(ledger.life_ns == 5000);
  CHECK(ledger.running_ns == 700);
  CHECK(ledger.run_queue_ns == 50);
  CHECK(ledger.lock_ns == 4000);
  CHECK(ledger.other_ns == 250);
  CHECK(ledger.throttled_ns == 0u);
}

TEST_CASE("where no thread could be followed the process's ledger is not known either") {
  const auto exit =
      decoded<ExitRecord>(wire::exit_record(kWho, {.late = tracer_wire_account{}, .process_waits = waits_of_whole()}));
  CHECK_FALSE(to_process_ledger(exit.process_waits).has_value());
  CHECK_FALSE(to_process_ledger(decoded<ExitRecord>(wire::exit_record(kWho, {})).process_waits).has_value());
}

TEST_CASE("an exec brings the process's waits behind its words, if it says so") {
  const wire::Exec with{.exe = "/bin/x",
                        .cwd = "/",
                        .argv = {"x", "y"},
                        .flags = TRACER_FLAG_PROCESS_WAITS,
                        .waits = waits_of_threads(8),
                        .process_waits = waits_of_whole()};
  const auto exec = decoded<ExecRecord>(wire::exec_record(kWho, with));
  CHECK(exec.process_waits.life_ns == 1000);
  CHECK(exec.text.argv == std::vector<std::string>{"x", "y"});
  wire::Exec without = with;
  without.flags = 0;
  without.waits.threads = 1;
  CHECK(decoded<ExecRecord>(wire::exec_record(kWho, without)).process_waits.life_ns == 5000);
}

TEST_CASE("of a living process's threads the first brings the process's waits") {
  const auto of = [](std::uint32_t tid, const tracer_wire_process_waits& waits) {
    return decoded<ThreadRecord>(
               wire::thread_record(kWho, {.tid = tid, .waits = waits_of_threads(1), .process_waits = waits}))
        .process_waits.life_ns;
  };
  CHECK(of(kPid, {}) == 5000);
  CHECK(of(kPid + 1, {}) == 0);
  CHECK(of(kPid, waits_of_whole()) == 1000);
  CHECK(of(0, waits_of_whole()) == 1000);
}

TEST_CASE("a program's share of the process's life is a difference, and never negative") {
  RawProcessWaits before = waits_of_only_thread(RawWaits{});
  before.life_ns = 300;
  before.running_ns = 200;
  before.wait_ns[2] = 100;
  RawProcessWaits after = before;
  after.life_ns = 1300;
  after.running_ns = 190;
  after.wait_ns[2] = 400;
  const RawProcessWaits share = difference(after, before);
  CHECK(share.life_ns == 1000);
  CHECK(share.running_ns == 0);
  CHECK(share.wait_ns[2] == 300);
}
