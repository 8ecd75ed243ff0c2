// SPDX-License-Identifier: Apache-2.0
/// What is found of failures, of tasks and runs that end with and without saying so.
#include "insight/insight.hpp"

#include <signal.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "builders.hpp"

using namespace tracer;
using tracer::internal::Insight;

namespace {

constexpr std::uint64_t kMs = 1'000'000;

Context in_task(std::optional<std::string> engine = "nextflow") {
  Context context;
  context.run = "happy";
  context.run_key = Key{1};
  context.task = "ALIGN (S1)";
  context.task_id = "ab/cdef";
  context.task_key = Key{2};
  context.engine = std::move(engine);
  return context;
}

/// A task whose script is process 10, with a child 20 that fails. Times in milliseconds.
class Scene {
 public:
  explicit Scene(Context context = in_task(), std::string script = "bash") : context_(std::move(context)) {
    TaskStart start;
    start.time_ns = kMs;
    start.context = std::make_shared<const Context>(context_);
    start.pid = 10;
    start.start_ns = kMs;
    add(start);
    // Who starts tasks lives longer than they do.
    begin(1, 0, 0, "start", Context());
    begin(10, 1, 1, std::move(script));
  }
  void begin(std::uint32_t pid, std::uint32_t parent, std::uint64_t at, std::string tool,
             std::optional<Context> context = {}, std::vector<std::string> argv = {}) {
    people_.push_back({pid, parent, at, std::move(tool), context.value_or(context_), std::move(argv)});
    add(ProcessStart{at * kMs, process(pid), {}});
  }
  ProcessExit ended(std::uint32_t pid, std::uint64_t at) {
    ProcessExit exit;
    exit.time_ns = exit.end_ns = at * kMs;
    exit.process = process(pid);
    exit.start_ns = exit.begin_ns = exit.process->start_ns;
    exit.program.start_ns = exit.start_ns + 1;
    exit.program.program = exit.process->program;
    exit.program.account.cpu_ns = 1000 * kMs;
    exit.exit_code = 0;
    return exit;
  }
  void status(std::uint32_t pid, std::uint64_t at, std::int32_t code) {
    ProcessExit exit = ended(pid, at);
    exit.exit_code = code;
    add(exit);
  }
  void killed(std::uint32_t pid, std::uint64_t at, std::int32_t signal, std::optional<std::uint32_t> sender = {}) {
    ProcessExit exit = ended(pid, at);
    exit.exit_code.reset();
    exit.exit_signal = signal;
    exit.exit_signal_sender = sender ? "process" : "kernel";
    exit.exit_signal_sender_pid = sender;
    add(exit);
  }
  /// One that has used so much CPU time, and written so little, that it may have been run for its status.
  void answered(std::uint32_t pid, std::uint64_t at, std::int32_t code, std::uint64_t cpu_ms = 1) {
    ProcessExit exit = ended(pid, at);
    exit.exit_code = code;
    exit.program.account.cpu_ns = cpu_ms * kMs;
    exit.program.account.written_bytes = 80;
    add(exit);
  }
  /// A pipe through which so much went, whose first stage fails.
  void pipe(std::uint32_t writer_pid, std::uint32_t reader_pid, std::uint64_t at, std::uint64_t bytes) {
    ProcessExit writer = ended(writer_pid, at);
    writer.exit_code = 1;
    writer.program.account.written_bytes = bytes;
    add(writer);
    ProcessExit reader = ended(reader_pid, at + 10);
    reader.program.account.ledger.emplace();
    reader.program.account.ledger->pipe_read_peer_pid = writer_pid;
    reader.program.account.read_bytes = bytes;
    add(reader);
  }
  std::map<std::uint32_t, std::uint32_t> uids;  ///< By pid: of processes that begin from now on.
  void run_starts() {
    RunStart start;
    start.time_ns = kMs;
    start.context = run_context();
    start.pid = 10;
    start.start_ns = kMs;
    add(start);
  }
  std::shared_ptr<const Context> run_context() const {
    Context context;
    context.run = context_.run;
    context.run_key = context_.run_key;
    context.engine = context_.engine;
    return std::make_shared<const Context>(context);
  }
  void session_ends(std::uint64_t at) {
    SessionEnd end;
    end.time_ns = at * kMs;
    add(end);
  }
  void finish(std::uint64_t at, std::optional<std::int32_t> code, std::uint32_t attempt = 1, Requested requested = {}) {
    TaskFinish finish;
    finish.requested = std::move(requested);
    finish.time_ns = finish.end_ns = at * kMs;
    Context context = context_;
    context.attempt = attempt;
    finish.context = std::make_shared<const Context>(context);
    finish.pid = 10;
    finish.exit_code = code;
    add(finish);
  }
  void add(Event event) { insight_.add(std::move(event), events_); }
  std::vector<Finding> findings() const {
    std::vector<Finding> found;
    for (const Event& event : events_)
      if (const auto* finding = event.get_if<Finding>()) found.push_back(*finding);
    return found;
  }
  std::shared_ptr<const Process> process(std::uint32_t pid) const {
    for (const Who& who : people_)
      if (who.pid == pid)
        return build::process({.pid = pid,
                               .start_ns = who.at * kMs,
                               .parent_pid = who.parent,
                               .parent_start_ns = start_of(who.parent),
                               .uid = uids.contains(pid) ? std::optional(uids.at(pid)) : std::nullopt,
                               .exe = "/usr/bin/" + who.tool,
                               .argv = who.argv,
                               .tool = who.tool,
                               .context = who.context});
    return nullptr;
  }

 private:
  struct Who {
    std::uint32_t pid;
    std::uint32_t parent;
    std::uint64_t at;
    std::string tool;
    Context context;
    std::vector<std::string> argv;
  };
  std::uint64_t start_of(std::uint32_t pid) const {
    for (const Who& who : people_)
      if (who.pid == pid) return who.at * kMs;
    return 0;
  }

  Context context_;
  std::vector<Who> people_;
  Insight insight_{2};
  std::vector<Event> events_;
};

const Finding* with_code(const std::vector<Finding>& all, const std::string& code) {
  for (const Finding& each : all)
    if (each.code == code) return &each;
  return nullptr;
}

ProcessExit oom_killed(ProcessExit exit) {
  exit.exit_code.reset();
  exit.exit_signal = SIGKILL;
  exit.exit_signal_sender = "kernel";
  exit.oom_killed = true;
  return exit;
}

}  // namespace

TEST_CASE("a child that failed in a task that ended well is a silent failure") {
  Scene scene;
  scene.begin(20, 10, 5, "samtools sort");
  scene.status(20, 50, 3);
  scene.status(10, 100, 0);
  CHECK(scene.findings().empty());
  scene.finish(100, 0);
  const auto found = scene.findings();
  REQUIRE(found.size() == 1);
  CHECK(found[0].code == "silent_failure");
  CHECK(found[0].severity == "warning");
  CHECK(found[0].pid == 20U);
  CHECK(found[0].tool == "samtools sort");
  CHECK(found[0].state == "closed");
  CHECK(found[0].first_ns == 50 * kMs);
  CHECK(found[0].text ==
        "task ALIGN (S1) ended with status 0, but samtools sort (pid 20) in it ended with status 3; bash went on");
}

TEST_CASE("a mere status in a recipe of make is a note") {
  Scene scene(in_task("make"));
  scene.begin(20, 10, 5, "cmp2");
  scene.status(20, 50, 1);
  scene.status(10, 100, 0);
  scene.finish(100, 0);
  const auto found = scene.findings();
  REQUIRE(found.size() == 1);
  CHECK(found[0].severity == "note");
}

TEST_CASE("what the kernel ended in a task that ended well is an error, and said at once") {
  Scene scene;
  scene.begin(20, 10, 5, "bwa mem");
  scene.killed(20, 50, SIGSEGV);
  REQUIRE(scene.findings().size() == 1);
  CHECK(scene.findings()[0].code == "core_dumped");
  CHECK(scene.findings()[0].severity == "error");
  scene.status(10, 100, 0);
  scene.finish(100, 0);
  const auto found = scene.findings();
  const Finding* silent = with_code(found, "silent_failure");
  // One thing that happened is one finding.
  CHECK(silent == nullptr);
}

TEST_CASE("below a configure script nothing is more than a note") {
  Scene scene(in_task(), "configure");
  scene.begin(20, 10, 5, "conftest");
  scene.killed(20, 50, SIGSEGV);
  scene.begin(21, 10, 60, "gcc");
  scene.status(21, 70, 1);
  scene.status(10, 100, 0);
  scene.finish(100, 0);
  CHECK(!scene.findings().empty());
  for (const Finding& each : scene.findings()) CHECK(each.severity == "note");
}

TEST_CASE("an OOM kill names the limit") {
  Scene scene;
  scene.begin(20, 10, 5, "star");
  OomKill kill;
  kill.time_ns = 49 * kMs;
  kill.process = scene.process(20);
  kill.scope = "cgroup";
  kill.limit_bytes = 100u << 20;
  kill.peak_bytes = 100u << 20;
  scene.add(kill);
  scene.add(oom_killed(scene.ended(20, 50)));
  const auto found = scene.findings();
  REQUIRE(found.size() == 1);
  CHECK(found[0].code == "oom_kill");
  CHECK(found[0].severity == "error");
  CHECK(found[0].text ==
        "star (pid 20) was killed by the kernel, in task ALIGN (S1): memory ran out at the limit of 100.0 MiB");
}

TEST_CASE("an OOM kill names who asked for more memory, if that was another") {
  for (const std::uint32_t allocator : {20u, 30u, 99u}) {
    Scene scene;
    scene.begin(20, 10, 5, "star");
    scene.begin(30, 10, 5, "sort");
    OomKill kill;
    kill.time_ns = 49 * kMs;
    kill.process = scene.process(20);
    kill.allocator_pid = allocator;
    scene.add(kill);
    scene.add(oom_killed(scene.ended(20, 50)));
    REQUIRE(scene.findings().size() == 1);
    CHECK(scene.findings()[0].text == std::string("star (pid 20) was killed by the kernel, in task ALIGN (S1): "
                                                  "memory ran out") +
                                          (allocator == 30 ? " when sort (pid 30) asked for more" : ""));
  }
}

TEST_CASE("a timeout, a scheduler and a stranger are told apart") {
  for (const auto& [sender, code] :
       {std::pair("timeout", "killed_by_timeout"), {"slurmstepd", "killed_by_scheduler"}, {"htop", "killed_by_user"}}) {
    CAPTURE(sender);
    Scene scene;
    scene.begin(30, 1, 2, sender, Context());
    scene.begin(20, 10, 5, "bwa mem");
    scene.killed(20, 50, SIGTERM, 30);
    REQUIRE(scene.findings().size() == 1);
    CHECK(scene.findings()[0].code == code);
  }
}

TEST_CASE("who ended a process, asked for its memory, read its output or went on is named to its owner alone") {
  for (const std::uint32_t uid : {1000u, 1001u, 0u}) {
    CAPTURE(uid);
    Context owned = in_task();
    owned.owner_uid = 1000;
    const auto begin = [&](Scene& scene, const Context& of_other) {
      scene.uids = {{20, 1000}, {30, uid}};
      scene.begin(30, 1, 2, "secret", of_other);
      scene.begin(20, 10, 5, "bwa mem");
    };
    const auto names = [](const std::vector<Finding>& findings, const char* code) {
      const Finding* const found = with_code(findings, code);
      REQUIRE(found != nullptr);
      CHECK((found->text.find("secret") == std::string::npos) ==
            (found->text.find("another user's program") != std::string::npos));
      return found->text.find("secret") != std::string::npos;
    };
    Scene killed(owned);
    begin(killed, Context());
    killed.killed(20, 50, SIGTERM, 30);
    CHECK(names(killed.findings(), "killed_by_user") == (uid == 1000));
    Scene read(owned);
    begin(read, owned);
    read.pipe(20, 30, 50, 1 << 20);
    read.status(10, 100, 0);
    read.finish(100, 0);
    // Root's process in the task works for its owner.
    CHECK(names(read.findings(), "partial_output_used") == (uid != 1001));
    Scene asked(owned);
    begin(asked, Context());
    OomKill kill;
    kill.process = asked.process(20);
    kill.allocator_pid = 30;
    asked.add(kill);
    asked.add(oom_killed(asked.ended(20, 50)));
    CHECK((asked.findings().at(0).text.find("secret") != std::string::npos) == (uid == 1000));
  }
}

TEST_CASE("the output of a failed stage was used") {
  Scene scene;
  scene.begin(20, 10, 5, "zcat");
  scene.begin(21, 10, 5, "sort");
  scene.pipe(20, 21, 50, 1 << 20);
  scene.status(10, 100, 0);
  scene.finish(100, 0);
  const auto found = scene.findings();
  REQUIRE(found.size() == 1);
  CHECK(found[0].code == "partial_output_used");
  CHECK(found[0].severity == "error");
  CHECK(found[0].text ==
        "zcat (pid 20) ended with status 1, but sort used what it had written until then; task ALIGN (S1) ended with "
        "status 0");
}

TEST_CASE("the output of a process that crashed was used: that is one finding") {
  Scene scene;
  scene.begin(20, 10, 5, "zcat");
  scene.begin(21, 10, 5, "sort");
  ProcessExit writer = scene.ended(20, 50);
  writer.exit_code.reset();
  writer.exit_signal = SIGSEGV;
  writer.exit_signal_sender = "kernel";
  writer.program.account.written_bytes = 1 << 20;
  scene.add(writer);
  ProcessExit reader = scene.ended(21, 60);
  reader.program.account.ledger.emplace();
  reader.program.account.ledger->pipe_read_peer_pid = 20;
  reader.program.account.read_bytes = 1 << 20;
  scene.add(reader);
  scene.status(10, 100, 0);
  scene.finish(100, 0);
  const auto found = scene.findings();
  REQUIRE(found.size() == 2);
  CHECK(found[0].finding_key == found[1].finding_key);
  CHECK(found[1].code == "core_dumped");
  CHECK(found[1].severity == "error");
  CHECK(found[1].text ==
        "zcat (pid 20) crashed by SIGSEGV after 45 ms, in task ALIGN (S1); sort used what it had written until then");
}

TEST_CASE("a few words are no output that was used, and what a parent reads is its own matter") {
  SUBCASE("a few words") {
    Scene scene;
    scene.begin(20, 10, 5, "docker ps");
    scene.begin(21, 10, 5, "wc");
    scene.pipe(20, 21, 50, 200);
    scene.status(10, 100, 0);
    scene.finish(100, 0);
    CHECK(with_code(scene.findings(), "partial_output_used") == nullptr);
    CHECK(with_code(scene.findings(), "silent_failure") != nullptr);
  }
  SUBCASE("a parent, or one above it") {
    Scene scene;
    scene.begin(19, 10, 4, "main.py");
    scene.begin(20, 19, 5, "sh -c");
    scene.begin(21, 20, 5, "bwa mem");
    scene.pipe(21, 19, 50, 1 << 20);
    scene.status(20, 70, 0);
    scene.status(10, 100, 0);
    scene.finish(100, 0);
    CHECK(with_code(scene.findings(), "partial_output_used") == nullptr);
  }
  SUBCASE("a writer whose reader left") {
    Scene scene(in_task(), "zcat");
    scene.begin(21, 10, 5, "head");
    scene.begin(20, 10, 5, "gzip");
    ProcessExit writer = scene.ended(20, 50);
    writer.exit_code.reset();
    writer.exit_signal = SIGPIPE;
    writer.exit_signal_sender = "kernel";
    writer.program.account.written_bytes = 1 << 20;
    scene.add(writer);
    scene.status(21, 51, 1);
    scene.status(10, 100, 0);
    scene.finish(100, 0);
    CHECK(with_code(scene.findings(), "partial_output_used") == nullptr);
  }
  SUBCASE("what passes over what it can't read") {
    Scene scene;
    scene.begin(20, 10, 5, "find");
    scene.begin(21, 10, 5, "sort");
    scene.pipe(20, 21, 50, 1 << 20);
    scene.status(10, 100, 0);
    scene.finish(100, 0);
    CHECK(with_code(scene.findings(), "partial_output_used") == nullptr);
  }
}

TEST_CASE("questions by status are one note; what worked before it failed is one warning with a count") {
  Scene scene;
  std::uint64_t at = 5;
  for (const std::uint32_t pid : {20u, 21u, 22u}) {
    scene.begin(pid, 10, at, pid == 20 ? "git rev-parse" : "mkdir");
    scene.answered(pid, at + 2, 1);
    at += 5;
  }
  for (const std::uint32_t pid : {30u, 31u}) {
    scene.begin(pid, 10, at, pid == 30 ? "samtools index" : "fastqc");
    scene.answered(pid, at + 2, 1, 5000);
    at += 5;
  }
  scene.status(10, 100, 0);
  scene.finish(100, 0);
  const auto found = scene.findings();
  REQUIRE(found.size() == 2);
  CHECK(found[0].severity == "warning");
  CHECK(found[0].count == 2);
  CHECK(found[0].pid == 30U);
  CHECK(found[0].text ==
        "task ALIGN (S1) ended with status 0, but samtools index (pid 30) in it ended with status 1; bash went on; 1 "
        "more "
        "failed: fastqc");
  CHECK(found[0].advice ==
        "check its output; let bash stop at errors in pipes, too: process.shell is /bin/bash -euo pipefail");
  CHECK(found[1].severity == "note");
  CHECK(found[1].count == 3);
}

TEST_CASE("the script of a program that is no shell is given no option of shells") {
  Scene scene(in_task(), "main.py");
  scene.begin(20, 10, 5, "samtools sort");
  scene.status(20, 50, 3);
  scene.status(10, 100, 0);
  scene.finish(100, 0);
  REQUIRE(scene.findings().size() == 1);
  CHECK(scene.findings()[0].advice == "check its output; make main.py check the exit status of what it starts");
}

TEST_CASE("a task that fails names the failure that came first") {
  Scene scene;
  scene.begin(20, 10, 5, "bcftools view");
  scene.begin(21, 10, 5, "gzip");
  scene.status(20, 50, 255);
  scene.status(21, 60, 1);
  scene.status(10, 100, 255);
  scene.finish(100, 255);
  const auto found = scene.findings();
  const Finding* first = with_code(found, "first_failure");
  REQUIRE(first != nullptr);
  CHECK(first->subject == "task");
  CHECK(first->pid == 20U);
  CHECK(with_code(found, "silent_failure") == nullptr);
}

TEST_CASE("a task that fails names the failure that it ended by, not one that was ignored") {
  Scene scene;
  scene.begin(20, 10, 5, "ls");
  scene.status(20, 6, 2);
  for (std::uint32_t pid = 100; pid < 200; ++pid) {
    scene.begin(pid, 10, pid - 90, "wget");
    scene.status(pid, pid - 90, 4);
  }
  scene.begin(21, 10, 300, "cp");
  scene.status(21, 310, 1);
  scene.status(10, 311, 1);
  scene.finish(311, 1);
  const auto found = scene.findings();
  const Finding* first = with_code(found, "first_failure");
  REQUIRE(first != nullptr);
  CHECK(first->tool == "cp");
  CHECK(first->confidence == "high");
  CHECK(first->text == "task ALIGN (S1) failed: cp (pid 21) in it ended with status 1; passed on by bash");
}

TEST_CASE("of a task that fails by itself the last failure that nobody ignored is the likely cause") {
  Scene scene(in_task(), "main.py");
  scene.begin(20, 10, 5, "ls");
  scene.status(20, 6, 2);
  scene.begin(21, 10, 7, "bwa mem");
  scene.status(21, 310, 3);
  scene.status(10, 311, 1);
  scene.finish(311, 1);
  const auto found = scene.findings();
  const Finding* first = with_code(found, "first_failure");
  REQUIRE(first != nullptr);
  CHECK(first->tool == "bwa mem");
  CHECK(first->confidence == "medium");
}

TEST_CASE("of a task in which all failures were ignored, its own is the cause") {
  Scene scene;
  scene.begin(20, 10, 5, "ls");
  scene.status(20, 6, 2);
  scene.begin(21, 10, 7, "sort");
  scene.status(21, 30, 0);
  scene.status(10, 311, 7);
  scene.finish(311, 7);
  REQUIRE(scene.findings().size() == 1);
  CHECK(scene.findings()[0].code == "first_failure");
  CHECK(scene.findings()[0].tool == "bash");
}

TEST_CASE("a task that fails twice in the same way") {
  Scene scene;
  scene.finish(100, 3, 1);
  CHECK(scene.findings().empty());
  scene.finish(200, 3, 2);
  const auto found = scene.findings();
  REQUIRE(found.size() == 1);
  CHECK(found[0].code == "retried_alike");
  CHECK(found[0].count == 2);
  scene.finish(300, 4, 3);
  CHECK(scene.findings().size() == 1);
}

TEST_CASE("a task that may have got more than before is not said to fail alike") {
  SUBCASE("it asked for more") {
    Scene scene;
    scene.finish(100, 3, 1, {.memory_bytes = 1u << 30});
    scene.finish(200, 3, 2, {.memory_bytes = 2u << 30});
    CHECK(scene.findings().empty());
  }
  SUBCASE("a limit may have ended it, and what it asked for is not known") {
    Scene scene;
    scene.finish(100, 137, 1);
    scene.finish(200, 137, 2);
    CHECK(scene.findings().empty());
  }
  SUBCASE("memory ran out") {
    Scene scene;
    const Requested same{.memory_bytes = 1u << 30, .time_ns = 1};
    for (const std::uint32_t attempt : {1u, 2u}) {
      scene.begin(20 + attempt, 10, 5 * attempt, "star");
      scene.add(oom_killed(scene.ended(20 + attempt, 50 * attempt)));
      scene.finish(100 * attempt, 137, attempt, same);
    }
    CHECK(with_code(scene.findings(), "retried_alike") == nullptr);
  }
}

TEST_CASE("a task whose attempts run out of memory one after the other") {
  const auto findings_of = [](const std::vector<std::optional<std::uint64_t>>& sizes, std::size_t starved) {
    Scene scene;
    std::uint32_t attempt = 0;
    for (const auto& bytes : sizes) {
      ++attempt;
      scene.begin(20 + attempt, 10, 100 * attempt - 50, "star");
      const ProcessExit exit = scene.ended(20 + attempt, 100 * attempt - 10);
      if (attempt <= starved) scene.add(oom_killed(exit));
      if (attempt > starved) scene.status(20 + attempt, 100 * attempt - 10, 3);
      scene.finish(100 * attempt, 137, attempt, {.memory_bytes = bytes});
    }
    std::vector<Finding> found;
    for (const Finding& each : scene.findings())
      if (each.code == "retried_starved") found.push_back(each);
    return found;
  };
  const auto found = findings_of({1u << 30, 2u << 30, 4ull << 30}, 3);
  REQUIRE(found.size() == 2);
  CHECK(found[0].count == 2);
  CHECK(found[1].count == 3);
  CHECK(found[1].severity == "warning");
  CHECK(found[1].text ==
        "task ALIGN (S1) (attempt 3) ran out of memory in 3 attempts, one after the other: they had requested 1.0 GiB, "
        "then 2.0 GiB, then 4.0 GiB");
  const auto unknown = findings_of({{}, {}}, 2);
  REQUIRE(unknown.size() == 1);
  CHECK(unknown[0].text == "task ALIGN (S1) (attempt 2) ran out of memory in 2 attempts, one after the other");
  CHECK(findings_of({1u << 30, 2u << 30}, 1).empty());
  CHECK(findings_of({1u << 30}, 1).empty());
}

TEST_CASE("a task that waited in the queue for longer than it ran, and long") {
  const auto findings_of = [](std::uint64_t queued_ns, std::uint64_t wall_ns, const char* state = "started") {
    std::vector<Event> events;
    Insight insight(2);
    constexpr std::uint64_t kBegin = 10'000'000 * kMs;
    TaskStart start;
    start.time_ns = start.start_ns = kBegin;
    start.context = std::make_shared<const Context>(in_task());
    TaskSubmit submit;
    submit.time_ns = kBegin;
    submit.context = start.context;
    submit.state = state;
    submit.submitted_ns = kBegin - queued_ns;
    TaskFinish finish;
    finish.context = start.context;
    finish.begin_ns = kBegin;
    finish.time_ns = finish.end_ns = kBegin + wall_ns;
    finish.exit_code = 0;
    for (const Event& event : {Event(start), Event(submit), Event(finish)}) insight.add(event, events);
    std::vector<Finding> found;
    for (const Event& event : events)
      if (const auto* each = event.get_if<Finding>()) found.push_back(*each);
    return found;
  };
  constexpr std::uint64_t kMinute = 60'000 * kMs;
  const auto found = findings_of(30 * kMinute, 2 * kMinute);
  REQUIRE(found.size() == 1);
  CHECK(found[0].code == "queue_delay");
  CHECK(found[0].severity == "note");
  CHECK(found[0].text == "task ALIGN (S1) waited in the queue for 30.0 min, and ran for 2.0 min");
  CHECK(found[0].last_ns - found[0].first_ns == 32 * kMinute);
  CHECK(findings_of(30 * kMinute, 31 * kMinute).empty());
  CHECK(findings_of(9 * kMinute, kMinute).empty());
  CHECK(findings_of(30 * kMinute, 2 * kMinute, "started_elsewhere").empty());
}

TEST_CASE("what belongs to the run may end its own") {
  SUBCASE("another process of the run") {
    Scene scene;
    scene.begin(19, 10, 3, "main.sh");
    scene.begin(30, 19, 4, "pkill");
    scene.begin(18, 10, 4, "sh");
    scene.begin(20, 18, 5, "http.server");
    scene.status(18, 6, 0);
    scene.killed(20, 50, SIGTERM, 30);
    scene.status(10, 100, 0);
    scene.finish(100, 0);
    CHECK(scene.findings().empty());
  }
  SUBCASE("not who types where the run was begun, by the name that was typed") {
    Scene scene;
    scene.begin(1000, 1, 0, "bash", Context());
    scene.begin(30, 1000, 4, "pgrep", Context(), {"/usr/bin/pkill", "-f", "bwa"});
    scene.begin(20, 10, 5, "bwa mem");
    scene.killed(20, 50, SIGTERM, 30);
    REQUIRE(scene.findings().size() == 1);
    CHECK(scene.findings()[0].code == "killed_by_user");
    CHECK(scene.findings()[0].text.find("was ended by pkill (pid 30)") != std::string::npos);
  }
}

TEST_CASE("one that aborts is a crash of its own, and no more than a warning") {
  Scene scene;
  scene.begin(20, 10, 5, "star");
  scene.killed(20, 50, SIGABRT, 20);
  scene.status(10, 100, 0);
  scene.finish(100, 0);
  REQUIRE(scene.findings().size() == 1);
  CHECK(scene.findings()[0].code == "core_dumped");
  CHECK(scene.findings()[0].severity == "warning");
}

TEST_CASE("the leader of an inferred task whose reader had enough is excused by its parent") {
  Scene scene(in_task("shell"));
  Context inferred = in_task("shell");
  inferred.task_key = Key{3};
  TaskStart start;
  start.time_ns = 2 * kMs;
  start.context = std::make_shared<const Context>(inferred);
  start.pid = 20;
  start.start_ns = 5 * kMs;
  scene.add(start);
  scene.begin(20, 10, 5, "zcat", inferred);
  scene.killed(20, 50, SIGPIPE);
  TaskFinish finish;
  finish.time_ns = finish.end_ns = 51 * kMs;
  finish.context = start.context;
  finish.pid = 20;
  finish.exit_signal = SIGPIPE;
  scene.add(finish);
  scene.status(10, 100, 0);
  scene.finish(100, 0);
  CHECK(scene.findings().empty());
}

TEST_CASE("a failure is found though its task gets another key meanwhile") {
  Scene scene;
  scene.begin(20, 10, 5, "bwa mem");
  scene.status(20, 50, 3);
  ContextChange change;
  change.time_ns = 60 * kMs;
  Context after = in_task();
  after.task_key = Key{9};
  change.before = std::make_shared<const Context>(in_task());
  change.after = std::make_shared<const Context>(after);
  change.old_task_key = Key{2};
  scene.add(change);
  scene.status(10, 100, 0);
  TaskFinish finish;
  finish.time_ns = finish.end_ns = 100 * kMs;
  finish.context = change.after;
  finish.pid = 10;
  finish.exit_code = 0;
  scene.add(finish);
  REQUIRE(scene.findings().size() == 1);
  CHECK(scene.findings()[0].code == "silent_failure");
  // Its parent went on after the key had changed.
  CHECK(scene.findings()[0].text.ends_with("; bash went on"));
}

TEST_CASE("a run in which something lives on at the session's end has ended as its leader did") {
  Context in_run;
  in_run.run = "happy";
  in_run.run_key = Key{1};
  Scene scene(in_run);
  scene.run_starts();
  scene.begin(20, 10, 5, "bwa mem");
  scene.begin(21, 10, 6, "daemon");
  scene.killed(20, 50, SIGKILL, 99);
  scene.status(10, 100, 0);
  CHECK(with_code(scene.findings(), "silent_failure") == nullptr);
  scene.session_ends(200);
  CHECK(with_code(scene.findings(), "killed_by_user") != nullptr);
  Scene other(in_run);
  other.run_starts();
  other.begin(20, 10, 5, "bwa mem");
  other.begin(21, 10, 6, "daemon");
  other.status(20, 50, 3);
  other.status(10, 100, 0);
  other.session_ends(200);
  REQUIRE(other.findings().size() == 1);
  CHECK(other.findings()[0].code == "silent_failure");
  CHECK(other.findings()[0].severity == "note");
}

TEST_CASE("a failed task is one finding, and its run that ended well has no other of it") {
  Context in_run;
  in_run.run = "happy";
  in_run.run_key = Key{1};
  Scene scene;
  scene.run_starts();
  scene.begin(20, 10, 5, "bwa mem");
  scene.status(20, 50, 3);
  scene.status(10, 100, 3);
  scene.finish(100, 3);
  RunFinish over;
  over.time_ns = over.end_ns = 200 * kMs;
  over.context = scene.run_context();
  over.exit_code = 0;
  scene.add(over);
  REQUIRE(scene.findings().size() == 1);
  CHECK(scene.findings()[0].code == "first_failure");
}

TEST_CASE("nothing is said of what answers, of readers that had enough, and of pools") {
  Scene scene;
  scene.begin(20, 10, 5, "grep");
  ProcessExit answer = scene.ended(20, 50);
  answer.exit_code = 1;
  answer.status_is_answer = true;
  scene.add(answer);
  scene.begin(21, 10, 55, "yes");
  scene.killed(21, 60, SIGPIPE);
  scene.begin(22, 10, 61, "python worker");
  scene.killed(22, 70, SIGTERM, 10);
  scene.status(10, 100, 0);
  scene.finish(100, 0);
  CHECK(scene.findings().empty());
}

TEST_CASE("what is in no task and no run is nobody's failure") {
  Scene scene{Context()};
  scene.begin(20, 10, 5, "bwa mem");
  scene.killed(20, 50, SIGSEGV);
  scene.status(10, 100, 0);
  CHECK(scene.findings().empty());
}

TEST_CASE("texts leave out what is not known") {
  Finding finding;
  finding.tool = "gzip";
  CHECK(internal::filled_in("{tool}[ at {limit}] ended[ by {tool}]", finding) == "gzip ended by gzip");
  finding.evidence.push_back(internal::figure("limit", 1536, "bytes"));
  CHECK(internal::filled_in("{tool}[ at {limit}]", finding) == "gzip at 1.5 KiB");
}
