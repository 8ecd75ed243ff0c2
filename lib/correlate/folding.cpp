// SPDX-License-Identifier: Apache-2.0
#include "correlate/folding.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "base/sums.hpp"
#include "state/held_memory.hpp"

namespace tracer::internal {
namespace {

struct Fold {
  std::size_t members = 0;
  ToolSample sum;
  HeldMemory held;
};

void add(Fold& fold, const ProcessSample& sample) {
  ToolSample& sum = fold.sum;
  if (sum.processes++ == 0) {
    sum.time_ns = sample.time_ns;
    sum.tool = sample.process->program->tool;
    sum.uid = sample.process->uid;
    sum.context = sample.process->context;
    sum.threads = sample.threads;
    sum.rss_anonymous_bytes = sample.rss_anonymous_bytes;
    sum.rss_file_bytes = sample.rss_file_bytes;
    sum.rss_shared_bytes = sample.rss_shared_bytes;
    sum.account = sample.account;
    forget_peers(sum.account);
  } else {
    add_figure(sum.threads, sample.threads, Unknown::kSpreads);
    add_figure(sum.rss_anonymous_bytes, sample.rss_anonymous_bytes, Unknown::kSpreads);
    add_figure(sum.rss_file_bytes, sample.rss_file_bytes, Unknown::kSpreads);
    add_figure(sum.rss_shared_bytes, sample.rss_shared_bytes, Unknown::kSpreads);
    add_figures(sum.account, sample.account, Unknown::kSpreads);
  }
  if (sample.state == "running") ++sum.running;
  fold.held.add(sample);
}

}  // namespace

void fold(std::vector<ProcessSample> samples, std::uint32_t own_pid, std::vector<Event>& events) {
  using Key = std::tuple<std::optional<std::string>, std::optional<std::uint32_t>, Context>;
  const auto key_of = [](const ProcessSample& sample) {
    return Key(sample.process->program->tool, sample.process->uid, *sample.process->context);
  };
  std::map<Key, Fold> folds;
  for (const ProcessSample& sample : samples) ++folds[key_of(sample)].members;

  for (ProcessSample& sample : samples) {
    Fold& fold = folds[key_of(sample)];
    if (fold.members <= kMostSamplesOfOneTool || sample.process->pid == own_pid) {
      events.emplace_back(std::move(sample));
    } else {
      add(fold, sample);
    }
  }
  for (auto& [key, fold] : folds) {
    if (fold.sum.processes == 0) continue;
    fold.sum.held_bytes = fold.held.bytes();
    events.emplace_back(std::move(fold.sum));
  }
}

}  // namespace tracer::internal
