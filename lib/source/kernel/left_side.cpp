// SPDX-License-Identifier: Apache-2.0
#include "source/kernel/left_side.hpp"

#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <map>
#include <variant>

#include <tracer/error.hpp>

#include "source/kernel/load/kept_kernel.hpp"

namespace tracer::internal {
namespace {

using Identity = std::pair<std::uint32_t, std::uint64_t>;  ///< Pid and beginning.

/// Keeps back what the new programs report themselves.
class NotTwice final : public Feed {
 public:
  NotTwice(Feed& to, std::uint64_t attached_ns, const HeldFeed& taken_in) : to_(to), attached_ns_(attached_ns) {
    for (const Record& record : taken_in.records())
      if (const auto* thread = std::get_if<ThreadRecord>(&record); thread != nullptr && thread->newly_adopted)
        taken_in_.try_emplace(Identity(thread->identity.pid, thread->identity.start_ns),
                              thread->attached_ns.value_or(thread->identity.time_ns));
  }
  void record(const Record& record) override {
    const bool twice = std::visit([this](const auto& each) { return is_twice(each); }, record);
    if (!twice) to_.record(record);
  }
  void event(Event event) override { to_.event(std::move(event)); }
  void snapshot_end(std::uint64_t time_ns) override { to_.snapshot_end(time_ns); }

 private:
  template <class R>
  bool is_twice(const R& record) const {
    if constexpr (requires { record.identity.start_ns; }) {
      const RecordIdentity& identity = record.identity;
      if (identity.start_ns >= attached_ns_) return true;
      const auto known = taken_in_.find({identity.pid, identity.start_ns});
      if (known == taken_in_.end()) return false;
      return std::is_same_v<R, ExitRecord> || identity.time_ns >= known->second;
    } else {
      return false;
    }
  }

  Feed& to_;
  std::uint64_t attached_ns_;
  std::map<Identity, std::uint64_t> taken_in_;
};

}  // namespace

void LeftSide::Unmapper::operator()(const tracer_slot* slots) const noexcept {
  ::munmap(const_cast<tracer_slot*>(slots), bytes);
}

LeftSide::LeftSide(KeptKernel& kept, const std::vector<std::uint64_t>& released)
    : same_form_(kept.left_has_form_of_now()), maps_(kept.take_left_rings()) {
  for (const UniqueFd& map : maps_) rings_.push_back(std::make_unique<Ring>(map.get(), Ring::Release::kAtOnce));
  for (std::size_t i = 0; i < rings_.size() && released.size() == rings_.size(); ++i)
    rings_[i]->go_on_at(released[i]);
  const UniqueFd table = kept.take_left_map(Family::kLifecycle, "processes");
  bpf_map_info info{};
  __u32 size = sizeof info;
  if (!same_form_ || !table || ::bpf_obj_get_info_by_fd(table.get(), &info, &size) != 0 ||
      info.value_size != sizeof(tracer_slot))
    return;
  const std::size_t bytes = std::size_t{info.max_entries} * sizeof(tracer_slot);
  void* const slots = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, table.get(), 0);
  if (slots == MAP_FAILED) return;
  slots_.reset(static_cast<const tracer_slot*>(slots));
  slots_.get_deleter().bytes = bytes;
  places_ = info.max_entries;
}

std::optional<Control::Held> LeftSide::held(std::uint32_t pid, std::uint64_t start_ns) const {
  if (!slots_) return std::nullopt;
  const tracer_slot& slot = slots_[pid & (places_ - 1)];
  if (slot.pid != pid || slot.process.start_ns != start_ns) return std::nullopt;
  return Control::Held{slot.process.context_id, slot.process.program_start_ns};
}

std::uint64_t LeftSide::yield_rest(Decoder& decoder, Feed& feed, std::uint64_t attached_ns, const HeldFeed& taken_in) {
  NotTwice not_twice(feed, attached_ns, taken_in);
  std::uint64_t unread = 0;
  const auto take = [&](std::span<const std::byte> bytes) {
    same_form_ ? decoder.feed(bytes, not_twice) : static_cast<void>(++unread);
    return true;
  };
  // A program that was running when it was detached may still be writing.
  constexpr useconds_t kPauseUs = 2000;
  for (int pass = 0; pass < 3; ++pass) {
    if (pass != 0) ::usleep(kPauseUs);
    for (const auto& ring : rings_) ring->consume(take);
  }
  rings_.clear();
  return unread;
}

}  // namespace tracer::internal
