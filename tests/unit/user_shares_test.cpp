// SPDX-License-Identifier: Apache-2.0
/// Tables of files and peers: who holds most gets no more.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <tracer/event.hpp>

#include "base/user_ids.hpp"
#include "correlate/joins/files.hpp"
#include "correlate/joins/network.hpp"
#include "wire.h"

using namespace tracer;
using namespace tracer::internal;

namespace {

constexpr uid_t kModest = 1000;
constexpr uid_t kGreedy = 1001;
constexpr uid_t kSubordinate = 200'000;

std::shared_ptr<const Process> process_of(std::uint32_t pid, uid_t uid) {
  auto process = std::make_shared<Process>();
  process->pid = pid;
  process->start_ns = 1000;
  process->uid = uid;
  return process;
}

/// The greedy user's subordinate ids are charged to them.
std::shared_ptr<Accounts> accounts() { return std::make_shared<Accounts>(UserIds({{kGreedy, kSubordinate, 65536}})); }

FileUseRecord use_of(const Process& process, std::uint64_t inode, const std::string& path) {
  FileUseRecord record;
  record.identity.pid = process.pid;
  record.identity.start_ns = process.start_ns;
  record.file = {inode, 8, 3, *process.uid};
  record.path = path;
  record.fresh = true;
  record.opens = record.more_opens = 1;
  record.reads = true;
  return record;
}

ConnectionRecord exchange_of(const Process& process, std::uint32_t peer) {
  ConnectionRecord record;
  record.identity.pid = process.pid;
  record.identity.start_ns = record.program_start_ns = process.start_ns;
  record.peer.address = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10};
  record.peer.address[13] = static_cast<std::uint8_t>(peer >> 16);
  record.peer.address[14] = static_cast<std::uint8_t>(peer >> 8);
  record.peer.address[15] = static_cast<std::uint8_t>(peer);
  record.peer.port = 443;
  record.peer.protocol = TRACER_PROTOCOL_UDP;
  record.sent_bytes = 7;
  record.sends = 1;
  return record;
}

template <class E, class Join>
std::vector<E> ends(Join& join, const std::shared_ptr<const Process>& process) {
  std::vector<Event> events;
  join.at_end(5000, process, events);
  std::vector<E> found;
  for (const Event& event : events)
    if (const E* typed = event.get_if<E>()) found.push_back(*typed);
  return found;
}

std::uint64_t lost(const Accounts& accounts, uid_t user, std::string_view cause) {
  const auto all = accounts.all();
  const auto found = all.find(user);
  if (found == all.end()) return 0;
  const auto count = found->second.lost.find(cause);
  return count == found->second.lost.end() ? 0 : count->second;
}

}  // namespace

TEST_CASE("a modest user beside a greedy one keeps all paths, and what is folded is counted and summed up") {
  constexpr std::uint32_t kProcesses = 400;
  const auto charged = accounts();
  FilesJoin join(charged);
  const auto modest = process_of(1, kModest);
  const std::string folder = "/" + std::string(880, 'd');
  for (std::uint64_t i = 0; i < 300; ++i) join.add(use_of(*modest, i + 1, "/own/" + std::to_string(i)), *modest);
  std::vector<std::shared_ptr<const Process>> greedy;
  for (std::uint32_t i = 0; i < kProcesses; ++i) {
    greedy.push_back(process_of(100 + i, i % 2 == 0 ? kGreedy : kSubordinate + i));
    for (std::uint64_t file = 0; file < 100; ++file)
      join.add(use_of(*greedy.back(), file + 1, folder + std::to_string(file) + "/x"), *greedy.back());
  }
  // The table is full, and still the modest one may have more.
  for (std::uint64_t i = 300; i < 1000; ++i) join.add(use_of(*modest, i + 1, "/own/" + std::to_string(i)), *modest);
  std::size_t named = 0;
  for (const FileUse& use : ends<FileUse>(join, modest)) named += use.path ? 1 : 0;
  CHECK(named == 1000);
  std::uint64_t opens = 0;
  std::uint64_t folded = 0;
  for (const auto& process : greedy) {
    const auto uses = ends<FileUse>(join, process);
    folded += uses.size() == 1 ? 1 : 0;
    for (const FileUse& use : uses) opens += use.opens;
  }
  CHECK(opens == std::uint64_t{kProcesses} * 100);
  CHECK(folded > 0);
  CHECK(folded < kProcesses);
  CHECK(lost(*charged, kGreedy, "file_table_full") == folded);
  CHECK(lost(*charged, kModest, "file_table_full") == 0);
  // All that was held is free again.
  for (const auto& [user, account] : charged->all()) CHECK(account.bytes == 0);
}

TEST_CASE("of a process whose files were folded, later ones are folded, too, and no open is counted twice") {
  const auto charged = accounts();
  FilesJoin join(charged);
  const auto first = process_of(1, kGreedy);
  FileUseRecord record = use_of(*first, 1, "/first");
  join.add(record, *first);
  std::vector<std::shared_ptr<const Process>> others;
  const std::string folder = "/" + std::string(3000, 'd');
  for (std::uint32_t i = 0; i < 250; ++i) {
    others.push_back(process_of(100 + i, kGreedy));
    for (std::uint64_t file = 0; file < 50; ++file)
      join.add(use_of(*others.back(), file + 1, folder + std::to_string(file) + "/x"), *others.back());
  }
  record.path.reset();
  record.fresh = false;
  record.opens = 5;
  record.more_opens = 4;
  join.add(record, *first);
  const auto uses = ends<FileUse>(join, first);
  REQUIRE(uses.size() == 1);
  CHECK(uses[0].folded == "others");
  CHECK(uses[0].opens == 5);
}

TEST_CASE("what the kernel side folds as a user has taken its share is counted once a process") {
  const auto charged = accounts();
  FilesJoin files(charged);
  NetworkJoin network(charged);
  const auto process = process_of(1, kSubordinate + 7);
  for (std::uint64_t opens = 1; opens < 9; opens *= 2) {
    FileUseRecord use = use_of(*process, 0, "");
    use.file = {};
    use.path.reset();
    use.no_room = true;
    files.add(use, *process);
    ConnectionRecord exchange = exchange_of(*process, 1);
    exchange.peer = {};
    exchange.peer.folded = exchange.no_room = true;
    exchange.sends = opens;
    network.add(exchange, *process);
  }
  CHECK(lost(*charged, kGreedy, "file_table_full") == 1);
  CHECK(lost(*charged, kGreedy, "peer_table_full") == 1);
}

TEST_CASE("a modest user beside a greedy one keeps all peers, and the bytes of others are summed up") {
  constexpr std::uint32_t kProcesses = 80;
  const auto charged = accounts();
  NetworkJoin join(charged);
  const auto modest = process_of(1, kModest);
  for (std::uint32_t peer = 0; peer < 300; ++peer) join.add(exchange_of(*modest, peer), *modest);
  std::vector<std::shared_ptr<const Process>> greedy;
  for (std::uint32_t i = 0; i < kProcesses; ++i) {
    greedy.push_back(process_of(100 + i, kSubordinate + i));
    for (std::uint32_t peer = 0; peer < 1000; ++peer) join.add(exchange_of(*greedy.back(), peer), *greedy.back());
  }
  for (std::uint32_t peer = 300; peer < 1000; ++peer) join.add(exchange_of(*modest, peer), *modest);
  CHECK(ends<Connection>(join, modest).size() == 1000);
  std::uint64_t bytes = 0;
  std::uint64_t folded = 0;
  for (const auto& process : greedy) {
    const auto connections = ends<Connection>(join, process);
    folded += connections.size() == 1 && connections[0].folded == "others" ? 1 : 0;
    for (const Connection& each : connections) bytes += each.sent_bytes;
  }
  CHECK(folded > 0);
  CHECK(folded < kProcesses);
  CHECK(bytes == std::uint64_t{kProcesses} * 1000 * 7);
  CHECK(lost(*charged, kGreedy, "peer_table_full") == folded);
  CHECK(lost(*charged, kModest, "peer_table_full") == 0);
}

TEST_CASE("uses as different users are apart, and those of a program that another executed are that user's") {
  FilesJoin files(accounts());
  NetworkJoin network(accounts());
  auto process = std::make_shared<Process>(*process_of(1, kModest));
  auto program = std::make_shared<Program>();
  program->exec_euid = 77;
  process->program = program;
  for (const std::uint32_t user : {kModest, uid_t{0}, uid_t{TRACER_USER_OF_PROGRAM}}) {
    FileUseRecord use = use_of(*process, 1, "/a");
    use.file.user = user;
    files.add(use, *process);
    ConnectionRecord exchange = exchange_of(*process, 1);
    exchange.peer.user = user;
    network.add(exchange, *process);
  }
  const auto uses = ends<FileUse>(files, process);
  const auto connections = ends<Connection>(network, process);
  REQUIRE(uses.size() == 3);
  REQUIRE(connections.size() == 3);
  for (const std::uint32_t user : {kModest, uid_t{0}, uid_t{77}}) {
    CHECK(std::count_if(uses.begin(), uses.end(), [&](const auto& use) { return use.euid == user; }) == 1);
    CHECK(std::count_if(connections.begin(), connections.end(), [&](const auto& one) { return one.euid == user; }) ==
          1);
  }
}

TEST_CASE("ranges of subordinate ids apart from each other, each with its user") {
  const UserIds ids({{1000, 100'000, 100}, {1001, 100'050, 100}, {1002, 300'000, 10}});
  const auto apart = ids.apart(9);
  REQUIRE(apart.size() == 4);
  const auto is = [](const SubordinateIds& range, uid_t owner, uid_t first, std::uint64_t count) {
    return range.owner == owner && range.first == first && range.count == count;
  };
  CHECK(is(apart[0], 1000, 100'000, 50));
  CHECK(is(apart[1], 9, 100'050, 50));
  CHECK(is(apart[2], 1001, 100'100, 50));
  CHECK(is(apart[3], 1002, 300'000, 10));
}
