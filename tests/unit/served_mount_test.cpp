// SPDX-License-Identifier: Apache-2.0
/// What living processes are asked for when one of them stands still, or in line.
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "source/proc/ready_cpus.hpp"
#include "source/proc/served_mount.hpp"

using namespace tracer::internal;

TEST_CASE("a served file system is named if it is the only one that is used") {
  const auto mounts = parse_mounts(
      "21 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
      "22 21 0:5 / /proc rw - proc proc rw\n"
      "30 21 0:40 / /home rw - nfs4 server:/export/home rw\n"
      "31 30 0:41 / /home/me/mnt rw - fuse.sshfs me@host:/data rw\n"
      "32 31 0:42 / /home/me/mnt/local rw - tmpfs tmpfs rw\n"
      "33 21 0:43 / /over rw - fuse.bindfs src rw\n"
      "34 21 0:44 / /over rw - tmpfs tmpfs rw\n");
  const auto point = [&mounts](std::vector<std::string> paths) {
    const SeenMount* const found = served_mount_of(mounts, paths);
    return found == nullptr ? std::string() : found->point;
  };
  CHECK(point({"/home/me/x", "/proc/1/stat", "/bin/sh"}) == "/home");
  CHECK(point({"/home/me/mnt/x", "/home/me/mnt/y"}) == "/home/me/mnt");
  CHECK(point({"/home/me/mnt/x", "/home/me/y"}).empty());
  CHECK(point({"/home/me/mnt/local/x", "/over/x", "/homer"}).empty());
  CHECK(served_mount_of(mounts, {"/home/me/mnt"})->source == "me@host:/data");
  // The program itself, such as one below a home folder, says nothing, and where it runs less than what it names.
  const auto in_use = [](const std::vector<std::string>& arguments) {
    return paths_in_use({"/tmp/log"}, "/home/me", arguments);
  };
  CHECK(in_use({"/home/me/bin/md5sum", "/home/me/mnt/x", "y", "-o", "--to=z", "--from=/over"}) ==
        std::vector<std::vector<std::string>>{
            {"/tmp/log", "/home/me/mnt/x", "/over"}, {"/home/me/y", "/home/me/z"}, {"/home/me"}});
  CHECK(point(in_use({"/home/x", "/home/me/mnt/x", "y"})[0]) == "/home/me/mnt");
  // This process uses files of its own, and is no other by now.
  CHECK_FALSE(awaited_mount(static_cast<std::uint32_t>(::getpid()), 1, {"x"}));
}

TEST_CASE("the CPUs of what could run are those that its threads may use now") {
  cpu_set_t all;
  REQUIRE(::sched_getaffinity(0, sizeof all, &all) == 0);
  std::uint32_t last = 0;
  for (std::uint32_t cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &all)) last = cpu;
  const pid_t pid = ::fork();
  if (pid == 0) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(last, &one);
    ::sched_setaffinity(0, sizeof one, &one);
    for (volatile bool runs = true; runs;) {
    }
  }
  std::set<std::uint32_t> cpus;
  for (int i = 0; i < 1000 && cpus != std::set<std::uint32_t>{last}; ++i) {
    ::usleep(1000);
    cpus = cpus_of_ready_threads({static_cast<std::uint32_t>(pid)});
  }
  CHECK(cpus == std::set<std::uint32_t>{last});
  ::kill(pid, SIGSTOP);
  ::waitpid(pid, nullptr, WUNTRACED);
  CHECK(cpus_of_ready_threads({static_cast<std::uint32_t>(pid)}).empty());
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  CHECK(cpus_of_ready_threads({static_cast<std::uint32_t>(pid)}).empty());
}
