// SPDX-License-Identifier: Apache-2.0
/// Two kernel sides that were attached at the same time, as in an upgrade: what they told, as one.
#include "source/kernel/restart_left_side.hpp"

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include "collect.hpp"
#include "shell_records.hpp"

using namespace tracer;
using namespace tracer::internal;
using namespace tracer::shell_records;

namespace {

constexpr std::uint64_t kAttachedNs = 10'000;

struct Side {
  void start(const wire::Who& who, std::uint64_t attached_ns = 0) {
    StartRecord record;
    record.identity = identity_of(who, attached_ns != 0 ? attached_ns : who.start_ns);
    if (attached_ns != 0) record.attached_ns = attached_ns;
    records.push_back(record);
  }
  void exec(const wire::Who& who, std::uint64_t time_ns, std::uint64_t ended_start_ns, const std::string& exe) {
    ExecRecord record;
    record.identity = identity_of(who, time_ns);
    record.ended_start_ns = ended_start_ns;
    record.text.exe = exe;
    record.text.argv = std::vector<std::string>{exe};
    records.push_back(record);
  }
  void exit(const wire::Who& who, std::uint64_t time_ns, std::uint64_t program_start_ns) {
    ExitRecord record;
    record.identity = identity_of(who, time_ns);
    record.program_start_ns = program_start_ns;
    record.exit_code = 0;
    records.push_back(record);
  }
  void adopts(const wire::Who& who, std::uint64_t attached_ns) {
    ThreadRecord record;
    record.identity = identity_of(who, attached_ns + 1);
    record.attached_ns = attached_ns;
    record.newly_adopted = true;
    records.push_back(record);
  }
  static RecordIdentity identity_of(const wire::Who& who, std::uint64_t time_ns) {
    RecordIdentity identity;
    identity.pid = who.pid;
    identity.start_ns = who.start_ns;
    identity.parent_pid = who.parent_pid;
    identity.parent_start_ns = who.parent_start_ns;
    identity.time_ns = time_ns;
    identity.comm = "comm";
    return identity;
  }
  std::vector<Record> records;
};

struct Joined final : Feed {
  Joined(const Side& left, const Side& goes_on) { join_sides(left.records, goes_on.records, kAttachedNs, *this); }
  void record(const Record& record) override { stages.push(record); }
  void event(Event) override {}
  void snapshot_end(std::uint64_t) override {}
  collect::Stages stages;
};

std::vector<std::string> exes_at_exit(const Joined& joined) {
  std::vector<std::string> exes;
  for (const ProcessExit& exit : joined.stages.all<ProcessExit>())
    exes.push_back(exit.process->program->exe.value_or("-"));
  return exes;
}

}  // namespace

TEST_CASE("a process that both sides saw from its birth on is told once") {
  Side left;
  Side goes_on;
  const wire::Who who{.pid = 7, .start_ns = kAttachedNs + 5};
  for (Side* const side : {&left, &goes_on}) {
    const std::uint64_t later = side == &goes_on ? 3 : 0;
    side->start(who);
    side->exec(who, kAttachedNs + 100 + later, who.start_ns, "/bin/true");
    side->exit(who, kAttachedNs + 200 + later, kAttachedNs + 100 + later);
  }
  const Joined joined(left, goes_on);
  CHECK(collect::kinds_of(joined.stages.events) ==
        std::vector{EventKind::kProcessStart, EventKind::kProcessExec, EventKind::kProcessExit});
  CHECK(exes_at_exit(joined) == std::vector<std::string>{"/bin/true"});
}

TEST_CASE("what ended before the new side took it in, only the left side tells") {
  Side left;
  left.start(kShell);
  left.exec(kShell, 1100, 1000, "/bin/bash");
  left.exit(kShell, kAttachedNs + 50, 1100);
  const Joined joined(left, {});
  CHECK(collect::kinds_of(joined.stages.events) ==
        std::vector{EventKind::kProcessStart, EventKind::kProcessExec, EventKind::kProcessExit});
}

TEST_CASE("a process that began while nobody read, and was taken in, has one start, one exec, and one exit") {
  Side left;
  left.start(kShell);
  left.exec(kShell, 1100, 1000, "/bin/bash");
  left.exit(kShell, kAttachedNs + 300, 1100);
  Side goes_on;
  goes_on.adopts(kShell, kAttachedNs + 100);
  // That side knows nothing of the exec.
  goes_on.exit(kShell, kAttachedNs + 301, 1000);
  const Joined joined(left, goes_on);
  CHECK(collect::kinds_of(joined.stages.events) ==
        std::vector{EventKind::kProcessStart, EventKind::kProcessExec, EventKind::kProcessExit});
  CHECK(exes_at_exit(joined) == std::vector<std::string>{"/bin/bash"});
  // What its program consumed is not known any more, nor what it waited for.
  CHECK_FALSE(joined.stages.last<ProcessExit>().program.account.cpu_ns);
  CHECK_FALSE(joined.stages.last<ProcessExit>().account.process_ledger);
}

TEST_CASE("a process that was born while the new side was being attached keeps the exec that this side missed") {
  const wire::Who who{.pid = 7, .start_ns = kAttachedNs - 500};
  Side left;
  left.start(who);
  left.exec(who, kAttachedNs - 400, who.start_ns, "/bin/true");
  left.exit(who, kAttachedNs + 300, kAttachedNs - 400);
  Side goes_on;
  goes_on.start(who);
  SUBCASE("it missed the exec") {
    goes_on.exit(who, kAttachedNs + 301, who.start_ns);
    const Joined joined(left, goes_on);
    CHECK(collect::kinds_of(joined.stages.events) ==
          std::vector{EventKind::kProcessStart, EventKind::kProcessExec, EventKind::kProcessExit});
    CHECK(exes_at_exit(joined) == std::vector<std::string>{"/bin/true"});
  }
  SUBCASE("it saw the exec") {
    goes_on.exec(who, kAttachedNs - 398, who.start_ns, "/bin/true");
    goes_on.exit(who, kAttachedNs + 301, kAttachedNs - 398);
    const Joined joined(left, goes_on);
    CHECK(collect::kinds_of(joined.stages.events) ==
          std::vector{EventKind::kProcessStart, EventKind::kProcessExec, EventKind::kProcessExit});
    CHECK(exes_at_exit(joined) == std::vector<std::string>{"/bin/true"});
  }
  SUBCASE("it missed the end, too") {
    const Joined joined(left, goes_on);
    CHECK(collect::kinds_of(joined.stages.events) ==
          std::vector{EventKind::kProcessStart, EventKind::kProcessExec, EventKind::kProcessExit});
  }
}

TEST_CASE("a process that is taken in by an exec has that exec once") {
  Side left;
  left.start(kShell);
  left.exec(kShell, 1100, 1000, "/bin/bash");
  left.exec(kShell, kAttachedNs + 40, 1100, "/bin/cat");
  Side goes_on;
  goes_on.start(kShell, kAttachedNs + 42);
  goes_on.exec(kShell, kAttachedNs + 43, 1000, "/bin/cat");
  goes_on.exit(kShell, kAttachedNs + 90, kAttachedNs + 43);
  const Joined joined(left, goes_on);
  CHECK(collect::kinds_of(joined.stages.events) == std::vector{EventKind::kProcessStart, EventKind::kProcessExec,
                                                               EventKind::kProcessExec, EventKind::kProcessExit});
  CHECK(exes_at_exit(joined) == std::vector<std::string>{"/bin/cat"});
  CHECK(joined.stages.all<ProcessStart>()[0].time_ns == kShell.start_ns);
}

TEST_CASE("the end of a container that both sides saw is told once") {
  CgroupEndRecord end;
  end.cgroup_id = 5;
  end.time_ns = kAttachedNs + 1;
  CgroupEndRecord other = end;
  other.cgroup_id = 6;
  Side left;
  left.records = {end, other};
  Side goes_on;
  goes_on.records = {end};
  struct Count final : Feed {
    void record(const Record& record) override { ids.push_back(std::get<CgroupEndRecord>(record).cgroup_id); }
    void event(Event) override {}
    void snapshot_end(std::uint64_t) override {}
    std::vector<std::uint64_t> ids;
  } count;
  join_sides(left.records, goes_on.records, kAttachedNs, count);
  CHECK(count.ids == std::vector<std::uint64_t>{6, 5});
}
