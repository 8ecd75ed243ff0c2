// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <memory>
#include <vector>

#include <tracer/session.hpp>

#include "base/accounts.hpp"
#include "base/counter.hpp"
#include "session/budget.hpp"
#include "session/pipeline.hpp"
#include "session/snapshot_clock.hpp"
#include "source/proc/host_reader.hpp"
#include "source/source.hpp"

namespace tracer::internal {

/// What a session does from time to time: snapshots, reports of losses, keeping to the budget, and at last the end. By
/// whoever has the source and the pipeline.
class Housekeeper {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr auto kPeriod = std::chrono::seconds(1);
  /// Of samples of the host, which come with a snapshot.
  static constexpr auto kHostPeriod = std::chrono::seconds(10);
  /// Of reports of losses while the host rests.
  static constexpr auto kRestPeriod = std::chrono::seconds(5);

  /// What the session knows as a whole.
  class View {
   public:
    /// But for those of users, which accounts() has.
    virtual std::map<std::string, std::uint64_t> losses() const = 0;
    virtual const std::shared_ptr<Accounts>& accounts() const = 0;
    virtual OwnCost cost() const = 0;
    virtual std::uint64_t reader_cpu_ns() const = 0;
    virtual std::vector<ContextTotals> totals() const = 0;
    virtual std::vector<FamilyState> families() const = 0;

   protected:
    ~View() = default;
  };

  Housekeeper(const SessionOptions& options, Source& source, Pipeline& pipeline, const View& session);

  void start(Clock::time_point now);
  /// Before start(): these losses were reported by an earlier process, as far as the source still counts them.
  void go_on(const std::map<std::string, std::uint64_t>& reported);
  /// To be called after each drain. `hurries`: a snapshot has to wait, as somebody waits for what was drained.
  void work(Clock::time_point now, bool hurries = false);
  /// From any thread. Whether snapshots may become rarer while the host rests: nobody looks at them as they come.
  void let_rest(bool may) noexcept { may_rest_.store(may); }
  /// They are rarer now.
  bool rests() const noexcept { return snapshot_clock_.rests(); }
  /// Likewise: something changes that no record says, and the host does not rest now.
  void wake() noexcept { woken_.store(true); }
  /// After the source has stopped and was drained: the last samples.
  void finish();
  /// What was lost, and SessionEnd.
  void end();

  const Counter& snapshots_cpu_ns() const noexcept { return snapshots_cpu_ns_; }

 private:
  bool active(Family family) const;
  void take_snapshot(Clock::time_point now);
  void snapshot(Correlator::Folding folding, bool with_host);
  void ask_for_last_samples(Desk& desk);
  void report_losses();
  void keep_to_budget();

  Source& source_;
  Snapshots* snapshots_;     ///< Null: the source takes none.
  KernelSide* kernel_side_;  ///< Null: the source has none.
  Pipeline& pipeline_;
  const View& session_;
  bool snapshots_wanted_;
  SnapshotClock snapshot_clock_;
  std::atomic<bool> may_rest_{false};
  std::atomic<bool> woken_{false};
  std::optional<HostReader> host_;  ///< Absent: the session does not follow the whole host.
  Clock::time_point next_host_{};
  Budget budget_;
  bool has_budget_;
  Clock::time_point next_{};
  Clock::time_point next_losses_{};
  std::map<std::string, std::uint64_t> reported_losses_;
  std::map<std::pair<uid_t, std::string_view>, std::uint64_t> reported_of_users_;
  Counter snapshots_cpu_ns_;
};

}  // namespace tracer::internal
