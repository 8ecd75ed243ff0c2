// SPDX-License-Identifier: Apache-2.0
/// Session::label_thread(): what is decided in the kernel at the fork.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <tracer/session.hpp>

#include "truth.hpp"

namespace {

tracer::Context task(const std::string& id) {
  tracer::Context context;
  context.run = "r1";
  context.step = "align";
  context.task_id = id;
  return context;
}

/// Follows only what is labeled.
class Labeled {
 public:
  Labeled() : session_(options()) {
    all_ = session_.on<tracer::ProcessExit>([this](const auto& exit) { exits_.push_back(exit); });
    session_.start();
  }
  tracer::Session& session() { return session_; }
  const std::vector<tracer::ProcessExit>& exits() {
    session_.stop();
    return exits_;
  }
  /// The task of each process whose arguments end in `word`; "-" for those that have none.
  std::map<std::string, int> tasks_of(const std::string& word) {
    std::map<std::string, int> tasks;
    for (const auto& exit : exits()) {
      const auto& argv = exit.process->program->argv;
      if (argv && argv->back() == word) ++tasks[exit.process->context->task_id.value_or("-")];
    }
    return tasks;
  }

 private:
  static tracer::SessionOptions options() {
    tracer::SessionOptions options;
    options.filter.include_tree(::getpid());
    options.families = {};
    options.ring_bytes = 16u << 20;  // A storm on few CPUs: what is lost would say nothing of labels.
    return options;
  }
  tracer::Session session_;
  tracer::Subscription all_;
  std::vector<tracer::ProcessExit> exits_;
};

pid_t begin(const std::vector<std::string>& words) {
  const pid_t pid = ::fork();
  if (pid == 0) truth::execute(words);
  return pid;
}

void run(const std::vector<std::string>& words) { ::waitpid(begin(words), nullptr, 0); }

using Tasks = std::map<std::string, int>;

}  // namespace

TEST_CASE("what a thread forks has its innermost label, until that ends" * doctest::test_suite("waits essential")) {
  Labeled labeled;
  {
    auto outer = labeled.session().label_thread(task("outer"));
    run(truth::call("many_forks", {"3", "in-outer"}));
    {
      const auto inner = labeled.session().label_thread(task("inner"));
      run(truth::call("many_forks", {"3", "in-inner"}));
    }
    run(truth::call("many_forks", {"3", "again"}));
    {
      const auto none = labeled.session().label_thread({});
      run(truth::call("many_forks", {"3", "in-none"}));
    }
    outer.end();
    run(truth::call("many_forks", {"3", "after"}));
  }
  CHECK(labeled.tasks_of("in-outer") == Tasks{{"outer", 4}});
  CHECK(labeled.tasks_of("in-inner") == Tasks{{"inner", 4}});
  CHECK(labeled.tasks_of("again") == Tasks{{"outer", 4}});
  CHECK(labeled.tasks_of("in-none") == Tasks{{"-", 4}});
  CHECK(labeled.tasks_of("after") == Tasks{{"-", 4}});
}

TEST_CASE("labels that end in any order leave the innermost one that is open" * doctest::test_suite("waits native")) {
  Labeled labeled;
  auto outer = labeled.session().label_thread(task("outer"));
  auto middle = labeled.session().label_thread(task("middle"));
  auto inner = labeled.session().label_thread(task("inner"));
  auto innermost = labeled.session().label_thread(task("innermost"));
  inner.end();
  middle.end();
  run(truth::call("many_forks", {"1", "in-innermost"}));
  innermost.end();
  run(truth::call("many_forks", {"1", "in-outer"}));
  outer.end();
  run(truth::call("many_forks", {"1", "in-none"}));
  // One after the other takes over.
  auto first = labeled.session().label_thread(task("first"));
  auto second = labeled.session().label_thread(task("second"));
  first.end();
  auto third = labeled.session().label_thread(task("third"));
  second.end();
  third.end();
  run(truth::call("many_forks", {"1", "after-all"}));
  CHECK(labeled.tasks_of("in-innermost") == Tasks{{"innermost", 2}});
  CHECK(labeled.tasks_of("in-outer") == Tasks{{"outer", 2}});
  CHECK(labeled.tasks_of("in-none") == Tasks{{"-", 2}});
  CHECK(labeled.tasks_of("after-all") == Tasks{{"-", 2}});
}

TEST_CASE("where another thread's label ends that was resumed, its outer one does not come here" *
          doctest::test_suite("waits native")) {
  Labeled labeled;
  auto outer = labeled.session().label_thread(task("outer"));
  auto theirs = labeled.session().label_thread(task("theirs"));
  std::optional<tracer::ThreadLabel> ours;
  std::thread([&] {
    theirs.resume();
    ours = labeled.session().label_thread(task("ours"));
    theirs.end();
    run(truth::call("many_forks", {"1", "in-ours"}));
    ours->end();
    run(truth::call("many_forks", {"1", "after-ours"}));
  }).join();
  run(truth::call("many_forks", {"1", "back-in-outer"}));
  CHECK(labeled.tasks_of("in-ours") == Tasks{{"ours", 2}});
  CHECK(labeled.tasks_of("after-ours") == Tasks{{"-", 2}});
  CHECK(labeled.tasks_of("back-in-outer") == Tasks{{"outer", 2}});
}

TEST_CASE("labels that a failed track() was for are their own" * doctest::test_suite("waits native essential")) {
  Labeled labeled;
  constexpr pid_t kNobody = 4'194'304;
  CHECK_THROWS_AS(labeled.session().track(kNobody, task("X")), tracer::Error);
  for (const char* name : {"X", "Y", "X"}) {
    const auto label = labeled.session().label_thread(task(name));
    run(truth::call("many_forks", {"1", std::string("in-") + name}));
  }
  CHECK(labeled.tasks_of("in-X") == Tasks{{"X", 4}});
  CHECK(labeled.tasks_of("in-Y") == Tasks{{"Y", 2}});
}

TEST_CASE("a thread forks with the label of the thread that made it, while that is open" *
          doctest::test_suite("waits")) {
  Labeled labeled;
  std::optional<tracer::ThreadLabel> label = labeled.session().label_thread(task("maker"));
  int made_both[2];
  int go[2];
  REQUIRE(::pipe2(made_both, O_CLOEXEC) == 0);
  REQUIRE(::pipe2(go, O_CLOEXEC) == 0);
  std::thread made([&] {
    char byte = 0;
    run(truth::call("many_forks", {"2", "of-thread"}));
    std::thread([] { run(truth::call("many_forks", {"2", "of-its-thread"})); }).join();
    static_cast<void>(::write(made_both[1], &byte, 1) == 1 && ::read(go[0], &byte, 1) == 0);
    run(truth::call("many_forks", {"2", "too-late"}));
  });
  char byte;
  REQUIRE(::read(made_both[0], &byte, 1) == 1);
  label.reset();
  ::close(go[1]);
  made.join();
  for (const int fd : {made_both[0], made_both[1], go[0]}) ::close(fd);
  CHECK(labeled.tasks_of("of-thread") == Tasks{{"maker", 3}});
  CHECK(labeled.tasks_of("of-its-thread") == Tasks{{"maker", 3}});
  CHECK(labeled.tasks_of("too-late") == Tasks{{"-", 3}});
}

TEST_CASE("200 tasks at once, of 8 threads, with 20,000 processes: each in its own" * doctest::test_suite("native")) {
  constexpr int kThreads = 8;
  constexpr int kTasksEach = 25;
  Labeled labeled;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread)
    threads.emplace_back([&labeled, thread] {
      std::vector<pid_t> begun;
      for (int n = 0; n < kTasksEach; ++n) {
        const std::string name = "t" + std::to_string(thread * kTasksEach + n);
        const auto label = labeled.session().label_thread(task(name));
        begun.push_back(begin(truth::call("many_forks", {"100", name})));
      }
      for (const pid_t pid : begun) ::waitpid(pid, nullptr, 0);
    });
  for (std::thread& thread : threads) thread.join();
  std::size_t right = 0;
  std::size_t wrong = 0;
  for (const auto& exit : labeled.exits()) {
    const auto& argv = exit.process->program->argv;
    if (!argv || argv->size() != 5 || (*argv)[2] != "many_forks") continue;
    ++(exit.process->context->task_id == argv->back() ? right : wrong);
  }
  CHECK(right == kThreads * kTasksEach * 101);
  CHECK(wrong == 0);
  CHECK(labeled.session().statistics().lost() == 0);
}

TEST_CASE("with hundreds of contexts each has its own sums" * doctest::test_suite("waits native")) {
  constexpr int kContexts = 300;
  Labeled labeled;
  for (int n = 0; n < kContexts; ++n) {
    const auto label = labeled.session().label_thread(task("t" + std::to_string(n)));
    run(truth::call("exit", {n % 2 == 0 ? "0" : "1"}));
  }
  std::map<std::string, std::uint64_t> cpu_ns;
  for (const auto& exit : labeled.exits())
    cpu_ns[exit.process->context->task_id.value_or("-")] += exit.account.cpu_ns.value_or(0);
  int right = 0;
  for (const auto& totals : labeled.session().totals()) {
    if (!totals.context.task_id) continue;
    const std::string& name = *totals.context.task_id;
    const bool failed = std::stoi(name.substr(1)) % 2 != 0;
    if (totals.ended == 1 && totals.failed == (failed ? 1u : 0u) && totals.account.cpu_ns == cpu_ns[name]) ++right;
  }
  CHECK(right == kContexts);
}

TEST_CASE("labels are followed whatever the filter takes in, and hold from the start on" *
          doctest::test_suite("waits native")) {
  tracer::SessionOptions options;
  const pid_t other = begin(truth::call("nap", {"100"}));
  options.filter.include_tree(other);
  options.families = {};
  tracer::Session session(std::move(options));
  std::vector<tracer::ProcessExit> exits;
  const auto all = session.on<tracer::ProcessExit>([&](const auto& exit) { exits.push_back(exit); });
  {
    const auto early = session.label_thread(task("early"));
    run(truth::call("exit", {"3"}));
  }
  auto before = session.label_thread(task("before"));
  session.start();
  run(truth::call("exit", {"6"}));
  before.end();
  {
    const auto label = session.label_thread(task("labeled"));
    run(truth::call("exit", {"4"}));
  }
  run(truth::call("exit", {"5"}));
  ::waitpid(other, nullptr, 0);
  session.stop();
  session.unlabel_thread();
  const auto late = session.label_thread(task("late"));
  int labeled = 0;
  for (const auto& exit : exits) {
    CHECK(exit.exit_code != 3);
    CHECK(exit.exit_code != 5);
    if (exit.exit_code == 4) labeled += exit.process->context->task_id == "labeled" ? 1 : 0;
    if (exit.exit_code == 6) labeled += exit.process->context->task_id == "before" ? 1 : 0;
  }
  CHECK(labeled == 2);
}

TEST_CASE("a thread resumes labels of its own and of others, and an ended one is nobody's" *
          doctest::test_suite("waits essential")) {
  Labeled labeled;
  auto first = labeled.session().label_thread(task("first"));
  auto second = labeled.session().label_thread(task("second"));
  first.resume();
  run(truth::call("many_forks", {"1", "in-first"}));
  std::thread([&] {
    second.resume();
    run(truth::call("many_forks", {"1", "elsewhere"}));
  }).join();
  second.end();  // What the thread has now is another's.
  run(truth::call("many_forks", {"1", "still-first"}));
  first.end();
  first.resume();
  second.resume();
  run(truth::call("many_forks", {"1", "ended"}));
  CHECK(labeled.tasks_of("in-first") == Tasks{{"first", 2}});
  CHECK(labeled.tasks_of("elsewhere") == Tasks{{"second", 2}});
  CHECK(labeled.tasks_of("still-first") == Tasks{{"first", 2}});
  CHECK(labeled.tasks_of("ended") == Tasks{{"-", 2}});
}

TEST_CASE(
    "a thread that was unlabeled forks without the label of an outer scope or of its maker, until it has another" *
    doctest::test_suite("waits essential")) {
  Labeled labeled;
  labeled.session().unlabel_thread();
  auto outer = labeled.session().label_thread(task("outer"));
  labeled.session().unlabel_thread();
  run(truth::call("many_forks", {"1", "of-unlabeled"}));
  std::thread([] { run(truth::call("many_forks", {"1", "made-by-unlabeled"})); }).join();
  {
    const auto inner = labeled.session().label_thread(task("inner"));
    run(truth::call("many_forks", {"1", "in-inner"}));
  }
  run(truth::call("many_forks", {"1", "unlabeled-again"}));
  outer.resume();
  run(truth::call("many_forks", {"1", "resumed"}));
  std::thread([&] {
    labeled.session().unlabel_thread();
    run(truth::call("many_forks", {"1", "thread-unlabeled"}));
    outer.resume();
    run(truth::call("many_forks", {"1", "thread-resumed"}));
  }).join();
  CHECK(labeled.tasks_of("of-unlabeled") == Tasks{{"-", 2}});
  CHECK(labeled.tasks_of("made-by-unlabeled") == Tasks{{"-", 2}});
  CHECK(labeled.tasks_of("in-inner") == Tasks{{"inner", 2}});
  CHECK(labeled.tasks_of("unlabeled-again") == Tasks{{"-", 2}});
  CHECK(labeled.tasks_of("resumed") == Tasks{{"outer", 2}});
  CHECK(labeled.tasks_of("thread-unlabeled") == Tasks{{"-", 2}});
  CHECK(labeled.tasks_of("thread-resumed") == Tasks{{"outer", 2}});
}

TEST_CASE("labels that end on one thread while others resume them label nothing after that" *
          doctest::test_suite("waits native")) {
  constexpr int kThreads = 4;
  constexpr int kLabels = 200;
  Labeled labeled;
  for (int n = 0; n < kLabels; ++n) {
    const std::string name = "t" + std::to_string(n);
    auto label = labeled.session().label_thread(task(name));
    std::atomic<bool> ended{false};
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; ++thread)
      threads.emplace_back([&] {
        while (!ended) label.resume();
        run(truth::call("many_forks", {"0", "after-" + name}));
      });
    label.end();
    ended = true;
    for (std::thread& thread : threads) thread.join();
  }
  std::size_t after = 0;
  for (const auto& exit : labeled.exits()) {
    const auto& argv = exit.process->program->argv;
    if (!argv || !argv->back().starts_with("after-")) continue;
    ++after;
    CHECK_FALSE(exit.process->context->task_id.has_value());
  }
  CHECK(after == static_cast<std::size_t>(kThreads * kLabels));
}

TEST_CASE("a labeled task of many processes is finished once, with all of them" * doctest::test_suite("waits")) {
  Labeled labeled;
  std::vector<tracer::TaskFinish> finished;
  const auto finishes =
      labeled.session().on<tracer::TaskFinish>([&](const tracer::TaskFinish& finish) { finished.push_back(finish); });
  for (int n = 0; n < 5; ++n) {
    auto label = labeled.session().label_thread(task("t" + std::to_string(n)));
    for (int each = 0; each < 4; ++each) {
      run(truth::call("exit", {each == 0 ? "3" : "0"}));
      REQUIRE(labeled.session().flush(std::chrono::milliseconds(-1)));
    }
    label.end();
    REQUIRE(labeled.session().flush(std::chrono::milliseconds(-1)));
    CHECK(finished.size() == static_cast<std::size_t>(n) + 1);
  }
  labeled.session().stop();
  REQUIRE(finished.size() == 5);
  for (const auto& finish : finished) {
    CHECK(finish.totals.processes == 4);
    CHECK(finish.totals.failed == 1);
  }
}

TEST_CASE("numbers of labels that nothing has any more are given again, and no sum is lost" *
          doctest::test_suite("waits native")) {
  constexpr std::uint64_t kLabels = 20'000;
  constexpr std::uint64_t kForkEvery = 100;
  tracer::SessionOptions options;
  options.filter.include_tree(::getpid());
  options.families = {};
  options.max_contexts = 512;
  tracer::Session session(std::move(options));
  std::uint64_t wrong = 0;
  std::uint64_t exits = 0;
  const auto all = session.on<tracer::ProcessExit>([&](const auto& exit) {
    const auto& argv = exit.process->program->argv;
    if (!argv || argv->size() < 4 || (*argv)[2] != "exit") return;
    ++exits;
    if (exit.process->context->task_id != "t" + argv->back()) ++wrong;
  });
  session.start();
  // One that stays, so that its number must.
  const auto held = session.label_thread(task("held"));
  const pid_t living = begin(truth::call("nap", {"600000"}));
  for (std::uint64_t n = 0; n < kLabels; ++n) {
    const auto label = session.label_thread(task("t" + std::to_string(n)));
    if (n % kForkEvery == 0) run(truth::call("exit", {"0", std::to_string(n)}));
  }
  ::kill(living, SIGKILL);
  ::waitpid(living, nullptr, 0);
  REQUIRE(session.flush(std::chrono::milliseconds(-1)));
  std::uint64_t ended = 0;
  std::uint64_t forgotten = 0;
  bool held_known = false;
  for (const auto& totals : session.totals()) {
    ended += totals.ended;
    if (totals.contexts > 1) forgotten = totals.contexts;
    held_known = held_known || totals.context.task_id == "held";
  }
  session.stop();
  CHECK(exits == kLabels / kForkEvery);
  CHECK(wrong == 0);
  CHECK(ended == kLabels / kForkEvery + 1);
  CHECK(forgotten > kLabels - 512);
  CHECK(held_known);
  CHECK(session.statistics().lost() == 0);
}
