// SPDX-License-Identifier: Apache-2.0
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <doctest/doctest.h>

#include "capture.hpp"
#include "truth.hpp"

namespace {

tracer::Process process_of(const Capture& capture) {
  const auto execs = capture.all<tracer::ProcessExec>();
  REQUIRE(execs.size() == 1);
  return *execs[0].process;
}

std::uint64_t inode_of(const char* file) {
  struct stat status {};
  REQUIRE(::stat(file, &status) == 0);
  return status.st_ino;
}

std::string read_all(const char* file) {
  std::ifstream stream(file);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("a process is identified, and its words are those it was called with" * doctest::test_suite("waits")) {
  const Capture capture = trace(truth::call("exit", {"0", "", "a b", "ü", "last"}));
  const tracer::Process process = process_of(capture);
  CHECK(process.pid == static_cast<std::uint32_t>(capture.pid));
  CHECK(process.parent_pid == static_cast<std::uint32_t>(::getpid()));
  CHECK(process.uid == ::getuid());
  CHECK(process.program->argv == truth::call("exit", {"0", "", "a b", "ü", "last"}));
  CHECK(!process.program->argv_cut_bytes.has_value());
  CHECK(process.program->exe == std::filesystem::read_symlink("/proc/self/exe").string());
  CHECK(process.program->cwd == std::filesystem::current_path().string());
  CHECK(process.pid_namespace == inode_of("/proc/self/ns/pid"));
  CHECK(process.mount_namespace == inode_of("/proc/self/ns/mnt"));
  CHECK(process.start_ns > 0);
}

TEST_CASE("the cgroup is the one of /proc" * doctest::test_suite("waits")) {
  const tracer::Process process = process_of(trace(truth::call("exit", {"0"})));
  REQUIRE(process.cgroup->path.has_value());
  REQUIRE(process.cgroup->hierarchy.has_value());
  std::istringstream lines(read_all("/proc/self/cgroup"));
  bool found = false;
  for (std::string line; std::getline(lines, line);) {
    const std::string controllers = line.substr(line.find(':') + 1, line.rfind(':') - line.find(':') - 1);
    const bool right =
        *process.cgroup->hierarchy == "v2"
            ? controllers.empty()
            : ("," + controllers + ",").find("," + *process.cgroup->hierarchy + ",") != std::string::npos;
    if (right && line.substr(line.rfind(':') + 1) == *process.cgroup->path) found = true;
  }
  CHECK(found);
}

TEST_CASE("of a long vector the first 3 KiB and the last 1 KiB are kept, and the cut is marked" *
          doctest::test_suite("waits")) {
  const std::string longest(20000, 'x');
  const Capture capture = trace(truth::call("exit", {"0", longest, "the-end"}));
  const tracer::Process process = process_of(capture);
  REQUIRE(process.program->argv.has_value());
  std::size_t whole = 0;
  for (const std::string& word : truth::call("exit", {"0", longest, "the-end"})) whole += word.size() + 1;
  CHECK(process.program->argv_cut_bytes == whole - 4096);
  CHECK(process.program->argv->front() == "kernel_tests");
  CHECK(process.program->argv->back() == "the-end");
  CHECK((*process.program->argv)[4].starts_with("xx"));
  CHECK((*process.program->argv)[4].find("x…x") != std::string::npos);
}

TEST_CASE("vectors of just the size that is kept are whole" * doctest::test_suite("waits native")) {
  for (const std::size_t size : {3000u, 3050u, 4000u, 4066u}) {
    const auto words = truth::call("exit", {"0", std::string(size, 'y')});
    const tracer::Process process = process_of(trace(words));
    CHECK(process.program->argv == words);
    CHECK(!process.program->argv_cut_bytes.has_value());
  }
}

TEST_CASE("a deep working folder is told whole" * doctest::test_suite("waits")) {
  const auto before = std::filesystem::current_path();
  auto folder = std::filesystem::temp_directory_path() / ("tracer_deep." + std::to_string(::getpid()));
  const auto top = folder;
  for (int level = 0; level < 12; ++level) folder /= std::string(60, static_cast<char>('a' + level));
  std::filesystem::create_directories(folder);
  std::filesystem::current_path(folder);
  const tracer::Process process = process_of(trace(truth::call("exit", {"0"})));
  std::filesystem::current_path(before);
  std::filesystem::remove_all(top);
  CHECK(process.program->cwd == folder.string());
}

TEST_CASE("a child that only forked runs its parent's program" * doctest::test_suite("waits native")) {
  const Capture capture = trace(truth::call("many_forks", {"3"}));
  for (const auto& exit : capture.other_exits()) {
    CHECK(exit.process->parent_pid == static_cast<std::uint32_t>(capture.pid));
    CHECK(exit.process->program->exe == std::filesystem::read_symlink("/proc/self/exe").string());
    CHECK(exit.process->program->comm == capture.exit().process->program->comm);
  }
}
