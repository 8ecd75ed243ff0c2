// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <string>
#include <utility>

#include "base/bounded_json.hpp"
#include "protocol/context_json.hpp"
#include "protocol/filter_json.hpp"
#include "protocol/json_fields.hpp"
#include "protocol/line_splitter.hpp"
#include "protocol/messages.hpp"

namespace tracer::internal {

Json object_from(std::string_view line, bool from_client) {
  BoundedJson read = bounded_json(line, {.most_depth = kMaxJsonDepth,
                                         .most_values = from_client ? kMostRequestValues : kMaxReplyBytes,
                                         .nul = !from_client});
  switch (read.fault) {
    case JsonFault::kNone: break;
    case JsonFault::kMalformed: refuse_line(fmt::format("a line is no JSON, at byte {}", read.byte));
    case JsonFault::kTooDeep:
      refuse_line(fmt::format("a line has more than {} objects and lists in each other", kMaxJsonDepth));
    case JsonFault::kTooMany: refuse_line(fmt::format("a line has more than {} values", kMostRequestValues));
    case JsonFault::kNul: refuse_line("a text in a line has NUL in it");
  }
  if (!read.json.is_object()) refuse_line("a line is no JSON object");
  return std::move(read.json);
}

namespace {

OfProcess process_from(const Json& object) {
  OfProcess process;
  require_key(object, "pid", process.pid);
  read_key(object, "start_ns", process.start_ns);
  return process;
}

JsonOut object_of_process(const OfProcess& process) {
  JsonOut object = {{"pid", process.pid}};
  put_key(object, "start_ns", process.start_ns);
  return object;
}

AnnouncementKey key_from_json(const Json& key) {
  const auto has = [&key](const char* name) {
    const auto found = key.find(name);
    return found != key.end() && !found->is_null();
  };
  std::string named;
  for (const char* const name : {"work_dir", "pid", "cgroup", "container", "slurm_job", "below"}) {
    if (!has(name)) continue;
    if (!named.empty())
      refuse_line(fmt::format("\"key\" of an announcement has both {} and {}", named, name), "announce each by itself");
    named = name;
  }
  if (has("work_dir")) {
    InWorkDir folder;
    require_key(key, "work_dir", folder.path);
    return folder;
  }
  if (has("pid")) return process_from(key);
  if (has("cgroup")) {
    InCgroup cgroup;
    require_key(key, "cgroup", cgroup.path);
    return cgroup;
  }
  if (has("container")) {
    InContainer container;
    require_key(key, "container", container.id);
    return container;
  }
  if (has("slurm_job")) {
    InSlurmJob job;
    require_key(key, "slurm_job", job.id);
    return job;
  }
  const auto below = key.find("below");
  if (below == key.end() || !below->is_object())
    refuse_line("\"key\" of an announcement names nothing",
                "give work_dir, pid, cgroup, container, slurm_job, or below and argv");
  BelowProcess process{process_from(*below), {}};
  require_key(key, "argv", process.argv);
  return process;
}

JsonOut object_of_key(const InWorkDir& key) { return {{"work_dir", key.path}}; }
JsonOut object_of_key(const OfProcess& key) { return object_of_process(key); }
JsonOut object_of_key(const InCgroup& key) { return {{"cgroup", key.path}}; }
JsonOut object_of_key(const InContainer& key) { return {{"container", key.id}}; }
JsonOut object_of_key(const InSlurmJob& key) { return {{"slurm_job", key.id}}; }
JsonOut object_of_key(const BelowProcess& key) {
  return {{"below", object_of_process(key.process)}, {"argv", key.argv}};
}

/// The field `expires_after_s` of a request.
constexpr std::uint64_t kLongestExpiryS = 100ull * 365 * 24 * 3600;

std::chrono::milliseconds expiry_in(const Json& object, std::chrono::milliseconds otherwise) {
  std::optional<std::uint64_t> expires_after_s;
  read_key(object, "expires_after_s", expires_after_s);
  if (!expires_after_s) return otherwise;
  if (*expires_after_s > kLongestExpiryS) refuse_value("expires_after_s", "a number of seconds of at most 100 years");
  return std::chrono::seconds(*expires_after_s);
}

void read_request(const Json& object, HelloRequest& request) { read_key(object, "version", request.version); }
void read_request(const Json& object, AnnounceRequest& request) {
  const auto key = object.find("key");
  if (key == object.end() || !key->is_object()) refuse_line("\"key\" of an announcement is missing, or no object");
  Announcement& announcement = request.announcement;
  announcement.key = key_from_json(*key);
  announcement.context = given_context(object);
  read_key(object, "requested", announcement.requested);
  announcement.expires_after = expiry_in(object, announcement.expires_after);
}
void read_request(const Json& object, SubmitRequest& request) {
  Submission& submission = request.submission;
  submission.context = given_context(object);
  read_key(object, "requested", submission.requested);
  submission.expires_after = expiry_in(object, submission.expires_after);
  const auto expected = object.find("expected");
  if (expected == object.end() || expected->is_null()) return;
  if (!expected->is_object()) refuse_value("expected", "an object of steps and numbers");
  for (const auto& [step, tasks] : expected->items()) {
    std::uint64_t count = 0;
    require_key(*expected, step.c_str(), count);
    submission.expected.push_back({step, count});
  }
}
void read_request(const Json& object, WithdrawRequest& request) {
  Withdrawal& withdrawal = request.withdrawal;
  std::optional<Key> task_key;
  std::optional<Key> run_key;
  read_key(object, "task_key", task_key);
  read_key(object, "run_key", run_key);
  if (task_key.has_value() == run_key.has_value()) refuse_line("one of \"task_key\" and \"run_key\" is wanted");
  withdrawal.key = task_key ? *task_key : *run_key;
  require_key(object, "state", withdrawal.outcome);
  read_key(object, "exit_code", withdrawal.exit_code);
}
void read_request(const Json& object, AttachRequest& request) {
  require_key(object, "pid", request.pid);
  read_key(object, "command", request.command);
  read_key(object, "held", request.held);
  read_key(object, "stream", request.stream);
  request.context = given_context(object);
}
void read_request(const Json& object, LabelRequest& request) {
  require_key(object, "tid", request.tid);
  request.context = given_context(object);
}
void read_request(const Json& object, EndLabelRequest& request) { require_key(object, "label", request.label); }
void read_request(const Json& object, ResumeLabelRequest& request) {
  require_key(object, "label", request.label);
  require_key(object, "tid", request.tid);
}
void read_request(const Json& object, UnlabelRequest& request) { require_key(object, "tid", request.tid); }
void read_request(const Json& object, OwnWorkRequest& request) {
  request.context = given_context(object);
  const auto work = object.find("work");
  if (work == object.end() || !work->is_object()) refuse_line("\"work\" is missing, or no object");
  require_key(*work, "begin_ns", request.work.begin_ns);
  require_key(*work, "end_ns", request.work.time_ns);
  read_fields(*work, request.work.account);
}
void read_request(const Json&, TotalsRequest&) {}
void read_request(const Json&, StatisticsRequest&) {}
void read_request(const Json&, StatusRequest&) {}
void read_request(const Json&, SnapshotRequest&) {}
void read_request(const Json& object, StateRequest& request) {
  read_key(object, "since", request.query.since);
  read_key(object, "rows", request.query.rows);
  read_key(object, "key", request.query.key);
  read_key(object, "fields", request.query.fields);
}
void read_request(const Json& object, FindingsRequest& request) { read_key(object, "since_ns", request.since_ns); }
void read_request(const Json& object, HistoryRequest& request) {
  read_key(object, "pipeline", request.pipeline);
  read_key(object, "step", request.step);
  read_key(object, "input_bytes", request.input_bytes);
}
void read_request(const Json& object, RecordingsRequest& request) { read_key(object, "since", request.since_ns); }
void read_request(const Json&, UsageRequest&) {}
void read_request(const Json& object, FlushRequest& request) { read_key(object, "stream", request.stream); }
void read_request(const Json& object, SubscribeRequest& request) {
  read_key(object, "kinds", request.kinds);
  read_key(object, "from", request.from);
  read_key(object, "living_first", request.living_first);
  read_key(object, "capacity_bytes", request.capacity_bytes);
  if (const auto filter = object.find("filter"); filter != object.end() && !filter->is_null())
    read_filter(*filter, request.filter);
  read_key(object, "stream", request.stream);
}

void put_request(JsonOut& object, const HelloRequest& request) { object["version"] = request.version; }
void put_request(JsonOut& object, const AnnounceRequest& request) {
  const Announcement& announcement = request.announcement;
  object["key"] = std::visit([](const auto& key) { return object_of_key(key); }, announcement.key);
  object["context"] = object_of_given(announcement.context);
  if (JsonOut requested = object_of(announcement.requested); !requested.empty())
    object["requested"] = std::move(requested);
  // Rounded up: it must not expire before its time.
  object["expires_after_s"] = std::chrono::ceil<std::chrono::seconds>(announcement.expires_after).count();
}
void put_request(JsonOut& object, const SubmitRequest& request) {
  const Submission& submission = request.submission;
  object["context"] = object_of_given(submission.context);
  if (JsonOut requested = object_of(submission.requested); !requested.empty())
    object["requested"] = std::move(requested);
  for (const ExpectedTasks& each : submission.expected) object["expected"][each.step] = each.tasks;
  object["expires_after_s"] = std::chrono::ceil<std::chrono::seconds>(submission.expires_after).count();
}
void put_request(JsonOut& object, const WithdrawRequest& request) {
  object["task_key"] = to_string(request.withdrawal.key);
  object["state"] = request.withdrawal.outcome;
  put_key(object, "exit_code", request.withdrawal.exit_code);
}
void put_request(JsonOut& object, const AttachRequest& request) {
  object["pid"] = request.pid;
  if (request.command) object["command"] = true;
  if (request.held) object["held"] = true;
  put_key(object, "stream", request.stream);
  object["context"] = object_of_given(request.context);
}
void put_request(JsonOut& object, const LabelRequest& request) {
  object["tid"] = request.tid;
  object["context"] = object_of_given(request.context);
}
void put_request(JsonOut& object, const EndLabelRequest& request) { object["label"] = request.label; }
void put_request(JsonOut& object, const ResumeLabelRequest& request) {
  object["label"] = request.label;
  object["tid"] = request.tid;
}
void put_request(JsonOut& object, const UnlabelRequest& request) { object["tid"] = request.tid; }
void put_request(JsonOut& object, const OwnWorkRequest& request) {
  object["context"] = object_of_given(request.context);
  JsonOut work = object_of(request.work.account);
  work["begin_ns"] = request.work.begin_ns;
  work["end_ns"] = request.work.time_ns;
  object["work"] = std::move(work);
}
void put_request(JsonOut&, const TotalsRequest&) {}
void put_request(JsonOut&, const StatisticsRequest&) {}
void put_request(JsonOut&, const StatusRequest&) {}
void put_request(JsonOut&, const SnapshotRequest&) {}
void put_request(JsonOut& object, const StateRequest& request) {
  const StateQuery& query = request.query;
  if (!query.since.empty()) object["since"] = query.since;
  if (!query.rows.empty()) object["rows"] = query.rows;
  if (!query.key.empty()) object["key"] = query.key;
  if (!query.fields.empty()) object["fields"] = query.fields;
}
void put_request(JsonOut& object, const FindingsRequest& request) { put_key(object, "since_ns", request.since_ns); }
void put_request(JsonOut& object, const HistoryRequest& request) {
  put_key(object, "pipeline", request.pipeline);
  put_key(object, "step", request.step);
  put_key(object, "input_bytes", request.input_bytes);
}
void put_request(JsonOut& object, const RecordingsRequest& request) { put_key(object, "since", request.since_ns); }
void put_request(JsonOut&, const UsageRequest&) {}
void put_request(JsonOut& object, const FlushRequest& request) { put_key(object, "stream", request.stream); }
void put_request(JsonOut& object, const SubscribeRequest& request) {
  for (const EventKind kind : request.kinds) object["kinds"].push_back(to_string(kind));
  put_key(object, "from", request.from);
  if (request.living_first) object["living_first"] = true;
  put_key(object, "capacity_bytes", request.capacity_bytes);
  if (!request.filter.rules().empty()) object["filter"] = list_of(request.filter);
  put_key(object, "stream", request.stream);
}

/// A service says so, of whatever version it is.
constexpr std::string_view kNoSuchRequest = "there is no request";

template <std::size_t at = 0>
Request read_named(const std::string& name, const Json& object) {
  if constexpr (at == std::variant_size_v<Request>) {
    refuse_line(fmt::format("{} \"{}\"", kNoSuchRequest, name.substr(0, 100)),
                "see docs/protocol.md; a newer client can ask for less");
  } else {
    using One = std::variant_alternative_t<at, Request>;
    if (name != One::kName) return read_named<at + 1>(name, object);
    One request;
    read_request(object, request);
    return request;
  }
}

}  // namespace

Request request_from(std::string_view line) {
  const Json object = object_from(line, true);
  std::string name;
  require_key(object, "request", name);
  return read_named(name, object);
}

bool is_unknown_request(const Error& error) noexcept {
  return error.code() == ErrorCode::kServiceRefused && error.problems().front().what.starts_with(kNoSuchRequest);
}

std::string to_line(const Request& request) {
  JsonOut object = JsonOut::object();
  std::visit(
      [&object](const auto& each) {
        object["request"] = each.kName;
        put_request(object, each);
      },
      request);
  return object.dump(-1, ' ', false, JsonOut::error_handler_t::replace) + '\n';
}

}  // namespace tracer::internal
