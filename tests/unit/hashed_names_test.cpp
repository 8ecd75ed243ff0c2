// SPDX-License-Identifier: Apache-2.0
/// What events show in place of paths, addresses and arguments.
#include "correlate/hashed_names.hpp"

#include <algorithm>
#include <cctype>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <tracer/error.hpp>
#include <tracer/session.hpp>
#include <tracer/testing.hpp>

#include "base/text.hpp"
#include "builders.hpp"
#include "collect.hpp"
#include "sample_events.hpp"

using namespace tracer;
using namespace tracer::internal;

namespace {

constexpr SipKey kKey{0x0706050403020100, 0x0f0e0d0c0b0a0908};

bool is_hash(std::string_view text) {
  return text.size() == 12 && std::all_of(text.begin(), text.end(), [](char letter) {
           return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'f');
         });
}

/// What sample_events gave a text of this name: it was not changed.
bool is_as_given(std::string_view name, std::string_view text) {
  if (!text.starts_with(name)) return false;
  text.remove_prefix(name.size());
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char each) { return std::isdigit(each); });
}

void find_given(const nlohmann::json& json, const std::string& name, std::set<std::string>& found) {
  if (json.is_string() && is_as_given(name, json.get<std::string>())) found.insert(name);
  for (const auto& [key, value] : json.items())
    if (json.is_object()) {
      find_given(value, key, found);
    } else if (json.is_array()) {
      find_given(value, name, found);
    }
}

std::shared_ptr<const Process> process_with(Program program) {
  Process process;
  process.program = std::make_shared<const Program>(std::move(program));
  return std::make_shared<const Process>(std::move(process));
}

Program shown(HashedNames& names, Program program) {
  ProcessStart start;
  start.process = process_with(std::move(program));
  return *names.in(start).get_if<ProcessStart>()->process->program;
}

}  // namespace

TEST_CASE("SipHash is the one of its authors' test vectors") {
  std::string text(15, '\0');
  std::iota(text.begin(), text.end(), '\0');
  CHECK(sip_hash(kKey, text) == 0xa129ca6149be45e5);
  CHECK(sip_hash(kKey, "") == 0x726fdb47dd0e0e31);
  CHECK(sip_hash(kKey, text.substr(0, 8)) == 0x93f5f5799a932462);
}

TEST_CASE("each part of a path is hashed, but for the endings that say what is in a file") {
  const HashedNames names(kKey);
  const std::string path = names.of_path("/data/patient-1234/patient-1234.bam");
  REQUIRE(path.size() == 3 * 13 + 4);
  CHECK(is_hash(path.substr(1, 12)));
  CHECK(path.substr(14, 12) == path.substr(27, 12));
  CHECK(path.ends_with(".bam"));
  CHECK(path == names.of_path("/data/patient-1234/patient-1234.bam"));
  CHECK(path != names.of_path("/data/patient-1234/patient-1235.bam"));
  CHECK(path != HashedNames({1, 2}).of_path("/data/patient-1234/patient-1234.bam"));
  CHECK(names.of_path("/patient-1234.FASTQ.gz").ends_with(".FASTQ.gz"));
  CHECK(names.of_path("/") == "/");
  CHECK(names.of_path("") == "");
  CHECK(names.of_path("/../.") == "/../.");
  CHECK(names.of_path("…/x") == "…" + names.of_path("/x"));
  for (const char* name : {"/jane.smith", "/.bam", "/bam", "/a.b", "/x.", "/\xff\n.x"}) {
    CAPTURE(name);
    CHECK(is_hash(names.of_path(name).substr(1)));
  }
}

TEST_CASE("keys are random") {
  const std::string path = "/home/jane";
  CHECK(HashedNames().of_path(path) != HashedNames().of_path(path));
}

TEST_CASE("of a program its name stays, and no argument") {
  HashedNames names(kKey);
  Program program;
  program.comm = "samtools";
  program.exe = "/home/jane/bin/samtools-1.21";
  program.cwd = "/data/patient-1234";
  program.argv = {"/home/jane/bin/samtools", "view", "patient-1234.bam"};
  program.tool = "samtools view";
  Program hidden = shown(names, program);
  CHECK(hidden.exe == names.of_path("/home/jane/bin/") + "samtools-1.21");
  CHECK(hidden.cwd == names.of_path("/data/patient-1234"));
  CHECK(hidden.argv == std::vector<std::string>{names.of_path("/home/jane/bin/") + "samtools", "***", "***"});
  CHECK(hidden.tool == "samtools view");
  CHECK(hidden.comm == "samtools");
  // As sshd and others write there what they do, and for whom.
  program.argv = {"samtools: patient-1234", "x"};
  CHECK(shown(names, program).argv == std::vector<std::string>{"***", "***"});
  program.argv = {"-samtools"};
  CHECK(shown(names, program).argv == std::vector<std::string>{"-samtools"});
}

TEST_CASE("the options of a shell stay: whether it runs a text decides which failure is whose") {
  HashedNames names(kKey);
  const auto shown_as = [&](std::vector<std::string> argv) {
    Program program;
    program.exe = "/usr/bin/bash";
    program.argv = std::move(argv);
    return *shown(names, program).argv;
  };
  using Words = std::vector<std::string>;
  CHECK(shown_as({"bash", "-euo", "pipefail", "-c", "cat jane"}) == Words{"bash", "-euo", "***", "-c", "***"});
  CHECK(shown_as({"bash", "--norc", "jane.sh", "-jane"}) == Words{"bash", "--norc", "***", "***"});
  CHECK(shown_as({"bash", "-p1234", "-c"}) == Words{"bash", "***", "***"});
  CHECK(shown_as({"bash", "-o"}) == Words{"bash", "-o"});
}

TEST_CASE("processes and programs that were shared are shared") {
  HashedNames names(kKey);
  ProcessExit exit = build::exit(5);
  exit.process = process_with({.exe = "/bin/a"});
  exit.program.program = exit.process->program;
  const Event first = names.in(exit);
  const Event second = names.in(exit);
  CHECK(first.get_if<ProcessExit>()->process == second.get_if<ProcessExit>()->process);
  CHECK(first.get_if<ProcessExit>()->process->program == first.get_if<ProcessExit>()->program.program);
  // More than are kept.
  for (int i = 0; i < 3000; ++i) names.in(ProcessStart{1, process_with({.exe = "/bin/b"}), {}});
  CHECK(names.in(exit).get_if<ProcessExit>()->process->program->exe ==
        first.get_if<ProcessExit>()->process->program->exe);
}

TEST_CASE("of each text of an event it is decided whether it stays") {
  // Names of programs (here an `exe` is in no folder), of runs and tasks, of cgroups and containers, of devices and
  // their drivers' libraries, and what the tracer itself says.
  const std::set<std::string> stays = {"advice",       "cause",         "cgroup",        "cgroup_hierarchy",
                                       "code",         "comm",          "confidence",    "container",
                                       "container_id", "device",        "device_name",   "disk_wait_device",
                                       "engine",       "error",         "exe",           "exit_signal_sender",
                                       "field",        "filesystem",    "folded",        "gpu",
                                       "gpu_name",     "gpu_uuid",      "heaviest_tool", "image",
                                       "instance_id",  "instance_type", "limit_cgroup",  "missing_families",
                                       "name",         "path_at",       "pipeline",      "protocol",
                                       "provider",     "role",          "rules",         "run",
                                       "run_id",       "runtime",       "sample",        "scope",
                                       "severity",     "state",         "step",          "subject",
                                       "tag",          "task",          "task_id",       "text",
                                       "tool",         "unit",          "value",         "within",
                                       "interface",    "library",       "outcome"};
  HashedNames names(kKey);
  std::set<std::string> found;
  for (const Event& event : sample_events::all())
    find_given(nlohmann::json::parse(to_json(names.in(event))), "", found);
  for (const std::string& name : found) {
    CAPTURE(name);
    CHECK(stays.contains(name));
  }
  for (const std::string& hidden : std::vector<std::string>{"path", "cwd", "file", "remote_address", "local_address"}) {
    CAPTURE(hidden);
    CHECK_FALSE(found.contains(hidden));
  }
  // What has none of them is the same event.
  const Event loss = sample_events::full<Loss>();
  CHECK(to_json(names.in(loss)) == to_json(loss));
}

TEST_CASE("paths in the evidence of a finding are hashed, also where it says them in words") {
  HashedNames names(kKey);
  Finding finding;
  finding.text = "sort (pid 5) failed when /scratch/jane was full, in no task";
  finding.advice = "make room in /scratch/jane";
  finding.evidence = {{.name = "mount_point", .text = "/scratch/jane"},
                      {.name = "path", .text = "/scratch/jane/patient-1234.bam"},
                      {.name = "limit_cgroup", .text = "/slurm/job_1"},
                      {.name = "how", .text = "failed with status 1"},
                      {.name = "top", .text = "/"}};
  const Event event = names.in(finding);
  const auto* hidden = event.get_if<Finding>();
  const std::string folder = names.of_path("/scratch/jane");
  CHECK(hidden->text == "sort (pid 5) failed when " + folder + " was full, in no task");
  CHECK(hidden->advice == "make room in " + folder);
  CHECK(hidden->evidence[0].text == folder);
  CHECK(hidden->evidence[1].text == names.of_path("/scratch/jane/patient-1234.bam"));
  CHECK(hidden->evidence[2].text == "/slurm/job_1");
  CHECK(hidden->evidence[3].text == "failed with status 1");
  CHECK(hidden->evidence[4].text == "/");
}

namespace {

const wire::Who kReader{.pid = 42, .start_ns = 1000, .comm = "samtools"};

/// The kernel, as living() asks it.
class LivingReader final : public wire::ControlledSource {
 public:
  void start(Feed& feed) override { decoder().feed(wire::start_record(kReader), feed); }
  void snapshot(Feed& feed, bool) override {
    decoder().feed(wire::thread_record(kReader, {.time_ns = 6000, .tid = 42}), feed);
    feed.snapshot_end(6001);
  }
  std::vector<FamilyState> families() const override {
    return {{Family::kLifecycle, true, "a", {}}, {Family::kFiles, true, "b", {}}};
  }
  bool wants_findings() const noexcept override { return true; }
};

}  // namespace

TEST_CASE("a session with hash_paths shows no name in any event, and not of what lives") {
  for (const bool findings : {true, false}) {
    SessionOptions options = collect::polled();
    options.hash_paths = true;
    options.findings = findings;
    auto owned = std::make_unique<LivingReader>();
    LivingReader& source = *owned;
    Session session(tracer::Source(std::move(owned)), options);
    std::vector<Event> events;
    const Subscription all = session.on_any([&](const Event& event) { events.push_back(event); });
    session.start();
    source.push(wire::exec_record(kReader, {.time_ns = 1100,
                                            .program_start_ns = 1000,
                                            .cwd = "/data/patient-1234",
                                            .argv = {"samtools", "view", "patient-1234.bam"}}));
    source.push(wire::file_use_record(
        kReader, {.reads = true, .path = "/data/patient-1234/patient-1234.bam", .filesystem = "ext4"}));
    source.push(wire::file_use_record(kReader, {.reads = true,
                                                .path = "/data/patient-1234/patient-1234.bam",
                                                .fresh = false,
                                                .filesystem = "ext4",
                                                .change = TRACER_FILE_RENAMED,
                                                .new_path = "/data/patient-1234/patient-1234.sorted.bam",
                                                .renames = 1}));
    session.poll(std::chrono::milliseconds(0));
    const auto living = session.living();
    REQUIRE(living.size() == 1);
    CHECK(living[0].process->program->tool == "samtools view");
    CHECK(to_json(living[0]).find("patient-1234") == std::string::npos);
    std::vector<Event> told;
    const Subscription late =
        session.on_any([&](const Event& event) { told.push_back(event); }, {.living_first = true});
    session.poll(std::chrono::milliseconds(0));
    source.push(wire::exit_record(kReader, {.time_ns = 9000, .program_start_ns = 1100}));
    session.stop();
    std::string shown;
    for (const std::vector<Event>* each : {&events, &told})
      for (const Event& event : *each) shown += to_json(event);
    CHECK(shown.find("patient-1234") == std::string::npos);
    CHECK(shown.find("/data") == std::string::npos);
    REQUIRE(collect::all_of<FileUse>(events).size() == 1);
    CHECK(collect::all_of<FileUse>(events)[0].path->ends_with(".bam"));
    CHECK(collect::all_of<FileUse>(events)[0].filesystem == "ext4");
    CHECK(collect::all_of<FileUse>(events)[0].renamed_to.value_or("").ends_with(".bam"));
    REQUIRE_FALSE(told.empty());
    REQUIRE(told.front().get_if<ProcessStart>() != nullptr);
    CHECK(told.front().get_if<ProcessStart>()->process->program->argv ==
          std::vector<std::string>{"samtools", "***", "***"});
  }
}

TEST_CASE("events of another source, such as a recording, are hashed, too") {
  testing::FakeSource fake;
  SessionOptions options = collect::polled();
  options.hash_paths = true;
  Session session(fake.source(), options);
  std::vector<Event> events;
  const Subscription all = session.on_any([&](const Event& event) { events.push_back(event); });
  session.start();
  Connection connection;
  connection.process = build::process({.argv = std::vector<std::string>{"curl", "https://10.1.2.3/x"}});
  connection.remote_address = "10.1.2.3";
  connection.local_address = "10.1.2.4";
  connection.remote_port = 443;
  fake.push(connection);
  fake.push(connection);
  session.poll(std::chrono::milliseconds(1000));
  REQUIRE(events.size() == 2);
  const auto* shown = events[0].get_if<Connection>();
  CHECK(is_hash(*shown->remote_address));
  CHECK(is_hash(*shown->local_address));
  CHECK(shown->remote_address != shown->local_address);
  CHECK(shown->remote_address == events[1].get_if<Connection>()->remote_address);
  CHECK(shown->remote_port == 443u);
  CHECK(to_json(events[0]).find("10.1.2") == std::string::npos);
}

TEST_CASE("endings in rules/files.toml that are none are mistakes") {
  for (const char* kinds : {R"(["BAM"])", R"([".bam"])", R"([""])", R"(["a b"])", "3"}) {
    CAPTURE(kinds);
    CHECK_THROWS_AS(FileRules::parse(std::string("schema = 1\nkinds = ") + kinds + "\n", "x.toml"), Error);
  }
  CHECK(FileRules::parse("schema = 1\nkinds = [\"bam\"]\n", "x.toml").says_kind("bam"));
}
