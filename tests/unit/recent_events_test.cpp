// SPDX-License-Identifier: Apache-2.0
/// What outlives a service: its recent events, what clients have said, and where a recording ends.
#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <tracer/host.hpp>
#include <tracer/sink.hpp>

#include "base/unique_fd.hpp"
#include "builders.hpp"
#include "serve/restart_said.hpp"
#include "serve/recent_events.hpp"
#include "stream/recording_tail.hpp"
#include "temp_file.hpp"

using namespace tracer;
using namespace tracer::internal;

namespace {

constexpr Owner kOfAlice{Audience::kOwner, 1000};

std::shared_ptr<const Process> process(std::uint32_t pid) {
  return build::process({.pid = pid, .start_ns = pid * 10ull, .uid = 1000, .argv = std::vector<std::string>{"tool"}});
}
Event start_of_process(std::uint32_t pid) { return ProcessStart{pid * 10ull, process(pid), {}}; }
Event exec_of_process(std::uint32_t pid) {
  ProcessExec exec;
  exec.time_ns = pid * 10ull + 1;
  exec.process = process(pid);
  return exec;
}
Event exit_of_process(std::uint32_t pid) {
  ProcessExit exit;
  exit.time_ns = pid * 10ull + 5;
  exit.process = process(pid);
  return exit;
}
Event loss_of(std::uint64_t count) {
  Loss loss;
  loss.cause = "ring_full_process_exit";
  loss.count = count;
  return loss;
}

std::vector<RecentEvents::Viewer> nobody() { return {}; }

bool keep(RecentEvents& spool, std::vector<Event> events, std::uint64_t position) {
  std::vector<RecentEvents::Judged> judged;
  for (Event& event : events) judged.push_back({std::move(event), kOfAlice, false});
  return spool.append(judged, {7, {position}}, nobody);
}

UniqueFd copy(int fd) { return UniqueFd(::dup(fd)); }

}  // namespace

TEST_CASE("a spool has what an earlier process has put into it, and goes on with it") {
  std::optional<RecentEvents> spool(this_host());
  const UniqueFd memory = copy(spool->memory());
  CHECK(keep(*spool, {start_of_process(1), start_of_process(2), exec_of_process(2)}, 100));
  CHECK(spool->append(std::vector<RecentEvents::Viewer>{{Sight{.all = true}, 3, 0, 2, 0}}, nobody));
  CHECK(keep(*spool, {exit_of_process(1), loss_of(4)}, 200));
  spool.reset();

  auto left = RecentEvents::read(memory.get());
  REQUIRE(left);
  CHECK(left->next == 6);
  CHECK(left->missed == 0);
  CHECK(left->exits == 1);
  CHECK(left->losses.at("ring_full_process_exit") == 4);
  CHECK(left->position.side == 7);
  CHECK(left->position.given == std::vector<std::uint64_t>{200});
  REQUIRE(left->events.size() == 5);
  CHECK(to_json(left->events[3].event) == to_json(exit_of_process(1)));
  CHECK(left->events[3].owner == kOfAlice);
  CHECK(left->viewers.empty());
  REQUIRE(left->newcomers.size() == 1);
  CHECK(left->newcomers[0].first == 3);
  CHECK(left->newcomers[0].second.last == 3);
  REQUIRE(left->living.size() == 1);
  CHECK(left->living.begin()->second.process->pid == 2);
  CHECK(left->living.begin()->second.exec_ns == 21);

  RecentEvents next(this_host(), copy(memory.get()), *left);
  CHECK(next.next() == 6);
  CHECK(keep(next, {exit_of_process(2)}, 300));
  left = RecentEvents::read(memory.get());
  REQUIRE(left);
  CHECK(left->next == 7);
  CHECK(left->living.empty());
  CHECK(left->events.size() == 6);
}

TEST_CASE("a spool knows of an exec by which a process has become another user's") {
  RecentEvents spool(this_host());
  const std::vector<RecentEvents::Judged> events = {{exec_of_process(1), kOfAlice, true},
                                                    {exec_of_process(2), Owner{Audience::kEverybody, 0}, false}};
  REQUIRE(spool.append(events, {7, {1}}, nobody));
  const auto left = RecentEvents::read(spool.memory());
  REQUIRE(left);
  CHECK(left->events[0].changed_user);
  CHECK(left->events[0].owner == kOfAlice);
  CHECK_FALSE(left->events[1].changed_user);
  CHECK(left->events[1].owner.audience == Audience::kEverybody);
}

TEST_CASE("a spool has what filters have decided, each time as it was then") {
  RecentEvents spool(this_host());
  RecentEvents::Viewer viewer{Sight{.owners = {1000}}, 3, 1, 2, 1};
  viewer.filtered =
      KeptFilter{9,
                 false,
                 R"([{"include":{"uid":1000}}])",
                 {11, 12},
                 {{{1, 10, Selection::kSelected}, {2, 20, Selection::kExcluded}}, {Key{5}}, {Key{6}}, {77}}};
  RecentEvents::Viewer too_large = viewer;
  too_large.filtered->id = 10;
  too_large.filtered->decided.processes.resize(RecentEvents::kMostFilteredBytes / 8);
  REQUIRE(spool.append({viewer, too_large}, nobody));
  keep(spool, {start_of_process(1)}, 1);
  viewer.last = 4;
  viewer.filtered->decided.processes.pop_back();
  REQUIRE(spool.append({viewer}, nobody));
  const auto left = RecentEvents::read(spool.memory());
  REQUIRE(left);
  REQUIRE(left->viewers.size() == 1);
  REQUIRE(left->viewers[0].filtered);
  const KeptFilter& first = *left->viewers[0].filtered;
  CHECK(left->viewers[0].last == 3);
  CHECK(left->viewers[0].sight == Sight{.owners = {1000}});
  CHECK(first.id == 9);
  CHECK_FALSE(first.shared);
  CHECK(first.rules == viewer.filtered->rules);
  CHECK(first.streams == std::vector<std::uint64_t>{11, 12});
  REQUIRE(first.decided.processes.size() == 2);
  CHECK(first.decided.processes[1].pid == 2);
  CHECK(first.decided.processes[1].start_ns == 20);
  CHECK(first.decided.processes[1].selection == Selection::kExcluded);
  CHECK(first.decided.runs == std::vector{Key{5}});
  CHECK(first.decided.tasks == std::vector{Key{6}});
  CHECK(first.decided.cgroups == std::vector<std::uint64_t>{77});
  REQUIRE(left->newcomers.size() == 1);
  CHECK(left->newcomers[0].first == 1);
  CHECK(left->newcomers[0].second.last == 4);
  CHECK(left->newcomers[0].second.filtered->decided.processes.size() == 1);
}

TEST_CASE("numbers of events that a queue has dropped are passed over") {
  RecentEvents spool(this_host());
  keep(spool, {start_of_process(1)}, 1);
  spool.go_to(10);
  keep(spool, {exit_of_process(1)}, 2);
  spool.note_released(12);
  const auto left = RecentEvents::read(spool.memory());
  REQUIRE(left);
  CHECK(left->next == 11);
  CHECK(left->missed == 2);
  CHECK(left->events.size() == 2);
}

TEST_CASE("a spool forgets the oldest events, and never what lives") {
  RecentEvents spool(this_host());
  std::uint32_t pid = 1;
  keep(spool, {start_of_process(pid)}, 1);
  std::uint64_t events = 1;
  // Each is another one, so that it hardly shrinks.
  for (int halves = 0; halves < 5;) {
    std::vector<Event> round;
    for (int i = 0; i < 2000; ++i) {
      ++pid;
      round.push_back(start_of_process(pid));
      round.push_back(exit_of_process(pid));
    }
    events += round.size();
    REQUIRE(keep(spool, std::move(round), events));
    if (spool.wants_living()) {
      const Event living = start_of_process(1);
      spool.keep_living({&living, 1});
      ++halves;
    }
  }
  const auto left = RecentEvents::read(spool.memory());
  REQUIRE(left);
  CHECK(left->next == events + 1);
  CHECK(left->exits == (events - 1) / 2);
  CHECK(left->events.size() < events);
  CHECK(left->events.size() >= 4000);
  CHECK(left->position.given == std::vector<std::uint64_t>{events});
  REQUIRE(left->living.size() == 1);
  CHECK(left->living.begin()->second.process->pid == 1);
}

TEST_CASE("what left the rings and is not in the spool is counted") {
  RecentEvents spool(this_host());
  keep(spool, {start_of_process(1)}, 1);
  spool.note_released(5);
  const auto left = RecentEvents::read(spool.memory());
  REQUIRE(left);
  CHECK(left->missed == 4);
}

TEST_CASE("no byte of a damaged spool is believed") {
  RecentEvents spool(this_host());
  for (std::uint32_t pid = 1; pid < 50; ++pid) keep(spool, {start_of_process(pid), exit_of_process(pid)}, pid);
  for (off_t at = 4096; at < 4096 + 6000; at += 7) {
    unsigned char before = 0;
    REQUIRE(::pread(spool.memory(), &before, 1, at) == 1);
    const unsigned char other = before ^ 0x55;
    ::pwrite(spool.memory(), &other, 1, at);
    // Where a length is another, less is there; what is there is right.
    if (const auto left = RecentEvents::read(spool.memory()))
      for (std::size_t i = 0; i < left->events.size(); ++i) CHECK(left->events[i].owner == kOfAlice);
    ::pwrite(spool.memory(), &before, 1, at);
  }
  // Of another version, and cut.
  const std::uint64_t other = 77;
  std::uint64_t schema = 0;
  REQUIRE(::pread(spool.memory(), &schema, sizeof schema, 8) == sizeof schema);
  REQUIRE(::pwrite(spool.memory(), &other, sizeof other, 8) == sizeof other);
  CHECK(!RecentEvents::read(spool.memory()));
  REQUIRE(::pwrite(spool.memory(), &schema, sizeof schema, 8) == sizeof schema);
  CHECK(RecentEvents::read(spool.memory()));
  REQUIRE(::ftruncate(spool.memory(), 5000) == 0);
  CHECK(!RecentEvents::read(spool.memory()));
  const UniqueFd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  CHECK(!RecentEvents::read(nothing.get()));
  CHECK(!RecentEvents::read(-1));
}

TEST_CASE("what clients have said is there for the next process, as far as it holds") {
  Said said;
  Context task;
  task.run = "r";
  task.owner_uid = 1000;
  Context other;
  other.step = "align";
  said.numbered(3, &task);
  said.numbered(4, &other);
  said.numbered(4, nullptr);
  said.announced({InWorkDir{"/work/x"}, other}, {1, 1, 1000});
  said.announced({.key = OfProcess{::getpid()}, .context = other}, {1, 1, 1000});
  said.announced({.key = InCgroup{"/x"}, .context = other, .expires_after = std::chrono::milliseconds(0)}, {1, 1, 0});
  said.command(::getpid());
  // A line that was cut.
  REQUIRE(::pwrite(said.memory(), "a 1000 1", 8, ::lseek(said.memory(), 0, SEEK_END)) == 8);
  const Said::Left left = Said::read(said.memory());
  REQUIRE(left.contexts.size() == 1);
  CHECK(left.contexts.at(3) == task);
  REQUIRE(left.announcements.size() == 2);
  CHECK(std::get<InWorkDir>(left.announcements[0].announcement.key).path == "/work/x");
  CHECK(left.announcements[0].caller.uid == 1000);
  CHECK(left.commands == std::vector<pid_t>{::getpid()});
}

namespace {

Submission submission_of(const std::string& id) {
  Submission submission;
  submission.context.engine = "planner";
  submission.context.run_id = "r1";
  submission.context.task_id = id;
  submission.requested.millicpus = 2000;
  submission.expires_after = std::chrono::hours(1);
  return submission;
}

TaskSubmit told_of(Key key, const std::string& state, std::uint64_t time_ns, std::uint64_t submitted_ns) {
  Context context;
  context.task_key = key;
  TaskSubmit submit;
  submit.time_ns = time_ns;
  submit.context = std::make_shared<const Context>(std::move(context));
  submit.state = state;
  submit.submitted_ns = submitted_ns;
  return submit;
}

}  // namespace

TEST_CASE("what was submitted is there for the next process, with its time and what was told of it") {
  Said said;
  const Caller caller{1, 1, 1000};
  for (const std::uint64_t key : {1, 2, 3, 4}) said.submitted(Key{key}, submission_of(std::to_string(key)), caller);
  said.told(told_of(Key{2}, "submitted", 20, 10));
  said.told(told_of(Key{2}, "started", 30, 10));
  said.announced({InWorkDir{"/work/2"}, submission_of("2").context}, caller, Key{2});
  said.withdrawn({Key{2}, "failed", 3}, {2, 2, 1001});  // Another's.
  said.withdrawn({Key{3}, "failed", 3}, caller);
  said.announced({InWorkDir{"/work/4"}, submission_of("4").context}, caller, Key{4});
  said.told(told_of(Key{4}, "withdrawn", 40, 10));
  const Said::Left left = Said::read(said.memory());
  REQUIRE(left.submitted.size() == 3);
  CHECK(left.submitted[0].submission.context.task_id == "1");
  CHECK(left.submitted[0].submission.requested.millicpus == 2000);
  CHECK(left.submitted[0].caller.uid == 1000);
  CHECK(left.submitted[0].earlier.submitted_ns > 1000);
  CHECK_FALSE(left.submitted[0].earlier.told);
  CHECK_FALSE(left.submitted[0].withdrawal);
  CHECK(left.submitted[0].submission.expires_after == std::chrono::hours(1));
  CHECK(left.submitted[1].earlier.submitted_ns == 10);
  REQUIRE(left.submitted[1].earlier.told);
  CHECK(left.submitted[1].earlier.told->state == ToldOfSubmitted::State::kStarted);
  CHECK(left.submitted[1].earlier.told->time_ns == 30);
  CHECK_FALSE(left.submitted[1].withdrawal);
  REQUIRE(left.submitted[2].withdrawal);
  CHECK(left.submitted[2].withdrawal->outcome == "failed");
  CHECK(left.submitted[2].withdrawal->exit_code == 3);
  REQUIRE(left.announcements.size() == 1);
  CHECK(std::get<InWorkDir>(left.announcements[0].announcement.key).path == "/work/2");
}

TEST_CASE("what was submitted and is over takes no room") {
  const auto accounts = std::make_shared<Accounts>();
  Said said(accounts);
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    said.submitted(Key{i}, submission_of("t"), {1, 1, 1000});
    said.withdrawn({Key{i}, "cached", {}}, {1, 1, 1000});
    said.told(told_of(Key{i}, "withdrawn", 40, 10));
  }
  CHECK(!accounts->all().contains(1000));
  said.submitted(Key{1}, submission_of("t"), {1, 1, 1000});
  CHECK(Said::read(said.memory()).submitted.size() == 1);
}

TEST_CASE("what was said moves into new memory before it grows without end") {
  Said said;
  int moves = 0;
  said.when_moved([&moves](int) { ++moves; });
  Context context;
  for (int i = 0; i < 40'000; ++i) {
    context.task_id = std::to_string(i);
    said.numbered(1, &context);
    said.numbered(1, nullptr);
  }
  said.numbered(2, &context);
  CHECK(moves > 0);
  CHECK(::lseek(said.memory(), 0, SEEK_END) < (2 << 20));
  const Said::Left left = Said::read(said.memory());
  REQUIRE(left.contexts.size() == 1);
  CHECK(left.contexts.at(2) == context);
}

TEST_CASE("the next recording begins behind the last whole frame of the one before") {
  const std::vector<Event> events = {start_of_process(1), start_of_process(2), exit_of_process(1), exit_of_process(2)};
  const TempFile folder;
  const std::filesystem::path file = folder.path();
  {
    const auto sink = recording_sink(file, this_host());
    sink->write(std::span(events).first(2));
    sink->flush();
  }
  CHECK(last_events(file).size() == 2);
  CHECK(find_behind(events, last_events(file)) == 2);
  // A frame that was cut.
  const auto whole = std::filesystem::file_size(file);
  {
    const auto sink = recording_sink(::open(file.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC), "tail", this_host());
    sink->write(std::span(events).subspan(2));
    sink->flush();
  }
  CHECK(find_behind(events, last_events(file)) == 4);
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
  CHECK(std::filesystem::file_size(file) > whole);
  CHECK(find_behind(events, last_events(file)) == 2);
  CHECK(!find_behind(std::span(events).subspan(3), last_events(file)));
  // Whatever order they have in a frame, none comes twice.
  const std::vector<Event> frame = {events[2], events[0], events[1]};
  CHECK(find_behind(events, frame) == 3);
  CHECK(last_events("/nonexistent").empty());
}
