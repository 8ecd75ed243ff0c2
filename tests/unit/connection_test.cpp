// SPDX-License-Identifier: Apache-2.0
/// What becomes of the records of the family network.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <tracer/event.hpp>

#include "collect.hpp"
#include "correlate/joins/network.hpp"
#include "wire_builder.hpp"

using namespace tracer;
using collect::Stages;
using wire::Who;

namespace {

const Who kFetcher{.pid = 42, .start_ns = 1000, .comm = "curl"};

struct Peer {
  std::uint64_t program_start_ns = 1000;
  std::string v4 = {};  ///< Four bytes.
  std::uint16_t port = 443;
  std::uint8_t protocol = TRACER_PROTOCOL_TCP;
  std::uint8_t role = TRACER_ROLE_CLIENT;
  bool same_host = false;
  bool folded = false;
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  std::uint64_t last_ns = 2000;
  std::uint64_t failed_connects = 0;
  std::uint32_t error = 0;
  std::uint64_t calls = 1;
  std::uint64_t wait_ns = 0;
  bool wait_unknown = false;
};

wire::Bytes record_of(const Who& who, const Peer& peer) {
  tracer_wire_connection record{};
  record.header = wire::header_of(TRACER_WIRE_CONNECTION, who, peer.last_ns);
  record.identity = wire::identity_of(who);
  record.key.start_ns = who.start_ns;
  record.key.program_start_ns = peer.program_start_ns;
  record.key.pid = who.pid;
  if (!peer.v4.empty()) {
    record.key.remote[10] = record.key.remote[11] = 0xff;
    std::copy(peer.v4.begin(), peer.v4.end(), record.key.remote + 12);
  }
  record.key.port = peer.port;
  record.key.protocol = peer.protocol;
  record.key.role = peer.role;
  record.key.same_host = peer.same_host ? 1 : 0;
  record.key.folded = peer.folded ? 1 : 0;
  record.sums.sent_bytes = peer.sent;
  record.sums.received_bytes = peer.received;
  record.sums.sends = record.sums.receives = peer.calls;
  record.sums.connects = 1;
  record.sums.failed_connects = peer.failed_connects;
  record.sums.error = peer.error;
  record.sums.round_trip_us = 80;
  record.sums.last_ns = peer.last_ns;
  record.sums.wait_ns = peer.wait_ns;
  record.sums.wait_unknown = peer.wait_unknown ? 1 : 0;
  wire::Bytes bytes;
  wire::append(bytes, record);
  return wire::sized(std::move(bytes));
}

const std::string kServer("\x0a\x01\x02\x03", 4);
const std::string kOther("\x0a\x01\x02\x04", 4);

std::optional<std::uint64_t> wait_of(const std::vector<Connection>& connections, const std::string& address) {
  for (const Connection& each : connections)
    if (each.remote_address == address) return each.wait_ns;
  FAIL("no such peer");
  return std::nullopt;
}

}  // namespace

TEST_CASE("a wait for a peer is known while each of its waits is") {
  Stages stages;
  stages.push(wire::start_record(kFetcher));
  stages.push(record_of(kFetcher, {.v4 = kServer, .last_ns = 2000, .calls = 5, .wait_ns = 70}));
  // The kernel had no room for it in between.
  stages.push(record_of(kFetcher, {.v4 = kServer, .last_ns = 4000, .calls = 1, .wait_ns = 30}));
  stages.push(record_of(kFetcher, {.v4 = kOther, .last_ns = 2000, .calls = 5, .wait_ns = 70, .wait_unknown = true}));
  stages.push(record_of(kFetcher, {.v4 = kOther, .last_ns = 4000, .calls = 1, .wait_ns = 30}));
  const std::string connected("\x0a\x01\x02\x05", 4);
  stages.push(record_of(kFetcher, {.v4 = connected, .calls = 0}));
  stages.push(wire::exit_record(kFetcher, {.time_ns = 9000, .program_start_ns = 1000}));
  const auto connections = stages.all<Connection>();
  REQUIRE(connections.size() == 3);
  CHECK(wait_of(connections, "10.1.2.3") == 100u);
  CHECK_FALSE(wait_of(connections, "10.1.2.4").has_value());
  CHECK_FALSE(wait_of(connections, "10.1.2.5").has_value());
}

TEST_CASE("without waits there is no wait for a peer") {
  Stages stages;
  stages.push(wire::start_record(kFetcher));
  stages.push(record_of(kFetcher, {.v4 = kServer, .last_ns = 2000, .wait_ns = 70}));
  stages.correlator.stop(Family::kWaits, 3000, stages.events);
  stages.push(wire::exit_record(kFetcher, {.time_ns = 9000, .program_start_ns = 1000}));
  const auto connections = stages.all<Connection>();
  REQUIRE(connections.size() == 1);
  CHECK_FALSE(connections[0].wait_ns.has_value());
}

TEST_CASE("a program's sums with a peer are one event, before its process's exit") {
  Stages stages;
  stages.push(wire::start_record(kFetcher));
  stages.push(record_of(kFetcher, {.v4 = kServer, .sent = 10, .received = 100, .last_ns = 2000}));
  stages.push(record_of(kFetcher, {.v4 = kServer, .sent = 30, .received = 500, .last_ns = 4000}));
  // Of two that crossed on their way.
  stages.push(record_of(kFetcher, {.v4 = kServer, .sent = 20, .received = 300, .last_ns = 3000}));
  stages.push(wire::exit_record(kFetcher, {.time_ns = 9000, .program_start_ns = 1000}));
  const auto connections = stages.all<Connection>();
  REQUIRE(connections.size() == 1);
  const Connection& only = connections[0];
  CHECK(only.process->pid == 42);
  CHECK(only.time_ns == 9000);
  CHECK(only.protocol == "tcp");
  CHECK(only.role == "client");
  CHECK(only.remote_address == "10.1.2.3");
  CHECK(only.remote_port == 443u);
  CHECK_FALSE(only.same_host);
  CHECK(only.sent_bytes == 30);
  CHECK(only.received_bytes == 500);
  CHECK(only.round_trip_ns == 10'000u);
  CHECK(only.last_ns == 4000);
  CHECK_FALSE(only.error.has_value());
  CHECK(stages.events.back().kind() != EventKind::kConnection);
  const auto exits = stages.all<ProcessExit>();
  REQUIRE(exits.size() == 1);
  CHECK(exits[0].account.network_sent_bytes == 30u);
  CHECK(exits[0].account.network_received_bytes == 500u);
  CHECK(exits[0].program.account.network_received_bytes == 500u);
}

TEST_CASE("what stays on the machine is no network, and a process without sockets has sent nothing") {
  Stages stages;
  stages.push(wire::start_record(kFetcher));
  stages.push(record_of(kFetcher, {.v4 = kServer, .same_host = true, .sent = 10, .received = 100}));
  stages.push(record_of(
      kFetcher, {.port = 0, .protocol = TRACER_PROTOCOL_UNIX, .role = TRACER_ROLE_NONE, .same_host = true, .sent = 7}));
  const Who other{.pid = 43, .start_ns = 1100, .comm = "sort"};
  stages.push(wire::start_record(other));
  stages.push(wire::exit_record(kFetcher, {.time_ns = 9000, .program_start_ns = 1000}));
  stages.push(wire::exit_record(other, {.time_ns = 9000, .program_start_ns = 1100}));
  CHECK(stages.all<Connection>().size() == 2);
  for (const auto& exit : stages.all<ProcessExit>()) {
    CHECK(exit.account.network_sent_bytes == 0u);
    CHECK(exit.account.network_received_bytes == 0u);
  }
}

TEST_CASE("each program has the bytes that went while it ran, and the process all of them") {
  Stages stages;
  stages.push(wire::start_record(kFetcher));
  stages.push(record_of(kFetcher, {.program_start_ns = 1000, .v4 = kServer, .sent = 5, .received = 50}));
  stages.push(wire::exec_record(kFetcher, {.time_ns = 3000, .program_start_ns = 1000}));
  stages.push(record_of(kFetcher, {.program_start_ns = 3000, .v4 = kServer, .sent = 7, .received = 70}));
  // Too late: it is of the program before.
  stages.push(record_of(kFetcher, {.program_start_ns = 1000, .v4 = kServer, .sent = 9, .received = 90}));
  stages.push(wire::exit_record(kFetcher, {.time_ns = 9000, .program_start_ns = 3000}));
  const auto execs = stages.all<ProcessExec>();
  REQUIRE(execs.size() == 1);
  CHECK(execs[0].ended.account.network_received_bytes == 50u);
  const auto exits = stages.all<ProcessExit>();
  REQUIRE(exits.size() == 1);
  CHECK(exits[0].program.account.network_received_bytes == 70u);
  CHECK(exits[0].account.network_received_bytes == 120u);
  CHECK(exits[0].account.network_sent_bytes == 12u);
  CHECK(stages.all<Connection>().size() == 2);
}

TEST_CASE("sums that the kernel had given up, and began anew, are added to those before") {
  Stages stages;
  stages.push(wire::start_record(kFetcher));
  stages.push(record_of(kFetcher, {.v4 = kServer, .sent = 1000, .received = 50, .last_ns = 2000, .calls = 9}));
  stages.push(record_of(kFetcher, {.v4 = kServer, .sent = 3, .received = 4, .last_ns = 3000, .calls = 1}));
  stages.push(record_of(kFetcher, {.v4 = kServer, .sent = 10, .received = 20, .last_ns = 4000, .calls = 2}));
  stages.push(wire::exit_record(kFetcher, {.time_ns = 9000, .program_start_ns = 1000}));
  const auto connections = stages.all<Connection>();
  REQUIRE(connections.size() == 1);
  CHECK(connections[0].sent_bytes == 1010);
  CHECK(connections[0].received_bytes == 70);
  CHECK(connections[0].sends == 11);
  CHECK(stages.all<ProcessExit>().at(0).account.network_sent_bytes == 1010u);
}

TEST_CASE("datagrams whose peer is not known are in no account") {
  Stages stages;
  stages.push(wire::start_record(kFetcher));
  stages.push(record_of(kFetcher, {.port = 0, .protocol = TRACER_PROTOCOL_UDP, .role = 0, .sent = 10}));
  stages.push(wire::exit_record(kFetcher, {.time_ns = 9000, .program_start_ns = 1000}));
  CHECK(stages.all<Connection>().size() == 1);
  CHECK(stages.all<ProcessExit>().at(0).account.network_sent_bytes == 0u);
}

TEST_CASE("a server's peers are named by its own port, a failed connect by its error, folded ones by nothing") {
  Stages stages;
  stages.push(wire::start_record(kFetcher));
  stages.push(record_of(kFetcher, {.v4 = kServer, .port = 8080, .role = TRACER_ROLE_SERVER, .received = 1}));
  stages.push(record_of(kFetcher, {.v4 = kServer, .port = 22, .failed_connects = 1, .error = 111}));
  stages.push(record_of(kFetcher, {.port = 0, .protocol = 0, .role = 0, .folded = true, .sent = 3}));
  stages.push(wire::exit_record(kFetcher, {.time_ns = 9000, .program_start_ns = 1000}));
  int seen = 0;
  for (const auto& each : stages.all<Connection>()) {
    if (each.folded) {
      ++seen;
      CHECK(each.folded == "others");
      CHECK_FALSE(each.protocol.has_value());
      CHECK_FALSE(each.remote_address.has_value());
      CHECK_FALSE(each.remote_port.has_value());
    } else if (each.role == "server") {
      ++seen;
      CHECK(each.local_port == 8080u);
      CHECK_FALSE(each.remote_port.has_value());
      CHECK(each.remote_address == "10.1.2.3");
      CHECK_FALSE(each.connects.has_value());
    } else {
      ++seen;
      CHECK(each.failed_connects == 1u);
      CHECK(each.error == 111);
    }
  }
  CHECK(seen == 3);
}

TEST_CASE("where a program's peers find no room, those that are not told apart are summed up all the same") {
  constexpr std::uint32_t kPeers = internal::NetworkJoin::kMostBytes / 64;
  Stages stages;
  stages.push(wire::start_record(kFetcher));
  for (std::uint32_t i = 0; i < kPeers; ++i) {
    const std::string address{'\x0a', static_cast<char>(i >> 16), static_cast<char>(i >> 8), static_cast<char>(i)};
    stages.push(record_of(kFetcher, {.v4 = address, .sent = 1}));
  }
  stages.push(record_of(kFetcher, {.port = 0, .protocol = 0, .role = 0, .folded = true, .sent = 7}));
  stages.push(record_of(kFetcher, {.port = 0, .protocol = 0, .role = 0, .folded = true, .sent = 9, .last_ns = 3000}));
  stages.push(wire::exit_record(kFetcher, {.time_ns = 9000, .program_start_ns = 1000}));
  const auto connections = stages.all<Connection>();
  REQUIRE(connections.size() == 2);
  std::uint64_t sent = 0;
  for (const Connection& each : connections) {
    CHECK(each.folded == "others");
    sent += each.sent_bytes;
  }
  CHECK(sent > 10'000);
  CHECK(stages.all<ProcessExit>().at(0).account.network_sent_bytes == sent);
}

TEST_CASE("what lives on at the session's end is reported, and what is malformed is not") {
  Stages stages;
  stages.push(wire::start_record(kFetcher));
  stages.push(record_of(kFetcher, {.v4 = kServer, .sent = 10}));
  stages.push(record_of(kFetcher, {.v4 = kServer, .protocol = 9, .sent = 10}));
  stages.push(record_of(kFetcher, {.v4 = kServer, .role = 7, .sent = 10}));
  stages.correlator.end(8000, stages.events);
  const auto connections = stages.all<Connection>();
  REQUIRE(connections.size() == 1);
  CHECK(connections[0].time_ns == 8000);
}
