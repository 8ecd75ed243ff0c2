// SPDX-License-Identifier: Apache-2.0
#include "source/kernel/load/libbpf_log.hpp"

#include <bpf/libbpf.h>

#include <atomic>
#include <cerrno>
#include <thread>

#include <doctest/doctest.h>

#include <tracer/error.hpp>

using tracer::internal::LibbpfLog;

namespace {

std::atomic<int> printed{0};

int print_of_another_user(enum libbpf_print_level, const char*, va_list) {
  ++printed;
  return 0;
}

/// libbpf has something to say about it.
void open_nothing(const char* file) { CHECK(::bpf_object__open_file(file, nullptr) == nullptr); }

/// Before any log of ours.
const libbpf_print_fn_t kBefore = ::libbpf_set_print(&print_of_another_user);

}  // namespace

TEST_CASE("what libbpf says goes to the log of the thread that it says it to, and for others to the hook before") {
  REQUIRE((kBefore != nullptr));
  const LibbpfLog log;
  printed = 0;
  open_nothing("/nonexistent/ours.bpf.o");
  CHECK(log.tail().find("ours.bpf.o") != std::string::npos);
  CHECK(printed == 0);
  std::thread([] { open_nothing("/nonexistent/theirs.bpf.o"); }).join();
  CHECK(printed > 0);
  CHECK(log.tail().find("theirs.bpf.o") == std::string::npos);
  std::string inner_tail;
  std::thread([&inner_tail] {
    const LibbpfLog inner;
    open_nothing("/nonexistent/inner.bpf.o");
    inner_tail = inner.tail();
  }).join();
  CHECK(inner_tail.find("inner.bpf.o") != std::string::npos);
  CHECK(log.tail().find("inner.bpf.o") == std::string::npos);
}

TEST_CASE("a log within another takes over and gives back") {
  const LibbpfLog outer;
  {
    const LibbpfLog inner;
    open_nothing("/nonexistent/inner.bpf.o");
    CHECK(inner.tail().find("inner.bpf.o") != std::string::npos);
  }
  CHECK(outer.tail().empty());
  open_nothing("/nonexistent/outer.bpf.o");
  CHECK(outer.tail().find("outer.bpf.o") != std::string::npos);
}

TEST_CASE("a refusal carries what libbpf said") {
  const LibbpfLog log;
  open_nothing("/nonexistent/ours.bpf.o");
  try {
    tracer::internal::refuse("load the programs", EACCES, log);
  } catch (const tracer::Error& error) {
    CHECK(error.code() == tracer::ErrorCode::kProgramRefused);
    CHECK(error.problems().front().detail.find("ours.bpf.o") != std::string::npos);
  }
}
