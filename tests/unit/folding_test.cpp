// SPDX-License-Identifier: Apache-2.0
#include "correlate/folding.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "builders.hpp"

#include "collect.hpp"

using namespace tracer;
using namespace tracer::internal;
using collect::all_of;

namespace {

struct Like {
  std::optional<std::string> tool = "sort";
  Context context = {};
  std::string exe = "/bin/sort";
  std::uint32_t uid = 1000;
};

ProcessSample sample(std::uint32_t pid, const Like& like) {
  ProcessSample sample;
  sample.time_ns = 777;
  sample.process =
      build::process({.pid = pid, .uid = like.uid, .exe = like.exe, .tool = like.tool, .context = like.context});
  sample.threads = 2;
  sample.state = "sleeping";
  sample.rss_anonymous_bytes = 100;
  sample.rss_file_bytes = 30;
  sample.rss_shared_bytes = 5;
  sample.account.cpu_ns = 11;
  sample.account.read_bytes = 13;
  Ledger& ledger = sample.account.ledger.emplace();
  ledger.wall_ns = 17;
  ledger.pipe_read_ns = 19;
  ledger.pipe_read_peer_pid = 3;
  ledger.pipe_write_peer_pid = 4;
  return sample;
}

std::vector<ProcessSample> some(std::size_t count, const Like& like = {}, std::uint32_t first_pid = 1) {
  std::vector<ProcessSample> samples;
  for (std::size_t i = 0; i < count; ++i) samples.push_back(sample(first_pid + static_cast<std::uint32_t>(i), like));
  return samples;
}

std::vector<ProcessSample> both(std::vector<ProcessSample> samples, std::vector<ProcessSample> more) {
  samples.insert(samples.end(), more.begin(), more.end());
  return samples;
}

constexpr std::size_t kMany = kMostSamplesOfOneTool + 1;

std::vector<Event> fold(std::vector<ProcessSample> samples, std::uint32_t own_pid = 0) {
  std::vector<Event> events;
  internal::fold(std::move(samples), own_pid, events);
  return events;
}

ToolSample folded(std::vector<ProcessSample> samples) {
  const std::vector<Event> events = fold(std::move(samples));
  REQUIRE(events.size() == 1);
  REQUIRE((events[0].get_if<ToolSample>() != nullptr));
  return (*events[0].get_if<ToolSample>());
}

}  // namespace

TEST_CASE("nothing is folded to nothing") { CHECK(fold({}).empty()); }

TEST_CASE("up to 64 processes of one tool are told one by one") {
  const std::vector<Event> events = fold(some(64));
  const auto samples = all_of<ProcessSample>(events);
  CHECK(events.size() == 64);
  REQUIRE(samples.size() == 64);
  for (std::size_t i = 0; i < samples.size(); ++i) CHECK(samples[i].process->pid == i + 1);
  CHECK(samples[0].account.ledger->pipe_read_peer_pid == 3u);
}

TEST_CASE("65 processes of one tool are told together") {
  Context context;
  context.step = "align";
  const ToolSample sum = folded(some(65, {.context = context}));
  CHECK(sum.time_ns == 777);
  CHECK(sum.tool == "sort");
  CHECK(*sum.context == context);
  CHECK(sum.processes == 65);
  CHECK(sum.threads == 2 * 65);
  CHECK(sum.rss_anonymous_bytes == 100 * 65);
  CHECK(sum.rss_file_bytes == 30 * 65);
  CHECK(sum.rss_shared_bytes == 5 * 65);
  CHECK(sum.account.cpu_ns == 11 * 65);
  CHECK(sum.account.read_bytes == 13 * 65);
  CHECK(sum.account.ledger->wall_ns == 17 * 65);
  CHECK(sum.account.ledger->pipe_read_ns == 19 * 65);
}

TEST_CASE("who waits for whom can't be told of many") {
  const ToolSample sum = folded(some(kMany));
  CHECK_FALSE(sum.account.ledger->pipe_read_peer_pid.has_value());
  CHECK_FALSE(sum.account.ledger->pipe_write_peer_pid.has_value());
}

TEST_CASE("the session's own process is told by itself, however many are like it") {
  const std::vector<Event> events = fold(some(80), 7);
  const auto apart = all_of<ProcessSample>(events);
  REQUIRE(apart.size() == 1);
  CHECK(apart[0].process->pid == 7);
  CHECK(all_of<ToolSample>(events).at(0).processes == 79);
}

TEST_CASE("different tools are folded apart, those without a name too") {
  const std::vector<Event> events =
      fold(both(both(some(kMany), some(kMany + 1, {.tool = {}})), some(3, {.tool = "cat"}, 5000)));
  CHECK(all_of<ProcessSample>(events).size() == 3);
  const auto sums = all_of<ToolSample>(events);
  REQUIRE(sums.size() == 2);
  for (const ToolSample& sum : sums) CHECK(sum.processes == (sum.tool ? kMany : kMany + 1));
}

TEST_CASE("as many of each tool as are told one by one stay so, however many there are in all") {
  CHECK(all_of<ProcessSample>(fold(both(some(64), some(64, {.tool = "cat"})))).size() == 128);
}

TEST_CASE("different tasks are folded apart") {
  Context align;
  align.step = "align";
  Context other_run = align;
  other_run.run = "2";
  CHECK(all_of<ProcessSample>(fold(both(some(40, {.context = align}), some(40, {.context = other_run})))).size() == 80);
  const auto sums = all_of<ToolSample>(fold(both(some(70, {.context = align}), some(80, {.context = other_run}))));
  REQUIRE(sums.size() == 2);
  for (const ToolSample& sum : sums) CHECK(sum.processes == (*sum.context == align ? 70 : 80));
}

TEST_CASE("a figure that is unknown of one is unknown of all, wherever that one is") {
  for (const std::size_t at : {std::size_t{0}, std::size_t{1}, kMany - 1}) {
    std::vector<ProcessSample> samples = some(kMany);
    samples[at].account.read_bytes.reset();
    samples[at].threads.reset();
    samples[at].account.ledger = {};
    const ToolSample sum = folded(std::move(samples));
    CAPTURE(at);
    CHECK_FALSE(sum.account.read_bytes.has_value());
    CHECK_FALSE(sum.threads.has_value());
    CHECK_FALSE(sum.account.ledger.has_value());
    CHECK(sum.account.cpu_ns == 11 * kMany);
    CHECK(sum.processes == kMany);
  }
}

TEST_CASE("those that run are counted, and a state that is unknown is none") {
  std::vector<ProcessSample> samples = some(kMany);
  for (const std::size_t at : {0u, 5u, 64u}) samples[at].state = "running";
  samples[7].state.reset();
  CHECK(folded(std::move(samples)).running == 3);
  CHECK(folded(some(kMany)).running == 0);
}

TEST_CASE("what many hold together counts the mapped files of an executable once") {
  std::vector<ProcessSample> samples = both(some(60), some(10, {.exe = "/opt/sort"}));
  samples[20].rss_file_bytes = 80;
  CHECK(folded(samples).held_bytes == 70 * 105 + 80 + 30);
  CHECK(folded(samples).rss_file_bytes == 69 * 30 + 80);
  samples[0].pss_bytes = 40;
  CHECK(folded(samples).held_bytes == 69 * 105 + 40 + 80 + 30);
}

TEST_CASE("what many hold together is unknown when it is of one") {
  for (const std::size_t at : {std::size_t{0}, kMany - 1}) {
    std::vector<ProcessSample> samples = some(kMany);
    samples[at].rss_anonymous_bytes.reset();
    samples[at].rss_file_bytes.reset();
    samples[at].rss_shared_bytes.reset();
    const ToolSample sum = folded(std::move(samples));
    CHECK_FALSE(sum.held_bytes.has_value());
    CHECK_FALSE(sum.rss_anonymous_bytes.has_value());
    CHECK_FALSE(sum.rss_file_bytes.has_value());
    CHECK_FALSE(sum.rss_shared_bytes.has_value());
  }
}
