// SPDX-License-Identifier: Apache-2.0
/// The sources that need no rights: events of a program, a recording, a service, and /proc.
#include <unistd.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <tracer/host.hpp>
#include <tracer/sink.hpp>
#include <tracer/source.hpp>
#include <tracer/testing.hpp>

#include "builders.hpp"
#include "conformance.hpp"
#include "fake_service.hpp"
#include "real_processes.hpp"
#include "temp_file.hpp"

using namespace tracer;

namespace {

/// Processes that only events speak of. A filter of a service names living ones: so their root is this one.
class ToldProcesses {
 public:
  virtual ~ToldProcesses() = default;
  pid_t root() const noexcept { return ::getpid(); }
  pid_t begin(bool outside = false) {
    const auto pid = static_cast<std::uint32_t>(++last_);
    build::ProcessSpec spec{.pid = pid, .start_ns = pid * 10ull, .uid = 1000};
    spec.parent_pid = static_cast<std::uint32_t>(outside ? kOther : root());
    spec.parent_start_ns = kRootStart_ns;
    const auto process = build::process(std::move(spec));
    living_[last_] = process;
    tell(ProcessStart{process->start_ns, process, {}});
    return last_;
  }
  void end(pid_t pid) {
    const auto process = living_.at(pid);
    living_.erase(pid);
    ProcessExit exit;
    exit.process = process;
    exit.start_ns = process->start_ns;
    exit.time_ns = exit.end_ns = process->start_ns + 5;
    exit.exit_code = conformance::kStatus;
    tell(std::move(exit));
  }

 protected:
  static constexpr pid_t kOther = 4'000'000;
  static constexpr std::uint64_t kRootStart_ns = 1;

  const std::map<pid_t, std::shared_ptr<const Process>>& living() const noexcept { return living_; }
  Event start_of_root() const {
    build::ProcessSpec spec{.pid = static_cast<std::uint32_t>(root()), .start_ns = kRootStart_ns, .uid = 1000};
    return ProcessStart{kRootStart_ns, build::process(std::move(spec)), {}};
  }
  virtual void tell(Event event) = 0;

 private:
  // Beyond what a kernel gives.
  pid_t last_ = 4'194'304;
  std::map<pid_t, std::shared_ptr<const Process>> living_;
};

class OfAProgram final : public ToldProcesses {
 public:
  static constexpr Tier kTier = Tier::kRecording;
  static constexpr bool kLive = true;
  static constexpr bool kKnowsLiving = false;
  static constexpr bool kNames = false;
  static constexpr bool kLabels = false;

  OfAProgram() { fake_.push(start_of_root()); }
  std::unique_ptr<Session> open(SessionOptions options) {
    // A session has ended its source.
    if (opened_) fake_ = testing::FakeSource();
    opened_ = true;
    return std::make_unique<Session>(fake_.source(), std::move(options));
  }

 private:
  void tell(Event event) override { fake_.push(std::move(event)); }

  testing::FakeSource fake_;
  bool opened_ = false;
};

class OfARecording final : public ToldProcesses {
 public:
  static constexpr Tier kTier = Tier::kRecording;
  static constexpr bool kLive = false;
  static constexpr bool kKnowsLiving = false;
  static constexpr bool kNames = false;
  static constexpr bool kLabels = false;

  OfARecording() { events_.push_back(start_of_root()); }
  std::unique_ptr<Session> open(SessionOptions options) {
    const auto sink = recording_sink(file_.path(), this_host());
    std::vector<Event> events = events_;
    events.emplace_back(SessionEnd());
    sink->write(events);
    sink->flush();
    return std::make_unique<Session>(recording_source(file_.path()), std::move(options));
  }

 private:
  void tell(Event event) override { events_.push_back(std::move(event)); }

  TempFile file_;
  std::vector<Event> events_;
};

class OfAService final : public ToldProcesses {
 public:
  static constexpr Tier kTier = Tier::kService;
  static constexpr bool kLive = true;
  static constexpr bool kKnowsLiving = true;
  static constexpr bool kNames = true;
  static constexpr bool kLabels = false;

  OfAService() { service_.lives(start_of_root()); }
  std::unique_ptr<Session> open(SessionOptions options) {
    options.tiers = {Tier::kService};
    options.service_socket = service_.socket();
    return std::make_unique<Session>(std::move(options));
  }

 private:
  void tell(Event event) override {
    std::vector<ProcessSample> samples;
    for (const auto& [pid, process] : living()) {
      ProcessSample& sample = samples.emplace_back();
      sample.time_ns = process->start_ns;
      sample.process = process;
    }
    service_.set_samples(std::move(samples));
    // What was before the client came lives, or is gone.
    if (service_.subscribers() != 0) return service_.push(std::move(event));
    if (event.kind() == EventKind::kProcessStart) service_.lives(std::move(event));
  }

  FakeService service_;
};

class OfProc final : public conformance::RealProcesses {
 public:
  static constexpr Tier kTier = Tier::kProc;
  static constexpr bool kLive = true;
  static constexpr bool kKnowsLiving = true;
  static constexpr bool kNames = true;
  static constexpr bool kLabels = true;

  std::unique_ptr<Session> open(SessionOptions options) const {
    options.tiers = {Tier::kProc};
    return std::make_unique<Session>(std::move(options));
  }
};

}  // namespace

TEST_CASE_TEMPLATE("a source tells what lives, begins and ends, and nothing that the filter leaves out", World,
                   OfAProgram, OfARecording, OfAService, OfProc) {
  conformance::tells_a_story<World>();
}

TEST_CASE_TEMPLATE("a source yields nothing to a session that is not started, or ends before it begins", World,
                   OfAProgram, OfARecording, OfAService, OfProc) {
  conformance::delivers_nothing_that_is_not_wanted<World>();
}

TEST_CASE_TEMPLATE("a source that knows what lives says so to who comes late", World, OfAProgram, OfAService, OfProc) {
  conformance::tells_late_subscribers_what_lives<World>();
}

TEST_CASE_TEMPLATE("a source answers what lives, what has ended and which families are missing, or nothing", World,
                   OfAProgram, OfARecording, OfAService, OfProc) {
  conformance::answers_what_lives<World>();
}

TEST_CASE_TEMPLATE("a source takes the labels that callers give, or leaves things as they are", World, OfAProgram,
                   OfARecording, OfAService, OfProc) {
  conformance::takes_what_callers_say<World>();
}

TEST_CASE_TEMPLATE("a source refuses a filter that names nothing", World, OfAProgram, OfARecording, OfAService,
                   OfProc) {
  conformance::refuses_what_is_not_there<World>();
}
