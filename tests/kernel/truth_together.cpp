// SPDX-License-Identifier: Apache-2.0
#include "truth_together.hpp"

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <utility>
#include <vector>

#include "truth_tools.hpp"
#include "truth_waits_data.hpp"

namespace truth {
namespace {

using Interval = std::pair<std::uint64_t, std::uint64_t>;

constexpr std::size_t kMostIntervals = 1u << 16;

/// When a process ran, in memory that its parent reads.
struct Diary {
  std::size_t count;
  Interval intervals[kMostIntervals];
};

/// Notes when the process that has it runs, from one wait to the next.
class Runs {
 public:
  explicit Runs(Diary& diary) : diary_(diary) { begin(); }

  void begin() {
    from_ns_ = last_ns_ = clock_ns(CLOCK_MONOTONIC);
    switches_ = switches();
  }
  void end() {
    look();
    add(last_ns_);
  }
  /// Often. After a pause it is asked whether another had the CPU, or an interrupt, which is none.
  void look() {
    constexpr std::uint64_t kPauseNs = 20'000;
    const std::uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
    if (now_ns - last_ns_ > kPauseNs) {
      if (const long now = switches(); now != switches_) {
        add(last_ns_);
        switches_ = now;
        from_ns_ = now_ns;
      }
    }
    last_ns_ = now_ns;
  }
  template <class Wait>
  void wait(const Wait& what) {
    end();
    what();
    begin();
  }

 private:
  static long switches() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nvcsw + usage.ru_nivcsw;
  }
  void add(std::uint64_t to_ns) {
    if (diary_.count < kMostIntervals) diary_.intervals[diary_.count++] = {from_ns_, to_ns};
  }

  Diary& diary_;
  std::uint64_t from_ns_ = 0;
  std::uint64_t last_ns_ = 0;
  long switches_ = 0;
};

void compute(Runs& runs, long ms) {
  const std::uint64_t until = clock_ns(CLOCK_PROCESS_CPUTIME_ID) + static_cast<std::uint64_t>(ms) * 1'000'000;
  while (clock_ns(CLOCK_PROCESS_CPUTIME_ID) < until) runs.look();
}

void work(Diary& diary, const std::string& what, const Pipe& before, const Pipe& after) {
  Runs runs(diary);
  const long times = std::atol(what.c_str());
  const std::string steps = what.substr(what.find(':') + 1);
  for (long i = 0; i < times; ++i) {
    std::istringstream words(steps);
    for (std::string step; words >> step;) {
      const long ms = std::atol(step.c_str() + 1);
      switch (step[0]) {
        case 'b': compute(runs, ms); break;
        case 's': runs.wait([ms] { sleep_ms(ms); }); break;
        case 'r': runs.wait([&before] { before.take(1); }); break;
        case 'w': after.put(1); break;
        default: ::_exit(98);
      }
    }
  }
  runs.end();
}

}  // namespace

int together(const Arguments& arguments) {
  const std::size_t bytes = arguments.size() * sizeof(Diary);
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 95;
  auto* const diaries = static_cast<Diary*>(memory);
  const std::vector<Pipe> pipes(arguments.size() + 1);
  std::vector<pid_t> all;
  for (std::size_t i = 0; i < arguments.size(); ++i)
    all.push_back(in_child([&, i] { work(diaries[i], arguments[i], pipes[i], pipes[i + 1]); }));
  for (const pid_t each : all) reap(each);
  std::vector<Interval> intervals;
  for (std::size_t i = 0; i < arguments.size(); ++i)
    intervals.insert(intervals.end(), diaries[i].intervals, diaries[i].intervals + diaries[i].count);
  std::sort(intervals.begin(), intervals.end());
  std::uint64_t together_ns = 0;
  std::uint64_t sum_ns = 0;
  std::uint64_t end_ns = 0;
  for (const auto& [from, to] : intervals) {
    sum_ns += to - from;
    if (to > end_ns) together_ns += to - std::max(from, end_ns);
    end_ns = std::max(end_ns, to);
  }
  report(together_ns);
  report(sum_ns);
  return 0;
}

}  // namespace truth
