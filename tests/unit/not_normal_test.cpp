// SPDX-License-Identifier: Apache-2.0
/// What is said of tasks by earlier ones, and what is said of two traces that are compared.
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "builders.hpp"
#include "collect.hpp"
#include "history/session_history.hpp"
#include "insight/insight.hpp"
#include "report/compare.hpp"
#include "report/compared_runs.hpp"
#include "temp_file.hpp"

using namespace tracer;
using namespace tracer::internal;

namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kGiB = 1ull << 30;
constexpr std::uint64_t kBegin = 1000 * kSecond;

std::shared_ptr<const Context> task_context(std::uint64_t key) {
  Context context{.pipeline = "demo", .step = "ALIGN", .task = "ALIGN (S1)"};
  context.run_key = Key{1};
  context.task_key = static_cast<Key>(key);
  return std::make_shared<const Context>(context);
}

TaskFinish finish(std::uint64_t key, std::uint64_t wall_ns, std::uint64_t peak_bytes = kGiB) {
  TaskFinish finish;
  finish.context = task_context(key);
  finish.start_ns = finish.begin_ns = kBegin;
  finish.time_ns = finish.end_ns = kBegin + wall_ns;
  finish.exit_code = 0;
  finish.totals.peak_bytes = peak_bytes;
  finish.totals.account.cpu_ns = std::min(wall_ns, 10 * kSecond);
  return finish;
}

/// Sessions over one history.
class Sessions {
 public:
  explicit Sessions(std::optional<UserIds> owners = {}) : owners_(std::move(owners)) {}

  /// The findings of a session in which `feed` happens.
  template <class Feed>
  std::vector<Finding> run(const Feed& feed, bool on_this_host = false) {
    Insight insight(2);
    if (on_this_host) insight.ask_this_host();
    // Now, by the clock of a boot at the epoch.
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    auto history = std::make_unique<SessionHistory>(file_.path(), HistoryFile::Access::kWrite, owners_);
    history_ = history.get();
    insight.use(std::move(history),
                static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()) - kBegin);
    std::vector<Event> events;
    feed([&](const Event& event) { insight.add(event, events); });
    SessionEnd end;
    end.time_ns = kBegin + 10000 * kSecond;
    insight.add(Event(end), events);
    history_ = nullptr;
    return collect::all_of<Finding>(events);
  }
  void past(std::uint64_t tasks, std::uint64_t wall_ns = 40 * kSecond) {
    run([&](const auto& add) {
      for (std::uint64_t i = 0; i < tasks; ++i) add(Event(finish(100 + i, wall_ns + i * kSecond / 10)));
    });
  }

  /// Until what it has asked for has come.
  void settle() { CHECK(history_->settle(std::chrono::seconds(60))); }

 private:
  const std::optional<UserIds> owners_;
  TempFile file_;
  SessionHistory* history_ = nullptr;  ///< Of the session that runs.
};

std::vector<double> around(double middle, std::size_t count) {
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(middle * (1 + 0.01 * static_cast<double>((i * 7) % 5)));
  return values;
}

}  // namespace

TEST_CASE("a task that takes far longer than earlier ones is slow, while it runs and when it is over") {
  Sessions sessions;
  sessions.past(20);
  const auto findings = sessions.run([&](const auto& add) {
    TaskStart start;
    start.context = task_context(7);
    start.time_ns = start.start_ns = kBegin;
    add(Event(start));
    sessions.settle();
    for (const std::uint64_t after : {50ull, 540ull}) {
      SnapshotEnd snapshot;
      snapshot.time_ns = kBegin + after * kSecond;
      add(Event(snapshot));
    }
    add(Event(finish(7, 600 * kSecond)));
  });
  REQUIRE(findings.size() == 2);
  CHECK(findings[0].code == "slower_than_usual");
  CHECK(findings[0].state == "open");
  CHECK(findings[0].text == "task ALIGN (S1) has run for 9.0 min; it usually takes 41.0 s (20 earlier)");
  CHECK(findings[1].state == "closed");
  CHECK(findings[1].finding_key == findings[0].finding_key);
  CHECK(findings[1].text == "task ALIGN (S1) ran for 10.0 min; it usually takes 41.0 s (20 earlier)");
}

namespace {

/// A command that nobody has named: its run, in which this process executes run.sh with an argument.
class Command {
 public:
  Command(std::string folder, std::string argument) : folder_(std::move(folder)), argument_(std::move(argument)) {}

  template <class Add>
  void happens(const Add& add, std::uint64_t wall_ns) const {
    Context context{.run = "run.sh"};
    context.provenance.run = Provenance::kInferred;
    context.run_key = static_cast<Key>(++last_key_);
    const auto pid = static_cast<std::uint32_t>(::getpid());
    RunStart start;
    start.context = std::make_shared<const Context>(context);
    start.time_ns = start.start_ns = kBegin;
    start.pid = pid;
    add(Event(start));
    // What tracerd itself is, before it becomes the command.
    add(Event(ProcessStart{kBegin, process(context, pid, "tracerd", {"tracerd", "run"}), {}}));
    ProcessExec exec;
    exec.time_ns = kBegin;
    exec.process = process(context, pid, "run.sh", {"bash", "run.sh", argument_});
    add(Event(exec));
    RunFinish finish;
    finish.context = start.context;
    finish.pid = pid;
    finish.start_ns = finish.begin_ns = kBegin;
    finish.time_ns = finish.end_ns = kBegin + wall_ns;
    finish.exit_code = 0;
    add(Event(finish));
  }

 private:
  std::shared_ptr<const Process> process(const Context& context, std::uint32_t pid, const std::string& tool,
                                         std::vector<std::string> argv) const {
    Program program;
    program.exe = "/usr/bin/bash";
    program.tool = tool;
    program.argv = std::move(argv);
    program.cwd = folder_;
    Process process = *build::process({.pid = pid, .start_ns = kBegin, .uid = ::geteuid(), .context = context});
    process.program = std::make_shared<const Program>(std::move(program));
    return std::make_shared<const Process>(std::move(process));
  }

  static inline std::uint64_t last_key_ = 1000;

  std::string folder_;
  std::string argument_;
};

std::size_t slow_of(Sessions& sessions, const Command& command, bool on_this_host = false) {
  return sessions.run([&](const auto& add) { command.happens(add, 600 * kSecond); }, on_this_host).size();
}

}  // namespace

TEST_CASE("a command that nobody names is compared with the same script of like arguments only") {
  Sessions sessions;
  sessions.run([](const auto& add) {
    for (std::uint64_t i = 0; i < 6; ++i)
      Command("/a", "S" + std::to_string(i) + ".fq").happens(add, 40 * kSecond + i * kSecond / 10);
  });
  CHECK(slow_of(sessions, {"/a", "S7.fq"}) == 1);
  CHECK(slow_of(sessions, {"/b", "S7.fq"}) == 0);
  CHECK(slow_of(sessions, {"/a", "7"}) == 0);
  CHECK(slow_of(sessions, {"/a", "--fast"}) == 0);
}

TEST_CASE("a script of another size is another one") {
  const TempFile temp;
  const std::string folder = temp.folder().string();
  const auto write = [&](const std::string& text) { std::ofstream(temp.folder() / "run.sh") << text; };
  write("sort a\n");
  Sessions sessions;
  sessions.run(
      [&](const auto& add) {
        for (std::uint64_t i = 0; i < 6; ++i) Command(folder, "a.txt").happens(add, 40 * kSecond + i * kSecond / 10);
      },
      true);
  CHECK(slow_of(sessions, {folder, "a.txt"}, true) == 1);
  write("sort a; sleep 300\n");
  CHECK(slow_of(sessions, {folder, "a.txt"}, true) == 0);
  write("sort b\n");
  CHECK(slow_of(sessions, {folder, "a.txt"}, true) == 1);
}

TEST_CASE("a command of which nothing is known is compared with none") {
  Sessions sessions;
  const auto happens = [](const auto& add, std::uint64_t key, std::uint64_t wall_ns) {
    TaskFinish task = finish(key, wall_ns);
    auto context = std::make_shared<Context>(*task.context);
    context->step.reset();
    task.context = std::move(context);
    add(Event(task));
  };
  sessions.run([&](const auto& add) {
    for (std::uint64_t i = 0; i < 6; ++i) happens(add, 100 + i, 40 * kSecond);
  });
  CHECK(sessions.run([&](const auto& add) { happens(add, 7, 600 * kSecond); }).empty());
}

TEST_CASE("what is usual of one user never comes from another's runs, by equal names and keys") {
  constexpr std::uint32_t kAlice = 1000;
  constexpr std::uint32_t kBob = 1001;
  const auto of_user = [](std::uint32_t uid, std::uint64_t key, std::uint64_t wall_ns) {
    TaskFinish task = finish(key, wall_ns);
    auto context = std::make_shared<Context>(*task.context);
    context->owner_uid = uid;
    task.context = std::move(context);
    return task;
  };
  Sessions sessions{UserIds()};
  sessions.run([&](const auto& add) {
    // Bob's are as slow as his next one.
    for (std::uint64_t i = 0; i < 20; ++i) {
      add(Event(of_user(kAlice, 100 + i, 40 * kSecond + i * kSecond / 10)));
      add(Event(of_user(kBob, 100 + i, 600 * kSecond + i * kSecond / 10)));
    }
  });
  const auto findings_of = [&](std::uint32_t uid, std::uint64_t wall_ns) {
    return sessions.run([&](const auto& add) { add(Event(of_user(uid, 7, wall_ns))); });
  };
  CHECK(findings_of(kBob, 600 * kSecond).empty());
  CHECK(findings_of(1002, 600 * kSecond).empty());
  const auto findings = findings_of(kAlice, 600 * kSecond);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].code == "slower_than_usual");
  CHECK(findings[0].context->owner_uid == kAlice);
  CHECK(findings[0].text == "task ALIGN (S1) ran for 10.0 min; it usually takes 41.0 s (20 earlier)");
}

TEST_CASE("two users' living tasks of an equal key are two, and one that becomes another user's is the same") {
  const auto context_of = [](std::uint32_t uid) {
    auto context = std::make_shared<Context>(*task_context(7));
    context->owner_uid = uid;
    return context;
  };
  Sessions sessions{UserIds()};
  sessions.run([&](const auto& add) {
    for (std::uint64_t i = 0; i < 20; ++i) {
      TaskFinish task = finish(100 + i, 40 * kSecond + i * kSecond / 10);
      auto context = std::make_shared<Context>(*task.context);
      context->owner_uid = 1000;
      task.context = std::move(context);
      add(Event(task));
    }
  });
  const auto findings = sessions.run([&](const auto& add) {
    for (const std::uint32_t uid : {0u, 1001u}) {
      TaskStart start;
      start.context = context_of(uid);
      start.time_ns = start.start_ns = kBegin;
      add(Event(start));
    }
    ContextChange change;
    change.time_ns = kBegin;
    change.before = context_of(0);
    change.after = context_of(1000);
    add(Event(change));
    sessions.settle();
    SnapshotEnd snapshot;
    snapshot.time_ns = kBegin + 540 * kSecond;
    add(Event(snapshot));
  });
  REQUIRE(!findings.empty());
  for (const Finding& finding : findings) CHECK(finding.context->owner_uid == 1000u);
  CHECK(findings[0].code == "slower_than_usual");
}

TEST_CASE("one user's tasks, steps and questions leave room for another's") {
  constexpr std::uint32_t kAlice = 1000;
  constexpr std::uint32_t kBob = 1001;
  const auto context_of = [](std::uint32_t uid, std::uint64_t key, const std::optional<std::string>& step) {
    auto context = std::make_shared<Context>(*task_context(key));
    context->owner_uid = uid;
    context->step = step;
    context->run_key = Key{uid};
    return context;
  };
  const auto finish_of = [&](std::uint32_t uid, std::uint64_t key, const std::string& step, std::uint64_t wall_ns) {
    TaskFinish task = finish(key, wall_ns);
    task.context = context_of(uid, key, step);
    task.requested.memory_bytes = 20 * kGiB;
    return task;
  };
  const auto start_of = [&](std::uint32_t uid, std::uint64_t key, const std::optional<std::string>& step) {
    TaskStart start;
    start.context = context_of(uid, key, step);
    start.time_ns = start.start_ns = kBegin;
    return start;
  };
  Sessions sessions{UserIds()};
  sessions.run([&](const auto& add) {
    for (std::uint64_t i = 0; i < 20; ++i)
      add(Event(finish_of(kAlice, 100 + i, "ALIGN", 40 * kSecond + i * kSecond / 10)));
  });
  const auto findings = sessions.run([&](const auto& add) {
    for (std::uint64_t i = 0; i < 33'000; ++i) add(Event(start_of(kBob, 1000 + i, {})));
    for (std::uint64_t i = 0; i < 4200; ++i)
      add(Event(finish_of(kBob, 100'000 + i, "S" + std::to_string(i), 40 * kSecond)));
    RunFinish run;
    run.context = context_of(kBob, 0, {});
    run.end_ns = kBegin + 50 * kSecond;
    run.tasks = 4200;
    add(Event(run));
    add(Event(finish_of(kAlice, 8, "ALIGN", 600 * kSecond)));
    add(Event(start_of(kAlice, 7, "ALIGN")));
    sessions.settle();
    for (const std::uint64_t after : {50ull, 540ull}) {
      SnapshotEnd snapshot;
      snapshot.time_ns = kBegin + after * kSecond;
      add(Event(snapshot));
    }
  });
  const auto any = [&](std::string_view code, std::string_view state, std::optional<Key> task_key) {
    return std::any_of(findings.begin(), findings.end(), [&](const Finding& each) {
      return each.code == code && each.state == state && each.context->owner_uid == kAlice &&
             each.context->task_key == task_key;
    });
  };
  CHECK(any("slower_than_usual", "open", Key{7}));
  CHECK(any("slower_than_usual", "closed", Key{8}));
  CHECK(any("request_too_high", "closed", std::nullopt));
}

TEST_CASE("nothing is slow below five earlier ones, nor by less than ten seconds, nor within the noise") {
  const auto findings_of = [](std::uint64_t past, std::uint64_t usual_ns, std::uint64_t wall_ns) {
    Sessions sessions;
    sessions.past(past, usual_ns);
    return sessions.run([&](const auto& add) { add(Event(finish(7, wall_ns))); }).size();
  };
  CHECK(findings_of(4, 40 * kSecond, 600 * kSecond) == 0);
  CHECK(findings_of(5, 40 * kSecond, 600 * kSecond) == 1);
  CHECK(findings_of(20, 2 * kSecond, 11 * kSecond) == 0);
  CHECK(findings_of(20, 40 * kSecond, 61 * kSecond) == 0);
}

TEST_CASE("what takes long with far more input than ever is not slow, and not large") {
  Sessions sessions;
  sessions.run([](const auto& add) {
    for (std::uint64_t i = 0; i < 5; ++i) {
      TaskFinish small = finish(100 + i, kSecond / 4);
      small.totals.account.read_bytes = 1'000'000;
      add(Event(small));
    }
  });
  const auto findings_with = [&](std::optional<std::uint64_t> read_bytes) {
    return sessions.run([&](const auto& add) {
      TaskFinish task = finish(7, 16 * kSecond, 8 * kGiB);
      task.totals.account.read_bytes = read_bytes;
      task.exit_code = 0;
      add(Event(task));
    });
  };
  CHECK(findings_with(60'000'000).empty());
  const auto alike = findings_with(1'010'000);
  REQUIRE(alike.size() == 2);
  CHECK(alike[0].code == "slower_than_usual");
  CHECK(alike[0].confidence == "high");
  CHECK(alike[1].code == "memory_above_usual");
}

TEST_CASE("a task that seemed slow while it ran, and was not by what it had read, ends as a note") {
  Sessions sessions;
  sessions.run([](const auto& add) {
    for (std::uint64_t i = 1; i <= 12; ++i) {
      TaskFinish past = finish(100 + i, i * 10 * kSecond);
      past.totals.account.read_bytes = i * 100'000'000;
      add(Event(past));
    }
  });
  const auto findings_at = [&](std::uint64_t read_early, std::uint64_t wall_ns) {
    return sessions.run([&](const auto& add) {
      TaskStart start;
      start.context = task_context(7);
      start.time_ns = start.start_ns = kBegin;
      add(Event(start));
      sessions.settle();
      ProcessSample sample;
      sample.process = build::process({.pid = 9, .start_ns = kBegin, .tool = "bwa", .context = *task_context(7)});
      sample.time_ns = kBegin + wall_ns;
      sample.account.read_bytes = read_early;
      add(Event(sample));
      SnapshotEnd snapshot;
      snapshot.time_ns = kBegin + wall_ns;
      add(Event(snapshot));
      TaskFinish end = finish(7, wall_ns);
      end.totals.account.read_bytes = 2'000'000'000;
      add(Event(end));
    });
  };
  // By what it has read, 200 s are usual.
  CHECK(findings_at(2'000'000'000, 295 * kSecond).empty());
  const auto early = findings_at(300'000'000, 295 * kSecond);
  REQUIRE(early.size() == 2);
  CHECK(early[0].state == "open");
  CHECK(early[0].severity == "warning");
  CHECK(early[0].confidence == "medium");
  CHECK(early[1].state == "closed");
  CHECK(early[1].severity == "note");
}

TEST_CASE("a task that failed is not compared, and does not become usual") {
  Sessions sessions;
  sessions.run([](const auto& add) {
    for (std::uint64_t i = 0; i < 20; ++i) {
      TaskFinish failed = finish(100 + i, kSecond);
      failed.exit_code = 1;
      failed.totals.failed = 1;
      add(Event(failed));
    }
  });
  CHECK(sessions.run([](const auto& add) { add(Event(finish(7, 600 * kSecond))); }).empty());
}

TEST_CASE("CPU time far above the usual, whatever the wall time") {
  const auto findings_of = [](std::uint64_t past, std::uint64_t cpu_ns, std::optional<std::uint64_t> read_bytes = {}) {
    Sessions sessions;
    sessions.run([&](const auto& add) {
      for (std::uint64_t i = 0; i < past; ++i) {
        TaskFinish usual = finish(100 + i, 40 * kSecond);
        if (read_bytes) usual.totals.account.read_bytes = kGiB;
        add(Event(usual));
      }
    });
    return sessions.run([&](const auto& add) {
      TaskFinish task = finish(7, 40 * kSecond);
      task.totals.account.cpu_ns = cpu_ns;
      task.totals.account.read_bytes = read_bytes;
      add(Event(task));
    });
  };
  const auto found = findings_of(10, 100 * kSecond);
  REQUIRE(found.size() == 1);
  CHECK(found[0].code == "cpu_above_usual");
  CHECK(found[0].severity == "note");
  CHECK(found[0].state == "closed");
  CHECK(found[0].text == "task ALIGN (S1) took 1.7 min of CPU time; it usually takes 10.0 s (10 earlier)");
  CHECK(findings_of(4, 100 * kSecond).empty());
  CHECK(findings_of(10, 14 * kSecond).empty());
  CHECK(findings_of(10, 19 * kSecond).empty());
  // What so much input takes is not known.
  CHECK(findings_of(10, 100 * kSecond, 8 * kGiB).size() == 1);
}

TEST_CASE("memory far above the usual, and requests that do not fit") {
  Sessions sessions;
  sessions.past(10);
  const auto more = sessions.run([](const auto& add) { add(Event(finish(7, 40 * kSecond, 4 * kGiB))); });
  REQUIRE(more.size() == 1);
  CHECK(more[0].code == "memory_above_usual");
  CHECK(more[0].text == "task ALIGN (S1) held 4.0 GiB of memory at its peak; it usually holds 1.0 GiB (10 earlier)");
  const auto request = [&](std::uint64_t bytes) {
    return sessions.run([&](const auto& add) {
      TaskFinish task = finish(8, 40 * kSecond);
      task.requested.memory_bytes = bytes;
      add(Event(task));
      RunFinish run;
      Context context;
      context.run_key = Key{1};
      run.context = std::make_shared<const Context>(context);
      run.tasks = 1;
      run.end_ns = kBegin + 50 * kSecond;
      add(Event(run));
    });
  };
  const auto high = request(20 * kGiB);
  REQUIRE(high.size() == 1);
  CHECK(high[0].code == "request_too_high");
  CHECK(high[0].subject == "step");
  CHECK(high[0].text == "step ALIGN requests 20.0 GiB of memory, and its tasks used 4.0 GiB at most (11 earlier)");
  CHECK(request(8 * kGiB).empty());
  const auto low = request(kGiB + kGiB / 50);
  REQUIRE(low.size() == 1);
  CHECK(low[0].code == "request_too_low");
}

TEST_CASE("a test of ranks tells noise from change") {
  // All of one side above all of the other: 2 of 252 ways.
  CHECK(rank_test({1, 2, 3, 4, 5}, {6, 7, 8, 9, 10}) == doctest::Approx(2.0 / 252));
  CHECK(rank_test({1, 1, 1}, {1, 1, 1}) == doctest::Approx(1.0));
  CHECK(rank_test({1, 3, 5, 7, 9}, {2, 4, 6, 8, 10}) > 0.5);
  CHECK(change_of(around(100, 30), around(100, 30)).verdict == ChangeVerdict::kSame);
  CHECK(change_of(around(100, 30), around(120, 30)).verdict == ChangeVerdict::kMore);
  CHECK(change_of(around(120, 30), around(100, 30)).verdict == ChangeVerdict::kLess);
  // Certain, but too small to matter.
  CHECK(change_of(around(100, 60), around(104.5, 60)).verdict == ChangeVerdict::kSame);
  CHECK(change_of({100, 101, 102}, {103, 104, 105}).verdict == ChangeVerdict::kSame);
  CHECK(change_of({100, 101, 102}, {140, 141, 142}).verdict == ChangeVerdict::kMore);
  const MeasureChange once = change_of({100}, {140});
  CHECK(once.verdict == ChangeVerdict::kMore);
  CHECK(once.may_be_noise);
  CHECK(change_of({100}, {120}).verdict == ChangeVerdict::kSame);
  CHECK(change_of({}, {120}).verdict == ChangeVerdict::kNotKnown);
}

TEST_CASE("what a step's tasks of other runs vary by tells a change from noise, where there are too few to test") {
  CHECK(change_of({100}, {140}, 20).verdict == ChangeVerdict::kSame);
  CHECK(change_of({100}, {140}, 9).verdict == ChangeVerdict::kMore);
  CHECK(change_of({100}, {60}, 9).verdict == ChangeVerdict::kLess);
  CHECK_FALSE(change_of({100}, {140}, 9).may_be_noise);
  CHECK(change_of({100}, {104}, 0.1).verdict == ChangeVerdict::kSame);
  // Enough values speak for themselves.
  CHECK_FALSE(change_of(around(100, 30), around(120, 30), 1000).spread.has_value());

  std::vector<PastTask> tasks;
  const auto add = [&tasks](const char* run, std::uint64_t wall_ns, Outcome outcome = Outcome::kSucceeded) {
    PastTask task;
    task.kind = {"demo", "ALIGN", "nextflow"};
    task.run_key = run;
    task.task_key = std::to_string(tasks.size());
    task.outcome = outcome;
    task.wall_ns = wall_ns;
    tasks.push_back(task);
  };
  for (const std::uint64_t wall_ns : {100, 102, 98, 101}) add("other", wall_ns);
  add("a", 100), add("b", 200), add("b", 5000, Outcome::kFailed);
  CHECK_FALSE(spreads_beside(tasks, "a", "b")["ALIGN"][0].has_value());
  add("another", 99);
  const UsualSpreads spreads = spreads_beside(tasks, "a", "b");
  CHECK(spreads.at("ALIGN")[0].value() == doctest::Approx(1.4826));
  CHECK_FALSE(spreads.at("ALIGN")[1].has_value());
  HistoryRun run_a;
  run_a.run_key = "a";
  HistoryRun run_b;
  run_b.run_key = "b";
  const auto changes = compare(side_of_run(tasks, run_a), side_of_run(tasks, run_b), spreads).steps;
  REQUIRE(changes.size() == 1);
  CHECK(changes[0].of(Measure::kWall).verdict == ChangeVerdict::kMore);
  CHECK(changes[0].of(Measure::kWall).n_b == 1);
  CHECK(changes[0].n_b == 2);
  CHECK(changes[0].failed_b == 1);
  HistoryRun first;
  first.run_key = "abc";
  HistoryRun second = first;
  second.run_key = "abd";
  CHECK(runs_named({first, second}, "ab").size() == 2);
  CHECK(runs_named({first, second}, "abd").size() == 1);
  CHECK(runs_named({first, second}, "").empty());
}
