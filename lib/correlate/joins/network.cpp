// SPDX-License-Identifier: Apache-2.0
#include "correlate/joins/network.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "correlate/joins/acting_user.hpp"
#include "wire.h"

namespace tracer::internal {
namespace {

constexpr std::string_view kPeerTableFull = "peer_table_full";
/// As the port of peers that are folded here: the source has 0.
constexpr std::uint16_t kFoldedHere = 1;

using Address = std::array<std::uint8_t, 16>;

/// Of IPv4 in its own notation.
std::optional<std::string> text_of(const Address& address) {
  if (address == Address{}) return std::nullopt;
  constexpr Address kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  constexpr std::size_t kMappedBytes = 12;
  const bool is_v4 = std::equal(address.begin(), address.begin() + kMappedBytes, kMapped.begin());
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (::inet_ntop(is_v4 ? AF_INET : AF_INET6, address.data() + (is_v4 ? kMappedBytes : 0), text.data(), text.size()) ==
      nullptr)
    return std::nullopt;
  return text.data();
}

std::optional<std::string> name_of_protocol(std::uint8_t protocol) {
  switch (protocol) {
    case TRACER_PROTOCOL_TCP: return "tcp";
    case TRACER_PROTOCOL_UDP: return "udp";
    case TRACER_PROTOCOL_UNIX: return "unix";
    default: return std::nullopt;
  }
}

void set_bytes(Account& account, std::uint64_t sent, std::uint64_t received) {
  account.network_sent_bytes = sent;
  account.network_received_bytes = received;
}

}  // namespace

NetworkJoin::Sums::Sums(const ConnectionRecord& record)
    : local_address(record.local_address),
      sent_bytes(record.sent_bytes),
      received_bytes(record.received_bytes),
      sends(record.sends),
      receives(record.receives),
      connects(record.connects),
      failed_connects(record.failed_connects),
      retransmits(record.retransmits),
      last_ns(record.last_ns),
      round_trip_ns(record.round_trip_ns),
      wait_ns(record.wait_ns),
      error(record.error.value_or(0)) {}

void NetworkJoin::Sums::add(const Sums& later) {
  local_address = later.local_address;
  sent_bytes += later.sent_bytes;
  received_bytes += later.received_bytes;
  sends += later.sends;
  receives += later.receives;
  connects += later.connects;
  failed_connects += later.failed_connects;
  retransmits += later.retransmits;
  last_ns = later.last_ns;
  if (later.round_trip_ns.known()) round_trip_ns = later.round_trip_ns;
  wait_ns.add(later.wait_ns);
  if (later.error != 0) error = later.error;
}

NetworkJoin::Sums NetworkJoin::Exchanged::sum() const {
  if (!before) return now;
  Sums sum = *before;
  sum.add(now);
  return sum;
}

NetworkJoin::NetworkJoin(std::shared_ptr<Accounts> accounts)
    : accounts_(std::move(accounts)),
      peers_(kMostBytes, kPeerTableFull, accounts_,
             [this](std::uint32_t pid, const Peers& peers) { fold(pid, peers); }) {}

Connection NetworkJoin::connection_of(const ConnectionRecord::Peer& peer, const Exchanged& exchanged) {
  const Sums sums = exchanged.sum();
  const bool is_tcp = peer.protocol == TRACER_PROTOCOL_TCP;
  const bool is_server = peer.role == TRACER_ROLE_SERVER;
  const bool is_client = peer.role == TRACER_ROLE_CLIENT;
  Connection connection;
  connection.protocol = name_of_protocol(peer.protocol);
  if (is_server) connection.role = "server";
  if (is_client) connection.role = "client";
  connection.same_host = peer.same_host;
  connection.remote_address = text_of(peer.address);
  if (is_server) {
    connection.local_port = peer.port;
  } else if (connection.remote_address && peer.port != 0) {
    connection.remote_port = peer.port;
  }
  connection.local_address = text_of(sums.local_address);
  if (peer.folded) connection.folded = "others";
  connection.sent_bytes = sums.sent_bytes;
  connection.received_bytes = sums.received_bytes;
  connection.sends = sums.sends;
  connection.receives = sums.receives;
  if (is_client) {
    connection.connects = sums.connects;
    connection.failed_connects = sums.failed_connects;
    if (sums.error != 0) connection.error = sums.error;
  }
  if (is_tcp) {
    connection.retransmits_at_least = sums.retransmits;
    connection.round_trip_ns = sums.round_trip_ns.value();
  }
  connection.last_ns = sums.last_ns;
  connection.euid = exchanged.euid;
  // Nobody waits for what is only connected.
  if (sums.sends + sums.receives != 0) connection.wait_ns = sums.wait_ns.value();
  return connection;
}

NetworkJoin::Sockets* NetworkJoin::find(std::uint32_t pid, std::uint64_t start_ns) {
  const auto found = processes_.find(pid);
  return found != processes_.end() && found->second.start_ns == start_ns ? &found->second : nullptr;
}

void NetworkJoin::erase(std::uint32_t pid) {
  peers_.erase(pid);
  processes_.erase(pid);
}

NetworkJoin::Sockets& NetworkJoin::sockets_of(const ConnectionRecord& record) {
  const std::uint32_t pid = record.identity.pid;
  if (!find(pid, record.identity.start_ns)) erase(pid);
  Sockets& sockets = processes_[pid];
  sockets.start_ns = record.identity.start_ns;
  return sockets;
}

/// The newest record has the sums so far: they only grow.
void NetworkJoin::add(Peers& peers, const ConnectionRecord& record, const Process& process) {
  auto peer = peers.find(record.peer);
  if (peer == peers.end()) {
    peers.emplace(record.peer, Exchanged{Sums(record), {}, acting_user(record.peer.user, process)});
    return;
  }
  Exchanged& exchanged = peer->second;
  Sums& now = exchanged.now;
  if (record.last_ns < now.last_ns) return;
  // Sums only grow, unless a record found no room.
  const bool began_anew = record.sends < now.sends || record.receives < now.receives || record.connects < now.connects;
  if (began_anew) exchanged.before = std::make_unique<Sums>(exchanged.sum());
  now = Sums(record);
}

void NetworkJoin::add(const ConnectionRecord& record, const Process& process) {
  Sockets& sockets = sockets_of(record);
  // A record of a program that has ended is too late: all of it was said at its end.
  if (record.program_start_ns < sockets.program_start_ns) return;
  sockets.program_start_ns = record.program_start_ns;
  if (record.no_room && !std::exchange(sockets.no_room, true))
    accounts_->note_lost(accounts_->user_of(process.uid), kPeerTableFull);
  if (record.peer.folded) return add(sockets.others, record, process);
  if (sockets.folded) return;
  const std::uint32_t pid = record.identity.pid;
  Peers* peers = peers_.find(pid);
  if (peers == nullptr) peers = peers_.put(pid, process.uid, 0, {});
  if (peers == nullptr) return;
  add(*peers, record, process);
  if (peers_.charge(pid, peers->size() * kPeerBytes)) return;
  // Nobody holds more than this program alone.
  fold(pid, *peers);
  peers_.erase(pid);
  accounts_->note_lost(accounts_->user_of(process.uid), kPeerTableFull);
}

void NetworkJoin::fold(std::uint32_t pid, const Peers& peers) {
  Sockets& sockets = processes_[pid];
  sockets.folded = true;
  for (const auto& [peer, exchanged] : peers) {
    ConnectionRecord::Peer others;
    others.port = kFoldedHere;
    others.folded = true;
    // Where it went is not known: it is not counted as between machines.
    others.same_host = peer.same_host || peer.address == Address{};
    const auto known = sockets.others.find(others);
    if (known == sockets.others.end())
      sockets.others.emplace(others, Exchanged{exchanged.sum()});
    else
      known->second.now.add(exchanged.sum());
  }
}

NetworkJoin::Peers NetworkJoin::take(std::uint32_t pid, Sockets& sockets) {
  Peers peers = std::exchange(sockets.others, {});
  if (Peers* const told_apart = peers_.find(pid)) peers.merge(*told_apart);
  peers_.erase(pid);
  sockets.folded = sockets.no_room = false;
  return peers;
}

/// Between machines.
NetworkJoin::Bytes NetworkJoin::bytes_of(const Peers& peers) {
  Bytes bytes;
  for (const auto& [peer, exchanged] : peers) {
    // Where a datagram went through a socket without a peer is not known.
    const bool has_peer = peer.folded || peer.address != Address{};
    if (peer.same_host || !has_peer) continue;
    const Sums sums = exchanged.sum();
    bytes.sent += sums.sent_bytes;
    bytes.received += sums.received_bytes;
  }
  return bytes;
}

void NetworkJoin::report(const Peers& peers, std::uint64_t time_ns, const std::shared_ptr<const Process>& process,
                         std::vector<Event>& events) {
  for (const auto& [peer, exchanged] : peers) {
    Connection connection = connection_of(peer, exchanged);
    if (!waits_) connection.wait_ns.reset();
    connection.time_ns = time_ns;
    connection.process = process;
    events.emplace_back(std::move(connection));
  }
}

void NetworkJoin::at_exec(const ExecRecord& record, const std::shared_ptr<const Process>& before, ProcessExec& exec,
                          std::vector<Event>& events) {
  if (before) set_bytes(exec.ended.account, 0, 0);
  Sockets* const sockets = find(record.identity.pid, record.identity.start_ns);
  if (!sockets) return;
  const Peers peers = take(record.identity.pid, *sockets);
  sockets->program_start_ns = record.identity.time_ns;
  if (!before) return;
  const Bytes bytes = bytes_of(peers);
  set_bytes(exec.ended.account, bytes.sent, bytes.received);
  sockets->before.sent += bytes.sent;
  sockets->before.received += bytes.received;
  report(peers, exec.time_ns, before, events);
}

void NetworkJoin::at_exit(const ExitRecord& record, ProcessExit& exit, std::vector<Event>& events) {
  set_bytes(exit.program.account, 0, 0);
  set_bytes(exit.account, 0, 0);
  Sockets* const sockets = find(record.identity.pid, record.identity.start_ns);
  if (!sockets) return;
  const Peers peers = take(record.identity.pid, *sockets);
  const Bytes bytes = bytes_of(peers);
  set_bytes(exit.program.account, bytes.sent, bytes.received);
  set_bytes(exit.account, sockets->before.sent + bytes.sent, sockets->before.received + bytes.received);
  report(peers, exit.time_ns, exit.process, events);
  erase(record.identity.pid);
}

void NetworkJoin::at_sample(ProcessSample& sample) {
  set_bytes(sample.account, 0, 0);
  const Sockets* const sockets = find(sample.process->pid, sample.process->start_ns);
  if (!sockets) return;
  Bytes bytes = bytes_of(sockets->others);
  if (const Peers* const told_apart = peers_.find(sample.process->pid)) {
    const Bytes more = bytes_of(*told_apart);
    bytes.sent += more.sent;
    bytes.received += more.received;
  }
  set_bytes(sample.account, sockets->before.sent + bytes.sent, sockets->before.received + bytes.received);
}

void NetworkJoin::at_end(std::uint64_t time_ns, const std::shared_ptr<const Process>& process,
                         std::vector<Event>& events) {
  Sockets* const sockets = find(process->pid, process->start_ns);
  if (!sockets) return;
  report(take(process->pid, *sockets), time_ns, process, events);
  erase(process->pid);
}

void NetworkJoin::forget(std::uint32_t pid, std::uint64_t start_ns) {
  if (find(pid, start_ns)) erase(pid);
}

}  // namespace tracer::internal
