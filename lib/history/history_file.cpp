// SPDX-License-Identifier: Apache-2.0
#include "history/history_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <tracer/error.hpp>
#include <tracer/run.hpp>

#include "base/random.hpp"
#include "base/unique_fd.hpp"
#include "history/model.hpp"

namespace tracer::internal {
namespace {

using std::chrono::milliseconds;

constexpr std::int64_t kApplicationId = 0x54724873;
constexpr std::int64_t kSchema = 3;
constexpr std::int64_t kWithoutScripts = 2;
constexpr milliseconds kOpenPatience{2000};

constexpr const char* kTables = R"(
CREATE TABLE kind (id INTEGER PRIMARY KEY, owner INTEGER, pipeline TEXT NOT NULL, step TEXT NOT NULL, engine TEXT NOT NULL);
CREATE TABLE task (id INTEGER PRIMARY KEY, kind_id INTEGER NOT NULL REFERENCES kind, owner INTEGER, run_key TEXT NOT NULL,
                   task_key TEXT NOT NULL, end_time_s INTEGER NOT NULL, outcome INTEGER NOT NULL, attempt INTEGER NOT NULL,
                   cpus INTEGER NOT NULL, tool TEXT NOT NULL, wall_ns INTEGER, cpu_ns INTEGER, peak_bytes INTEGER,
                   read_bytes INTEGER, written_bytes INTEGER, requested_millicpus INTEGER, requested_memory_bytes INTEGER,
                   requested_time_ns INTEGER);
CREATE UNIQUE INDEX task_key ON task (run_key, task_key, coalesce(owner, -1));
CREATE INDEX task_end ON task (end_time_s);
CREATE INDEX task_kind ON task (kind_id, end_time_s);
CREATE INDEX task_owner ON task (owner, end_time_s) WHERE owner IS NOT NULL;
CREATE TABLE run (id INTEGER PRIMARY KEY, owner INTEGER, run_key TEXT NOT NULL, pipeline TEXT NOT NULL,
                  end_time_s INTEGER NOT NULL, wall_ns INTEGER NOT NULL, tasks INTEGER NOT NULL, outcome TEXT NOT NULL);
CREATE UNIQUE INDEX run_key ON run (run_key, coalesce(owner, -1));
CREATE INDEX run_end ON run (end_time_s);
CREATE INDEX run_owner ON run (owner, end_time_s) WHERE owner IS NOT NULL;
)";
/// What layout 2 lacks.
constexpr const char* kScripts = R"(
ALTER TABLE kind ADD COLUMN script INTEGER;
DROP INDEX IF EXISTS kind_key;
CREATE UNIQUE INDEX kind_key ON kind (pipeline, step, engine, coalesce(owner, -1), coalesce(script, -1));
CREATE TABLE script_key (low INTEGER NOT NULL, high INTEGER NOT NULL);
)";
std::uint64_t now_s() {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count());
}

[[noreturn]] void refuse(ErrorCode code, const std::filesystem::path& path, const std::string& what, std::string fix,
                         int error_number = 0) {
  throw Error({code, error_number, fmt::format("the history {} {}", path.string(), what), std::move(fix), {}});
}

[[noreturn]] void refuse_reading(const std::filesystem::path& path, const SqlError& error) {
  refuse(ErrorCode::kFileUnreadable, path, fmt::format("can't be read: {}", error.what()),
         "delete the file; it is made anew");
}

[[noreturn]] void refuse_writing(const std::filesystem::path& path, const SqlError& error) {
  refuse(ErrorCode::kFileUnwritable, path, fmt::format("can't be written: {}", error.what()),
         "see whether its folder can be written and has room");
}

/// Machines that share a file system don't share memory, which a write-ahead log needs.
bool is_shared_by_machines(const std::filesystem::path& path) noexcept {
  constexpr std::array<std::uint32_t, 11> kTypes = {0x6969u /* NFS */,
                                                    0x517bu /* SMB */,
                                                    0xff534d42u /* CIFS */,
                                                    0xfe534d42u /* SMB2 */,
                                                    0x0bd00bd0u /* Lustre */,
                                                    0x47504653u /* GPFS */,
                                                    0x65735546u /* FUSE */,
                                                    0x00c36400u /* Ceph */,
                                                    0x19830326u /* BeeGFS */,
                                                    0x01021997u /* 9P */,
                                                    0x5346414fu /* AFS */};
  struct statfs system {};
  return ::statfs(path.c_str(), &system) != 0 ||
         std::find(kTypes.begin(), kTypes.end(), static_cast<std::uint32_t>(system.f_type)) != kTypes.end();
}

}  // namespace

HistoryFile::HistoryFile(const std::filesystem::path& path, Access access) : path_(path) {
  const auto end = end_of_links(path);
  if (!end)
    refuse(ErrorCode::kFileUnreadable, path, "is a link of another user, or leads nowhere", "name the file itself",
           errno);
  path_ = end->path;
  struct stat file {};
  if (::lstat(path_.c_str(), &file) != 0) {
    if (errno != ENOENT || access == Access::kRead)
      refuse(ErrorCode::kFileUnreadable, path, "can't be read", "see whether it exists, and may be read", errno);
    new_ = make();
  } else if (!S_ISREG(file.st_mode) && !(end->follow && S_ISLNK(file.st_mode))) {
    refuse(ErrorCode::kFileUnreadable, path, "is no regular file", "name another file");
  }
  try {
    open(access);
    check_schema();
    if (!read_only_) set_up_writing();
  } catch (const SqlError& error) {
    refuse_reading(path_, error);
  }
}

/// Closing a file frees all locks that this process has on it: only what was made here is closed.
bool HistoryFile::make() {
  const UniqueFd made(::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!made && errno != EEXIST)
    refuse(ErrorCode::kFileUnwritable, path_, "can't be made", "see whether its folder exists and can be written",
           errno);
  return static_cast<bool>(made);
}

/// A child must not touch the locks of its parent.
HistoryFile::~HistoryFile() {
  if (::getpid() != pid_) {
    static_cast<void>(database_.release());
    return;
  }
  if (!database_ || read_only_) return;
  try {
    // The log may have to stay, where its folder can't be written any more: then it is empty.
    database_->wait_at_most(milliseconds(0));
    database_->execute("PRAGMA wal_checkpoint(TRUNCATE)");
  } catch (const SqlError&) {
    return;
  }
}

void HistoryFile::open(Access access) {
  read_only_ = access == Access::kRead;
  try {
    database_ = std::make_unique<Database>(path_, read_only_ ? Database::Access::kRead : Database::Access::kWrite);
    database_->wait_at_most(kOpenPatience);
    if (!read_only_) {
      // Asks for the right to write before anything depends on it.
      const Transaction transaction(*database_);
    } else {
      database_->number("SELECT count(*) FROM sqlite_schema");
    }
  } catch (const SqlError& error) {
    if (!error.is_read_only()) throw;
    read_only_ = true;
    database_ = std::make_unique<Database>(path_, Database::Access::kReadUnlocked);
  }
  // Of a history little is read again; in KiB. It reads the schema, for which other writers must be waited for.
  database_->execute("PRAGMA cache_size = -512");
}

void HistoryFile::check_schema() {
  const auto is_empty = [this] {
    return database_->number("PRAGMA application_id") == 0 && database_->number("PRAGMA user_version") == 0 &&
           database_->number("SELECT count(*) FROM sqlite_schema") == 0;
  };
  const auto lacks_scripts = [this] {
    return database_->number("PRAGMA application_id") == kApplicationId &&
           database_->number("PRAGMA user_version") == kWithoutScripts;
  };
  if (!read_only_ && (is_empty() || lacks_scripts())) {
    Transaction transaction(*database_);
    // Another one may have been first.
    if (is_empty()) {
      database_->execute(kTables);
      database_->execute(fmt::format("PRAGMA application_id = {}", kApplicationId).c_str());
      database_->execute(fmt::format("PRAGMA user_version = {}", kWithoutScripts).c_str());
    }
    if (lacks_scripts()) {
      database_->execute(kScripts);
      Statement(*database_, "INSERT INTO script_key VALUES (?, ?)")
          .bind(random_number() >> 1)
          .bind(random_number() >> 1)
          .run();
      database_->execute(fmt::format("PRAGMA user_version = {}", kSchema).c_str());
    }
    transaction.commit();
  }
  if (database_->number("PRAGMA application_id") != kApplicationId)
    refuse(ErrorCode::kFileUnreadable, path_, "is not a history", "name another file");
  const std::int64_t schema = database_->number("PRAGMA user_version");
  if (schema > kSchema)
    refuse(ErrorCode::kNewerSchema, path_, fmt::format("was written by a newer libtracer (schema {})", schema),
           "use that version, or name another file");
  has_scripts_ = schema == kSchema;
  if (schema < kWithoutScripts)
    refuse(ErrorCode::kFileUnreadable, path_, fmt::format("has an older layout (schema {})", schema),
           "delete the file; it is made anew");
}

SipKey HistoryFile::script_key() {
  if (!has_scripts_) return {random_number(), random_number()};
  try {
    Statement key(*database_, "SELECT low, high FROM script_key");
    if (!key.step()) refuse(ErrorCode::kFileUnreadable, path_, "is damaged", "delete the file; it is made anew");
    return {key.number(0), key.number(1)};
  } catch (const SqlError& error) {
    refuse_reading(path_, error);
  }
}

void HistoryFile::set_up_writing() {
  if (is_shared_by_machines(path_)) {
    database_->execute("PRAGMA journal_mode = DELETE");
  } else {
    // Its files are open from the next transaction on: rights that are given up later are not missed.
    database_->execute("PRAGMA journal_mode = WAL");
  }
  // What a crash of the machine may lose is the last run, not the file.
  database_->execute("PRAGMA synchronous = NORMAL");
  remove_old_now();
}

void HistoryFile::remove_old_now() {
  removed_old_s_ = now_s();
  remove_old(removed_old_s_ - std::min(removed_old_s_, kMostAge_s), kMostTasks);
}

std::uint64_t HistoryFile::remove_old(std::uint64_t before_s, std::uint64_t most) {
  Transaction transaction(*database_);
  Statement(*database_, "DELETE FROM task WHERE end_time_s < ?").bind(before_s).run();
  auto removed = static_cast<std::uint64_t>(database_->changes());
  // Each row is looked at for that: only where there may be as many.
  const auto at_most =
      static_cast<std::uint64_t>(database_->number("SELECT coalesce(max(id) - min(id) + 1, 0) FROM task"));
  if (at_most > most) {
    Statement(*database_,
              "DELETE FROM task WHERE id IN (SELECT id FROM task ORDER BY end_time_s DESC, id DESC LIMIT -1 OFFSET ?)")
        .bind(most)
        .run();
    removed += static_cast<std::uint64_t>(database_->changes());
  }
  Statement(*database_, "DELETE FROM run WHERE end_time_s < ?").bind(before_s).run();
  Statement(*database_, "DELETE FROM run WHERE id IN (SELECT id FROM run ORDER BY end_time_s DESC LIMIT -1 OFFSET ?)")
      .bind(most)
      .run();
  if (removed != 0) database_->execute("DELETE FROM kind WHERE id NOT IN (SELECT kind_id FROM task)");
  transaction.commit();
  return removed;
}

std::uint64_t HistoryFile::prune(std::uint64_t before_s, std::uint64_t most) {
  if (read_only_)
    refuse(ErrorCode::kFileUnwritable, path_, "can't be written", "see whether its folder can be written");
  try {
    const std::uint64_t removed = remove_old(before_s, most);
    database_->execute("VACUUM");
    return removed;
  } catch (const SqlError& error) {
    refuse_writing(path_, error);
  }
}

namespace {

constexpr std::string_view kTaskColumns =
    "kind.pipeline, kind.step, kind.engine, kind.owner, tool, run_key, task_key, end_time_s, outcome, attempt, cpus, "
    "wall_ns, "
    "cpu_ns, "
    "peak_bytes, read_bytes, written_bytes, requested_millicpus, requested_memory_bytes, requested_time_ns, ";
constexpr std::string_view kFromTasks = " FROM task JOIN kind ON kind.id = kind_id";
constexpr std::string_view kNewestFirst = "ORDER BY end_time_s DESC, task.id DESC LIMIT ?";

std::optional<std::uint32_t> owner_in(const Statement& rows, int column) {
  const auto owner = rows.optional_number(column);
  return owner ? std::optional(static_cast<std::uint32_t>(*owner)) : std::nullopt;
}

std::optional<std::uint64_t> bound(const std::optional<std::uint32_t>& owner) {
  return owner ? std::optional<std::uint64_t>(*owner) : std::nullopt;
}

/// As the index has them: one pipeline and step may have thousands of scripts.
Statement& bind_kind(Statement& statement, const TaskKind& kind) {
  return statement.bind(kind.pipeline).bind(kind.step).bind(kind.engine).bind(bound(kind.owner_uid)).bind(kind.script);
}

std::vector<PastTask> tasks_in(Statement& rows) {
  std::vector<PastTask> tasks;
  while (rows.step()) {
    PastTask task;
    task.kind = {rows.text(0), rows.text(1), rows.text(2), owner_in(rows, 3), rows.optional_number(19)};
    task.tool = rows.text(4);
    task.run_key = rows.text(5);
    task.task_key = rows.text(6);
    task.end_time_s = rows.number(7);
    const std::uint64_t outcome = rows.number(8);
    task.outcome = outcome <= 4 ? static_cast<Outcome>(outcome) : Outcome::kNotKnown;
    task.attempt = rows.number(9);
    task.cpus = rows.number(10);
    int column = 11;
    for (auto figure :
         {&PastTask::wall_ns, &PastTask::cpu_ns, &PastTask::peak_bytes, &PastTask::read_bytes, &PastTask::written_bytes,
          &PastTask::requested_millicpus, &PastTask::requested_memory_bytes, &PastTask::requested_time_ns})
      task.*figure = rows.optional_number(column++);
    tasks.push_back(std::move(task));
  }
  return tasks;
}

}  // namespace

std::vector<PastTask> HistoryFile::tasks() {
  try {
    Statement rows(*database_,
                   fmt::format("SELECT {}{}{} {}", kTaskColumns, script(), kFromTasks, kNewestFirst).c_str());
    rows.bind(kMostTasks);
    return tasks_in(rows);
  } catch (const SqlError& error) {
    refuse_reading(path_, error);
  }
}

std::vector<PastTask> HistoryFile::succeeded(const TaskKind& kind, std::uint64_t most) {
  try {
    Statement rows(
        *database_,
        fmt::format("SELECT {0}{1}{2} WHERE pipeline = ? AND step = ? AND engine = ? AND coalesce(kind.owner, -1) = "
                    "coalesce(?, -1) AND coalesce({1}, -1) = coalesce(?, -1) AND outcome = ? {3}",
                    kTaskColumns, script(), kFromTasks, kNewestFirst)
            .c_str());
    bind_kind(rows, kind).bind(static_cast<std::uint64_t>(Outcome::kSucceeded)).bind(most);
    return tasks_in(rows);
  } catch (const SqlError& error) {
    refuse_reading(path_, error);
  }
}

namespace {

constexpr std::string_view kRunColumns =
    "SELECT run_key, pipeline, end_time_s, wall_ns, tasks, outcome, owner FROM run";

std::vector<HistoryRun> runs_in(Statement& rows) {
  std::vector<HistoryRun> runs;
  while (rows.step())
    runs.push_back(
        {rows.text(0), rows.text(1), rows.number(2), rows.number(3), rows.number(4), rows.text(5), owner_in(rows, 6)});
  return runs;
}

/// The rows that a question is about.
std::string of_question(const HistoryQuestion& question, bool has_step) {
  std::string where = " WHERE 1";
  if (question.owners) {
    // Numbers, which can't be anything else.
    where += fmt::format(" AND owner IN ({})", fmt::join(*question.owners, ", "));
  }
  if (question.pipeline) where += " AND pipeline = ?";
  if (has_step && question.step) where += " AND step = ?";
  return where;
}

}  // namespace

std::vector<HistoryRun> HistoryFile::runs() {
  try {
    Statement rows(*database_, fmt::format("{} ORDER BY end_time_s DESC LIMIT ?", kRunColumns).c_str());
    rows.bind(kMostTasks);
    return runs_in(rows);
  } catch (const SqlError& error) {
    refuse_reading(path_, error);
  }
}

HistoryAnswer HistoryFile::answer(const HistoryQuestion& question) {
  HistoryAnswer found;
  try {
    Statement kinds(
        *database_,
        fmt::format("SELECT pipeline, step, engine, owner, sum(tasks), sum(good), max(last), shown FROM (SELECT "
                    "kind.*, count(*) AS tasks, sum(outcome = {0}) AS good, max(end_time_s) AS last, "
                    "iif(sum(outcome = {0}) < {1}, NULL, {2}) AS shown FROM (SELECT * FROM kind{3}) AS kind JOIN task "
                    "ON kind.id = kind_id GROUP BY kind.id) GROUP BY 1, 2, 3, 4, 8 ORDER BY 1, 2, 3, 4, 8 LIMIT {4}",
                    static_cast<int>(Outcome::kSucceeded), History::kLeast, script(), of_question(question, true),
                    HistoryAnswer::kMostKinds + 1)
            .c_str());
    if (question.pipeline) kinds.bind(*question.pipeline);
    if (question.step) kinds.bind(*question.step);
    while (kinds.step())
      found.kinds.push_back(
          {{{kinds.text(0), kinds.text(1), kinds.text(2), owner_in(kinds, 3), kinds.optional_number(7)},
            kinds.number(4),
            kinds.number(5),
            kinds.number(6)},
           {}});
    Statement runs(*database_, fmt::format("{}{} ORDER BY end_time_s DESC LIMIT {}", kRunColumns,
                                           of_question(question, false), HistoryAnswer::kMostRuns)
                                   .c_str());
    if (question.pipeline) runs.bind(*question.pipeline);
    found.runs = runs_in(runs);
  } catch (const SqlError& error) {
    refuse_reading(path_, error);
  }
  if (found.kinds.size() > HistoryAnswer::kMostKinds)
    throw Error({ErrorCode::kServiceRefused,
                 0,
                 fmt::format("the history has more than {} kinds of tasks", HistoryAnswer::kMostKinds),
                 "name a pipeline, or a step",
                 {}});
  for (UsualKind& each : found.kinds) {
    const std::vector<PastTask> past = succeeded(each.kind.kind, UsualOfKind::kMostTasks);
    each.usual = UsualOfKind(internal::succeeded(past)).expect(question.input_bytes);
  }
  return found;
}

std::uint64_t HistoryFile::kind_id(const TaskKind& kind) {
  Statement add(*database_,
                "INSERT OR IGNORE INTO kind (pipeline, step, engine, owner, script) VALUES (?, ?, ?, ?, ?)");
  bind_kind(add, kind).run();
  Statement known(*database_,
                  "SELECT id FROM kind WHERE pipeline = ? AND step = ? AND engine = ? AND coalesce(owner, -1) = "
                  "coalesce(?, -1) AND coalesce(script, -1) = coalesce(?, -1)");
  bind_kind(known, kind);
  return known.step() ? known.number(0) : 0;
}

/// The newest of a kind are what counts.
void HistoryFile::remove_beyond(std::uint64_t kind_id) {
  Statement(*database_, R"(
    DELETE FROM task WHERE id IN
      (SELECT id FROM task WHERE kind_id = ? ORDER BY end_time_s DESC, id DESC LIMIT -1 OFFSET ?))")
      .bind(kind_id)
      .bind(kMostTasksOfKind)
      .run();
}

/// No user takes the room of others, or more than is sensible.
void HistoryFile::remove_beyond_of_owner(std::uint32_t owner) {
  for (const char* table : {"task", "run"}) {
    Statement(*database_, fmt::format("DELETE FROM {0} WHERE id IN (SELECT id FROM {0} WHERE owner = ? ORDER BY "
                                      "end_time_s DESC, id DESC LIMIT -1 OFFSET ?)",
                                      table)
                              .c_str())
        .bind(owner)
        .bind(kMostOfOwner)
        .run();
  }
  Statement(*database_, "DELETE FROM kind WHERE owner = ? AND id NOT IN (SELECT kind_id FROM task WHERE owner = ?)")
      .bind(owner)
      .bind(owner)
      .run();
}

bool HistoryFile::add(const std::vector<PastTask>& tasks, const std::vector<HistoryRun>& runs, milliseconds patience) {
  try {
    database_->wait_at_most(patience);
    constexpr std::uint64_t kDay_s = 24ull * 3600;
    if (now_s() >= removed_old_s_ + kDay_s) remove_old_now();
    Transaction transaction(*database_);
    Statement add_task(*database_, R"(
      INSERT OR REPLACE INTO task (kind_id, owner, tool, run_key, task_key, end_time_s, outcome, attempt, cpus, wall_ns, cpu_ns,
        peak_bytes, read_bytes, written_bytes, requested_millicpus, requested_memory_bytes, requested_time_ns)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?))");
    std::map<TaskKind, std::uint64_t> kinds;
    std::set<std::uint32_t> owners;
    for (const PastTask& task : tasks) {
      const auto [kind, is_new] = kinds.try_emplace(task.kind);
      if (is_new) kind->second = kind_id(task.kind);
      if (task.kind.owner_uid) owners.insert(*task.kind.owner_uid);
      add_task.bind(kind->second)
          .bind(bound(task.kind.owner_uid))
          .bind(task.tool)
          .bind(task.run_key)
          .bind(task.task_key)
          .bind(task.end_time_s)
          .bind(static_cast<std::uint64_t>(task.outcome))
          .bind(task.attempt)
          .bind(task.cpus)
          .bind(task.wall_ns)
          .bind(task.cpu_ns)
          .bind(task.peak_bytes)
          .bind(task.read_bytes)
          .bind(task.written_bytes)
          .bind(task.requested_millicpus)
          .bind(task.requested_memory_bytes)
          .bind(task.requested_time_ns)
          .run();
    }
    for (const auto& [kind, id] : kinds) remove_beyond(id);
    Statement add_run(*database_, R"(
      INSERT OR REPLACE INTO run (run_key, pipeline, end_time_s, wall_ns, tasks, outcome, owner)
      VALUES (?, ?, ?, ?, ?, ?, ?))");
    for (const HistoryRun& run : runs) {
      if (run.owner_uid) owners.insert(*run.owner_uid);
      add_run.bind(run.run_key)
          .bind(run.pipeline)
          .bind(run.end_time_s)
          .bind(run.wall_ns)
          .bind(run.tasks)
          .bind(run.outcome)
          .bind(bound(run.owner_uid))
          .run();
    }
    for (const std::uint32_t owner : owners) remove_beyond_of_owner(owner);
    transaction.commit();
    return true;
  } catch (const SqlError& error) {
    if (error.is_busy()) return false;
    refuse_writing(path_, error);
  }
}

}  // namespace tracer::internal
