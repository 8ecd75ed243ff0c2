// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <map>

namespace tracer::internal {

/// How long the thread that reads events may wait for answers about what users have made: moments for each user and for
/// all of them in a second, so nobody can hold it up. A user whose answer came late gets no more until the next second.
class Patience {
 public:
  using Clock = std::chrono::steady_clock;
  using Time = std::chrono::nanoseconds;
  static constexpr Time kAtOnce = std::chrono::milliseconds(5);
  static constexpr Time kOfUser = 2 * kAtOnce;
  static constexpr Time kOfAll = 10 * kAtOnce;  ///< But for root, whom others must not starve.

  Time left(uid_t user, Clock::time_point now) {
    if (now - since_ >= std::chrono::seconds(1)) {
      since_ = now;
      waited_.clear();
      all_ = Time(0);
    }
    const auto waited = waited_.find(user);
    const Time of_user = kOfUser - (waited == waited_.end() ? Time(0) : waited->second);
    const Time of_all = user == 0 ? kAtOnce : kOfAll - all_;
    return std::max(Time(0), std::min({kAtOnce, of_user, of_all}));
  }
  void waited(uid_t user, Time time, bool late) {
    Time& of_user = waited_[user];
    of_user = late ? kOfUser : of_user + time;
    if (user != 0) all_ += time;
  }

 private:
  Clock::time_point since_{};
  std::map<uid_t, Time> waited_;
  Time all_{0};
};

}  // namespace tracer::internal
