// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tracer/session.hpp>

#include "base/cpu_shares.hpp"
#include "base/unique_fd.hpp"
#include "base/user_ids.hpp"
#include "base/wakeup.hpp"
#include "context/proven_owners.hpp"
#include "dispatch/queue_state.hpp"
#include "dispatch/sink_runner.hpp"
#include "protocol/messages.hpp"
#include "serve/charges.hpp"
#include "serve/connection.hpp"
#include "serve/hub.hpp"
#include "serve/limits.hpp"
#include "serve/server.hpp"
#include "serve/usage_totals.hpp"
#include "serve/workers.hpp"

namespace tracer::internal {

/// Whose account an event is charged to while it waits in a queue.
QueueState::OwnerOf owners_by(std::shared_ptr<Accounts> accounts);

/// What a Server is; see there. Nothing that a client does throws here, or delays another for longer than a moment.
class Service {
 public:
  using Clock = std::chrono::steady_clock;
  using Meet = Server::Meet;

  Service(Session& session, ServiceOptions options);
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  SinkHandle add_sink(std::unique_ptr<Sink> sink, std::span<const Event> first);
  void record_by_owner(Server::MeetOwner meet);
  SinkHandle add_sink_of(uid_t owner, std::unique_ptr<Sink> sink, std::span<const Event> first);
  std::map<uid_t, std::vector<Event>> by_owner(std::span<const Event> living) const { return hub_.by_owner(living); }
  void listen(UniqueFd socket, bool admin);
  void run(std::chrono::milliseconds timeout, int other_fd);
  void finish(std::chrono::milliseconds timeout);
  void with_living(Meet meet);
  std::size_t connections() const noexcept { return connections_.size(); }

 private:
  struct Listener {
    UniqueFd socket;
    bool admin = false;
    std::optional<Clock::time_point> rests_until = std::nullopt;
  };
  struct Newcomer {
    std::uint64_t connection = 0;
    SubscribeRequest request = {};
    Meet meet = {};              ///< Where it is no connection's.
    std::uint64_t position = 0;  ///< Of the queue: what comes later it gets.
    std::vector<Event> living = {};
  };
  /// All that was pushed up to here came of what was given of the rings up to there.
  struct RoundEnd {
    std::uint64_t pushed = 0;
    std::vector<std::uint64_t> given;
  };
  /// What the reader's thread leaves for this one.
  struct Mail {
    std::mutex mutex;
    std::vector<Newcomer> newcomers;
    std::deque<RoundEnd> rounds;
    Wakeup wakeup;
  };

  void round(int timeout_ms, int other_fd);
  void accept_from(Listener& listener);
  void rest(Listener& listener, Clock::time_point until);
  void wake_listeners(Clock::time_point now);
  void admit(UniqueFd socket, bool admin);
  void refuse_connection(int socket);
  void serve(Connection& connection, std::uint32_t happened);
  void leave(Connection& connection);
  void read_from(Connection& connection);
  /// True: more lines may be there, and it is called again.
  bool take_lines(Connection& connection);
  /// Whose CPU time it is that a peer takes; 0: root's, which is not limited.
  uid_t payer(uid_t peer) const noexcept;
  /// Of filters, which go on while requests wait: whoever is far beyond the share loses them.
  void charge_filters(Clock::time_point now);
  /// True: its user has had all the CPU time of now; it is read from later.
  bool must_rest(const Connection& connection);
  void wake_rested(Clock::time_point now);
  void write_to(Connection& connection);
  void watch(Connection& connection);
  void close(std::uint64_t id);
  void close_stalled(Clock::time_point now);

  void take_events();
  /// Likewise, where what is delivered outlives this process: in whole rounds, each of which is kept first.
  void take_rounds();
  void deliver_round(const std::vector<std::uint64_t>& given);
  void deliver(const RecentEvents::Judged& judged, Clock::time_point now);
  void go_on();
  /// Who sees what is kept, too, before the next event.
  void keep_viewers();
  std::uint64_t welcome_newcomers();
  void deliver_filled();
  void note_lost(std::span<const Event> events);
  void feed_sinks(std::span<const Event> events);
  void feed_owners();
  std::shared_ptr<SinkRunner> start_sink(std::unique_ptr<Sink> sink, std::span<const Event> first,
                                         std::size_t capacity_bytes);
  /// It gets what lives when what was read so far has been taken.
  void ask_living(Newcomer newcomer);
  void welcome(Newcomer& newcomer);
  void take_mail();
  /// With the mail's lock held.
  void take_newcomers();

  void reply(Connection& connection, std::string line);
  void refuse(Connection& connection, const Error& error);
  void handle(Connection& connection, std::string_view line);
  /// The answers to requests, in service_requests.cpp.
  void answer(Connection& connection, const Request& request);
  template <class R>
  void answer_one(Connection& connection, const R& request);
  /// `work` is done elsewhere, and gives the reply: on this thread, a moment later. Whatever it throws is a refusal.
  using Finish = std::function<std::string(Connection*)>;
  void ask(Connection& connection, Workers::Kind kind, std::function<Finish()> work);
  /// `losses`: that are not told apart by users.
  std::string status_for(const Sight& sight, const Statistics& statistics,
                         std::map<std::string, std::uint64_t> losses) const;

  const std::shared_ptr<Reader> reader_;
  ServiceOptions options_;
  const HostInfo host_;
  const Clock::time_point began_ = Clock::now();
  const UserIds user_ids_;
  Charges charges_;
  SessionHistory::Ask ask_history_;  ///< Empty: there is none.
  const std::shared_ptr<ProvenOwners> proven_owners_;
  CpuShares cpu_shares_;
  CpuShares filter_shares_;  ///< The part of them that filters took.
  Hub hub_;
  UsageTotals usage_;  ///< Since this process began: what an earlier one has delivered is not in it.
  Workers workers_;
  std::shared_ptr<QueueState> queue_;
  std::uint64_t taken_ = 0;  ///< Events that have left the queue.
  const std::shared_ptr<Mail> mail_;
  std::vector<Newcomer> newcomers_;
  std::vector<std::shared_ptr<SinkRunner>> sinks_;  ///< Of add_sink().
  struct OfOwner {
    std::vector<Event> events = {};         ///< That the hub has just given.
    std::shared_ptr<SinkRunner> sink = {};  ///< Null: it has none now.
    bool met = false;
  };
  std::map<uid_t, OfOwner> owners_;
  Server::MeetOwner meet_owner_;
  std::vector<Event> round_;  ///< Taken, and not delivered: its end has not come.
  bool asked_living_ = false;
  bool finishing_ = false;    ///< No round comes any more; its events may be there.
  std::uint64_t before_ = 0;  ///< Events that earlier processes have taken from their queues.
  UniqueFd epoll_;
  std::map<int, Listener> listeners_;
  std::map<std::uint64_t, std::unique_ptr<Connection>> connections_;
  std::map<Outbox*, std::uint64_t> streams_;
  std::uint64_t next_id_ = 0;
  bool queue_ended_ = false;
  bool other_happened_ = false;
  bool alone_ = false;                  ///< Nobody gets events as they come.
  std::vector<std::uint64_t> pending_;  ///< Connections with lines that came while another was answered.
  std::map<std::uint64_t, Clock::time_point> resting_;  ///< Connections that are not read from until then.
  std::uint64_t refused_connections_ = 0;
  Clock::time_point next_look_{};
};

}  // namespace tracer::internal
