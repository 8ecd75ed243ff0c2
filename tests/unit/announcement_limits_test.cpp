// SPDX-License-Identifier: Apache-2.0
#include "announced_run.hpp"

#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

#include <tracer/error.hpp>

#include "context/announcements.hpp"

using namespace tracer;
using namespace tracer::announced_run;

namespace {

ErrorCode code_of(const Announcement& announcement) {
  Polled polled;
  try {
    polled.session->announce(announcement);
  } catch (const Error& error) {
    return error.code();
  }
  FAIL("it was taken");
  return ErrorCode::kInvalidArgument;
}

}  // namespace

TEST_CASE("an announcement that nobody meets expires, and is counted") {
  Announced run;
  run.session->announce({InWorkDir{"/data/ab"}, task_named("A"), {}, std::chrono::milliseconds(0)});
  run.session->announce({InWorkDir{"/data/cd"}, task_named("B")});
  run.start(kShell);
  run.drain();
  // Looked after once in 100 ms.
  for (int n = 0; n < 5000 && run.session->statistics().announcements_expired == 0; ++n) {
    ::usleep(1000);
    run.session->poll(std::chrono::milliseconds(1));
  }
  CHECK(run.session->statistics().announcements_expired == 1);
  run.exec(kShell, "/data/ab");
  run.exit(kShell, 1010);
  CHECK(*run.context_at_exit(100) == Context());
}

TEST_CASE("beyond the most announcements more are counted, and those before still hold") {
  SessionOptions options;
  options.max_announcements = 2;
  Announced run(options);
  for (const char* folder : {"/a", "/b", "/c"}) run.say(InWorkDir{folder}, task_named(folder));
  run.say(InWorkDir{"/a"}, task_named("again"));
  run.start(kShell);
  run.exec(kShell, "/a");
  run.exit(kShell, 1010);
  CHECK(run.context_at_exit(100)->task == "again");
  CHECK(run.session->statistics().announcements_refused == 1);
}

TEST_CASE("with 10,000 living processes each gets what was announced of their parent, once") {
  Announced run;
  run.start(kShell);
  run.exec(kShell, "/launch", {"bash"});
  for (std::uint32_t n = 0; n < 10'000; ++n) run.start(wire::child_of(kShell, 1000 + n, 2000 + n));
  run.drain();
  run.say(OfProcess{100, 1000}, task_named("A"));
  for (std::uint32_t n = 0; n < 10'000; ++n) run.exit(wire::child_of(kShell, 1000 + n, 2000 + n), 2000 + n);
  run.exit(kShell, 1010);
  run.drain();
  std::size_t right = 0;
  for (const ProcessExit& exit : all_of<ProcessExit>(run.events)) right += exit.process->context->task == "A" ? 1 : 0;
  CHECK(right == 10'001);
  REQUIRE(all_of<TaskFinish>(run.events).size() == 1);
  CHECK(all_of<TaskFinish>(run.events)[0].totals.processes == 10'001);
}

TEST_CASE("100,000 announcements fit in 64 MiB") {
  const internal::UserIds user_ids;
  internal::AnnouncementShares shares(1u << 17);
  internal::Announcements announcements(1u << 17, user_ids, shares);
  const std::size_t before = ::mallinfo2().uordblks + ::mallinfo2().hblkhd;
  for (int n = 0; n < 100'000; ++n) {
    Announcement announcement{
        InWorkDir{"/scratch/project/user/work/ab/0123456789abcdef012345" + std::to_string(n)},
        task_named("NFCORE_RNASEQ:RNASEQ:ALIGN_STAR:SAMTOOLS_SORT (SAMPLE_" + std::to_string(n) + ")")};
    announcement.context.sample = "SAMPLE_" + std::to_string(n);
    announcement.context.labels = {{"tag", "SAMPLE_" + std::to_string(n)}};
    announcement.requested.memory_bytes = 1u << 30;
    announcement.requested.container = "quay.io/biocontainers/star:2.7.10b";
    internal::Announced announced = internal::checked(announcement, internal::this_caller());
    REQUIRE(shares.take(announced.cost(), {}) == internal::AnnouncementShares::Refusal::kNone);
    REQUIRE(announcements.add(std::move(announced), 1));
  }
  const std::size_t bytes = ::mallinfo2().uordblks + ::mallinfo2().hblkhd - before;
  CAPTURE(bytes);
  // Under a sanitizer malloc is another, and says nothing.
  CHECK(bytes <= (64u << 20));
}

TEST_CASE("a user's announcements are charged before they are accepted, and given back when they are gone") {
  using internal::AnnouncementShares;
  using Refusal = AnnouncementShares::Refusal;
  constexpr uid_t kAlice = 1000;
  constexpr uid_t kBob = 1001;
  const internal::UserIds user_ids;
  const auto accounts = std::make_shared<internal::Accounts>(internal::UserIds({{kAlice, 200'000, 10}}));
  AnnouncementShares shares(8, accounts);
  internal::Announcements announcements(8, user_ids, shares);
  const auto announced = [](const std::string& folder, uid_t uid, std::uint64_t expires_after_ns = 100) {
    internal::Announced one;
    one.key = "d" + folder;
    one.packed = internal::packed(task_named("A"), {});
    one.expires_after_ns = expires_after_ns;
    one.uid = uid;
    return one;
  };
  const auto add = [&](internal::Announced one, std::size_t bytes) {
    const auto refusal = shares.take(one.cost(), internal::AnnouncementLimit{bytes});
    if (refusal == Refusal::kNone) REQUIRE(announcements.add(std::move(one), 1));
    return refusal;
  };
  const std::size_t bytes = announced("/a", kAlice).cost().bytes;
  CHECK(add(announced("/a", kAlice), 3 * bytes) == Refusal::kNone);
  CHECK(add(announced("/a", kAlice), 3 * bytes) == Refusal::kNone);  // Replaced.
  CHECK(shares.of(kAlice).count == 1);
  CHECK(shares.of(kAlice).bytes == bytes);
  CHECK(accounts->all().at(kAlice).bytes == bytes);
  CHECK(add(announced("/b", kAlice), 2 * bytes - 1) == Refusal::kBytes);
  // Subordinate ids have no account of their own.
  CHECK(add(announced("/b", 200'001), 2 * bytes - 1) == Refusal::kBytes);
  CHECK(add(announced("/b", 200'001), 2 * bytes) == Refusal::kNone);
  CHECK(shares.of(kAlice).count == 2);
  // As many as are free.
  CHECK(add(announced("/c", kAlice), 9 * bytes) == Refusal::kNone);
  CHECK(add(announced("/d", kAlice), 9 * bytes) == Refusal::kNone);
  CHECK(add(announced("/e", 200'002), 9 * bytes) == Refusal::kFull);
  CHECK(add(announced("/e", kBob), 9 * bytes) == Refusal::kNone);
  CHECK(add(announced("/f", kBob), 9 * bytes) == Refusal::kNone);
  CHECK(add(announced("/g", kBob), 9 * bytes) == Refusal::kFull);
  announcements.expire(1000);
  CHECK(announcements.empty());
  CHECK(shares.of(kAlice).count == 0);
  CHECK(shares.of(kBob).bytes == 0);
  CHECK(accounts->all().empty());
}

TEST_CASE("what two users announce with one key holds for each, and neither takes the other's place") {
  constexpr uid_t kAlice = 1000;
  constexpr uid_t kBob = 1001;
  const internal::UserIds user_ids;
  internal::AnnouncementShares shares(4);
  internal::Announcements announcements(4, user_ids, shares);
  for (const std::string& key : {std::string("d/work"), std::string("p9")})
    for (const uid_t uid : {kAlice, kBob}) {
      internal::Announced one;
      one.key = key;
      one.packed = internal::packed(task_named(std::to_string(uid)), {});
      one.expires_after_ns = 100;
      one.uid = uid;
      REQUIRE(shares.take(one.cost(), {}) == internal::AnnouncementShares::Refusal::kNone);
      REQUIRE(announcements.add(std::move(one), 1));
    }
  Process process;
  process.pid = 9;
  Program program;
  program.cwd = "/work";
  process.program = std::make_shared<const Program>(program);
  for (const uid_t uid : {kAlice, kBob}) {
    process.uid = uid;
    std::size_t found = 0;
    announcements.find(process, {}, {}, [&](internal::Announcements::Known& known, std::string_view) {
      CHECK(known.context().task == std::to_string(uid));
      ++found;
    });
    CHECK(found == 2);
    CHECK(shares.of(uid).count == 2);
  }
  announcements.ended(process);
  CHECK(shares.of(kAlice).count == 1);
  CHECK(shares.of(kBob).count == 1);
  announcements.expire(1000);
  CHECK(announcements.empty());
}

TEST_CASE("one process has no more than 256 patterns for arguments below it, and a program is compared with 1,024") {
  Announced run;
  const auto below = [](std::uint32_t pid, std::size_t n) {
    return Announcement{BelowProcess{{static_cast<pid_t>(pid), 1000}, {"sort", std::to_string(n)}}, task_named("A")};
  };
  for (std::size_t n = 0; n < internal::AnnouncementShares::kMostBelow; ++n) run.session->announce(below(100, n));
  try {
    run.session->announce(below(100, 1000));
    FAIL("it was taken");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::kInvalidArgument);
  }
  CHECK_NOTHROW(run.session->announce(below(101, 1000)));
  const internal::UserIds user_ids;
  internal::AnnouncementShares shares(1000);
  internal::Announcements announcements(1000, user_ids, shares);
  for (std::size_t n = 0; n < 100; ++n) {
    internal::Announced one = internal::checked(below(100, n), internal::this_caller());
    REQUIRE(shares.take(one.cost(), {}) == internal::AnnouncementShares::Refusal::kNone);
    REQUIRE(announcements.add(std::move(one), 1));
  }
  Process ancestor;
  ancestor.pid = 100;
  ancestor.start_ns = 1000;
  Process process;
  Program program;
  program.argv = std::vector<std::string>{"none"};
  process.program = std::make_shared<const Program>(program);
  const auto nothing = [](internal::Announcements::Known&, std::string_view) { FAIL("it does not match"); };
  CHECK(announcements.find_below(ancestor, process, 1000, nothing) == 100);
  CHECK(announcements.find_below(ancestor, process, 60, nothing) == 60);
}

TEST_CASE("announcements that match everything, say nothing or too much are refused") {
  const Context task = task_named("A");
  CHECK(code_of({InWorkDir{"/"}, task}) == ErrorCode::kInvalidArgument);
  CHECK(code_of({InWorkDir{"/data/.."}, task}) == ErrorCode::kInvalidArgument);
  CHECK(code_of({InWorkDir{"work/ab"}, task}) == ErrorCode::kInvalidArgument);
  CHECK(code_of({InWorkDir{""}, task}) == ErrorCode::kInvalidArgument);
  CHECK(code_of({InWorkDir{"/" + std::string(5000, 'x')}, task}) == ErrorCode::kInvalidArgument);
  CHECK(code_of({InCgroup{"/"}, task}) == ErrorCode::kInvalidArgument);
  CHECK(code_of({InContainer{"abc"}, task}) == ErrorCode::kInvalidArgument);
  CHECK(code_of({InContainer{std::string(64, 'x')}, task}) == ErrorCode::kInvalidArgument);
  CHECK(code_of({InSlurmJob{"12; rm"}, task}) == ErrorCode::kInvalidArgument);
  CHECK(code_of({OfProcess{0}, task}) == ErrorCode::kInvalidArgument);
  CHECK(code_of({OfProcess{0x7ffffff0}, task}) == ErrorCode::kFilterNamesNothing);
  CHECK(code_of({BelowProcess{{100, 1000}, {"..."}}, task}) == ErrorCode::kInvalidArgument);
  CHECK(code_of({BelowProcess{{100, 1000}, {"...", "*", "..."}}, task}) == ErrorCode::kInvalidArgument);
  CHECK(code_of({BelowProcess{{100, 1000}, {"{a"}}, task}) == ErrorCode::kInvalidArgument);
  CHECK(code_of({InWorkDir{"/data/ab"}, {}}) == ErrorCode::kInvalidArgument);
  CHECK(code_of({InWorkDir{"/data/ab"}, task, {.container = std::string(1u << 20, 'x')}}) ==
        ErrorCode::kInvalidArgument);
}

TEST_CASE("labels of an announcement that are too long are cut, and marked") {
  Context large = task_named("A");
  large.labels = {{"a", std::string(1u << 20, 'x')}};
  for (int n = 0; n < 65; ++n) large.labels.push_back({"l" + std::to_string(n), "x"});
  const internal::Announced announced = internal::checked({InWorkDir{"/data/ab"}, large}, internal::this_caller());
  internal::Announcements::Known known;
  known.packed = announced.packed;
  const Context said = known.context();
  REQUIRE(!said.labels.empty());
  CHECK(said.labels.front().value.size() == 1024);
  CHECK(said.labels.size() == 64);
  CHECK(said.labels_cut_bytes.value_or(0) > (1u << 20) - 1024);
}

TEST_CASE("a process that lives is meant by its pid alone") {
  Polled polled;
  CHECK_NOTHROW(polled.session->announce({OfProcess{::getpid()}, task_named("A")}));
}

TEST_CASE("without root another user's folder and process are refused") {
  if (::geteuid() != 0) return;
  constexpr uid_t kNobody = 65534;
  const pid_t pid = ::fork();
  if (pid == 0) {
    if (::setresuid(kNobody, kNobody, kNobody) != 0) ::_exit(2);
    const bool refused = code_of({InWorkDir{"/etc"}, task_named("A")}) == ErrorCode::kPermission &&
                         code_of({OfProcess{1}, task_named("A")}) == ErrorCode::kPermission;
    ::_exit(refused ? 0 : 1);
  }
  int status = -1;
  ::waitpid(pid, &status, 0);
  CHECK(status == 0);
}
