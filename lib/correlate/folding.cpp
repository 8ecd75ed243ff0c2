// SPDX-License-Identifier: Apache-2.0
#include "correlate/folding.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/field_sums.hpp"
#include "correlate/held_memory.hpp"

namespace tracer {
namespace {

using Optional = std::optional<std::uint64_t>;

struct Fold {
  std::size_t members = 0;
  ToolSample sum;
  HeldMemory held;
};

void add(Optional& sum, const Optional& more) { sum = sum && more ? Optional(*sum + *more) : std::nullopt; }

void add(Fold& fold, const ProcessSample& sample) {
  ToolSample& sum = fold.sum;
  if (sum.processes++ == 0) {
    sum.time_ns = sample.time_ns;
    sum.tool = sample.process->tool;
    sum.context = sample.process->context;
    sum.threads = sample.threads;
    sum.rss_anonymous_bytes = sample.rss_anonymous_bytes;
    sum.rss_file_bytes = sample.rss_file_bytes;
    sum.rss_shared_bytes = sample.rss_shared_bytes;
    sum.account = sample.account;
    sum.account.ledger.pipe_read_peer_pid.reset();
    sum.account.ledger.pipe_write_peer_pid.reset();
  } else {
    add(sum.threads, sample.threads);
    add(sum.rss_anonymous_bytes, sample.rss_anonymous_bytes);
    add(sum.rss_file_bytes, sample.rss_file_bytes);
    add(sum.rss_shared_bytes, sample.rss_shared_bytes);
    add_fields(sum.account, sample.account, Unknown::kSpreads);
  }
  if (sample.state == "running") ++sum.running;
  fold.held.add(sample);
}

}  // namespace

std::vector<Event> fold(std::vector<ProcessSample> samples) {
  using Key = std::pair<std::optional<std::string>, Context>;
  const auto key_of = [](const ProcessSample& sample) { return Key(sample.process->tool, sample.process->context); };
  std::map<Key, Fold> folds;
  for (const ProcessSample& sample : samples) ++folds[key_of(sample)].members;

  std::vector<Event> events;
  for (ProcessSample& sample : samples) {
    Fold& fold = folds[key_of(sample)];
    if (fold.members <= kMostSamplesOfOneTool) {
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
  return events;
}

}  // namespace tracer
