// SPDX-License-Identifier: Apache-2.0
#include "stream/run_copy.hpp"

#include <algorithm>
#include <concepts>
#include <limits>
#include <optional>
#include <type_traits>
#include <unordered_set>

#include <tracer/event.hpp>

#include "base/process_id.hpp"
#include "stream/stream_writer.hpp"

namespace tracer::internal {
namespace {

/// What was not known by itself is inferred.
template <class T>
void take_known(std::optional<T>& own, const std::optional<T>& known, std::optional<Provenance>& provenance) {
  if (!known || own == known) return;
  own = known;
  provenance = Provenance::kInferred;
}

void take_names(Context& task, const Context& known) {
  ContextProvenance& by = task.provenance;
  take_known(task.pipeline, known.pipeline, by.pipeline);
  take_known(task.run, known.run, by.run);
  take_known(task.run_id, known.run_id, by.run_id);
  take_known(task.engine, known.engine, by.engine);
  take_known(task.step, known.step, by.step);
  take_known(task.sample, known.sample, by.sample);
  take_known(task.task, known.task, by.task);
  take_known(task.attempt, known.attempt, by.attempt);
  task.within = known.within;
  task.run_key = known.run_key;
  task.task_key = known.task_key;
  task.owner_uid = known.owner_uid;
}

/// Which events are a run's.
class OfRun {
 public:
  explicit OfRun(const RunCopy& copy) : keys_(copy.run_keys), is_over_(copy.is_over) {
    for (const auto& [task, context] : copy.names)
      if (context.run_key) keys_.insert(*context.run_key);
  }

  /// First of all events: what is learned of it later counts from its beginning on.
  void learn(const Event& event) {
    visit(
        [this](const auto& body) {
          if constexpr (requires { body.process->context; }) {
            if (is_in(*body.process->context)) processes_.insert({body.process->start_ns, body.process->pid});
          } else if constexpr (std::same_as<std::remove_cvref_t<decltype(body)>, RunStart>) {
            if (!is_in(*body.context)) return;
            begin_ns_ = std::min(begin_ns_, body.start_ns);
            end_ns_.reset();
          } else if constexpr (std::same_as<std::remove_cvref_t<decltype(body)>, RunFinish>) {
            if (is_in(*body.context)) end_ns_ = body.time_ns;
          } else if constexpr (requires {
                                 body.task_ledger;
                                 body.end_ns;
                               }) {
            // Where the run's engine is not: from its first task to its last.
            if (!is_in(*body.context)) return;
            begin_ns_ = std::min(begin_ns_, body.start_ns);
            if (is_over_) end_ns_ = std::max(end_ns_.value_or(0), body.time_ns);
          } else if constexpr (requires { body.old_run_key; }) {
            if (!body.old_run_key || !body.after->run_key) return;
            if (!keys_.contains(*body.old_run_key) && !is_in(*body.after)) return;
            keys_.insert({*body.old_run_key, *body.after->run_key});
          }
        },
        event);
  }
  /// Also what says something of the whole recording, while it runs. Not how that ended.
  bool takes(const Event& event) const {
    bool taken = false;
    visit(
        [&](const auto& body) {
          using E = std::remove_cvref_t<decltype(body)>;
          if constexpr (std::same_as<E, SessionEnd>) {
            return;
          } else if constexpr (std::same_as<E, Loss>) {
            taken = is_while(body.first_ns.value_or(body.time_ns), body.last_ns.value_or(body.time_ns));
          } else if constexpr (requires { body.process->context; }) {
            taken = is_in(*body.process->context) || processes_.contains({body.process->start_ns, body.process->pid});
          } else if constexpr (requires { body.after; }) {
            taken = is_in(*body.after) || is_in(*body.before);
          } else if constexpr (requires { body.context; }) {
            taken = is_in(*body.context);
          } else {
            taken = is_while(event.time_ns(), event.time_ns());
          }
        },
        event);
    return taken;
  }
  bool is_over() const noexcept { return is_over_ || end_ns_; }

 private:
  bool is_in(const Context& context) const { return context.run_key && keys_.contains(*context.run_key); }

  bool is_while(std::uint64_t first_ns, std::uint64_t last_ns) const noexcept {
    return last_ns >= begin_ns_ && (!end_ns_ || first_ns <= *end_ns_);
  }

  std::uint64_t begin_ns_ = std::numeric_limits<std::uint64_t>::max();
  std::optional<std::uint64_t> end_ns_;  ///< Absent: it is not over.
  std::set<Key> keys_;
  const bool is_over_;
  std::unordered_set<ProcessId, ProcessIdHash> processes_;
};

std::vector<RecordingSeries> opened(const RunCopy& copy, const std::function<std::vector<RecordingSeries>()>& open) {
  std::vector<RecordingSeries> all = open();
  if (!copy.names.empty())
    for (RecordingSeries& series : all)
      series.rename([&names = copy.names](Context& context) {
        const auto known = context.task_key ? names.find(*context.task_key) : names.end();
        if (known != names.end()) take_names(context, known->second);
      });
  return all;
}

}  // namespace

void copy_run(const RunCopy& copy, const std::function<std::vector<RecordingSeries>()>& open,
              const std::function<void(std::span<const std::byte>)>& write) {
  constexpr auto kWait = RecordingSeries::Wait::kForBytes;
  OfRun of_run(copy);
  for (RecordingSeries& series : opened(copy, open))
    for (Event event = series.next(kWait); event.kind() != EventKind::kNone; event = series.next(kWait))
      of_run.learn(event);
  std::vector<RecordingSeries> all = opened(copy, open);
  // Of several sessions, it went on in the last.
  RecordingSeries& series = all.front();
  const RecordingPart& first = series.parts().front();
  StreamWriter out(first.host, kRecordingLevel, {}, first.owner_uid);
  const auto write_ready = [&] {
    if (out.ready().empty()) return;
    write(out.ready());
    out.clear_ready();
  };
  SessionEnd end{};
  for (Event event = series.next(kWait); event.kind() != EventKind::kNone; event = series.next(kWait)) {
    if (!of_run.takes(event)) continue;
    const std::uint64_t closed_ns = series.closed_ns();
    out.set_clock({closed_ns, series.closed_unix_ns().value_or(closed_ns) - closed_ns});
    end.time_ns = event.time_ns();
    if (event.kind() == EventKind::kProcessStart) ++end.processes_started;
    if (event.kind() == EventKind::kProcessExit) end.exits_delivered = ++end.processes_ended;
    if (const auto* loss = event.get_if<Loss>()) end.losses += loss->count;
    out.append(event);
    write_ready();
  }
  // As a session that followed it alone.
  if (of_run.is_over()) out.append(end);
  out.close_frame();
  write_ready();
  Bytes last;
  out.append_end(last);
  write(last);
}

}  // namespace tracer::internal
