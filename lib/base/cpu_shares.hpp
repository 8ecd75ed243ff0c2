// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>

#include "base/clock.hpp"

namespace tracer::internal {

/// The CPU time that is spent on each user, such as on requests and filters: at most a part of one CPU, over a second.
/// Root may take more. One thread.
template <int kShare>
class SharesOfCpu {
 public:
  using Clock = std::chrono::steady_clock;
  using Time = std::chrono::nanoseconds;
  static constexpr int kShareOfCpu = kShare;  ///< One of so many parts.
  static constexpr Time kMostAtOnce = Time(std::chrono::seconds(1)) / kShareOfCpu;
  /// Of what can't wait, as requests do: it must end then.
  static constexpr Time kFarBeyond = std::chrono::seconds(2);

  void charge(uid_t uid, Time used, Clock::time_point now) {
    if (uid == 0) return;
    User& user = users_[uid];
    user = {owed(user, now) + used, now};
  }
  /// Until when nothing more may be done for this user. Absent: it may be now.
  std::optional<Clock::time_point> rests_until(uid_t uid, Clock::time_point now) const {
    const auto user = users_.find(uid);
    if (user == users_.end()) return std::nullopt;
    const Time beyond = owed(user->second, now) - kMostAtOnce;
    if (beyond <= Time(0)) return std::nullopt;
    return now + beyond * kShareOfCpu;
  }
  bool is_beyond(uid_t uid, Time most, Clock::time_point now) const {
    const auto user = users_.find(uid);
    return user != users_.end() && owed(user->second, now) > most;
  }
  /// Whoever owes nothing any more is nobody to remember.
  void forget_idle(Clock::time_point now) {
    std::erase_if(users_, [now](const auto& each) { return owed(each.second, now) == Time(0); });
  }
  std::size_t users() const noexcept { return users_.size(); }

 private:
  struct User {
    Time owed{0};
    Clock::time_point at{};
  };
  static Time owed(const User& user, Clock::time_point now) {
    return std::max(Time(0), user.owed - std::chrono::duration_cast<Time>(now - user.at) / kShareOfCpu);
  }

  std::map<uid_t, User> users_;
};

using CpuShares = SharesOfCpu<4>;

/// What the calling thread has consumed by now.
inline CpuShares::Time cpu_time_of_this_thread() noexcept { return CpuShares::Time(clock_ns(CLOCK_THREAD_CPUTIME_ID)); }

/// Charges what the calling thread consumes while this lives.
class CpuCharge {
 public:
  CpuCharge(CpuShares& shares, uid_t payer) : shares_(shares), payer_(payer), before_(cpu_time_of_this_thread()) {}
  CpuCharge(const CpuCharge&) = delete;
  CpuCharge& operator=(const CpuCharge&) = delete;
  ~CpuCharge() { shares_.charge(payer_, cpu_time_of_this_thread() - before_, CpuShares::Clock::now()); }

 private:
  CpuShares& shares_;
  const uid_t payer_;
  const CpuShares::Time before_;
};

}  // namespace tracer::internal
