// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tracer/session.hpp>

#include "base/unique_fd.hpp"
#include "history/session_history.hpp"
#include "serve/limits.hpp"
#include "serve/ownership.hpp"

namespace tracer::internal {

class Keeping;

struct ServiceOptions {
  ServeLimits limits = {};
  Sharing sharing = {};
  std::vector<SubordinateIds> subordinate_ids = {};
  /// More for `status` of whom may see all: an object as JSON, such as what is known of recordings.
  std::function<std::string()> more_status = {};
  /// What the session keeps of its users' runs, by their owners; null: nothing.
  std::unique_ptr<SessionHistory> history = nullptr;
  /// For `history`: as JSON.
  std::function<std::string(const HistoryAnswer&)> history_json = {};
  std::shared_ptr<Keeping> keeping = {};  ///< Null: nothing of the service outlives this process.
  bool by_owner = false;                  ///< See Server::record_by_owner().
  /// With it: where the recordings of each owner are, for `recordings`. Empty: there are none.
  std::filesystem::path recordings = {};
};

class Service;

/// Serves a session to other processes of the host by the protocol of docs/protocol.md: each client gets what it may
/// see. Works on the thread that calls run(); the session must read on its own thread.
class Server {
 public:
  /// To be made before the session starts, so that nothing is missed. Throws Error(kNoMemory).
  Server(Session& session, ServiceOptions options);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// `sink` gets all events from now on, on a thread of its own, and `first` before them: what outlives this process is
  /// kept before it gets it. Sinks that are closed and added in one call of another function get each event once.
  /// Throws as Session::add_sink().
  SinkHandle add_sink(std::unique_ptr<Sink> sink, std::span<const Event> first);
  /// With ServiceOptions::by_owner: calls `meet` for each owner, when their first event comes, on the thread of run().
  /// It may call add_sink_of(). `left`: what an earlier process delivered; absent: nothing.
  using MeetOwner = std::function<void(uid_t owner, std::optional<std::span<const Event>> left)>;
  void record_by_owner(MeetOwner meet);
  /// As add_sink(), of what is this owner's: see Hub::take_by_owner(). In place of an earlier one.
  SinkHandle add_sink_of(uid_t owner, std::unique_ptr<Sink> sink, std::span<const Event> first);
  /// What lives, as owners see it.
  std::map<uid_t, std::vector<Event>> by_owner(std::span<const Event> living) const;
  /// Calls `meet` in run() or finish(), between two events, with a RunStart, TaskStart and ProcessStart of all that
  /// lives then.
  using Meet = std::function<void(std::span<const Event> living)>;
  void with_living(Meet meet);
  /// Clients of an `admin` socket see all.
  void listen(UniqueFd socket, bool admin);
  /// Serves for so long, or until `other_fd` is readable or the session has ended.
  void run(std::chrono::milliseconds timeout, int other_fd);
  /// After the session's end: gives clients what is left, for so long at most.
  void finish(std::chrono::milliseconds timeout);
  std::size_t connections() const noexcept;

 private:
  std::unique_ptr<Service> service_;
};

}  // namespace tracer::internal
