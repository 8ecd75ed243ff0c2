// SPDX-License-Identifier: Apache-2.0
/// A service at a real socket, over a session that no kernel feeds.
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <doctest/doctest.h>

#include <tracer/session.hpp>
#include <tracer/testing.hpp>

#include "base/clock.hpp"
#include "base/unique_fd.hpp"
#include "serve/listener.hpp"
#include "serve/server.hpp"
#include "session/reader.hpp"
#include "session/session_access.hpp"
#include "temp_file.hpp"

using namespace tracer;
using namespace tracer::internal;
using std::chrono::milliseconds;

namespace {

constexpr uid_t kAlice = 20011;

/// Everybody who connects sees all.
struct Running {
  explicit Running(ServiceOptions options)
      : session(fake.source(), session_options()), server(session, std::move(options)) {
    ::chmod(folder.folder().c_str(), 0755);
    server.listen(listen_on(path(), 0666), true);
    session.start();
  }
  ~Running() { session.stop(); }
  std::string path() const { return (folder.folder() / "s.sock").string(); }
  static SessionOptions session_options() {
    SessionOptions options;
    options.reader = tracer::ReaderMode::kOwnThread;
    return options;
  }
  template <class Condition>
  bool until(Condition so) {
    for (int i = 0; i < 1500 && !so(); ++i) server.run(milliseconds(10), -1);
    return so();
  }

  TempFile folder;
  testing::FakeSource fake;
  Session session;
  Server server;
};

/// A connection that a process of this user has made.
struct Client {
  Client(const Running& service, uid_t uid) : socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = service.path();
    std::copy(path.begin(), path.end(), address.sun_path);
    const pid_t child = ::fork();
    if (child == 0) {
      const bool is_user = uid == ::geteuid() || ::setresuid(uid, uid, uid) == 0;
      ::_exit(is_user && ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? 0
                                                                                                                   : 1);
    }
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(status == 0);
  }
  void send(std::string_view text) {
    REQUIRE(::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size()));
  }
  /// Those that have come so far.
  std::size_t replies() {
    std::array<char, 65536> buffer;
    for (ssize_t got = 0; (got = ::recv(socket.get(), buffer.data(), buffer.size(), 0)) > 0;)
      lines += static_cast<std::size_t>(std::count(buffer.begin(), buffer.begin() + got, '\n'));
    return lines;
  }
  UniqueFd socket;
  std::size_t lines = 0;
};

std::string times(int count, std::string_view line) {
  std::string all;
  for (int i = 0; i < count; ++i) all.append(line);
  return all;
}

void consume(std::uint64_t cpu_ns) {
  const std::uint64_t end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + cpu_ns;
  while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end) {
  }
}

/// Does `work` for each answer to kStatus.
ServiceOptions answering_status(std::function<void()> work) {
  ServiceOptions options;
  options.more_status = [work = std::move(work)] {
    work();
    return std::string("{}");
  };
  return options;
}

constexpr std::string_view kHello = "{\"request\":\"hello\"}\n";
constexpr std::string_view kStatus = "{\"request\":\"status\"}\n";

}  // namespace

TEST_CASE("what a client only asked for is not done once it has gone") {
  const auto asked = std::make_shared<std::atomic<int>>(0);
  Running service(answering_status([asked] { ++*asked; }));
  {
    Client there(service, ::geteuid());
    there.send(times(40, kStatus));
    REQUIRE(service.until([&] { return there.replies() == 40; }));
    CHECK(*asked == 40);
  }
  {
    Client gone(service, ::geteuid());
    gone.send(times(200, kStatus) + times(200, kHello) + "{\"request\":\"sta");
  }
  REQUIRE(service.until([&] { return service.server.connections() == 0; }));
  CHECK(*asked == 40);
}

TEST_CASE("what a client asked to change is done after it has gone, behind much that it only asked for") {
  if (::geteuid() != 0) return;
  Running service{ServiceOptions()};
  const TempFile own;
  REQUIRE(::chown(own.folder().c_str(), kAlice, kAlice) == 0);
  {
    Client gone(service, kAlice);
    gone.send(times(100, kHello) + "{\"request\":\"announce\",\"key\":{\"work_dir\":\"" + own.folder().string() +
              "\"},\"context\":{\"task\":\"t\"}}\n");
  }
  const auto reader = SessionAccess::reader(service.session);
  CHECK(service.until([&] { return reader->announcements_of(kAlice).count == 1; }));
  CHECK(service.until([&] { return service.server.connections() == 0; }));
}

TEST_CASE("a user whose requests have taken too much CPU time waits, and others do not") {
  if (::geteuid() != 0) return;
  Running service(answering_status([] { consume(1'000'000'000); }));
  Client alice(service, kAlice);
  Client other_of_alice(service, kAlice);
  Client root(service, 0);
  alice.send(kStatus);
  REQUIRE(service.until([&] { return alice.replies() == 1; }));
  alice.send(kHello);
  other_of_alice.send(kHello);
  // For three seconds, Alice has had her share.
  root.send(times(20, kHello));
  REQUIRE(service.until([&] { return root.replies() == 20; }));
  CHECK(alice.replies() == 1);
  CHECK(other_of_alice.replies() == 0);
  CHECK(service.until([&] { return alice.replies() == 2 && other_of_alice.replies() == 1; }));
}
