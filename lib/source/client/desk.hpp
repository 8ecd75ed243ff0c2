// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "source/client/connection.hpp"
#include "source/source.hpp"

namespace tracer::internal {

/// What a session's callers ask of a service. When the service was restarted, it is told again what it was told before:
/// labels that are open, and trees with their contexts.
class ServiceDesk final : public Desk {
 public:
  /// Throws Error: kNoService, kPermission, kServiceVersion, kServiceRefused, kPidNamespace.
  explicit ServiceDesk(std::filesystem::path socket);

  void track(pid_t pid, const Context& context, TrackAs as) override;
  void announce(const Announcement& announcement, const Caller& caller) override;
  std::uint64_t open_label(const Context& context, const Caller& caller) override;
  void close_label(std::uint64_t serial) noexcept override;
  void resume_label(std::uint64_t serial, const Caller& caller) noexcept override;
  void disown_thread(const Caller& caller) noexcept override;
  void report_own_work(const Context& task, const OwnWork& work) override;
  std::vector<ProcessSample> living() const override;
  std::vector<FamilyState> families() const override;

  /// As the service said when the connection began.
  HelloReply hello() const;
  /// The number of the last event of what has happened by now. Throws Error.
  std::uint64_t flush();
  /// Trees get no labels from this session any more. Never throws: it matters to nobody who is not there any more.
  void untrack() noexcept;
  /// Connects again if the service has another session by now.
  void meet(const std::string& session_id) noexcept;

 private:
  struct OpenLabel {
    std::uint64_t number = 0;  ///< As the service counts; 0: it does not have it now.
    pid_t tid = 0;
    Context context;
  };

  /// With the lock held. Connects again, once, if the service is gone.
  template <class Take>
  auto ask(const Request& request, Take take) const;
  void connect() const;

  const std::filesystem::path socket_;
  mutable std::mutex mutex_;
  mutable std::optional<ServiceConnection> connection_;
  mutable HelloReply hello_;
  mutable std::map<std::uint64_t, OpenLabel> labels_;  ///< By serial.
  std::map<pid_t, Context> trees_;
  std::uint64_t last_serial_ = 0;
};

}  // namespace tracer::internal
