// SPDX-License-Identifier: Apache-2.0
/// What is done for users beside the events, and the questions that are asked so.
#include "base/user_threads.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include <doctest/doctest.h>

#include "base/cpu_shares.hpp"
#include "base/patience.hpp"
#include "base/user_questions.hpp"

using namespace tracer::internal;

namespace {

using std::chrono::milliseconds;
using Flag = std::shared_ptr<std::atomic<bool>>;

Flag flag() { return std::make_shared<std::atomic<bool>>(false); }

template <class Is>
bool comes(Is is) {
  for (int n = 0; n < 60'000 && !is(); ++n) ::usleep(1000);
  return is();
}

UserThreads::Job waits_for(const Flag& go) {
  return [go] {
    while (!go->load()) ::usleep(1000);
  };
}

/// As a user for whom no process may be made any more: root is always let.
int without_threads() {
  if (::geteuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) return 10;
  rlimit limit{};
  ::getrlimit(RLIMIT_NPROC, &limit);
  const rlimit none{0, limit.rlim_max};
  if (::setrlimit(RLIMIT_NPROC, &none) != 0) return 11;
  const Flag done = flag();
  UserThreads threads(1);
  threads.add(7, [done] { done->store(true); });
  threads.retry();
  ::usleep(150'000);
  if (done->load()) return 12;
  if (::setrlimit(RLIMIT_NPROC, &limit) != 0) return 13;
  threads.retry();
  return comes([&] { return done->load(); }) ? 0 : 14;
}

}  // namespace

TEST_CASE("what hangs for one user holds up that user alone") {
  const Flag go = flag();
  const Flag same = flag();
  UserThreads threads(2);
  threads.add(1, waits_for(go));
  threads.add(1, [same] { same->store(true); });
  for (int n = 0; n < 100; ++n) {
    const Flag other = flag();
    threads.add(2, [other] { other->store(true); });
    CHECK(comes([&] { return other->load(); }));
  }
  CHECK_FALSE(same->load());
  go->store(true);
  CHECK(comes([&] { return same->load(); }));
}

TEST_CASE("more users than threads wait for their turn, and none is refused") {
  const Flag go = flag();
  const auto done = std::make_shared<std::atomic<int>>(0);
  UserThreads threads(2);
  for (uid_t user = 1; user <= 20; ++user)
    threads.add(user, [go, done] {
      while (!go->load()) ::usleep(1000);
      ++*done;
    });
  CHECK(done->load() == 0);
  go->store(true);
  CHECK(comes([&] { return done->load() == 20; }));
}

TEST_CASE("the end waits for nothing that hangs, and drops what has not begun") {
  const Flag go = flag();
  const Flag began = flag();
  {
    UserThreads threads(1);
    threads.add(1, waits_for(go));
    threads.add(1, [began] { began->store(true); });
  }
  go->store(true);
  ::usleep(20'000);
  CHECK_FALSE(began->load());
}

TEST_CASE("a user whose things take long gets no more than a part of a CPU") {
  using Clock = CpuShares::Clock;
  struct Times {
    Clock::time_point first_end;
    Clock::time_point second_begin;
    std::atomic<bool> done = false;
  };
  const auto times = std::make_shared<Times>();
  static constexpr auto kBeyond = milliseconds(50);
  UserThreads threads(1);
  threads.add(1, [times] {
    const auto before = cpu_time_of_this_thread();
    while (cpu_time_of_this_thread() - before < CpuShares::kMostAtOnce + kBeyond) {
    }
    times->first_end = Clock::now();
  });
  threads.add(1, [times] {
    times->second_begin = Clock::now();
    times->done = true;
  });
  REQUIRE(comes([&] { return times->done.load(); }));
  CHECK(times->second_begin - times->first_end >= kBeyond * CpuShares::kShareOfCpu);
}

TEST_CASE("threads have an ordinary priority, whatever that of the process is") {
  const int before = ::getpriority(PRIO_PROCESS, 0);
  if (::setpriority(PRIO_PROCESS, 0, -5) != 0) {
    MESSAGE("SKIP: needs the right to a higher priority");
    return;
  }
  const auto seen = std::make_shared<std::atomic<int>>(-100);
  UserThreads threads(1);
  threads.add(1, [seen] { seen->store(::getpriority(PRIO_PROCESS, 0)); });
  CHECK(comes([&] { return seen->load() != -100; }));
  CHECK(seen->load() == 0);
  ::setpriority(PRIO_PROCESS, 0, before);
}

TEST_CASE("a thread that can't be made is tried again") {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) ::_exit(without_threads());
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("a question is answered once, and one user's do not take the room of another's") {
  const Flag go = flag();
  using Questions = UserQuestions<std::string, int>;
  Questions questions;
  const auto hangs = [go] {
    while (!go->load()) ::usleep(1000);
    return 1;
  };
  for (std::size_t n = 0; n < Questions::kMostOfUser; ++n) CHECK(questions.ask("a" + std::to_string(n), 1, hangs));
  CHECK_FALSE(questions.ask("one more", 1, hangs));
  // What nobody wants any more is still to be answered.
  questions.forget("a1");
  CHECK_FALSE(questions.ask("one more", 1, hangs));
  CHECK(questions.ask("b", 2, [] { return 2; }));
  std::optional<int> answer;
  CHECK(comes([&] { return answer || (answer = questions.take("b")); }));
  CHECK(answer == 2);
  CHECK_FALSE(questions.take("b").has_value());
  CHECK_FALSE(questions.take("a0").has_value());
  go->store(true);
  answer.reset();
  CHECK(comes([&] { return answer || (answer = questions.take("a1023")); }));
  // The answers that nobody took make room.
  for (const char* more : {"c0", "c1", "c2"}) CHECK(questions.ask(more, 1, hangs));
  CHECK_FALSE(questions.take("a0").has_value());
}

TEST_CASE("the thread that reads events waits moments in a second, for one user and for all") {
  Patience patience;
  const auto now = Patience::Clock::now();
  CHECK(patience.left(1, now) == Patience::kAtOnce);
  patience.waited(1, milliseconds(1), false);
  CHECK(patience.left(1, now) == Patience::kAtOnce);
  patience.waited(1, Patience::kAtOnce, true);
  CHECK(patience.left(1, now) == milliseconds(0));
  Patience::Time all(milliseconds(6));
  for (uid_t user = 2; user < 1000; ++user) {
    const auto left = patience.left(user, now);
    all += left;
    patience.waited(user, left, true);
  }
  CHECK(all == Patience::kOfAll);
  // Root is not starved by others.
  CHECK(patience.left(0, now) == Patience::kAtOnce);
  for (int n = 0; n < 10; ++n) patience.waited(0, patience.left(0, now), false);
  CHECK(patience.left(0, now) == milliseconds(0));
  CHECK(patience.left(1, now + std::chrono::seconds(1)) == Patience::kAtOnce);
}
