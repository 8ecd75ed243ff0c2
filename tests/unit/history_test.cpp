// SPDX-License-Identifier: Apache-2.0
/// The history: what is usual by tasks whose truth is known, and files that are damaged, foreign, full or shared.
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <tracer/error.hpp>
#include <tracer/history.hpp>

#include "history/history_file.hpp"
#include "history/model.hpp"
#include "history/session_history.hpp"
#include "in_repository.hpp"
#include "temp_file.hpp"

using namespace tracer;
using namespace tracer::internal;

namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
const TaskKind kAlign = {"demo", "ALIGN", "nextflow"};
constexpr std::uint32_t kOwnerOfLayout2 = 20011;

std::uint64_t now_s() {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count());
}

PastTask past(std::uint64_t number, std::uint64_t wall_ns, std::optional<std::uint64_t> read_bytes = {}) {
  PastTask task;
  task.kind = kAlign;
  task.tool = "bwa";
  task.run_key = "run";
  task.task_key = std::to_string(number);
  task.end_time_s = now_s() - 1000 + number;
  task.outcome = Outcome::kSucceeded;
  task.wall_ns = wall_ns;
  task.read_bytes = read_bytes;
  return task;
}

ErrorCode code_of_opening(const std::filesystem::path& path, HistoryFile::Access access) {
  try {
    HistoryFile file(path, access);
    file.tasks();
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::kInternal;
}

void execute(const std::filesystem::path& path, const char* sql) {
  sqlite3* connection = nullptr;
  REQUIRE(::sqlite3_open(path.c_str(), &connection) == SQLITE_OK);
  CHECK(::sqlite3_exec(connection, sql, nullptr, nullptr, nullptr) == SQLITE_OK);
  ::sqlite3_close(connection);
}

/// A small file system, gone with this object. Not mounted: this machine does not allow it.
class SmallFileSystem {
 public:
  explicit SmallFileSystem(const std::filesystem::path& folder) : folder_(folder) {
    std::filesystem::create_directory(folder);
    mounted_ = ::mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=160k") == 0;
  }
  ~SmallFileSystem() {
    if (mounted_) ::umount2(folder_.c_str(), MNT_DETACH);
  }
  SmallFileSystem(const SmallFileSystem&) = delete;
  SmallFileSystem& operator=(const SmallFileSystem&) = delete;
  bool mounted() const { return mounted_; }
  bool make_read_only() const {
    return ::mount("tmpfs", folder_.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, "size=160k") == 0;
  }

 private:
  std::filesystem::path folder_;
  bool mounted_ = false;
};

}  // namespace

TEST_CASE("what is usual is silent below five past tasks, and then says median, p90 and number") {
  std::vector<PastTask> tasks;
  for (std::uint64_t i = 1; i <= 4; ++i) tasks.push_back(past(i, i * 10 * kSecond));
  CHECK(!UsualModel(tasks).expect(kAlign, {}).wall_ns);
  tasks.push_back(past(5, 50 * kSecond));
  const auto usual = UsualModel(tasks).expect(kAlign, {}).wall_ns;
  REQUIRE(usual);
  CHECK(usual->median == 30 * kSecond);
  CHECK(usual->p90 == 46 * kSecond);
  CHECK(usual->most == 50 * kSecond);
  CHECK(usual->n == 5);
  CHECK(usual->spread == 14'826'000'000);
  CHECK(!UsualModel(tasks).expect({"demo", "SORT", "nextflow"}, {}).wall_ns);
}

TEST_CASE("tasks that failed or were killed do not count for what is usual") {
  std::vector<PastTask> tasks;
  for (std::uint64_t i = 1; i <= 5; ++i) tasks.push_back(past(i, 10 * kSecond));
  for (std::uint64_t i = 6; i <= 20; ++i) {
    tasks.push_back(past(i, kSecond));
    tasks.back().outcome = i % 2 == 0 ? Outcome::kFailed : Outcome::kOutOfMemory;
  }
  const auto usual = UsualModel(tasks).expect(kAlign, {}).wall_ns;
  REQUIRE(usual);
  CHECK(usual->median == 10 * kSecond);
  CHECK(usual->n == 5);
}

TEST_CASE("where time follows the input it is scaled, and where it does not it is not") {
  std::vector<PastTask> follows;
  std::vector<PastTask> alike;
  for (std::uint64_t i = 1; i <= 12; ++i) {
    const std::uint64_t input = i * 100'000'000;
    follows.push_back(past(i, i * 7 * kSecond, input));
    alike.push_back(past(i, (20 + (i * 5) % 3) * kSecond, input));
  }
  const auto scaled = UsualModel(follows).expect(kAlign, 2'000'000'000).wall_ns;
  REQUIRE(scaled);
  CHECK(scaled->basis == Basis::kScaled);
  CHECK(static_cast<double>(scaled->median) == doctest::Approx(140e9).epsilon(0.01));
  // Far beyond what was seen, it is held at twice the largest input.
  const auto beyond = UsualModel(follows).expect(kAlign, 1'000'000'000'000).wall_ns;
  CHECK(static_cast<double>(beyond->median) == doctest::Approx(168e9).epsilon(0.01));
  const auto flat = UsualModel(alike).expect(kAlign, 2'000'000'000).wall_ns;
  REQUIRE(flat);
  CHECK(flat->basis == Basis::kAll);
  CHECK(flat->median == 21 * kSecond);
}

TEST_CASE("where the same inputs come again, those of most similar input say what one takes") {
  // Five samples, in four runs each 5 % apart: no power of the input says what they take.
  constexpr std::array<std::uint64_t, 5> kSeconds = {400, 90, 700, 30, 200};
  std::vector<PastTask> tasks;
  for (std::uint64_t run = 0; run < 4; ++run)
    for (std::uint64_t sample = 0; sample < kSeconds.size(); ++sample)
      tasks.push_back(
          past(run * 5 + sample, kSeconds[sample] * (100 + run * 5) * kSecond / 100, (sample + 1) * 100'000'000));
  const UsualModel model(tasks);
  for (std::uint64_t sample = 0; sample < kSeconds.size(); ++sample) {
    CAPTURE(sample);
    const auto usual = model.expect(kAlign, (sample + 1) * 100'000'000 + 1000).wall_ns;
    REQUIRE(usual);
    CHECK(usual->basis == Basis::kSimilar);
    const auto seconds = static_cast<double>(kSeconds[sample]);
    CHECK(static_cast<double>(usual->median) == doctest::Approx(1.075e9 * seconds).epsilon(0.05));
    // All have missed by as little: the spread is that of the runs, not that of the samples.
    CHECK(usual->n == 20);
    CHECK(static_cast<double>(usual->spread) < 0.15e9 * seconds);
    CHECK(static_cast<double>(usual->most) < 1.3e9 * seconds);
  }
  // Without its input, each may be any of them.
  CHECK(model.expect(kAlign, {}).wall_ns->basis == Basis::kAll);
}

TEST_CASE("the time left is that of the past tasks which took longer") {
  std::vector<PastTask> tasks;
  for (std::uint64_t i = 1; i <= 9; ++i) tasks.push_back(past(i, i * 10 * kSecond));
  const UsualModel model(tasks);
  CHECK(model.time_left_ns(kAlign, 0, {}) == 50 * kSecond);
  CHECK(model.time_left_ns(kAlign, 40 * kSecond, {}) == 30 * kSecond);
  CHECK(!model.time_left_ns(kAlign, 75 * kSecond, {}));
}

TEST_CASE("a history keeps what is added, for its owner only, once for each task") {
  const TempFile temp;
  {
    HistoryFile file(temp.path(), HistoryFile::Access::kWrite);
    CHECK(file.is_new());
    CHECK(
        file.add({past(1, 10), past(2, 20)}, {{"run", "demo", now_s(), 30, 2, "succeeded"}}, std::chrono::seconds(1)));
    CHECK(file.add({past(2, 25, 7)}, {}, std::chrono::seconds(1)));
  }
  struct stat made {};
  REQUIRE(::stat(temp.path().c_str(), &made) == 0);
  CHECK((made.st_mode & 0777) == 0600);
  HistoryFile file(temp.path(), HistoryFile::Access::kWrite);
  CHECK(!file.is_new());
  const auto tasks = file.tasks();
  REQUIRE(tasks.size() == 2);
  CHECK(tasks[0].task_key == "2");
  CHECK(tasks[0].wall_ns == 25);
  CHECK(tasks[0].read_bytes == 7);
  CHECK(!tasks[1].read_bytes);
  CHECK(tasks[1].kind == kAlign);
  REQUIRE(file.runs().size() == 1);
  CHECK(file.runs()[0].wall_ns == 30);
}

TEST_CASE("kinds that differ by their scripts are apart, and those of few tasks are shown as one") {
  const TempFile temp;
  HistoryFile file(temp.path(), HistoryFile::Access::kWrite);
  std::vector<PastTask> tasks;
  const auto add = [&](std::optional<std::uint64_t> script, std::uint64_t count, std::uint64_t wall_ns) {
    for (std::uint64_t i = 0; i < count; ++i) {
      tasks.push_back(past(tasks.size(), wall_ns));
      tasks.back().kind.script = script;
    }
  };
  add({}, 6, 10);
  add(1, 7, 20);
  add(2, 1, 30);
  add(3, 2, 40);
  CHECK(file.add(tasks, {}, std::chrono::seconds(1)));
  TaskKind kind = kAlign;
  constexpr std::array<std::size_t, 5> kCounts = {0, 7, 1, 2, 0};
  for (std::size_t script = 1; script < kCounts.size(); ++script) {
    kind.script = script;
    CHECK(file.succeeded(kind, 100).size() == kCounts.at(script));
  }
  CHECK(file.succeeded(kAlign, 100).size() == 6);
  const auto check = [](const HistoryKind& row, std::optional<std::uint64_t> script, std::uint64_t count) {
    CHECK(row.kind.script == script);
    CHECK(row.tasks == count);
    CHECK(row.succeeded == count);
  };
  const HistoryAnswer answer = file.answer({});
  REQUIRE(answer.kinds.size() == 2);
  check(answer.kinds[0].kind, {}, 9);
  CHECK(answer.kinds[0].usual.wall_ns->median == 10);
  check(answer.kinds[1].kind, 1u, 7);
  CHECK(answer.kinds[1].usual.wall_ns->median == 20);
  const History history(temp.path());
  REQUIRE(history.kinds().size() == 2);
  check(history.kinds()[0], {}, 9);
  check(history.kinds()[1], 1u, 7);
  CHECK(history.expect(history.kinds()[1].kind).wall_ns->n == 7);
}

TEST_CASE("a history of layout 2 is taken over with its rows, and gets one key for good") {
  const TempFile temp;
  std::filesystem::copy_file(in_repository("tests/data/history/layout-2.db"), temp.path());
  execute(temp.path(), ("UPDATE task SET end_time_s = " + std::to_string(now_s())).c_str());
  const TaskKind align{"rnaseq", "ALIGN", "", kOwnerOfLayout2};
  const TaskKind sleep{"rnaseq", "sleep", "", kOwnerOfLayout2};
  const std::string before = temp.text();
  {
    HistoryFile file(temp.path(), HistoryFile::Access::kRead);
    CHECK(file.succeeded(align, 100).size() == 6);
    CHECK(file.tasks().size() == 12);
    CHECK(file.answer({}).kinds.size() == 2);
    CHECK(file.script_key().low != file.script_key().low);
  }
  CHECK(temp.text() == before);
  const auto key_of = [&] {
    HistoryFile file(temp.path(), HistoryFile::Access::kWrite);
    CHECK(file.succeeded(align, 100).size() == 6);
    TaskKind script = sleep;
    script.script = 7;
    CHECK(file.succeeded(script, 100).empty());
    const SipKey key = file.script_key();
    return std::pair(key.low, key.high);
  };
  const auto key = key_of();
  CHECK(key.first != key.second);
  CHECK(key == key_of());
  const TempFile other;
  CHECK(HistoryFile(other.path(), HistoryFile::Access::kWrite).script_key().low != key.first);
}

TEST_CASE("what is too old is removed when a history is opened, and the oldest beyond a number") {
  const TempFile temp;
  {
    HistoryFile file(temp.path(), HistoryFile::Access::kWrite);
    PastTask old = past(1, 10);
    old.end_time_s = now_s() - HistoryFile::kMostAge_s - 10;
    file.add({old, past(2, 20), past(3, 30), past(4, 40)}, {}, std::chrono::seconds(1));
    CHECK(file.tasks().size() == 4);
  }
  HistoryFile file(temp.path(), HistoryFile::Access::kWrite);
  CHECK(file.tasks().size() == 3);
  CHECK(file.prune(0, 2) == 1);
  REQUIRE(file.tasks().size() == 2);
  CHECK(file.tasks()[1].task_key == "3");
}

TEST_CASE("the newest of a kind are looked up alone, and only so many of a kind are kept") {
  const TempFile temp;
  HistoryFile file(temp.path(), HistoryFile::Access::kWrite);
  std::vector<PastTask> tasks;
  for (std::uint64_t i = 0; i < HistoryFile::kMostTasksOfKind + 50; ++i) tasks.push_back(past(i, 10));
  tasks.back().outcome = Outcome::kFailed;
  PastTask other = past(0, 30);
  other.kind.step = "SORT";
  other.task_key = "other";
  tasks.push_back(other);
  CHECK(file.add(tasks, {}, std::chrono::seconds(1)));
  CHECK(file.tasks().size() == HistoryFile::kMostTasksOfKind + 1);
  const auto newest = file.succeeded(kAlign, 3);
  REQUIRE(newest.size() == 3);
  CHECK(newest[0].task_key == std::to_string(HistoryFile::kMostTasksOfKind + 48));
  REQUIRE(file.succeeded(other.kind, 3).size() == 1);
  CHECK(file.succeeded({"demo", "NONE", ""}, 3).empty());
}

TEST_CASE("a session's thread writes what was added, and looks up what is wanted meanwhile") {
  const TempFile temp;
  {
    SessionHistory history(temp.path());
    CHECK(!history.usual(kAlign));
    for (std::uint64_t i = 0; i < 6; ++i) history.add(past(i, 10 * kSecond));
    history.write_sometimes(1);
    history.write_sometimes(60 * kSecond);
    history.write_all();
    CHECK(!history.take_problem());
  }
  SessionHistory dropped(temp.path());
  dropped.want(kAlign);
  dropped.want(kAlign);
  CHECK(dropped.settle(std::chrono::seconds(60)));
  REQUIRE(dropped.usual(kAlign));
  CHECK(dropped.usual(kAlign)->expect({}).wall_ns->n == 6);
  dropped.want({"demo", "NONE", ""});
  CHECK(dropped.settle(std::chrono::seconds(60)));
  REQUIRE(dropped.usual({"demo", "NONE", ""}));
  CHECK(!dropped.usual({"demo", "NONE", ""})->expect({}).wall_ns);
}

TEST_CASE("damaged, foreign and newer files are refused, and stay as they are") {
  const TempFile temp;
  {
    std::ofstream(temp.path()) << "this is not a database, but it is long enough to look like a file of one";
    const std::string before = temp.text();
    CHECK(code_of_opening(temp.path(), HistoryFile::Access::kWrite) == ErrorCode::kFileUnreadable);
    CHECK(temp.text() == before);
  }
  std::filesystem::remove(temp.path());
  execute(temp.path(), "CREATE TABLE other (x); INSERT INTO other VALUES (1)");
  CHECK(code_of_opening(temp.path(), HistoryFile::Access::kWrite) == ErrorCode::kFileUnreadable);
  std::filesystem::remove(temp.path());
  { HistoryFile file(temp.path(), HistoryFile::Access::kWrite); }
  execute(temp.path(), "PRAGMA user_version = 99");
  CHECK(code_of_opening(temp.path(), HistoryFile::Access::kWrite) == ErrorCode::kNewerSchema);
  // An older layout is not read as if it were this one.
  execute(temp.path(), "PRAGMA user_version = 1");
  CHECK(code_of_opening(temp.path(), HistoryFile::Access::kWrite) == ErrorCode::kFileUnreadable);
  CHECK(code_of_opening(temp.path(), HistoryFile::Access::kRead) == ErrorCode::kFileUnreadable);
  CHECK(code_of_opening(temp.folder() / "missing", HistoryFile::Access::kRead) == ErrorCode::kFileUnreadable);
}

namespace {

PastTask of_owner(std::uint32_t owner, std::uint64_t number, std::uint64_t wall_ns) {
  PastTask task = past(number, wall_ns);
  task.kind.owner_uid = owner;
  return task;
}

HistoryRun run_of(std::optional<std::uint32_t> owner, const std::string& key) {
  HistoryRun run;
  run.run_key = key;
  run.pipeline = "demo";
  run.end_time_s = now_s();
  run.owner_uid = owner;
  return run;
}

constexpr std::uint32_t kAlice = 1000;
constexpr std::uint32_t kBob = 1001;

}  // namespace

TEST_CASE("equal names and keys of two owners are two kinds, tasks and runs") {
  const TempFile temp;
  HistoryFile file(temp.path(), HistoryFile::Access::kWrite);
  std::vector<PastTask> tasks;
  for (std::uint64_t i = 0; i < 5; ++i) {
    tasks.push_back(of_owner(kAlice, i, 10 * kSecond));
    tasks.push_back(of_owner(kBob, i, 90 * kSecond));
    tasks.push_back(past(i, 40 * kSecond));
  }
  // Once more: each takes the place of its owner's own.
  for (int i = 0; i < 2; ++i)
    REQUIRE(file.add(tasks, {run_of(kAlice, "r"), run_of(kBob, "r"), run_of({}, "r")}, std::chrono::seconds(10)));
  CHECK(file.tasks().size() == 15);
  CHECK(file.runs().size() == 3);
  const auto median_of = [&](std::optional<std::uint32_t> owner) {
    TaskKind kind = kAlign;
    kind.owner_uid = owner;
    const auto all = file.succeeded(kind, 100);
    CHECK(all.size() == 5);
    return all.at(0).wall_ns;
  };
  CHECK(median_of(kAlice) == 10 * kSecond);
  CHECK(median_of(kBob) == 90 * kSecond);
  CHECK(median_of({}) == 40 * kSecond);

  const HistoryAnswer all = file.answer({});
  CHECK(all.kinds.size() == 3);
  CHECK(all.runs.size() == 3);
  const HistoryAnswer alices = file.answer({.owners = std::vector<uid_t>{kAlice}});
  REQUIRE(alices.kinds.size() == 1);
  CHECK(alices.kinds[0].kind.kind.owner_uid == kAlice);
  CHECK(alices.kinds[0].kind.tasks == 5);
  CHECK(alices.kinds[0].kind.succeeded == 5);
  REQUIRE(alices.kinds[0].usual.wall_ns);
  CHECK(alices.kinds[0].usual.wall_ns->median == 10 * kSecond);
  REQUIRE(alices.runs.size() == 1);
  CHECK(alices.runs[0].owner_uid == kAlice);
  CHECK(file.answer({.owners = std::vector<uid_t>{kAlice, kBob}}).kinds.size() == 2);
  CHECK(file.answer({.owners = std::vector<uid_t>{77}}).kinds.empty());
  CHECK(file.answer({.owners = std::vector<uid_t>{}}).runs.empty());
  CHECK(file.answer({.pipeline = "demo' OR 1"}).kinds.empty());
  CHECK(file.answer({.pipeline = "demo", .step = "ALIGN"}).kinds.size() == 3);
  CHECK(file.answer({.pipeline = "demo", .step = "SORT"}).kinds.empty());
  CHECK(file.answer({.pipeline = "other"}).runs.empty());
}

TEST_CASE("no owner takes the room of another") {
  const TempFile temp;
  HistoryFile file(temp.path(), HistoryFile::Access::kWrite);
  REQUIRE(file.add({of_owner(kAlice, 1, 10 * kSecond)}, {run_of(kAlice, "r")}, std::chrono::seconds(10)));
  std::vector<PastTask> flood;
  for (std::uint64_t i = 0; i < HistoryFile::kMostOfOwner + 50; ++i) {
    flood.push_back(of_owner(kBob, i, 1));
    flood.back().kind.step = std::to_string(i / 100);
  }
  REQUIRE(file.add(flood, {}, std::chrono::seconds(10)));
  const auto tasks = file.tasks();
  CHECK(tasks.size() == HistoryFile::kMostOfOwner + 1);
  CHECK(file.answer({.owners = std::vector<uid_t>{kAlice}}).kinds.size() == 1);
  CHECK(file.answer({.owners = std::vector<uid_t>{kBob}}).kinds.size() == HistoryFile::kMostOfOwner / 100 + 1);
}

TEST_CASE("one user's flood is dropped, and costs nobody the history") {
  const TempFile temp;
  SessionHistory history(temp.path(), HistoryFile::Access::kWrite, UserIds());
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    PastTask task = of_owner(kBob, i, 1);
    task.kind.step = std::to_string(i / 100);
    history.add(std::move(task));
  }
  CHECK(history.take_problem() == "more tasks ended than the history can keep: some are not in it");
  history.add(of_owner(kBob, 1, 1));
  CHECK(!history.take_problem());
  const SessionHistory::Ask ask = history.begin_to_answer();
  CHECK(!ask({}, std::chrono::seconds(60)).kinds.empty());
  history.add(of_owner(kAlice, 1, 10 * kSecond));
  CHECK(ask({.owners = std::vector<uid_t>{kAlice}}, std::chrono::seconds(60)).kinds.size() == 1);
  history.write_all();
  CHECK(!history.take_problem());
}

TEST_CASE("a session that keeps owners apart answers with all that was added, from any thread") {
  const TempFile temp;
  SessionHistory history(temp.path(), HistoryFile::Access::kWrite, UserIds({{kAlice, 100000, 10}, {kBob, 100005, 10}}));
  const auto owner_of = [&](std::optional<std::uint32_t> uid) {
    return history.kind_of(Context{.pipeline = "demo", .step = "ALIGN", .owner_uid = uid}).owner_uid;
  };
  CHECK(owner_of(kAlice) == kAlice);
  CHECK(owner_of(100003) == kAlice);
  CHECK(owner_of(100006) == 0u);  // Of both.
  CHECK(owner_of({}) == 0u);
  const SessionHistory::Ask ask = history.begin_to_answer();
  history.add(of_owner(kAlice, 1, 10 * kSecond));
  history.add(of_owner(kBob, 1, 10 * kSecond));
  HistoryAnswer answer;
  std::thread([&] { answer = ask({.owners = std::vector<uid_t>{kBob}}, std::chrono::seconds(60)); }).join();
  REQUIRE(answer.kinds.size() == 1);
  CHECK(answer.kinds[0].kind.kind.owner_uid == kBob);
  history.write_all();
  CHECK_THROWS_AS(ask({}, std::chrono::seconds(60)), Error);
  CHECK(SessionHistory(temp.path()).kind_of(Context{.owner_uid = kAlice}).owner_uid == std::nullopt);
}

TEST_CASE("a user who wants to know what is usual of many kinds makes nobody else's forgotten") {
  const TempFile temp;
  SessionHistory history(temp.path(), HistoryFile::Access::kWrite, UserIds());
  const TaskKind of_alice{"demo", "ALIGN", "", kAlice};
  history.want(of_alice);
  for (int i = 0; i < 300; ++i) history.want({"demo", std::to_string(i), "", kBob});
  CHECK(history.settle(std::chrono::seconds(60)));
  CHECK(history.usual(of_alice) != nullptr);
  CHECK(history.usual({"demo", "0", "", kBob}) == nullptr);
  CHECK(history.usual({"demo", "299", "", kBob}) != nullptr);
}

TEST_CASE("a history with damage inside harms no session, which says so once") {
  const TempFile temp;
  {
    HistoryFile file(temp.path(), HistoryFile::Access::kWrite);
    std::vector<PastTask> tasks;
    for (std::uint64_t i = 0; i < 2000; ++i) tasks.push_back(past(i, 10));
    file.add(tasks, {}, std::chrono::seconds(1));
  }
  const auto size = std::filesystem::file_size(temp.path());
  for (std::size_t at = 4096; at < size; at += 64) temp.write_byte(at, std::byte{0xff});
  SessionHistory history(temp.path());
  history.want(kAlign);
  CHECK(history.settle(std::chrono::seconds(60)));
  const auto problem = history.take_problem();
  REQUIRE(problem);
  CHECK(problem->find("can't be read") != std::string::npos);
  history.add(past(1, 10));
  history.write_all();
  CHECK(!history.take_problem());
}

TEST_CASE("several processes write to one history, and nothing is lost") {
  constexpr int kWriters = 3;
  constexpr std::uint64_t kRounds = 20;
  const TempFile temp;
  std::vector<pid_t> children;
  for (int writer = 0; writer < kWriters; ++writer) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      bool all = true;
      try {
        HistoryFile file(temp.path(), HistoryFile::Access::kWrite);
        for (std::uint64_t i = 0; i < kRounds; ++i) {
          PastTask task = past(i, 10);
          task.run_key = std::to_string(writer);
          all = file.add({task}, {}, std::chrono::seconds(20)) && all;
        }
      } catch (const std::exception&) {
        all = false;
      }
      ::_exit(all ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    CHECK(status == 0);
  }
  HistoryFile file(temp.path(), HistoryFile::Access::kRead);
  CHECK(file.tasks().size() == kWriters * kRounds);
}

TEST_CASE("a full disk costs a session its place in the history, and one message") {
  const TempFile temp;
  const SmallFileSystem small(temp.folder() / "small");
  if (!small.mounted()) return;
  SessionHistory history(temp.folder() / "small/history.db");
  CHECK(!history.take_problem());
  for (std::uint64_t i = 0; i < 5000; ++i) history.add(past(i, 10));
  history.write_all();
  const auto problem = history.take_problem();
  REQUIRE(problem);
  CHECK(problem->find("can't be written") != std::string::npos);
  CHECK(!history.take_problem());
}

TEST_CASE("a history that can only be read is learned from, and one message says that it is not added to") {
  const TempFile temp;
  const SmallFileSystem small(temp.folder() / "small");
  if (!small.mounted()) return;
  const auto path = temp.folder() / "small/history.db";
  {
    HistoryFile file(path, HistoryFile::Access::kWrite);
    std::vector<PastTask> tasks;
    for (std::uint64_t i = 0; i < 5; ++i) tasks.push_back(past(i, 10 * kSecond));
    file.add(tasks, {}, std::chrono::seconds(1));
  }
  REQUIRE(small.make_read_only());
  SessionHistory history(path);
  const auto problem = history.take_problem();
  REQUIRE(problem);
  CHECK(problem->find("can only be read") != std::string::npos);
  history.want(kAlign);
  CHECK(history.settle(std::chrono::seconds(60)));
  REQUIRE(history.usual(kAlign));
  CHECK(history.usual(kAlign)->expect({}).wall_ns->median == 10 * kSecond);
  history.add(past(9, 10));
  history.write_all();
  CHECK(!history.take_problem());
  SessionHistory missing(temp.folder() / "small/other.db");
  CHECK(missing.take_problem());
}

TEST_CASE("a history is deleted with all of its files") {
  const TempFile temp;
  CHECK(!delete_history(temp.path()));
  { HistoryFile file(temp.path(), HistoryFile::Access::kWrite); }
  CHECK(delete_history(temp.path()));
  CHECK(std::filesystem::is_empty(temp.folder()));
}
