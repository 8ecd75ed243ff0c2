// SPDX-License-Identifier: Apache-2.0
#include "correlate/account.hpp"

#include <unistd.h>

#include <doctest/doctest.h>

#include "base/sums.hpp"
#include "raw_builder.hpp"

using namespace tracer;
using namespace tracer::internal;

namespace {

const auto kPage = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));

RawAccount cpu(std::uint64_t exact, std::uint64_t user, std::uint64_t system) {
  RawAccount raw{};
  raw.cpu_ns = exact;
  raw.user_sampled_ns = user;
  raw.system_sampled_ns = system;
  return raw;
}

ExitRecord exit_of(const RawAccount& total, const RecordFlags& flags, std::uint64_t read_before_exec = 0) {
  ExitRecord record;
  record.total = total;
  record.flags = flags;
  record.read_before_exec_bytes = read_before_exec;
  return record;
}

ExecRecord exec_of(const RawAccount& total, const RecordFlags& flags) {
  ExecRecord record;
  record.total = total;
  record.flags = flags;
  return record;
}

RawAccount reads(std::uint64_t bytes) {
  RawAccount raw = raw::counted(1);
  raw.read_bytes = bytes;
  return raw;
}

}  // namespace

TEST_CASE("the reads of a context are known unless those of one of its processes are in doubt") {
  RawTotals totals;
  totals.account = reads(9'000'000);
  totals.ended = 1000;
  totals.read_before_exec_bytes = 7'000'000;
  CHECK(totals_account(totals).read_bytes == 2'000'000);
  CHECK(totals_account(totals).read_at_most_bytes == 9'000'000);
  CHECK_FALSE(totals_account(totals).read_calls.has_value());
  totals.doubtful_reads = 1;
  CHECK_FALSE(totals_account(totals).read_bytes.has_value());
  CHECK(totals_account(totals).read_at_most_bytes == 9'000'000);
  CHECK(totals_account(totals).written_bytes.has_value());
}

TEST_CASE("the input and output of a context is unknown when a process had lost threads, its cpu time is not") {
  RawTotals totals;
  totals.account = raw::counted(2);
  totals.lost_threads = 1;
  const Account account = totals_account(totals);
  CHECK(account.cpu_ns == 200);
  CHECK_FALSE(account.run_queue_ns.has_value());
  CHECK_FALSE(account.read_bytes.has_value());
  CHECK_FALSE(account.read_at_most_bytes.has_value());
  CHECK_FALSE(account.written_bytes.has_value());
}

TEST_CASE("of a process whose ended threads could not be summed, and of its context, no account is known") {
  RawTotals totals;
  totals.account = raw::counted(2);
  totals.lost_sums = 1;
  const Account of_context = totals_account(totals);
  CHECK_FALSE(of_context.cpu_ns.has_value());
  CHECK_FALSE(of_context.read_at_most_bytes.has_value());
  ExitRecord exit = exit_of(raw::counted(2), {.peak_exact = true, .lost_sums = true}, 0);
  exit.peak_pages = 3;
  exit.waits.threads = 1;
  exit.waits.wall_ns = 5;
  for (const Account& account : {process_account(exit), last_program_account(exit, {})}) {
    CHECK_FALSE(account.cpu_ns.has_value());
    CHECK_FALSE(account.minor_faults.has_value());
    CHECK_FALSE(account.read_bytes.has_value());
    CHECK_FALSE(account.ledger.has_value());
    CHECK(account.peak_rss_bytes.has_value());
  }
  CHECK_FALSE(living_account({raw::counted(2), exit.waits, exit.process_waits}, 0, exit.flags).ledger.has_value());
}

TEST_CASE("the sampled split is scaled to the exact cpu time") {
  const Account account = to_account(cpu(1000, 30, 10), {});
  CHECK(account.cpu_ns == 1000);
  CHECK(account.user_ns == 750);
  CHECK(account.system_ns == 250);
}

TEST_CASE("user and system always add up to the cpu time and neither exceeds it") {
  constexpr std::uint64_t kOdd = (1ull << 53) + 3;  // not a double
  for (const std::uint64_t exact : {std::uint64_t{1}, std::uint64_t{7}, std::uint64_t{999'999'999'999}, kOdd})
    for (const auto& [user, system] : {std::pair{0u, 1u}, {1u, 0u}, {1u, 2u}, {4'000'000u, 3u}, {3u, 4'000'000u}}) {
      const Account account = to_account(cpu(exact, user, system), {});
      CAPTURE(exact);
      CAPTURE(user);
      CAPTURE(system);
      CHECK(*account.user_ns <= exact);
      CHECK(*account.system_ns <= exact);
      CHECK(*account.user_ns + *account.system_ns == exact);
    }
}

TEST_CASE("without a tick there is no split") {
  const Account account = to_account(cpu(123, 0, 0), {});
  CHECK(account.cpu_ns == 123);
  CHECK_FALSE(account.user_ns.has_value());
  CHECK_FALSE(account.system_ns.has_value());
}

TEST_CASE("every counter lands in its own field") {
  const Account account = to_account(raw::counted(2), {});
  CHECK(account.run_queue_ns == 10);
  CHECK(account.minor_faults == 12);
  CHECK(account.major_faults == 14);
  CHECK(account.voluntary_switches == 16);
  CHECK(account.involuntary_switches == 18);
  CHECK(account.read_bytes == 20);
  CHECK(account.written_bytes == 22);
  CHECK(account.read_calls == 24);
  CHECK(account.write_calls == 26);
  CHECK(account.storage_read_bytes == 28);
  CHECK(account.storage_written_bytes == 30);
  CHECK(account.storage_cancelled_bytes == 32);
  CHECK_FALSE(account.peak_rss_bytes.has_value());
  CHECK_FALSE(account.read_at_most_bytes.has_value());
}

TEST_CASE("what lost threads did is unknown, not zero") {
  const Account account = to_account(raw::counted(2), {.lost_threads = true});
  CHECK(account.cpu_ns == 200);
  CHECK(account.minor_faults == 12);
  CHECK_FALSE(account.run_queue_ns.has_value());
  CHECK_FALSE(account.read_bytes.has_value());
  CHECK_FALSE(account.written_bytes.has_value());
  CHECK_FALSE(account.read_calls.has_value());
  CHECK_FALSE(account.write_calls.has_value());
  CHECK_FALSE(account.storage_read_bytes.has_value());
  CHECK_FALSE(account.storage_written_bytes.has_value());
  CHECK_FALSE(account.storage_cancelled_bytes.has_value());
}

TEST_CASE("a difference never goes below zero") {
  const RawAccount down = difference(raw::counted(1), raw::counted(2));
  CHECK(down.cpu_ns == 0);
  CHECK(down.storage_cancelled_bytes == 0);
  const RawAccount up = difference(raw::counted(3), raw::counted(1));
  CHECK(up.cpu_ns == 200);
  CHECK(up.storage_cancelled_bytes == 32);
}

TEST_CASE("a peak is exact, a bound, or absent") {
  Account account;
  set_peak(account, 10, {.peak_exact = true});
  CHECK(account.peak_rss_bytes == 10 * kPage);
  CHECK_FALSE(account.peak_rss_at_most_bytes.has_value());
  set_peak(account, 11, {});
  CHECK_FALSE(account.peak_rss_bytes.has_value());
  CHECK(account.peak_rss_at_most_bytes == 11 * kPage);
  for (const RecordFlags& flags :
       {RecordFlags{.borrows_memory = true}, RecordFlags{.peak_exact = true, .borrows_memory = true}}) {
    set_peak(account, 12, flags);
    CHECK_FALSE(account.peak_rss_bytes.has_value());
    CHECK_FALSE(account.peak_rss_at_most_bytes.has_value());
  }
  set_peak(account, 0, {.peak_exact = true});
  CHECK_FALSE(account.peak_rss_bytes.has_value());
}

TEST_CASE("a process that never executed reads what its counter says") {
  const Account account = process_account(exit_of(reads(5000), {}));
  CHECK(account.read_bytes == 5000);
  CHECK(account.read_calls == 12);
  CHECK_FALSE(account.read_at_most_bytes.has_value());
}

TEST_CASE("an exec's own few reads are taken off") {
  const Account account = process_account(exit_of(reads(5000), {.executed = true}, 1000));
  CHECK(account.read_bytes == 4000);
  CHECK_FALSE(account.read_calls.has_value());
  CHECK_FALSE(account.read_at_most_bytes.has_value());
  CHECK(process_account(exit_of(reads(500), {.executed = true}, 1000)).read_bytes == 0);
  CHECK(process_account(exit_of(reads(5000), {.executed = true}, 1000), {}, 5).read_calls == 7);
  CHECK(living_account({reads(5000), {}, {}}, 1000, {.executed = true}, 5).read_calls == 7);
  // Who does not know how many bytes came before does not know how many calls.
  CHECK_FALSE(process_account(exit_of(reads(50'000), {.executed = true}, 20'000), {}, 5).read_calls.has_value());
  CHECK_FALSE(process_account(exit_of(reads(5000), {.lived_before = true}), {}, 0).read_calls.has_value());
}

TEST_CASE("with many reads before the exec only a bound is known") {
  const Account account = process_account(exit_of(reads(50'000), {.executed = true}, 20'000));
  CHECK_FALSE(account.read_bytes.has_value());
  CHECK(account.read_at_most_bytes == 50'000);
}

TEST_CASE("with lost threads a process's reads stay unknown after an exec") {
  const Account account = process_account(exit_of(reads(5000), {.lost_threads = true, .executed = true}, 100));
  CHECK_FALSE(account.read_bytes.has_value());
  CHECK_FALSE(account.read_at_most_bytes.has_value());
}

TEST_CASE("an ended program's reads include its exec's, and so are a bound") {
  ExecRecord record = exec_of(raw::counted(3), {.peak_exact = true});
  record.ended_peak_pages = 4;
  const Account account = ended_account(record, {raw::counted(1), {}, {}});
  CHECK(account.cpu_ns == 200);
  CHECK(account.written_bytes == 22);
  CHECK_FALSE(account.read_bytes.has_value());
  CHECK_FALSE(account.read_calls.has_value());
  CHECK(account.read_at_most_bytes == 20);
  CHECK(account.peak_rss_bytes == 4 * kPage);
}

TEST_CASE("an ended program whose threads were still ending has no account") {
  const Account account = ended_account(exec_of(raw::counted(3), {.threads_pending = true}), {});
  CHECK_FALSE(account.cpu_ns.has_value());
  CHECK_FALSE(account.written_bytes.has_value());
  CHECK_FALSE(account.read_at_most_bytes.has_value());
}

TEST_CASE("a stale cpu time at an exec is absent, the rest is there") {
  const Account account = ended_account(exec_of(raw::counted(3), {.cpu_stale = true}), {});
  CHECK_FALSE(account.cpu_ns.has_value());
  CHECK_FALSE(account.user_ns.has_value());
  CHECK_FALSE(account.system_ns.has_value());
  CHECK(account.written_bytes == 33);
}

TEST_CASE("the last program's share leaves out what came before its exec") {
  const Account account = last_program_account(exit_of(raw::counted(5), {.executed = true}), {raw::counted(2), {}, {}});
  CHECK(account.cpu_ns == 300);
  CHECK(account.read_bytes == 30);
  CHECK(account.read_calls == 36);
  CHECK(account.storage_written_bytes == 45);
}

TEST_CASE("the last program's share leaves out stragglers of the program before") {
  ExitRecord record = exit_of(raw::counted(5), {.executed = true});
  record.late = raw::counted(1);
  CHECK(last_program_account(record, {raw::counted(2), {}, {}}).cpu_ns == 200);
  CHECK(process_account(record).cpu_ns == 500);
}

TEST_CASE("threads lost before the exec do not hide the last program's share") {
  const RecordFlags executed = {.lost_threads = true, .executed = true};
  CHECK(last_program_account(exit_of(raw::counted(5), executed), {raw::counted(2), {}, {}}).written_bytes == 33);
  CHECK_FALSE(last_program_account(exit_of(raw::counted(5), {.lost_threads = true}), {}).written_bytes.has_value());
}

TEST_CASE("a sum adds field by field") {
  const RawAccount sum = sum_of(raw::counted(1), raw::counted(2));
  CHECK(sum.cpu_ns == 300);
  CHECK(sum.system_sampled_ns == 3);
  CHECK(sum.storage_cancelled_bytes == 48);
}

TEST_CASE("what is not known of one is known neither of a difference nor of a sum") {
  RawAccount unread = raw::counted(1);
  unread.unknown_parts = kCallsPart;
  RawAccount threads = raw::counted(3);
  threads.unknown_parts = kSwitchesPart;
  for (const RawAccount& both : {difference(threads, unread), sum_of(threads, unread)}) {
    const Account account = to_account(both, {});
    CHECK_FALSE(account.read_bytes.has_value());
    CHECK_FALSE(account.write_calls.has_value());
    CHECK_FALSE(account.voluntary_switches.has_value());
    CHECK(account.minor_faults == both.minor_faults);
    CHECK(account.storage_read_bytes == both.storage_read_bytes);
  }
}

TEST_CASE("what could not be read while a process was held is not counted as its own once it can be") {
  ExitRecord record = exit_of(raw::counted(5), {.polled = true});
  ProcessSums held{};
  held.total.unknown_parts = kCallsPart | kStoragePart;
  const Account account = process_account(record, held);
  CHECK_FALSE(account.written_bytes.has_value());
  CHECK_FALSE(account.storage_written_bytes.has_value());
  CHECK(account.cpu_ns == 500);
  CHECK_FALSE(living_account(difference({record.total, {}, {}}, held), 0, record.flags).written_bytes.has_value());
}

TEST_CASE("a living process's reads leave out what came before its exec, as at its end") {
  CHECK(living_account({reads(5000), {}, {}}, 1000, {}).read_bytes == 5000);
  CHECK(living_account({reads(5000), {}, {}}, 1000, {.executed = true}).read_bytes == 4000);
  const Account bound = living_account({reads(50'000), {}, {}}, 20'000, {.executed = true});
  CHECK_FALSE(bound.read_bytes.has_value());
  CHECK(bound.read_at_most_bytes == 50'000);
  const Account lost = living_account({reads(5000), {}, {}}, 100, {.lost_threads = true, .executed = true});
  CHECK_FALSE(lost.read_bytes.has_value());
  CHECK(lost.cpu_ns == 100);
}

TEST_CASE("a forgotten cpu time takes its split along") {
  Account account = to_account(raw::counted(1), {});
  forget_cpu(account);
  CHECK_FALSE(account.cpu_ns.has_value());
  CHECK_FALSE(account.user_ns.has_value());
  CHECK_FALSE(account.system_ns.has_value());
  CHECK(account.minor_faults == 6);
}

TEST_CASE("the figures of a last look are lower bounds, and what has no bound is not known") {
  RawAccount total = cpu(900, 0, 0);
  total.written_bytes = 5;
  ExitRecord record = exit_of(total, {.lived_before = true, .polled = true, .last_look = true});
  record.peak_pages = 3;
  record.missed_children_cpu_ns = 70;
  const Account account = process_account(record);
  CHECK_FALSE(account.cpu_ns.has_value());
  CHECK(account.cpu_at_least_ns == 900);
  CHECK(account.missed_children_cpu_ns == 70);
  CHECK(account.peak_rss_at_least_bytes == 3 * kPage);
  CHECK_FALSE(account.peak_rss_bytes.has_value());
  CHECK_FALSE(account.peak_rss_at_most_bytes.has_value());
  CHECK_FALSE(account.written_bytes.has_value());
  CHECK_FALSE(account.minor_faults.has_value());
  const Account last = last_program_account(record, {cpu(400, 0, 0), {}, {}, 20});
  CHECK(last.cpu_at_least_ns == 500);
  CHECK(last.missed_children_cpu_ns == 50);
}

TEST_CASE("what a source looked at last is final where the process had ended by then, but for its peak") {
  ExitRecord record = exit_of(cpu(900, 0, 0), {.lived_before = true, .polled = true});
  record.peak_pages = 3;
  const Account account = process_account(record);
  CHECK(account.cpu_ns == 900);
  CHECK_FALSE(account.cpu_at_least_ns.has_value());
  CHECK(account.peak_rss_at_least_bytes == 3 * kPage);
  CHECK_FALSE(account.peak_rss_at_most_bytes.has_value());
}

TEST_CASE("in a sum the lower bound stands where the CPU time of a part is not known") {
  Account sum;
  sum.cpu_ns = 10;
  Account bounded;
  bounded.cpu_at_least_ns = 5;
  add_figures(sum, bounded, Unknown::kSpreads);
  CHECK_FALSE(sum.cpu_ns.has_value());
  CHECK(sum.cpu_at_least_ns == 15);
  Account exact;
  exact.cpu_ns = 3;
  add_figures(sum, exact, Unknown::kSpreads);
  CHECK(sum.cpu_at_least_ns == 18);
  Account both = exact;
  add_figures(both, exact, Unknown::kSpreads);
  CHECK(both.cpu_ns == 6);
  CHECK_FALSE(both.cpu_at_least_ns.has_value());
}
