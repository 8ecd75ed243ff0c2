// SPDX-License-Identifier: Apache-2.0
#include "correlate/account.hpp"

#include <algorithm>
#include <utility>

#include "base/wide.hpp"

namespace tracer::internal {
namespace {

/// In doubt: it is not known how much of what was read before is to be taken off.
void take_off_reads(Account& account, std::uint64_t before_exec_bytes, bool in_doubt) noexcept {
  if (in_doubt) {
    account.read_at_most_bytes = account.read_bytes;
    account.read_bytes.reset();
  } else {
    account.read_bytes = *account.read_bytes - std::min(*account.read_bytes, before_exec_bytes);
  }
}

/// Takes off what was read before the last exec: by ended programs, and by exec itself, which can't be told apart. When
/// that exec was before tracking began, what it read is not known.
void settle_reads(Account& account, std::uint64_t read_before_exec_bytes,
                  std::optional<std::uint64_t> calls_before_exec, const RecordFlags& flags) noexcept {
  if (!account.read_bytes || (!flags.executed && !flags.lived_before)) return;
  take_off_reads(account, read_before_exec_bytes, !flags.executed || read_before_exec_bytes > kMostExecReadBytes);
  if (account.read_bytes && account.read_calls && calls_before_exec) {
    account.read_calls = *account.read_calls - std::min(*account.read_calls, *calls_before_exec);
  } else {
    account.read_calls.reset();
  }
}

void set_missed(Account& account, std::uint64_t cpu_ns, std::uint64_t before_ns, const RecordFlags& flags) noexcept {
  if (flags.polled) account.missed_children_cpu_ns = cpu_ns - std::min(cpu_ns, before_ns);
}

void set_ledgers(Account& account, const RawWaits& waits, const RawProcessWaits& process_waits,
                 const RawAccount& share) noexcept {
  account.ledger = to_ledger(waits, share);
  account.process_ledger = to_process_ledger(process_waits);
}

}  // namespace

std::optional<std::uint64_t> system_share(std::uint64_t cpu_ns, const RawAccount& sampled) noexcept {
  const Wide both = static_cast<Wide>(sampled.user_sampled_ns) + sampled.system_sampled_ns;
  if (both == 0) return std::nullopt;
  return static_cast<std::uint64_t>(static_cast<Wide>(cpu_ns) * sampled.system_sampled_ns / both);
}

void forget_parts(Account& account, std::uint8_t parts) noexcept {
  const auto forget = [&](AccountPart part, auto&... figures) {
    if ((parts & part) != 0) (figures.reset(), ...);
  };
  forget(kCpuPart, account.cpu_ns, account.user_ns, account.system_ns);
  forget(kSplitPart, account.user_ns, account.system_ns);
  forget(kRunQueuePart, account.run_queue_ns);
  forget(kFaultsPart, account.minor_faults, account.major_faults);
  forget(kSwitchesPart, account.voluntary_switches, account.involuntary_switches);
  forget(kCallsPart, account.read_bytes, account.read_at_most_bytes, account.written_bytes, account.read_calls,
         account.write_calls);
  forget(kStoragePart, account.storage_read_bytes, account.storage_written_bytes, account.storage_cancelled_bytes);
}

Account to_account(const RawAccount& raw, const RecordFlags& flags) noexcept {
  Account account;
  if (flags.lost_sums) return account;
  account.cpu_ns = raw.cpu_ns;
  if (flags.last_look) {
    make_lower_bound(account);
    return account;
  }
  account.system_ns = system_share(raw.cpu_ns, raw);
  if (account.system_ns) account.user_ns = raw.cpu_ns - *account.system_ns;
  account.minor_faults = raw.minor_faults;
  account.major_faults = raw.major_faults;
  account.voluntary_switches = raw.voluntary_switches;
  account.involuntary_switches = raw.involuntary_switches;
  if (flags.lost_threads) {
    forget_parts(account, raw.unknown_parts);
    return account;
  }
  account.run_queue_ns = raw.run_queue_ns;
  account.read_bytes = raw.read_bytes;
  account.written_bytes = raw.written_bytes;
  account.read_calls = raw.read_calls;
  account.write_calls = raw.write_calls;
  account.storage_read_bytes = raw.storage_read_bytes;
  account.storage_written_bytes = raw.storage_written_bytes;
  account.storage_cancelled_bytes = raw.storage_cancelled_bytes;
  forget_parts(account, raw.unknown_parts);
  return account;
}

void set_peak(Account& account, std::uint64_t pages, const RecordFlags& flags) noexcept {
  account.peak_rss_bytes.reset();
  account.peak_rss_at_most_bytes.reset();
  if (flags.borrows_memory || pages == 0) return;
  if (flags.polled) {
    account.peak_rss_at_least_bytes = bytes_of_pages(pages);
  } else if (flags.peak_exact) {
    account.peak_rss_bytes = bytes_of_pages(pages);
  } else {
    account.peak_rss_at_most_bytes = bytes_of_pages(pages);
  }
}

void bound_peak(Account& account, bool in_doubt, std::optional<std::uint64_t> seen_bytes, bool lacks_some) noexcept {
  if (lacks_some) {
    account.peak_rss_at_least_bytes = std::max(account.peak_rss_bytes.value_or(0), seen_bytes.value_or(0));
    account.peak_rss_bytes.reset(), account.peak_rss_at_most_bytes.reset();
    return;
  }
  if (in_doubt && account.peak_rss_bytes) account.peak_rss_at_most_bytes = std::exchange(account.peak_rss_bytes, {});
  // The kernel's mark counts such pages several times: no lower bound.
  if (in_doubt && account.peak_rss_at_least_bytes) account.peak_rss_at_least_bytes = seen_bytes;
  if (!account.peak_rss_at_most_bytes || !seen_bytes) return;
  const std::uint64_t at_most = *account.peak_rss_at_most_bytes;
  const std::uint64_t at_least = std::min(*seen_bytes, at_most);
  // One part in a hundred is no doubt.
  if (at_most - at_least <= at_most / 100) {
    account.peak_rss_bytes = at_least;
    account.peak_rss_at_most_bytes.reset();
  } else {
    account.peak_rss_at_least_bytes = at_least;
  }
}

ProcessSums difference(const ProcessSums& sums, const ProcessSums& before) noexcept {
  return {difference(sums.total, before.total), difference(sums.waits, before.waits),
          difference(sums.process_waits, before.process_waits),
          sums.missed_children_cpu_ns - std::min(sums.missed_children_cpu_ns, before.missed_children_cpu_ns)};
}

Account ended_account(const ExecRecord& record, const ProcessSums& base) noexcept {
  // While threads of the ended program were still ending, its sums were not final: not known is better than too little.
  if (record.flags.threads_pending) return {};
  const RawAccount share = difference(record.total, base.total);
  Account account = to_account(share, record.flags);
  if (!record.flags.lost_sums)
    set_ledgers(account, difference(record.waits, base.waits), difference(record.process_waits, base.process_waits),
                share);
  account.read_at_most_bytes = account.read_bytes;
  account.read_bytes.reset();
  account.read_calls.reset();
  if (record.flags.cpu_stale) forget_cpu(account);
  set_missed(account, record.missed_children_cpu_ns, base.missed_children_cpu_ns, record.flags);
  set_peak(account, record.ended_peak_pages, record.flags);
  return account;
}

Account process_account(const ExitRecord& record, const ProcessSums& before,
                        std::optional<std::uint64_t> calls_before_exec) noexcept {
  const ProcessSums own = difference({record.total, record.waits, record.process_waits}, before);
  Account account = to_account(own.total, record.flags);
  if (!record.flags.lost_sums) set_ledgers(account, own.waits, own.process_waits, own.total);
  set_missed(account, record.missed_children_cpu_ns, before.missed_children_cpu_ns, record.flags);
  set_peak(account, record.peak_pages, record.flags);
  settle_reads(account,
               record.read_before_exec_bytes - std::min(record.read_before_exec_bytes, before.total.read_bytes),
               calls_before_exec, record.flags);
  return account;
}

Account living_account(const ProcessSums& sums, std::uint64_t read_before_exec_bytes, const RecordFlags& flags,
                       std::optional<std::uint64_t> calls_before_exec) noexcept {
  Account account = to_account(sums.total, flags);
  if (!flags.lost_sums) set_ledgers(account, sums.waits, sums.process_waits, sums.total);
  set_missed(account, sums.missed_children_cpu_ns, 0, flags);
  settle_reads(account, read_before_exec_bytes, calls_before_exec, flags);
  return account;
}

Account last_program_account(const ExitRecord& record, const ProcessSums& base) noexcept {
  // What threads did that ended before tracking began is before an exec, too, and so not in the program's share.
  RecordFlags flags = record.flags;
  if (flags.executed) flags.lost_threads = false;
  const RawAccount share = difference(difference(record.total, base.total), record.late);
  Account account = to_account(share, flags);
  // The waits of late threads are not told apart.
  if (record.late.cpu_ns == 0 && !flags.lost_sums)
    set_ledgers(account, difference(record.waits, base.waits), difference(record.process_waits, base.process_waits),
                share);
  set_missed(account, record.missed_children_cpu_ns, base.missed_children_cpu_ns, flags);
  set_peak(account, record.peak_pages, flags);
  if (!flags.executed) settle_reads(account, 0, std::nullopt, flags);
  return account;
}

Account totals_account(const RawTotals& totals) noexcept {
  Account account =
      to_account(totals.account, {.lost_threads = totals.lost_threads != 0, .lost_sums = totals.lost_sums != 0});
  account.read_at_most_bytes = account.read_bytes;
  if (!account.read_bytes) return account;
  if (totals.read_before_exec_bytes != 0) account.read_calls.reset();
  take_off_reads(account, totals.read_before_exec_bytes, totals.doubtful_reads != 0);
  return account;
}

void make_lower_bound(Account& account) noexcept {
  Account bound;
  bound.cpu_at_least_ns = account.cpu_ns ? account.cpu_ns : account.cpu_at_least_ns;
  bound.missed_children_cpu_ns = account.missed_children_cpu_ns;
  bound.peak_rss_at_least_bytes = account.peak_rss_at_least_bytes;
  account = bound;
}

void forget_cpu(Account& account) noexcept {
  account.cpu_ns.reset();
  account.cpu_at_least_ns.reset();
  account.user_ns.reset();
  account.system_ns.reset();
  account.ledger.reset();
  account.process_ledger.reset();
}

}  // namespace tracer::internal
