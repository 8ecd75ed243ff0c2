// SPDX-License-Identifier: Apache-2.0
#include "truth_network.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "truth_tools.hpp"

namespace truth {
namespace {

constexpr std::size_t kUp = 100'000;   ///< From the client.
constexpr std::size_t kDown = 30'000;  ///< From the server.
constexpr std::size_t kMessage = 1000;
constexpr std::size_t kDatagram = 10'000;  ///< So few that a socket has room for all.

[[noreturn]] void give_up(const char* what) {
  std::perror(what);
  std::exit(3);
}

int checked(long value, const char* what) {
  if (value < 0) give_up(what);
  return static_cast<int>(value);
}

struct Endpoint {
  sockaddr_storage address{};
  socklen_t size = 0;
};

Endpoint loopback(bool v6, std::uint16_t port) {
  Endpoint end;
  if (v6) {
    auto* address = reinterpret_cast<sockaddr_in6*>(&end.address);
    *address = {};
    address->sin6_family = AF_INET6;
    address->sin6_addr = in6addr_loopback;
    address->sin6_port = htons(port);
    end.size = sizeof *address;
  } else {
    auto* address = reinterpret_cast<sockaddr_in*>(&end.address);
    *address = {};
    address->sin_family = AF_INET;
    address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address->sin_port = htons(port);
    end.size = sizeof *address;
  }
  return end;
}

sockaddr* raw(Endpoint& end) { return reinterpret_cast<sockaddr*>(&end.address); }

std::uint16_t port_of(int fd) {
  Endpoint end;
  end.size = sizeof end.address;
  checked(::getsockname(fd, raw(end), &end.size), "getsockname");
  return ntohs(end.address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&end.address)->sin6_port
                                                 : reinterpret_cast<sockaddr_in*>(&end.address)->sin_port);
}

std::size_t message_of(int fd) {
  int type = 0;
  socklen_t size = sizeof type;
  checked(::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size), "getsockopt");
  return type == SOCK_DGRAM ? kDatagram : kMessage;
}

void put(int fd, std::size_t bytes) {
  const std::string message(message_of(fd), 'x');
  while (bytes != 0) {
    const auto sent = ::send(fd, message.data(), std::min(bytes, message.size()), MSG_NOSIGNAL);
    bytes -= static_cast<std::size_t>(checked(sent, "send"));
  }
}

void put_file(int fd, std::size_t bytes) {
  const int file = checked(::memfd_create("sent", MFD_CLOEXEC), "memfd_create");
  checked(::ftruncate(file, static_cast<off_t>(bytes)), "ftruncate");
  while (bytes != 0) bytes -= static_cast<std::size_t>(checked(::sendfile(fd, file, nullptr, bytes), "sendfile"));
  ::close(file);
}

void get(int fd, std::size_t bytes, bool peeks = false) {
  std::vector<char> room(message_of(fd));
  while (bytes != 0) {
    if (peeks) checked(::recv(fd, room.data(), std::min(bytes, room.size()), MSG_PEEK), "peek");
    const int received = checked(::recv(fd, room.data(), std::min(bytes, room.size()), 0), "recv");
    if (received == 0) give_up("too early an end");
    bytes -= static_cast<std::size_t>(received);
  }
}

void send_descriptor(int through, int fd) {
  char byte = 'x';
  iovec data{&byte, 1};
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = room;
  message.msg_controllen = sizeof room;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof fd);
  std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  checked(::sendmsg(through, &message, 0), "sendmsg");
}

int receive_descriptor(int through) {
  char byte = 0;
  iovec data{&byte, 1};
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = room;
  message.msg_controllen = sizeof room;
  checked(::recvmsg(through, &message, 0), "recvmsg");
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
  return fd;
}

void await(pid_t pid) {
  int status = 0;
  if (::waitpid(pid, &status, 0) != pid || status != 0) give_up("a child");
}

template <class Work>
pid_t child(const Work& work) {
  const pid_t pid = checked(::fork(), "fork");
  if (pid == 0) {
    work();
    ::_exit(0);
  }
  return pid;
}

/// Half of what it has to send is sent by another process.
pid_t put_by_another(const std::string& how, int fd) {
  if (how == "shared") {
    const pid_t other = child([fd] { put(fd, kUp / 2); });
    await(other);
    return other;
  }
  int pair[2];
  checked(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair), "socketpair");
  const pid_t other = child([&pair] { put(receive_descriptor(pair[1]), kUp / 2); });
  send_descriptor(pair[0], fd);
  await(other);
  return other;
}

void talk(const std::string& how, int fd, int report_fd) {
  pid_t other = 0;
  if (how == "shared" || how == "passed") {
    other = put_by_another(how, fd);
    put(fd, kUp / 2);
  } else if (how == "sendfile") {
    put_file(fd, kUp);
  } else {
    put(fd, kUp);
  }
  get(fd, kDown);
  checked(::write(report_fd, &other, sizeof other), "write");
}

/// The descriptor of what listens, or of a datagram socket that waits.
int server(bool v6, bool datagrams) {
  const int fd = checked(::socket(v6 ? AF_INET6 : AF_INET, datagrams ? SOCK_DGRAM : SOCK_STREAM, 0), "socket");
  Endpoint end = loopback(v6, 0);
  checked(::bind(fd, raw(end), end.size), "bind");
  if (!datagrams) checked(::listen(fd, 8), "listen");
  return fd;
}

int client(const std::string& how, bool v6, bool datagrams, std::uint16_t port) {
  const int fd = checked(::socket(v6 ? AF_INET6 : AF_INET, datagrams ? SOCK_DGRAM : SOCK_STREAM, 0), "socket");
  if (how == "bound") {
    // Any port that is free, taken by its name.
    const int any = server(v6, false);
    Endpoint own = loopback(v6, port_of(any));
    ::close(any);
    checked(::bind(fd, raw(own), own.size), "bind");
  }
  Endpoint end = loopback(v6, port);
  checked(::connect(fd, raw(end), end.size), "connect");
  return fd;
}

}  // namespace

int use_network(const Arguments& arguments) {
  const std::string how = arguments.at(0);
  const bool v6 = how == "tcp6" || how == "udp6";
  const bool datagrams = how.starts_with("udp");
  int pipe[2];
  checked(::pipe(pipe), "pipe");
  int unix_pair[2] = {-1, -1};
  if (how == "unix") checked(::socketpair(AF_UNIX, SOCK_STREAM, 0, unix_pair), "socketpair");
  const int listener = how == "unix" ? -1 : server(v6, datagrams);
  const std::uint16_t port = listener < 0 ? 0 : port_of(listener);
  if (how == "refused") {
    ::close(listener);
    const pid_t pid = child([&] {
      for (int i = 0; i < 3; ++i) {
        const int fd = checked(::socket(AF_INET, SOCK_STREAM, 0), "socket");
        Endpoint end = loopback(false, port);
        if (::connect(fd, raw(end), end.size) == 0) std::exit(4);
        ::close(fd);
      }
    });
    await(pid);
    report(static_cast<std::uint64_t>(pid)), report(port), report(0);
    return 0;
  }
  const pid_t pid = child([&] {
    const int fd = how == "unix" ? unix_pair[1] : client(how, v6, datagrams, port);
    talk(how, fd, pipe[1]);
  });
  int fd = how == "unix" ? unix_pair[0] : listener;
  if (datagrams) {
    // The first datagram says who the peer is.
    Endpoint peer;
    peer.size = sizeof peer.address;
    char byte = 0;
    checked(::recvfrom(fd, &byte, 1, MSG_PEEK, raw(peer), &peer.size), "recvfrom");
    checked(::connect(fd, raw(peer), peer.size), "connect");
  } else if (how != "unix") {
    fd = checked(::accept(listener, nullptr, nullptr), "accept");
  }
  get(fd, kUp, how == "peek");
  put(fd, kDown);
  pid_t other = 0;
  checked(::read(pipe[0], &other, sizeof other), "read");
  await(pid);
  report(static_cast<std::uint64_t>(pid)), report(port), report(static_cast<std::uint64_t>(other));
  return 0;
}

namespace {

constexpr int kQuestions = 100;
constexpr std::size_t kMuch = 2u << 20;
constexpr int kSmallRoom = 16 << 10;

void rest_ms(long ms) {
  const timespec pause{0, ms * 1'000'000};
  ::nanosleep(&pause, nullptr);
}

void answer_late(int fd, long delay_ms) {
  char byte = 0;
  while (checked(::recv(fd, &byte, 1, 0), "recv") == 1) {
    rest_ms(delay_ms);
    checked(::send(fd, &byte, 1, MSG_NOSIGNAL), "send");
  }
}

void read_slowly(int fd) {
  std::vector<char> room(kSmallRoom);
  while (checked(::recv(fd, room.data(), room.size(), 0), "recv") > 0) rest_ms(2);
}

/// How long it was in the call.
std::uint64_t ask(int fd, const std::string& how) {
  char byte = 'x';
  checked(::send(fd, &byte, 1, MSG_NOSIGNAL), "send");
  if (how == "polled") {
    pollfd one{fd, POLLIN, 0};
    checked(::poll(&one, 1, -1), "poll");
  }
  const std::uint64_t before_ns = clock_ns(CLOCK_MONOTONIC);
  while (::recv(fd, &byte, 1, how == "tried" ? MSG_DONTWAIT : 0) != 1) rest_ms(1);
  return clock_ns(CLOCK_MONOTONIC) - before_ns;
}

std::uint64_t send_much(int fd) {
  const std::string much(kMuch, 'x');
  const std::uint64_t before_ns = clock_ns(CLOCK_MONOTONIC);
  if (::send(fd, much.data(), much.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(much.size())) give_up("send");
  return clock_ns(CLOCK_MONOTONIC) - before_ns;
}

struct SlowPeer {
  int fd;
  std::uint16_t port;
  pid_t pid;
};

SlowPeer slow_peer(const std::string& how, long delay_ms) {
  int pair[2] = {-1, -1};
  if (how == "unix") checked(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair), "socketpair");
  const int listener = how == "unix" ? -1 : server(false, false);
  if (listener >= 0)
    checked(::setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &kSmallRoom, sizeof kSmallRoom), "setsockopt");
  const std::uint16_t port = listener < 0 ? 0 : port_of(listener);
  const pid_t pid = child([&] {
    if (pair[0] >= 0) ::close(pair[0]);
    const int fd = listener < 0 ? pair[1] : checked(::accept(listener, nullptr, nullptr), "accept");
    how == "send" ? read_slowly(fd) : answer_late(fd, delay_ms);
  });
  if (listener < 0) {
    ::close(pair[1]);
    return {pair[0], 0, pid};
  }
  const int fd = client(how, false, false, port);
  checked(::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &kSmallRoom, sizeof kSmallRoom), "setsockopt");
  ::close(listener);
  return {fd, port, pid};
}

}  // namespace

int wait_for_peers(const Arguments& arguments) {
  const std::string how = arguments.at(0);
  const SlowPeer slow = slow_peer(how, 50);
  const SlowPeer fast = how == "tcp" ? slow_peer(how, 10) : SlowPeer{-1, 0, 0};
  std::uint64_t slow_ns = how == "send" ? send_much(slow.fd) : 0;
  std::uint64_t fast_ns = 0;
  for (int i = 0; i < kQuestions && how != "send"; ++i) {
    slow_ns += ask(slow.fd, how);
    if (fast.fd >= 0) fast_ns += ask(fast.fd, how);
  }
  // Each ends with its connection, of which the one that was made later has a copy.
  ::close(slow.fd);
  if (fast.fd >= 0) {
    ::close(fast.fd);
    await(fast.pid);
  }
  await(slow.pid);
  report(slow.port), report(fast.port), report(slow_ns), report(fast_ns);
  return 0;
}

int many_peers(const Arguments& arguments) {
  const long count = number(arguments, 0);
  const int fd = checked(::socket(AF_INET, SOCK_DGRAM, 0), "socket");
  for (long i = 0; i < count; ++i) {
    Endpoint end = loopback(false, 9);
    reinterpret_cast<sockaddr_in*>(&end.address)->sin_addr.s_addr = htonl(0x7f010000u + static_cast<std::uint32_t>(i));
    checked(::connect(fd, raw(end), end.size), "connect");
    // Nobody receives it.
    if (::send(fd, "x", 1, MSG_NOSIGNAL) < 0 && ::send(fd, "x", 1, MSG_NOSIGNAL) < 0) give_up("send");
  }
  return 0;
}

}  // namespace truth
