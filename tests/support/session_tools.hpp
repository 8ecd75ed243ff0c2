// SPDX-License-Identifier: Apache-2.0
/// What tests of sessions with several threads share.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include <tracer/session.hpp>

namespace session_tools {

using namespace std::chrono_literals;

inline tracer::SessionOptions polled() {
  tracer::SessionOptions options;
  options.reader = tracer::ReaderMode::kPoll;
  return options;
}

inline void wait_until(const std::function<bool()>& fact) {
  while (!fact()) std::this_thread::sleep_for(1ms);
}

/// A sink whose write() waits until it is let go, and which knows what it got.
class HeldSink final : public tracer::Sink {
 public:
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    bool held = false;
    bool in_write = false;
    std::vector<tracer::EventKind> kinds;
    std::uint64_t lost = 0;
    void hold(bool now) {
      const std::lock_guard lock(mutex);
      held = now;
      changed.notify_all();
    }
    void wait_for_write() {
      std::unique_lock lock(mutex);
      changed.wait(lock, [this] { return in_write; });
    }
  };
  explicit HeldSink(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}
  void write(std::span<const tracer::Event> events) noexcept override {
    std::unique_lock lock(shared_->mutex);
    shared_->in_write = true;
    shared_->changed.notify_all();
    shared_->changed.wait(lock, [this] { return !shared_->held; });
    for (const tracer::Event& event : events) {
      shared_->kinds.push_back(event.kind());
      if (const auto* loss = event.get_if<tracer::Loss>()) shared_->lost += loss->count;
    }
  }
  void flush() noexcept override {}
  std::optional<tracer::Problem> problem() const override { return std::nullopt; }

 private:
  std::shared_ptr<Shared> shared_;
};

}  // namespace session_tools
