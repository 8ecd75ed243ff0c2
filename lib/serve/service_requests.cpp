// SPDX-License-Identifier: Apache-2.0
/// What each request does, and the right that it needs.
#include <linux/sockios.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <concepts>
#include <iterator>
#include <mutex>
#include <set>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include <tracer/version.hpp>

#include "base/clock.hpp"
#include "base/json_text.hpp"
#include "base/proc_stat.hpp"
#include "serve/for_others.hpp"
#include "serve/restart_keeping.hpp"
#include "serve/own_things.hpp"
#include "serve/past_files.hpp"
#include "serve/service.hpp"

namespace tracer::internal {
namespace {

/// What a request needs besides a connection.
enum class Right : std::uint8_t {
  kNone,  ///< It is answered by what the peer may see.
  kOwn,   ///< What it names must be the peer's own: own_things.hpp.
};

/// The one table of rights.
template <class R>
constexpr Right right_of() {
  if constexpr (std::same_as<R, AnnounceRequest> || std::same_as<R, SubmitRequest> ||
                std::same_as<R, WithdrawRequest> || std::same_as<R, AttachRequest> || std::same_as<R, LabelRequest> ||
                std::same_as<R, EndLabelRequest> || std::same_as<R, ResumeLabelRequest> ||
                std::same_as<R, UnlabelRequest> || std::same_as<R, OwnWorkRequest>) {
    return Right::kOwn;
  } else {
    static_assert(
        std::same_as<R, HelloRequest> || std::same_as<R, TotalsRequest> || std::same_as<R, StatisticsRequest> ||
            std::same_as<R, StatusRequest> || std::same_as<R, SnapshotRequest> || std::same_as<R, StateRequest> ||
            std::same_as<R, FindingsRequest> || std::same_as<R, HistoryRequest> || std::same_as<R, RecordingsRequest> ||
            std::same_as<R, UsageRequest> || std::same_as<R, FlushRequest> || std::same_as<R, SubscribeRequest>,
        "decide which right a new request needs");
    return Right::kNone;
  }
}

/// What a user says is of that user, and never another's by equal words. Root speaks of whose processes it names.
Context said_by(const Peer& peer, Context context) {
  if (context != Context{} && peer.uid != 0) context.owner_uid = peer.uid;
  return context;
}

[[noreturn]] void refuse_limit(const char* what) {
  throw Error({ErrorCode::kServiceRefused, 0, fmt::format("too many {} of your user", what), "end some", {}});
}

[[noreturn]] void refuse_ended(pid_t pid) {
  throw Error({ErrorCode::kFilterNamesNothing,
               ESRCH,
               fmt::format("process {} has ended meanwhile", pid),
               "name one that is there",
               {}});
}

constexpr std::size_t kSubscriptionBytes = 1u << 20;
constexpr std::size_t kDefaultCapacity = 4u << 20;
constexpr std::size_t kMostListed = 4096;
constexpr std::chrono::milliseconds kLongestFlush{5000};
constexpr std::chrono::milliseconds kLongestLookup{10000};

/// The right of a request, judged on a worker: it may read files.
void require(const Peer& peer, const AttachRequest& request) { require_own_process(peer, request.pid); }
void require(const Peer& peer, const LabelRequest&) { require_own_process(peer, peer.pid); }
void require(const Peer& peer, const ResumeLabelRequest&) { require_own_process(peer, peer.pid); }
void require(const Peer& peer, const UnlabelRequest&) { require_own_process(peer, peer.pid); }
void require(const Peer& peer, const OwnWorkRequest&) { require_own_process(peer, peer.pid); }
/// Labels belong to their connection.
void require(const Peer&, const EndLabelRequest&) {}
template <class R>
requires(right_of<R>() == Right::kNone) void require(const Peer&, const R&) {}

}  // namespace

void Service::answer(Connection& connection, const Request& request) {
  std::visit(
      [&](const auto& one) {
        connection.only_asks = right_of<std::remove_cvref_t<decltype(one)>>() == Right::kNone;
        if (connection.gone && connection.only_asks) return pending_.push_back(connection.id);
        answer_one(connection, one);
      },
      request);
}

template <class R>
void Service::answer_one(Connection& connection, const R& request) {
  const Peer peer = connection.peer;
  const Sight sight = connection.sight;
  const auto reader = reader_;
  if constexpr (std::same_as<R, HelloRequest>) {
    if (request.version != kProtocolVersion)
      throw Error({ErrorCode::kServiceVersion,
                   0,
                   fmt::format("this service does not speak version {}", request.version),
                   "use a version of those that it names",
                   {}});
    reply(connection, to_line(HelloReply{kProtocolVersion, TRACER_VERSION, host_.session_id, peer.uid, sight.all,
                                         reader->families(), host_, reader->has_findings()}));
  } else if constexpr (std::same_as<R, AnnounceRequest>) {
    std::optional<AnnouncementLimit> limit;
    if (peer.uid != 0) {
      limit = {charges_.bytes_left(peer.uid)};
    }
    ask(connection, Workers::Kind::kFiles, [peer, request, reader, limit, keeping = options_.keeping] {
      const auto judged = require_own(peer, request.announcement.key);
      Announcement announcement = request.announcement;
      if (peer.uid != 0) announcement.context.owner_uid = peer.uid;
      reader->announce(announcement, peer.caller(), judged, limit);
      if (keeping)
        keeping->said().announced(announcement, peer.caller(), reader->task_key_of(announcement.context, peer.uid));
      return [](Connection*) { return ok_line(); };
    });
  } else if constexpr (std::same_as<R, SubmitRequest>) {
    // Nobody else's: its key has the user in it.
    const Key key = reader->submit(request.submission, peer.caller());
    if (options_.keeping) options_.keeping->said().submitted(key, request.submission, peer.caller());
    reply(connection, to_line(SubmitReply{key, request.submission.context.task_id.has_value()}));
  } else if constexpr (std::same_as<R, WithdrawRequest>) {
    reader->withdraw(request.withdrawal, peer.caller());
    if (options_.keeping) options_.keeping->said().withdrawn(request.withdrawal, peer.caller());
    reply(connection, ok_line());
  } else if constexpr (std::same_as<R, AttachRequest>) {
    if (request.stream) hub_.require_stream(sight, *request.stream);
    ask(connection, Workers::Kind::kSession,
        [this, peer, sight, request, reader, keeping = options_.keeping]() -> Finish {
          const auto start = [&request] {
            const auto stat = read_proc_stat(request.pid);
            return stat ? std::optional(stat->started_from_ns) : std::nullopt;
          };
          const auto before = start();
          require(peer, request);
          reader->track(request.pid, said_by(peer, request.context), {request.command, request.held});
          // Another may have its pid since.
          if (start() != before) {
            reader->track(request.pid, Context());
            refuse_ended(request.pid);
          }
          if (keeping && request.command) keeping->said().command(request.pid);
          return [this, sight, request](Connection*) {
            if (request.stream) {
              hub_.follow(sight, *request.stream, static_cast<std::uint32_t>(request.pid), boot_time_ns(),
                          Clock::now());
              keep_viewers();
            }
            return ok_line();
          };
        });
  } else if constexpr (std::same_as<R, LabelRequest>) {
    if (!charges_.take(peer.uid, Charged::kLabels, 1)) refuse_limit("labels");
    ask(connection, Workers::Kind::kSession, [this, peer, request, reader]() -> Finish {
      std::optional<Reader::OpenLabel> label;
      std::string refusal;
      try {
        require(peer, request);
        label = reader->open_label(said_by(peer, request.context),
                                   Caller{peer.pid, require_own_thread(peer, request.tid), peer.uid});
        if (!label) throw Error({ErrorCode::kServiceRefused, 0, "the session has ended", {}, {}});
      } catch (const Error& error) {
        refusal = refusal_line(error);
      }
      return [this, peer, label, refusal, reader](Connection* asker) {
        if (label && asker != nullptr) {
          asker->labels.emplace(label->serial, *label);
          return to_line(LabelReply{label->serial});
        }
        charges_.give_back(peer.uid, Charged::kLabels, 1);
        if (label) reader->close_label(*label);
        return refusal;
      };
    });
  } else if constexpr (std::same_as<R, EndLabelRequest>) {
    require(peer, request);
    const auto label = connection.labels.find(request.label);
    if (label == connection.labels.end())
      throw Error({ErrorCode::kInvalidArgument, 0, "this connection has no such label", {}, {}});
    const Reader::OpenLabel ended = label->second;
    connection.labels.erase(label);
    charges_.give_back(peer.uid, Charged::kLabels, 1);
    ask(connection, Workers::Kind::kSession, [ended, reader] {
      reader->close_label(ended);
      return [](Connection*) { return ok_line(); };
    });
  } else if constexpr (std::same_as<R, ResumeLabelRequest>) {
    const auto label = connection.labels.find(request.label);
    if (label == connection.labels.end())
      throw Error({ErrorCode::kInvalidArgument, 0, "this connection has no such label", {}, {}});
    ask(connection, Workers::Kind::kSession, [peer, request, reader, resumed = label->second] {
      require(peer, request);
      reader->resume_label(resumed, Caller{peer.pid, require_own_thread(peer, request.tid), peer.uid});
      return [](Connection*) { return ok_line(); };
    });
  } else if constexpr (std::same_as<R, UnlabelRequest>) {
    ask(connection, Workers::Kind::kSession, [peer, request, reader] {
      require(peer, request);
      reader->disown_thread(Caller{peer.pid, require_own_thread(peer, request.tid), peer.uid});
      return [](Connection*) { return ok_line(); };
    });
  } else if constexpr (std::same_as<R, OwnWorkRequest>) {
    ask(connection, Workers::Kind::kSession, [peer, request, reader] {
      require(peer, request);
      reader->report_own_work(said_by(peer, request.context), request.work, peer.caller());
      return [](Connection*) { return ok_line(); };
    });
  } else if constexpr (std::same_as<R, TotalsRequest>) {
    ask(connection, Workers::Kind::kSession, [this, sight, reader]() -> Finish {
      return [this, sight, totals = TotalsReply{reader->totals()}](Connection*) mutable {
        std::erase_if(totals.totals, [&](const ContextTotals& each) {
          return !may_see(sight, hub_.ownership().owner_of(each.context));
        });
        return to_line(totals);
      };
    });
  } else if constexpr (std::same_as<R, StatisticsRequest>) {
    ask(connection, Workers::Kind::kSession,
        [reader] { return [line = to_line(StatisticsReply{reader->statistics()})](Connection*) { return line; }; });
  } else if constexpr (std::same_as<R, StatusRequest>) {
    ask(connection, Workers::Kind::kSession, [this, reader]() -> Finish {
      return [this, statistics = reader->statistics(), losses = reader->losses()](Connection* asker) {
        return asker == nullptr ? std::string() : to_line(StatusReply{status_for(asker->sight, statistics, losses)});
      };
    });
  } else if constexpr (std::same_as<R, SnapshotRequest>) {
    ask(connection, Workers::Kind::kSession, [this, sight, reader]() -> Finish {
      return [this, sight, samples = reader->living()](Connection*) {
        SnapshotReply reply;
        for (const ProcessSample& sample : samples) {
          const Owner owner = hub_.ownership().owner_of(*sample.process);
          if (!may_see(sight, owner)) continue;
          if (reply.processes.size() == kMostListed)
            throw Error({ErrorCode::kServiceRefused,
                         0,
                         fmt::format("more than {} processes live", kMostListed),
                         "subscribe with living_first",
                         {}});
          reply.processes.push_back(sight.all ? sample
                                              : *for_owner(sample, owner, hub_.ownership()).get_if<ProcessSample>());
        }
        return to_line(reply);
      };
    });
  } else if constexpr (std::same_as<R, StateRequest>) {
    const auto owners = sight.all ? std::nullopt : std::optional(sight.owners);
    ask(connection, Workers::Kind::kSession, [request, owners, state = hub_.state()]() -> Finish {
      return [line = to_line(StateReply{state->json(request.query, owners)})](Connection*) { return line; };
    });
  } else if constexpr (std::same_as<R, FindingsRequest>) {
    reply(connection, to_line(FindingsReply{hub_.findings(sight, request.since_ns.value_or(0))}));
  } else if constexpr (std::same_as<R, HistoryRequest>) {
    if (!ask_history_)
      throw Error({ErrorCode::kInvalidArgument,
                   0,
                   "this service keeps no history",
                   "see tracerd history for your own, or set [history] in tracerd.toml",
                   {}});
    HistoryQuestion question{.pipeline = request.pipeline, .step = request.step, .input_bytes = request.input_bytes};
    if (!sight.all) question.owners = sight.owners;
    ask(connection, Workers::Kind::kFiles, [question, ask_history = ask_history_, to_json = options_.history_json] {
      return
          [line = to_line(HistoryReply{to_json(ask_history(question, kLongestLookup))})](Connection*) { return line; };
    });
  } else if constexpr (std::same_as<R, RecordingsRequest>) {
    if (options_.recordings.empty()) return reply(connection, to_line(RecordingsReply{}));
    // Descriptors on their way count as the service's, and are as many as it may have at most.
    int unread_bytes = 0;
    if (::ioctl(connection.socket.get(), SIOCOUTQ, &unread_bytes) != 0 || unread_bytes != 0)
      throw Error({ErrorCode::kServiceRefused, 0, "replies have not been read", "read them, and ask again", {}});
    const auto owners = sight.all ? std::nullopt : std::optional(sight.owners);
    ask(connection, Workers::Kind::kFiles, [request, owners, folder = options_.recordings]() -> Finish {
      const auto batch = std::make_shared<PastBatch>(past_batch(folder, owners, request.since_ns.value_or(0)));
      return [batch](Connection* asker) {
        if (asker != nullptr) asker->passed = std::move(batch->fds);
        return to_line(batch->reply);
      };
    });
  } else if constexpr (std::same_as<R, UsageRequest>) {
    if (!sight.all)
      throw Error({ErrorCode::kPermission,
                   0,
                   "only root may ask what all users' pipelines have used",
                   "ask as root, such as by a timer of systemd: docs/service.md",
                   {}});
    connection.busy = true;
    with_living([this, id = connection.id](std::span<const Event> living) {
      const auto found = connections_.find(id);
      if (found == connections_.end()) return;
      Connection& asker = *found->second;
      asker.busy = false;
      if (asker.gone) return pending_.push_back(id);
      const auto owner_of = [this](const Event& event) { return hub_.ownership().owner_of_living(event).uid; };
      reply(asker, to_line(UsageReply{usage_.json(host_.host_name, living, owner_of)}));
    });
  } else if constexpr (std::same_as<R, FlushRequest>) {
    if (request.stream) hub_.require_stream(sight, *request.stream);
    // It waits for long where a ring is full: on a thread of its own, as questions to file systems.
    ask(connection, Workers::Kind::kFiles,
        [this, sight, reader, stream = request.stream, left = connection.left]() -> Finish {
          const bool flushed = reader->flush(kLongestFlush, [&left] { return !left->load(); });
          return [this, sight, stream, flushed](Connection*) {
            if (!flushed)
              return refusal_line(
                  Error({ErrorCode::kServiceRefused, 0, "the service is too busy to flush now", "try again", {}}));
            hub_.close_frames(sight);
            return to_line(FlushReply{hub_.last_number(sight, stream)});
          };
        });
  } else {
    static_assert(std::same_as<R, SubscribeRequest>);
    const std::size_t capacity =
        std::clamp<std::size_t>(static_cast<std::size_t>(request.capacity_bytes.value_or(kDefaultCapacity)),
                                ServeLimits::kLeastCapacity, options_.limits.bytes_of_subscription());
    if (!charges_.take(peer.uid, Charged::kSubscriptions, 1)) refuse_limit("subscriptions");
    if (!connection.subscription.set(kSubscriptionBytes)) {
      charges_.give_back(peer.uid, Charged::kSubscriptions, 1);
      refuse_limit("bytes");
    }
    connection.stream = std::make_unique<Outbox>(host_, charges_, peer.uid, capacity);
    streams_.emplace(connection.stream.get(), connection.id);
    Newcomer newcomer{.connection = connection.id, .request = request};
    // A filter takes in what lives, whether the client wants to be told of it or not.
    const bool needs_living = request.living_first || !request.filter.rules().empty();
    if (!needs_living || request.from) return welcome(newcomer);
    connection.busy = true;
    ask_living(std::move(newcomer));
  }
}

void Service::ask(Connection& connection, Workers::Kind kind, std::function<Finish()> work) {
  connection.busy = true;
  const uid_t uid = payer(connection.peer.uid);
  const auto unwanted = connection.only_asks ? connection.left : nullptr;
  workers_.ask(kind, uid, [this, id = connection.id, uid, unwanted, work = std::move(work)]() -> Workers::Rest {
    const auto before = cpu_time_of_this_thread();
    Finish finish;
    std::string refusal;
    try {
      if (!unwanted || !unwanted->load()) finish = work();
    } catch (const Error& error) {
      refusal = refusal_line(error);
    } catch (const std::exception&) {
      refusal = refusal_line(Error({ErrorCode::kNoMemory, 0, "the service has no memory for this", {}, {}}));
    }
    return [this, id, uid, finish = std::move(finish), refusal = std::move(refusal),
            used = cpu_time_of_this_thread() - before] {
      const auto before_rest = cpu_time_of_this_thread();
      const auto found = connections_.find(id);
      Connection* const asker = found == connections_.end() ? nullptr : found->second.get();
      std::string line = refusal;
      try {
        if (finish) line = finish(asker);
      } catch (const Error& error) {
        line = refusal_line(error);
      }
      cpu_shares_.charge(uid, used + cpu_time_of_this_thread() - before_rest, Clock::now());
      if (asker == nullptr) return;
      asker->busy = false;
      if (asker->gone) return pending_.push_back(id);
      reply(*asker, std::move(line));
    };
  });
}

namespace {

template <class Counts>
void append_counts(std::string& text, const Counts& counts) {
  text += '{';
  for (bool first = true; const auto& [cause, count] : counts) {
    if (!std::exchange(first, false)) text += ',';
    append_json_text(text, cause);
    fmt::format_to(std::back_inserter(text), ":{}", count);
  }
  text += '}';
}

}  // namespace

std::string Service::status_for(const Sight& sight, const Statistics& statistics,
                                std::map<std::string, std::uint64_t> losses) const {
  std::string text = "{\"tracer_version\":";
  append_json_text(text, TRACER_VERSION);
  text += ",\"session_id\":";
  append_json_text(text, host_.session_id);
  const auto out = std::back_inserter(text);
  const auto uptime = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - began_);
  fmt::format_to(out, ",\"pid\":{},\"uptime_s\":{},\"families\":{}", ::getpid(), uptime.count(),
                 families_text(reader_->families()));
  // Of all threads: of the session, of this service and its workers, and of sinks.
  fmt::format_to(out, ",\"events\":{},\"cost\":{{\"cpu_ns\":{}", statistics.events, clock_ns(CLOCK_PROCESS_CPUTIME_ID));
  if (statistics.cost.kernel_ns) fmt::format_to(out, ",\"kernel_ns\":{}", *statistics.cost.kernel_ns);
  if (statistics.cost.memory_bytes) fmt::format_to(out, ",\"memory_bytes\":{}", *statistics.cost.memory_bytes);
  if (statistics.cost.kernel_memory_bytes)
    fmt::format_to(out, ",\"kernel_memory_bytes\":{}", *statistics.cost.kernel_memory_bytes);
  text += "},\"losses\":";
  struct User {
    Accounts::Account session;
    Charges::Account service;
  };
  std::map<uid_t, User> users;
  for (auto& [uid, account] : reader_->accounts()->all())
    if (may_see(sight, {Audience::kOwner, uid})) users[uid].session = account;
  for (const auto& [uid, account] : charges_.accounts()) {
    if (!may_see(sight, {Audience::kOwner, uid})) continue;
    users[uid].service = account;
    if (account.lost_events != 0) users[uid].session.lost[kServiceQueueFull] += account.lost_events;
  }
  for (const auto& [uid, user] : users)
    for (const auto& [cause, count] : user.session.lost) losses[std::string(cause)] += count;
  append_counts(text, losses);
  text += ",\"users\":[";
  for (bool first = true; const auto& [uid, user] : users) {
    const Charges::Account& service = user.service;
    fmt::format_to(out,
                   "{}{{\"uid\":{},\"connections\":{},\"subscriptions\":{},\"labels\":{},\"bytes\":{},"
                   "\"announcements\":{},\"dropped_events\":{},\"refused\":{},\"lost\":",
                   std::exchange(first, false) ? "" : ",", uid, service.of(Charged::kConnections),
                   service.of(Charged::kSubscriptions), service.of(Charged::kLabels),
                   service.of(Charged::kBytes) + user.session.bytes, reader_->announcements_of(uid).count,
                   service.dropped_events, service.refused);
    append_counts(text, user.session.lost);
    text += '}';
  }
  text += ']';
  if (sight.all) {
    fmt::format_to(out, ",\"connections\":{},\"refused_connections\":{}", connections_.size(), refused_connections_);
    if (options_.more_status) text += ",\"more\":" + options_.more_status();
  }
  return text + '}';
}

}  // namespace tracer::internal
