// SPDX-License-Identifier: Apache-2.0
#include "state/held_memory.hpp"

#include <memory>

#include <doctest/doctest.h>

#include "builders.hpp"

using namespace tracer;
using namespace tracer::internal;

namespace {

struct Held {
  std::optional<std::string> exe = "/bin/a";
  std::optional<std::uint64_t> anonymous = 100;
  std::optional<std::uint64_t> file = 0;
  std::optional<std::uint64_t> shared = 0;
  std::optional<std::uint64_t> pss = {};
};

ProcessSample sample(const Held& held) {
  ProcessSample sample;
  sample.process = build::process({.exe = held.exe});
  sample.rss_anonymous_bytes = held.anonymous;
  sample.rss_file_bytes = held.file;
  sample.rss_shared_bytes = held.shared;
  sample.pss_bytes = held.pss;
  return sample;
}

HeldMemory sum_of(std::initializer_list<Held> all) {
  HeldMemory memory;
  for (const Held& held : all) memory.add(sample(held));
  return memory;
}

}  // namespace

TEST_CASE("nobody holds nothing") {
  CHECK(HeldMemory().bytes() == 0);
  CHECK(HeldMemory().anonymous_bytes() == 0);
}

TEST_CASE("anonymous and shared memory adds up, and only the former is anonymous") {
  const HeldMemory memory = sum_of({{.shared = 5}, {.anonymous = 200, .shared = 7}});
  CHECK(memory.bytes() == 312);
  CHECK(memory.anonymous_bytes() == 300);
}

TEST_CASE("of the files that processes of one executable map the most of one process counts, in any order") {
  CHECK(sum_of({{.file = 30}, {.file = 50}, {.file = 40}}).bytes() == 350);
  CHECK(sum_of({{.file = 50}, {.file = 30}, {.file = 40}}).bytes() == 350);
  CHECK(sum_of({{.file = 50}, {.exe = "/bin/b", .file = 30}}).bytes() == 280);
  CHECK(sum_of({{.file = 50}}).anonymous_bytes() == 100);
}

TEST_CASE("a share takes the place of what is resident") {
  const HeldMemory small = sum_of({{.anonymous = 100, .file = 30, .shared = 5, .pss = 60}});
  CHECK(small.bytes() == 60);
  CHECK(small.anonymous_bytes() == 60);
  const HeldMemory large = sum_of({{.anonymous = 100, .file = 30, .shared = 5, .pss = 120}});
  CHECK(large.bytes() == 120);
  CHECK(large.anonymous_bytes() == 100);
}

TEST_CASE("the files in a share are not counted against others of its executable") {
  CHECK(sum_of({{.file = 30, .pss = 60}, {.file = 20}}).bytes() == 60 + 120);
}

TEST_CASE("what is unknown of one is unknown of all, whoever comes later") {
  for (const HeldMemory& memory : {sum_of({{.anonymous = {}}, {}}), sum_of({{}, {.anonymous = {}}})}) {
    CHECK_FALSE(memory.bytes().has_value());
    CHECK_FALSE(memory.anonymous_bytes().has_value());
  }
}

TEST_CASE("one that holds nothing of its own is known to") { CHECK(sum_of({{}, {.anonymous = 0}}).bytes() == 100); }

TEST_CASE("processes that are told together add what they hold together, of which no part is known to be anonymous") {
  ToolSample folded;
  folded.held_bytes = 1000;
  folded.rss_anonymous_bytes = 700;
  folded.rss_file_bytes = 9000;
  HeldMemory memory = sum_of({{.file = 10}});
  memory.add(folded);
  CHECK(memory.bytes() == 1110);
  CHECK(memory.anonymous_bytes() == 100);
  folded.held_bytes.reset();
  memory.add(folded);
  CHECK_FALSE(memory.bytes().has_value());
}
