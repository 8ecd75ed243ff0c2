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
  if (known != numbers_.end()) {
    ++contexts_[known->second].uses;
    return known->second;
  }
  if (contexts_.size() >= capacity_)
    throw Error({ErrorCode::kInvalidArgument,
                 0,
                 "more distinct labels than max_contexts",
                 "raise SessionOptions::max_contexts",
                 {}});
  const auto number = static_cast<std::uint32_t>(contexts_.size());
  Context stamped = context;
  stamp(stamped, Provenance::kLabel);
  contexts_.push_back({std::make_shared<const Context>(std::move(stamped)), {}, 1});
  try {
    contexts_.back().key = numbers_.emplace(context, number).first;
  } catch (...) {
    contexts_.pop_back();
    throw;
  }
  return number;
}

void ContextTable::give_back(std::uint32_t number) noexcept {
  const std::lock_guard lock(mutex_);
  if (number == 0) return;
  --contexts_[number].uses;
  for (; contexts_.back().uses == 0; contexts_.pop_back()) numbers_.erase(contexts_.back().key);
}

std::shared_ptr<const Context> ContextTable::at(std::uint32_t number) const {
  const std::lock_guard lock(mutex_);
  return number < contexts_.size() ? contexts_[number].stamped : nullptr;
}

}  // namespace tracer::internal
