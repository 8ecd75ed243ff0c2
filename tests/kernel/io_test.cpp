// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include <doctest/doctest.h>

#include "capture.hpp"
#include "storage.hpp"
#include "truth.hpp"

namespace {

constexpr std::uint64_t kMiB = 1u << 20;

}  // namespace

TEST_CASE("bytes read and written by system calls are exact, and exec's own reads are not among them" *
          doctest::test_suite("waits")) {
  for (const auto& [read, written] : {std::pair(0ull, 0ull), std::pair(1ull, 0ull), std::pair(123456ull, 654321ull)}) {
    const auto exit = trace(truth::call("io", {std::to_string(read), std::to_string(written)})).exit();
    CHECK(exit.account.read_bytes == read);
    CHECK(exit.account.written_bytes == written);
    CHECK(exit.program.account.read_bytes == read);
    CHECK(exit.program.account.written_bytes == written);
  }
}

TEST_CASE("a child's bytes are the child's only" * doctest::test_suite("waits native")) {
  const Capture capture = trace(truth::call("child_io"));
  CHECK(capture.exit().account.read_bytes == 0u);
  CHECK(capture.exit().account.written_bytes == 0u);
  const auto others = capture.other_exits();
  REQUIRE(others.size() == 1);
  CHECK(others[0].account.read_bytes == 1000000u);
  CHECK(others[0].account.written_bytes == 2000000u);
}

TEST_CASE("bytes of all threads are summed, whichever ends first" * doctest::test_suite("waits native")) {
  const auto exit = trace(truth::call("threaded_io")).exit();
  CHECK(exit.threads == 3);
  CHECK(exit.account.read_bytes == 321000u);
  CHECK(exit.account.written_bytes == 32100u);
}

TEST_CASE("an exec chain's bytes are summed, and the last program's are its own" * doctest::test_suite("waits")) {
  const Capture capture = trace(truth::call("chain", {"0", "1", "0", "1"}));
  const auto execs = capture.all<tracer::ProcessExec>();
  REQUIRE(execs.size() == 2);
  CHECK(!execs[1].ended.account.read_bytes.has_value());
  CHECK(execs[1].ended.account.read_at_most_bytes.has_value());
  CHECK(capture.exit().account.read_bytes == 0u);
}

TEST_CASE("bytes that a process puts on storage are its own, and those it takes back are told apart") {
  const std::string folder = storage_folder();
  if (folder.empty()) {
    MESSAGE("SKIP: no file system with storage here; the block device test covers this kernel");
    return;
  }
  const std::string file = folder + "/tracer_storage_test." + std::to_string(::getpid());
  // Its blocks exist before: what a file system writes to find new ones is not the truth that is tested here.
  const auto prepare = [&file] {
    std::ofstream(file) << std::string(8 * kMiB, 'y');
    ::sync();
  };
  for (const char* how : {"sync", "truncate"}) {
    CAPTURE(how);
    prepare();
    const Capture capture = trace(truth::call("storage", {file, "8", how}));
    const auto account = capture.exit().account;
    CHECK(account.written_bytes == 8 * kMiB + capture.output.size());
    CHECK(account.storage_written_bytes == capture.reported());
    CHECK(capture.reported() >= 8 * kMiB);
    CHECK(account.storage_cancelled_bytes == (std::string(how) == "sync" ? 0 : 8 * kMiB));
  }
  ::unlink(file.c_str());
}

TEST_CASE("bytes to and from a block device, past the page cache, are exact") {
  const char* device = "/dev/nvme0n1";
  struct stat status {};
  // Only where the disk is the test's own: under emulation.
  if (::getenv("TRACER_EMULATED") == nullptr || ::stat(device, &status) != 0) {
    MESSAGE("SKIP: needs the empty disk of an emulated machine");
    return;
  }
  const auto exit = trace(truth::call("direct_storage", {device, "1048576"})).exit();
  REQUIRE(exit.exit_code == 0);
  CHECK(exit.account.storage_written_bytes == 1048576u);
  CHECK(exit.account.storage_read_bytes == 524288u);
  CHECK(exit.account.read_bytes == 524288u);
  CHECK(exit.account.written_bytes == 1048576u);
}
