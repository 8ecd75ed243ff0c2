// SPDX-License-Identifier: Apache-2.0
#include "truth_waits_peers.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>

#include <functional>
#include <map>

#include "truth_waits_data.hpp"

namespace truth {
namespace {

constexpr std::size_t kPipeBytes = 65536;

using Await = void (*)(int fd, bool to_write);

void by_poll(int fd, bool to_write) {
  pollfd wanted{fd, static_cast<short>(to_write ? POLLOUT : POLLIN), 0};
  ::poll(&wanted, 1, -1);
}

void by_select(int fd, bool to_write) {
  fd_set wanted;
  FD_ZERO(&wanted);
  FD_SET(fd, &wanted);
  ::select(fd + 1, to_write ? nullptr : &wanted, to_write ? &wanted : nullptr, nullptr, nullptr);
}

void by_epoll(int fd, bool to_write) {
  const int set = ::epoll_create1(EPOLL_CLOEXEC);
  epoll_event interest{};
  interest.events = to_write ? EPOLLOUT : EPOLLIN;
  ::epoll_ctl(set, EPOLL_CTL_ADD, fd, &interest);
  ::epoll_wait(set, &interest, 1, -1);
  ::close(set);
}

void tell(std::uint64_t ns, pid_t peer) {
  report(ns);
  report(static_cast<std::uint64_t>(peer));
  reap(peer);
}

/// Another process writes after `ms`.
int empty_pipe(long ms, Await await) {
  const Pipe pipe;
  const pid_t child = in_child([&] {
    sleep_ms(ms);
    pipe.put(1);
  });
  tell(waited_ns([&] { await(pipe.out, false); }), child);
  return 0;
}

/// Another process reads after `ms`.
int full_pipe(long ms, Await await) {
  const Pipe pipe;
  pipe.put(kPipeBytes);
  const pid_t child = in_child([&] {
    sleep_ms(ms);
    pipe.take(kPipeBytes);
  });
  tell(waited_ns([&] { await(pipe.in, true); }), child);
  return 0;
}

int spliced_pipe(long ms) {
  const Pipe pipe;
  const Pipe from;
  from.put(1);
  const pid_t child = in_child([&] {
    sleep_ms(ms);
    ::splice(from.out, nullptr, pipe.in, nullptr, 1, 0);
  });
  tell(waited_ns([&] { by_poll(pipe.out, false); }), child);
  return 0;
}

struct Pair {
  int ours = -1;
  int theirs = -1;
  explicit Pair(int type) {
    int ends[2] = {-1, -1};
    if (::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends) == 0) ours = ends[0], theirs = ends[1];
  }
};

int local_socket(long ms, int type, const std::function<void(int fd)>& await) {
  const Pair pair(type);
  const pid_t child = in_child([&] {
    sleep_ms(ms);
    ::send(pair.theirs, "x", 1, 0);
  });
  tell(waited_ns([&] { await(pair.ours); }), child);
  return 0;
}

void receive(int fd) {
  char byte = 0;
  ::recv(fd, &byte, 1, 0);
}

void read_one(int fd) {
  char byte = 0;
  [[maybe_unused]] const ssize_t got = ::read(fd, &byte, 1);
}

/// By IPv6, where there is one; the one that listens waits in accept for half of the time.
int tcp6(long ms) {
  const int listener = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_loopback;
  socklen_t size = sizeof address;
  if (::bind(listener, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(listener, 1) != 0) {
    report(0);
    report(0);
    return 0;
  }
  ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  const pid_t child = in_child([&] {
    sleep_ms(ms / 2);
    const int connection = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::connect(connection, reinterpret_cast<sockaddr*>(&address), size) != 0) ::_exit(1);
    sleep_ms(ms / 2);
    ::send(connection, "x", 1, 0);
  });
  std::uint64_t accepted = 0;
  const std::uint64_t all = waited_ns([&] {
    int connection = -1;
    accepted = waited_ns([&] { connection = ::accept(listener, nullptr, nullptr); });
    receive(connection);
  });
  tell(all, child);
  report(accepted);
  return 0;
}

/// A server that nobody asks for `ms`.
int accepting(long ms) {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (::bind(listener, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(listener, 1) != 0) return 1;
  ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  const pid_t child = in_child([&] {
    sleep_ms(ms);
    ::connect(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), reinterpret_cast<sockaddr*>(&address), size);
  });
  report(waited_ns([listener] { ::accept(listener, nullptr, nullptr); }));
  reap(child);
  return 0;
}

/// Nobody answers at an address of the documentation's network: it gives up after `ms`.
int network(long ms) {
  const int lonely = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(9);
  ::inet_pton(AF_INET, "192.0.2.1", &address.sin_addr);
  // Without a route it is not connected, and awaits any sender.
  [[maybe_unused]] const int connected = ::connect(lonely, reinterpret_cast<sockaddr*>(&address), sizeof address);
  const timeval patience{ms / 1000, ms % 1000 * 1000};
  ::setsockopt(lonely, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  report(waited_ns([&] { receive(lonely); }));
  return 0;
}

}  // namespace

int wait_for_peer(const std::string& name, long ms) {
  static const std::map<std::string, std::function<int(long)>> all = {
      {"poll_empty", [](long n) { return empty_pipe(n, by_poll); }},
      {"select_empty", [](long n) { return empty_pipe(n, by_select); }},
      {"epoll_empty", [](long n) { return empty_pipe(n, by_epoll); }},
      {"poll_spliced", spliced_pipe},
      {"poll_full", [](long n) { return full_pipe(n, by_poll); }},
      {"select_full", [](long n) { return full_pipe(n, by_select); }},
      {"epoll_full", [](long n) { return full_pipe(n, by_epoll); }},
      {"local_recv", [](long n) { return local_socket(n, SOCK_STREAM, receive); }},
      {"local_read", [](long n) { return local_socket(n, SOCK_STREAM, read_one); }},
      {"local_datagram", [](long n) { return local_socket(n, SOCK_DGRAM, receive); }},
      {"local_poll", [](long n) { return local_socket(n, SOCK_STREAM, [](int fd) { by_poll(fd, false); }); }},
      {"local_epoll", [](long n) { return local_socket(n, SOCK_STREAM, [](int fd) { by_epoll(fd, false); }); }},
      {"tcp6", tcp6},
      {"accept", accepting},
      {"network", network},
  };
  const auto found = all.find(name);
  return found == all.end() ? 96 : found->second(ms);
}

}  // namespace truth
