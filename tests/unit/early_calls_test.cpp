// SPDX-License-Identifier: Apache-2.0
/// What is asked of a session before its start.
#include <tracer/session.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <tracer/source.hpp>

#include "wire_builder.hpp"
#include "wire_source.hpp"

using namespace tracer;
using std::chrono::milliseconds;

namespace {

SessionOptions with(ReaderMode reader) {
  SessionOptions options;
  options.reader = reader;
  return options;
}

/// Counts the labels that are set, and keeps the numbers of their contexts.
class LabelSource final : public wire::ControlledSource {
 public:
  explicit LabelSource(std::vector<std::uint32_t>& contexts) : contexts_(contexts) {}
  std::uint64_t open_label(pid_t, std::uint32_t context_id) override {
    contexts_.push_back(context_id);
    return contexts_.size();
  }

 private:
  std::vector<std::uint32_t>& contexts_;
};

}  // namespace

TEST_CASE("a session that was asked to stop before its start ends with that") {
  for (const ReaderMode reader : {ReaderMode::kPoll, ReaderMode::kOwnThread}) {
    auto owned = std::make_unique<wire::WireSource>();
    owned->push(wire::start_record({.pid = 42, .start_ns = 1000}));
    Session session(Source(std::move(owned)), with(reader));
    std::atomic<int> events{0};
    const Subscription all = session.on_any([&](const Event&) { ++events; });
    Queue queue = session.queue();
    session.request_stop();
    CHECK_FALSE(session.finished());
    session.start();
    CHECK(session.finished());
    CHECK(queue.wait(milliseconds(-1)));
    CHECK(queue.ended());
    CHECK(session.flush(milliseconds(-1)));
    session.stop();
    CHECK(events == 0);
  }
}

TEST_CASE("a poll ends a session that was asked to stop and never started") {
  Session session(Source(std::make_unique<wire::WireSource>()), with(ReaderMode::kPoll));
  Queue queue = session.queue();
  session.request_stop();
  CHECK(queue.wait(milliseconds(-1)));
  CHECK(queue.ended());
  CHECK(session.finished());
  session.start();
  CHECK(session.poll(milliseconds(0)) == 0);
}

TEST_CASE("a label that is set before the start is set, and none after the end") {
  std::vector<std::uint32_t> contexts;
  Session session(Source(std::make_unique<LabelSource>(contexts)), with(ReaderMode::kPoll));
  const ThreadLabel early = session.label_thread({.task_id = "early"});
  CHECK(contexts.size() == 1);
  session.start();
  const ThreadLabel same = session.label_thread({.task_id = "early"});
  REQUIRE(contexts.size() == 2);
  CHECK(contexts[0] == contexts[1]);
  session.stop();
  const ThreadLabel late = session.label_thread({.task_id = "late"});
  CHECK(contexts.size() == 2);
}

TEST_CASE("what is announced before the start holds") {
  auto owned = std::make_unique<wire::WireSource>();
  wire::WireSource& source = *owned;
  Session session(Source(std::move(owned)), with(ReaderMode::kPoll));
  std::vector<std::string> tasks;
  const Subscription exits = session.on<ProcessExit>(
      [&](const ProcessExit& exit) { tasks.push_back(exit.process->context->task.value_or("-")); });
  session.announce({InWorkDir{"/data/ab"}, {.task = "A"}});
  session.start();
  const wire::Who who{.pid = 100, .start_ns = 1000};
  source.push(wire::start_record(who));
  source.push(wire::exec_record(who, {.time_ns = 1001, .exe = "/bin/sh", .cwd = "/data/ab"}));
  source.push(wire::exit_record(who, {.time_ns = 1002}));
  session.poll(milliseconds(0));
  CHECK(tasks == std::vector<std::string>{"A"});
}

TEST_CASE("what a label fails to be set for takes no room") {
  class FullSource final : public wire::ControlledSource {
   public:
    std::uint64_t open_label(pid_t, std::uint32_t) override {
      throw Error({ErrorCode::kInvalidArgument, 0, "no room", {}, {}});
    }
  };
  SessionOptions options = with(ReaderMode::kPoll);
  options.max_contexts = 2;
  Session session(Source(std::make_unique<FullSource>()), options);
  session.start();
  for (int n = 0; n < 5; ++n) CHECK_THROWS_AS(auto label = session.label_thread({.step = std::to_string(n)}), Error);
  session.track(8, {.step = "there"});
  CHECK_THROWS_AS(session.track(9, {.step = "one too many"}), Error);
}
