// SPDX-License-Identifier: Apache-2.0
#include "stream/stream_writer.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "sample_events.hpp"
#include "stream/event_rows.hpp"
#include "stream/stream_reader.hpp"

using namespace tracer;
using namespace tracer::internal;

namespace {

struct Read {
  std::vector<Event> events;
  std::vector<std::size_t> rows_of_frames;
  RecordingDamage damage;
};

Read read(std::span<const std::byte> bytes) {
  Read result;
  StreamReader reader;
  reader.feed(bytes);
  reader.end();
  EventRows rows;
  for (StreamReader::Step step = reader.step(); step != StreamReader::Step::kEnd; step = reader.step()) {
    REQUIRE((step == StreamReader::Step::kHeader || step == StreamReader::Step::kFrame));
    if (step == StreamReader::Step::kHeader) continue;
    result.rows_of_frames.push_back(reader.frame().rows());
    rows.open(reader.frame());
    for (Event event = rows.next(); event.kind() != EventKind::kNone; event = rows.next())
      result.events.push_back(event);
  }
  result.damage = reader.damage();
  return result;
}

Read written_and_read(const std::vector<Event>& events) {
  StreamWriter writer(HostInfo{});
  for (const Event& event : events) writer.append(event);
  writer.close_frame();
  const Read result = read(writer.ready());
  CHECK_FALSE(result.damage.any());
  return result;
}

ProcessStart with_argv(std::vector<std::string> argv) {
  Program program;
  program.argv = std::move(argv);
  Process process;
  process.program = std::make_shared<const Program>(std::move(program));
  ProcessStart start;
  start.process = std::make_shared<const Process>(std::move(process));
  return start;
}

}  // namespace

TEST_CASE("events of one program share one object after reading, too") {
  ProcessExit exit = sample_events::full<ProcessExit>();
  exit.program.program = exit.process->program;
  const Read result = written_and_read({exit, exit, sample_events::full<ProcessExit>()});
  REQUIRE(result.events.size() == 3);
  const auto& first = *result.events[0].get_if<ProcessExit>();
  const auto& second = *result.events[1].get_if<ProcessExit>();
  const auto& other = *result.events[2].get_if<ProcessExit>();
  CHECK(first.process->program == first.program.program);
  CHECK(first.process->program == second.process->program);
  CHECK(first.process->cgroup == second.process->cgroup);
  CHECK(first.process->program != other.process->program);
}

TEST_CASE("a group that is absent stays absent beside one whose figures are 0") {
  ProcessExit with = sample_events::bare<ProcessExit>();
  with.account.ledger.emplace();
  const Read result = written_and_read({with, sample_events::bare<ProcessExit>(), with});
  REQUIRE(result.events.size() == 3);
  CHECK(result.events[0].get_if<ProcessExit>()->account.ledger.has_value());
  CHECK_FALSE(result.events[1].get_if<ProcessExit>()->account.ledger.has_value());
  CHECK_FALSE(result.events[1].get_if<ProcessExit>()->program.account.ledger.has_value());
  CHECK(result.events[2].get_if<ProcessExit>()->account.ledger.has_value());
}

TEST_CASE("what is absent in lists and in rows is told apart, though the same bits tell it") {
  TaskFinish finish;
  finish.totals.failures.resize(2);
  finish.totals.failures[0].exit_code = 3;
  finish.totals.account.user_ns = 7;
  TaskFinish without;
  const Read result = written_and_read({finish, without, without});
  REQUIRE(result.events.size() == 3);
  const TaskFinish& read = *result.events[0].get_if<TaskFinish>();
  REQUIRE(read.totals.failures.size() == 2);
  CHECK(read.totals.failures[0].exit_code == 3);
  CHECK_FALSE(read.totals.failures[1].exit_code.has_value());
  CHECK(read.totals.account.user_ns == 7);
  CHECK_FALSE(result.events[1].get_if<TaskFinish>()->totals.account.user_ns.has_value());
}

TEST_CASE("parts that are null and empty handles are no trouble") {
  ProcessExit exit;
  exit.program.program = nullptr;
  CgroupSample sample;
  sample.cgroup = nullptr;
  const Read result = written_and_read({exit, Event(), sample});
  REQUIRE(result.events.size() == 2);
  CHECK(result.events[0].get_if<ProcessExit>()->process != nullptr);
  CHECK(result.events[0].get_if<ProcessExit>()->program.program == Process::unknown_program());
  CHECK(result.events[1].get_if<CgroupSample>()->cgroup == Process::unknown_cgroup());
}

TEST_CASE("frames close before they are too large, whatever is in them" * doctest::test_suite("one_thread")) {
  std::vector<Event> events;
  SUBCASE("numbers that repeat nowhere") {
    std::uint64_t next = 1;
    for (int i = 0; i < 3000; ++i) {
      ProcessExit exit = sample_events::full<ProcessExit>();
      const auto fill = [&next](auto& group) {
        each_field<std::remove_cvref_t<decltype(group)>>([&](const auto& described) {
          auto& member = group.*described.member;
          if constexpr (std::is_assignable_v<decltype(member), std::uint64_t> &&
                        !std::is_same_v<std::remove_cvref_t<decltype(member)>, std::optional<std::uint32_t>>)
            member = next *= 0x9e3779b97f4a7c15u;
        });
      };
      fill(exit.account);
      fill(*exit.account.ledger);
      fill(exit.program.account);
      fill(*exit.program.account.ledger);
      events.emplace_back(exit);
    }
  }
  SUBCASE("texts of their own") {
    for (int i = 0; i < 40; ++i) events.emplace_back(with_argv({std::to_string(i) + std::string(100'000, 'x')}));
  }
  SUBCASE("one text again and again") {
    for (int i = 0; i < 60; ++i) events.emplace_back(with_argv({std::string(200'000, 'x')}));
  }
  SUBCASE("very many short texts") {
    for (int i = 0; i < 60; ++i) events.emplace_back(with_argv(std::vector<std::string>(6000, "")));
  }
  SUBCASE("very many counts") {
    for (int i = 0; i < 60; ++i) {
      Loss loss;
      loss.by_kind.resize(12'000, {EventKind::kProcessExit, static_cast<std::uint64_t>(i)});
      events.emplace_back(loss);
    }
  }
  SUBCASE("very many small events") { events.assign(70'000, SnapshotEnd{}); }
  const Read result = written_and_read(events);
  REQUIRE(result.events.size() == events.size());
  CHECK(result.rows_of_frames.size() > 1);
  for (std::size_t i = 0; i < events.size(); i += events.size() / 30)
    CHECK(to_json(result.events[i]) == to_json(events[i]));
}

TEST_CASE("an event that no frame could hold becomes a loss that says so") {
  Event large = with_argv({std::string(300'000, 'x')});
  const Read result = written_and_read({sample_events::loss(1, "a", 1), large, sample_events::loss(2, "b", 1)});
  REQUIRE(result.events.size() == 3);
  const Loss* loss = result.events[1].get_if<Loss>();
  REQUIRE(loss != nullptr);
  CHECK(loss->cause == "event_too_large");
  CHECK(loss->count == 1);
}

TEST_CASE("the longest argument vector of the kernel is not too large") {
  const Read result = written_and_read({with_argv(std::vector<std::string>(4096, ""))});
  REQUIRE(result.events.size() == 1);
  CHECK(result.events[0].get_if<ProcessStart>()->process->program->argv->size() == 4096);
}

TEST_CASE("each frame tells the clocks") {
  const ClockUpdate before = ClockUpdate::now();
  StreamWriter writer(HostInfo{});
  writer.append(SnapshotEnd{});
  writer.close_frame();
  const ClockUpdate after = ClockUpdate::now();
  StreamReader reader;
  reader.feed(writer.ready());
  REQUIRE(reader.step() == StreamReader::Step::kHeader);
  REQUIRE(reader.step() == StreamReader::Step::kFrame);
  CHECK(reader.frame().clock().boot_ns >= before.boot_ns);
  CHECK(reader.frame().clock().boot_ns <= after.boot_ns);
  CHECK(reader.frame().clock().wall_offset_ns != 0);
}
