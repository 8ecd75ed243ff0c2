// SPDX-License-Identifier: Apache-2.0
#include "session/context_table.hpp"

#include <utility>

#include <tracer/error.hpp>

#include "context/layers.hpp"

namespace tracer::internal {

std::uint32_t ContextTable::number_of(const Context& context) {
  if (context == Context{}) return 0;
  const std::lock_guard lock(mutex_);
  const auto known = numbers_.find(context);
  if (known != numbers_.end()) return known->second;
  if (contexts_.size() >= capacity_)
    throw Error({ErrorCode::kInvalidArgument,
                 0,
                 "more distinct labels than max_contexts",
                 "raise SessionOptions::max_contexts",
                 {}});
  const auto number = static_cast<std::uint32_t>(contexts_.size());
  Context stamped = context;
  stamp(stamped, Provenance::kLabel);
  contexts_.push_back(std::make_shared<const Context>(std::move(stamped)));
  numbers_.emplace(context, number);
  return number;
}

void ContextTable::forget_newest(std::uint32_t number) noexcept {
  const std::lock_guard lock(mutex_);
  if (number == 0 || number + 1 != contexts_.size()) return;
  numbers_.erase(*contexts_.back());
  contexts_.pop_back();
}

std::shared_ptr<const Context> ContextTable::at(std::uint32_t number) const {
  const std::lock_guard lock(mutex_);
  return number < contexts_.size() ? contexts_[number] : nullptr;
}

std::size_t ContextTable::size() const {
  const std::lock_guard lock(mutex_);
  return contexts_.size();
}

}  // namespace tracer::internal
