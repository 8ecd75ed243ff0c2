// SPDX-License-Identifier: Apache-2.0
/// What is found of failures, of tasks and runs that end with and without saying so.
#include "insight/insight.hpp"

#include <signal.h>

#include <cstdint>
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
    begin(10, 1, 1, std::move(script));
  }
  void begin(std::uint32_t pid, std::uint32_t parent, std::uint64_t at, std::string tool) {
    people_.push_back({pid, parent, at, std::move(tool)});
    add(ProcessStart{at * kMs, process(pid), {}});
  }
  ProcessExit ended(std::uint32_t pid, std::uint64_t at) {
    ProcessExit exit;
    exit.time_ns = exit.end_ns = at * kMs;
    exit.process = process(pid);
    exit.start_ns = exit.begin_ns = exit.process->start_ns;
    exit.program.start_ns = exit.start_ns + 1;
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
  void finish(std::uint64_t at, std::optional<std::int32_t> code, std::uint32_t attempt = 1) {
    TaskFinish finish;
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
                               .exe = "/usr/bin/" + who.tool,
                               .tool = who.tool,
                               .context = context_});
    return nullptr;
  }

 private:
  struct Who {
    std::uint32_t pid;
    std::uint32_t parent;
    std::uint64_t at;
    std::string tool;
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
  REQUIRE(silent != nullptr);
  CHECK(silent->severity == "error");
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
  ProcessExit exit = scene.ended(20, 50);
  exit.exit_code.reset();
  exit.exit_signal = SIGKILL;
  exit.exit_signal_sender = "kernel";
  exit.oom_killed = true;
  scene.add(exit);
  const auto found = scene.findings();
  REQUIRE(found.size() == 1);
  CHECK(found[0].code == "oom_kill");
  CHECK(found[0].severity == "error");
  CHECK(found[0].text ==
        "star (pid 20) was killed by the kernel, in task ALIGN (S1): memory ran out at the limit of 100.0 MiB");
}

TEST_CASE("a timeout, a scheduler and a stranger are told apart") {
  for (const auto& [sender, code] :
       {std::pair("timeout", "killed_by_timeout"), {"slurmstepd", "killed_by_scheduler"}, {"htop", "killed_by_user"}}) {
    CAPTURE(sender);
    Scene scene;
    scene.begin(30, 1, 2, sender);
    scene.begin(20, 10, 5, "bwa mem");
    scene.killed(20, 50, SIGTERM, 30);
    REQUIRE(scene.findings().size() == 1);
    CHECK(scene.findings()[0].code == code);
  }
}

TEST_CASE("the output of a failed stage was used") {
  Scene scene;
  scene.begin(20, 10, 5, "zcat");
  scene.begin(21, 10, 5, "sort");
  ProcessExit writer = scene.ended(20, 50);
  writer.exit_code = 1;
  writer.account.written_bytes = 4096;
  scene.add(writer);
  ProcessExit reader = scene.ended(21, 60);
  reader.account.ledger.emplace();
  reader.account.ledger->pipe_read_peer_pid = 20;
  scene.add(reader);
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

TEST_CASE("who has written nothing had nothing that was used") {
  Scene scene;
  scene.begin(20, 10, 5, "sleep");
  scene.begin(21, 10, 5, "reader");
  scene.status(20, 50, 1);
  ProcessExit reader = scene.ended(21, 60);
  reader.account.ledger.emplace();
  reader.account.ledger->pipe_read_peer_pid = 20;
  scene.add(reader);
  scene.status(10, 100, 0);
  scene.finish(100, 0);
  CHECK(with_code(scene.findings(), "partial_output_used") == nullptr);
  CHECK(with_code(scene.findings(), "silent_failure") != nullptr);
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
