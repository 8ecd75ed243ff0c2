// SPDX-License-Identifier: Apache-2.0
/// What a service adds up for whoever watches many hosts.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "builders.hpp"
#include "serve/usage_totals.hpp"

using namespace tracer;
using namespace tracer::internal;
using nlohmann::json;

namespace {

constexpr uid_t kAlice = 1000;
constexpr uid_t kBob = 1001;

Context in_run(std::string pipeline, std::optional<std::string> step = {}, std::uint64_t task = 7) {
  Context context;
  context.pipeline = std::move(pipeline);
  context.step = std::move(step);
  context.run_key = Key{1};
  context.task_key = Key{task};
  return context;
}

std::shared_ptr<const Process> process_of(std::uint32_t pid, const Context& context, std::string tool) {
  return build::process({.pid = pid, .start_ns = pid * 10, .tool = std::move(tool), .context = context});
}

ProcessExit exit_of(std::uint32_t pid, const Context& context, std::string tool,
                    std::optional<std::uint64_t> cpu_ns = {}) {
  ProcessExit exit = build::exit(pid, pid * 10);
  exit.process = process_of(pid, context, std::move(tool));
  exit.account.cpu_ns = cpu_ns;
  return exit;
}

ProcessSample sample_of(std::uint32_t pid, const Context& context, std::string tool, std::uint64_t cpu_ns) {
  ProcessSample sample;
  sample.time_ns = 1'000'000'000;
  sample.process = process_of(pid, context, std::move(tool));
  sample.account.cpu_ns = cpu_ns;
  return sample;
}

TaskFinish finish_of(const Context& context, std::uint64_t begin_ns, std::uint64_t end_ns, std::int32_t exit_code) {
  TaskFinish finish;
  finish.context = std::make_shared<const Context>(context);
  finish.begin_ns = begin_ns;
  finish.end_ns = end_ns;
  finish.exit_code = exit_code;
  return finish;
}

json told(UsageTotals& totals, const std::vector<Event>& living = {}) {
  return json::parse(totals.json("node1", living, [](const Event&) { return kAlice; }));
}

/// The one that has this name; null: there is none.
json row(const json& rows, const std::string& pipeline, const std::string& name, const char* user_class = "user") {
  for (const json& each : rows)
    if (each.at("pipeline") == pipeline && each.at("user_class") == user_class &&
        each.at(each.contains("tool") ? "tool" : "step") == name)
      return each;
  return nullptr;
}

}  // namespace

TEST_CASE("usage: each process counts once, while it lives and when it has ended") {
  UsageTotals totals;
  const Context align = in_run("rnaseq", "ALIGN");
  totals.add(sample_of(5, align, "bwa", 300), kAlice);
  CHECK(row(told(totals).at("tools"), "rnaseq", "bwa").at("cpu_ns") == 300);
  totals.add(sample_of(5, align, "bwa", 700), kAlice);
  CHECK(row(told(totals).at("tools"), "rnaseq", "bwa").at("cpu_ns") == 700);
  CHECK(row(told(totals).at("tools"), "rnaseq", "bwa").at("processes") == 0);
  totals.add(exit_of(5, align, "bwa", 900), kAlice);
  totals.add(exit_of(6, align, "bwa", 50), kAlice);
  const json bwa = row(told(totals).at("tools"), "rnaseq", "bwa");
  CHECK(bwa.at("cpu_ns") == 950);
  CHECK(bwa.at("processes") == 2);
  CHECK(row(told(totals).at("steps"), "rnaseq", "ALIGN").at("cpu_ns") == 950);
  // Nobody knows what it read, or whether memory ran out.
  CHECK_FALSE(bwa.contains("read_bytes"));
  CHECK_FALSE(bwa.contains("oom_kills"));
  ProcessExit known = exit_of(7, align, "bwa", 1);
  known.account.read_bytes = 10;
  known.oom_killed = true;
  totals.add(known, kAlice);
  totals.add(exit_of(8, align, "bwa", 1), kAlice);
  CHECK(row(told(totals).at("tools"), "rnaseq", "bwa").at("read_bytes") == 10);
  CHECK(row(told(totals).at("tools"), "rnaseq", "bwa").at("oom_kills") == 1);
}

TEST_CASE("usage: each program of a process counts for its own tool") {
  UsageTotals totals;
  const Context align = in_run("rnaseq", "ALIGN");
  totals.add(sample_of(5, align, "bash", 100), kAlice);
  ProcessExec exec;
  exec.time_ns = 2'000'000'000;
  exec.process = process_of(5, align, "bwa");
  exec.ended.start_ns = 50;
  exec.ended.program = process_of(5, align, "bash")->program;
  exec.ended.account.cpu_ns = 150;
  exec.ended.account.read_bytes = 20;
  totals.add(exec, kAlice);
  CHECK(row(told(totals).at("tools"), "rnaseq", "bwa").at("processes") == 0);
  totals.add(sample_of(5, align, "bwa", 400), kAlice);
  ProcessExit exit = exit_of(5, align, "bwa", 500);
  // Of the whole process it is not known.
  exit.program.account.read_bytes = 7;
  totals.add(exit, kAlice);
  const json tools = told(totals).at("tools");
  CHECK(row(tools, "rnaseq", "bash").at("cpu_ns") == 150);
  CHECK(row(tools, "rnaseq", "bash").at("read_bytes") == 20);
  CHECK(row(tools, "rnaseq", "bwa").at("cpu_ns") == 350);
  CHECK(row(tools, "rnaseq", "bwa").at("read_bytes") == 7);
  // Another process with its pid.
  ProcessSample next = sample_of(5, align, "bwa", 30);
  Process other = *next.process;
  other.start_ns = 9'000;
  next.process = std::make_shared<const Process>(other);
  totals.add(next, kAlice);
  CHECK(row(told(totals).at("tools"), "rnaseq", "bwa").at("cpu_ns") == 380);
}

TEST_CASE("usage: what lived before the service counts from then on") {
  UsageTotals totals;
  const std::uint64_t begin_ns = 1'000'000'000'000;
  ProcessStart first = build::start(1, begin_ns);
  totals.add(first, 0);
  ProcessSample sample = sample_of(5, in_run("rnaseq"), "bwa", 7'000);
  sample.time_ns = begin_ns + 1'000'000'000;
  sample.attached_ns = begin_ns;
  totals.add(sample, kAlice);
  CHECK(row(told(totals).at("tools"), "rnaseq", "bwa").at("cpu_ns") == 0);
  sample.account.cpu_ns = 7'400;
  totals.add(sample, kAlice);
  CHECK(row(told(totals).at("tools"), "rnaseq", "bwa").at("cpu_ns") == 400);
}

TEST_CASE("usage: outside of runs, tools are not told apart") {
  UsageTotals totals;
  for (std::uint32_t pid = 1; pid <= 1000; ++pid)
    totals.add(exit_of(pid, Context(), "tool" + std::to_string(pid), 1), pid % 2 == 0 ? 0 : kAlice);
  const json all = told(totals);
  REQUIRE(all.at("tools").size() == 2);
  CHECK(all.at("steps").empty());
  CHECK(row(all.at("tools"), "", "", "system").at("processes") == 500);
  CHECK(row(all.at("tools"), "", "", "user").at("processes") == 500);
}

TEST_CASE("usage: accounts that no person has are of the system") {
  for (const auto& [uid, user_class] : std::map<uid_t, std::string>{{0, "system"},
                                                                    {999, "system"},
                                                                    {1000, "user"},
                                                                    {61183, "user"},
                                                                    {61184, "system"},
                                                                    {65534, "system"},
                                                                    {65536, "user"},
                                                                    {1'200'000'000, "user"}}) {
    UsageTotals totals;
    totals.add(exit_of(5, Context(), "x", 1), uid);
    CHECK(told(totals).at("tools").at(0).at("user_class") == user_class);
  }
}

TEST_CASE("usage: a task counts once, however often it finishes") {
  UsageTotals totals;
  const Context task = in_run("rnaseq", "ALIGN", 3);
  TaskStart start;
  start.context = std::make_shared<const Context>(task);
  totals.add(start, kAlice);
  CHECK(row(told(totals).at("steps"), "rnaseq", "ALIGN").at("tasks") == 0);
  CHECK(row(told(totals, {start}).at("steps"), "rnaseq", "ALIGN").at("running") == 1);
  totals.add(finish_of(task, 10, 30, 1), kAlice);
  totals.add(finish_of(task, 10, 45, 1), kAlice);
  totals.add(finish_of(in_run("rnaseq", "ALIGN", 4), 10, 30, 0), kAlice);
  TaskSubmit submit;
  submit.context = std::make_shared<const Context>(in_run("rnaseq", "SORT", 5));
  submit.state = "submitted";
  const json steps = told(totals, {submit, submit}).at("steps");
  CHECK(row(steps, "rnaseq", "ALIGN") == json::parse(R"({"pipeline":"rnaseq","step":"ALIGN","user_class":"user",
      "tasks":2,"failed":1,"wall_ns":55,"running":0,"queued":0})"));
  CHECK(row(steps, "rnaseq", "SORT").at("queued") == 2);
  CHECK(row(told(totals).at("steps"), "rnaseq", "SORT").at("queued") == 0);
}

TEST_CASE("usage: failures count where they began") {
  UsageTotals totals;
  totals.failed(*process_of(5, in_run("rnaseq"), "bwa"), kAlice);
  CHECK(row(told(totals).at("tools"), "rnaseq", "bwa").at("failed") == 1);
}

TEST_CASE("usage: names of users are bounded, and any text stays one of lines") {
  UsageTotals totals;
  std::uint32_t pid = 0;
  const auto name_of = [&](const std::string& pipeline) {
    UsageTotals one;
    one.add(exit_of(++pid, in_run(pipeline), "x", 1), kAlice);
    return one.rows() == 2 ? told(one).at("tools").at(0).at("pipeline").get<std::string>() : std::string("?");
  };
  CHECK(name_of("nf-core/rnaseq") == "nf-core/rnaseq");
  CHECK(name_of("a\"b\\c d") == "a\"b\\c d");
  CHECK(name_of("a\nb\x1b[31m\x7f") ==
        "a\xef\xbf\xbd"
        "b\xef\xbf\xbd[31m\xef\xbf\xbd");
  CHECK(name_of("\xff\xfe-\xc0\xaf") == "\xef\xbf\xbd\xef\xbf\xbd-\xef\xbf\xbd\xef\xbf\xbd");
  CHECK(name_of("ünï \xe2\x80\xae") == "ünï \xef\xbf\xbd");
  CHECK(name_of(std::string(100, 'x')) == std::string(100, 'x'));
  CHECK(name_of(std::string(5000, 'x')) == std::string(100, 'x') + "…");
  CHECK(name_of(std::string(99, 'x') + "üü") == std::string(99, 'x') + "…");
}

TEST_CASE("usage: rows are bounded, sums never fall, and another user finds room") {
  UsageTotals totals;
  std::map<std::string, std::uint64_t> before;
  std::uint32_t pid = 0;
  std::uint64_t alices = 0;
  const auto look = [&] {
    const json all = told(totals);
    std::map<std::string, std::uint64_t> now;
    for (const char* const table : {"tools", "steps"})
      for (const json& each : all.at(table))
        for (const auto& [key, value] : each.items())
          if (value.is_number())
            now[std::string(table) + each.at("pipeline").get<std::string>() + "|" +
                each.at(table == std::string("tools") ? "tool" : "step").get<std::string>() + "|" +
                each.at("user_class").get<std::string>() + "|" + key] = value.get<std::uint64_t>();
    for (const auto& [key, value] : before) {
      REQUIRE(now.contains(key));
      REQUIRE(now.at(key) >= value);
    }
    before = now;
    return all;
  };
  for (int round = 0; round < 40; ++round) {
    for (int i = 0; i < 25; ++i) {
      const Context context = in_run("p" + std::to_string(round % 30), "s" + std::to_string(i));
      totals.add(exit_of(++pid, context, "t" + std::to_string(round * 25 + i), 10), kAlice);
      alices += 10;
    }
    look();
  }
  const std::size_t rows_of_alice = totals.rows();
  CHECK(rows_of_alice <= UsageTotals::kMostRows / 2 + UsageTotals::kMostOtherRows / 2 + 2);
  // Early names have a row, late ones that of their pipeline or of all.
  json all = look();
  CHECK(row(all.at("tools"), "p0", "t0").at("cpu_ns") == 10);
  CHECK(row(all.at("tools"), "other", "other").at("processes") > 0);
  CHECK(row(all.at("steps"), "other", "other").at("cpu_ns") > 0);
  // Nothing is missing in the sum.
  std::uint64_t cpu_ns = 0;
  for (const json& each : all.at("tools")) cpu_ns += each.at("cpu_ns").get<std::uint64_t>();
  CHECK(cpu_ns == alices);
  totals.add(exit_of(++pid, in_run("bobs", "step"), "tool", 10), kBob);
  CHECK(row(look().at("tools"), "bobs", "tool").at("cpu_ns") == 10);
  CHECK(row(look().at("steps"), "bobs", "step").at("cpu_ns") == 10);
  for (uid_t uid = 0; uid < 3000; ++uid)
    totals.add(exit_of(++pid, in_run("p" + std::to_string(uid), "s"), "t" + std::to_string(uid), 1), uid);
  look();
  // Two rows of "other" and one of what is in no run, for each class and table.
  CHECK(totals.rows() <= UsageTotals::kMostRows + UsageTotals::kMostOtherRows + 6);
  CHECK(6 * (UsageTotals::kMostRows + UsageTotals::kMostOtherRows + 6) <= 1900);
}
