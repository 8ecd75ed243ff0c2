// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <memory>
#include <thread>

#include <doctest/doctest.h>

#include "session_tools.hpp"
#include "wire_source.hpp"

namespace {

/// Of a reader that gets next to no CPU: what it has to read never ends.
class Endless final : public wire::WireSource {
 public:
  explicit Endless(bool may_be_left) : may_be_left_(may_be_left) {}

  bool drain(tracer::internal::Feed&, const tracer::internal::DrainLimit&) override {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return may_be_left_ || ++drains_ < 800;
  }
  bool leave_unread() override {
    if (may_be_left_) set_loss("left_unread", 7);
    ++asked_;
    return may_be_left_;
  }

  int asked_ = 0;
  int drains_ = 0;

 private:
  const bool may_be_left_;
};

}  // namespace

TEST_CASE("what lies in the ring when a session ends is read for some seconds, then left and counted") {
  auto source = std::make_unique<Endless>(true);
  tracer::Session session(tracer::Source(std::move(source)), {.reader = tracer::Reader::kPoll});
  session.start();
  session.stop();
  CHECK(session.statistics().losses.at("left_unread") == 7);
}

TEST_CASE("a source that leaves nothing unread is read to its end") {
  auto source = std::make_unique<Endless>(false);
  Endless& endless = *source;
  tracer::Session session(tracer::Source(std::move(source)), {.reader = tracer::Reader::kPoll});
  session.start();
  session.stop();
  CHECK(endless.drains_ == 800);
  CHECK(endless.asked_ > 0);
  CHECK(session.statistics().lost() == 0);
}
