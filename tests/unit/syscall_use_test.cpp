// SPDX-License-Identifier: Apache-2.0
/// What becomes of the records of the family syscalls, and the names of calls.
#include <sys/syscall.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <tracer/error.hpp>
#include <tracer/event.hpp>

#include "collect.hpp"
#include "rules/syscall_names.hpp"
#include "wire_builder.hpp"

using namespace tracer;
using collect::Stages;
using tracer::internal::kArchitecture;
using tracer::internal::SyscallNames;
using wire::Who;

namespace {

const Who kCaller{.pid = 42, .start_ns = 1000, .comm = "sort"};

/// `__NR_NAME NUMBER` of a header of the system; empty: it is not here.
std::map<std::uint32_t, std::string> numbers_in(const char* header, const std::string& prefix) {
  std::map<std::uint32_t, std::string> names;
  std::ifstream in(header);
  for (std::string word; in >> word;) {
    std::string name;
    std::string number;
    if (word != "#define" || !(in >> name >> number) || !name.starts_with(prefix)) continue;
    if (number.find_first_not_of("0123456789") == std::string::npos)
      names[static_cast<std::uint32_t>(std::stoul(number))] = name.substr(prefix.size());
  }
  return names;
}

}  // namespace

TEST_CASE("each system call of a process is one event, before its exit") {
  Stages stages;
  stages.push(wire::start_record(kCaller));
  stages.push(wire::syscall_use_record(kCaller, SYS_openat, {.calls = 9, .failed = 4, .duration_ns = 700, .error = 2}));
  stages.push(wire::syscall_use_record(kCaller, SYS_getppid, {.calls = 1000, .duration_ns = 5000}));
  // No such call, and one that its process ended in.
  stages.push(wire::syscall_use_record(kCaller, 511, {.calls = 1, .failed = 1, .error = 38}));
  stages.push(wire::syscall_use_record(kCaller, SYS_wait4, {.duration_ns = 100}));
  CHECK(stages.all<SyscallUse>().empty());
  stages.push(wire::exit_record(kCaller, {.time_ns = 9000, .program_start_ns = 1000}));
  const auto uses = stages.all<SyscallUse>();
  REQUIRE(uses.size() == 3);
  std::map<std::uint32_t, SyscallUse> by_number;
  for (const SyscallUse& use : uses) {
    CHECK(use.time_ns == 9000);
    CHECK(use.process->pid == 42);
    by_number[use.number] = use;
  }
  CHECK(by_number.at(SYS_openat).name == "openat");
  CHECK(by_number.at(SYS_openat).calls == 9);
  CHECK(by_number.at(SYS_openat).failed == 4);
  CHECK(by_number.at(SYS_openat).duration_ns == 700);
  CHECK(by_number.at(SYS_openat).error == 2);
  CHECK(by_number.at(SYS_getppid).calls == 1000);
  CHECK_FALSE(by_number.at(SYS_getppid).error.has_value());
  CHECK_FALSE(by_number.at(511).name.has_value());
  CHECK(stages.events.back().kind() != EventKind::kSyscallUse);
}

TEST_CASE("system calls of what lives on are reported at the session's end, once") {
  Stages stages;
  stages.push(wire::start_record(kCaller));
  stages.push(wire::syscall_use_record(kCaller, SYS_read, {.calls = 2}));
  stages.correlator.end(8000, stages.events);
  stages.correlator.end(8500, stages.events);
  const auto uses = stages.all<SyscallUse>();
  REQUIRE(uses.size() == 1);
  CHECK(uses[0].time_ns == 8000);
}

TEST_CASE("system calls are those of their own process, not of another with its pid, nor of one that is not reported") {
  Stages stages;
  Who later = kCaller;
  later.start_ns = 5000;
  stages.push(wire::syscall_use_record(kCaller, SYS_read, {.calls = 2}));
  stages.push(wire::start_record(kCaller));
  stages.push(wire::start_record(later));
  stages.push(wire::syscall_use_record(kCaller, SYS_read, {.calls = 2}));
  stages.push(wire::exit_record(later, {.time_ns = 9000, .program_start_ns = 5000}));
  CHECK(stages.all<SyscallUse>().empty());
  Stages filtered(Filter().include_tool("bwa*"));
  filtered.push(wire::start_record(kCaller));
  filtered.push(wire::syscall_use_record(kCaller, SYS_read, {.calls = 2}));
  filtered.push(wire::exit_record(kCaller, {.time_ns = 9000, .program_start_ns = 1000}));
  CHECK(filtered.all<SyscallUse>().empty());
}

TEST_CASE("a row of system calls that there is not is malformed") {
  Stages stages;
  stages.push(wire::start_record(kCaller));
  stages.push(wire::syscall_use_record(kCaller, TRACER_CALLS, {.calls = 2}));
  stages.push(wire::exit_record(kCaller, {.time_ns = 9000, .program_start_ns = 1000}));
  CHECK(stages.all<SyscallUse>().empty());
}

TEST_CASE("names of system calls are those of the system's headers") {
  const SyscallNames& names = SyscallNames::builtin();
  CHECK(names.name_of(kArchitecture, SYS_getppid) == "getppid");
  CHECK(names.name_of(kArchitecture, SYS_execve) == "execve");
  CHECK(names.name_of("x86_64", 0) == "read");
  CHECK(names.name_of("aarch64", 63) == "read");
  CHECK(names.name_of("x86_64", 437) == "openat2");
  CHECK(names.name_of("aarch64", 437) == "openat2");
  CHECK_FALSE(names.name_of("x86_64", 400).has_value());
  CHECK_FALSE(names.name_of("x86_64", 0xffffffffu).has_value());
  CHECK_FALSE(names.name_of("aarch64", 250).has_value());
  CHECK_FALSE(names.name_of("sparc", 0).has_value());
  struct Header {
    const char* file;
    std::string_view architecture;
    std::string prefix;
  };
  std::size_t compared = 0;
  for (const Header& header : {Header{"/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "x86_64", "__NR_"},
                               Header{"/usr/include/asm-generic/unistd.h", "aarch64", "__NR_"},
                               Header{"/usr/include/asm-generic/unistd.h", "aarch64", "__NR3264_"}})
    for (const auto& [number, name] : numbers_in(header.file, header.prefix)) {
      // The generic header has some for 32-bit machines, and a place for those of an architecture.
      const bool generic = header.architecture == "aarch64";
      if (generic && ((number >= 403 && number <= 423) || name == "arch_specific_syscall" || name == "syscalls"))
        continue;
      CAPTURE(header.file);
      CAPTURE(number);
      CHECK(names.name_of(header.architecture, number) == (name == "fstatat" ? "newfstatat" : name));
      ++compared;
    }
  CHECK(compared > 300);
}

TEST_CASE("mistakes in names of system calls are told with their lines") {
  try {
    SyscallNames::parse(
        "schema = 1\n[[calls]]\narchitectures = [\"x\"]\nfirst = 3\nnames = [\"a\", \"b\"]\n[[calls]]\n"
        "architectures = [\"x\"]\nfirst = 4\nnames = [\"c\"]\n[[calls]]\narchitectures = [\"x\"]\nnames = [\"d\"]\n",
        "x.toml");
    FAIL("no mistake");
  } catch (const Error& error) {
    CHECK(error.problems().size() == 2);
    CHECK(std::string(error.what()).find("x.toml:6") != std::string::npos);
  }
}
