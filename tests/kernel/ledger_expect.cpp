// SPDX-License-Identifier: Apache-2.0
#include "ledger_expect.hpp"

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <utility>

#include <doctest/doctest.h>

namespace expect {
namespace {

using Field = std::uint64_t tracer::Ledger::*;

/// But for the time that a CPU limit holds a thread back: not every kernel has limits.
const std::pair<std::string, Field> kWaits[] = {
    {"disk", &tracer::Ledger::disk_ns},       {"pipe_read", &tracer::Ledger::pipe_read_ns},
    {"network", &tracer::Ledger::network_ns}, {"pipe_write", &tracer::Ledger::pipe_write_ns},
    {"lock", &tracer::Ledger::lock_ns},       {"child", &tracer::Ledger::child_ns},
    {"sleep", &tracer::Ledger::sleep_ns},     {"poll", &tracer::Ledger::poll_ns},
    {"reclaim", &tracer::Ledger::reclaim_ns}, {"swap", &tracer::Ledger::swap_ns},
    {"stopped", &tracer::Ledger::stopped_ns}, {"local_socket", &tracer::Ledger::local_socket_ns},
};

bool emulated() { return std::getenv("TRACER_EMULATED") != nullptr; }

}  // namespace

std::uint64_t slack_ns(std::uint64_t truth_ns) {
  return emulated() ? truth_ns / 10 + 50 * kMillisecond : std::max(truth_ns / 20, 5 * kMillisecond);
}

std::uint64_t distance(std::uint64_t a, std::uint64_t b) { return a > b ? a - b : b - a; }

std::vector<std::uint64_t> told(const Capture& capture) { return numbers_of(capture.output); }

std::vector<std::uint64_t> numbers_of(const std::string& text) {
  std::vector<std::uint64_t> numbers;
  std::istringstream lines(text);
  for (std::uint64_t each = 0; lines >> each;) numbers.push_back(each);
  return numbers;
}

std::optional<tracer::Ledger> program_ledger(const Capture& capture) {
  const std::optional<tracer::Ledger> ledger = capture.exit().program.account.ledger;
  if (ledger || !emulated()) return known(ledger);
  MESSAGE("SKIP: this emulated machine was too slow to tell the program's share");
  return std::nullopt;
}

const tracer::Ledger& known(const std::optional<tracer::Ledger>& ledger) {
  REQUIRE(ledger.has_value());
  return *ledger;
}

void waits(const std::optional<tracer::Ledger>& seen_ledger, const std::map<std::string, std::uint64_t>& truths) {
  const tracer::Ledger& ledger = known(seen_ledger);
  const auto compare = [&](const std::string& name, std::uint64_t seen) {
    CAPTURE(name);
    const auto truth = truths.find(name);
    const std::uint64_t wanted = truth == truths.end() ? 0 : truth->second;
    CAPTURE(wanted);
    // Where no wait is meant there are short ones: a child that ends late, a page that is read.
    CHECK(seen <= (wanted > 0 ? wanted + slack_ns(wanted) : std::max(slack_ns(0), 20 * kMillisecond)));
    CHECK(seen + ledger.run_queue_ns + slack_ns(wanted) >= wanted);
  };
  for (const auto& [name, field] : kWaits) compare(name, ledger.*field);
  REQUIRE(ledger.throttled_ns.has_value());
  compare("throttled", *ledger.throttled_ns);
  // A program's share begins or ends at an exec, where CPU time may be a tick short.
  sums(ledger, 5 * kMillisecond);
}

void throttled(const std::optional<tracer::Ledger>& ledger, std::uint64_t truth_ns) {
  waits(ledger, {{"throttled", truth_ns}});
  CAPTURE(truth_ns);
  CHECK(distance(ledger->throttled_ns.value(), truth_ns) <= slack_ns(truth_ns));
}

void sums(const std::optional<tracer::Ledger>& seen_ledger, std::uint64_t unsure_ns) {
  const tracer::Ledger& ledger = known(seen_ledger);
  std::uint64_t sum = ledger.cpu_ns + ledger.run_queue_ns + ledger.other_ns + ledger.throttled_ns.value();
  for (const auto& [name, field] : kWaits) sum += ledger.*field;
  const std::uint64_t wall = ledger.wall_ns;
  CAPTURE(wall);
  if (wall > 10 * kMillisecond) CHECK(distance(sum, wall) <= (emulated() ? slack_ns(wall) : wall / 100) + unsure_ns);
  CHECK(ledger.other_ns <= slack_ns(wall));
  CHECK(ledger.pipe_ns == ledger.pipe_read_ns + ledger.pipe_write_ns);
}

void process_sums(const tracer::Account& account, std::uint64_t unsure_ns) {
  REQUIRE(account.process_ledger.has_value());
  const tracer::ProcessLedger& ledger = *account.process_ledger;
  const std::uint64_t sum = ledger.running_ns + ledger.run_queue_ns + ledger.disk_ns + ledger.pipe_ns +
                            ledger.network_ns + ledger.local_socket_ns + ledger.lock_ns + ledger.child_ns +
                            ledger.sleep_ns + ledger.poll_ns + ledger.reclaim_ns + ledger.swap_ns +
                            ledger.throttled_ns.value() + ledger.stopped_ns + ledger.other_ns;
  const std::uint64_t life = ledger.life_ns;
  CAPTURE(life);
  if (life > 10 * kMillisecond) CHECK(distance(sum, life) <= (emulated() ? slack_ns(life) : life / 100) + unsure_ns);
  CHECK(ledger.other_ns <= slack_ns(life));
  CHECK(ledger.pipe_ns == ledger.pipe_read_ns + ledger.pipe_write_ns);
  // What interrupts and a hypervisor take is run time here, and no CPU time.
  const std::uint64_t cpu = known(account.ledger).cpu_ns;
  CAPTURE(cpu);
  CHECK(ledger.running_ns <= cpu + slack_ns(cpu) + unsure_ns);
}

void sound(const Capture& capture, std::uint64_t unsure_ns) {
  CHECK(capture.status == 0);
  for (const auto& [cause, count] : capture.statistics.losses) {
    CAPTURE(cause);
    CHECK(count == 0);
  }
  for (const auto& exit : capture.all<tracer::ProcessExit>()) {
    CAPTURE(exit.process->pid);
    sums(exit.account.ledger, unsure_ns);
    process_sums(exit.account, unsure_ns);
    const std::uint64_t most = emulated() ? slack_ns(0) : kMillisecond;
    const std::uint64_t since_ns = exit.attached_ns.value_or(exit.start_ns);
    CHECK(distance(exit.account.process_ledger->life_ns, exit.end_ns - since_ns) <= most);
    if (exit.threads != 1u) continue;
    CHECK(distance(exit.account.ledger->wall_ns, exit.end_ns - since_ns) <= most);
  }
}

}  // namespace expect
