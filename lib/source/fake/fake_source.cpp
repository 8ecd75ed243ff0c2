// SPDX-License-Identifier: Apache-2.0
#include <tracer/testing.hpp>

#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "source/source.hpp"
#include "base/wakeup.hpp"

namespace tracer::testing {

struct FakeSource::State {
  internal::Wakeup ready;  ///< While there is something to do.
  std::mutex mutex;
  std::deque<Event> events;
  std::uint64_t pushed = 0;  ///< Those that were taken included.
  std::map<std::string, std::uint64_t> losses;
  bool finishing = false;  ///< No more will be pushed.

  std::optional<Event> next() {
    const std::lock_guard lock(mutex);
    if (events.empty()) {
      if (!finishing) ready.clear();
      return std::nullopt;
    }
    std::optional<Event> event(std::move(events.front()));
    events.pop_front();
    return event;
  }
  void finish() {
    const std::lock_guard lock(mutex);
    finishing = true;
    ready.set();
  }
};

/// The session's end of it.
class FakeSource::Stream final : public internal::Source {
 public:
  explicit Stream(std::shared_ptr<State> state) : state_(std::move(state)) {}

  HostInfo host() const override {
    HostInfo host = this_host();
    host.boot_id = "00000000-0000-0000-0000-000000000000";
    return host;
  }
  int fd() const noexcept override { return state_->ready.fd(); }
  void start(internal::Feed&) override {}
  bool drain(internal::Feed& feed, const internal::DrainLimit& limit) override {
    const auto until = std::chrono::steady_clock::now() + limit.time;
    for (std::size_t count = 0; count < limit.records && std::chrono::steady_clock::now() < until; ++count) {
      std::optional<Event> event = state_->next();
      if (!event) return false;
      feed.event(std::move(*event));
    }
    return true;
  }
  std::uint64_t end_position() const noexcept override {
    const std::lock_guard lock(state_->mutex);
    return state_->pushed;
  }
  std::uint64_t position() const noexcept override {
    const std::lock_guard lock(state_->mutex);
    return state_->pushed - state_->events.size();
  }
  void stop() override { state_->finish(); }
  bool finished() const noexcept override {
    const std::lock_guard lock(state_->mutex);
    return state_->finishing && state_->events.empty();
  }
  internal::Counters counters() const override {
    const std::lock_guard lock(state_->mutex);
    internal::Counters counters;
    counters.losses = state_->losses;
    return counters;
  }

 private:
  std::shared_ptr<State> state_;
};

FakeSource::FakeSource() : state_(std::make_shared<State>()) {}
FakeSource::FakeSource(FakeSource&&) noexcept = default;
FakeSource& FakeSource::operator=(FakeSource&&) noexcept = default;
FakeSource::~FakeSource() = default;

Source FakeSource::source() const { return Source(std::make_unique<Stream>(state_)); }

void FakeSource::push(Event event) {
  const std::lock_guard lock(state_->mutex);
  if (state_->finishing) return;
  state_->events.push_back(std::move(event));
  ++state_->pushed;
  state_->ready.set();
}

void FakeSource::finish() { state_->finish(); }

void FakeSource::set_loss(const std::string& cause, std::uint64_t count) {
  const std::lock_guard lock(state_->mutex);
  state_->losses[cause] = count;
}

}  // namespace tracer::testing
