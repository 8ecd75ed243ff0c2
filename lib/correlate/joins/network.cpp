// SPDX-License-Identifier: Apache-2.0
#include "correlate/joins/network.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "wire.h"

namespace tracer::internal {
namespace {

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

Connection NetworkJoin::connection_of(const ConnectionRecord::Peer& peer, const Sums& sums) {
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
  // Nobody waits for what is only connected.
  if (sums.sends + sums.receives != 0) connection.wait_ns = sums.wait_ns.value();
  return connection;
}

NetworkJoin::Sockets* NetworkJoin::find(std::uint32_t pid, std::uint64_t start_ns) {
  const auto found = processes_.find(pid);
  return found != processes_.end() && found->second.start_ns == start_ns ? &found->second : nullptr;
}

void NetworkJoin::erase(std::uint32_t pid) {
  const auto found = processes_.find(pid);
  if (found == processes_.end()) return;
  peers_ -= found->second.peers.size();
  processes_.erase(found);
}

/// The newest record has the sums so far: they only grow.
void NetworkJoin::add(const ConnectionRecord& record) {
  const std::uint32_t pid = record.identity.pid;
  if (!find(pid, record.identity.start_ns)) erase(pid);
  Sockets& sockets = processes_[pid];
  sockets.start_ns = record.identity.start_ns;
  // A record of a program that has ended is too late: all of it was said at its end.
  if (record.program_start_ns < sockets.program_start_ns) return;
  sockets.program_start_ns = record.program_start_ns;
  auto peer = sockets.peers.find(record.peer);
  if (peer == sockets.peers.end()) {
    // Whatever else is left out, the sums of those that are not told apart are kept.
    if (peers_ >= kMostPeers && !record.peer.folded) return;
    sockets.peers.emplace(record.peer, Exchanged{Sums(record)});
    ++peers_;
    return;
  }
  auto& [now, before] = peer->second;
  if (record.last_ns < now.last_ns) return;
  // Sums only grow, unless the kernel had no room for them in between.
  const bool began_anew = record.sends < now.sends || record.receives < now.receives || record.connects < now.connects;
  if (began_anew) before = std::make_unique<Sums>(peer->second.sum());
  now = Sums(record);
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
    Connection connection = connection_of(peer, exchanged.sum());
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
  const Peers peers = std::exchange(sockets->peers, {});
  peers_ -= peers.size();
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
  const Bytes bytes = bytes_of(sockets->peers);
  set_bytes(exit.program.account, bytes.sent, bytes.received);
  set_bytes(exit.account, sockets->before.sent + bytes.sent, sockets->before.received + bytes.received);
  report(sockets->peers, exit.time_ns, exit.process, events);
  erase(record.identity.pid);
}

void NetworkJoin::at_sample(ProcessSample& sample) {
  set_bytes(sample.account, 0, 0);
  const Sockets* const sockets = find(sample.process->pid, sample.process->start_ns);
  if (!sockets) return;
  const Bytes bytes = bytes_of(sockets->peers);
  set_bytes(sample.account, sockets->before.sent + bytes.sent, sockets->before.received + bytes.received);
}

void NetworkJoin::at_end(std::uint64_t time_ns, const std::shared_ptr<const Process>& process,
                         std::vector<Event>& events) {
  Sockets* const sockets = find(process->pid, process->start_ns);
  if (!sockets) return;
  report(sockets->peers, time_ns, process, events);
  erase(process->pid);
}

void NetworkJoin::forget(std::uint32_t pid, std::uint64_t start_ns) {
  if (find(pid, start_ns)) erase(pid);
}

}  // namespace tracer::internal
