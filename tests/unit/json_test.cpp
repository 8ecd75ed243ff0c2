// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <tracer/event.hpp>
#include <tracer/host.hpp>

#include "sample_events.hpp"

using namespace tracer;

namespace {

std::string cause(std::string text) {
  const std::string json = to_json(sample_events::loss(1, std::move(text), 2));
  const std::string before = R"("cause":")";
  const std::size_t begin = json.find(before) + before.size();
  return json.substr(begin, json.find("\",\"count\"") - begin);
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("an event is one object on one line with its kind first") {
  CHECK(
      to_json(sample_events::loss(1, "ring_exit", 2)) ==
      R"({"kind":"loss","time_ns":1,"cause":"ring_exit","count":2,"first_ns":null,"last_ns":null,"by_kind":[],"uid":null})");
  for (const Event& event : sample_events::all()) {
    const std::string json = to_json(event);
    CHECK(json.starts_with(R"({"kind":")" + std::string(to_string(event.kind())) + R"(","time_ns":)"));
    CHECK(json.ends_with("}"));
    CHECK_FALSE(has(json, "\n"));
  }
}

TEST_CASE("what is absent is null, and what is empty is empty") {
  ProcessStart start;
  Program program;
  program.exe = "";
  program.argv = std::vector<std::string>{};
  Process process;
  process.program = std::make_shared<const Program>(program);
  start.process = std::make_shared<const Process>(process);
  const std::string json = to_json(start);
  CHECK(has(json, R"("exe":"")"));
  CHECK(has(json, R"("argv":[])"));
  CHECK(has(json, R"("cwd":null)"));
  CHECK(has(json, R"("context":null,"provenance":null)"));
  CHECK(has(json, R"("attached_ns":null)"));
}

TEST_CASE("a program's account is an object of its own") {
  ProcessExit exit = sample_events::bare<ProcessExit>();
  Program program;
  program.tool = "bwa mem";
  exit.program.program = std::make_shared<const Program>(program);
  exit.program.account.cpu_ns = 7;
  const std::string json = to_json(exit);
  CHECK(has(json, R"("core_dumped":false)"));
  CHECK(has(json, R"("program":{"start_ns":null,"end_ns":null,"exe":null,"tool":"bwa mem","cpu_ns":7,)"));
  CHECK(has(
      json,
      R"("ledger":null,"process_ledger":null,"peak_rss_at_least_bytes":null,"network_sent_bytes":null,"network_received_bytes":null,"cpu_at_least_ns":null,"missed_children_cpu_ns":null,"engine_own":false},"status_is_answer":false,)"));
  CHECK(has(
      json,
      R"("exit_signal_sender":null,"exit_signal_sender_pid":null,"broken_pipe_ns":null,"begin_ns":0,"oom_killed":null,"disk_wait_device":null,"disk_wait_device_ns":null})"));
}

TEST_CASE("a session's end tells what it cost and what was missing") {
  SessionEnd end{1, 2, 3, 4, 5, 6, 7, 8, 9, {{"waits", "snapshots"}}, 10};
  CHECK(to_json(end) ==
        R"({"kind":"session_end","time_ns":1,"processes_started":2,"processes_ended":3,"exits_delivered":4,"losses":5,)"
        R"("cost_cpu_ns":6,"cost_kernel_ns":7,"cost_memory_bytes":8,"cost_kernel_memory_bytes":9,)"
        R"("missing_families":["waits","snapshots"],"missed_at_most":10})");
  end.missing_families.emplace();
  CHECK(has(to_json(end), R"("missing_families":[],)"));
  CHECK(has(to_json(SessionEnd{}),
            R"("cost_cpu_ns":null,"cost_kernel_ns":null,"cost_memory_bytes":null,)"
            R"("cost_kernel_memory_bytes":null,"missing_families":null,"missed_at_most":null})"));
}

TEST_CASE("a cgroup whose processes were not counted has null of them, not none") {
  CgroupSample sample;
  CHECK(has(to_json(sample), R"("has_below":false,"processes":null,"followed_processes":null,)"));
  sample.has_below = true;
  sample.processes = 0;
  sample.followed_processes = 0;
  CHECK(has(to_json(sample), R"("has_below":true,"processes":0,"followed_processes":0,)"));
}

TEST_CASE("a list of objects is one of objects") {
  Loss loss = sample_events::loss(1, "queue_full", 5);
  loss.by_kind = {{EventKind::kProcessExit, 3}, {EventKind::kLoss, 2}};
  CHECK(has(to_json(loss), R"("by_kind":[{"kind":"process_exit","count":3},{"kind":"loss","count":2}])"));
}

TEST_CASE("a list of texts is separated by commas") {
  ProcessStart start;
  Program program;
  program.argv = {{"a", "b \"c\"", ""}};
  Process process;
  process.program = std::make_shared<const Program>(program);
  start.process = std::make_shared<const Process>(process);
  CHECK(has(to_json(start), R"("argv":["a","b \"c\"",""])"));
}

TEST_CASE("quotes, backslashes and control bytes are escaped") {
  CHECK(cause(R"(a"b\c)") == R"(a\"b\\c)");
  CHECK(cause("\n\t\x01\x1f\x7f") == R"(\u000a\u0009\u0001\u001f\u007f)");
  CHECK(cause(std::string("a\0b", 3)) == R"(a\u0000b)");
  CHECK(cause("</script>") == "</script>");
}

TEST_CASE("text in utf-8 stays as it is") {
  for (const std::string text : {"é", "Ω", "…", "\xef\xbf\xbf", "😀", "\xf4\x8f\xbf\xbf", "\xed\x9f\xbf"})
    CHECK(cause(text) == text);
}

TEST_CASE("each byte that is not utf-8 becomes the replacement character") {
  CHECK(cause("\xff") == "\\ufffd");
  CHECK(cause("a\x80z") == "a\\ufffdz");
  CHECK(cause("\xc3") == "\\ufffd");                                   // cut
  CHECK(cause("\xe2\x80") == "\\ufffd\\ufffd");                        // cut
  CHECK(cause("\xc0\xaf") == "\\ufffd\\ufffd");                        // overlong
  CHECK(cause("\xe0\x80\xaf") == "\\ufffd\\ufffd\\ufffd");             // overlong
  CHECK(cause("\xed\xa0\x80") == "\\ufffd\\ufffd\\ufffd");             // surrogate
  CHECK(cause("\xf4\x90\x80\x80") == "\\ufffd\\ufffd\\ufffd\\ufffd");  // beyond U+10FFFF
  CHECK(cause("\xc3(") == "\\ufffd(");
}

TEST_CASE("numbers are written in full") {
  const std::string json = to_json(sample_events::loss(0xffffffffffffffff, "", 0));
  CHECK(has(json, R"("time_ns":18446744073709551615)"));
}

TEST_CASE("the host is an object of its own kind") {
  HostInfo host;
  host.host_name = "node\"1";
  host.cpu_count = 8;
  const std::string json = to_json(host);
  CHECK(json.starts_with(R"({"kind":"host","boot_id":"",)"));
  CHECK(has(json, R"("host_name":"node\"1")"));
  CHECK(has(json, R"("cpu_count":8)"));
}

TEST_CASE("an unknown kind has no name") { CHECK(to_string(static_cast<EventKind>(99)).empty()); }
