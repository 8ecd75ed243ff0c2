// SPDX-License-Identifier: Apache-2.0
#include "state/since_attach.hpp"

#include <algorithm>
#include <utility>

#include "base/most_processes.hpp"
#include "base/sums.hpp"
#include "state/held_memory.hpp"

namespace tracer::internal {
namespace {

/// A sample that comes later tells little of what was before.
constexpr std::uint64_t kSoonAfterAttachNs = 5'000'000'000;
/// /proc tells starts by the tick.
constexpr std::uint64_t kTickOfStartsNs = 20'000'000;

std::optional<std::uint64_t> most_read(const Account& account) {
  return account.read_bytes ? account.read_bytes : account.read_at_most_bytes;
}

/// What is counted from birth. What was read before the last exec is in no account.
Account counted_from_birth(const Account& account) {
  Account before = account;
  before.ledger.reset(), before.process_ledger.reset();
  before.missed_children_cpu_ns.reset();
  before.network_sent_bytes.reset(), before.network_received_bytes.reset();
  before.peak_rss_bytes.reset(), before.peak_rss_at_most_bytes.reset(), before.peak_rss_at_least_bytes.reset();
  return before;
}

}  // namespace

bool SinceAttach::lived_before(const Process& process) const { return process.start_ns + kTickOfStartsNs < begin_ns_; }

SinceAttach::Known& SinceAttach::meet(const Process& process, std::uint64_t attached_ns, std::uint64_t time_ns,
                                      const Account& account, bool is_sample) {
  const auto [at, fresh] = known_.try_emplace(id_of(process));
  Known& known = at->second;
  if (!fresh) return known;
  known.is_met = true;
  const std::uint64_t cpu_ns = least_cpu_ns(account).value_or(0);
  const bool soon = is_sample && time_ns <= attached_ns + kSoonAfterAttachNs;
  // The ledger begins with the attach.
  known.cpu_before_ns = account.ledger ? cpu_ns - std::min(cpu_ns, account.ledger->cpu_ns) : soon ? cpu_ns : 0;
  if (soon) known.before = counted_from_birth(account);
  ++processes_;
  cpu_before_ns_ += known.cpu_before_ns;
  return known;
}

void SinceAttach::take_off(Account& account, const Known& known) {
  const std::optional<std::uint64_t> cpu_ns = account.cpu_ns;
  const std::optional<std::uint64_t> read_bytes = most_read(account);
  Account before = known.before.value_or(Account());
  // What was read before its last exec is in no account any more.
  if (known.executed) before.read_bytes.reset(), before.read_at_most_bytes.reset(), before.read_calls.reset();
  const std::optional<std::uint64_t> read_before = most_read(before);
  take_off_figures(account, before);
  if (cpu_ns) account.cpu_ns = *cpu_ns - std::min(*cpu_ns, known.cpu_before_ns);
  if (!known.before) {
    if (!account.ledger) account.cpu_ns.reset();
    account.written_bytes.reset(), account.storage_read_bytes.reset(), account.storage_written_bytes.reset();
    if (!known.executed) account.read_bytes.reset(), account.read_at_most_bytes = read_bytes;
  } else if (read_bytes && read_before) {
    account.read_bytes = *read_bytes - std::min(*read_bytes, *read_before);
    account.read_at_most_bytes.reset();
  }
  if (known.executed || !account.peak_rss_bytes) return;
  // The kernel's mark is of its whole life.
  const std::uint64_t mark = *account.peak_rss_bytes;
  if (mark - std::min(mark, known.held_bytes) <= mark / 100) return;
  account.peak_rss_bytes.reset();
  account.peak_rss_at_most_bytes = mark;
  if (known.held_bytes != 0) account.peak_rss_at_least_bytes = known.held_bytes;
}

Event SinceAttach::sampled(const ProcessSample& sample) {
  ProcessSample counted = sample;
  const Process& process = *sample.process;
  const auto at = known_.find(id_of(process));
  const bool fits = at != known_.end() ? !at->second.is_command : known_.size() < kMostLivingProcesses;
  if (!fits || !lived_before(process)) {
    counted.attached_ns.reset();
    return counted;
  }
  Known& known = meet(process, *sample.attached_ns, sample.time_ns, sample.account, true);
  HeldMemory held;
  held.add(sample);
  known.held_bytes = std::max(known.held_bytes, held.bytes().value_or(0));
  take_off(counted.account, known);
  return counted;
}

Event SinceAttach::executed(const ProcessExec& exec) {
  ProcessExec counted = exec;
  const Process& process = *exec.process;
  if (!exec.ended.start_ns) known_[id_of(process)].is_command = true;
  if (!exec.ended.start_ns || !lived_before(process)) {
    counted.attached_ns.reset();
  } else if (*exec.ended.start_ns < *exec.attached_ns) {
    Known& known = meet(process, *exec.attached_ns, exec.time_ns, exec.ended.account, false);
    take_off(counted.ended.account, known);
    counted.ended.start_ns = exec.attached_ns;
    known.executed = true;
  }
  return counted;
}

Event SinceAttach::ended(const ProcessExit& exit) {
  ProcessExit counted = exit;
  const Process& process = *exit.process;
  if (exit.begin_ns >= *exit.attached_ns || !lived_before(process)) {
    counted.attached_ns.reset();
  } else {
    const Known& known = meet(process, *exit.attached_ns, exit.time_ns, exit.account, false);
    take_off(counted.account, known);
    if (!known.executed) {
      take_off(counted.program.account, known);
      counted.program.start_ns = exit.attached_ns;
    }
    counted.begin_ns = *exit.attached_ns;
  }
  known_.erase(id_of(process));
  return counted;
}

/// The session's own process has no figures but those of its work.
void SinceAttach::forget(const Process& process) {
  Known& known = known_[id_of(process)];
  cpu_before_ns_ -= known.cpu_before_ns;
  if (known.is_met) --processes_;
  known = {.is_command = true};
}

Event SinceAttach::of(const Event& event) {
  if (begin_ns_ == 0) begin_ns_ = event.time_ns();
  if (const auto* sample = event.get_if<ProcessSample>(); sample != nullptr && sample->attached_ns)
    return sampled(*sample);
  if (const auto* exec = event.get_if<ProcessExec>(); exec != nullptr && exec->attached_ns) return executed(*exec);
  if (const auto* work = event.get_if<OwnWork>()) forget(*work->process);
  if (const auto* exit = event.get_if<ProcessExit>(); exit != nullptr && exit->attached_ns) return ended(*exit);
  return event;
}

}  // namespace tracer::internal
