// SPDX-License-Identifier: Apache-2.0
/// The sources that need the kernel: its own, and a service that traces by it.
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "conformance.hpp"
#include "real_processes.hpp"
#include "serve/listener.hpp"
#include "serve/server.hpp"

using namespace tracer;

namespace {

class OfTheKernel final : public conformance::RealProcesses {
 public:
  static constexpr Tier kTier = Tier::kKernel;
  static constexpr bool kLive = true;
  static constexpr bool kKnowsLiving = true;
  static constexpr bool kNames = true;
  static constexpr bool kLabels = true;

  std::unique_ptr<Session> open(SessionOptions options) const { return std::make_unique<Session>(std::move(options)); }
};

/// In this process, on a thread of its own.
class OfAService final : public conformance::RealProcesses {
 public:
  static constexpr Tier kTier = Tier::kService;
  static constexpr bool kLive = true;
  static constexpr bool kKnowsLiving = true;
  static constexpr bool kNames = true;
  static constexpr bool kLabels = true;

  OfAService() : traced_(session_options()), server_(traced_, {}) {
    std::string name = (std::filesystem::temp_directory_path() / "tracer-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    folder_ = name;
    server_.listen(internal::listen_on(folder_ / "s.sock", 0600), false);
    traced_.start();
    thread_ = std::thread([this] {
      while (!ends_) server_.run(std::chrono::milliseconds(10), -1);
    });
  }
  ~OfAService() {
    ends_ = true;
    thread_.join();
    traced_.stop();
    std::filesystem::remove_all(folder_);
  }
  std::unique_ptr<Session> open(SessionOptions options) const {
    options.tiers = {Tier::kService};
    options.service_socket = folder_ / "s.sock";
    return std::make_unique<Session>(std::move(options));
  }

 private:
  static SessionOptions session_options() {
    SessionOptions options;
    options.reader = ReaderMode::kOwnThread;
    options.families.clear();
    return options;
  }

  Session traced_;
  internal::Server server_;
  std::filesystem::path folder_;
  std::atomic<bool> ends_{false};
  std::thread thread_;
};

}  // namespace

TEST_SUITE_BEGIN("sources essential");

TEST_CASE_TEMPLATE("a source of the kernel tells what lives, begins and ends, and nothing that the filter leaves out",
                   World, OfTheKernel, OfAService) {
  conformance::tells_a_story<World>();
}

TEST_CASE_TEMPLATE("a source of the kernel yields nothing to a session that is not started, or ends before it begins",
                   World, OfTheKernel, OfAService) {
  conformance::delivers_nothing_that_is_not_wanted<World>();
}

TEST_CASE_TEMPLATE("a source of the kernel says what lives to who comes late", World, OfTheKernel, OfAService) {
  conformance::tells_late_subscribers_what_lives<World>();
}

TEST_CASE_TEMPLATE("a source of the kernel answers what lives, what has ended and which families are missing", World,
                   OfTheKernel, OfAService) {
  conformance::answers_what_lives<World>();
}

TEST_CASE_TEMPLATE("a source of the kernel takes the labels that callers give", World, OfTheKernel, OfAService) {
  conformance::takes_what_callers_say<World>();
}

TEST_CASE_TEMPLATE("a source of the kernel refuses a filter that names nothing", World, OfTheKernel, OfAService) {
  conformance::refuses_what_is_not_there<World>();
}

TEST_SUITE_END();
