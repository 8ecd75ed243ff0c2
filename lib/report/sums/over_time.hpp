// SPDX-License-Identifier: Apache-2.0
/// What a run or task consumed and moved over time, in all and by step.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include <tracer/event.hpp>
#include <tracer/key.hpp>

#include "base/process_id.hpp"
#include "report/sums/time_series.hpp"
#include "state/held_memory.hpp"

namespace tracer::internal {

struct ResourcesOverTime {
  std::uint64_t begin_ns = 0;
  std::uint64_t part_ns = 0;
  std::size_t parts = 0;
  std::vector<Series> rows;  ///< Of the whole, without a name, and of each step. Empty: nothing is known.
};

/// Amounts are spread evenly between two samples of a process, and to its end; all of them sum to those of its account.
/// A list is empty where the amount is not known. Bounded as TimeSeries. One thread.
class OverTime {
 public:
  /// `key`: of a run or task. Absent: of the only run, or of all processes where there is none.
  explicit OverTime(std::optional<Key> key) : key_(key), is_asked_(key) {}

  void add(const Event& event);
  ResourcesOverTime sums();

 private:
  static constexpr std::size_t kAmounts = 6;
  struct Amount {
    SeriesValues kind;
    std::optional<std::uint64_t> (*of)(const Account&);
  };
  static const std::array<Amount, kAmounts> kOf;

  /// What of a process is in the series, and until when.
  struct Counted {
    ProcessId id = {};
    std::uint64_t until_ns = 0;
    std::array<std::uint64_t, kAmounts> amounts = {};
    bool sampled = false;
  };
  struct Running {
    std::set<Key> tasks = {};
    std::uint64_t since_ns = 0;
  };

  bool is_in(const Context& context);
  /// The whole, and the step that it names.
  static std::vector<std::string> rows_of(const Context& context);
  template <class E>
  void count(const E& event, Counted& counted);
  void exited(const ProcessExit& exit);
  void sampled(const ProcessSample& sample);
  template <class Sample>
  void hold(const Sample& sample, const Context& context);
  void end_snapshot();
  void runs(const Context& context, std::uint64_t time_ns, bool begins);

  std::optional<Key> key_;
  bool is_asked_;
  bool has_several_runs_ = false;
  TimeSeries series_;
  std::unordered_map<std::uint32_t, Counted> living_;  ///< By pid.
  std::map<std::string, HeldMemory> held_;             ///< In the snapshot that is being read.
  std::uint64_t snapshot_ns_ = 0;
  std::map<std::string, Running> running_;
  std::uint64_t last_ns_ = 0;
};

}  // namespace tracer::internal
