// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <tracer/error.hpp>
#include <tracer/report.hpp>
#include <tracer/session.hpp>
#include <tracer/source.hpp>
#include <tracer/summary.hpp>

#include "base/held_commands.hpp"
#include "builders.hpp"
#include "collect.hpp"
#include "fake_service.hpp"

using namespace tracer;
using namespace tracer::internal;

namespace {

SessionOptions by_service(const FakeService& service, Filter filter = {}) {
  SessionOptions options;
  options.tiers = {Tier::kService};
  options.service_socket = service.socket();
  options.filter = std::move(filter);
  options.reader = ReaderMode::kPoll;
  return options;
}

/// A session that has started, with all its events.
struct Client {
  explicit Client(SessionOptions options) : session(std::move(options)) {
    subscription = session.on_any([this](const Event& event) { events.push_back(event); });
    session.start();
  }
  /// Polls until it is so; false: it is not after some seconds.
  bool until(const std::function<bool()>& so) {
    for (int i = 0; i < 500 && !so(); ++i) session.poll(std::chrono::milliseconds(10));
    return so();
  }
  template <class E>
  std::vector<E> all() const {
    return collect::all_of<E>(events);
  }

  std::vector<Event> events;
  Session session;
  Subscription subscription;
};

std::shared_ptr<const Process> process(std::uint32_t pid, std::uint32_t parent = 0, Context context = {}) {
  build::ProcessSpec spec{.pid = pid, .start_ns = pid * 10ull, .uid = 1000, .context = std::move(context)};
  if (parent != 0) {
    spec.parent_pid = parent;
    spec.parent_start_ns = parent * 10ull;
  }
  return build::process(std::move(spec));
}
Event start(const std::shared_ptr<const Process>& p) { return ProcessStart{p->start_ns, p, {}}; }
Event exit(const std::shared_ptr<const Process>& p, std::uint64_t cpu_ns = 5) {
  ProcessExit event;
  event.time_ns = event.end_ns = p->start_ns + 1;
  event.process = p;
  event.start_ns = p->start_ns;
  event.exit_code = 0;
  event.account.cpu_ns = event.program.account.cpu_ns = cpu_ns;
  return event;
}

ErrorCode refused(SessionOptions options) {
  try {
    Session session(std::move(options));
    session.start();
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode{};
}

}  // namespace

TEST_CASE("a session by a service has its events, its families and a host of its own session") {
  FakeService service;
  service.set_families({{Family::kLifecycle, true, "tp_btf", {}}});
  SessionOptions options = by_service(service);
  options.families.clear();
  Client client(std::move(options));
  CHECK(client.session.tier() == Tier::kService);
  CHECK(client.session.host().boot_id == this_host().boot_id);
  CHECK(client.session.host().session_id != "00000000000000aa");
  REQUIRE(client.session.families().size() == 1);
  CHECK(client.session.families()[0].mechanism == "tp_btf");
  service.push(start(process(4)));
  service.push(exit(process(4), 7));
  REQUIRE(client.session.flush(std::chrono::seconds(5)));
  REQUIRE(client.all<ProcessExit>().size() == 1);
  CHECK(client.all<ProcessExit>()[0].account.cpu_ns == 7);
  REQUIRE(client.session.totals().size() == 1);
  CHECK(client.session.totals()[0].ended == 1);
  CHECK(client.session.totals()[0].living == 0);
  CHECK(client.session.totals()[0].account.cpu_ns == 7);
}

TEST_CASE("a family that the service does not trace is missing, with what to do about it") {
  FakeService service;
  service.set_families({{Family::kLifecycle, true, "tp_btf", {}}, {Family::kWaits, true, "tp_btf", {}}});
  SessionOptions options = by_service(service);
  options.families = {Family::kWaits, Family::kSyscalls};
  Client client(std::move(options));
  const auto families = client.session.families();
  REQUIRE(families.size() == 3);
  CHECK(families[2].family == Family::kSyscalls);
  CHECK_FALSE(families[2].active);
  REQUIRE(families[2].problem);
  CHECK(families[2].problem->what.find("does not trace it") != std::string::npos);
  CHECK(families[2].problem->fix.find("tracerd.toml") != std::string::npos);
  const Report report = make_report(Summary(), {.families = families, .tier = Tier::kService});
  REQUIRE(report.completeness.missing.size() == 1);
  CHECK(report.completeness.missing[0].family == Family::kSyscalls);
}

TEST_CASE("a session by a service ends with an end of its own") {
  FakeService service;
  Client client(by_service(service));
  service.push(start(process(4)));
  service.push(SessionEnd{});
  service.push(exit(process(4)));
  client.session.stop();
  REQUIRE(client.all<SessionEnd>().size() == 1);
  CHECK(client.events.back().kind() == EventKind::kSessionEnd);
  CHECK(client.all<SessionEnd>()[0].processes_ended == 1);
  CHECK(client.all<SessionEnd>()[0].exits_delivered == 1);
  CHECK(client.all<SessionEnd>()[0].losses == 0);
}

TEST_CASE("what lives comes first, and has no number") {
  FakeService service;
  service.lives(start(process(4)));
  Client client(by_service(service));
  service.push(exit(process(4)));
  REQUIRE(client.session.flush(std::chrono::seconds(5)));
  CHECK(collect::kinds_of(client.events) == std::vector{EventKind::kProcessStart, EventKind::kProcessExit});
}

TEST_CASE("a tree is followed, its labels are the service's, and its runs and tasks come with it") {
  FakeService service;
  const auto self = static_cast<std::uint32_t>(::getpid());
  const auto task = process(7, self, {.task = "ALIGN", .task_id = "1", .run_key = Key{5}, .task_key = Key{6}});
  TaskStart begins;
  begins.context = task->context;
  begins.pid = task->pid;
  begins.start_ns = task->start_ns;
  TaskStart others = begins;
  others.pid = 99;
  others.context = std::make_shared<const Context>(Context{.task_id = "2", .task_key = Key{8}});
  service.lives(start(process(self)));
  service.lives(start(process(99)));
  Client client(by_service(service, Filter().include_tree(::getpid(), {.run = "r42"})));
  const auto attached = service.requests<AttachRequest>();
  REQUIRE(attached.size() == 1);
  CHECK(attached[0].pid == ::getpid());
  CHECK(attached[0].context.run == "r42");
  service.push(others);
  service.push(begins);
  service.push(start(task));
  service.push(exit(task));
  service.push(exit(process(99)));
  TaskFinish finish;
  finish.context = task->context;
  finish.totals.processes = 1;
  service.push(finish);
  finish.context = others.context;
  service.push(finish);
  REQUIRE(client.session.flush(std::chrono::seconds(5)));
  CHECK(collect::kinds_of(client.events) == std::vector{EventKind::kProcessStart, EventKind::kTaskStart,
                                                        EventKind::kProcessStart, EventKind::kProcessExit,
                                                        EventKind::kTaskFinish});
  CHECK(client.all<ProcessExit>()[0].process->context->task == "ALIGN");
  CHECK(client.all<TaskFinish>()[0].context->task_key == Key{6});
  std::uint64_t living = 0;
  for (const ContextTotals& totals : client.session.totals()) living += totals.living;
  CHECK(living == 1);
}

TEST_CASE("a command that is run is named to the service, without labels") {
  FakeService service;
  SessionOptions options = by_service(service, Filter().include_tree(::getpid()));
  options.command_pid = ::getpid();
  note_held_command(::getpid());
  Client client(std::move(options));
  forget_held_command(::getpid());
  const auto attached = service.requests<AttachRequest>();
  REQUIRE(attached.size() == 1);
  CHECK(attached[0].command);
  CHECK(attached[0].held);
  CHECK(attached[0].context == Context{});
  client.session.stop();
  // Nothing was labeled.
  CHECK(service.requests<AttachRequest>().size() == 1);
}

TEST_CASE("track() takes in a tree that lives already") {
  FakeService service;
  service.lives(start(process(7)));
  service.lives(start(process(8, 7)));
  service.lives(start(process(9)));
  Client client(by_service(service, Filter().include_tree(::getpid())));
  client.until([&] { return service.subscribers() == 1; });
  client.session.flush(std::chrono::seconds(5));
  CHECK(client.events.empty());
  client.session.track(7, {.step = "s"});
  CHECK(service.requests<AttachRequest>().back().context.step == "s");
  REQUIRE(client.until([&] { return client.events.size() == 2; }));
  CHECK(client.all<ProcessStart>()[0].process->pid == 7);
  CHECK(client.all<ProcessStart>()[0].attached_ns.has_value());
  CHECK(client.all<ProcessStart>()[1].process->pid == 8);
  service.push(exit(process(9)));
  service.push(exit(process(8, 7)));
  client.session.flush(std::chrono::seconds(5));
  CHECK(client.events.size() == 3);
}

TEST_CASE("the filter is the service's to apply, with the trees that were tracked since") {
  FakeService service;
  const auto self = static_cast<pid_t>(::getpid());
  Client client(by_service(service, Filter().include_tree(self, {.run = "r"}).exclude_tool("x *")));
  const auto rules_of = [&service] { return text_of(service.requests<SubscribeRequest>().back().filter); };
  const std::string own = R"({"include":{"tree":)" + std::to_string(self) + R"(}},{"exclude":{"tool":"x *"}})";
  CHECK(rules_of() == "[" + own + "]");
  REQUIRE(client.session.flush(std::chrono::seconds(5)));
  CHECK(service.requests<FlushRequest>().back().stream == 1u);
  client.session.track(7);
  CHECK(service.requests<AttachRequest>().back().stream == 1u);
  // The same stream goes on.
  service.cut();
  REQUIRE(client.until([&] { return service.requests<SubscribeRequest>().size() == 2; }));
  CHECK(service.requests<SubscribeRequest>().back().stream == 1u);
  CHECK(service.requests<SubscribeRequest>().back().from == 1u);
  CHECK(service.requests<SubscribeRequest>().back().filter.rules().empty());
  // One that the service has forgotten begins anew, and that is a gap.
  service.refuse("subscribe", ErrorCode::kInvalidArgument, "there is no stream 1 any more");
  service.cut();
  REQUIRE(client.until([&] { return service.requests<SubscribeRequest>().size() >= 3; }));
  service.answer_well("subscribe");
  REQUIRE(client.until([&] { return !client.all<Loss>().empty(); }));
  CHECK(client.all<Loss>()[0].cause == "service_gap");
  CHECK(rules_of() == "[" + own + R"(,{"include":{"tree":7}}])");
  CHECK(service.requests<SubscribeRequest>().back().living_first);
  client.session.track(8);
  CHECK(service.requests<AttachRequest>().back().stream == 2u);
  REQUIRE(client.session.flush(std::chrono::seconds(5)));
}

TEST_CASE("a filter that a request can't have is applied here alone, and connect() refuses it") {
  FakeService service;
  Filter long_one = Filter().include_exe(std::string(kMostGlobBytes + 1, 'x'));
  Client client(by_service(service, long_one));
  CHECK(service.requests<SubscribeRequest>().back().filter.rules().empty());
  service.push(start(process(4)));
  REQUIRE(client.session.flush(std::chrono::seconds(5)));
  CHECK(client.events.empty());
  CHECK_THROWS_AS(connect(service.socket(), long_one), Error);
  Session session(connect(service.socket(), Filter().include_uid(7)), {});
  session.start();
  CHECK(text_of(service.requests<SubscribeRequest>().back().filter) == R"([{"include":{"uid":7}}])");
}

TEST_CASE("announcements, labels and own work go to the service") {
  FakeService service;
  Client client(by_service(service));
  const TempFile folder;
  client.session.announce({InWorkDir{folder.folder()}, {.task = "t", .task_id = "1"}});
  CHECK(service.requests<AnnounceRequest>().size() == 1);
  {
    ThreadLabel label = client.session.label_thread({.task = "x", .task_id = "2"});
    REQUIRE(service.requests<LabelRequest>().size() == 1);
    CHECK(service.requests<LabelRequest>()[0].tid == ::gettid());
    label.resume();
    CHECK(service.requests<ResumeLabelRequest>().size() == 1);
  }
  REQUIRE(service.requests<EndLabelRequest>().size() == 1);
  CHECK(service.requests<EndLabelRequest>()[0].label == 1);
  client.session.unlabel_thread();
  CHECK(service.requests<UnlabelRequest>().size() == 1);
  OwnWork work;
  work.account.cpu_ns = 3;
  client.session.report_own_work({.task = "x"}, work);
  REQUIRE(service.requests<OwnWorkRequest>().size() == 1);
  CHECK(service.requests<OwnWorkRequest>()[0].work.account.cpu_ns == 3);
}

TEST_CASE("the living are asked for, and the last samples come at the end") {
  FakeService service;
  ProcessSample sample;
  sample.time_ns = 50;
  sample.process = process(4);
  sample.account.cpu_ns = 11;
  ProcessSample other = sample;
  other.process = process(5);
  service.set_samples({sample, other});
  service.lives(start(process(4)));
  Client client(by_service(service));
  // Without a round in between.
  const auto living = client.session.living();
  REQUIRE(living.size() == 1);
  CHECK(living[0].account.cpu_ns == 11);
  client.session.stop();
  REQUIRE(client.all<ProcessSample>().size() == 1);
  CHECK(client.all<ProcessSample>()[0].process->pid == 4);
}

TEST_CASE("a connection that was cut is made again, and what came meanwhile is not lost") {
  FakeService service;
  Client client(by_service(service));
  service.push(start(process(4)));
  REQUIRE(client.until([&] { return client.events.size() == 1; }));
  service.cut();
  service.push(exit(process(4)));
  service.push(start(process(5)));
  REQUIRE(client.until([&] { return client.events.size() == 3; }));
  CHECK(service.requests<SubscribeRequest>().back().from == 2);
  CHECK(client.all<Loss>().empty());
  CHECK(client.session.statistics().losses.empty());
}

TEST_CASE("what the service does not have any more is a stated gap") {
  FakeService service;
  Client client(by_service(service));
  service.push(start(process(4)));
  REQUIRE(client.until([&] { return client.events.size() == 1; }));
  service.cut();
  for (std::uint32_t pid = 5; pid < 9; ++pid) service.push(start(process(pid)));
  service.forget(4);
  REQUIRE(client.until([&] { return client.all<ProcessStart>().size() == 2; }));
  REQUIRE(client.all<Loss>().size() == 1);
  const Loss loss = client.all<Loss>()[0];
  CHECK(loss.cause == "service_gap");
  CHECK(loss.count == 3);
  CHECK(loss.first_ns == 40);
  CHECK(client.session.statistics().losses.at("service_gap") == 3);
  client.session.stop();
  // Not said again by the session.
  CHECK(client.all<Loss>().size() == 1);
  CHECK(client.all<SessionEnd>()[0].losses == 3);
}

TEST_CASE("a service that was restarted tells what lives, gets the labels again, and leaves a gap of unknown size") {
  FakeService service;
  Client client(by_service(service, Filter().include_tree(::getpid(), {.run = "r"})));
  ThreadLabel label = client.session.label_thread({.task = "x", .task_id = "2"});
  const auto self = process(static_cast<std::uint32_t>(::getpid()));
  service.push(start(self));
  REQUIRE(client.until([&] { return client.events.size() == 1; }));
  service.stop();
  service.become("00000000000000bb");
  service.lives(start(self));
  service.start();
  REQUIRE(client.until([&] { return !client.all<Loss>().empty(); }));
  CHECK(client.all<Loss>()[0].count == 1);
  CHECK(service.requests<AttachRequest>().size() == 2);
  CHECK(service.requests<LabelRequest>().size() == 2);
  service.push(start(process(7, self->pid)));
  REQUIRE(client.session.flush(std::chrono::seconds(5)));
  CHECK(client.all<ProcessStart>().back().process->pid == 7);
}

TEST_CASE("a service that was restarted is told of the command and of what was announced and holds still") {
  FakeService service;
  SessionOptions options = by_service(service, Filter().include_tree(::getpid(), {.run = "r"}));
  options.command_pid = ::getpid();
  note_held_command(::getpid());
  Client client(std::move(options));
  const TempFile folder;
  client.session.announce({InWorkDir{folder.folder()}, {.task = "t", .task_id = "1"}});
  client.session.announce({OfProcess{::getpid()}, {.task = "p"}, {}, std::chrono::hours(2)});
  client.session.announce({InWorkDir{folder.folder() / "x"}, {.task = "over"}, {}, std::chrono::milliseconds(0)});
  service.refuse("announce", ErrorCode::kPermission, "no");
  CHECK_THROWS_AS(client.session.announce({InWorkDir{folder.folder() / "y"}, {.task = "refused"}}), Error);
  service.answer_well("announce");
  REQUIRE(service.requests<AnnounceRequest>().size() == 4);
  service.stop();
  service.become("00000000000000bb");
  service.start();
  REQUIRE(client.until([&] { return !client.all<Loss>().empty(); }));
  forget_held_command(::getpid());
  const auto attached = service.requests<AttachRequest>();
  REQUIRE(attached.size() == 2);
  CHECK(attached[1].command);
  CHECK(attached[1].held);
  CHECK(attached[1].context.run == "r");
  const auto announced = service.requests<AnnounceRequest>();
  REQUIRE(announced.size() == 6);
  CHECK(announced[4].announcement.context.task == "t");
  CHECK(announced[5].announcement.context.task == "p");
  CHECK(announced[5].announcement.expires_after <= std::chrono::hours(2));
  CHECK(announced[5].announcement.expires_after > std::chrono::hours(1));
}

TEST_CASE("what a slow client was not told of what lives has no numbers") {
  FakeService service;
  service.lives(start(process(4)));
  Loss loss;
  loss.cause = "living_dropped";
  loss.count = 3;
  service.lives(loss);
  Client client(by_service(service));
  REQUIRE(client.until([&] { return client.events.size() == 2; }));
  CHECK(client.session.statistics().losses.at("living_dropped") == 3);
  service.push(start(process(8)));
  // Nothing is waited for that does not come.
  REQUIRE(client.session.flush(std::chrono::seconds(5)));
  CHECK(client.events.size() == 3);
  service.cut();
  REQUIRE(client.until([&] { return service.requests<SubscribeRequest>().size() == 2; }));
  CHECK(service.requests<SubscribeRequest>().back().from == 2);
}

TEST_CASE("a session whose service is gone ends, and says so") {
  FakeService service;
  Client client(by_service(service));
  service.push(start(process(4)));
  REQUIRE(client.until([&] { return client.events.size() == 1; }));
  service.stop();
  client.session.stop();
  CHECK(client.all<SessionEnd>().size() == 1);
  REQUIRE(client.all<Loss>().size() == 1);
  CHECK(client.all<Loss>()[0].cause == "service_gap");
}

TEST_CASE("what a slow client was not given counts as read") {
  FakeService service;
  Client client(by_service(service));
  for (std::uint32_t pid = 4; pid < 7; ++pid) service.push(start(process(pid)));
  // Before they are read, three others were dropped.
  Loss loss;
  loss.cause = "queue_full";
  loss.count = 3;
  service.push_unnumbered(loss);
  REQUIRE(client.until([&] { return client.events.size() == 4; }));
  CHECK(client.session.statistics().losses.at("queue_full") == 3);
  service.cut();
  REQUIRE(client.until([&] { return service.requests<SubscribeRequest>().size() == 2; }));
  CHECK(service.requests<SubscribeRequest>().back().from == 7);
}

TEST_CASE("garbage in the stream is a cut, not the end") {
  FakeService service;
  Client client(by_service(service));
  service.push(start(process(4)));
  REQUIRE(client.until([&] { return client.events.size() == 1; }));
  service.send_bytes(std::string(100'000, 'x'));
  service.push(start(process(5)));
  REQUIRE(client.until([&] { return service.requests<SubscribeRequest>().size() == 2; }));
  REQUIRE(client.until([&] { return client.all<ProcessStart>().size() == 2; }));
}

TEST_CASE("without a service, or with one of another kind, a session says what is wrong") {
  FakeService service;
  SessionOptions elsewhere = by_service(service);
  elsewhere.service_socket = "/nowhere/socket";
  CHECK(refused(elsewhere) == ErrorCode::kNoService);
  elsewhere.service_socket = std::string(200, 'x');
  CHECK(refused(elsewhere) == ErrorCode::kInvalidArgument);
  CHECK(refused(by_service(service, Filter().include_tree(1 << 22))) == ErrorCode::kFilterNamesNothing);

  service.refuse("hello", ErrorCode::kServiceVersion, "no such version");
  CHECK(refused(by_service(service)) == ErrorCode::kServiceVersion);
  service.answer("hello", "nonsense\n");
  CHECK(refused(by_service(service)) == ErrorCode::kServiceRefused);
  service.answer("hello", std::string(17u << 20, 'x'));
  CHECK(refused(by_service(service)) == ErrorCode::kServiceRefused);
  service.answer_well("hello");
  service.refuse("subscribe", ErrorCode::kServiceRefused, "too many");
  CHECK(refused(by_service(service)) == ErrorCode::kServiceRefused);
  service.answer("subscribe", "{\"ok\":true,\"sequence\":1,\"missed\":0}\nHTTP/1.1 400 Bad Request\r\n\r\n");
  CHECK(refused(by_service(service)) == ErrorCode::kServiceRefused);
  service.answer_well("subscribe");
  service.refuse("attach", ErrorCode::kPermission, "not yours");
  CHECK(refused(by_service(service, Filter().include_tree(::getpid(), {.run = "r"}))) == ErrorCode::kPermission);
}

TEST_CASE("a service that does not answer is given up") {
  FakeService service;
  service.answer("hello", "");
  CHECK(refused(by_service(service)) == ErrorCode::kNoService);
  service.answer_well("hello");
  service.answer("subscribe", "");
  CHECK(refused(by_service(service)) == ErrorCode::kNoService);
}

TEST_CASE("the first tier that works is taken, and what was wrong with the others is kept") {
  FakeService service;
  SessionOptions options = by_service(service);
  options.tiers = {Tier::kService, Tier::kService};
  service.refuse("hello", ErrorCode::kServiceVersion, "no such version");
  try {
    Session session(options);
    FAIL("opened");
  } catch (const Error& error) {
    CHECK(error.problems().size() == 2);
  }
  // A mistake of the caller's is one with every tier.
  options.filter = Filter().include_tree(1 << 22);
  try {
    Session session(options);
    FAIL("opened");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::kFilterNamesNothing);
    CHECK(error.problems().size() == 1);
  }
}

TEST_CASE("connect() is a source of all that the service shows") {
  FakeService service;
  Session session(connect(service.socket()), {.reader = ReaderMode::kPoll});
  CHECK(session.tier() == Tier::kService);
  std::size_t count = 0;
  const auto subscription = session.on_any([&](const Event&) { ++count; });
  session.start();
  service.push(start(process(4)));
  CHECK(session.flush(std::chrono::seconds(5)));
  CHECK(count == 1);
}

TEST_CASE("a queue of a session by a service begins with what lives") {
  FakeService service;
  service.lives(start(process(4)));
  Client client(by_service(service));
  client.session.flush(std::chrono::seconds(5));
  Queue queue = client.session.queue({.living_first = true});
  client.session.poll(std::chrono::milliseconds(50));
  std::array<Event, 4> events;
  REQUIRE(queue.read(events) == 1);
  CHECK(events[0].get_if<ProcessStart>()->process->pid == 4);
}

TEST_CASE("a report of a session by a service is complete when nothing was lost") {
  FakeService service;
  Client client(by_service(service));
  Summary summary;
  service.push(start(process(4)));
  service.push(exit(process(4)));
  client.session.stop();
  for (const Event& event : client.events) summary.add(event);
  const SessionFigures figures{
      client.session.totals(), client.session.statistics(), client.session.families(), 1000, false,
      client.session.tier()};
  const Report report = make_report(summary, figures);
  CHECK(report.completeness.tier == Tier::kService);
  CHECK(report.completeness.complete);
  CHECK(report.total.cpu_ns == Figure{5, Bound::kExact});

  Loss loss;
  loss.cause = "service_gap";
  loss.count = 1;
  summary.add(loss);
  const Report cut = make_report(summary, figures);
  CHECK_FALSE(cut.completeness.complete);
  CHECK_FALSE(cut.completeness.total_is_whole);
  CHECK(cut.total.cpu_ns == Figure{5, Bound::kAtLeast});
}

TEST_CASE("the state is the service's, unless the session sees only a part, or hides names") {
  FakeService service;
  service.answer("state", "{\"ok\":true,\"state\":{\"since\":\"a.1\",\"tasks\":[{\"cpu_ns\":7}]}}\n");
  Client client(by_service(service));
  const StateQuery query{"a.0", {"tasks"}, "", {"cpu_ns"}};
  CHECK(client.session.state(query) == R"({"since":"a.1","tasks":[{"cpu_ns":7}]})");
  REQUIRE(service.requests<StateRequest>().size() == 1);
  CHECK(service.requests<StateRequest>()[0].query.since == "a.0");
  CHECK(service.requests<StateRequest>()[0].query.rows == query.rows);
  CHECK(service.requests<StateRequest>()[0].query.fields == query.fields);
  client.session.stop();
  CHECK(client.session.state() == R"({"since":"a.1","tasks":[{"cpu_ns":7}]})");

  Client part(by_service(service, Filter().include_tree(::getpid())));
  CHECK(part.session.state().find("a.1") == std::string::npos);
  Session connected(connect(service.socket(), Filter().include_tool("dd*")), {.reader = ReaderMode::kPoll});
  CHECK(connected.state().find("a.1") == std::string::npos);
  SessionOptions hiding = by_service(service);
  hiding.hash_paths = true;
  Client hidden(std::move(hiding));
  CHECK(hidden.session.state().find("a.1") == std::string::npos);
  CHECK(service.requests<StateRequest>().size() == 2);
}

TEST_CASE("a service that does not know the state refuses it with the version that does") {
  FakeService service;
  Client client(by_service(service));
  const auto refusal = [&](ErrorCode code, const char* what) {
    service.refuse("state", code, what);
    try {
      static_cast<void>(client.session.state());
    } catch (const Error& error) {
      return error.problems().front();
    }
    return Problem{};
  };
  const Problem older = refusal(ErrorCode::kServiceRefused, "there is no request \"state\"");
  CHECK(older.code == ErrorCode::kServiceRefused);
  CHECK(older.what.find("of version 0,") != std::string::npos);
  CHECK(older.fix.find("0.1.0") != std::string::npos);
  const Problem busy = refusal(ErrorCode::kServiceRefused, "your connections hold too much");
  CHECK(busy.what == "your connections hold too much");
  CHECK(refusal(ErrorCode::kInvalidArgument, "there are no rows \"x\"").code == ErrorCode::kInvalidArgument);
}

TEST_CASE("findings are the service's, unless the session has a history or sees only a part") {
  const auto findings_of = [](bool has_findings, const std::function<void(SessionOptions&)>& change) {
    FakeService service;
    if (has_findings) service.have_findings();
    SessionOptions options = by_service(service);
    change(options);
    Client client(std::move(options));
    Finding finding;
    finding.time_ns = 100;
    finding.code = "made_by_the_service";
    finding.subject = "process";
    finding.pid = static_cast<std::uint32_t>(::getpid());
    finding.context = std::make_shared<const Context>();
    service.push(start(process(static_cast<std::uint32_t>(::getpid()))));
    service.push(finding);
    // A failure, for which a session that makes them has one of its own.
    ProcessExit failed = *exit(process(static_cast<std::uint32_t>(::getpid()))).get_if<ProcessExit>();
    failed.exit_code.reset();
    failed.exit_signal = 9;
    failed.exit_signal_sender = "kernel";
    failed.oom_killed = true;
    service.push(failed);
    REQUIRE(client.session.flush(std::chrono::seconds(5)));
    client.session.stop();
    std::vector<std::string> codes;
    for (const Finding& each : client.all<Finding>()) codes.push_back(each.code);
    return codes;
  };
  const auto as_it_is = [](SessionOptions&) {};
  const auto of_a_part = [](SessionOptions& options) { options.filter.include_tree(::getpid()); };
  const TempFile folder;
  const auto with_history = [&](SessionOptions& options) { options.history = folder.folder() / "history.db"; };
  const auto without = [](SessionOptions& options) { options.findings = false; };
  const std::vector<std::string> own = findings_of(false, as_it_is);
  CHECK(std::find(own.begin(), own.end(), "made_by_the_service") == own.end());
  CHECK_FALSE(own.empty());
  CHECK(findings_of(true, as_it_is) == std::vector<std::string>{"made_by_the_service"});
  CHECK(findings_of(true, of_a_part) == own);
  CHECK(findings_of(true, with_history) == own);
  CHECK(findings_of(true, without).empty());
}
