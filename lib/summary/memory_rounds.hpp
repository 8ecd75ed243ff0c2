// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

#include <tracer/sample.hpp>

#include "context/held_memory.hpp"
#include "context/layers.hpp"

namespace tracer::internal {

struct MemoryPeak {
  std::uint64_t bytes = 0;  ///< 0: no snapshot counted.
  std::uint64_t unknown_snapshots = 0;
};

/// What living processes held together at the snapshots, in all and by task: those with the same labels. A snapshot in
/// which it is not known of one of them does not count. A round, from one snapshot to the next, costs what lives in it,
/// not what ever lived.
class MemoryRounds {
 public:
  template <class Sample>
  void add(const Sample& sample, const Context& context) {
    // All samples of one snapshot carry the same time.
    if (time_ns_ != sample.time_ns) end_round();
    time_ns_ = sample.time_ns;
    any_ = true;
    all_.add(sample);
    if (context != Context{}) round_[context].add(sample);
    if (is_run(context)) run_round_[run_key(context)].add(sample);
  }
  MemoryPeak peak() const { return any_ ? with(peak_, all_) : peak_; }
  MemoryPeak peak_of_task(const Context& task) const { return peak_in(tasks_, round_, task); }
  /// Of all its processes together.
  MemoryPeak peak_of_run(const Context& run) const { return peak_in(runs_, run_round_, run_key(run)); }
  /// Of each step's largest task.
  std::map<std::string, MemoryPeak> peaks_of_steps() const {
    std::map<std::string, MemoryPeak> peaks = steps_;
    for (const auto& [task, held] : round_) raise(peaks, task, peak_of_task(task));
    return peaks;
  }

 private:
  template <class Key>
  static MemoryPeak peak_in(const std::map<Key, MemoryPeak>& peaks, const std::map<Key, HeldMemory>& round,
                            const Key& key) {
    const auto before = peaks.find(key);
    const MemoryPeak peak = before == peaks.end() ? MemoryPeak{} : before->second;
    const auto now = round.find(key);
    return now == round.end() ? peak : with(peak, now->second);
  }
  static MemoryPeak with(MemoryPeak peak, const HeldMemory& held) {
    const auto bytes = held.bytes();
    peak.bytes = std::max(peak.bytes, bytes.value_or(0));
    if (!bytes) ++peak.unknown_snapshots;
    return peak;
  }
  static void raise(std::map<std::string, MemoryPeak>& steps, const Context& task, const MemoryPeak& peak) {
    if (!task.step) return;
    MemoryPeak& largest = steps[*task.step];
    largest.bytes = std::max(largest.bytes, peak.bytes);
    largest.unknown_snapshots = std::max(largest.unknown_snapshots, peak.unknown_snapshots);
  }
  void end_round() {
    peak_ = peak();
    for (const auto& [task, held] : round_) {
      MemoryPeak& peak = tasks_[task];
      peak = with(peak, held);
      raise(steps_, task, peak);
    }
    for (const auto& [run, held] : run_round_) runs_[run] = with(runs_[run], held);
    run_round_.clear();
    all_ = {};
    any_ = false;
    round_.clear();
  }

  std::uint64_t time_ns_ = 0;
  HeldMemory all_;    ///< Of this round.
  bool any_ = false;  ///< In this round.
  std::map<Context, HeldMemory> round_;
  MemoryPeak peak_;  ///< Of all rounds before.
  std::map<Context, MemoryPeak> tasks_;
  std::map<std::string, HeldMemory> run_round_;
  std::map<std::string, MemoryPeak> runs_;
  std::map<std::string, MemoryPeak> steps_;
};

}  // namespace tracer::internal
