// SPDX-License-Identifier: Apache-2.0
#include "state/since_attach.hpp"

#include <doctest/doctest.h>

#include "summed_events.hpp"

using namespace summed;
using namespace tracer;
using namespace tracer::internal;

namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

std::shared_ptr<const Process> process_from(std::uint64_t start_ns) {
  auto process = std::make_shared<Process>();
  process->pid = 7;
  process->start_ns = start_ns;
  return process;
}

Account used(std::uint64_t cpu_ns, std::uint64_t read_bytes, std::uint64_t written_bytes) {
  Account account;
  account.cpu_ns = cpu_ns;
  account.read_bytes = read_bytes;
  account.written_bytes = written_bytes;
  return account;
}

ProcessSample sample_of(std::uint64_t start_ns, Account account) {
  ProcessSample sample;
  sample.time_ns = 101 * kSecond;
  sample.attached_ns = 100 * kSecond;
  sample.process = process_from(start_ns);
  sample.account = std::move(account);
  return sample;
}

ProcessExit exit_of_it(std::uint64_t start_ns, Account account) {
  ProcessExit exit;
  exit.time_ns = exit.end_ns = 110 * kSecond;
  exit.start_ns = exit.begin_ns = start_ns;
  exit.attached_ns = 100 * kSecond;
  exit.process = process_from(start_ns);
  exit.program.start_ns = start_ns;
  exit.program.account = account;
  exit.account = std::move(account);
  return exit;
}

/// A stream that begins at 100 s.
SinceAttach begun() {
  SinceAttach since;
  since.of(SnapshotEnd{100 * kSecond, 0});
  return since;
}

}  // namespace

TEST_CASE("what lived before counts from its first sample") {
  SinceAttach since = begun();
  const Event first = since.of(sample_of(1, used(3 * kSecond, 500, 60)));
  CHECK(first.get_if<ProcessSample>()->account.cpu_ns == 0u);
  CHECK(since.processes() == 1);
  CHECK(since.cpu_before_ns() == 3 * kSecond);
  const Event last = since.of(exit_of_it(1, used(5 * kSecond, 700, 65)));
  const auto& exit = *last.get_if<ProcessExit>();
  CHECK(exit.account.cpu_ns == 2 * kSecond);
  CHECK(exit.program.account.read_bytes == 200u);
  CHECK(exit.program.account.written_bytes == 5u);
  CHECK(exit.begin_ns == 100 * kSecond);
  CHECK(exit.program.start_ns == 100 * kSecond);
}

TEST_CASE("without a sample only the ledger tells what was since") {
  SinceAttach since = begun();
  Account account = used(5 * kSecond, 700, 65);
  account.ledger.emplace();
  account.ledger->cpu_ns = kSecond;
  const Event event = since.of(exit_of_it(1, account));
  const Account& counted = event.get_if<ProcessExit>()->account;
  CHECK(counted.cpu_ns == kSecond);
  CHECK_FALSE(counted.read_bytes.has_value());
  CHECK(counted.read_at_most_bytes == 700u);
  CHECK_FALSE(counted.written_bytes.has_value());
}

TEST_CASE("what began during the session, and was met late, has all of its figures") {
  SinceAttach since = begun();
  const Event event = since.of(sample_of(100 * kSecond + 1, used(kSecond / 2, 500, 60)));
  CHECK(event.get_if<ProcessSample>()->account.cpu_ns == kSecond / 2);
  CHECK_FALSE(event.get_if<ProcessSample>()->attached_ns.has_value());
  CHECK(since.processes() == 0);
}
