// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "session/context_table.hpp"
#include "source/source.hpp"

namespace tracer::internal {

/// Gives numbers of labels back when their last holder has ended and others need room: a service lives for months. With
/// the turn.
class LabelNumbers {
 public:
  LabelNumbers(std::shared_ptr<ContextTable> contexts, Source& source, std::function<void(std::uint32_t)> forgotten)
      : contexts_(std::move(contexts)), source_(source), forgotten_(std::move(forgotten)) {}

  /// To be called in each round, when all that the source yielded has been taken.
  void work();

 private:
  /// A BPF program that has read a label may go on after the label was closed, if its CPU was taken away.
  static constexpr std::chrono::milliseconds kOnItsWay{50};
  static constexpr std::chrono::milliseconds kPeriod{1000};
  static constexpr std::chrono::milliseconds kPeriodWhenFull{20};

  std::shared_ptr<ContextTable> contexts_;
  Source& source_;
  std::function<void(std::uint32_t)> forgotten_;  ///< Called with each number that means nothing any more.
  ContextTable::Clock::time_point next_ = {};
};

}  // namespace tracer::internal
