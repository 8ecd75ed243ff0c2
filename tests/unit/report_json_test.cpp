// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include <tracer/report.hpp>

#include "base/event_schema.hpp"
#include "in_repository.hpp"
#include "report/report_parts.hpp"
#include "report/row_figures.hpp"
#include "summed_events.hpp"

using namespace tracer;
using namespace tracer::internal;
using namespace summed;

namespace {

/// The keys of each object of a report, by what docs/report.md calls it.
class Keys {
 public:
  explicit Keys(std::string_view json) : rest_(json) {
    value("The document");
    CHECK(rest_.empty());
  }
  const std::map<std::string, std::set<std::string>>& all() const { return all_; }

 private:
  static std::string section_of(const std::string& in, const std::string& key) {
    if (in == "critical_path") return in + '.' + key;
    static const std::set<std::string> rows = {"totals", "runs", "steps", "tasks", "samples", "tools", "processes"};
    return rows.contains(key) ? "Rows" : key;
  }
  char take() {
    REQUIRE_FALSE(rest_.empty());
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }
  std::string text() {
    std::string out;
    REQUIRE(take() == '"');
    for (char c = take(); c != '"'; c = take()) {
      if (c == '\\') out += c, c = take();
      out += c;
    }
    return out;
  }
  void value(const std::string& section) {
    if (rest_.front() == '{') {
      take();
      while (rest_.front() != '}') {
        const std::string key = text();
        REQUIRE(take() == ':');
        // Their keys are causes and names.
        const bool open = section == "losses" || section == "labels";
        if (!open) all_[section].insert(key);
        value(section_of(section, key));
        if (rest_.front() == ',') take();
      }
      take();
    } else if (rest_.front() == '[') {
      take();
      while (rest_.front() != ']') {
        value(section);
        if (rest_.front() == ',') take();
      }
      take();
    } else if (rest_.front() == '"') {
      text();
    } else {
      const std::size_t length = rest_.find_first_of(",]}");
      CHECK(rest_.substr(0, length) != "null");
      rest_.remove_prefix(length);
    }
  }

  std::string_view rest_;
  std::map<std::string, std::set<std::string>> all_;
};

std::vector<std::string> lines_of_file(const char* name) {
  std::ifstream file(in_repository(name));
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> documentation() { return lines_of_file("docs/report.md"); }

const char* name_of(Unit unit) {
  switch (unit) {
    case Unit::kNs: return "ns";
    case Unit::kBytes: return "bytes";
    default: return "";
  }
}

std::vector<std::string> table_of_figures() {
  std::vector<std::string> table = {"| key | unit | column | meaning |", "|---|---|---|---|"};
  each_row_figure([&](const auto& figure) {
    table.push_back("| `" + std::string(figure.name) + "` | " + name_of(figure.unit) + " | " +
                    (figure.head == nullptr ? "" : figure.head) + " | " + figure.meaning + " |");
  });
  return table;
}

constexpr const char* kKeyHead = "| key | unit | absent | meaning |";
constexpr const char* kKeyRule = "|---|---|---|---|";
constexpr const char* kLabels =
    "`run_key`, `task_key`, `pipeline`, `run`, `run_id`, `step`, `sample`, `task`, `task_id`, `attempt`, `engine`, "
    "`labels`";

/// Keys that are described alike, one after the other, have one line.
class PartTable {
 public:
  template <class T>
  void add() {
    each_part_key<T>([this]<class Get>(const PartKey<Get>& key) {
      using V = PartValue<T, Get>;
      if constexpr (std::is_same_v<V, Process>) {
        line("`tool`, `exe`, `argv`", std::string("| not known | ") + key.meaning);
        line("`pid`, `start_ns`", "| never | its identity");
      } else if constexpr (std::is_same_v<V, Context>) {
        line(kLabels, std::string("| not known | ") + key.meaning);
      } else {
        const std::string unit = *key.unit == '\0' ? "" : std::string(key.unit) + ' ';
        line('`' + std::string(key.name) + '`', unit + "| " + key.absent + " | " + key.meaning);
      }
    });
    end_line();
  }
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  void line(const std::string& names, const std::string& rest) {
    if (rest != rest_) end_line();
    names_ += (names_.empty() ? "" : ", ") + names;
    rest_ = rest;
  }
  void end_line() {
    if (!names_.empty()) lines_.push_back("| " + names_ + " | " + rest_ + " |");
    names_.clear();
  }

  std::vector<std::string> lines_ = {kKeyHead, kKeyRule};
  std::string names_;
  std::string rest_;
};

std::vector<std::string> table_of_part(const std::string& name) {
  PartTable table;
  each_report_part([&]<class T>() {
    if (name == ReportPart<T>::kName) table.add<T>();
  });
  return table.lines();
}

/// Those of a part of events, as their section of docs/fields.md describes them; there, `prefix` is in front of names.
template <Described T>
std::vector<std::string> table_of_fields(const std::string& section, const std::string& prefix) {
  std::map<std::string, std::string> units;
  each_field<T>([&]<class M>(const Field<T, M>& described) {
    units[described.name] = kIsListOfStructs<M> ? "objects" : name_of(described.unit);
  });
  std::vector<std::string> table = {kKeyHead, kKeyRule};
  bool in_section = false;
  for (const std::string& line : lines_of_file("docs/fields.md")) {
    if (line.starts_with("## ")) in_section = line == "## `" + section + '`';
    if (!in_section || !line.starts_with("| `" + prefix)) continue;
    const std::size_t meaning_at = line.find(" | ") + 3;
    const std::size_t null_at = line.find(" | ", meaning_at) + 3;
    std::string names = line.substr(2, meaning_at - 5);
    names.erase(1, prefix.size());
    std::string meaning = line.substr(meaning_at, null_at - 3 - meaning_at);
    std::string absent = line.substr(null_at, line.rfind(" |") - null_at);
    const auto unit = units.find(names.substr(1, names.find('`', 1) - 1));
    if (unit == units.end()) continue;
    if (names == "`context`") names = kLabels, absent = "not known";
    constexpr std::string_view kEmpty = "; empty if ";
    if (const std::size_t empty = meaning.find(kEmpty); empty != std::string::npos) {
      absent = meaning.substr(empty + kEmpty.size());
      meaning.resize(empty);
    }
    table.push_back("| " + names + " | " + unit->second + (unit->second.empty() ? "| " : " | ") + absent + " | " +
                    meaning + " |");
  }
  return table;
}

std::vector<std::string> table_of_fields(const std::string& name) {
  return name == "findings" ? table_of_fields<Finding>("finding", "")
                            : table_of_fields<Evidence>("finding", "evidence.");
}

/// `all` with the figures and keys as they are described now.
std::vector<std::string> filled(const std::vector<std::string>& all) {
  constexpr std::string_view kKeys = "<!-- keys: ";
  constexpr std::string_view kFields = "<!-- fields: ";
  std::vector<std::string> out;
  bool in_block = false;
  const auto begin = [&](const std::vector<std::string>& table) {
    in_block = true;
    out.emplace_back();
    out.insert(out.end(), table.begin(), table.end());
    out.emplace_back();
  };
  for (const std::string& line : all) {
    if (line.starts_with("<!-- end of ")) in_block = false;
    if (!in_block) out.push_back(line);
    if (line == "<!-- figures -->") begin(table_of_figures());
    const auto name_behind = [&line](std::string_view head) {
      return line.substr(head.size(), line.rfind(' ') - head.size());
    };
    if (line.starts_with(kKeys)) begin(table_of_part(name_behind(kKeys)));
    if (line.starts_with(kFields)) begin(table_of_fields(name_behind(kFields)));
  }
  return out;
}

/// The keys that each section lists.
std::map<std::string, std::set<std::string>> documented() {
  std::map<std::string, std::set<std::string>> all;
  std::string section;
  for (const std::string& line : documentation()) {
    if (line.starts_with("#")) section = line.substr(line.find(' ') + 1);
    if (!line.starts_with("| `")) continue;
    const std::string cell = line.substr(2, line.find(" |", 2) - 2);
    for (std::size_t at = cell.find('`'); at != std::string::npos; at = cell.find('`', cell.find('`', at + 1) + 1))
      all[section].insert(cell.substr(at + 1, cell.find('`', at + 1) - at - 1));
  }
  return all;
}

std::string without_bound(const std::string& key) {
  for (const std::string_view end : {"_at_least", "_at_most"})
    if (key.ends_with(end)) return key.substr(0, key.size() - end.size());
  return key;
}

ReportRow full_row() {
  ReportRow row;
  row.name = "ALIGN \"x\"\n";
  row.tasks = Figure{2, Bound::kAtLeast};
  row.wall_ns = row.lives_ns = row.first_start_ns = row.last_end_ns = 5;
  row.cpu_ns = Figure{7, Bound::kAtLeast};
  row.cpu_utilization = 1.5;
  row.concurrency = 2.25;
  row.parallelism = 3.5;
  row.memory_bytes = Figure{100, Bound::kAtLeast};
  row.memory_at_most_bytes = 200;
  row.read_bytes = Figure{3, Bound::kAtMost};
  row.written_bytes = Figure{4};
  row.network_received_bytes = row.network_sent_bytes = Figure{5};
  row.time = {{TimeCause::kCpu, 7, 0.5}, {TimeCause::kLock, 7, 0.5}};
  row.task_ledger = TaskLedger{.computing_ns = 4, .disk_ns = 1, .wall_ns = 5, .computing_at_most_ns = 5};
  row.waits_for = {{Key{5}, "sort", 3}};
  row.bound_by = "disk";
  row.bound_share = 0.75;
  row.requested = {.millicpus = 1500, .memory_bytes = 9, .time_ns = 8, .container = "image", .tag = "t"};
  row.requested_use = {RequestedPart{1, 4000, Figure{1200}, {}}, RequestedPart{2, 8, Figure{5, Bound::kAtLeast}, 6}};
  row.submitted = {false, "submitted", "unknown", 5};
  row.queued = row.elsewhere = row.withdrawn = row.expired = row.queued_ns = 1;
  return row;
}

Context full_context() {
  Context context;
  context.pipeline = "p", context.run = "r", context.run_id = "id", context.step = "s", context.sample = "n";
  context.task = "t", context.task_id = "1", context.attempt = 2, context.engine = "nextflow";
  context.labels = {{"null", "v"}};
  context.run_key = Key{0xab}, context.task_key = Key{1};
  return context;
}

/// One with all that a report can have.
Report full_report() {
  build::ProcessSpec spec{.pid = 7, .start_ns = 3, .tool = "a", .context = full_context()};
  spec.exe = "/bin/a";
  spec.argv = std::vector<std::string>{"a", "b"};
  const auto process = build::process(spec);
  Report report;
  report.total = full_row();
  report.tools = report.samples = report.processes = {full_row()};
  report.processes[0].process = process;
  ReportNode run{SummaryLevel::kRun, full_row(), {}};
  run.row.task.run_key = Key{0xab};
  ReportNode step{SummaryLevel::kStep, full_row(), {}};
  ReportNode task{SummaryLevel::kTask, full_row(), {{SummaryLevel::kTool, full_row(), {}}}};
  task.row.task = full_context();
  ReportNode measured = task;
  measured.row.cpu_ns->bound = Bound::kExact;
  step.below = {task, measured};
  run.below = {step};
  report.tree = {run};
  Failure failure{
      .process = process, .exit_code = 1, .exit_signal = 9, .exit_signal_sender = "process", .oom_killed = false};
  failure.sent_by = failure.ignored_by = process;
  failure.passed_on_by = {process};
  report.failures = {failure};
  report.findings = {{.time_ns = 9,
                      .finding_key = Key{0x1f},
                      .code = "oom_kill",
                      .severity = "error",
                      .confidence = "high",
                      .subject = "process",
                      .state = "closed",
                      .context = process->context,
                      .pid = 7,
                      .start_ns = 3,
                      .tool = "a",
                      .first_ns = 8,
                      .last_ns = 9,
                      .text = "a \x1b was killed",
                      .advice = "more memory",
                      .evidence = {{"limit_bytes", 512, "bytes", {}}, {"how", {}, {}, "was ended"}}}};
  ProcessSample sample;
  sample.process = process;
  sample.account.cpu_ns = sample.account.read_bytes = sample.account.written_bytes = 1;
  report.survivors = {{sample, 3}};
  report.critical_paths = {{Key{0xab}, {{Key{1}, "a", 1, 2, true}, {Key{2}, "b", 2, 3, false}}, 2, 3, true, 1}};
  report.pipelines = {{{"a", "b"}, "a", 0.25, 0.5, "", 9}};
  CgroupSample cgroup;
  cgroup.cgroup = std::make_shared<const Cgroup>(Cgroup{.path = "/x"});
  cgroup.memory_bytes = cgroup.held_bytes = cgroup.file_bytes = cgroup.shmem_bytes = cgroup.kernel_bytes = 1;
  cgroup.unexplained_bytes = 1;
  report.cgroups = {{5, false, cgroup, true}};
  report.files = {{.path = "/d/a", .read_by = "a", .written_by = "b", .opens = 1, .read_bytes = 2, .written_bytes = 3}};
  report.file_systems = {{.filesystem = "ext4", .read_bytes = 2, .written_bytes = 3}};
  report.peers = {{.tool = "a",
                   .protocol = "tcp",
                   .role = "client",
                   .address = "10.0.0.1",
                   .port = 443,
                   .failed_connects = 1,
                   .error = 111}};
  report.devices = {{.name = "vda", .busy_ns = 1, .tool = "a", .task = "t", .tool_bytes = 1}};
  report.gpus = {{.gpu = "nvidia0",
                  .name = "A100",
                  .busy_ns = 1,
                  .used_ns = 1,
                  .memory_peak_bytes = 1,
                  .capacity_bytes = 1,
                  .tool = "a",
                  .task = "t",
                  .tool_peak_bytes = 1}};
  report.verdict = "align.sh succeeded (status 0) in 1.2 s";
  report.instance_types = {"m5.large"};
  report.price = HourlyPrice{.usd_per_hour = "1",
                             .usd_per_cpu_hour = "0.1",
                             .usd_per_gib_hour = "0.01",
                             .instance_type = "m5.large",
                             .region = "eu-west-1",
                             .model = "on-demand",
                             .basis = "listed",
                             .date = "2026-11-01"};
  report.completeness.losses = {{"ring_full_exit", 3}};
  report.completeness.missing = {{Family::kWaits, false, "", Problem{ErrorCode::kKernelTooOld, 0, "w", "f", {}}}};
  report.completeness.missed_at_most = 5;
  report.completeness.ended = 4;
  report.cost = {1, 1, 1, 1, 1, 1, 0.5};
  return report;
}

}  // namespace

TEST_CASE("docs/report.md lists the figures of rows as they are described") {
  // TRACER_UPDATE_GOLDEN=1 writes them.
  const std::vector<std::string> now = filled(documentation());
  if (std::getenv("TRACER_UPDATE_GOLDEN") != nullptr) {
    std::ofstream file(in_repository("docs/report.md"));
    for (const std::string& line : now) file << line << '\n';
  }
  CHECK(documentation() == now);
}

TEST_CASE("each key of a report's JSON is documented, and each documented key can occur") {
  const Keys keys(to_json(full_report()));
  const auto known = documented();
  for (const auto& each : keys.all())
    for (const std::string& key : each.second) {
      const std::string& section = each.first;
      CAPTURE(section);
      CAPTURE(key);
      const auto list = known.find(section);
      REQUIRE(list != known.end());
      CHECK((list->second.contains(key) || list->second.contains(without_bound(key))));
    }
  for (const auto& each : known) {
    const std::string& section = each.first;
    CAPTURE(section);
    const auto present = keys.all().find(section);
    REQUIRE(present != keys.all().end());
    for (const std::string& key : each.second) {
      CAPTURE(key);
      const auto occurs = [&](const std::string& one) { return present->second.contains(one); };
      CHECK((occurs(key) || occurs(key + "_at_least") || occurs(key + "_at_most")));
    }
  }
}

TEST_CASE("what is not known is absent from a report's JSON, and a bound is called one") {
  Report report;
  report.total.name = "total";
  CHECK(to_json(report).find(R"("totals":{"name":"total","processes":0,"living":0,"failed":0},"runs":[])") !=
        std::string::npos);

  report.total = full_row();
  const std::string json = to_json(report);
  for (const char* part :
       {R"("name":"ALIGN \"x\"\u000a")", R"("tasks_at_least":2)", R"("cpu_ns_at_least":7)",
        R"("cpu_utilization_at_least":1.5)", R"("memory_bytes_at_least":100,"memory_bytes_at_most":200)",
        R"("parallelism":3.5)", R"("bound_by":"disk","bound_share":0.75)",
        R"("task_ledger":{"computing_ns":4,"queued_ns":0)",
        R"("waits_for":[{"task_key":"0000000000000005","name":"sort","wait_ns":3,"cause":"pipe"}])",
        R"("read_bytes_at_most":3)", R"("written_bytes":4)", R"("cause":"CPU","time_ns":7,"share":0.5)"}) {
    CAPTURE(part);
    CHECK(json.find(part) != std::string::npos);
  }
  CHECK(json.find(R"("cpu_ns":7)") == std::string::npos);
}

TEST_CASE("rows of runs, steps and tasks have keys, and runs and steps the number of their tasks") {
  const auto task = [](std::uint32_t pid, const char* id, Key key) {
    ProcessExit exit =
        *exit_of({.pid = pid, .tool = "bwa", .start_ns = 100, .end_ns = 300, .cpu_ns = 50}).get_if<ProcessExit>();
    Context context{.run = "r1", .step = "ALIGN", .task_id = id, .engine = "nextflow", .run_id = "r1"};
    context.run_key = Key{0xfeed}, context.task_key = key;
    context.labels = {{"tag", id}};
    exit.process = build::process({.pid = pid, .start_ns = 0, .tool = "bwa", .context = context});
    return Event(exit);
  };
  const Report report = make_report(whole_summary_of({task(1, "a", Key{1}), task(2, "b", Key{2})}));
  CHECK(report.tree.at(0).row.tasks == Figure{2});
  CHECK(report.tree.at(0).below.at(0).row.tasks == Figure{2});
  CHECK_FALSE(report.total.tasks.has_value());
  CHECK(sum_of_reports({report, report}, {0, 0}).tree.at(0).row.tasks == Figure{2});
  const std::string json = to_json(report);
  const std::string run = json.substr(json.find("\"runs\""), json.find("\"steps\"") - json.find("\"runs\""));
  CHECK(run.find(R"("run_key":"000000000000feed")") != std::string::npos);
  CHECK(run.find(R"("tasks":2)") != std::string::npos);
  const std::string step = json.substr(json.find("\"steps\":["), json.find("\"tasks\":[") - json.find("\"steps\":["));
  CHECK(step.find(R"("name":"ALIGN","run_key":"000000000000feed")") != std::string::npos);
  CHECK(step.find("task_key") == std::string::npos);
  CHECK(step.find(R"("tasks":2)") != std::string::npos);
  CHECK(json.find(R"("task_key":"0000000000000002")") != std::string::npos);
  CHECK(json.find(R"("labels":{"tag":"b"})") != std::string::npos);
  // Each machine may give a task labels of its own.
  Report other = report;
  for (ReportNode& node : other.tree.at(0).below.at(0).below) node.row.task.labels = {{"container", "x"}};
  CHECK(sum_of_reports({report, other}, {0, 0}).tree.at(0).row.tasks == Figure{2});
}

TEST_CASE("a finding in a report's JSON has all fields; in a sum, the worst come first and times are of one clock") {
  const Report report = full_report();
  const std::string json = to_json(report);
  CHECK(
      json.find(R"("findings":[{"time_ns":9,"finding_key":"000000000000001f","code":"oom_kill","severity":"error")") !=
      std::string::npos);
  CHECK(json.find(R"("text":"a \u001b was killed","advice":"more memory","evidence":[{"name":"limit_bytes",)"
                  R"("value":512,"unit":"bytes"},{"name":"how","text":"was ended"}])") != std::string::npos);
  Report note = report;
  note.findings[0].severity = "note";
  const Report sum = sum_of_reports({note, report}, {0, 5});
  REQUIRE(sum.findings.size() == 2);
  CHECK(sum.findings[0].severity == "error");
  CHECK(sum.findings[0].first_ns == 13);
  CHECK(sum.findings[1].first_ns == 8);
}

TEST_CASE("rows that are added have the task ledger of both, or none, and what bounds them by both") {
  Report report;
  report.total.name = "total";
  report.total.task_ledger = TaskLedger{.computing_ns = 90, .disk_ns = 10, .wall_ns = 100, .computing_at_most_ns = 90};
  report.total.time = {{TimeCause::kCpu, 90, 0.9}, {TimeCause::kDisk, 10, 0.1}};
  report.total.bound_by = "compute";
  Report other = report;
  other.total.task_ledger = TaskLedger{.disk_ns = 300, .wall_ns = 300};
  other.total.time = {{TimeCause::kDisk, 300, 1.0}};
  const Report both = sum_of_reports({report, other}, {0, 0});
  REQUIRE(both.total.task_ledger.has_value());
  CHECK(both.total.task_ledger->disk_ns == 310);
  CHECK(both.total.task_ledger->wall_ns == 400);
  CHECK(both.total.bound_by == "disk");
  CHECK(*both.total.bound_share == doctest::Approx(0.775));
  other.total.task_ledger.reset();
  CHECK_FALSE(sum_of_reports({report, other}, {0, 0}).total.task_ledger.has_value());
}
