// SPDX-License-Identifier: Apache-2.0
/// The family network, against programs that exchange known numbers of bytes.
#include <cerrno>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "capture.hpp"
#include "has_family.hpp"
#include "ledger_expect.hpp"
#include "truth.hpp"

namespace {

constexpr std::uint64_t kUp = 100'000;
constexpr std::uint64_t kDown = 30'000;

std::vector<tracer::Connection> connections_of(const Capture& capture, std::uint64_t pid, const std::string& protocol) {
  std::vector<tracer::Connection> found;
  for (const auto& each : capture.all<tracer::Connection>())
    if (each.process->pid == pid && each.protocol == protocol) found.push_back(each);
  return found;
}

/// Its only one.
tracer::Connection connection_of(const Capture& capture, std::uint64_t pid, const std::string& protocol) {
  const auto found = connections_of(capture, pid, protocol);
  CAPTURE(pid);
  REQUIRE(found.size() == 1);
  return found[0];
}

}  // namespace

TEST_CASE("bytes are the sender's and the receiver's, with their peers" * doctest::test_suite("essential")) {
  for (const std::string how : {"tcp4", "tcp6", "bound", "sendfile", "peek"}) {
    CAPTURE(how);
    const Capture capture = trace(truth::call("use_network", {how}));
    if (!has_family(capture, "network")) return;
    REQUIRE(capture.status == 0);
    const auto said = expect::told(capture);
    REQUIRE(said.size() == 3);
    const std::string address = how == "tcp6" ? "::1" : "127.0.0.1";
    const tracer::Connection client = connection_of(capture, said[0], "tcp");
    CHECK(client.role == "client");
    CHECK(client.same_host);
    CHECK(client.remote_address == address);
    CHECK(client.remote_port == said[1]);
    CHECK_FALSE(client.local_port.has_value());
    CHECK(client.sent_bytes == kUp);
    CHECK(client.received_bytes == kDown);
    CHECK(client.sends >= 1);
    CHECK(client.connects == 1u);
    CHECK(client.failed_connects == 0u);
    CHECK_FALSE(client.error.has_value());
    CHECK(client.round_trip_ns.has_value());
    const tracer::Connection server = connection_of(capture, static_cast<std::uint64_t>(capture.pid), "tcp");
    CHECK(server.role == "server");
    CHECK(server.local_port == said[1]);
    CHECK(server.remote_address == address);
    CHECK_FALSE(server.remote_port.has_value());
    CHECK(server.received_bytes == kUp);
    CHECK(server.sent_bytes == kDown);
    CHECK_FALSE(server.connects.has_value());
    // They did not leave this machine.
    CHECK(capture.exit().account.network_sent_bytes == 0u);
    CHECK(capture.exit().account.network_received_bytes == 0u);
  }
}

TEST_CASE("datagrams and local sockets are told apart from TCP") {
  for (const std::string how : {"udp4", "udp6", "unix"}) {
    CAPTURE(how);
    const Capture capture = trace(truth::call("use_network", {how}));
    if (!has_family(capture, "network")) return;
    REQUIRE(capture.status == 0);
    const auto said = expect::told(capture);
    REQUIRE(said.size() == 3);
    const std::string protocol = how == "unix" ? "unix" : "udp";
    const tracer::Connection client = connection_of(capture, said[0], protocol);
    CHECK_FALSE(client.role.has_value());
    CHECK(client.same_host);
    CHECK(client.sent_bytes == kUp);
    CHECK(client.received_bytes == kDown);
    CHECK(client.sends == kUp / (how == "unix" ? 1000 : 10'000));
    CHECK_FALSE(client.round_trip_ns.has_value());
    if (how != "unix") CHECK(client.remote_port == said[1]);
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    for (const auto& each : connections_of(capture, static_cast<std::uint64_t>(capture.pid), protocol)) {
      sent += each.sent_bytes;
      received += each.received_bytes;
    }
    CHECK(sent == kDown);
    CHECK(received == kUp);
  }
}

TEST_CASE("each process has what it sent itself, whoever made the socket") {
  for (const std::string how : {"shared", "passed"}) {
    CAPTURE(how);
    const Capture capture = trace(truth::call("use_network", {how}));
    if (!has_family(capture, "network")) return;
    REQUIRE(capture.status == 0);
    const auto said = expect::told(capture);
    REQUIRE(said.size() == 3);
    const tracer::Connection client = connection_of(capture, said[0], "tcp");
    const tracer::Connection other = connection_of(capture, said[2], "tcp");
    CHECK(client.sent_bytes == kUp / 2);
    CHECK(client.received_bytes == kDown);
    CHECK(other.sent_bytes == kUp / 2);
    CHECK(other.received_bytes == 0);
    CHECK(other.remote_port == said[1]);
    CHECK(other.connects == 0u);
  }
}

TEST_CASE("how long a program waited for an answer is the peer's own, to the last" * doctest::test_suite("essential")) {
  for (const std::string how : {"tcp", "unix", "send"}) {
    CAPTURE(how);
    const Capture capture = trace(truth::call("wait_for_peers", {how}));
    if (!has_family(capture, "network") || !has_family(capture, "waits")) return;
    REQUIRE(capture.status == 0);
    const auto said = expect::told(capture);
    REQUIRE(said.size() == 4);
    const auto& ledger = capture.exit().account.ledger;
    REQUIRE(ledger.has_value());
    std::uint64_t sum_ns = 0;
    for (const auto& [port, truth_ns] : {std::pair(said[0], said[2]), std::pair(said[1], said[3])}) {
      if (truth_ns == 0) continue;
      CAPTURE(truth_ns);
      std::optional<tracer::Connection> found;
      for (const auto& each :
           connections_of(capture, static_cast<std::uint64_t>(capture.pid), how == "unix" ? "unix" : "tcp"))
        if (how == "unix" || each.remote_port == port) found = each;
      REQUIRE(found.has_value());
      REQUIRE(found->wait_ns.has_value());
      CHECK(*found->wait_ns <= truth_ns);
      // The rest of a call is the CPU's, or a queue's.
      CHECK(*found->wait_ns + ledger->run_queue_ns + ledger->cpu_ns + expect::slack_ns(truth_ns) >= truth_ns);
      sum_ns += *found->wait_ns;
    }
    if (how == "tcp") CHECK(said[2] + expect::slack_ns(said[2]) >= 100 * 50 * expect::kMillisecond);
    // Waits for a connection are in the ledger as well, and here there are none.
    CHECK(sum_ns <= ledger->local_socket_ns);
    CHECK(sum_ns + ledger->local_socket_ns / 50 >= ledger->local_socket_ns);
  }
}

TEST_CASE("who waits in a poll, or tries again and again, has no wait for a peer") {
  for (const std::string how : {"polled", "tried"}) {
    CAPTURE(how);
    const Capture capture = trace(truth::call("wait_for_peers", {how}));
    if (!has_family(capture, "network") || !has_family(capture, "waits")) return;
    REQUIRE(capture.status == 0);
    const tracer::Connection connection = connection_of(capture, static_cast<std::uint64_t>(capture.pid), "tcp");
    CHECK(connection.receives == 100);
    CHECK_FALSE(connection.wait_ns.has_value());
  }
}

TEST_CASE("without the family waits no wait for a peer is known") {
  tracer::SessionOptions options;
  options.families = {tracer::Family::kNetwork};
  const Capture capture = trace(truth::call("use_network", {"tcp4"}), options);
  if (!has_family(capture, "network")) return;
  for (const auto& each : capture.all<tracer::Connection>()) CHECK_FALSE(each.wait_ns.has_value());
}

TEST_CASE("connections that are refused are counted, with the error") {
  const Capture capture = trace(truth::call("use_network", {"refused"}));
  if (!has_family(capture, "network")) return;
  REQUIRE(capture.status == 0);
  const auto said = expect::told(capture);
  REQUIRE(said.size() == 3);
  const tracer::Connection client = connection_of(capture, said[0], "tcp");
  CHECK(client.remote_port == said[1]);
  CHECK(client.connects == 3u);
  CHECK(client.failed_connects == 3u);
  CHECK(client.error == ECONNREFUSED);
  CHECK(client.sent_bytes == 0);
}

TEST_CASE("beyond 1,024 peers of a program the rest is folded, and no byte is lost") {
  constexpr std::uint64_t kPeers = 3000;
  const Capture capture = trace(truth::call("many_peers", {std::to_string(kPeers)}));
  if (!has_family(capture, "network")) return;
  REQUIRE(capture.status == 0);
  std::uint64_t sent = 0;
  std::size_t folded = 0;
  std::size_t events = 0;
  for (const auto& each : capture.all<tracer::Connection>()) {
    if (each.process->pid != static_cast<std::uint32_t>(capture.pid)) continue;
    ++events;
    sent += each.sent_bytes;
    folded += each.folded == "others" ? 1 : 0;
  }
  CHECK(folded == 1);
  CHECK(events <= 1025);
  CHECK(events > 1000);
  CHECK(sent == kPeers);
}
