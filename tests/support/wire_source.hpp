// SPDX-License-Identifier: Apache-2.0
/// A source of the kernel's records, without a kernel: bytes pass the real decoder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "source/kernel/ring/decoder.hpp"
#include "source/proc/proc_memory.hpp"
#include "source/source.hpp"
#include "base/wakeup.hpp"

namespace wire {

/// Yields what was pushed, in that order. Pushed to from any thread, also when a session owns it.
class WireSource : public tracer::internal::Source {
 public:
  void push(std::span<const std::byte> bytes) { add(std::vector<std::byte>(bytes.begin(), bytes.end())); }
  /// As made in user space, from /proc and cgroup files.
  void push(tracer::internal::TextRecord record) { add(std::move(record)); }
  void push(tracer::internal::CgroupMemoryRecord record) { add(std::move(record)); }
  void finish() {
    const std::lock_guard lock(mutex_);
    finishing_ = true;
    ready_.set();
  }
  void set_loss(const std::string& cause, std::uint64_t count) {
    const std::lock_guard lock(mutex_);
    losses_[cause] = count;
  }

  tracer::HostInfo host() const override { return {}; }
  int fd() const noexcept override { return ready_.fd(); }
  void start(tracer::internal::Feed&) override {}
  bool drain(tracer::internal::Feed& feed, const tracer::internal::DrainLimit& limit) override {
    for (std::size_t n = 0; n < limit.records; ++n) {
      std::optional<Pushed> next = take();
      if (!next) return false;
      if (const auto* bytes = std::get_if<std::vector<std::byte>>(&*next)) decoder_.feed(*bytes, feed);
      if (auto* text = std::get_if<tracer::internal::TextRecord>(&*next)) feed.record(*text);
      if (auto* memory = std::get_if<tracer::internal::CgroupMemoryRecord>(&*next)) feed.record(*memory);
    }
    return true;
  }
  std::uint64_t end_position() const noexcept override {
    const std::lock_guard lock(mutex_);
    return count_;
  }
  std::uint64_t position() const noexcept override {
    const std::lock_guard lock(mutex_);
    return count_ - pushed_.size();
  }
  void stop() override { finish(); }
  bool finished() const noexcept override {
    const std::lock_guard lock(mutex_);
    return finishing_ && pushed_.empty();
  }
  tracer::internal::Counters counters() const override {
    const std::lock_guard lock(mutex_);
    tracer::internal::Counters counters;
    counters.losses = losses_;
    decoder_.add_to(counters);
    return counters;
  }

 protected:
  tracer::internal::Decoder& decoder() noexcept { return decoder_; }

 private:
  using Pushed =
      std::variant<std::vector<std::byte>, tracer::internal::TextRecord, tracer::internal::CgroupMemoryRecord>;

  void add(Pushed pushed) {
    const std::lock_guard lock(mutex_);
    pushed_.push_back(std::move(pushed));
    ++count_;
    ready_.set();
  }
  std::optional<Pushed> take() {
    const std::lock_guard lock(mutex_);
    if (pushed_.empty()) {
      if (!finishing_) ready_.clear();
      return std::nullopt;
    }
    std::optional<Pushed> next(std::move(pushed_.front()));
    pushed_.pop_front();
    return next;
  }

  tracer::internal::Wakeup ready_;
  mutable std::mutex mutex_;
  std::deque<Pushed> pushed_;
  std::uint64_t count_ = 0;
  std::map<std::string, std::uint64_t> losses_;
  bool finishing_ = false;
  tracer::internal::Decoder decoder_;
};

/// A WireSource that can be asked for things; a test overrides those that it needs.
class ControlledSource : public WireSource,
                         public tracer::internal::Tracker,
                         public tracer::internal::Snapshots,
                         public tracer::internal::HostQuestions,
                         public tracer::internal::KernelSide {
 public:
  tracer::internal::Tracker* tracker() noexcept override { return this; }
  tracer::internal::Snapshots* snapshots() noexcept override { return this; }
  tracer::internal::HostQuestions* questions() noexcept override { return this; }
  tracer::internal::KernelSide* kernel_side() noexcept override { return this; }
  std::optional<std::uint64_t> pss_bytes(std::uint32_t pid, std::uint64_t huge_sharers) override {
    return tracer::internal::read_pss_bytes(pid, huge_sharers);
  }
  void track(pid_t, std::uint32_t, tracer::internal::Feed&) override {}
  void snapshot(tracer::internal::Feed& feed, bool) override { feed.snapshot_end(0); }
  std::optional<std::string> cgroup_path(tracer::internal::Hierarchy, std::uint64_t) const override { return {}; }
  std::uint64_t open_label(pid_t, std::uint32_t) override { return 1; }
  bool close_label(std::uint64_t) noexcept override { return true; }
  void resume_label(pid_t, std::uint64_t) noexcept override {}
  void disown_thread(pid_t) noexcept override {}
  std::vector<std::uint32_t> unused_contexts(std::vector<std::uint32_t>) const override { return {}; }
  void forget_context(std::uint32_t) override {}
  std::vector<tracer::internal::RawTotals> totals() const override { return {}; }
  std::map<tracer::Family, std::uint64_t> kernel_ns() const override { return {}; }
  std::optional<std::uint64_t> kernel_memory_bytes() const override { return {}; }
  void use(const tracer::internal::UserIds&) override {}
  tracer::internal::ScopeCounts* scope_counts() noexcept override { return nullptr; }
  std::optional<Held> held(std::uint32_t, std::uint64_t) const override { return {}; }
  std::vector<std::uint64_t> given() const override { return {}; }
  void release(std::span<const std::uint64_t>) noexcept override {}
  double unreleased_share() const noexcept override { return 0; }
};

}  // namespace wire
