// SPDX-License-Identifier: Apache-2.0
/// What is a failure, by what the parent did next.
#include <tracer/report.hpp>
#include <tracer/summary.hpp>

#include <signal.h>

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "builders.hpp"

using namespace tracer;

namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
using Words = std::vector<std::string>;

/// Times in milliseconds.
struct Who {
  std::uint32_t pid = 0;
  std::uint32_t parent = 0;
  std::string exe = "/usr/bin/tool";
  std::uint64_t start = 0;
  Words argv = {};
  bool executed = true;
};

struct End {
  std::uint64_t at = 0;
  std::int32_t status = 0;
  std::int32_t signal = 0;
  std::uint32_t sender = 0;  ///< 0: the kernel.
  bool answer = false;
  std::uint64_t broken_pipe = 0;
  std::uint64_t written = 0;
  std::optional<std::uint64_t> cpu_ms = {};
};

/// Feeds a summary with the lives of processes. Those whose parent was not begun here have one that is not known.
class Story {
 public:
  void begin(const Who& who) {
    people_[who.pid] = who;
    summary_.add(ProcessStart{ns(who.start), process(who), {}});
    if (who.executed) execute(who, ns(who.start) + 1);
  }
  /// It executes another program.
  void becomes(std::uint32_t pid, const std::string& exe, std::uint64_t at) {
    people_.at(pid).exe = exe;
    execute(people_.at(pid), ns(at));
  }
  void end(std::uint32_t pid, const End& how) {
    const Who& who = people_.at(pid);
    ProcessExit exit;
    exit.time_ns = exit.end_ns = ns(how.at);
    exit.process = process(who);
    exit.start_ns = ns(who.start);
    if (how.signal != 0) {
      exit.exit_signal = how.signal;
      exit.exit_signal_sender = how.sender == 0 ? "kernel" : "process";
      if (how.sender != 0) exit.exit_signal_sender_pid = how.sender;
    } else {
      exit.exit_code = how.status;
    }
    if (how.broken_pipe != 0) exit.broken_pipe_ns = ns(how.broken_pipe);
    exit.status_is_answer = how.answer;
    exit.program.program = exit.process->program;
    exit.program.start_ns = ns(who.start) + (who.executed ? 1 : 0);
    exit.program.end_ns = exit.end_ns;
    exit.begin_ns = exit.start_ns;
    exit.program.account.written_bytes = how.written;
    exit.program.account.read_bytes = 0;
    if (how.cpu_ms) exit.program.account.cpu_ns = *how.cpu_ms * 1'000'000;
    summary_.add(exit);
  }
  void task(std::uint32_t pid) {
    TaskStart start;
    start.pid = pid;
    start.start_ns = ns(people_.at(pid).start);
    summary_.add(start);
  }
  void finish(std::uint64_t at) {
    SessionEnd end;
    end.time_ns = ns(at);
    summary_.add(end);
  }
  const Summary& summary() const { return summary_; }
  /// The tools of all failures.
  Words failed() const {
    Words tools;
    for (const Failure& failure : summary_.failures())
      for (std::uint64_t i = 0; i < failure.count; ++i) tools.push_back(*failure.process->program->tool);
    CHECK(summary_.failed() == tools.size());
    CHECK(summary_.total().failed == tools.size());
    std::uint64_t by_tool = 0;
    for (const SummaryRow& row : summary_.by_tool()) by_tool += row.failed;
    CHECK(by_tool == tools.size());
    return tools;
  }

 private:
  static std::uint64_t ns(std::uint64_t ms) { return kSecond + ms * 1'000'000; }
  void execute(const Who& who, std::uint64_t at_ns) {
    ProcessExec exec;
    exec.time_ns = at_ns;
    exec.process = process(who);
    exec.ended.start_ns = ns(who.start);
    exec.ended.end_ns = at_ns;
    summary_.add(exec);
  }
  std::shared_ptr<const Process> process(const Who& who) const {
    const auto parent = people_.find(who.parent);
    std::optional<std::uint64_t> parent_start;
    if (parent != people_.end()) parent_start = ns(parent->second.start);
    return build::process({.pid = who.pid,
                           .start_ns = ns(who.start),
                           .parent_pid = who.parent,
                           .parent_start_ns = parent_start,
                           .exe = who.exe,
                           .argv = who.argv,
                           .tool = who.exe.substr(who.exe.rfind('/') + 1)});
  }

  Summary summary_;
  std::map<std::uint32_t, Who> people_;
};

const Words kScript = {"bash", "s.sh"};
const Words kText = {"bash", "-euo", "pipefail", "-c", "…"};

/// A script, 10, that nobody above is known of, with its children.
Story script(Words argv = kScript) {
  Story story;
  story.begin({.pid = 10, .exe = "/bin/bash", .start = 0, .argv = std::move(argv)});
  return story;
}

Words names(const std::vector<std::shared_ptr<const Process>>& processes) {
  Words all;
  for (const auto& each : processes) all.push_back(*each->program->tool);
  return all;
}

}  // namespace

TEST_CASE("a status that is passed up is one failure, where it began") {
  Story story = script();
  story.begin({.pid = 11, .parent = 10, .exe = "/bin/bash", .start = 1, .executed = false});
  story.begin({.pid = 12, .parent = 11, .exe = "/usr/bin/samtools", .start = 2});
  story.end(12, {.at = 5, .status = 3});
  story.end(11, {.at = 6, .status = 3});
  story.end(10, {.at = 7, .status = 3});
  CHECK(story.failed() == Words{"samtools"});
  const Failure& failure = story.summary().failures().at(0);
  CHECK(failure.passed_on == 1);
  CHECK(failure.ignored == 0);
  CHECK(names(failure.passed_on_by) == Words{"bash", "bash"});
  CHECK(story.summary().total().excused == 2);
}

TEST_CASE("what a shell makes of a signal is the signal's failure") {
  Story story = script();
  story.begin({.pid = 11, .parent = 10, .exe = "/usr/bin/bwa", .start = 1});
  story.end(11, {.at = 5, .signal = SIGSEGV});
  story.end(10, {.at = 6, .status = 128 + SIGSEGV});
  CHECK(story.failed() == Words{"bwa"});
  CHECK(story.summary().failures()[0].passed_on == 1);
}

TEST_CASE("a failure after which the parent goes on is one that was ignored") {
  Story story = script();
  story.begin({.pid = 11, .parent = 10, .exe = "/usr/bin/fastqc", .start = 1});
  story.end(11, {.at = 5, .status = 1});
  CHECK(story.failed() == Words{"fastqc"});
  CHECK(story.summary().failures()[0].ignored == 0);
  story.begin({.pid = 12, .parent = 10, .start = 6});
  story.end(12, {.at = 20});
  story.end(10, {.at = 21});
  CHECK(story.failed() == Words{"fastqc"});
  CHECK(story.summary().failures()[0].ignored == 1);
  REQUIRE(story.summary().failures()[0].ignored_by);
  CHECK(story.summary().failures()[0].ignored_by->pid == 10);
}

TEST_CASE("a failure was ignored by the program that its parent was then, not by one that it executes next") {
  Story story = script();
  story.begin({.pid = 11, .parent = 10, .exe = "/usr/bin/fastqc", .start = 1});
  story.end(11, {.at = 5, .status = 1});
  story.becomes(10, "/usr/bin/sleep", 6);
  story.end(10, {.at = 900});
  CHECK(story.failed() == Words{"fastqc"});
  REQUIRE(story.summary().failures()[0].ignored_by);
  CHECK(story.summary().failures()[0].ignored_by->program->tool == "bash");
}

TEST_CASE("of a parent that lives at the end it is known after a while that it has gone on") {
  for (const auto& [at, ignored] : {std::pair{1'000u, 0u}, std::pair{60'000u, 1u}}) {
    Story story = script();
    story.begin({.pid = 11, .parent = 10, .start = 1});
    story.end(11, {.at = 5, .status = 4});
    story.finish(at);
    CHECK(story.summary().failures().at(0).ignored == ignored);
  }
}

TEST_CASE("a status that comes long after, when more was done, is a failure of its own") {
  Story story = script();
  story.begin({.pid = 11, .parent = 10, .exe = "/usr/bin/a", .start = 1});
  story.end(11, {.at = 5, .status = 3});
  story.begin({.pid = 12, .parent = 10, .start = 6});
  story.end(12, {.at = 60'000});
  story.end(10, {.at = 60'001, .status = 3});
  CHECK(story.failed() == Words{"a", "bash"});
  CHECK(story.summary().failures()[0].ignored == 1);
}

TEST_CASE("what is cleaned up after a failure does not hide who passed it on") {
  Story story = script();
  story.begin({.pid = 11, .parent = 10, .exe = "/usr/bin/a", .start = 1});
  story.end(11, {.at = 5, .status = 3});
  story.begin({.pid = 12, .parent = 10, .exe = "/bin/rm", .start = 6});
  story.end(12, {.at = 8});
  story.end(10, {.at = 9, .status = 3});
  CHECK(story.failed() == Words{"a"});
  CHECK(story.summary().failures()[0].passed_on == 1);
}

TEST_CASE("an answer that subshells and shell texts pass on is no failure of theirs") {
  Story story = script();
  story.begin({.pid = 11, .parent = 10, .exe = "/bin/bash", .start = 1, .executed = false});
  story.begin({.pid = 12, .parent = 11, .exe = "/bin/sh", .start = 2, .argv = {"sh", "-c", "grep -q x f | cat"}});
  story.begin({.pid = 13, .parent = 12, .exe = "/bin/grep", .start = 3});
  story.end(13, {.at = 5, .status = 1, .answer = true});
  story.end(12, {.at = 6, .status = 1});
  story.end(11, {.at = 7, .status = 1});
  SUBCASE("that the script goes on after") {
    story.end(10, {.at = 30});
    CHECK(story.failed().empty());
    CHECK(story.summary().total().answers == 1);
    CHECK(story.summary().total().excused == 2);
  }
  SUBCASE("that ends a script, which is a failure that began with it") {
    story.end(10, {.at = 8, .status = 1});
    CHECK(story.failed() == Words{"grep"});
    CHECK(names(story.summary().failures()[0].passed_on_by) == Words{"sh", "bash", "bash"});
    CHECK(story.summary().total().answers == 0);
  }
}

TEST_CASE("a shell text that is all there is ends with the answer; as a task it has failed") {
  for (const bool is_task : {false, true}) {
    Story story = script(kText);
    if (is_task) story.task(10);
    story.begin({.pid = 11, .parent = 10, .exe = "/bin/grep", .start = 1});
    story.end(11, {.at = 5, .status = 1, .answer = true});
    story.end(10, {.at = 6, .status = 1});
    CHECK(story.failed() == (is_task ? Words{"grep"} : Words{}));
  }
}

TEST_CASE("what a subshell's own test says is no failure; what a worker's status says is") {
  for (const std::string exe : {"/bin/bash", "/usr/bin/python3"}) {
    Story story = script();
    story.begin({.pid = 11, .parent = 10, .exe = exe, .start = 1, .executed = false});
    story.end(11, {.at = 5, .status = 1});
    story.end(10, {.at = 6});
    CHECK(story.failed() == (exe == "/bin/bash" ? Words{} : Words{"python3"}));
  }
}

TEST_CASE("a writer whose reader had enough is no failure") {
  for (const End how :
       {End{.at = 5, .signal = SIGPIPE}, End{.at = 5, .status = 141}, End{.at = 5, .status = 1, .broken_pipe = 4}}) {
    Story story = script();
    story.begin({.pid = 11, .parent = 10, .exe = "/bin/gzip", .start = 1});
    story.begin({.pid = 12, .parent = 10, .exe = "/usr/bin/head", .start = 1});
    story.end(12, {.at = 4});
    story.end(11, how);
    CHECK(story.failed().empty());
    story.end(10, {.at = 6});
    CHECK(story.failed().empty());
    CHECK(story.summary().excused().reader_had_enough == 1);
  }
}

TEST_CASE("a writer whose reader failed is one, and so is one that ends the script") {
  SUBCASE("the reader has failed") {
    Story story = script();
    story.begin({.pid = 11, .parent = 10, .exe = "/bin/gzip", .start = 1});
    story.begin({.pid = 12, .parent = 10, .exe = "/usr/bin/sort", .start = 1});
    story.end(12, {.at = 4, .status = 2});
    story.end(11, {.at = 5, .signal = SIGPIPE});
    story.end(10, {.at = 6});
    CHECK(story.failed() == Words{"sort", "gzip"});
  }
  SUBCASE("pipefail") {
    Story story = script(kText);
    story.begin({.pid = 11, .parent = 10, .exe = "/bin/bash", .start = 1, .executed = false});
    story.begin({.pid = 12, .parent = 11, .exe = "/bin/gzip", .start = 1});
    story.end(12, {.at = 4, .signal = SIGPIPE});
    story.end(11, {.at = 5, .status = 141});
    story.end(10, {.at = 6, .status = 141});
    CHECK(story.failed() == Words{"gzip"});
    CHECK(names(story.summary().failures()[0].passed_on_by) == Words{"bash", "bash"});
    CHECK(story.summary().excused().reader_had_enough == 0);
  }
}

TEST_CASE("a command whose reader had enough is no failure, be it all that is followed") {
  Story story;
  story.begin({.pid = 11, .exe = "/usr/bin/seq", .start = 1});
  story.end(11, {.at = 4, .signal = SIGPIPE});
  CHECK(story.failed().empty());
  CHECK(story.summary().excused().reader_had_enough == 1);
}

TEST_CASE("a broken pipe of long ago excuses nothing") {
  Story story = script();
  story.begin({.pid = 11, .parent = 10, .exe = "/usr/bin/server", .start = 1});
  story.end(11, {.at = 5'000, .status = 1, .broken_pipe = 4});
  story.end(10, {.at = 6'000});
  CHECK(story.failed() == Words{"server"});
}

TEST_CASE("workers that their pool ends are no failures, whoever in between passed that on") {
  Story story;
  story.begin({.pid = 10, .exe = "/usr/bin/python3", .start = 0});
  story.begin({.pid = 11, .parent = 10, .exe = "/usr/bin/forkserver", .start = 1});
  story.begin({.pid = 12, .parent = 11, .exe = "/usr/bin/worker", .start = 2});
  story.begin({.pid = 13, .parent = 10, .exe = "/usr/bin/worker", .start = 2});
  story.end(12, {.at = 5, .signal = SIGTERM, .sender = 10});
  story.end(13, {.at = 5, .signal = SIGTERM, .sender = 10});
  story.end(11, {.at = 6, .signal = SIGTERM, .sender = 10});
  CHECK(story.failed().empty());
  SUBCASE("it ends well") { story.end(10, {.at = 7}); }
  SUBCASE("it fails for another reason") {
    story.end(10, {.at = 7, .status = 1});
    CHECK(story.failed() == Words{"python3"});
  }
  SUBCASE("it lives on") { story.finish(100); }
  CHECK(story.summary().excused().ended_by_starter == 2);
}

TEST_CASE("a limit that ends a command is a failure, with the one that set it as the sender") {
  Story story = script();
  story.begin({.pid = 11, .parent = 10, .exe = "/usr/bin/timeout", .start = 1});
  story.begin({.pid = 12, .parent = 11, .exe = "/usr/bin/bwa", .start = 2});
  story.end(12, {.at = 50, .signal = SIGTERM, .sender = 11});
  story.end(11, {.at = 51, .status = 124});
  CHECK(story.failed() == Words{"bwa"});
  const Failure& failure = story.summary().failures().at(0);
  REQUIRE(failure.sent_by);
  CHECK(failure.sent_by->pid == 11);
  story.end(10, {.at = 52});
  CHECK(story.failed() == Words{"bwa"});
  CHECK(names(failure.passed_on_by) == Words{"timeout"});
  CHECK(failure.ignored == 1);
}

TEST_CASE("a signal of the kernel, of a stranger or of the process itself is a failure") {
  for (const std::uint32_t sender : {0u, 11u, 77u}) {
    Story story = script();
    story.begin({.pid = 11, .parent = 10, .exe = "/usr/bin/bwa", .start = 1});
    story.end(11, {.at = 5, .signal = SIGKILL, .sender = sender});
    story.end(10, {.at = 6});
    CHECK(story.failed() == Words{"bwa"});
  }
}

TEST_CASE("kill(1) by the script is its own doing") {
  Story story = script();
  story.begin({.pid = 11, .parent = 10, .exe = "/usr/bin/watcher", .start = 1});
  story.begin({.pid = 12, .parent = 10, .exe = "/bin/kill", .start = 4});
  story.end(11, {.at = 5, .signal = SIGTERM, .sender = 12});
  story.end(12, {.at = 5});
  story.end(10, {.at = 6});
  CHECK(story.failed().empty());
}

TEST_CASE("workers that fail alike beside each other are as many failures") {
  Story story = script();
  for (std::uint32_t pid = 11; pid <= 13; ++pid)
    story.begin({.pid = pid, .parent = 10, .exe = "/usr/bin/w", .start = 1});
  for (std::uint32_t pid = 11; pid <= 13; ++pid) story.end(pid, {.at = pid, .status = 2});
  story.end(10, {.at = 20, .status = 2});
  CHECK(story.failed() == Words{"w", "w", "w"});
  CHECK(story.summary().failures()[0].passed_on == 3);
}

TEST_CASE("an earlier failure with the same status is not what ended the script") {
  Story story = script();
  story.begin({.pid = 11, .parent = 10, .exe = "/usr/bin/a", .start = 1});
  story.end(11, {.at = 5, .status = 1});
  story.begin({.pid = 12, .parent = 10, .exe = "/usr/bin/b", .start = 6});
  story.end(12, {.at = 7, .status = 1});
  story.end(10, {.at = 8, .status = 1});
  CHECK(story.failed() == Words{"a", "b"});
  CHECK(story.summary().failures()[0].ignored == 1);
  CHECK(story.summary().failures()[1].passed_on == 1);
}

TEST_CASE("a parent with many failures that goes on holds only the last of them") {
  Story story = script();
  for (std::uint32_t i = 0; i < 1000; ++i) {
    story.begin({.pid = 100 + i, .parent = 10, .exe = "/usr/bin/a", .start = i});
    story.end(100 + i, {.at = i, .status = 3});
  }
  CHECK(story.summary().failed() == 1000);
  CHECK(story.summary().failures()[0].ignored >= 900);
  story.end(10, {.at = 2000});
  CHECK(story.summary().failures()[0].ignored == 1000);
}

TEST_CASE("what runs many commands passes their failures on by a status of its own") {
  struct Runner {
    std::string exe;
    std::string tool;
    std::int32_t child;
    std::int32_t own;
  };
  for (const Runner& runner : {Runner{"/usr/bin/xargs", "xargs", 3, 123},
                               {"/usr/bin/xargs", "xargs", 255, 124},
                               {"/usr/bin/make", "make", 1, 2},
                               {"/usr/bin/ninja", "ninja", 4, 1},
                               {"/usr/bin/parallel", "parallel", 3, 2}}) {
    CAPTURE(runner.tool);
    Story story = script();
    story.begin({.pid = 11, .parent = 10, .exe = runner.exe, .start = 1});
    story.begin({.pid = 12, .parent = 11, .exe = "/usr/bin/gzip", .start = 2});
    story.end(12, {.at = 5, .status = runner.child});
    story.begin({.pid = 13, .parent = 11, .exe = "/usr/bin/gzip", .start = 3});
    story.end(13, {.at = 7, .status = runner.child});
    story.end(11, {.at = 8, .status = runner.own});
    story.end(10, {.at = 9, .status = 0});
    CHECK(story.failed() == Words{"gzip", "gzip"});
  }
}

TEST_CASE("an answer that xargs reports is still an answer") {
  Story story = script();
  story.begin({.pid = 11, .parent = 10, .exe = "/usr/bin/xargs", .start = 1});
  story.begin({.pid = 12, .parent = 11, .exe = "/usr/bin/grep", .start = 2});
  story.end(12, {.at = 5, .status = 1, .answer = true});
  story.end(11, {.at = 8, .status = 123});
  story.end(10, {.at = 9, .status = 0});
  CHECK(story.failed().empty());
}

TEST_CASE("who ends with a status of its own soon after a failure passes it on, but for one that worked since") {
  for (const auto& [at, since, expected] : {std::tuple{30u, "/usr/bin/date", Words{"align"}},
                                            {30u, "/usr/bin/samtools", Words{"align", "bash"}},
                                            {9'000u, "/usr/bin/date", Words{"align", "bash"}}}) {
    CAPTURE(at);
    CAPTURE(since);
    Story story = script();
    story.begin({.pid = 11, .parent = 10, .exe = "/usr/bin/align", .start = 1});
    story.end(11, {.at = 5, .status = 3});
    story.begin({.pid = 12, .parent = 10, .exe = since, .start = 6});
    story.end(12, {.at = 8});
    story.end(10, {.at = at, .status = 1});
    CHECK(story.failed() == expected);
    const Failure& failure = story.summary().failures()[0];
    CHECK(failure.passed_on == (expected.size() == 1 ? 1 : 0));
    CHECK(failure.ignored == (expected.size() == 1 ? 0 : 1));
  }
}

TEST_CASE("what a handler ends with the script's own status is not the cause") {
  Story story = script();
  story.begin({.pid = 11, .parent = 10, .exe = "/usr/bin/align", .start = 1});
  story.begin({.pid = 12, .parent = 10, .exe = "/usr/bin/sort", .start = 1});
  story.end(11, {.at = 5, .status = 3});
  story.begin({.pid = 13, .parent = 10, .exe = "/usr/bin/kill", .start = 6});
  story.end(13, {.at = 7, .status = 1});
  story.end(12, {.at = 8, .signal = SIGTERM, .sender = 10});
  story.end(10, {.at = 9, .status = 1});
  REQUIRE(!story.failed().empty());
  CHECK(story.failed()[0] == "align");
  CHECK(story.summary().failures()[0].passed_on == 1);
  CHECK(story.summary().excused().ended_by_starter == 1);
}

TEST_CASE("who is asked for its version or usage has not failed") {
  for (const auto& [argv, written, fails] : {std::tuple{Words{"picard", "Sort", "--version"}, 0u, false},
                                             {Words{"train", "--version", "v2"}, 0u, true},
                                             {Words{"bwa"}, 1'500u, false},
                                             {Words{"bwa"}, 60u, true},
                                             {Words{"bwa", "mem", "-v"}, 0u, false},
                                             {Words{"bwa", "mem", "x.fa"}, 0u, true},
                                             {Words{}, 1'500u, true}}) {
    CAPTURE(argv.size());
    CAPTURE(written);
    Story story = script();
    story.begin({.pid = 11, .parent = 10, .exe = "/usr/bin/bwa", .start = 1, .argv = argv});
    story.end(11, {.at = 5, .status = 1, .written = written});
    story.begin({.pid = 12, .parent = 10, .start = 6});
    story.end(12, {.at = 7});
    story.end(10, {.at = 8});
    CHECK(story.failed() == (fails ? Words{"bwa"} : Words{}));
    // A script that ends by it has failed by it.
    Story ended = script();
    ended.begin({.pid = 11, .parent = 10, .exe = "/usr/bin/bwa", .start = 1, .argv = argv});
    ended.end(11, {.at = 5, .status = 1, .written = written});
    ended.end(10, {.at = 8, .status = 1});
    CHECK(ended.failed() == Words{"bwa"});
  }
}

TEST_CASE("who only tried to execute has not failed if its parent knows and goes on") {
  for (const auto& [status, written, fails] :
       {std::tuple{255, 4u, false}, {127, 8u, false}, {255, 0u, true}, {255, 16u, true}, {3, 4u, true}}) {
    CAPTURE(status);
    CAPTURE(written);
    Story story;
    story.begin({.pid = 10, .exe = "/usr/bin/perl", .start = 0});
    story.begin({.pid = 11, .parent = 10, .exe = "/usr/bin/perl", .start = 1, .executed = false});
    story.end(11, {.at = 2, .status = status, .written = written, .cpu_ms = 1});
    story.end(10, {.at = 900});
    CHECK(story.failed() == (fails ? Words{"perl"} : Words{}));
  }
}

TEST_CASE("SIGKILL of its starter is a failure of what computes, unless something beside it had failed") {
  for (const auto& [cpu_ms, beside, expected] :
       {std::tuple{900u, false, Words{"align"}}, {100u, false, Words{}}, {900u, true, Words{"sort"}}}) {
    CAPTURE(cpu_ms);
    CAPTURE(beside);
    Story story = script();
    story.begin({.pid = 11, .parent = 10, .exe = "/usr/bin/align", .start = 0});
    story.begin({.pid = 12, .parent = 10, .exe = "/usr/bin/sort", .start = 1});
    story.end(12, {.at = 500, .status = beside ? 2 : 0});
    story.end(11, {.at = 1'000, .signal = SIGKILL, .sender = 10, .cpu_ms = cpu_ms});
    story.begin({.pid = 13, .parent = 10, .start = 1'100});
    story.end(13, {.at = 1'200});
    story.end(10, {.at = 1'300});
    CHECK(story.failed() == expected);
  }
}
