// SPDX-License-Identifier: Apache-2.0
#include "insight/not_normal.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace tracer::internal {
namespace {

constexpr std::string_view kSlower = "slower_than_usual";
constexpr std::string_view kMemory = "memory_above_usual";
constexpr std::string_view kBytes = "bytes_above_usual";
constexpr std::string_view kTooHigh = "request_too_high";
constexpr std::string_view kTooLow = "request_too_low";
constexpr std::uint64_t kNsPerS = 1'000'000'000;

std::uint64_t number_of(const std::optional<Key>& key) { return key ? static_cast<std::uint64_t>(*key) : 0; }

template <class Finish>
Outcome outcome_of(const Finish& finish, bool out_of_memory) {
  if (out_of_memory) return Outcome::kOutOfMemory;
  if (finish.exit_signal) return Outcome::kKilled;
  if (!finish.exit_code) return Outcome::kUnknown;
  return *finish.exit_code == 0 ? Outcome::kSucceeded : Outcome::kFailed;
}

/// Without what names a single task.
std::shared_ptr<const Context> step_context(const Context& context) {
  Context step;
  step.pipeline = context.pipeline;
  step.run = context.run;
  step.step = context.step;
  step.engine = context.engine;
  step.run_id = context.run_id;
  step.run_key = context.run_key;
  step.owner_uid = context.owner_uid;
  return std::make_shared<const Context>(std::move(step));
}

}  // namespace

NotNormal::Living* NotNormal::living(const std::optional<Key>& key) {
  const auto known = key ? living_.find(number_of(key)) : living_.end();
  return known == living_.end() ? nullptr : &known->second;
}

void NotNormal::begin(const std::optional<Key>& key, const std::shared_ptr<const Context>& context,
                      std::uint64_t begin_ns, bool is_task) {
  if (!key || (living_.size() >= kMostLiving && living(key) == nullptr)) return;
  Living& known = living_[number_of(key)];
  if (known.begin_ns == 0) known.begin_ns = begin_ns;
  known.context = context;
  // Without a step, it is known by its tool only, and that only at its end.
  if (is_task && context->step) known.usual = history_->usual().expect(kind_of(*context), {}).wall_ns;
}

void NotNormal::saw(const RunStart& start) { begin(start.context->run_key, start.context, start.start_ns, false); }
void NotNormal::saw(const TaskStart& start) { begin(start.context->task_key, start.context, start.start_ns, true); }

void NotNormal::saw(const ProcessExit& exit) {
  const Context& context = *exit.process->context;
  if (context.engine_own) return;
  const Program& program = *exit.process->program;
  const auto tool = program.tool ? program.tool : program.comm;
  if (!tool) return;
  for (const auto& key : {context.task_key, context.run_key}) {
    Living* const known = living(key);
    if (known == nullptr || (known->tools.size() >= kMostTools && !known->tools.contains(*tool))) continue;
    known->tools[*tool] += exit.account.cpu_ns.value_or(0);
  }
}

void NotNormal::saw(const OomKill& kill) {
  for (const auto& key : {kill.process->context->task_key, kill.process->context->run_key})
    if (Living* const known = living(key)) known->out_of_memory = true;
}

void NotNormal::saw(const ContextChange& change) {
  if (change.pid) return;
  for (const auto& [from, to] :
       {std::pair(change.old_run_key, change.after->run_key), std::pair(change.old_task_key, change.after->task_key)}) {
    if (!from || !to) continue;
    auto node = living_.extract(number_of(from));
    if (node.empty()) continue;
    node.key() = number_of(to);
    living_.insert(std::move(node));
  }
  if (change.after->task_key && living(change.after->task_key) != nullptr)
    begin(change.after->task_key, change.after, 0, true);
}

/// Far from the middle, far from the usual spread, and by an amount that somebody cares about.
bool NotNormal::is_slow(std::uint64_t wall_ns, const Usual& usual) const {
  const FindingRules& rules = book_.rules();
  const auto wall = static_cast<double>(wall_ns);
  const auto median = static_cast<double>(usual.median);
  return wall > static_cast<double>(usual.p90) * static_cast<double>(rules.limit(kSlower, "p90_percent")) / 100 &&
         wall > median + static_cast<double>(rules.limit(kSlower, "spreads")) * static_cast<double>(usual.spread) &&
         wall >= median + static_cast<double>(rules.limit(kSlower, "least_ns"));
}

bool NotNormal::is_above(std::string_view code, std::uint64_t bytes, const Usual& usual) const {
  const FindingRules& rules = book_.rules();
  const auto value = static_cast<double>(bytes);
  const auto median = static_cast<double>(usual.median);
  return value > static_cast<double>(usual.p90) * static_cast<double>(rules.limit(code, "p90_percent")) / 100 &&
         value > median + static_cast<double>(rules.limit(code, "spreads")) * static_cast<double>(usual.spread) &&
         value >= median + static_cast<double>(rules.limit(code, "least_bytes"));
}

void NotNormal::report_slow(const std::shared_ptr<const Context>& context, bool is_run, std::uint64_t begin_ns,
                            std::uint64_t end_ns, const Usual& usual, bool over, std::vector<Event>& events) {
  FindingDraft draft{.code = kSlower, .subject = is_run ? "run" : "task"};
  draft.confidence = over || usual.basis != Basis::kAll ? "high" : "medium";
  draft.context = context;
  draft.first_ns = begin_ns + usual.p90;
  draft.last_ns = end_ns;
  draft.closed = over;
  draft.evidence = {words("ran", over ? "ran" : "has run"), figure("wall_ns", end_ns - begin_ns, "ns"),
                    figure("usual_ns", usual.median, "ns"), figure("p90_ns", usual.p90, "ns"),
                    figure("past", usual.n, "count")};
  if (usual.basis != Basis::kAll) draft.evidence.push_back(words("basis", "for this amount of input"));
  book_.report(draft, end_ns, events);
}

void NotNormal::report_above(std::string_view code, const std::shared_ptr<const Context>& context,
                             std::uint64_t begin_ns, std::uint64_t end_ns, std::string_view what, std::uint64_t bytes,
                             const Usual& usual, std::vector<Event>& events) {
  FindingDraft draft{.code = code, .subject = context->task_key ? "task" : "run"};
  draft.context = context;
  draft.first_ns = begin_ns;
  draft.last_ns = end_ns;
  draft.closed = true;
  draft.evidence = {words("what", std::string(what)), figure("bytes", bytes, "bytes"),
                    figure("usual_bytes", usual.median, "bytes"), figure("p90_bytes", usual.p90, "bytes"),
                    figure("past", usual.n, "count")};
  if (usual.basis != Basis::kAll) draft.evidence.push_back(words("basis", "for this amount of input"));
  book_.report(draft, end_ns, events);
}

void NotNormal::saw(const SnapshotEnd& snapshot, std::vector<Event>& events) {
  report_problem(snapshot.time_ns, events);
  for (const auto& [key, each] : living_) {
    if (!each.usual || each.begin_ns == 0 || snapshot.time_ns <= each.begin_ns) continue;
    if (is_slow(snapshot.time_ns - each.begin_ns, *each.usual))
      report_slow(each.context, false, each.begin_ns, snapshot.time_ns, *each.usual, false, events);
  }
  history_->write_sometimes(snapshot.time_ns);
}

template <class Finish>
PastTask NotNormal::past_of(const Finish& finish, const Living* known) const {
  const Context& context = *finish.context;
  PastTask past;
  if (known != nullptr && !known->tools.empty()) {
    const auto most = std::max_element(known->tools.begin(), known->tools.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    past.tool = most->first;
  }
  past.kind = kind_of(context, past.tool);
  if (context.run_key) past.run_key = to_string(*context.run_key);
  past.end_time_s = (finish.end_ns + wall_offset_ns_) / kNsPerS;
  past.outcome = outcome_of(finish, known != nullptr && known->out_of_memory);
  past.attempt = context.attempt.value_or(1);
  past.cpus = cpus_;
  past.wall_ns = finish.end_ns - std::min(finish.begin_ns, finish.end_ns);
  past.cpu_ns = finish.totals.account.cpu_ns;
  past.peak_bytes = finish.totals.peak_bytes ? finish.totals.peak_bytes : finish.totals.peak_at_least_bytes;
  past.read_bytes = finish.totals.account.read_bytes;
  past.written_bytes = finish.totals.account.written_bytes;
  return past;
}

template <class Finish>
void NotNormal::compare(const Finish& finish, const PastTask& past, bool is_run, std::vector<Event>& events) {
  if (past.outcome != Outcome::kSucceeded) return;
  const Expectation expected = history_->usual().expect(past.kind, past.read_bytes);
  const std::uint64_t begin_ns = std::min(finish.begin_ns, finish.end_ns);
  if (expected.wall_ns && is_slow(*past.wall_ns, *expected.wall_ns)) {
    report_slow(finish.context, is_run, begin_ns, finish.end_ns, *expected.wall_ns, true, events);
  } else {
    book_.close(kSlower, is_run ? "run" : "task", *finish.context, nullptr, finish.end_ns, events);
  }
  if (past.peak_bytes && expected.peak_bytes && is_above(kMemory, *past.peak_bytes, *expected.peak_bytes))
    report_above(kMemory, finish.context, begin_ns, finish.end_ns, "held", *past.peak_bytes, *expected.peak_bytes,
                 events);
  // A larger input reads and writes more.
  const bool reads_more =
      past.read_bytes && expected.read_bytes && is_above(kBytes, *past.read_bytes, *expected.read_bytes);
  if (past.written_bytes && expected.written_bytes && is_above(kBytes, *past.written_bytes, *expected.written_bytes)) {
    report_above(kBytes, finish.context, begin_ns, finish.end_ns, "wrote", *past.written_bytes, *expected.written_bytes,
                 events);
  } else if (reads_more) {
    report_above(kBytes, finish.context, begin_ns, finish.end_ns, "read", *past.read_bytes, *expected.read_bytes,
                 events);
  }
}

void NotNormal::judge_request(const TaskFinish& finish, const PastTask& past, std::vector<Event>& events) {
  const auto& requested = finish.requested.memory_bytes;
  if (!requested || *requested == 0 || !past.peak_bytes) return;
  const std::uint64_t percent = book_.rules().limit(kTooLow, "used_percent");
  const bool nearly_all =
      static_cast<double>(*past.peak_bytes) * 100 > static_cast<double>(*requested) * static_cast<double>(percent);
  if (past.outcome != Outcome::kOutOfMemory && !nearly_all) return;
  FindingDraft draft{.code = kTooLow, .subject = "task", .context = finish.context};
  draft.first_ns = std::min(finish.begin_ns, finish.end_ns);
  draft.last_ns = finish.end_ns;
  draft.closed = true;
  draft.evidence = {figure("requested_bytes", *requested, "bytes"), figure("used_bytes", *past.peak_bytes, "bytes")};
  if (past.outcome == Outcome::kOutOfMemory) draft.evidence.push_back(words("end", "memory ran out"));
  book_.report(draft, finish.end_ns, events);
}

void NotNormal::add_to_step(const TaskFinish& finish, const PastTask& past) {
  if (!finish.context->step || past.outcome != Outcome::kSucceeded) return;
  const auto key = std::pair(number_of(finish.context->run_key), past.kind);
  if (steps_.size() >= kMostSteps && !steps_.contains(key)) return;
  Step& step = steps_[key];
  if (!step.context) step.context = step_context(*finish.context);
  step.kind = past.kind;
  ++step.tasks;
  step.requested_memory_bytes = std::max(step.requested_memory_bytes, finish.requested.memory_bytes.value_or(0));
  step.requested_millicpus = std::max(step.requested_millicpus, finish.requested.millicpus.value_or(0));
  step.peak_bytes = std::max(step.peak_bytes, past.peak_bytes.value_or(0));
  if (past.cpu_ns && past.wall_ns && *past.wall_ns != 0)
    step.used_millicpus = std::max(
        step.used_millicpus,
        static_cast<std::uint64_t>(1000.0 * static_cast<double>(*past.cpu_ns) / static_cast<double>(*past.wall_ns)));
}

void NotNormal::judge_step(const Step& step, std::uint64_t time_ns, std::vector<Event>& events) {
  const FindingRules& rules = book_.rules();
  const auto percent = static_cast<double>(rules.limit(kTooHigh, "requested_percent")) / 100;
  const Expectation expected = history_->usual().expect(step.kind, {});
  const auto cpus = history_->usual().used_millicpus(step.kind);
  FindingDraft draft{.code = kTooHigh, .subject = "step", .context = step.context};
  draft.first_ns = draft.last_ns = time_ns;
  draft.count = step.tasks;
  draft.closed = true;
  draft.evidence = {words("step", step.kind.step)};
  if (expected.peak_bytes && step.requested_memory_bytes != 0) {
    const std::uint64_t most = std::max(step.peak_bytes, expected.peak_bytes->most);
    const auto spare = step.requested_memory_bytes - std::min(step.requested_memory_bytes, most);
    if (static_cast<double>(step.requested_memory_bytes) > percent * static_cast<double>(most) &&
        spare >= rules.limit(kTooHigh, "least_bytes")) {
      draft.evidence.push_back(figure("requested_bytes", step.requested_memory_bytes, "bytes"));
      draft.evidence.push_back(figure("used_bytes", most, "bytes"));
      draft.evidence.push_back(figure("past", expected.peak_bytes->n, "count"));
      return book_.report(draft, time_ns, events);
    }
  }
  if (!cpus || step.requested_millicpus == 0) return;
  const std::uint64_t most = std::max(step.used_millicpus, cpus->most);
  const auto spare = step.requested_millicpus - std::min(step.requested_millicpus, most);
  if (static_cast<double>(step.requested_millicpus) <= percent * static_cast<double>(most) ||
      spare < rules.limit(kTooHigh, "least_millicpus"))
    return;
  const auto text_of = [](std::uint64_t millicpus) {
    return std::to_string(millicpus / 1000) + "." + std::to_string(millicpus % 1000 / 100);
  };
  draft.evidence.push_back(words("requested_cpus", text_of(step.requested_millicpus)));
  draft.evidence.push_back(words("used_cpus", text_of(most)));
  draft.evidence.push_back(figure("past", cpus->n, "count"));
  book_.report(draft, time_ns, events);
}

void NotNormal::judge_steps(const std::optional<Key>& run_key, std::uint64_t time_ns, std::vector<Event>& events) {
  std::erase_if(steps_, [&](const auto& each) {
    if (run_key && each.first.first != number_of(run_key)) return false;
    judge_step(each.second, time_ns, events);
    return true;
  });
}

void NotNormal::finished(const TaskFinish& finish, std::vector<Event>& events) {
  if (!finish.context->task_key) return;
  const Living* const known = living(finish.context->task_key);
  PastTask past = past_of(finish, known);
  past.task_key = to_string(*finish.context->task_key);
  past.requested_millicpus = finish.requested.millicpus;
  past.requested_memory_bytes = finish.requested.memory_bytes;
  past.requested_time_ns = finish.requested.time_ns;
  compare(finish, past, false, events);
  judge_request(finish, past, events);
  add_to_step(finish, past);
  history_->add(std::move(past));
  living_.erase(number_of(finish.context->task_key));
}

void NotNormal::finished(const RunFinish& finish, std::vector<Event>& events) {
  if (!finish.context->run_key) return;
  const Living* const known = living(finish.context->run_key);
  PastTask past = past_of(finish, known);
  HistoryRun run;
  run.run_key = past.run_key;
  run.pipeline = past.kind.pipeline.empty() ? finish.context->run.value_or("") : past.kind.pipeline;
  run.end_time_s = past.end_time_s;
  run.wall_ns = *past.wall_ns;
  run.tasks = finish.tasks;
  run.outcome = to_string(past.outcome);
  history_->add(std::move(run));
  // A command by itself is like a task.
  if (finish.tasks == 0) {
    compare(finish, past, true, events);
    history_->add(std::move(past));
  }
  judge_steps(finish.context->run_key, finish.end_ns, events);
  living_.erase(number_of(finish.context->run_key));
}

void NotNormal::report_problem(std::uint64_t time_ns, std::vector<Event>& events) {
  const auto problem = history_->take_problem();
  if (!problem) return;
  FindingDraft draft{.code = "history_unusable", .subject = "host"};
  draft.first_ns = draft.last_ns = time_ns;
  draft.closed = true;
  draft.evidence = {words("problem", *problem)};
  book_.report(draft, time_ns, events);
}

void NotNormal::finish(std::uint64_t time_ns, std::vector<Event>& events) {
  judge_steps(std::nullopt, time_ns, events);
  history_->write_all();
  report_problem(time_ns, events);
}

}  // namespace tracer::internal
