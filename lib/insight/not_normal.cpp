// SPDX-License-Identifier: Apache-2.0
#include "insight/not_normal.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/declared_task.hpp"
#include "base/random.hpp"
#include "context/note_reader.hpp"
#include "history/script.hpp"

namespace tracer::internal {
namespace {

constexpr std::string_view kSlower = "slower_than_usual";
constexpr std::string_view kCpuAbove = "cpu_above_usual";
constexpr std::string_view kMemoryAbove = "memory_above_usual";
constexpr std::string_view kBytes = "bytes_above_usual";
constexpr std::string_view kTooHigh = "request_too_high";
constexpr std::string_view kTooLow = "request_too_low";
constexpr std::uint64_t kNsPerS = 1'000'000'000;
/// At the end, for what earlier ones took.
constexpr std::chrono::milliseconds kLastLookup{1000};

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

std::optional<UsualPace> NotNormal::pace_of(const Context& context) {
  const Living* const known = living(context, false);
  if (known == nullptr || !known->usual) return std::nullopt;
  const Expectation expected = known->usual->expect({});
  if (!expected.wall_ns || !expected.cpu_ns) return std::nullopt;
  const std::uint64_t wall_ns = expected.wall_ns->median;
  return UsualPace{wall_ns, wall_ns - std::min(wall_ns, expected.cpu_ns->median), expected.wall_ns->n};
}

void NotNormal::begin(const Context& context, bool is_run, std::uint64_t begin_ns) {
  Living* const known = living_.make(book_.scopes().id_of(context, is_run), context.owner_uid);
  if (known == nullptr) return;
  if (known->begin_ns == 0) known->begin_ns = begin_ns;
  // Where nobody names it, it is known by its tool and its script, and these only at its end.
  if (is_run || !names_kind(context)) return;
  known->kind = history_->kind_of(context);
  known->usual = nullptr;
  history_->want(*known->kind);
}

/// What its leader runs is what a run or task does.
void NotNormal::look_at_script(const Process& process) {
  for (const bool is_run : {false, true}) {
    const auto scope = book_.scopes().find(*process.context, is_run);
    if (!scope || scope->pid != process.pid || scope->start_ns != process.start_ns || names_kind(*scope->context))
      continue;
    Living* const known = living_.find(scope->id);
    const auto script = internal::script_of(*process.program);
    if (known == nullptr) continue;
    known->script.reset();
    sizes_.forget(scope->id);
    if (!script) continue;
    // Jobs of a launcher are many and short, and differ by numbers.
    const bool is_job = !is_run && scope->context->engine && is_launcher(*scope->context->engine);
    std::string shape = script->shape;
    if (is_job) std::erase_if(shape, [](char each) { return each >= '0' && each <= '9'; });
    known->script = history_->script_of(script->path + '\0' + shape);
    if (on_this_host_ && !is_job)
      sizes_.ask(scope->id, user_of(*scope->context),
                 [path = script->path, process] { return file_bytes(path, process); });
  }
}

/// What is not known is like nothing else; where only the size is not known by now, it goes without.
std::uint64_t NotNormal::script_of(ScopeId id, const Living* known) {
  const auto size_bytes = sizes_.take(id);
  if (known == nullptr || !known->script) return random_number() >> 1;
  const auto size = size_bytes.value_or(std::nullopt);
  return history_->script_of(std::to_string(*known->script) + (size ? ' ' + std::to_string(*size) : ""));
}

void NotNormal::process_ended(const ProcessExit& exit, std::vector<Event>&) {
  const Context& context = *exit.process->context;
  if (context.engine_own) return;
  const Program& program = *exit.process->program;
  const auto tool = program.tool ? program.tool : program.comm;
  if (!tool) return;
  for (const bool is_run : {false, true}) {
    Living* const known = living(context, is_run);
    if (known == nullptr || (known->tools.size() >= kMostTools && !known->tools.contains(*tool))) continue;
    known->tools[*tool] += exit.account.cpu_ns.value_or(0);
  }
}

void NotNormal::process_killed(const OomKill& kill) {
  for (const bool is_run : {false, true})
    if (Living* const known = living(*kill.process->context, is_run)) known->out_of_memory = true;
}

void NotNormal::process_lived(const ProcessSpan& span, std::vector<Event>&) {
  if (span.change.read_bytes == 0) return;
  if (Living* const known = living(*span.process->context, false)) known->read_bytes += span.change.read_bytes;
}

/// Its kind may be another.
void NotNormal::changed(const ContextChange& change) {
  if (!change.pid && living(*change.after, false) != nullptr) begin(*change.after, false, 0);
}

/// Far from the middle, far from the usual spread, and by an amount that somebody cares about.
bool NotNormal::is_above(std::string_view code, std::uint64_t figure, const Usual& usual) const {
  const FindingRules& rules = book_.rules();
  const auto value = static_cast<double>(figure);
  const auto median = static_cast<double>(usual.median);
  return value > static_cast<double>(usual.p90) * static_cast<double>(rules.limit(code, "p90_percent")) / 100 &&
         value > median + static_cast<double>(rules.limit(code, "spreads")) * static_cast<double>(usual.spread) &&
         value >= median + static_cast<double>(rules.limit(code, "least_bytes") + rules.limit(code, "least_ns"));
}

void NotNormal::report_slow(const Ended& of, const Usual& usual, bool over, std::string_view severity,
                            std::vector<Event>& events) {
  FindingDraft draft{.code = kSlower, .subject = of.is_run ? "run" : "task", .severity = severity};
  draft.confidence = over && of.past.read_bytes ? "high" : "medium";
  draft.context = of.context;
  draft.first_ns = of.begin_ns + usual.p90;
  draft.last_ns = of.end_ns;
  draft.closed = over;
  draft.evidence = {words("ran", over ? "ran" : "has run"), figure("wall_ns", of.end_ns - of.begin_ns, "ns"),
                    figure("usual_ns", usual.median, "ns"), figure("p90_ns", usual.p90, "ns"),
                    figure("past", usual.n, "count")};
  if (usual.basis != Basis::kAll) draft.evidence.push_back(words("basis", "for this amount of input"));
  book_.report(draft, of.end_ns, events);
}

void NotNormal::report_above(std::string_view code, const std::shared_ptr<const Context>& context,
                             std::uint64_t begin_ns, std::uint64_t end_ns, std::string_view what, std::uint64_t value,
                             const Usual& usual, std::vector<Event>& events) {
  FindingDraft draft{.code = code, .subject = context->task_key ? "task" : "run"};
  draft.context = context;
  draft.first_ns = begin_ns;
  draft.last_ns = end_ns;
  draft.closed = true;
  if (code == kCpuAbove) {
    draft.evidence = {figure("cpu_ns", value, "ns"), figure("usual_ns", usual.median, "ns"),
                      figure("p90_ns", usual.p90, "ns")};
  } else {
    draft.evidence = {words("what", std::string(what)), figure("bytes", value, "bytes"),
                      figure("usual_bytes", usual.median, "bytes"), figure("p90_bytes", usual.p90, "bytes")};
  }
  draft.evidence.push_back(figure("past", usual.n, "count"));
  if (usual.basis != Basis::kAll) draft.evidence.push_back(words("basis", "for this amount of input"));
  book_.report(draft, end_ns, events);
}

void NotNormal::snapshot_ended(const SnapshotEnd& snapshot, std::vector<Event>& events) {
  report_problem(snapshot.time_ns, events);
  compare_waiting(events);
  history_->write_sometimes(snapshot.time_ns);
}

/// While it runs, what it will have read is not known: it must be slow for any input, and for what it has read.
void NotNormal::scope_lives(const ScopeFigures& figures, std::uint64_t time_ns, std::vector<Event>& events) {
  Living* const known = living_.find(figures.id);
  if (known == nullptr || !known->kind || known->begin_ns == 0 || time_ns <= known->begin_ns) return;
  if (!known->usual) {
    known->usual = history_->usual(*known->kind);
    if (!known->usual) return;
    known->usual_wall = known->usual->expect({}).wall_ns;
  }
  const std::uint64_t wall_ns = time_ns - known->begin_ns;
  if (!known->usual_wall || !is_above(kSlower, wall_ns, *known->usual_wall) ||
      known->usual->is_beyond(known->read_bytes))
    return;
  const auto by_input = known->usual->expect(known->read_bytes).wall_ns;
  if (by_input && is_above(kSlower, wall_ns, *by_input))
    report_slow({{}, figures.context, known->begin_ns, time_ns, false}, *known->usual_wall, false, {}, events);
}

template <class Finish>
PastTask NotNormal::past_of(ScopeId id, const Finish& finish, const Living* known) {
  const Context& context = *finish.context;
  PastTask past;
  if (known != nullptr && !known->tools.empty()) {
    const auto most = std::max_element(known->tools.begin(), known->tools.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    past.tool = most->first;
  }
  past.kind = history_->kind_of(context, past.tool);
  if (!names_kind(context)) past.kind.script = script_of(id, known);
  if (context.run_key) past.run_key = to_string(*context.run_key);
  past.end_time_s = (finish.end_ns + wall_offset_ns_) / kNsPerS;
  past.outcome = outcome_of(finish, known != nullptr && known->out_of_memory);
  past.attempt = context.attempt.value_or(1);
  past.cpus = book_.cpus();
  past.wall_ns = finish.end_ns - std::min(finish.begin_ns, finish.end_ns);
  past.cpu_ns = finish.totals.account.cpu_ns;
  past.peak_bytes = finish.totals.peak_bytes ? finish.totals.peak_bytes : finish.totals.peak_at_least_bytes;
  past.read_bytes = finish.totals.account.read_bytes;
  past.written_bytes = finish.totals.account.written_bytes;
  return past;
}

void NotNormal::compare(Ended ended, std::vector<Event>& events) {
  if (ended.past.outcome != Outcome::kSucceeded) return;
  history_->want(ended.past.kind);
  if (const auto usual = history_->usual(ended.past.kind)) return compare_with(*usual, ended, events);
  const uid_t user = user_of(*ended.context);
  if (!waiting_room_.has(user, 1)) return;
  waiting_room_.hold(user, 1);
  waiting_.push_back(std::move(ended));
}

void NotNormal::compare_waiting(std::vector<Event>& events) {
  std::erase_if(waiting_, [&](const Ended& each) {
    const auto usual = history_->usual(each.past.kind);
    if (!usual) return false;
    compare_with(*usual, each, events);
    waiting_room_.give_back(user_of(*each.context), 1);
    return true;
  });
}

void NotNormal::compare_with(const UsualOfKind& usual, const Ended& ended, std::vector<Event>& events) {
  const PastTask& past = ended.past;
  const Expectation expected = usual.expect(past.read_bytes);
  // What so much input takes is not known.
  const bool beyond = usual.is_beyond(past.read_bytes);
  const auto report_high = [&](std::string_view code, std::string_view what, std::uint64_t value,
                               const Usual& usually) {
    report_above(code, ended.context, ended.begin_ns, ended.end_ns, what, value, usually, events);
  };
  const FindingDraft slower{.code = kSlower, .subject = ended.is_run ? "run" : "task", .context = ended.context};
  if (!beyond && expected.wall_ns && is_above(kSlower, *past.wall_ns, *expected.wall_ns)) {
    report_slow(ended, *expected.wall_ns, true, {}, events);
  } else if (const auto any = usual.expect({}).wall_ns; any && book_.is_open(slower)) {
    // By all that it has read, it is not.
    report_slow(ended, *any, true, "note", events);
  }
  if (!beyond && past.cpu_ns && expected.cpu_ns && is_above(kCpuAbove, *past.cpu_ns, *expected.cpu_ns))
    report_high(kCpuAbove, {}, *past.cpu_ns, *expected.cpu_ns);
  if (!beyond && past.peak_bytes && expected.peak_bytes &&
      is_above(kMemoryAbove, *past.peak_bytes, *expected.peak_bytes))
    report_high(kMemoryAbove, "held", *past.peak_bytes, *expected.peak_bytes);
  // A larger input reads and writes more.
  if (!beyond && past.written_bytes && expected.written_bytes &&
      is_above(kBytes, *past.written_bytes, *expected.written_bytes)) {
    report_high(kBytes, "wrote", *past.written_bytes, *expected.written_bytes);
  } else if (past.read_bytes && expected.read_bytes && is_above(kBytes, *past.read_bytes, *expected.read_bytes)) {
    report_high(kBytes, "read", *past.read_bytes, *expected.read_bytes);
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
  if (!names_kind(*finish.context) || past.outcome != Outcome::kSucceeded) return;
  const auto key = std::pair(book_.scopes().id_of(*finish.context, true), past.kind);
  if (!steps_.contains(key) && !steps_room_.has(user_of(*finish.context), 1)) return;
  Step& step = steps_[key];
  if (!step.context) {
    step.context = step_context(*finish.context);
    steps_room_.hold(user_of(*step.context), 1);
  }
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

void NotNormal::judge_step(const Step& step, const UsualOfKind& usual, std::uint64_t time_ns,
                           std::vector<Event>& events) {
  const FindingRules& rules = book_.rules();
  const auto percent = static_cast<double>(rules.limit(kTooHigh, "requested_percent")) / 100;
  const Expectation expected = usual.expect({});
  const auto cpus = usual.used_millicpus();
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

/// Of a run that is over, of all where none is named, and of those whose kind was not known yet.
void NotNormal::judge_steps(const std::optional<ScopeId>& run, std::uint64_t time_ns, std::vector<Event>& events) {
  std::erase_if(steps_, [&](const auto& each) {
    if (run && each.first.first != *run) return false;
    history_->want(each.second.kind);
    ended_steps_.push_back(each.second);
    return true;
  });
  std::erase_if(ended_steps_, [&](const Step& each) {
    const auto usual = history_->usual(each.kind);
    if (!usual) return false;
    judge_step(each, *usual, time_ns, events);
    steps_room_.give_back(user_of(*each.context), 1);
    return true;
  });
}

void NotNormal::scope_ended(const ScopeEnd& end, std::vector<Event>& events) {
  if (key_of(*end.context, end.is_run()) == 0) return;
  const Living* const known = living_.find(end.id);
  end.is_run() ? run_ended(end.id, *end.run, known, events) : task_ended(end.id, *end.task, known, events);
  living_.erase(end.id);
}

void NotNormal::task_ended(ScopeId id, const TaskFinish& finish, const Living* known, std::vector<Event>& events) {
  PastTask past = past_of(id, finish, known);
  past.task_key = to_string(*finish.context->task_key);
  past.requested_millicpus = finish.requested.millicpus;
  past.requested_memory_bytes = finish.requested.memory_bytes;
  past.requested_time_ns = finish.requested.time_ns;
  compare({past, finish.context, std::min(finish.begin_ns, finish.end_ns), finish.end_ns, false}, events);
  judge_request(finish, past, events);
  add_to_step(finish, past);
  history_->add(std::move(past));
}

void NotNormal::run_ended(ScopeId id, const RunFinish& finish, const Living* known, std::vector<Event>& events) {
  PastTask past = past_of(id, finish, known);
  HistoryRun run;
  run.run_key = past.run_key;
  run.pipeline = past.kind.pipeline.empty() ? finish.context->run.value_or("") : past.kind.pipeline;
  run.end_time_s = past.end_time_s;
  run.wall_ns = *past.wall_ns;
  run.tasks = finish.tasks;
  run.outcome = to_string(past.outcome);
  run.owner_uid = past.kind.owner_uid;
  history_->add(std::move(run));
  // A command by itself is like a task.
  if (finish.tasks == 0) {
    compare({past, finish.context, std::min(finish.begin_ns, finish.end_ns), finish.end_ns, true}, events);
    history_->add(std::move(past));
  }
  judge_steps(id, finish.end_ns, events);
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

void NotNormal::session_ends(std::uint64_t time_ns, std::vector<Event>& events) {
  judge_steps(std::nullopt, time_ns, events);
  if (!waiting_.empty() || !ended_steps_.empty()) history_->settle(kLastLookup);
  compare_waiting(events);
  judge_steps(std::nullopt, time_ns, events);
  history_->write_all();
  report_problem(time_ns, events);
}

}  // namespace tracer::internal
