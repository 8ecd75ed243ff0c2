// SPDX-License-Identifier: Apache-2.0
#include "session/context_table.hpp"

#include <algorithm>
#include <utility>

#include <tracer/error.hpp>

#include "base/context_fields.hpp"
#include "context/layers.hpp"

namespace tracer::internal {
namespace {

std::size_t bytes_of(const Context& context) {
  std::size_t bytes = sizeof(Context) + 2 * sizeof(void*);
  for (const ContextField& field : kContextFields)
    if (context.*field.value) bytes += (context.*field.value)->size();
  for (const Label& label : context.labels) bytes += sizeof label + label.name.size() + label.value.size();
  // As it was said, and stamped.
  return 2 * bytes;
}

}  // namespace

ContextTable::Refusal ContextTable::judge(const Context& context) const {
  if (numbers_.contains(context)) return Refusal::kNone;
  if (context.owner_uid) {
    const auto known = of_user_.find(*context.owner_uid);
    const Share held = known == of_user_.end() ? Share() : known->second;
    const std::size_t bytes = bytes_of(context);
    if (held.count >= most_of_user() || held.bytes + bytes > kMostBytesOfUser ||
        of_users_.count >= std::max<std::size_t>(capacity_ - capacity_ / kRootsShare, 1) ||
        of_users_.bytes + bytes > kMostBytesOfUsers)
      return Refusal::kUser;
  }
  return free_.empty() && contexts_.size() >= capacity_ ? Refusal::kFull : Refusal::kNone;
}

bool ContextTable::has_room(const Context& context) const {
  const std::lock_guard lock(mutex_);
  return context == Context{} || judge(context) == Refusal::kNone;
}

bool ContextTable::is_crowded_for(const std::optional<uid_t>& user) const {
  if (!user) return false;
  const auto known = of_user_.find(*user);
  return known != of_user_.end() &&
         (2 * known->second.count > most_of_user() || 2 * known->second.bytes > kMostBytesOfUser);
}

std::uint32_t ContextTable::number_of(const Context& context) {
  if (context == Context{}) return 0;
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
  Context stamped = context;
  stamp(stamped, Provenance::kLabel);
  Numbered made{std::make_shared<const Context>(std::move(stamped)), {}, 1};
  made.user = context.owner_uid;
  made.bytes = bytes_of(context);
  if (made.user) of_user_.try_emplace(*made.user);
  const auto number = free_.empty() ? static_cast<std::uint32_t>(contexts_.size()) : free_.back();
  // A number that is given back has room then: that can't be refused.
  free_.reserve(contexts_.size() + 1);
  if (number == contexts_.size()) contexts_.emplace_back();
  made.key = numbers_.emplace(context, number).first;
  if (!free_.empty()) free_.pop_back();
  if (made.user) {
    Share& share = of_user_[*made.user];
    ++share.count;
    share.bytes += made.bytes;
    ++of_users_.count;
    of_users_.bytes += made.bytes;
  }
  contexts_[number] = std::move(made);
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
  Context stamped = context;
  stamp(stamped, Provenance::kLabel);
  Numbered made{std::make_shared<const Context>(std::move(stamped)), {}, 0};
  made.was_held = true;
  made.key = numbers_.emplace(context, number).first;
  become_idle(made, 0);
  contexts_[number] = std::move(made);
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
    const auto share = of_user_.find(*numbered.user);
    share->second.bytes -= numbered.bytes;
    if (--share->second.count == 0) of_user_.erase(share);
    --of_users_.count;
    of_users_.bytes -= numbered.bytes;
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
