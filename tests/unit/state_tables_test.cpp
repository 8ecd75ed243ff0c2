// SPDX-License-Identifier: Apache-2.0
/// The state has the rows of the report, and a look has what changed since the last one.
#include <tracer/error.hpp>
#include <tracer/recording.hpp>
#include <tracer/report.hpp>
#include <tracer/state.hpp>
#include <tracer/summary.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "builders.hpp"
#include "in_repository.hpp"
#include "report/state_tables.hpp"

namespace {

using namespace tracer;
using internal::StateTables;
using Json = nlohmann::json;

constexpr std::uint64_t kSecond = 1'000'000'000;

Context in_task(std::uint64_t task, const char* step = "align") {
  Context context;
  context.run_key = Key{1'000'000};
  context.task_key = Key{task};
  context.run = "r";
  context.step = step;
  context.task = "t" + std::to_string(task);
  return context;
}

ProcessExit ended(std::uint32_t pid, const Context& context, std::uint64_t cpu_ns = kSecond) {
  ProcessExit exit = build::exit(pid, 10 * kSecond);
  exit.process = build::process({.pid = pid, .start_ns = kSecond, .context = context});
  exit.start_ns = exit.begin_ns = kSecond;
  exit.end_ns = 10 * kSecond;
  exit.account.cpu_ns = cpu_ns;
  exit.program = {kSecond, exit.end_ns, exit.process->program, exit.account};
  return exit;
}

ProcessSample sampled(std::uint32_t pid, const Context& context, std::uint64_t cpu_ns) {
  ProcessSample sample;
  sample.process = build::process({.pid = pid, .start_ns = kSecond, .context = context});
  sample.time_ns = 5 * kSecond;
  sample.account.cpu_ns = cpu_ns;
  return sample;
}

SnapshotEnd snapshot() {
  SnapshotEnd end;
  end.time_ns = 5 * kSecond;
  return end;
}

Json look(const StateTables& state, const StateQuery& query = {},
          const std::optional<std::vector<uid_t>>& owners = std::nullopt) {
  return Json::parse(state.json(query, owners));
}

std::string since(const Json& reply) { return reply["since"].get<std::string>(); }

}  // namespace

TEST_CASE("at the end of a recording, runs and tasks with keys have the figures of its report") {
  std::size_t compared = 0;
  for (const auto& file : std::filesystem::directory_iterator(internal::in_repository("tests/data/recordings"))) {
    if (file.path().extension() != ".tracer") continue;
    CAPTURE(file.path().filename().string());
    RecordingReader reader(file.path());
    Summary summary;
    StateTables state("s", std::make_shared<internal::Accounts>(), true);
    // The report leaves what came before apart.
    std::set<std::string> renamed;
    while (const auto event = reader.next()) {
      if (const auto* change = event->get_if<ContextChange>())
        for (const auto& each :
             {change->old_task_key, change->old_run_key, change->after->task_key, change->after->run_key})
          if (each && (change->old_task_key || change->old_run_key)) renamed.insert(to_string(*each));
      summary.add(*event);
      state.add(*event);
    }
    state.set_damage(reader.damage());
    SessionFigures figures;
    figures.tier = Tier::kRecording;
    figures.damage = reader.damage();
    const Json report = Json::parse(to_json(make_report(summary, figures)));
    const Json now = look(state);
    for (const auto& [table, key] : {std::pair("tasks", "task_key"), std::pair("runs", "run_key")}) {
      std::map<std::string, Json> by_key;
      for (const Json& row : now[table]) by_key[row[key]] = row;
      std::map<std::string, std::size_t> with_key;
      for (const Json& row : report[table])
        if (row.contains(key)) ++with_key[row[key]];
      for (const auto& [each, row] : by_key)
        CHECK_MESSAGE((with_key.contains(each) || renamed.contains(each)), row.dump());
      for (const Json& row : report[table]) {
        // Labels may make several rows of one.
        if (!row.contains(key) || with_key[row[key]] != 1 || renamed.contains(row[key])) continue;
        CAPTURE(row.dump());
        REQUIRE(by_key.contains(row[key]));
        const Json& other = by_key[row[key]];
        CAPTURE(other.dump());
        for (const char* figure : {"processes", "living", "failed", "wall_ns", "lives_ns", "cpu_ns", "read_bytes",
                                   "written_bytes", "memory_bytes", "network_sent_bytes", "first_start_ns", "bound_by"})
          for (const std::string& name : {std::string(figure), figure + std::string("_at_least")})
            CHECK_MESSAGE((row.contains(name) ? row[name] : Json()) == (other.contains(name) ? other[name] : Json()),
                          name);
        ++compared;
      }
    }
  }
  CHECK(compared > 100);
}

TEST_CASE("a look gives what has changed since the last, and all to who has none or another's") {
  StateTables state("s1");
  state.add(ended(1, in_task(1)));
  state.add(ended(2, in_task(2)));
  const Json first = look(state);
  CHECK(first["all"] == true);
  CHECK(first["more"] == false);
  REQUIRE(first["tasks"].size() == 2);
  CHECK(first["runs"].size() == 1);
  CHECK(first["steps"].size() == 1);
  CHECK(first["runs"][0]["cpu_ns"] == 2 * kSecond);
  CHECK(first["runs"][0]["tasks"] == 2);
  CHECK(first["steps"][0]["name"] == "align");
  CHECK(first["counts"]["processes"] == 2);
  CHECK(first["counts"]["tasks"] == 2);
  const Json nothing = look(state, {.since = since(first)});
  CHECK(nothing["all"] == false);
  CHECK(nothing["tasks"].empty());
  CHECK(nothing["runs"].empty());
  state.add(ended(3, in_task(2), 3 * kSecond));
  const Json second = look(state, {.since = since(first)});
  REQUIRE(second["tasks"].size() == 1);
  CHECK(second["tasks"][0]["id"] == first["tasks"][1]["id"]);
  CHECK(second["tasks"][0]["cpu_ns"] == 4 * kSecond);
  CHECK(second["runs"][0]["cpu_ns"] == 5 * kSecond);
  for (const char* other : {"s2.1", "s1.", "s1.99999", "garbage", "s1.1x"}) {
    CAPTURE(other);
    CHECK(look(state, {.since = other})["tasks"].size() == 2);
  }
}

TEST_CASE("what lives counts as its last sample saw it, until it ends or a snapshot misses it") {
  StateTables state("s");
  state.add(sampled(1, in_task(1), kSecond));
  state.add(sampled(2, in_task(1), kSecond));
  state.add(snapshot());
  Json now = look(state);
  CHECK(now["tasks"][0]["living"] == 2);
  CHECK(now["tasks"][0]["processes"] == 2);
  CHECK(now["tasks"][0]["cpu_ns_at_least"] == 2 * kSecond);
  CHECK(now["counts"]["living"] == 2);
  state.add(ended(1, in_task(1), 2 * kSecond));
  now = look(state);
  CHECK(now["tasks"][0]["living"] == 1);
  CHECK(now["tasks"][0]["cpu_ns_at_least"] == 3 * kSecond);
  state.add(snapshot());
  now = look(state);
  CHECK(now["tasks"][0]["living"] == 0);
  CHECK(now["tasks"][0]["cpu_ns"] == 2 * kSecond);
}

TEST_CASE("a task that gets another key, run and step keeps its row, and its sums move") {
  StateTables state("s");
  state.add(ended(1, in_task(1)));
  state.add(ended(2, in_task(2)));
  const std::string before = look(state)["tasks"][0]["id"];
  ContextChange change;
  change.before = std::make_shared<const Context>(in_task(1));
  Context after = in_task(11, "sort");
  change.after = std::make_shared<const Context>(after);
  change.old_task_key = Key{1};
  state.add(change);
  const Json now = look(state);
  REQUIRE(now["tasks"].size() == 2);
  std::map<std::string, Json> steps;
  for (const Json& step : now["steps"]) steps[step["name"]] = step;
  CHECK(steps["align"]["cpu_ns"] == kSecond);
  CHECK(steps["align"]["tasks"] == 1);
  CHECK(steps["sort"]["cpu_ns"] == kSecond);
  CHECK(now["runs"][0]["cpu_ns"] == 2 * kSecond);
  bool found = false;
  for (const Json& task : now["tasks"])
    if (task["id"] == before) {
      found = true;
      CHECK(task["task_key"] == to_string(Key{11}));
    }
  CHECK(found);
}

TEST_CASE("two tasks that turn out to be one are one row, and the other is gone") {
  StateTables state("s");
  state.add(ended(1, in_task(1)));
  state.add(ended(2, in_task(2)));
  const Json first = look(state);
  ContextChange change;
  change.before = std::make_shared<const Context>(in_task(1));
  change.after = std::make_shared<const Context>(in_task(2));
  change.old_task_key = Key{1};
  state.add(change);
  const Json now = look(state, {.since = since(first)});
  REQUIRE(now["tasks"].size() == 1);
  CHECK(now["tasks"][0]["cpu_ns"] == 2 * kSecond);
  CHECK(now["gone"] == Json::array({first["tasks"][0]["id"]}));
  const Json all = look(state);
  CHECK(all["runs"][0]["cpu_ns"] == 2 * kSecond);
  CHECK(all["runs"][0]["tasks"] == 1);
}

TEST_CASE("a user who has nothing in the task that another's turns out to be keeps the sums") {
  StateTables state("s");
  state.add(ended(1, in_task(1)), 1000);
  state.add(ended(2, in_task(2), 3 * kSecond), 1001);
  ContextChange change;
  change.before = std::make_shared<const Context>(in_task(1));
  change.after = std::make_shared<const Context>(in_task(2));
  change.old_task_key = Key{1};
  state.add(change, 1001);
  const Json all = look(state);
  REQUIRE(all["tasks"].size() == 1);
  CHECK(all["tasks"][0]["cpu_ns"] == 4 * kSecond);
  CHECK(all["counts"]["dropped"] == 0);
}

TEST_CASE("a finding is there once, whoever sees which of its states") {
  StateTables state("s");
  Finding finding;
  finding.finding_key = Key{7};
  finding.text = "open";
  state.add(finding, 1000);
  finding.text = "a secret";
  Finding masked = finding;
  masked.text = "***";
  const Event as_seen(masked);
  state.add(finding, 1000, &as_seen);
  const auto text_for = [&](const std::optional<std::vector<uid_t>>& owners) {
    const Json findings = Json::parse(state.json({}, owners))["findings"];
    REQUIRE(findings.size() == 1);
    CHECK(state.findings(0, owners).size() == 1);
    return findings[0]["text"].get<std::string>();
  };
  CHECK(text_for({}) == "a secret");
  CHECK(text_for({{1000}}) == "***");
  CHECK(Json::parse(state.json({}, {{1001}}))["findings"].empty());
}

TEST_CASE("a run that no event ends is over with its tasks, and lives again with the next") {
  constexpr std::size_t kMost = 64u << 10;
  StateTables state("s", std::make_shared<internal::Accounts>(), false, kMost);
  for (std::uint32_t i = 1; i <= 100; ++i) {
    Context context = in_task(i);
    context.run = "run" + std::to_string(i);
    context.run_key = Key{1000 + i};
    TaskStart start;
    start.context = std::make_shared<const Context>(context);
    state.add(start);
    state.add(ended(i, context));
    TaskFinish finish;
    finish.context = start.context;
    state.add(finish);
    state.add(snapshot());
  }
  const Json now = look(state);
  CHECK(now["runs"].size() < 20);
  CHECK(now["tasks"].size() < 20);
  CHECK_FALSE(now["runs"].empty());
}

TEST_CASE("the files of what was asked for are charged, and go where there is no room") {
  const auto accounts = std::make_shared<internal::Accounts>();
  StateTables state("s", accounts, false, 1u << 20);
  Context context = in_task(1);
  context.owner_uid = 1000;
  state.add(sampled(1, context, kSecond), 1000);
  const std::size_t before = accounts->all().at(1000).bytes;
  look(state, {.key = to_string(Key{1})});
  FileUse use;
  use.process = build::process({.pid = 1, .start_ns = kSecond, .context = context});
  use.opens = 1;
  use.read_bytes = 10;
  for (int i = 0; i < 500; ++i) {
    use.path = "/data/" + std::to_string(i);
    state.add(use, 1000);
  }
  CHECK(accounts->all().at(1000).bytes >= before + 500 * 1000);
  CHECK(look(state, {.key = to_string(Key{1})})["files"].size() > 10);
}

TEST_CASE("each viewer has sums of what it may see, and who sees all has those of all") {
  StateTables state("s");
  state.add(ended(1, in_task(1)), 1000);
  state.add(ended(2, in_task(1), 3 * kSecond), 1001);
  state.add(ended(3, in_task(2), 5 * kSecond), 1001);
  CHECK(look(state, {}, {{1000}})["tasks"].size() == 1);
  CHECK(look(state, {}, {{1000}})["tasks"][0]["cpu_ns"] == kSecond);
  CHECK(look(state, {}, {{1000}})["counts"]["processes"] == 1);
  CHECK(look(state, {}, {{1001}})["tasks"].size() == 2);
  CHECK(look(state, {}, {{1002}})["tasks"].empty());
  const Json root = look(state);
  REQUIRE(root["tasks"].size() == 2);
  CHECK(root["tasks"][0]["cpu_ns"] == 4 * kSecond);
  CHECK(root["runs"][0]["cpu_ns"] == 9 * kSecond);
  CHECK(root["counts"]["processes"] == 3);
  CHECK(root["counts"]["tasks"] == 2);
}

TEST_CASE("fields and rows are those that are wanted, and what there is not is refused") {
  StateTables state("s");
  state.add(ended(1, in_task(1)));
  const Json now = look(state, {.rows = {"tasks"}, .fields = {"name", "cpu_ns"}});
  CHECK_FALSE(now.contains("runs"));
  CHECK_FALSE(now.contains("counts"));
  const Json& task = now["tasks"][0];
  CHECK(task["cpu_ns"] == kSecond);
  CHECK(task["name"] == "t1");
  CHECK(task.contains("id"));
  CHECK_FALSE(task.contains("task_key"));
  CHECK_FALSE(task.contains("state"));
  CHECK_FALSE(task.contains("wall_ns"));
  CHECK_FALSE(task.contains("time"));
  CHECK_THROWS_AS(state.json({.rows = {"tables"}}), Error);
  CHECK_THROWS_AS(state.json({.fields = {"cpu"}}), Error);
  CHECK_THROWS_AS(state.json({.key = "xyz"}), Error);
}

TEST_CASE("with a key come what lives in it, and the files and peers since somebody asked") {
  StateTables state("s");
  state.add(sampled(1, in_task(1), kSecond));
  state.add(snapshot());
  FileUse use;
  use.process = build::process({.pid = 1, .start_ns = kSecond, .context = in_task(1)});
  use.path = "/data/in";
  use.opens = 1;
  use.read_bytes = 1000;
  use.time_ns = 6 * kSecond;
  state.add(use);
  const StateQuery query{.key = to_string(Key{1})};
  Json now = look(state, query);
  REQUIRE(now["processes"].size() == 1);
  CHECK(now["processes"][0]["pid"] == 1);
  CHECK(now["files"].empty());
  CHECK(now["touched_since_ns"] == 6 * kSecond);
  state.add(use);
  now = look(state, query);
  REQUIRE(now["files"].size() == 1);
  CHECK(now["files"][0]["read_bytes"] == 1000);
  CHECK_FALSE(look(state, {.key = to_string(Key{99})}).contains("processes"));
}

TEST_CASE("a reply has at most 1 MiB, and the next ones go on where it ended") {
  StateTables state("s");
  constexpr std::uint64_t kTasks = 5000;
  for (std::uint64_t task = 1; task <= kTasks; ++task)
    state.add(ended(static_cast<std::uint32_t>(task), in_task(task + 10)));
  std::set<std::string> seen;
  std::string from;
  std::size_t replies = 0;
  for (bool more = true; more; ++replies) {
    REQUIRE(replies < 100);
    const std::string text = state.json({.since = from});
    CHECK(text.size() <= 1u << 20);
    const Json now = Json::parse(text);
    for (const Json& row : now["tasks"]) seen.insert(row["id"].get<std::string>());
    more = now["more"].get<bool>();
    from = since(now);
  }
  CHECK(replies > 1);
  CHECK(seen.size() == kTasks);
  CHECK(look(state, {.since = from})["tasks"].empty());
}
