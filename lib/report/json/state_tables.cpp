// SPDX-License-Identifier: Apache-2.0
#include "report/state_tables.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <tracer/error.hpp>

#include "base/bounded.hpp"
#include "base/event_schema.hpp"
#include "context/task_name.hpp"
#include "report/json/json_parts.hpp"
#include "report/json/put_part.hpp"
#include "report/report_parts.hpp"
#include "report/report_sums.hpp"
#include "report/state_rows.hpp"
#include "report/sums/task_tree.hpp"
#include "state/failure_chains.hpp"
#include "state/since_attach.hpp"

namespace tracer::internal {
namespace {

using Owner = std::optional<uid_t>;
/// Owners whose rows are seen. Absent: all.
using Viewer = std::optional<std::vector<uid_t>>;

/// Of an event that its owner does not see as it is, who sees all has a row of their own.
enum class SeenBy : std::uint8_t { kBoth, kAll, kOwner };

constexpr std::size_t kMostBytes = 1u << 20;
/// That the rows of runs, steps, tasks and findings leave to the rest of a reply.
constexpr std::size_t kBytesOfRest = 384u << 10;
constexpr std::size_t kMostBytesOfProcesses = 128u << 10;
/// Of 40 bytes each.
constexpr std::size_t kMostGone = 4096;
/// Columns that only the state has, besides `id`.
constexpr std::array<std::string_view, 7> kOwn = {"in",           "name",    "state",   "start_ns",
                                                  "submitted_ns", "outcome", "expected"};
constexpr std::array<std::string_view, 5> kTables = {"runs", "steps", "tasks", "findings", "counts"};

[[noreturn]] void refuse(std::string problem, std::string fix) {
  throw Error({ErrorCode::kInvalidArgument, 0, std::move(problem), std::move(fix), {}});
}

std::string name_of(const StateRow& row) {
  if (row.level == SummaryLevel::kRun) return run_name(*row.context);
  if (row.level == SummaryLevel::kStep) return row.step;
  std::string name = own_task_name(*row.context);
  // All of its step, as in a report.
  if (name.empty()) name = row.context->task_id ? row.tool : row.context->step.value_or(row.tool);
  return name.empty() ? process_name(*row.context) : name;
}

bool is_seen(const Owner& owner, SeenBy seen_by, const Viewer& viewer) {
  if (!viewer) return seen_by != SeenBy::kOwner;
  return owner && seen_by != SeenBy::kAll && std::find(viewer->begin(), viewer->end(), *owner) != viewer->end();
}

/// What is wanted, looked up once.
struct Wanted {
  explicit Wanted(const StateQuery& query) : fields(query.fields.begin(), query.fields.end()) {
    for (const std::string& field : fields)
      if (!is_row_figure(field) && !is_label(field) && std::find(kOwn.begin(), kOwn.end(), field) == kOwn.end())
        refuse("state has no field \"" + field + "\"", "name columns of docs/state.md");
    for (const std::string& table : query.rows)
      if (std::find(kTables.begin(), kTables.end(), table) == kTables.end())
        refuse("state has no rows \"" + table + "\"", "name some of runs, steps, tasks, findings, counts");
    tables.insert(query.rows.begin(), query.rows.end());
  }
  bool has(std::string_view table) const { return tables.empty() || tables.contains(table); }
  bool has_field(std::string_view field) const { return fields.empty() || fields.contains(field); }

  std::set<std::string, std::less<>> fields;
  std::set<std::string, std::less<>> tables;
};

std::optional<std::uint64_t> number_in(std::string_view text, int base) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return number;
}

}  // namespace

class StateTables::Impl {
 public:
  Impl(std::string id, const std::shared_ptr<Accounts>& accounts, bool of_recording, std::size_t most_bytes_over)
      : id_(std::move(id)),
        of_recording_(of_recording),
        findings_(most_bytes_over / 2, {}, accounts,
                  [this](std::uint64_t, Kept& kept) { ++rows_of(kept.owner, SeenBy::kBoth).dropped; }),
        book_(accounts, {}, most_bytes_over, most_bytes_over + Book::kMostBytes) {
    book_.when_gone([this](ScopeId scope, ScopeId into) { gone_.emplace_back(scope, into); });
  }

  void add(const Event& whole, const Owner& owner, const Event* whole_as_seen) {
    const std::lock_guard lock(mutex_);
    const Event event = since_attach_.of(whole);
    const Event seen = whole_as_seen == nullptr ? Event() : as_seen_since_attach_.of(*whole_as_seen);
    const Event* const as_seen = whole_as_seen == nullptr ? nullptr : &seen;
    const EventKind kind = event.kind();
    if (kind == EventKind::kContextChange) book_.saw(*event.get_if<ContextChange>());
    if (kind == EventKind::kRunStart) book_.saw(*event.get_if<RunStart>());
    if (kind == EventKind::kTaskStart) book_.saw(*event.get_if<TaskStart>());
    if (kind == EventKind::kProcessExec) ended_programs_.saw(*event.get_if<ProcessExec>());
    drop_gone();
    if (kind == EventKind::kLoss && !owner) {
      const auto& loss = *event.get_if<Loss>();
      losses_of_all_[loss.cause] += loss.count;
    } else if (kind == EventKind::kSnapshotEnd || kind == EventKind::kSessionEnd) {
      for (auto& each : owners_) each.second.add(event);
    } else if (kind == EventKind::kProcessStart) {
      // It has no row before it ends or is sampled.
    } else if (kind == EventKind::kFinding) {
      found(event, owner, as_seen);
    } else if (as_seen != nullptr) {
      rows_of(owner, SeenBy::kAll).add(event);
      rows_of(owner, SeenBy::kOwner).add(*as_seen);
    } else {
      rows_of(owner, SeenBy::kBoth).add(event);
    }
    if (kind == EventKind::kTaskFinish) book_.finished(*event.get_if<TaskFinish>()->context, false);
    if (kind == EventKind::kRunFinish) book_.finished(*event.get_if<RunFinish>()->context, true);
    if (kind == EventKind::kProcessExit) ended_programs_.saw(*event.get_if<ProcessExit>());
    judge(event, owner, as_seen);
    drop_gone();
  }

  void set_damage(const RecordingDamage& damage) {
    const std::lock_guard lock(mutex_);
    damage_ = damage;
  }
  void take_failures(TakeFailure take) { take_failure_ = std::move(take); }
  std::string json(const StateQuery& query, const Viewer& viewer);
  std::vector<Finding> findings(std::uint64_t since_ns, const Viewer& viewer) const;

 private:
  /// One reply.
  class Look;

  struct Kept {
    Owner owner;
    Event finding;
    std::optional<Event> as_seen;  ///< Absent: as it is.
    std::uint64_t version = 0;

    /// Null: it is not seen.
    const Event* seen_by(const Viewer& viewer) const {
      if (!is_seen(owner, SeenBy::kBoth, viewer)) return nullptr;
      return viewer && as_seen ? &*as_seen : &finding;
    }
  };
  /// Whose a failure is.
  struct Ended {
    Owner owner;
    std::shared_ptr<const Process> as_seen;  ///< Null: as it is.
  };

  RowsLack lack_of(const StateRows& rows) const {
    Completeness all;
    all.exits_seen = rows.processes;
    // Until a recording's end there may be more of anything.
    if (rows.over || !of_recording_) all.ended = owners_.size() == 1 ? rows.ended_by_count : 0;
    all.missed_at_most = rows.missed_at_most;
    all.damage = damage_;
    all.losses = rows.losses;
    all.losses.insert(losses_of_all_.begin(), losses_of_all_.end());
    judge_rows(all);
    return internal::lack_of(all, rows.over);
  }
  StateRows& rows_of(const Owner& owner, SeenBy seen_by) {
    return owners_.try_emplace({owner, seen_by}, book_, ended_programs_, versions_, of_recording_).first->second;
  }
  void found(const Event& event, const Owner& owner, const Event* as_seen) {
    Kept kept{owner, event, std::nullopt, ++versions_};
    std::size_t bytes = event.charge_bytes();
    if (as_seen != nullptr) {
      kept.as_seen = *as_seen;
      bytes += as_seen->charge_bytes();
    }
    const auto key = static_cast<std::uint64_t>(event.get_if<Finding>()->finding_key);
    if (findings_.put(key, owner, bytes, std::move(kept)) == nullptr) ++rows_of(owner, SeenBy::kBoth).dropped;
  }
  /// Scopes that the book has let go of. Their rows may have been in use until now.
  void drop_gone() {
    while (!gone_.empty())
      for (const auto& [scope, into] : std::exchange(gone_, {}))
        for (auto& [owner, rows] : owners_) rows.gone(scope, into);
  }
  void judge(const Event& event, const Owner& owner, const Event* as_seen) {
    if (const auto* start = event.get_if<ProcessStart>()) chains_.saw(start->process);
    if (const auto* exec = event.get_if<ProcessExec>()) chains_.saw(exec->process);
    if (const auto* run = event.get_if<RunStart>()) chains_.leads(run->pid, run->start_ns, *run->context);
    if (const auto* task = event.get_if<TaskStart>()) chains_.leads(task->pid, task->start_ns, *task->context);
    if (const auto* end = event.get_if<SessionEnd>()) chains_.finish(end->time_ns);
    const auto* exit = event.get_if<ProcessExit>();
    if (exit == nullptr) return;
    const bool may_fail = exit->exit_signal || exit->exit_code.value_or(0) != 0;
    std::shared_ptr<Ended> tag;
    if (may_fail)
      tag = std::make_shared<Ended>(owner, as_seen == nullptr ? nullptr : as_seen->get_if<ProcessExit>()->process);
    chains_.ended(*exit, exit->process->context->engine_own, std::move(tag));
  }
  void decide(const FailureOrigin& failure, Verdict verdict) {
    if (verdict != Verdict::kFailed) return;
    const auto ended = std::static_pointer_cast<Ended>(failure.tag);
    if (take_failure_) take_failure_(*failure.process, ended ? ended->owner : std::nullopt);
    if (!ended || !ended->as_seen) return rows_of(ended ? ended->owner : std::nullopt, SeenBy::kBoth).failed(failure);
    rows_of(ended->owner, SeenBy::kAll).failed(failure);
    FailureOrigin as_seen = failure;
    as_seen.process = ended->as_seen;
    rows_of(ended->owner, SeenBy::kOwner).failed(as_seen);
  }

  mutable std::mutex mutex_;
  const std::string id_;
  const bool of_recording_;
  RecordingDamage damage_;
  std::uint64_t versions_ = 0;
  std::map<std::pair<Owner, SeenBy>, StateRows> owners_;
  std::map<std::string, std::uint64_t> losses_of_all_;
  Bounded<std::uint64_t, Kept> findings_;  ///< By key.
  EndedPrograms ended_programs_;
  SinceAttach since_attach_;
  SinceAttach as_seen_since_attach_;
  std::vector<std::pair<ScopeId, ScopeId>> gone_;
  TakeFailure take_failure_;  ///< Empty: nobody does.
  Book book_;
  FailureChains chains_{[this](const auto& failure, auto verdict) { decide(failure, verdict); }};
};

class StateTables::Impl::Look {
 public:
  Look(Impl& state, const StateQuery& query, const Wanted& wanted, const Viewer& viewer)
      : state_(state), wanted_(wanted), viewer_(viewer) {
    for (auto& [whose, rows] : state_.owners_) {
      if (!is_seen(whose.first, whose.second, viewer)) continue;
      seen_.push_back(&rows);
      if (const RowsLack lack = state_.lack_of(rows); lack != std::exchange(rows.lack, lack))
        rows.lack_since = ++state_.versions_;
    }
    since_ = version_in(query.since);
    std::size_t gone = 0;
    for (const StateRows* rows : seen_) {
      gone += rows->gone_rows().size();
      // What some lack is a figure of all.
      if (since_ < std::max(rows->forgot_gone_at(), rows->lack_since)) since_ = 0;
    }
    if (gone > kMostGone) since_ = 0;
    if (!query.key.empty()) {
      const auto key = number_in(query.key, 16);
      if (!key || query.key.size() != 16) refuse("\"" + query.key + "\" is no key", "give a run_key or task_key");
      key_ = *key;
    }
  }

  std::string json() {
    gather();
    put_changes();
    std::string out;
    JsonBuilder json(out);
    json.object([&] {
      json.put("since", fmt::format("{}.{}", state_.id_, version_));
      json.put("all", since_ == 0);
      json.put("more", more_);
      put_table(json, "runs", texts_[0]);
      put_table(json, "steps", texts_[1]);
      put_table(json, "tasks", texts_[2]);
      put_table(json, "findings", texts_[3]);
      put_gone(json);
      if (wanted_.has("counts")) put_counts(json);
      if (key_ != 0) put_touched(json);
    });
    return out;
  }

 private:
  /// Of one scope, that several may see.
  using Parts = std::vector<std::pair<StateRows*, StateRow*>>;
  struct Change {
    std::uint64_t version = 0;
    std::size_t table = 0;  ///< Of kTables.
    Parts parts = {};
    const Finding* finding = nullptr;
  };

  std::uint64_t version_in(std::string_view since) const {
    const std::string& id = state_.id_;
    if (since.size() <= id.size() || !since.starts_with(id) || since[id.size()] != '.') return 0;
    const auto version = number_in(since.substr(id.size() + 1), 10).value_or(0);
    return version > state_.versions_ ? 0 : version;
  }
  static std::size_t table_of(SummaryLevel level) {
    return level == SummaryLevel::kRun ? 0 : level == SummaryLevel::kStep ? 1 : 2;
  }

  void gather() {
    std::map<std::tuple<std::size_t, ScopeId, std::string>, Change> rows;
    for (StateRows* const owner : seen_) {
      for (StateRow* const row : owner->changed_since(since_)) {
        const std::size_t table = table_of(row->level);
        if (!wanted_.has(kTables[table]) || !counts(*row)) continue;
        const std::string step = row->level == SummaryLevel::kStep ? row->step : "";
        Change& change = rows[{table, row->scope->id, step}];
        change.version = std::max(change.version, row->version);
        if (!change.parts.empty()) continue;
        change.table = table;
        for (StateRows* const other : seen_)
          if (StateRow* const part = other->find(row->level, row->scope->id, step))
            change.parts.emplace_back(other, part);
      }
    }
    if (wanted_.has("findings"))
      state_.findings_.each([this](std::uint64_t, const Kept& kept) {
        const Event* const seen = kept.version > since_ ? kept.seen_by(viewer_) : nullptr;
        if (seen != nullptr) changes_.push_back({kept.version, 3, {}, seen->get_if<Finding>()});
      });
    for (auto& [id, change] : rows) changes_.push_back(std::move(change));
    std::sort(changes_.begin(), changes_.end(), [](const Change& a, const Change& b) { return a.version < b.version; });
  }

  /// The oldest first, so that the next look goes on where this one had no more room.
  void put_changes() {
    version_ = state_.versions_;
    std::size_t bytes = 0;
    std::uint64_t last = since_;
    for (const Change& change : changes_) {
      std::string text;
      JsonBuilder json(text);
      if (change.finding != nullptr) {
        put_fields(json, *change.finding);
      } else {
        put_row(json, change.parts);
      }
      bytes += text.size() + 1;
      if (bytes > kMostBytes - kBytesOfRest) {
        more_ = true;
        version_ = last;
        return;
      }
      last = change.version;
      std::string& table = texts_[change.table];
      table += (table.empty() ? "" : ",") + text;
    }
  }

  static std::string_view state_of(const StateRow& row, bool is_over) {
    const std::string_view state = row.tasks ? "" : internal::state_of(row.sums.row.submitted);
    return !state.empty() ? state : is_over ? "finished" : "running";
  }

  void put_row(JsonBuilder& json, const Parts& parts) const {
    const StateRow& first = *parts.front().second;
    RowsLack lack = RowsLack::kNothing;
    for (const auto& [rows, row] : parts) lack = std::max(lack, rows->lack);
    const bool whole = lack == RowsLack::kNothing && parts.size() == 1;
    SummaryRow sums = parts.front().first->sums_of(*parts.front().second, whole);
    for (std::size_t i = 1; i < parts.size(); ++i) {
      SummaryRow more = parts[i].first->sums_of(*parts[i].second, whole);
      // What they held together is not known.
      PeakBounds peak = larger_of(peak_of(sums), peak_of(more));
      peak.at_most_bytes.reset();
      more.task_ledger.reset();
      add_row(sums, more);
      sums = spanned(std::move(sums));
      set_peak(sums, peak);
    }
    ReportRow row = report_row(sums);
    if (first.tasks) row.tasks = Figure{first.counted.count() ? first.tasks->size() : 0, Bound::kExact};
    mark(row, lack);
    json.object([&] {
      json.put("id", id_of(first));
      if (first.run != nullptr && wanted_.has_field("in")) json.put("in", id_of(*first.run));
      if (wanted_.has_field("name")) json.put("name", name_of(first));
      put_labels(json, *first.context, wanted_.fields);
      if (first.level == SummaryLevel::kStep && wanted_.has_field("step")) json.put("step", first.step);
      if (first.expected && wanted_.has_field("expected")) json.put("expected", *first.expected);
      if (first.level != SummaryLevel::kStep) {
        // One alone has its end.
        const bool is_over =
            std::any_of(parts.begin(), parts.end(), [](const auto& each) { return has_ended(*each.second); });
        if (wanted_.has_field("state")) json.put("state", state_of(first, is_over));
        put_submitted(json, first.sums.row.submitted, wanted_.fields);
        if (first.scope->start_ns != 0 && wanted_.has_field("start_ns")) json.put("start_ns", first.scope->start_ns);
      }
      put_row_figures(json, row, wanted_.fields);
    });
  }

  void put_table(JsonBuilder& json, std::string_view name, const std::string& rows) const {
    if (wanted_.has(name)) json.put_text(name, '[' + rows + ']');
  }

  void put_gone(JsonBuilder& json) const {
    std::vector<std::string> gone;
    if (since_ != 0)
      for (const StateRows* rows : seen_)
        for (const auto& [version, id] : rows->gone_rows())
          if (version > since_) gone.push_back(id);
    if (!gone.empty()) json.texts("gone", gone);
  }

  void put_counts(JsonBuilder& json) const {
    std::uint64_t processes = 0, living = 0, failed = 0, dropped = 0;
    std::map<std::string, std::uint64_t> lost = state_.losses_of_all_;
    std::set<ScopeId> runs, tasks;  // That several see.
    for (const StateRows* rows : seen_) {
      processes += rows->processes + rows->living();
      living += rows->living();
      failed += rows->failures;
      dropped += rows->dropped;
      if (seen_.size() > 1) {
        rows->collect(SummaryLevel::kRun, runs);
        rows->collect(SummaryLevel::kTask, tasks);
      }
      for (const auto& [cause, count] : rows->losses) lost[cause] += count;
    }
    json.object("counts", [&] {
      json.put("processes", processes);
      json.put("living", living);
      json.put("failed", failed);
      json.put("runs", seen_.size() == 1 ? seen_[0]->runs() : runs.size());
      json.put("tasks", seen_.size() == 1 ? seen_[0]->tasks() : tasks.size());
      json.put("dropped", dropped);
      put_key(json, "lost", lost);
    });
  }

  /// Of the run or task with that key.
  void put_touched(JsonBuilder& json) {
    std::vector<const LivingRow*> living;
    std::vector<BusyFile> files;
    std::vector<BusyPeer> peers;
    std::optional<std::uint64_t> since_ns;
    for (StateRows* const rows : seen_) {
      StateRow* const row = rows->with_key(key_);
      if (row == nullptr) continue;
      rows->touch(*row);
      since_ns = std::max(since_ns.value_or(0), row->touched_since_ns);
      add_busiest(files, row->touched->files());
      add_busiest(peers, row->touched->peers());
      for (const LivingRow* each : rows->living_in(*row)) living.push_back(each);
    }
    if (!since_ns) return;
    std::string text;
    std::size_t left_out = 0;
    for (const LivingRow* each : living) {
      if (text.size() > kMostBytesOfProcesses) {
        ++left_out;
        continue;
      }
      std::string one;
      JsonBuilder process(one);
      put_part(process, Survivor{each->sample, each->begin_ns});
      text += (text.empty() ? "" : ",") + one;
    }
    json.put_text("processes", '[' + text + ']');
    if (left_out != 0) json.put("processes_left_out", left_out);
    if (*since_ns != 0) json.put("touched_since_ns", *since_ns);
    put_part_of(json, files);
    put_part_of(json, peers);
  }

  Impl& state_;
  const Wanted& wanted_;
  const Viewer& viewer_;
  std::vector<StateRows*> seen_;
  std::uint64_t since_ = 0;
  std::uint64_t key_ = 0;  ///< 0: none.
  std::uint64_t version_ = 0;
  bool more_ = false;
  std::vector<Change> changes_;
  std::array<std::string, 4> texts_;  ///< Of kTables.
};

std::string StateTables::Impl::json(const StateQuery& query, const Viewer& viewer) {
  const Wanted wanted(query);
  const std::lock_guard lock(mutex_);
  return Look(*this, query, wanted, viewer).json();
}

std::vector<Finding> StateTables::Impl::findings(std::uint64_t since_ns, const Viewer& viewer) const {
  const std::lock_guard lock(mutex_);
  std::vector<const Event*> all;
  findings_.each([&](std::uint64_t, const Kept& kept) {
    const Event* const seen = kept.finding.time_ns() >= since_ns ? kept.seen_by(viewer) : nullptr;
    if (seen != nullptr) all.push_back(seen);
  });
  const auto when = [](const Event* event) {
    return std::pair(event->time_ns(), static_cast<std::uint64_t>(event->get_if<Finding>()->finding_key));
  };
  std::sort(all.begin(), all.end(), [&](const Event* one, const Event* other) { return when(one) < when(other); });
  std::size_t bytes = 0;
  auto first = all.end();
  while (first != all.begin() && static_cast<std::size_t>(all.end() - first) < kMostFindings) {
    bytes += (*std::prev(first))->charge_bytes();
    if (bytes > kMostBytesOfFindings) break;
    --first;
  }
  std::vector<Finding> findings;
  for (; first != all.end(); ++first) findings.push_back(*(*first)->get_if<Finding>());
  return findings;
}

StateTables::StateTables(std::string id, const std::shared_ptr<Accounts>& accounts, bool of_recording,
                         std::size_t most_bytes_over)
    : impl_(std::make_unique<Impl>(std::move(id), accounts, of_recording, most_bytes_over)) {}
StateTables::~StateTables() = default;

void StateTables::add(const Event& event, const std::optional<uid_t>& owner, const Event* as_seen) {
  impl_->add(event, owner, as_seen);
}

void StateTables::set_damage(const RecordingDamage& damage) { impl_->set_damage(damage); }
void StateTables::take_failures(TakeFailure take) { impl_->take_failures(std::move(take)); }

std::string StateTables::json(const StateQuery& query, const std::optional<std::vector<uid_t>>& owners) const {
  return impl_->json(query, owners);
}

std::vector<Finding> StateTables::findings(std::uint64_t since_ns,
                                           const std::optional<std::vector<uid_t>>& owners) const {
  return impl_->findings(since_ns, owners);
}

}  // namespace tracer::internal
