// SPDX-License-Identifier: Apache-2.0
/// Tasks that label_thread() begins: finished once, when their label has ended.
#include <tracer/session.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <tracer/testing.hpp>

#include "builders.hpp"
#include "session_tools.hpp"
#include "wire_builder.hpp"
#include "wire_source.hpp"

using namespace tracer;
using namespace session_tools;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds kForever{-1};

/// Knows the labels that are open, as the kernel side does.
class LabelSource final : public wire::ControlledSource {
 public:
  struct Said {
    std::atomic<std::uint64_t> serials{0};
    std::atomic<int> resumed{0};
    std::atomic<int> disowned{0};
    std::atomic<int> closed{0};
    std::atomic<std::uint32_t> context_id{0};
    std::atomic<bool> held{false};  ///< Nothing is drained.
  };
  explicit LabelSource(std::shared_ptr<Said> said) : said_(std::move(said)) {}

  std::uint64_t open_label(pid_t, std::uint32_t context_id) override {
    said_->context_id = context_id;
    return ++said_->serials;
  }
  bool close_label(std::uint64_t serial) noexcept override {
    const bool fresh = ++times_closed_[serial] == 1;
    if (fresh) ++said_->closed;
    return fresh;
  }
  void resume_label(pid_t, std::uint64_t) noexcept override { ++said_->resumed; }
  void disown_thread(pid_t) noexcept override { ++said_->disowned; }
  bool drain(internal::Feed& feed, const internal::DrainLimit& limit) override {
    return !said_->held && ControlledSource::drain(feed, limit);
  }

 private:
  std::shared_ptr<Said> said_;
  std::atomic<int> times_closed_[16] = {};
};

/// A session of which all threads' labels are known to the test.
class Labeled {
 public:
  Labeled() {
    auto source = std::make_unique<LabelSource>(said_);
    wire_ = source.get();
    SessionOptions options;
    options.reader = ReaderMode::kPoll;
    session_.emplace(tracer::Source(std::move(source)), options);
    finishes_ = session_->on<TaskFinish>([this](const TaskFinish& finish) { finished.push_back(finish); });
    session_->start();
  }
  ThreadLabel label(const std::string& id) { return session_->label_thread({.run = "r1", .task_id = id}); }
  /// Of the label that was opened last.
  void start(std::uint32_t pid) {
    contexts_[pid] = said_->context_id;
    wire_->push(wire::start_record(who(pid)));
  }
  void exit(std::uint32_t pid, std::int32_t code = 0) {
    wire_->push(wire::exit_record(
        who(pid),
        {.time_ns = 1000 + pid, .program_start_ns = pid, .exit_code = static_cast<std::uint32_t>(code) << 8}));
  }
  void run(std::uint32_t pid) {
    start(pid);
    exit(pid);
  }
  void flush() { REQUIRE(session_->flush(kForever)); }
  Session& session() { return *session_; }
  LabelSource::Said& said() { return *said_; }

  std::vector<TaskFinish> finished;

 private:
  wire::Who who(std::uint32_t pid) { return {.pid = pid, .start_ns = pid, .context_id = contexts_[pid], .comm = "sh"}; }

  std::shared_ptr<LabelSource::Said> said_ = std::make_shared<LabelSource::Said>();
  LabelSource* wire_ = nullptr;
  std::optional<Session> session_;
  Subscription finishes_;
  std::map<std::uint32_t, std::uint32_t> contexts_;
};

}  // namespace

TEST_CASE("a labeled task is finished once, with all of its processes, when its label has ended") {
  Labeled labeled;
  auto label = labeled.label("a");
  labeled.run(10);
  labeled.flush();
  labeled.run(11);
  labeled.start(12);
  labeled.exit(12, 3);
  labeled.flush();
  CHECK(labeled.finished.empty());
  label.end();
  label.end();
  labeled.flush();
  REQUIRE(labeled.finished.size() == 1);
  const TaskFinish& finish = labeled.finished.front();
  CHECK(finish.context->task_id == "a");
  CHECK(finish.totals.processes == 3);
  CHECK(finish.totals.failed == 1);
  CHECK(finish.pid == 10);
  CHECK(finish.exit_code == 0);
  CHECK(finish.end_ns == 1012);
  labeled.session().stop();
  CHECK(labeled.finished.size() == 1);
}

TEST_CASE("a labeled task of which something lives is finished when that ends; what joins later is said with all") {
  Labeled labeled;
  auto label = labeled.label("a");
  labeled.run(10);
  labeled.start(11);
  label.end();
  labeled.flush();
  CHECK(labeled.finished.empty());
  labeled.exit(11);
  labeled.flush();
  REQUIRE(labeled.finished.size() == 1);
  CHECK(labeled.finished[0].totals.processes == 2);
  labeled.run(12);
  labeled.flush();
  REQUIRE(labeled.finished.size() == 2);
  CHECK(labeled.finished[1].totals.processes == 3);
}

TEST_CASE("what was read after a label's end, but is older, is in the one finish of its task") {
  Labeled labeled;
  auto label = labeled.label("a");
  labeled.run(10);
  labeled.flush();
  labeled.said().held = true;
  labeled.run(11);
  label.end();
  CHECK_FALSE(labeled.session().flush(milliseconds(10)));
  CHECK(labeled.finished.empty());
  labeled.said().held = false;
  labeled.flush();
  REQUIRE(labeled.finished.size() == 1);
  CHECK(labeled.finished[0].totals.processes == 2);
}

TEST_CASE("several labels with equal contexts are one task, which the last of them finishes") {
  Labeled labeled;
  auto first = labeled.label("a");
  std::optional<ThreadLabel> second;
  std::thread([&] { second = labeled.label("a"); }).join();
  labeled.run(10);
  first.end();
  labeled.flush();
  CHECK(labeled.finished.empty());
  labeled.run(11);
  second.reset();
  labeled.flush();
  REQUIRE(labeled.finished.size() == 1);
  CHECK(labeled.finished[0].totals.processes == 2);
}

TEST_CASE("the end of one label does not finish another's task, and one without processes is none") {
  Labeled labeled;
  auto empty = labeled.label("empty");
  auto other = labeled.label("other");
  labeled.run(10);
  auto last = labeled.label("last");
  labeled.run(11);
  empty.end();
  last.end();
  labeled.flush();
  REQUIRE(labeled.finished.size() == 1);
  CHECK(labeled.finished[0].context->task_id == "last");
  labeled.session().stop();
  REQUIRE(labeled.finished.size() == 2);
  CHECK(labeled.finished[1].context->task_id == "other");
  other.end();
}

TEST_CASE("of a label that is open at the session's end the task is finished then, what lives excepted") {
  Labeled labeled;
  const auto label = labeled.label("a");
  labeled.run(10);
  const auto other = labeled.label("b");
  labeled.start(11);
  labeled.session().stop();
  REQUIRE(labeled.finished.size() == 1);
  CHECK(labeled.finished[0].context->task_id == "a");
}

TEST_CASE("a forked child neither ends nor resumes its parent's labels, and makes none") {
  Labeled labeled;
  auto label = labeled.label("a");
  const pid_t pid = ::fork();
  if (pid == 0) {
    label.resume();
    label.end();
    labeled.session().unlabel_thread();
    auto mine = labeled.label("b");
    LabelSource::Said& said = labeled.said();
    ::_exit(said.resumed + said.closed + said.disowned + static_cast<int>(said.serials) - 1);
  }
  int status = -1;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  CHECK(status == 0);
  label.resume();
  labeled.session().unlabel_thread();
  CHECK(labeled.said().resumed == 1);
  CHECK(labeled.said().disowned == 1);
  labeled.run(10);
  label.end();
  label.end();
  CHECK(labeled.said().closed == 1);
  labeled.flush();
  CHECK(labeled.finished.size() == 1);
}

TEST_CASE("labels of a session that is gone do nothing") {
  std::optional<Labeled> labeled(std::in_place);
  auto label = labeled->label("a");
  labeled.reset();
  label.resume();
  label.end();
  ThreadLabel none;
  none.resume();
  none.end();
}

TEST_CASE("a forked child may destroy its copy of a running session, and the parent's goes on") {
  for (const ReaderMode reader : {ReaderMode::kOwnThread, ReaderMode::kPoll}) {
    testing::FakeSource source;
    SessionOptions options;
    options.reader = reader;
    std::optional<Session> session(std::in_place, source.source(), options);
    std::atomic<int> seen{0};
    const Subscription all = session->on<ProcessExit>([&](const ProcessExit&) { ++seen; });
    session->start();
    const pid_t pid = ::fork();
    if (pid == 0) {
      session.reset();
      ::_exit(0);
    }
    int status = -1;
    REQUIRE(::waitpid(pid, &status, 0) == pid);
    CHECK(status == 0);
    source.push(build::exit(1));
    CHECK(session->flush(kForever));
    CHECK(seen == 1);
  }
}
