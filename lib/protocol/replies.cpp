// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <string>
#include <utility>

#include "protocol/json_fields.hpp"
#include "protocol/messages.hpp"

namespace tracer::internal {
namespace {

constexpr auto kOwnCostFields =
    std::tuple(std::pair("cpu_ns", &OwnCost::cpu_ns), std::pair("snapshots_cpu_ns", &OwnCost::snapshots_cpu_ns),
               std::pair("kernel_ns", &OwnCost::kernel_ns), std::pair("memory_bytes", &OwnCost::memory_bytes),
               std::pair("kernel_memory_bytes", &OwnCost::kernel_memory_bytes));

constexpr auto kStatisticsFields =
    std::tuple(std::pair("records", &Statistics::records), std::pair("record_bytes", &Statistics::record_bytes),
               std::pair("events", &Statistics::events), std::pair("callback_errors", &Statistics::callback_errors),
               std::pair("secrets_masked", &Statistics::secrets_masked),
               std::pair("announcements_met", &Statistics::announcements_met),
               std::pair("announcements_expired", &Statistics::announcements_expired),
               std::pair("announcements_refused", &Statistics::announcements_refused));

template <class T, class Fields>
void put_members(JsonOut& object, const T& value, const Fields& fields) {
  std::apply([&](const auto&... each) { (put_key(object, each.first, value.*each.second), ...); }, fields);
}
template <class T, class Fields>
void read_members(const Json& object, T& value, const Fields& fields) {
  std::apply([&](const auto&... each) { (read_key(object, each.first, value.*each.second), ...); }, fields);
}

std::string text_of(const JsonOut& value) { return value.dump(-1, ' ', false, JsonOut::error_handler_t::replace); }

std::string line_of(const JsonOut& object) { return text_of(object) + '\n'; }

JsonOut ok() { return {{"ok", true}}; }

JsonOut object_of_problem(const Problem& problem) {
  JsonOut object = {{"code", to_string(problem.code)}, {"message", problem.what}};
  if (!problem.fix.empty()) object["fix"] = problem.fix;
  return object;
}

JsonOut families_as_json(const std::vector<FamilyState>& families) {
  JsonOut list = JsonOut::array();
  for (const FamilyState& state : families) {
    JsonOut family = {{"family", to_string(state.family)}, {"active", state.active}, {"mechanism", state.mechanism}};
    if (state.problem) family["problem"] = object_of_problem(*state.problem);
    list.push_back(std::move(family));
  }
  return list;
}

bool is_known(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::kInternal:
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kPermission:
    case ErrorCode::kNoBtf:
    case ErrorCode::kKernelTooOld:
    case ErrorCode::kProgramRefused:
    case ErrorCode::kFilterNamesNothing:
    case ErrorCode::kContradiction:
    case ErrorCode::kNoMemory:
    case ErrorCode::kOverBudget:
    case ErrorCode::kFileUnreadable:
    case ErrorCode::kNotARecording:
    case ErrorCode::kNewerSchema:
    case ErrorCode::kCorruptRecording:
    case ErrorCode::kFileUnwritable:
    case ErrorCode::kInvalidRules:
    case ErrorCode::kInCallback:
    case ErrorCode::kOlderSchema:
    case ErrorCode::kPidNamespace:
    case ErrorCode::kNoGpu:
    case ErrorCode::kCommandNotFound:
    case ErrorCode::kCommandNotExecutable:
    case ErrorCode::kNoSuchUser:
    case ErrorCode::kNoService:
    case ErrorCode::kServiceVersion:
    case ErrorCode::kServiceRefused: return true;
  }
  return false;
}

/// A code that this version does not know is that of a refusal.
Problem problem_from(const Json& object) {
  Problem problem{ErrorCode::kServiceRefused, 0, {}, {}, {}};
  std::string code;
  read_key(object, "code", code);
  read_key(object, "message", problem.what);
  read_key(object, "fix", problem.fix);
  int number = 0;
  if (code.size() == 6 && code.starts_with("TRC")) std::from_chars(code.data() + 3, code.data() + code.size(), number);
  if (is_known(static_cast<ErrorCode>(number))) problem.code = static_cast<ErrorCode>(number);
  if (problem.what.empty()) problem.what = "the service refused a request, and does not say why";
  return problem;
}

/// Throws the refusal.
Json accepted(std::string_view line) {
  Json object = object_from(line);
  bool is_ok = false;
  require_key(object, "ok", is_ok);
  if (!is_ok) throw Error(problem_from(object));
  return object;
}

/// The member of an object that a reply must have.
const Json& member(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) refuse_line(fmt::format("\"{}\" is missing in a reply", name));
  return *found;
}

/// {"ok":true,"NAME":TEXT}, where the text is JSON.
std::string line_with(std::string_view name, std::string_view text) {
  return fmt::format("{{\"ok\":true,\"{}\":{}}}\n", name, text);
}

template <class E>
std::string events_line(std::string_view name, const std::vector<E>& events) {
  std::string text = "[";
  for (const E& event : events) {
    if (text.size() > 1) text += ',';
    text += to_json(Event(event));
  }
  return line_with(name, text + ']');
}

}  // namespace

std::string families_text(const std::vector<FamilyState>& families) { return text_of(families_as_json(families)); }

std::string ok_line() { return line_of(ok()); }

std::string to_line(const HelloReply& reply) {
  JsonOut object = ok();
  object["version"] = reply.version;
  object["tracer_version"] = reply.tracer_version;
  object["session_id"] = reply.session_id;
  object["uid"] = reply.uid;
  object["sees"] = reply.sees_all ? "all" : "own";
  object["families"] = families_as_json(reply.families);
  object["host"] = object_of(reply.host);
  object["findings"] = reply.findings;
  return line_of(object);
}

HelloReply hello_from(std::string_view line) {
  const Json object = accepted(line);
  HelloReply reply;
  require_key(object, "version", reply.version);
  read_key(object, "tracer_version", reply.tracer_version);
  read_key(object, "session_id", reply.session_id);
  require_key(object, "uid", reply.uid);
  std::string sees;
  require_key(object, "sees", sees);
  reply.sees_all = sees == "all";
  read_key(object, "host", reply.host);
  read_key(object, "findings", reply.findings);
  const auto families = object.find("families");
  if (families == object.end() || !families->is_array()) return reply;
  for (const Json& each : *families) {
    if (!each.is_object()) refuse_value("families", "a list of objects");
    std::string name;
    require_key(each, "family", name);
    const auto family = family_from_name(name);
    // A newer service has more of them.
    if (!family) continue;
    FamilyState state{*family, false, {}, {}};
    read_key(each, "active", state.active);
    read_key(each, "mechanism", state.mechanism);
    if (const auto problem = each.find("problem"); problem != each.end() && problem->is_object())
      state.problem = problem_from(*problem);
    reply.families.push_back(std::move(state));
  }
  return reply;
}

void expect_ok(std::string_view line) { static_cast<void>(accepted(line)); }

std::string to_line(const SubmitReply& reply) {
  JsonOut object = ok();
  object[reply.is_task ? "task_key" : "run_key"] = to_string(reply.key);
  return line_of(object);
}

Key submitted_from(std::string_view line) {
  const Json object = accepted(line);
  Key key{};
  require_key(object, object.contains("task_key") ? "task_key" : "run_key", key);
  return key;
}

std::string to_line(const LabelReply& reply) {
  JsonOut object = ok();
  object["label"] = reply.label;
  return line_of(object);
}

LabelReply label_from(std::string_view line) {
  LabelReply reply;
  require_key(accepted(line), "label", reply.label);
  return reply;
}

std::string to_line(const TotalsReply& reply) {
  JsonOut object = ok();
  object["totals"] = JsonOut::array();
  for (const ContextTotals& each : reply.totals) {
    JsonOut totals = JsonOut::object();
    totals["context"] = object_of(each.context);
    totals["contexts"] = each.contexts;
    totals["living"] = each.living;
    totals["ended"] = each.ended;
    totals["failed"] = each.failed;
    totals["account"] = object_of(each.account);
    object["totals"].push_back(std::move(totals));
  }
  return line_of(object);
}

TotalsReply totals_from(std::string_view line) {
  const Json object = accepted(line);
  TotalsReply reply;
  const Json& list = member(object, "totals");
  if (!list.is_array()) refuse_value("totals", "a list");
  for (const Json& each : list) {
    if (!each.is_object()) refuse_value("totals", "a list of objects");
    ContextTotals& totals = reply.totals.emplace_back();
    read_key(each, "context", totals.context);
    if (const auto context = each.find("context"); context != each.end() && context->is_object())
      read_key(*context, "provenance", totals.context.provenance);
    read_key(each, "contexts", totals.contexts);
    read_key(each, "living", totals.living);
    read_key(each, "ended", totals.ended);
    read_key(each, "failed", totals.failed);
    read_key(each, "account", totals.account);
  }
  return reply;
}

std::string to_line(const StatisticsReply& reply) {
  const Statistics& statistics = reply.statistics;
  JsonOut object = JsonOut::object();
  put_members(object, statistics, kStatisticsFields);
  object["cost"] = JsonOut::object();
  put_members(object["cost"], statistics.cost, kOwnCostFields);
  object["losses"] = JsonOut::object();
  for (const auto& [cause, count] : statistics.losses) object["losses"][cause] = count;
  JsonOut all = ok();
  all["statistics"] = std::move(object);
  return line_of(all);
}

StatisticsReply statistics_from(std::string_view line) {
  const Json all = accepted(line);
  const Json& object = member(all, "statistics");
  if (!object.is_object()) refuse_value("statistics", "an object");
  StatisticsReply reply;
  Statistics& statistics = reply.statistics;
  read_members(object, statistics, kStatisticsFields);
  if (const auto cost = object.find("cost"); cost != object.end() && cost->is_object())
    read_members(*cost, statistics.cost, kOwnCostFields);
  if (const auto losses = object.find("losses"); losses != object.end() && losses->is_object())
    for (const auto& [cause, count] : losses->items()) read_value(count, cause, statistics.losses[cause]);
  return reply;
}

std::string to_line(const SnapshotReply& reply) { return events_line("processes", reply.processes); }
std::string to_line(const FindingsReply& reply) { return events_line("findings", reply.findings); }

SnapshotReply snapshot_from(std::string_view line) {
  const Json object = accepted(line);
  SnapshotReply reply;
  read_value(member(object, "processes"), "processes", reply.processes);
  return reply;
}

FindingsReply findings_from(std::string_view line) {
  const Json object = accepted(line);
  FindingsReply reply;
  read_value(member(object, "findings"), "findings", reply.findings);
  return reply;
}

std::string to_line(const StatusReply& reply) { return line_with("status", reply.status); }
std::string to_line(const UsageReply& reply) { return line_with("usage", reply.usage); }
std::string to_line(const HistoryReply& reply) { return line_with("history", reply.history); }
std::string to_line(const StateReply& reply) { return line_with("state", reply.state); }
StatusReply status_from(std::string_view line) { return {member(accepted(line), "status").dump()}; }
StateReply state_from(std::string_view line) { return {member(accepted(line), "state").dump()}; }
UsageReply usage_from(std::string_view line) { return {member(accepted(line), "usage").dump()}; }
HistoryReply history_from(std::string_view line) { return {member(accepted(line), "history").dump()}; }

namespace {

using PastFile = RecordingsReply::File;
constexpr auto kPastFields =
    std::tuple(std::pair("owner_uid", &PastFile::owner_uid), std::pair("session_id", &PastFile::session_id),
               std::pair("number", &PastFile::number), std::pair("bytes", &PastFile::bytes),
               std::pair("written_ns", &PastFile::written_ns));

}  // namespace

std::string to_line(const RecordingsReply& reply) {
  JsonOut object = ok();
  object["by_owner"] = reply.by_owner;
  object["files"] = JsonOut::array();
  for (const PastFile& file : reply.files)
    put_members(object["files"].emplace_back(JsonOut::object()), file, kPastFields);
  object["more"] = reply.more;
  if (reply.next_ns != 0) object["next"] = reply.next_ns;
  return line_of(object);
}

RecordingsReply recordings_from(std::string_view line) {
  const Json object = accepted(line);
  RecordingsReply reply;
  require_key(object, "by_owner", reply.by_owner);
  const Json& list = member(object, "files");
  if (!list.is_array()) refuse_value("files", "a list");
  for (const Json& each : list) {
    if (!each.is_object()) refuse_value("files", "a list of objects");
    read_members(each, reply.files.emplace_back(), kPastFields);
  }
  read_key(object, "more", reply.more);
  read_key(object, "next", reply.next_ns);
  return reply;
}

std::string to_line(const FlushReply& reply) {
  JsonOut object = ok();
  object["sequence"] = reply.sequence;
  return line_of(object);
}

FlushReply flush_from(std::string_view line) {
  FlushReply reply;
  require_key(accepted(line), "sequence", reply.sequence);
  return reply;
}

std::string to_line(const SubscribeReply& reply) {
  JsonOut object = ok();
  object["sequence"] = reply.sequence;
  object["missed"] = reply.missed;
  object["living"] = reply.living;
  put_key(object, "stream", reply.stream);
  return line_of(object);
}

SubscribeReply subscribe_from(std::string_view line) {
  const Json object = accepted(line);
  SubscribeReply reply;
  require_key(object, "sequence", reply.sequence);
  read_key(object, "missed", reply.missed);
  read_key(object, "living", reply.living);
  read_key(object, "stream", reply.stream);
  return reply;
}

std::string refusal_line(const Error& error) {
  JsonOut object = {{"ok", false}};
  object.update(object_of_problem(error.problems().front()));
  if (error.code() == ErrorCode::kServiceVersion) object["versions"] = JsonOut::array({kProtocolVersion});
  return line_of(object);
}

}  // namespace tracer::internal
