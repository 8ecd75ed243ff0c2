// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <span>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include <tracer/error.hpp>

#include "builders.hpp"
#include "protocol/line_splitter.hpp"
#include "protocol/messages.hpp"
#include "sample_events.hpp"

using namespace tracer;
using namespace tracer::internal;

namespace {

std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

std::string_view without_end(std::string_view line) {
  CHECK(line.ends_with('\n'));
  CHECK(line.find('\n') == line.size() - 1);
  return line.substr(0, line.size() - 1);
}

template <class R>
R sent(const R& request) {
  const std::string line = to_line(Request(request));
  return std::get<R>(request_from(without_end(line)));
}

/// What was no UTF-8 is U+FFFD once it was sent, and not escaped again.
std::string with_plain_marks(std::string text) {
  for (std::size_t at = text.find("\\ufffd"); at != std::string::npos; at = text.find("\\ufffd", at))
    text.replace(at, 6, "\xef\xbf\xbd");
  return text;
}

template <class F>
ErrorCode code_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode{};
}

bool is_refused(std::string_view line) {
  return code_of([&] { request_from(line); }) == ErrorCode::kServiceRefused;
}

}  // namespace

TEST_CASE("every request is what it was, once it was sent") {
  CHECK(sent(HelloRequest{7}).version == 7);

  Context context;
  context.pipeline = "rnaseq";
  context.step = "ALIGN";
  context.task_id = "a\"b\\c\nd";
  context.attempt = 2;
  context.labels = {{"lane", "L1"}, {"owner", "ö"}};
  const std::vector<AnnouncementKey> keys = {InWorkDir{"/scratch/a b"},
                                             OfProcess{12, 34},
                                             OfProcess{12, {}},
                                             InCgroup{"/slurm/job_12"},
                                             InContainer{"0123456789ab"},
                                             InSlurmJob{"12"},
                                             BelowProcess{{5, 6}, {"...", "align.sh", "..."}}};
  for (const AnnouncementKey& key : keys) {
    AnnounceRequest request;
    request.announcement = {key, context, {.millicpus = 2500, .container = "img"}, std::chrono::milliseconds(1500)};
    const Announcement got = sent(request).announcement;
    CHECK(to_line(Request(AnnounceRequest{got})) == to_line(Request(sent(AnnounceRequest{got}))));
    CHECK(got.key.index() == key.index());
    CHECK(got.context == context);
    CHECK(got.requested == request.announcement.requested);
    CHECK(got.expires_after == std::chrono::seconds(2));
  }
  CHECK(std::get<InWorkDir>(sent(AnnounceRequest{{InWorkDir{"/x"}, context, {}, {}}}).announcement.key).path == "/x");
  CHECK(sent(AttachRequest{42, context}).pid == 42);
  CHECK(sent(AttachRequest{42, context}).context == context);
  CHECK(sent(LabelRequest{43, context}).tid == 43);
  CHECK(sent(EndLabelRequest{18446744073709551615u}).label == 18446744073709551615u);
  CHECK(sent(ResumeLabelRequest{7, 44}).tid == 44);
  CHECK(sent(UnlabelRequest{45}).tid == 45);
  OwnWorkRequest work;
  work.context = context;
  work.work.begin_ns = 5;
  work.work.time_ns = 9;
  work.work.account.cpu_at_least_ns = 3;
  work.work.account.cpu_ns = 4;
  work.work.account.read_bytes = 17;
  const OwnWorkRequest got_work = sent(work);
  CHECK(got_work.work.time_ns == 9);
  CHECK(got_work.work.account.cpu_at_least_ns == 3u);
  CHECK(got_work.work.account.cpu_ns == 4u);
  CHECK(got_work.work.account.read_bytes == 17u);
  CHECK_FALSE(got_work.work.account.written_bytes.has_value());
  CHECK(sent(FindingsRequest{99}).since_ns == 99u);
  CHECK_FALSE(sent(FindingsRequest{}).since_ns.has_value());
  sent(TotalsRequest{});
  sent(StatisticsRequest{});
  sent(StatusRequest{});
  sent(UsageRequest{});
  sent(SnapshotRequest{});
  const StateQuery query = sent(StateRequest{{"a.7", {"tasks", "counts"}, "00ff00ff00ff00ff", {"cpu_ns"}}}).query;
  CHECK(query.since == "a.7");
  CHECK(query.rows == std::vector<std::string>{"tasks", "counts"});
  CHECK(query.key == "00ff00ff00ff00ff");
  CHECK(query.fields == std::vector<std::string>{"cpu_ns"});
  CHECK(to_line(Request(StateRequest{})) == "{\"request\":\"state\"}\n");
  CHECK(sent(StateRequest{}).query.rows.empty());
  const HistoryRequest history = sent(HistoryRequest{.pipeline = "p", .step = "s", .input_bytes = 7});
  CHECK(history.pipeline == "p");
  CHECK(history.step == "s");
  CHECK(history.input_bytes == 7u);
  CHECK_FALSE(sent(HistoryRequest{}).pipeline.has_value());
  CHECK(sent(RecordingsRequest{.since_ns = 5}).since_ns == 5u);
  CHECK_FALSE(sent(RecordingsRequest{}).since_ns.has_value());
  RecordingsReply past{.by_owner = true, .more = true, .next_ns = 12};
  past.files.push_back({1000, "id", 3, 4096, 11});
  const RecordingsReply told = recordings_from(to_line(past));
  CHECK((told.by_owner && told.more && told.next_ns == 12 && told.files.size() == 1));
  CHECK((told.files[0].owner_uid == 1000 && told.files[0].session_id == "id" && told.files[0].number == 3));
  CHECK((told.files[0].bytes == 4096 && told.files[0].written_ns == 11));
  CHECK_FALSE(recordings_from(to_line(RecordingsReply{})).by_owner);
  sent(FlushRequest{});
  const SubscribeRequest subscribe =
      sent(SubscribeRequest{{EventKind::kProcessExit, EventKind::kTaskFinish}, 12, true, 1u << 20});
  CHECK(subscribe.kinds == std::vector{EventKind::kProcessExit, EventKind::kTaskFinish});
  CHECK(subscribe.from == 12u);
  CHECK(subscribe.living_first);
  CHECK(subscribe.capacity_bytes == 1u << 20);
  CHECK(subscribe.filter.rules().empty());
  CHECK_FALSE(subscribe.stream.has_value());
  CHECK(sent(SubscribeRequest{.from = 3, .stream = 8}).stream == 8u);
  CHECK(sent(FlushRequest{9}).stream == 9u);
  AttachRequest into_stream{42, {}};
  into_stream.stream = 10;
  CHECK(sent(into_stream).stream == 10u);
}

TEST_CASE("a filter is what it was, once it was sent, without its labels") {
  const Filter filter = Filter()
                            .include_tree(4711, {.run = "r"})
                            .exclude_tree(std::numeric_limits<pid_t>::max())
                            .include_cgroup("/docker/ö")
                            .exclude_cgroup("/x")
                            .include_uid(0)
                            .exclude_uid(std::numeric_limits<uid_t>::max())
                            .include_exe("/bin/\"*\"")
                            .exclude_exe("?")
                            .include_tool("samtools *")
                            .exclude_tool("x")
                            .include_argument("*.bam")
                            .exclude_argument(std::string(kMostGlobBytes, 'x'));
  REQUIRE(fits_request(filter));
  const Filter got = sent(SubscribeRequest{.filter = filter}).filter;
  REQUIRE(got.rules().size() == filter.rules().size());
  for (std::size_t i = 0; i < got.rules().size(); ++i) {
    CHECK(to_string(got.rules()[i]) == to_string(filter.rules()[i]));
    CHECK(got.rules()[i].context == Context{});
  }
  CHECK(text_of(got) == text_of(filter));
  CHECK(text_of(filter_from(text_of(filter))) == text_of(filter));
  CHECK(text_of(Filter().include_tree(4711)) == R"([{"include":{"tree":4711}}])");
  CHECK(text_of(Filter().include_uid(1).exclude_uid(2)) != text_of(Filter().exclude_uid(2).include_uid(1)));
  CHECK(code_of([] { filter_from("["); }) == ErrorCode::kServiceRefused);

  Filter many;
  for (std::size_t i = 0; i <= kMostFilterRules; ++i) many.include_uid(static_cast<uid_t>(i));
  for (const Filter& each : {many, Filter().include_exe(std::string(kMostGlobBytes + 1, 'x')),
                             Filter().include_tool(""), Filter().include_cgroup(std::string(kMostCgroupBytes + 1, 'x')),
                             Filter().include_argument("\xff"), Filter().include_argument(std::string(1, '\0'))})
    CHECK_FALSE(fits_request(each));
}

TEST_CASE("a filter that makes no sense is refused, with the field") {
  const auto field_of = [](const std::string& filter) {
    try {
      request_from(R"({"request":"subscribe","filter":)" + filter + "}");
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::kServiceRefused);
      const std::string& what = error.problems().front().what;
      return what.substr(0, what.find(" is not"));
    }
    return std::string("accepted");
  };
  CHECK(field_of("[]") == "accepted");
  CHECK(field_of("{\"tool\":\"x\"}") == "\"filter\"");
  CHECK(field_of("7") == "\"filter\"");
  for (const char* rule : {"7", "{}", R"({"include":7})", R"({"include":{}})", R"({"nonsense":{"tree":1}})",
                           R"({"include":{"nonsense":1}})", R"({"include":{"tree":1,"uid":1}})",
                           R"({"include":{"tree":1},"exclude":{"uid":1}})"})
    CHECK(field_of(std::string(R"([{"include":{"uid":1}},)") + rule + "]") == "\"filter[1]\"");
  for (const char* value : {"0", "-1", "2147483648", "1.5", "\"1\"", "null", "[]"})
    CHECK(field_of(std::string(R"([{"include":{"tree":)") + value + "}}]") == "\"filter[0].include.tree\"");
  CHECK(field_of(R"([{"exclude":{"uid":4294967296}}])") == "\"filter[0].exclude.uid\"");
  for (const char* subject : {"cgroup", "exe", "tool", "argument"})
    for (const std::string& value : {std::string("7"), std::string("\"\""), '"' + std::string(5000, 'x') + '"'})
      CHECK(field_of(std::string(R"([{"include":{")") + subject + "\":" + value + "}}]") ==
            std::string("\"filter[0].include.") + subject + '"');
  std::string many;
  for (std::size_t i = 0; i <= kMostFilterRules; ++i)
    many += std::string(i == 0 ? "" : ",") + R"({"include":{"uid":1}})";
  CHECK(field_of("[" + many + "]") == "\"filter\"");
}

TEST_CASE("what a caller may not say of a context is not read") {
  const auto request = std::get<AttachRequest>(request_from(
      R"({"request":"attach","pid":1,"context":{"task":"t","owner_uid":0,"run_key":"00000000000000ff","rules":["x"],)"
      R"("engine_own":true}})"));
  Context context;
  context.task = "t";
  CHECK(request.context == context);
}

TEST_CASE("unknown keys are ignored, and null is absent") {
  const auto request = std::get<SubscribeRequest>(
      request_from(R"({"request":"subscribe","from":null,"of_a_newer_client":{"a":[1,2]},"kinds":[]})"));
  CHECK_FALSE(request.from.has_value());
  CHECK(request.kinds.empty());
  CHECK_NOTHROW(request_from(R"({"request":"subscribe","filter":null})"));
  const auto announced = std::get<AnnounceRequest>(
      request_from(R"({"request":"announce","key":{"pid":null,"work_dir":"/x"},"context":{"task":"t"}})"));
  CHECK(std::get<InWorkDir>(announced.announcement.key).path == "/x");
}

TEST_CASE("a request that makes no sense is refused, and nothing else happens") {
  for (const char* line : {"",
                           " ",
                           "x",
                           "[]",
                           "1",
                           "null",
                           "{",
                           "{}",
                           R"({"request":1})",
                           R"({"request":"nonsense"})",
                           R"({"request":"attach"})",
                           R"({"request":"attach","pid":"1"})",
                           R"({"request":"attach","pid":1.5})",
                           R"({"request":"attach","pid":99999999999999999999})",
                           R"({"request":"attach","pid":-99999999999})",
                           R"({"request":"attach","pid":1,"context":7})",
                           R"({"request":"attach","pid":1,"context":{"attempt":-1}})",
                           R"({"request":"attach","pid":1,"context":{"task":"a\u0000b"}})",
                           R"({"request":"label","tid":1,"context":{"labels":{"a\u0000b":"c"}}})",
                           R"({"request":"label","tid":1,"context":{"labels":[{"name":"a\u0000b","value":"c"}]}})",
                           R"({"request":"announce"})",
                           R"({"request":"announce","key":[]})",
                           R"({"request":"announce","key":{}})",
                           R"({"request":"announce","key":{"below":{"pid":1},"argv":"x"}})",
                           R"({"request":"announce","key":{"work_dir":"/x","pid":1}})",
                           R"({"request":"announce","key":{"pid":1,"below":{"pid":1},"argv":["x"]}})",
                           R"({"request":"announce","key":{"work_dir":"/x"},"expires_after_s":99999999999999})",
                           R"({"request":"subscribe","kinds":["nonsense"]})",
                           R"({"request":"subscribe","kinds":"process_exit"})",
                           R"({"request":"subscribe","filter":{"tool":"x"}})",
                           R"({"request":"label","tid":1,"context":{"labels":{"a":1}}})",
                           R"({"request":"hello"} trailing)",
                           R"({"request":"hello","version":-1})",
                           R"({"request":"own_work"})",
                           "{\"request\":\"hello\"\xff}"}) {
    CAPTURE(line);
    CHECK(is_refused(line));
  }
  CHECK(is_refused(std::string_view("{\"request\":\"hello\",\0}", 21)));
  CHECK(is_refused(R"({"request":"hello","x":)" + std::string(10000, '[') + std::string(10000, ']') + "}"));
  CHECK(is_refused(std::string(200000, '[')));
  // 16 levels are allowed: the object, and 15 lists in it.
  CHECK_FALSE(is_refused(R"({"request":"hello","x":)" + std::string(15, '[') + std::string(15, ']') + "}"));
  CHECK(is_refused(R"({"request":"hello","x":)" + std::string(16, '[') + std::string(16, ']') + "}"));
  // Of 64 Ki values, the object, the name of the request, and the list are three.
  const auto with_values = [](std::size_t count) {
    std::string line = R"({"request":"hello","x":[0)";
    for (std::size_t n = 1; n < count; ++n) line += ",0";
    return line + "]}";
  };
  CHECK_FALSE(is_refused(with_values(kMostRequestValues - 3)));
  CHECK(is_refused(with_values(kMostRequestValues - 2)));
}

TEST_CASE("every reply is what it was, once it was sent") {
  CHECK_NOTHROW(expect_ok(without_end(ok_line())));

  HelloReply hello;
  hello.tracer_version = "0.1.0";
  hello.session_id = "00ff";
  hello.uid = 1000;
  hello.sees_all = true;
  hello.host.boot_id = "b";
  hello.host.cpu_count = 8;
  hello.findings = true;
  hello.host.wall_offset_ns = 18446744073709551615u;
  hello.families = {{Family::kWaits, true, "sched_switch", {}},
                    {Family::kFiles, false, "", Problem{ErrorCode::kProgramRefused, 0, "w", "f", {}}}};
  const std::string line = to_line(hello);
  const HelloReply got = hello_from(without_end(line));
  CHECK(got.version == kProtocolVersion);
  CHECK(got.uid == 1000);
  CHECK(got.sees_all);
  CHECK(got.host == hello.host);
  CHECK(got.findings);
  CHECK(got.session_id == "00ff");
  REQUIRE(got.families.size() == 2);
  CHECK(got.families[0].family == Family::kWaits);
  CHECK(got.families[0].active);
  CHECK(got.families[0].mechanism == "sched_switch");
  CHECK_FALSE(got.families[0].problem.has_value());
  REQUIRE(got.families[1].problem.has_value());
  CHECK(got.families[1].problem->code == ErrorCode::kProgramRefused);
  CHECK(got.families[1].problem->fix == "f");

  CHECK(state_from(without_end(to_line(StateReply{R"({"since":"a.8","more":false})"}))).state ==
        R"({"more":false,"since":"a.8"})");
  CHECK(label_from(without_end(to_line(LabelReply{9}))).label == 9);
  CHECK(flush_from(without_end(to_line(FlushReply{10}))).sequence == 10);
  const SubscribeReply subscribed = subscribe_from(without_end(to_line(SubscribeReply{11, 2, 3})));
  CHECK(subscribed.sequence == 11);
  CHECK(subscribed.missed == 2);
  CHECK(subscribed.living == 3);
  CHECK_FALSE(subscribed.stream.has_value());
  CHECK(subscribe_from(without_end(to_line(SubscribeReply{11, 2, 3, 4}))).stream == 4u);

  TotalsReply totals;
  sample_events::Filler().fill(totals.totals.emplace_back().context);
  totals.totals[0].living = 4;
  totals.totals[0].ended = 5;
  sample_events::Filler().fill(totals.totals[0].account);
  const std::string totals_line = to_line(totals);
  const TotalsReply got_totals = totals_from(without_end(totals_line));
  REQUIRE(got_totals.totals.size() == 1);
  CHECK(got_totals.totals[0].ended == 5);
  const bool same_totals = to_line(got_totals) == totals_line;
  CHECK(same_totals);

  StatisticsReply statistics;
  statistics.statistics.records = 1;
  statistics.statistics.losses = {{"ring_full_exit", 3}};
  statistics.statistics.cost.kernel_ns = 8;
  const Statistics got_statistics = statistics_from(without_end(to_line(statistics))).statistics;
  CHECK(got_statistics.records == 1);
  CHECK(got_statistics.losses == statistics.statistics.losses);
  CHECK(got_statistics.cost.kernel_ns == 8u);
  CHECK_FALSE(got_statistics.cost.memory_bytes.has_value());

  CHECK(status_from(without_end(to_line(StatusReply{R"({"a":[1]})"}))).status == R"({"a":[1]})");
}

TEST_CASE("lists of events keep every field") {
  for (const Event& event : sample_events::all()) {
    if (const auto* sample = event.get_if<ProcessSample>()) {
      const std::string line = to_line(SnapshotReply{{*sample}});
      const SnapshotReply got = snapshot_from(without_end(line));
      REQUIRE(got.processes.size() == 1);
      const bool same = with_plain_marks(to_json(Event(got.processes[0]))) == with_plain_marks(to_json(event));
      CHECK(same);
    }
    if (const auto* finding = event.get_if<Finding>()) {
      const std::string line = to_line(FindingsReply{{*finding}});
      const FindingsReply got = findings_from(without_end(line));
      REQUIRE(got.findings.size() == 1);
      const bool same = with_plain_marks(to_json(Event(got.findings[0]))) == with_plain_marks(to_json(event));
      CHECK(same);
    }
  }
}

TEST_CASE("a refusal is the error that it was made of") {
  const Error error({ErrorCode::kPermission, EPERM, "another's", "ask root", {}});
  const std::string line = refusal_line(error);
  try {
    expect_ok(without_end(line));
    CHECK(false);
  } catch (const Error& got) {
    CHECK(got.code() == ErrorCode::kPermission);
    CHECK(got.problems().front().what == "another's");
    CHECK(got.problems().front().fix == "ask root");
  }
  CHECK(refusal_line(Error({ErrorCode::kServiceVersion, 0, "v", {}, {}})).find("\"versions\":[1]") !=
        std::string::npos);
  for (const ErrorCode code : {ErrorCode::kInternal, ErrorCode::kNoGpu, ErrorCode::kServiceVersion})
    CHECK(code_of([&] { expect_ok(without_end(refusal_line(Error({code, 0, "a", {}, {}})))); }) == code);
  CHECK(code_of([] { expect_ok(R"({"ok":false,"code":"TRC999","message":"newer"})"); }) == ErrorCode::kServiceRefused);
  CHECK(code_of([] { expect_ok(R"({"ok":false})"); }) == ErrorCode::kServiceRefused);
  CHECK(code_of([] { expect_ok(R"({"ok":"yes"})"); }) == ErrorCode::kServiceRefused);
  CHECK(code_of([] { expect_ok("garbage"); }) == ErrorCode::kServiceRefused);
}

TEST_CASE("lines are cut from pieces of any size") {
  const std::string text = "one\n\ntwo and more\nrest";
  for (std::size_t size = 1; size <= text.size(); ++size) {
    LineSplitter lines;
    std::vector<std::string> got;
    for (std::size_t at = 0; at < text.size(); at += size) {
      lines.feed(bytes(std::string_view(text).substr(at, size)));
      while (const auto line = lines.next()) got.emplace_back(*line);
    }
    CHECK(got == std::vector<std::string>{"one", "", "two and more"});
    CHECK_FALSE(lines.too_long());
    CHECK(lines.take_rest() == "rest");
    CHECK(lines.held_bytes() == 0);
  }
}

TEST_CASE("a line without an end holds no more than the longest one") {
  LineSplitter lines;
  const std::string piece(64u << 10, 'x');
  for (int i = 0; i < 1600; ++i) {
    lines.feed(bytes(piece));
    CHECK_FALSE(lines.next().has_value());
    REQUIRE(lines.held_bytes() <= kMaxRequestBytes + piece.size());
  }
  CHECK(lines.too_long());
  CHECK(lines.held_bytes() == 0);

  LineSplitter exact;
  exact.feed(bytes(std::string(kMaxRequestBytes, 'x') + "\n"));
  REQUIRE(exact.next().has_value());
  exact.feed(bytes(std::string(kMaxRequestBytes + 1, 'x') + "\n"));
  CHECK_FALSE(exact.next().has_value());
  CHECK(exact.too_long());
}
