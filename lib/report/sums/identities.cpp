// SPDX-License-Identifier: Apache-2.0
#include "report/sums/identities.hpp"

#include <tracer/summary.hpp>

#include "context/layers.hpp"
#include "report/sums/rows.hpp"

namespace tracer::internal {
namespace {

constexpr std::size_t kMostKnown = 4096;
/// Steps and samples of runs that are told apart no more.
constexpr std::size_t kMostEarlier = 4096;

}  // namespace

const Context& Identities::of(const std::shared_ptr<const Context>& context) {
  const auto known = known_.find(context.get());
  if (known != known_.end()) return known->second.second;
  if (known_.size() >= kMostKnown) known_.clear();
  return known_.emplace(context.get(), std::pair(context, bounded(identity_of(*context)))).first->second.second;
}

/// The run alone, under the name and with the labels that it had first: later ones are as many as somebody likes.
const Context& Identities::run_of(const Context& identity) {
  static const Context others{.run = kOthers};
  const std::string key = run_key(identity);
  const auto known = runs_.find(key);
  if (known != runs_.end()) return known->second;
  if (runs_.size() >= Summary::kMostRuns) return others;
  Context run = internal::run_of(identity);
  if (!is_task(identity)) run.engine = identity.engine;
  const Context& added = runs_.emplace(key, std::move(run)).first->second;
  note_growth();
  return added;
}

bool Identities::tells_step(const std::string& run, const std::string& step) {
  if (steps_.contains({run, step})) return true;
  return steps_.size() < Summary::kMostSteps && steps_.emplace(run, step).second;
}

void Identities::note_growth() noexcept {
  if (runs_.size() > Summary::kMostRuns / 16 * 15 || told_.size() > Summary::kMostTasks / 16 * 15) wants_room_ = true;
}

bool Identities::has_room() const noexcept {
  return runs_.size() <= Summary::kMostRuns / 4 * 3 && told_.size() <= Summary::kMostTasks / 4 * 3;
}

void Identities::forget_runs(const std::set<std::string>& keys) {
  known_.clear();
  std::erase_if(runs_, [&keys](const auto& run) { return keys.contains(run.first); });
  std::erase_if(steps_, [&keys](const auto& step) { return keys.contains(step.first); });
  std::erase_if(told_, [&keys](const Context& identity) { return keys.contains(run_key(identity)); });
}

Context Identities::earlier(const Context& identity) {
  Context earlier{.run = kEarlierRuns};
  earlier.step = identity.step;
  earlier.sample = identity.sample;
  if (is_task(identity)) earlier.task = kOtherTasks;
  if (earlier_.size() < kMostEarlier) earlier_.insert(earlier);
  if (earlier_.contains(earlier)) return earlier;
  if (earlier.step) earlier.step = kOthers;
  if (earlier.sample) earlier.sample = kOthers;
  return earlier;
}

Context Identities::bounded(Context identity) {
  if (identity == Context{} || told_.contains(identity)) return identity;
  const Context run = is_run(identity) ? run_of(identity) : Context{};
  const std::string key = run_key(run);
  const bool tells_run = key == run_key(identity);
  const bool tells_step = !identity.step || this->tells_step(key, *identity.step);
  if (tells_run && tells_step && told_.size() < Summary::kMostTasks) {
    const Context& added = *told_.insert(std::move(identity)).first;
    note_growth();
    return added;
  }

  Context others = run;
  if (identity.step) others.step = tells_step ? *identity.step : kOthers;
  if (is_task(identity)) {
    others.engine.reset();
    others.task = kOtherTasks;
  } else if (others == Context{}) {
    // It has neither run nor task, but a row by its labels.
    others.sample = kOthers;
  }
  return others;
}

}  // namespace tracer::internal
