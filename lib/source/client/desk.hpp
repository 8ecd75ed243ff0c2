// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "source/client/connection.hpp"
#include "source/source.hpp"

namespace tracer::internal {

/// What a session's callers ask of a service. When the service was restarted, it is told again what it was told before:
/// labels that are open, trees with their contexts, and announcements that have not expired.
class ServiceDesk final : public Desk {
 public:
  static constexpr std::size_t kMostAnnouncements = 8192;  ///< That are told again, the newest.

  /// Throws Error: kNoService, kPermission, kServiceVersion, kServiceRefused, kPidNamespace.
  /// `wanted`: families that must not be missing without a word.
  explicit ServiceDesk(std::filesystem::path socket, std::vector<Family> wanted = {});

  void track(pid_t pid, const Context& context, TrackAs as) override;
  void announce(const Announcement& announcement, const Caller& caller) override;
  Key submit(const Submission& submission) override;
  void withdraw(const Withdrawal& withdrawal) override;
  std::uint64_t open_label(const Context& context, const Caller& caller) override;
  void close_label(std::uint64_t serial) noexcept override;
  void resume_label(std::uint64_t serial, const Caller& caller) noexcept override;
  void disown_thread(const Caller& caller) noexcept override;
  void report_own_work(const Context& task, const OwnWork& work) override;
  std::vector<ProcessSample> living() const override;
  std::string state(const StateQuery& query) const override;
  std::vector<FamilyState> families() const;

  /// As the service said when the connection began.
  HelloReply hello() const;
  /// The number of the last event of what has happened by now, in that filtered stream; 0: of all events. Throws Error.
  std::uint64_t flush(std::uint64_t stream);
  /// Trees that were tracked: a filter must take them in.
  std::set<pid_t> tracked() const;
  /// The stream that is open; 0: none with a filter. `known`: trees that its filter names. The others are taken in, as
  /// all that are tracked from now on. Throws nothing: a cut connection is made again.
  void use_stream(std::uint64_t stream, const std::set<pid_t>& known) noexcept;
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

  using Clock = std::chrono::steady_clock;
  struct Tree {
    Context context;
    TrackAs as;
    std::uint64_t started_from_ns = 0;  ///< Of the process that had the pid then; 0: not known.
  };
  struct Announced {
    Announcement announcement;
    Clock::time_point until;
    std::uint64_t started_from_ns = 0;  ///< Likewise of the process that it names without a start.
  };

  void tell_again() const;
  void keep(const Announcement& announcement, std::uint64_t started_from_ns);
  /// With the lock held: for the open stream, too, if there is one.
  void attach(AttachRequest request) const;
  /// With the lock held. Connects again, once, if the service is gone.
  template <class Take>
  auto ask(const Request& request, Take take) const;
  void connect() const;

  const std::filesystem::path socket_;
  const std::vector<Family> wanted_;
  mutable std::mutex mutex_;
  mutable std::optional<ServiceConnection> connection_;
  mutable HelloReply hello_;
  mutable std::map<std::uint64_t, OpenLabel> labels_;  ///< By serial.
  std::map<pid_t, Tree> trees_;
  mutable std::deque<Announced> announced_;  ///< The newest last.
  std::uint64_t last_serial_ = 0;
  std::uint64_t stream_ = 0;  ///< See use_stream().
};

}  // namespace tracer::internal
