// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "session_tools.hpp"
#include "wire_builder.hpp"
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
  tracer::Session session(tracer::Source(std::move(source)), {.reader = tracer::ReaderMode::kPoll});
  session.start();
  session.stop();
  CHECK(session.statistics().losses.at("left_unread") == 7);
}

TEST_CASE("a source that leaves nothing unread is read to its end") {
  auto source = std::make_unique<Endless>(false);
  Endless& endless = *source;
  tracer::Session session(tracer::Source(std::move(source)), {.reader = tracer::ReaderMode::kPoll});
  session.start();
  session.stop();
  CHECK(endless.drains_ == 800);
  CHECK(endless.asked_ > 0);
  CHECK(session.statistics().lost() == 0);
}

TEST_CASE("many files of processes that live on are delivered part by part, to sinks and callbacks, before the end") {
  constexpr std::uint32_t kProcesses = 12;
  constexpr std::uint64_t kFiles = 1000;
  auto source = std::make_unique<wire::WireSource>();
  for (std::uint32_t pid = 1; pid <= kProcesses; ++pid) {
    const wire::Who who{.pid = pid, .start_ns = 1000, .comm = "sort"};
    source->push(wire::start_record(who));
    for (std::uint64_t i = 0; i < kFiles; ++i)
      source->push(wire::file_use_record(who, {.inode = 100 + i, .reads = true, .path = "/d/" + std::to_string(i)}));
  }
  tracer::Session session(tracer::Source(std::move(source)), {.reader = tracer::ReaderMode::kPoll});
  auto written = std::make_shared<session_tools::HeldSink::Shared>();
  const tracer::SinkHandle sink = session.add_sink(std::make_unique<session_tools::HeldSink>(written));
  std::map<std::uint32_t, std::uint64_t> files;
  bool ended = false;
  const auto subscription = session.on_any([&](const tracer::Event& event) {
    if (const auto* use = event.get_if<tracer::FileUse>()) {
      CHECK_FALSE(ended);
      ++files[use->process->pid];
    }
    ended = ended || event.kind() == tracer::EventKind::kSessionEnd;
  });
  session.start();
  session.stop();
  CHECK(ended);
  CHECK(files.size() == kProcesses);
  for (const auto& [pid, count] : files) CHECK(count == kFiles);
  CHECK(std::count(written->kinds.begin(), written->kinds.end(), tracer::EventKind::kFileUse) == kProcesses * kFiles);
  CHECK(written->kinds.back() == tracer::EventKind::kSessionEnd);
  CHECK(sink.dropped() == 0);
}
