// SPDX-License-Identifier: Apache-2.0
#include "serve/service.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <set>
#include <utility>

#include <fmt/format.h>

#include <tracer/error.hpp>

#include "base/folder.hpp"
#include "serve/past_files.hpp"
#include "serve/restart_keeping.hpp"
#include "session/session_access.hpp"

namespace tracer::internal {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kQueueBytes = 64u << 20;
constexpr std::size_t kReadBytes = 64u << 10;
constexpr int kAcceptsInARound = 64;
constexpr int kLinesInARound = 16;
constexpr milliseconds kListenerRests{100};
/// CPU time beyond the share with which a user gets no further connection.
constexpr CpuShares::Time kBeyondForConnections = std::chrono::milliseconds(500);
constexpr milliseconds kLook{1000};

// What epoll says is which: below these are descriptors, from kFirstConnection on connections.
constexpr std::uint64_t kFirstConnection = 1u << 30;

milliseconds until(Service::Clock::time_point when, Service::Clock::time_point now) {
  return std::max(milliseconds(0), std::chrono::ceil<milliseconds>(when - now));
}

}  // namespace

QueueState::OwnerOf owners_by(std::shared_ptr<Accounts> accounts) {
  return [accounts = std::move(accounts), last = std::optional<uid_t>(), user = uid_t{0}](const Event& event) mutable {
    std::optional<uid_t> uid;
    visit(
        [&uid](const auto& body) {
          if constexpr (requires { body.process->uid; }) {
            uid = body.process->uid;
          } else if constexpr (requires { body.context->owner_uid; }) {
            uid = body.context->owner_uid;
          }
        },
        event);
    if (uid == last) return user;
    last = uid;
    return user = accounts->user_of(uid);
  };
}

Service::Service(Session& session, ServiceOptions options)
    : reader_(SessionAccess::reader(session)),
      options_(std::move(options)),
      host_(session.host()),
      user_ids_(options_.subordinate_ids),
      charges_(options_.limits, reader_->accounts()),
      proven_owners_(std::make_shared<ProvenOwners>(host_mount_namespace())),
      hub_(host_, options_.limits, Ownership(user_ids_, proven_owners_), reader_->accounts()),
      queue_(std::make_shared<QueueState>(QueueOptions{.capacity_bytes = kQueueBytes}, owners_by(reader_->accounts()))),
      mail_(std::make_shared<Mail>()),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      next_id_(kFirstConnection) {
  if (!epoll_) throw Error({ErrorCode::kNoMemory, errno, "can't make a descriptor to wait on", {}, {}});
  reader_->use(user_ids_);
  reader_->use(proven_owners_);
  reader_->keep_state_in(hub_.state());
  if (options_.history) {
    ask_history_ = options_.history->begin_to_answer();
    reader_->use(std::move(options_.history));
  }
  if (options_.by_owner)
    hub_.take_by_owner([this](uid_t owner, const Event& event) { owners_[owner].events.push_back(event); });
  if (options_.keeping) go_on();
  hub_.take_failures(
      [this](const Process& process, const std::optional<uid_t>& owner) { usage_.failed(process, owner.value_or(0)); });
  reader_->fill(queue_);
  for (const int fd : {queue_->fd(), workers_.fd(), mail_->wakeup.fd()}) {
    epoll_event event{EPOLLIN, {.u64 = static_cast<std::uint64_t>(fd)}};
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event);
  }
}

Service::~Service() {
  queue_->abandon();
  while (!connections_.empty()) close(connections_.begin()->first);
}

void Service::listen(UniqueFd socket, bool admin) {
  const int fd = socket.get();
  epoll_event event{EPOLLIN, {.u64 = static_cast<std::uint64_t>(fd)}};
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event);
  listeners_.insert_or_assign(fd, Listener{std::move(socket), admin});
}

void Service::run(milliseconds timeout, int other_fd) {
  const auto end = Clock::now() + timeout;
  do {
    const auto now = Clock::now();
    auto wait = until(std::min(end, next_look_), now);
    if (const auto tick = hub_.next_tick()) wait = std::min(wait, until(*tick, now));
    for (const auto& [fd, listener] : listeners_)
      if (listener.rests_until) wait = std::min(wait, until(*listener.rests_until, now));
    for (const auto& [id, when] : resting_) wait = std::min(wait, until(when, now));
    epoll_event event{EPOLLIN | EPOLLONESHOT, {.u64 = static_cast<std::uint64_t>(other_fd)}};
    if (other_fd >= 0 && ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, other_fd, &event) != 0 && errno == EEXIST)
      ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, other_fd, &event);
    round(pending_.empty() ? static_cast<int>(wait.count()) : 0, other_fd);
    if (std::exchange(other_happened_, false) || queue_ended_) break;
  } while (Clock::now() < end);
  if (other_fd >= 0) ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, other_fd, nullptr);
}

void Service::finish(milliseconds timeout) {
  const auto end = Clock::now() + timeout;
  listeners_.clear();
  finishing_ = true;
  do {
    take_events();
  } while (!queue_ended_);
  deliver_round({});
  for (const auto& [uid, owner] : owners_)
    if (owner.sink) sinks_.push_back(owner.sink);
  for (const auto& sink : sinks_) sink->queue()->end();
  for (const auto& sink : sinks_) sink->finish(Clock::now() + SinkRunner::kMostWait);
  for (auto& [id, connection] : connections_) hub_.close_frames(connection->sight);
  deliver_filled();
  const auto waits = [this] {
    return std::any_of(connections_.begin(), connections_.end(), [](const auto& each) {
      return (each.second->stream && !each.second->stream->empty()) || each.second->has_reply();
    });
  };
  while (waits() && Clock::now() < end) round(20, -1);
}

void Service::round(int timeout_ms, int other_fd) {
  std::array<epoll_event, 256> happened;
  const int count = ::epoll_wait(epoll_.get(), happened.data(), static_cast<int>(happened.size()), timeout_ms);
  bool mail = false;
  bool done = false;
  for (int i = 0; i < count; ++i) {
    const std::uint64_t what = happened[static_cast<std::size_t>(i)].data.u64;
    if (what >= kFirstConnection) {
      // It may have been closed since.
      if (const auto found = connections_.find(what); found != connections_.end())
        serve(*found->second, happened[static_cast<std::size_t>(i)].events);
      continue;
    }
    const int fd = static_cast<int>(what);
    if (fd == other_fd) other_happened_ = true;
    if (fd == workers_.fd()) done = true;
    if (fd == mail_->wakeup.fd()) mail = true;
    if (const auto listener = listeners_.find(fd); listener != listeners_.end()) accept_from(listener->second);
  }
  if (mail) take_mail();
  take_events();
  // Behind the events that were there when they were done.
  if (done)
    for (const Workers::Rest& rest : workers_.take_done()) rest();
  const auto now = Clock::now();
  charge_filters(now);
  if (const auto tick = hub_.next_tick(); tick && *tick <= now) hub_.tick(now);
  wake_rested(now);
  deliver_filled();
  wake_listeners(now);
  if (alone_ != streams_.empty()) {
    alone_ = streams_.empty();
    reader_->let_rest(alone_);
  }
  if (now >= next_look_) {
    next_look_ = now + kLook;
    close_stalled(now);
    workers_.retry();
    cpu_shares_.forget_idle(now);
    filter_shares_.forget_idle(now);
  }
}

void Service::accept_from(Listener& listener) {
  const auto before = cpu_time_of_this_thread();
  const auto now = Clock::now();
  std::map<uid_t, int> accepted;
  int all = 0;
  bool refused = false;
  for (; all < kAcceptsInARound; ++all) {
    UniqueFd socket(::accept4(listener.socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket) {
      const auto user = uid_of_peer(socket.get());
      if (!user) continue;
      ++accepted[payer(*user)];
      if (cpu_shares_.is_beyond(payer(*user), kBeyondForConnections, now)) {
        ++refused_connections_;
        refused = true;
      } else {
        admit(std::move(socket), listener.admin);
      }
      continue;
    }
    if (errno == EINTR || errno == ECONNABORTED) continue;
    // No descriptor, no memory: who waits is served when others have gone.
    if (errno != EAGAIN) rest(listener, now + kListenerRests);
    break;
  }
  if (all == 0) return;
  // One look at the clock for all: there may be tens of thousands in a second.
  const auto used = cpu_time_of_this_thread() - before;
  const auto after = Clock::now();
  for (const auto& [user, count] : accepted) cpu_shares_.charge(user, used / all * count, after);
  // A refusal costs as much as they cost to make: refusing, too, takes no more than the share of a user.
  if (refused) rest(listener, after + used * CpuShares::kShareOfCpu);
}

void Service::rest(Listener& listener, Clock::time_point until) {
  listener.rests_until = std::max(until, listener.rests_until.value_or(until));
  const int fd = listener.socket.get();
  epoll_event event{0, {.u64 = static_cast<std::uint64_t>(fd)}};
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event);
}

void Service::wake_listeners(Clock::time_point now) {
  for (auto& [fd, listener] : listeners_) {
    if (!listener.rests_until || now < *listener.rests_until) continue;
    listener.rests_until.reset();
    epoll_event event{EPOLLIN, {.u64 = static_cast<std::uint64_t>(fd)}};
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event);
  }
}

void Service::refuse_connection(int socket) {
  static const std::string line = refusal_line(Error(
      {ErrorCode::kServiceRefused, 0, "too many connections", "close some, or raise the limit in tracerd.toml", {}}));
  ++refused_connections_;
  // A socket that is new takes a line.
  [[maybe_unused]] const ssize_t sent = ::send(socket, line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void Service::admit(UniqueFd socket, bool admin) {
  auto peer = peer_of(socket.get(), admin);
  if (!peer) return;
  const bool has_room =
      connections_.size() < options_.limits.connections && charges_.take(peer->uid, Charged::kConnections, 1);
  if (!has_room) return refuse_connection(socket.get());
  const uid_t uid = peer->uid;
  const std::uint64_t id = next_id_++;
  try {
    Sight sight = sight_of(*peer, user_ids_, options_.sharing);
    auto connection = std::make_unique<Connection>(id, std::move(socket), std::move(*peer), std::move(sight), charges_);
    epoll_event event{EPOLLIN, {.u64 = id}};
    connection->watched = EPOLLIN;
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, connection->socket.get(), &event) == 0) {
      connections_.emplace(id, std::move(connection));
      return;
    }
  } catch (const std::bad_alloc&) {
    ++refused_connections_;
  }
  charges_.give_back(uid, Charged::kConnections, 1);
}

void Service::close(std::uint64_t id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  Connection& connection = *found->second;
  const uid_t uid = connection.peer.uid;
  if (connection.stream) {
    hub_.leave(*connection.stream, Clock::now());
    streams_.erase(connection.stream.get());
    charges_.give_back(uid, Charged::kSubscriptions, 1);
  }
  if (!connection.labels.empty()) {
    charges_.give_back(uid, Charged::kLabels, connection.labels.size());
    workers_.ask(Workers::Kind::kSession, uid, [reader = reader_, labels = std::move(connection.labels)] {
      for (const auto& [serial, label] : labels) reader->close_label(label);
      return Workers::Rest([] {});
    });
  }
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, connection.socket.get(), nullptr);
  connection.left->store(true);
  resting_.erase(id);
  connections_.erase(found);
  charges_.give_back(uid, Charged::kConnections, 1);
}

void Service::watch(Connection& connection) {
  std::uint32_t wanted = 0;
  // A client of a stream has nothing to say; that it went is always said.
  if (connection.may_read() && !connection.stream && !resting_.contains(connection.id)) wanted |= EPOLLIN;
  const bool streams = connection.stream && !connection.busy && !connection.stream->empty();
  if (connection.has_reply() || streams) wanted |= EPOLLOUT;
  if (wanted == connection.watched) return;
  connection.watched = wanted;
  epoll_event event{wanted, {.u64 = connection.id}};
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, connection.socket.get(), &event);
}

void Service::serve(Connection& connection, std::uint32_t happened) {
  const std::uint64_t id = connection.id;
  const CpuCharge charge(cpu_shares_, payer(connection.peer.uid));
  if ((happened & (EPOLLHUP | EPOLLERR)) != 0) return leave(connection);
  if ((happened & EPOLLOUT) != 0) write_to(connection);
  if (!connections_.contains(id)) return;
  if ((happened & EPOLLIN) != 0 && connection.may_read() && !must_rest(connection)) read_from(connection);
  if (const auto still = connections_.find(id); still != connections_.end()) watch(*still->second);
}

/// Its other end is closed. What it has asked to change is done all the same; what it only asked for is not.
void Service::leave(Connection& connection) {
  if (connection.stream) return close(connection.id);
  // Nothing that it has sent is left to be read.
  std::byte first{};
  if (!connection.busy && connection.lines.held_bytes() == 0 &&
      ::recv(connection.socket.get(), &first, sizeof first, MSG_PEEK | MSG_DONTWAIT) <= 0)
    return close(connection.id);
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, connection.socket.get(), nullptr);
  connection.gone = true;
  connection.left->store(true);
  connection.reply = {};
  connection.reply_at = 0;
  connection.output.set(0);
  if (!connection.busy) pending_.push_back(connection.id);
}

uid_t Service::payer(uid_t peer) const noexcept {
  // Subordinate ids of root's are many, and pay as one.
  constexpr auto kSubordinateToRoot = static_cast<uid_t>(-1);
  const uid_t user = charges_.charged(peer);
  return user == 0 && peer != 0 ? kSubordinateToRoot : user;
}

void Service::charge_filters(Clock::time_point now) {
  std::set<uid_t> beyond;
  for (const auto& [uid, used] : hub_.take_used()) {
    const uid_t user = payer(uid);
    cpu_shares_.charge(user, used, now);
    filter_shares_.charge(user, used, now);
    if (filter_shares_.is_beyond(user, CpuShares::kFarBeyond, now)) beyond.insert(user);
  }
  if (beyond.empty()) return;
  for (Outbox* const outbox : hub_.end_filters([&](uid_t uid) { return beyond.contains(payer(uid)); })) {
    charges_.note_refused(outbox->uid());
    if (const auto stream = streams_.find(outbox); stream != streams_.end()) close(stream->second);
  }
}

bool Service::must_rest(const Connection& connection) {
  const auto until = cpu_shares_.rests_until(payer(connection.peer.uid), Clock::now());
  if (until) resting_.insert_or_assign(connection.id, *until);
  return until.has_value();
}

void Service::wake_rested(Clock::time_point now) {
  for (auto each = resting_.begin(); each != resting_.end();) {
    if (each->second > now) {
      ++each;
      continue;
    }
    pending_.push_back(each->first);
    each = resting_.erase(each);
  }
}

void Service::read_from(Connection& connection) {
  std::array<std::byte, kReadBytes> buffer;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  iovec part{buffer.data(), buffer.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  // Room for the header alone: passed descriptors are closed by the kernel.
  message.msg_controllen = CMSG_LEN(0);
  const ssize_t got = ::recvmsg(connection.socket.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (got < 0) {
    if (connection.gone || (errno != EAGAIN && errno != EINTR)) close(connection.id);
    return;
  }
  if ((message.msg_flags & MSG_CTRUNC) != 0) {
    connection.closing = true;
    return refuse(connection, Error({ErrorCode::kServiceRefused, 0, "descriptors were passed", "pass none", {}}));
  }
  if (got == 0) {
    // It may only have finished asking.
    connection.ended = true;
    if (!connection.busy && !connection.has_reply()) close(connection.id);
    return;
  }
  const auto bytes = std::span(buffer).first(static_cast<std::size_t>(got));
  if (!connection.input.set(connection.lines.held_bytes() + bytes.size())) {
    connection.closing = true;
    return refuse(connection, Error({ErrorCode::kServiceRefused,
                                     0,
                                     "your connections hold too much",
                                     "read replies, and send whole lines",
                                     {}}));
  }
  connection.progress = Clock::now();
  connection.lines.feed(bytes);
  // Nothing reports what else came of one that is gone.
  if (connection.gone) return pending_.push_back(connection.id);
  take_lines(connection);
}

bool Service::take_lines(Connection& connection) {
  if (must_rest(connection)) return true;
  const std::uint64_t id = connection.id;
  int left = kLinesInARound;
  for (; left > 0 && connections_.contains(id); --left) {
    if (connection.busy || connection.has_reply() || connection.closing || connection.stream) break;
    const auto line = connection.lines.next();
    if (!line) break;
    handle(connection, *line);
  }
  if (!connections_.contains(id)) return false;
  if (left == 0) pending_.push_back(id);
  if (connection.lines.too_long() && !connection.closing) {
    connection.closing = true;
    refuse(connection, Error({ErrorCode::kServiceRefused,
                              0,
                              "a line is longer than 256 KiB",
                              "send shorter requests, each with a line end",
                              {}}));
    if (!connections_.contains(id)) return false;
  }
  connection.input.set(connection.lines.held_bytes());
  if (left != 0 && connection.ended && !connection.busy && !connection.has_reply() && !connection.stream) close(id);
  return left == 0;
}

void Service::handle(Connection& connection, std::string_view line) {
  try {
    answer(connection, request_from(line));
  } catch (const Error& error) {
    refuse(connection, error);
  } catch (const std::bad_alloc&) {
    refuse(connection, Error({ErrorCode::kNoMemory, 0, "the service has no memory for this", {}, {}}));
  }
}

void Service::refuse(Connection& connection, const Error& error) { reply(connection, refusal_line(error)); }

void Service::reply(Connection& connection, std::string line) {
  const std::size_t whole = line.size();
  if (line.size() > kMaxReplyBytes)
    line = refusal_line(
        Error({ErrorCode::kServiceRefused, 0, "the reply would be too long", "subscribe, and add up what comes", {}}));
  // A refusal is short, and has always room.
  constexpr std::size_t kShort = 4096;
  if (line.size() > kShort && !connection.output.set(line.size()))
    line = refusal_line(Error(
        {ErrorCode::kServiceRefused, 0, "your connections hold too much", "read the replies of the others first", {}}));
  // What was meant to come with another line.
  if (connection.gone || line.size() != whole) connection.passed.clear();
  if (connection.gone) {
    connection.output.set(0);
    if (connection.closing) return close(connection.id);
    return pending_.push_back(connection.id);
  }
  const std::uint64_t id = connection.id;
  connection.reply = std::move(line);
  connection.reply_at = 0;
  write_to(connection);
  const auto still = connections_.find(id);
  if (still != connections_.end()) watch(*still->second);
}

namespace {

/// Descriptors go with the first byte.
ssize_t send_with(int socket, std::span<const std::byte> bytes, const std::vector<UniqueFd>& fds) {
  iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(PastBatch::kMost * sizeof(int))> control{};
  if (!fds.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
    cmsghdr* const attached = CMSG_FIRSTHDR(&message);
    attached->cmsg_level = SOL_SOCKET;
    attached->cmsg_type = SCM_RIGHTS;
    attached->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
    auto* to = CMSG_DATA(attached);
    for (const UniqueFd& fd : fds) {
      const int number = fd.get();
      std::memcpy(to, &number, sizeof number);
      to += sizeof number;
    }
  }
  return ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace

/// May close it.
void Service::write_to(Connection& connection) {
  const std::uint64_t id = connection.id;
  while (connection.has_reply()) {
    const auto rest = std::as_bytes(std::span(connection.reply).subspan(connection.reply_at));
    const ssize_t sent = send_with(connection.socket.get(), rest, connection.passed);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) {
      if (errno != EAGAIN) close(id);
      return;
    }
    connection.passed.clear();
    connection.reply_at += static_cast<std::size_t>(sent);
    connection.progress = Clock::now();
  }
  if (!connection.reply.empty()) {
    connection.reply = {};
    connection.reply_at = 0;
    connection.output.set(0);
    if (connection.closing) return close(id);
    // What was sent meanwhile waits in the splitter: nothing else reports it.
    if (!connection.stream && connection.lines.held_bytes() != 0) pending_.push_back(id);
    if (connection.ended && connection.lines.held_bytes() == 0 && !connection.busy && !connection.stream)
      return close(id);
  }
  if (!connection.stream || connection.busy) return;
  if (connection.stream->write(connection.socket.get(), Clock::now()) == Outbox::Written::kFailed) return close(id);
  if (queue_ended_ && connection.stream->empty()) ::shutdown(connection.socket.get(), SHUT_WR);
}

void Service::close_stalled(Clock::time_point now) {
  std::vector<std::uint64_t> stalled;
  for (const auto& [id, connection] : connections_) {
    const bool slow_stream = connection->stream && connection->stream->stalled(now, options_.limits.stalled);
    // A reply that nobody reads, or half a line that never ends.
    const bool waits_for_line = connection->may_read() && !resting_.contains(id);
    const bool holds = connection->has_reply() || (connection->lines.held_bytes() != 0 && waits_for_line);
    if (slow_stream || (holds && !connection->stream && now - connection->progress > options_.limits.stalled))
      stalled.push_back(id);
  }
  for (const std::uint64_t id : stalled) close(id);
}

void Service::deliver_filled() {
  for (const std::uint64_t id : std::exchange(pending_, {})) {
    const auto found = connections_.find(id);
    if (found == connections_.end()) continue;
    Connection& connection = *found->second;
    const CpuCharge charge(cpu_shares_, payer(connection.peer.uid));
    const bool goes_on = take_lines(connection);
    if (!connections_.contains(id)) continue;
    if (!connection.gone) {
      watch(connection);
    } else if (!connection.busy && !goes_on) {
      read_from(connection);
    }
  }
  for (Outbox* const outbox : hub_.take_filled()) {
    const auto stream = streams_.find(outbox);
    if (stream == streams_.end()) continue;
    const std::uint64_t id = stream->second;
    Connection& connection = *connections_.at(id);
    if (!connection.has_reply()) write_to(connection);
    if (connections_.contains(id)) watch(connection);
  }
}

}  // namespace tracer::internal
