// SPDX-License-Identifier: Apache-2.0
#include "truth_users.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/fsuid.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "truth_tools.hpp"

namespace truth {
namespace {

void check(bool good, const char* what) {
  if (good) return;
  std::perror(what);
  std::exit(3);
}

void use_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  check(fd >= 0 && ::write(fd, "x", 1) == 1, path.c_str());
  ::close(fd);
}

void send_to(std::uint32_t address) {
  const int fd = ::socket(AF_INET, SOCK_DGRAM, 0);
  sockaddr_in peer{};
  peer.sin_family = AF_INET;
  peer.sin_port = htons(9);
  peer.sin_addr.s_addr = htonl(address);
  check(::connect(fd, reinterpret_cast<const sockaddr*>(&peer), sizeof peer) == 0, "connect");
  // Nobody receives it.
  check(::send(fd, "x", 1, MSG_NOSIGNAL) == 1, "send");
  ::close(fd);
}

/// So many children of a user do something, and live on until `until` is closed. The last one's pid, once all have.
template <class Do>
pid_t crowd(uid_t user, long programs, const int (&until)[2], const Do& act) {
  int done[2];
  check(::pipe(done) == 0, "pipe");
  pid_t last = -1;
  for (long program = 0; program < programs; ++program) {
    last = ::fork();
    check(last >= 0, "fork");
    if (last > 0) continue;
    check(::setresuid(user, user, user) == 0, "setresuid");
    act(program);
    ::close(until[1]);
    check(::write(done[1], "x", 1) == 1, "write");
    char end = 0;
    ::_exit(::read(until[0], &end, 1) == 0 ? 0 : 1);
  }
  char one = 0;
  for (long program = 0; program < programs; ++program) check(::read(done[0], &one, 1) == 1, "read");
  ::close(done[0]);
  ::close(done[1]);
  return last;
}

/// The programs of a greedy user, then one of a modest one; all end together.
template <class Greedy, class Modest>
int crowds(uid_t greedy, long programs, uid_t modest, const Greedy& much, const Modest& little) {
  int until[2];
  check(::pipe(until) == 0, "pipe");
  crowd(greedy, programs, until, much);
  report(static_cast<std::uint64_t>(crowd(modest, 1, until, little)));
  ::close(until[1]);
  int status = 0;
  while (::wait(&status) > 0) check(status == 0, "a child");
  return 0;
}

uid_t user(const Arguments& arguments, std::size_t at) { return static_cast<uid_t>(number(arguments, at)); }

}  // namespace

int act_as_users(const Arguments& arguments) {
  const std::string& folder = arguments.at(0);
  const uid_t other = user(arguments, 1);
  std::uint32_t turn = 0;
  const auto act = [&] {
    ++turn;
    use_file(folder + '/' + std::to_string(turn));
    send_to(0x7f030000u + turn);
  };
  act();
  check(::seteuid(other) == 0, "seteuid");
  act();
  check(::seteuid(0) == 0, "seteuid");
  ::setfsuid(other);
  act();
  ::setfsuid(0);
  // It may become root again.
  check(::setresuid(other, other, 0) == 0, "setresuid");
  act();
  check(::setresuid(other, other, other) == 0, "setresuid");
  act();
  return 0;
}

int peers_of_users(const Arguments& arguments) {
  const auto send_to_all = [](std::uint32_t first, long peers) {
    for (long peer = 0; peer < peers; ++peer) send_to(first + static_cast<std::uint32_t>(peer));
  };
  return crowds(
      user(arguments, 0), number(arguments, 1), user(arguments, 3),
      [&](long) { send_to_all(0x7f040000u, number(arguments, 2)); },
      [&](long) { send_to_all(0x7f050000u, number(arguments, 4)); });
}

int files_of_users(const Arguments& arguments) {
  const std::string& folder = arguments.at(0);
  const auto use_all = [&](const std::string& name, long files) {
    for (long file = 0; file < files; ++file) use_file(folder + '/' + name + std::to_string(file));
  };
  return crowds(
      user(arguments, 1), number(arguments, 2), user(arguments, 4),
      [&](long program) { use_all("greedy" + std::to_string(program) + '-', number(arguments, 3)); },
      [&](long) { use_all("modest", number(arguments, 5)); });
}

}  // namespace truth
