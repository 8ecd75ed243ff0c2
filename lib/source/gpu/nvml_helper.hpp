// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <tracer/error.hpp>

#include "base/counter.hpp"
#include "source/gpu/helper_process.hpp"
#include "source/gpu/nvml_state.hpp"

namespace tracer::internal {

/// Asks NVIDIA's management library, through tracer-gpu: a static program can't load it, and what it does wrong must
/// not harm the program that traces. One that crashes or hangs is started again, but not forever. One thread at a time,
/// unless it says otherwise.
class NvmlHelper {
 public:
  using Clock = std::chrono::steady_clock;
  struct Limits {
    std::chrono::milliseconds start{3000};   ///< Until it says that it has the library.
    std::chrono::milliseconds answer{5000};  ///< To a question.
    std::chrono::milliseconds wait{20};      ///< That a question is waited for: the answer may come with the next one.
    int most_restarts = 3;
  };

  /// Where tracer-gpu is: beside this program, or where it was installed. Empty: not found.
  static std::string find();

  explicit NvmlHelper(std::string program, Limits limits);
  explicit NvmlHelper(std::string program) : NvmlHelper(std::move(program), Limits{}) {}

  /// Starts it, and waits until it has the library. Throws Error(kNoGpu).
  void start();
  void stop() noexcept { process_.reset(); }
  /// The state of the driver, about a second old at most; absent: there is none yet, or not any more.
  std::optional<NvmlState> ask();
  /// Since the last question it was started again: its sums have begun anew.
  bool take_restarted() noexcept { return std::exchange(restarted_, false); }
  /// "12.550.54 (driver 550.54)", after start().
  const std::string& version() const noexcept { return version_; }

  // From any thread.
  bool works() const noexcept { return works_; }
  std::optional<Problem> problem() const;
  std::uint64_t refused() const noexcept { return refused_.value(); }
  /// CPU time that it has taken.
  std::uint64_t cpu_ns() const noexcept { return cpu_ns_.value(); }

 private:
  /// False: it has ended.
  bool receive(std::chrono::milliseconds most);
  void restart(const char* why);
  void give_up(Problem problem);
  void note_cpu() noexcept;

  const std::string program_;
  const Limits limits_;
  std::unique_ptr<HelperProcess> process_;
  NvmlLines lines_;
  std::string version_;
  std::optional<Clock::time_point> asked_;  ///< Absent: no question is open.
  int restarts_ = 0;
  bool restarted_ = false;
  std::uint64_t ended_cpu_ns_ = 0;
  std::uint64_t ended_refused_ = 0;
  mutable std::mutex mutex_;
  std::optional<Problem> problem_;
  std::atomic<bool> works_{false};
  Counter refused_;
  Counter cpu_ns_;
};

}  // namespace tracer::internal
