// SPDX-License-Identifier: Apache-2.0
#include "source/proc/proc_text.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include <doctest/doctest.h>

#include "base/proc_stat.hpp"
#include "base/text.hpp"
#include "source/proc/cgroup_files.hpp"

using namespace tracer::internal;

namespace {

/// Of a living child.
TextRecord text_of(pid_t pid) {
  const auto stat = read_proc_stat(pid);
  REQUIRE(stat.has_value());
  return proc_text(static_cast<std::uint32_t>(pid), stat->started_from_ns, Hierarchy::kV2);
}

/// Where they lie in memory.
std::pair<std::uintptr_t, std::uintptr_t> own_arguments() {
  const auto text = read_small_file("/proc/self/stat");
  std::istringstream fields(text->substr(text->rfind(')') + 1));
  std::string field;
  for (int number = 3; number <= 48; ++number) fields >> field;
  std::uintptr_t end = 0;
  fields >> end;
  return {std::stoull(field), end};
}

/// Where an argument ended, too: the kernel reads on to the first end that it finds.
void overwrite(std::uintptr_t begin, std::uintptr_t end) {
  for (std::uintptr_t at = begin; at < end; ++at)
    if (char& byte = *reinterpret_cast<char*>(at); byte == 0) byte = 'X';
}

constexpr int kUnknown = 100;

/// Of a child that becomes what it is to be, and stops.
template <class Become>
int words_seen_by_nobody(Become become) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    become();
    ::_exit(1);
  }
  int status = 0;
  ::waitpid(pid, &status, WUNTRACED);
  REQUIRE(WIFSTOPPED(status));
  const pid_t observer = ::fork();
  if (observer == 0) {
    constexpr uid_t kNobody = 65534;
    if (::setresuid(kNobody, kNobody, kNobody) != 0) ::_exit(kUnknown + 1);
    const TextRecord record = text_of(pid);
    ::_exit(record.text.argv ? static_cast<int>(record.text.argv->size()) : kUnknown);
  }
  ::waitpid(observer, &status, 0);
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  return WEXITSTATUS(status);
}

}  // namespace

TEST_CASE("the words of a living process are read in /proc") {
  const auto pid = static_cast<std::uint32_t>(::getpid());
  const auto stat = read_proc_stat(::getpid());
  REQUIRE(stat.has_value());
  const TextRecord record = proc_text(pid, stat->started_from_ns + 1, Hierarchy::kV2);
  CHECK(record.pid == pid);
  CHECK(record.start_ns == stat->started_from_ns + 1);
  CHECK(record.text.exe == std::filesystem::read_symlink("/proc/self/exe").string());
  CHECK(record.text.cwd == std::filesystem::current_path().string());
  REQUIRE(record.text.argv.has_value());
  CHECK_FALSE(record.text.argv->empty());
  CHECK_FALSE(record.text.argv_cut_bytes.has_value());
}

TEST_CASE("the words of another process that has come to the same pid are not taken") {
  const auto pid = static_cast<std::uint32_t>(::getpid());
  const auto stat = read_proc_stat(::getpid());
  REQUIRE(stat.has_value());
  for (const std::uint64_t start_ns : {stat->started_from_ns - 1, stat->started_until_ns + 1}) {
    const TextRecord record = proc_text(pid, start_ns, Hierarchy::kV2);
    CHECK(record.pid == pid);
    CHECK(record.start_ns == start_ns);
    CHECK_FALSE(record.text.exe.has_value());
    CHECK_FALSE(record.text.cwd.has_value());
    CHECK_FALSE(record.text.argv.has_value());
    CHECK_FALSE(record.cgroup.has_value());
  }
}

TEST_CASE("of a process that has overwritten the end of its arguments, the environment is none of them") {
  const auto stat = read_proc_stat(::getpid());
  REQUIRE(stat.has_value());
  const auto [begin, end] = own_arguments();
  const pid_t pid = ::fork();
  if (pid == 0) {
    overwrite(begin, end);
    ::raise(SIGSTOP);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(pid, &status, WUNTRACED);
  const TextRecord record = text_of(pid);
  ::kill(pid, SIGKILL);
  ::waitpid(pid, &status, 0);
  REQUIRE(record.text.argv.has_value());
  std::size_t bytes = 0;
  for (const std::string& word : *record.text.argv) bytes += word.size() + 1;
  CHECK(bytes <= stat->arguments_bytes + 1);
  CHECK(record.text.argv->back().back() == 'X');
}

TEST_CASE("where the arguments' bounds are hidden, one word may have run on into the environment and is not taken") {
  if (::geteuid() != 0) return;  // Who watches is another user than who is watched.
  CHECK(words_seen_by_nobody([] { ::execl("/bin/sh", "sh", "-c", "kill -STOP $$; :", nullptr); }) == 3);
  CHECK(words_seen_by_nobody([] {
          int ends[2];
          constexpr std::string_view kScript = "kill -STOP $$\n";
          if (::pipe(ends) != 0 || ::dup2(ends[0], STDIN_FILENO) < 0) return;
          if (::write(ends[1], kScript.data(), kScript.size()) > 0) ::execl("/bin/sh", "sh", nullptr);
        }) == kUnknown);
  const auto [begin, end] = own_arguments();
  CHECK(words_seen_by_nobody([begin = begin, end = end] {
          overwrite(begin, end);
          ::raise(SIGSTOP);
        }) == kUnknown);
}

TEST_CASE("a long command line is cut in the middle") {
  const std::string head(4000, 'x');
  const std::string tail(4000, 'y');
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::execl("/bin/sh", "sh", "-c", "kill -STOP $$; :", head.c_str(), tail.c_str(), nullptr);
    ::_exit(1);
  }
  TextRecord record;
  for (int n = 0; n < 5000 && (!record.text.argv || record.text.argv->size() != 4); ++n) {
    ::usleep(1000);
    record = text_of(pid);
  }
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  REQUIRE(record.text.argv.has_value());
  const std::vector<std::string>& argv = *record.text.argv;
  REQUIRE(argv.size() == 4);
  CHECK(argv[2] == "kill -STOP $$; :");
  CHECK(argv[3].starts_with("xx"));
  CHECK(argv[3].ends_with("x…" + std::string(1023, 'y')));
  CHECK(record.text.argv_cut_bytes == 3 + 3 + 17 + 4001 + 4001 - 4096);
}

TEST_CASE("of a process that is not there nothing is known") {
  const TextRecord record = proc_text(0x7ffffff0, 1, Hierarchy::kV2);
  CHECK_FALSE(record.text.exe.has_value());
  CHECK_FALSE(record.text.cwd.has_value());
  CHECK_FALSE(record.text.argv.has_value());
  CHECK_FALSE(record.cgroup.has_value());
}

TEST_CASE("a walk through cgroups ends when it is told to") {
  // Any folder will do.
  const CgroupFolder top{1, Hierarchy::kV2, "/proc/self"};
  int seen = 0;
  CHECK_FALSE(walk_cgroups(top, [&](const CgroupFolder&) { return ++seen < 3; }));
  CHECK(seen == 3);
}

TEST_CASE("a cgroup that is not there has no path") {
  CHECK_FALSE(cgroup_path(Hierarchy::kV1Memory, 0xffff'ffff'ffffull).has_value());
}
