// SPDX-License-Identifier: Apache-2.0
#include <tracer/filter.hpp>

#include <doctest/doctest.h>

#include "base/text.hpp"
#include "collect.hpp"

using namespace tracer;
using namespace tracer::internal;
using collect::Stages;
using wire::Who;

namespace {

const Who kRoot{.pid = 10, .start_ns = 100, .comm = "nextflow"};

wire::Bytes exec_at(const Who& who, std::uint64_t time_ns, std::uint64_t program, std::string exe,
                    std::vector<std::string> argv) {
  return wire::exec_record(
      who, {.time_ns = time_ns, .program_start_ns = program, .exe = std::move(exe), .argv = std::move(argv)});
}

/// nextflow (10) runs bash (20), which runs samtools (30), which forks (31); and nextflow runs bwa (40).
std::vector<Event> pipeline(const Filter& filter) {
  Stages stages(filter);
  const Who bash = wire::child_of(kRoot, 20, 200);
  const Who samtools = wire::child_of(bash, 30, 300);
  const Who worker = wire::child_of(samtools, 31, 350);
  const Who bwa = wire::child_of(kRoot, 40, 400);
  stages.push(wire::start_record(kRoot));
  stages.push(exec_at(kRoot, 110, 100, "/opt/bin/nextflow", {"nextflow", "run"}));
  stages.push(wire::start_record(bash));
  stages.push(exec_at(bash, 210, 200, "/bin/bash", {"bash", ".command.sh"}));
  stages.push(wire::start_record(samtools));
  stages.push(exec_at(samtools, 310, 300, "/usr/bin/samtools", {"samtools", "sort", "--threads=4"}));
  stages.push(wire::start_record(worker));
  stages.push(wire::exit_record(worker, {.time_ns = 360, .program_start_ns = 350}));
  stages.push(wire::exit_record(samtools, {.time_ns = 380, .program_start_ns = 310}));
  stages.push(wire::exit_record(bash, {.time_ns = 390, .program_start_ns = 210}));
  stages.push(wire::start_record(bwa));
  stages.push(exec_at(bwa, 410, 400, "/usr/bin/bwa", {"bwa", "mem"}));
  stages.push(wire::exit_record(bwa, {.time_ns = 450, .program_start_ns = 410}));
  stages.push(wire::exit_record(kRoot, {.time_ns = 500, .program_start_ns = 110}));
  return std::move(stages.events);
}

std::vector<std::uint32_t> exits(const Filter& filter) {
  std::vector<std::uint32_t> pids;
  for (const ProcessExit& exit : collect::all_of<ProcessExit>(pipeline(filter))) pids.push_back(exit.process->pid);
  return pids;
}

std::vector<std::uint32_t> starts(const Filter& filter) {
  std::vector<std::uint32_t> pids;
  for (const ProcessStart& start : collect::all_of<ProcessStart>(pipeline(filter))) pids.push_back(start.process->pid);
  return pids;
}

using Pids = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("each builder method makes its rule, in order, with its words") {
  Context labels;
  labels.step = "align";
  Filter filter;
  filter.include_tree(4711, labels)
      .exclude_tree(4712)
      .include_cgroup("/docker", labels)
      .exclude_cgroup("/system.slice");
  filter.include_uid(1000).exclude_uid(0).include_exe("/usr/*").exclude_exe("bash");
  filter.include_tool("samtools *").exclude_tool("bwa mem").include_argument("*.bam").exclude_argument("--help");
  const std::vector<std::string> words = {"include the tree of process 4711",
                                          "exclude the tree of process 4712",
                                          "include cgroup /docker",
                                          "exclude cgroup /system.slice",
                                          "include user 1000",
                                          "exclude user 0",
                                          "include executable /usr/*",
                                          "exclude executable bash",
                                          "include tool samtools *",
                                          "exclude tool bwa mem",
                                          "include argument *.bam",
                                          "exclude argument --help"};
  REQUIRE(filter.rules().size() == words.size());
  for (std::size_t i = 0; i < words.size(); ++i) CHECK(to_string(filter.rules()[i]) == words[i]);
  CHECK(filter.rules()[0].context == labels);
  CHECK(filter.rules()[2].context == labels);
  CHECK(filter.rules()[0].number == 4711);
  CHECK(filter.rules()[5].subject == Filter::Subject::kUid);
}

TEST_CASE("without a rule every process is told") { CHECK(exits({}) == Pids{31, 30, 20, 40, 10}); }

TEST_CASE("an included tool takes in its process and the descendants, nothing else") {
  CHECK(exits(Filter().include_tool("samtools *")) == Pids{31, 30});
  CHECK(starts(Filter().include_tool("samtools *")) == Pids{30, 31});
}

TEST_CASE("a process that its exec takes in is told with its start first") {
  const auto events = pipeline(Filter().include_tool("bwa mem"));
  CHECK(collect::kinds_of(events) ==
        std::vector{EventKind::kRunStart, EventKind::kProcessStart, EventKind::kProcessExec, EventKind::kProcessExit});
  CHECK(events.front().time_ns() == 400);
}

TEST_CASE("a glob without a slash is on the executable's last part, one with a slash on the whole path") {
  CHECK(exits(Filter().include_exe("bwa")) == Pids{40});
  CHECK(exits(Filter().include_exe("/usr/bin/*")) == Pids{31, 30, 40});
  CHECK(exits(Filter().include_exe("bin/bwa")).empty());
}

TEST_CASE("an included argument takes in the process and its descendants") {
  CHECK(exits(Filter().include_argument("--threads=*")) == Pids{31, 30});
  CHECK(exits(Filter().include_argument("*.command.sh")) == Pids{31, 30, 20});
}

TEST_CASE("an excluded program prunes its subtree and even its start is not told") {
  CHECK(exits(Filter().exclude_exe("bash")) == Pids{40, 10});
  CHECK(starts(Filter().exclude_exe("bash")) == Pids{10, 40});
}

TEST_CASE("a process that is only held back is told when it ends") {
  Stages stages(Filter().exclude_tool("nothing"));
  stages.push(wire::start_record(kRoot));
  CHECK(stages.events.empty());
  stages.push(wire::exit_record(kRoot, {.time_ns = 500, .program_start_ns = 100}));
  CHECK(collect::kinds_of(stages.events) == std::vector{EventKind::kProcessStart, EventKind::kProcessExit});
}

TEST_CASE("an exclude rule wins over any include rule") {
  CHECK(exits(Filter().include_exe("nextflow").exclude_tool("samtools *")) == Pids{20, 40, 10});
  CHECK(exits(Filter().exclude_exe("bash").include_tool("samtools *")).empty());
}

TEST_CASE("several include rules each take in their own") {
  CHECK(exits(Filter().include_tool("samtools *").include_tool("bwa *")) == Pids{31, 30, 40});
}

TEST_CASE("a tree, a user and a cgroup are decided without a kernel, too") {
  CHECK(exits(Filter().include_tree(20)) == Pids{31, 30, 20});
  CHECK(exits(Filter().exclude_tree(20)) == Pids{40, 10});
  CHECK(exits(Filter().include_uid(1000)) == Pids{31, 30, 20, 40, 10});
  CHECK(exits(Filter().include_uid(1)).empty());
  CHECK(exits(Filter().exclude_uid(1000)).empty());
}

TEST_CASE("a cgroup rule takes in the subtree of its path, not of a similar name") {
  const auto told = [](std::string rule, std::string path) {
    Stages stages(Filter().include_cgroup(std::move(rule)));
    stages.push(wire::cgroup_record(1, path));
    stages.push(wire::start_record(kRoot));
    return !stages.events.empty();
  };
  CHECK(told("/docker", "/docker"));
  CHECK(told("/docker", "/docker/abc"));
  CHECK(told("/", "/docker/abc"));
  CHECK_FALSE(told("/docker", "/docker2"));
  CHECK_FALSE(told("/docker/abc", "/docker"));
}

TEST_CASE("the rule that takes a process in gives it its labels, and they are inherited") {
  Context labels;
  labels.step = "align";
  const auto exits = collect::all_of<ProcessExit>(pipeline(Filter().include_tree(20, labels)));
  CHECK(exits.size() == 3);
  for (const ProcessExit& exit : exits) {
    CHECK(exit.process->context->step == "align");
    CHECK(exit.process->context->provenance.step == Provenance::kLabel);
  }
}

TEST_CASE("what the kernel decided is not decided again") {
  Stages stages(Filter().include_tree(4711).exclude_uid(1000), true);
  stages.push(wire::start_record(kRoot));
  CHECK(stages.events.size() == 1);
  Stages undecided(Filter().include_tree(4711).include_tool("bwa *"), true);
  undecided.push(wire::start_record(kRoot));
  CHECK(undecided.events.empty());
}

TEST_CASE("the explanation says for each rule where it is decided") {
  CHECK(explain_filter({}, true, false) == std::vector<std::string>{"no rule: every process"});
  CHECK(explain_filter({}, true, true).front() == "only processes of your own user: kernel (others need root)");
  CHECK(explain_filter(Filter().include_tree(1).exclude_uid(2), true, false) ==
        std::vector<std::string>{"include the tree of process 1: kernel", "exclude user 2: kernel"});
  const auto lines =
      explain_filter(Filter().include_tree(1).exclude_uid(2).include_tool("x").exclude_exe("y"), true, false);
  REQUIRE(lines.size() == 6);
  CHECK(lines[0] == "include the tree of process 1: user space");
  CHECK(lines[1] == "exclude user 2: kernel");
  CHECK(lines[2] == "include tool x: user space, from its exec on");
  CHECK(lines[3] == "exclude executable y: user space, from its exec on");
  CHECK(lines[4] == "an include rule in user space: the kernel sends every process");
  CHECK(lines[5] == "an exclude rule in user space: a process is first reported when it executes or ends");
}

TEST_CASE("without a kernel the explanation names none") {
  for (const std::string& line :
       explain_filter(Filter().include_tree(1).exclude_uid(2).include_tool("x"), false, true)) {
    CAPTURE(line);
    CHECK(line.find("kernel") == std::string::npos);
  }
}

TEST_CASE("globs match as shells do, without brackets") {
  CHECK(glob_matches("", ""));
  CHECK_FALSE(glob_matches("", "a"));
  CHECK(glob_matches("*", ""));
  CHECK(glob_matches("*", "anything/at all"));
  CHECK(glob_matches("?", "a"));
  CHECK_FALSE(glob_matches("?", ""));
  CHECK_FALSE(glob_matches("?", "ab"));
  CHECK(glob_matches("*.bam", "x.bam"));
  CHECK(glob_matches("*.bam", ".bam"));
  CHECK_FALSE(glob_matches("*.bam", "x.bam.bai"));
  CHECK(glob_matches("a*b*c", "a-b-b-c"));
  CHECK_FALSE(glob_matches("a*b*c", "a-c-b"));
  CHECK(glob_matches("**a**", "bab"));
  CHECK(glob_matches("[a]", "[a]"));
  CHECK_FALSE(glob_matches("[a]", "a"));
  CHECK_FALSE(glob_matches("ABC", "abc"));
  CHECK_FALSE(glob_matches("abc", "ab"));
}

TEST_CASE("where a glob may have classes, brackets are those") {
  const auto matches = [](std::string_view glob, std::string_view text) {
    return glob_matches(glob, text, Brackets::kClasses);
  };
  CHECK(matches("[a]", "a"));
  CHECK_FALSE(matches("[a]", "[a]"));
  CHECK(matches("python[0-9].*[02468]", "python3.12"));
  CHECK_FALSE(matches("python[0-9].*[02468]", "python3.11"));
  CHECK(matches("[]]", "]"));
  CHECK_FALSE(matches("[a-", "ab"));  // Not closed: no reading behind the end.
}

TEST_CASE("the last part of a path") {
  CHECK(base_name("/a/b") == "b");
  CHECK(base_name("b") == "b");
  CHECK(base_name("/a/b//") == "b");
  CHECK(base_name("/").empty());
  CHECK(base_name("").empty());
}

TEST_CASE("a pattern made to be slow still comes to its end") {
  std::string pattern;
  for (int i = 0; i < 200; ++i) pattern += "a*";
  CHECK_FALSE(glob_matches(pattern + "b", std::string(4096, 'a')));
  CHECK(glob_matches(pattern, std::string(4096, 'a')));
  CHECK(glob_matches(std::string(4096, '*'), std::string(4096, 'a')));
}
