// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <tuple>
#include <vector>

#include <tracer/event.hpp>

#include "stream/column_frame.hpp"

namespace tracer::internal {

template <class List>
struct SharedPartsOf;
template <class... T>
struct SharedPartsOf<TypeList<T...>> {
  using Type = std::tuple<std::vector<std::shared_ptr<const T>>...>;
};
/// The parts of a frame, each as the one object that its events share.
using SharedParts = SharedPartsOf<PartTypes>::Type;

/// Of one row of the frame's contexts.
Context context_at(const ColumnFrame& frame, std::size_t row);

/// Makes the events of a frame, in their order.
class EventRows {
 public:
  /// `frame` must not change before next() is done with it.
  /// `rename`: called with each context, of which there is one for many events.
  void open(const ColumnFrame& frame, const std::function<void(Context&)>& rename = {});
  /// The next event of a kind that is known; empty when there is none.
  Event next();
  /// The event of a row of the kind at `place`, wherever next() is. Only while a frame is open.
  Event event(std::size_t place, std::size_t row) const;
  /// How many rows next() is done with.
  std::size_t position() const noexcept { return row_; }
  /// Events of the frame that were not made, as those before them take all that a frame's may.
  std::size_t refused() const noexcept { return refused_; }

 private:
  const ColumnFrame* frame_ = nullptr;
  std::size_t row_ = 0;
  std::size_t charged_bytes_ = 0;
  std::size_t refused_ = 0;
  std::array<std::size_t, kKinds + 1> row_of_kind_{};
  SharedParts parts_;
};

}  // namespace tracer::internal
