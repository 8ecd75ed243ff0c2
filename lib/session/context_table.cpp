// SPDX-License-Identifier: Apache-2.0
#include "session/context_table.hpp"

#include <algorithm>
#include <utility>

#include <tracer/error.hpp>

#include "base/heap_bytes.hpp"
#include "base/process_schema.hpp"
#include "context/layers.hpp"

namespace tracer::internal {
namespace {

/// As it was said, and stamped.
std::size_t bytes_of(const Context& context) { return 2 * (sizeof(Context) + 2 * sizeof(void*) + heap_bytes(context)); }

}  // namespace

ContextTable::Refusal ContextTable::judge(const Context& context) const {
  if (numbers_.contains(context)) return Refusal::kNone;
  if (context.owner_uid) {
    const uid_t user = accounts_->user_of(context.owner_uid);
    if (!count_.has(user, 1) || !bytes_.has(user, bytes_of(context))) return Refusal::kUser;
  }
  return free_.empty() && contexts_.size() >= capacity_ ? Refusal::kFull : Refusal::kNone;
}

bool ContextTable::has_room(const Context& said) const {
  Context context = said;
  bound(context);
  const std::lock_guard lock(mutex_);
  return context == Context{} || judge(context) == Refusal::kNone;
}

bool ContextTable::is_crowded_for(const std::optional<uid_t>& user) const {
  return user && (count_.is_crowded_for(*user) || bytes_.of(*user) > kMostBytesUnasked);
}

ContextTable::Numbered& ContextTable::keep(std::uint32_t number, const Context& context) {
  Context stamped = context;
  stamp(stamped, Provenance::kLabel);
  Numbered made{std::make_shared<const Context>(std::move(stamped)), {}};
  if (context.owner_uid) made.user = accounts_->user_of(context.owner_uid);
  made.bytes = bytes_of(context);
  made.key = numbers_.emplace(context, number).first;
  if (made.user) {
    count_.hold(*made.user, 1);
    bytes_.hold(*made.user, made.bytes);
    accounts_->hold(*made.user, made.bytes);
  }
  return contexts_[number] = std::move(made);
}

std::uint32_t ContextTable::number_of(const Context& said) {
  if (said == Context{}) return 0;
  Context context = said;
  bound(context);
  if (context.labels_cut_bytes) accounts_->note_lost(accounts_->user_of(context.owner_uid), kLabelsCut);
  const std::lock_guard lock(mutex_);
  const auto known = numbers_.find(context);
  if (known != numbers_.end()) {
    Numbered& numbered = contexts_[known->second];
    if (++numbered.uses == 1) idle_.erase(known->second);
    return known->second;
  }
  const Refusal refusal = judge(context);
  if (refusal == Refusal::kUser)
    throw Error({ErrorCode::kServiceRefused,
                 0,
                 "too many different labels of your user at one time",
                 "end some; those of processes that have ended are free again within seconds",
                 {}});
  if (refusal == Refusal::kFull)
    throw Error({ErrorCode::kInvalidArgument,
                 0,
                 "more distinct labels at one time than max_contexts",
                 "raise SessionOptions::max_contexts",
                 {}});
  const auto number = free_.empty() ? static_cast<std::uint32_t>(contexts_.size()) : free_.back();
  // A number that is given back has room then: that can't be refused.
  free_.reserve(contexts_.size() + 1);
  if (number == contexts_.size()) contexts_.emplace_back();
  keep(number, context).uses = 1;
  if (!free_.empty()) free_.pop_back();
  if (changed_) changed_(number, &context);
  return number;
}

bool ContextTable::restore(std::uint32_t number, const Context& context) {
  const std::lock_guard lock(mutex_);
  if (number == 0 || number >= capacity_ || context == Context{} || numbers_.contains(context)) return false;
  while (contexts_.size() <= number) {
    if (contexts_.size() != number) free_.push_back(static_cast<std::uint32_t>(contexts_.size()));
    contexts_.emplace_back();
  }
  if (contexts_[number].stamped) return false;
  std::erase(free_, number);
  Numbered& made = keep(number, context);
  made.was_held = true;
  become_idle(made, 0);
  idle_.insert(number);
  free_.reserve(contexts_.size() + 1);
  return true;
}

void ContextTable::become_idle(Numbered& numbered, std::uint64_t position) {
  numbered.idle_position = position;
  numbered.idle_since = Clock::now();
  numbered.seen_unused = false;
}

void ContextTable::give_back(std::uint32_t number, std::uint64_t position) noexcept { end_use(number, position, true); }

void ContextTable::take_back(std::uint32_t number, std::uint64_t position) noexcept {
  end_use(number, position, false);
}

void ContextTable::end_use(std::uint32_t number, std::uint64_t position, bool was_held) noexcept {
  const std::lock_guard lock(mutex_);
  if (number == 0) return;
  Numbered& numbered = contexts_[number];
  numbered.was_held = numbered.was_held || was_held;
  if (--numbered.uses != 0) return;
  if (!numbered.was_held) return free(number);
  become_idle(numbered, position);
  try {
    idle_.insert(number);
  } catch (const std::bad_alloc&) {
    // It keeps its number for good.
    numbered.uses = 1;
  }
}

void ContextTable::free(std::uint32_t number) {
  const Numbered& numbered = contexts_[number];
  if (numbered.user) {
    count_.give_back(*numbered.user, 1);
    bytes_.give_back(*numbered.user, numbered.bytes);
    accounts_->release(*numbered.user, numbered.bytes);
  }
  numbers_.erase(numbered.key);
  contexts_[number] = {};
  idle_.erase(number);
  free_.push_back(number);
  if (changed_) changed_(number, nullptr);
}

std::shared_ptr<const Context> ContextTable::at(std::uint32_t number) const {
  const std::lock_guard lock(mutex_);
  return number < contexts_.size() ? contexts_[number].stamped : nullptr;
}

bool ContextTable::is_full() const {
  const std::lock_guard lock(mutex_);
  return free_.empty() && contexts_.size() >= capacity_;
}

bool ContextTable::is_crowded() const {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) return false;
  return taken() > capacity_ - capacity_ / 4 || std::any_of(idle_.begin(), idle_.end(), [this](std::uint32_t number) {
           return is_crowded_for(contexts_[number].user);
         });
}

std::vector<std::uint32_t> ContextTable::idle(std::uint64_t position, Clock::time_point before) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::uint32_t> found;
  for (const std::uint32_t number : idle_)
    if (contexts_[number].idle_position <= position && contexts_[number].idle_since <= before) found.push_back(number);
  std::sort(found.begin(), found.end(),
            [this](std::uint32_t a, std::uint32_t b) { return contexts_[a].idle_since < contexts_[b].idle_since; });
  const std::size_t half = capacity_ / 2;
  const auto rest =
      found.begin() + static_cast<std::ptrdiff_t>(std::min(found.size(), taken() > half ? taken() - half : 0));
  found.erase(std::remove_if(rest, found.end(),
                             [this](std::uint32_t number) { return !is_crowded_for(contexts_[number].user); }),
              found.end());
  return found;
}

std::vector<std::uint32_t> ContextTable::settled(std::span<const std::uint32_t> unused, std::uint64_t reached,
                                                 std::uint64_t position, Clock::time_point before) {
  const std::lock_guard lock(mutex_);
  std::vector<std::uint32_t> settled;
  for (const std::uint32_t number : unused) {
    Numbered& numbered = contexts_[number];
    if (numbered.uses != 0) continue;
    if (numbered.seen_unused) {
      if (numbered.idle_position <= reached && numbered.idle_since <= before) settled.push_back(number);
    } else {
      become_idle(numbered, position);
      numbered.seen_unused = true;
    }
  }
  return settled;
}

bool ContextTable::forget(std::uint32_t number, const std::function<void()>& clear) {
  const std::lock_guard lock(mutex_);
  if (contexts_[number].uses != 0) return false;
  if (clear) clear();
  free(number);
  return true;
}

}  // namespace tracer::internal
