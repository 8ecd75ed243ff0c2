// SPDX-License-Identifier: Apache-2.0
#include <poll.h>

#include <vector>

#include <doctest/doctest.h>

#include <tracer/event.hpp>
#include <tracer/recording.hpp>
#include <tracer/sink.hpp>
#include <tracer/source.hpp>

#include "sample_events.hpp"
#include "source/source.hpp"
#include "temp_file.hpp"

using namespace tracer;
using namespace tracer::internal;

namespace {

struct Counting final : internal::Feed {
  void record(internal::Record&&) override {}
  void event(Event) override { ++events; }
  void snapshot_end(std::uint64_t) override {}
  std::size_t events = 0;
};

bool is_readable(int fd) {
  pollfd ready{fd, POLLIN, 0};
  return ::poll(&ready, 1, 0) == 1;
}

}  // namespace

TEST_CASE("a recording yields no more than it may at a time, and is readable until its end") {
  const TempFile file;
  const std::size_t count = sample_events::all().size();
  {
    const auto sink = recording_sink(file.path(), HostInfo{});
    const auto events = sample_events::all();
    sink->write(events);
    sink->flush();
  }
  const auto source = recording_source(file.path()).release();
  Counting feed;
  CHECK(source->ends_itself());
  CHECK(source->control() == nullptr);
  CHECK(is_readable(source->fd()));
  CHECK(source->drain(feed, {.records = 3}));
  CHECK(feed.events == 3);
  CHECK(is_readable(source->fd()));
  CHECK_FALSE(source->drain(feed, {}));
  CHECK(feed.events == count);
  CHECK(source->finished());
  CHECK_FALSE(is_readable(source->fd()));
  CHECK(source->counters().losses.empty());
}

TEST_CASE("a recording that is cut off counts that as a loss") {
  const TempFile file;
  {
    const auto sink = recording_sink(file.path(), HostInfo{});
    const Event loss = Loss{1, "cause", 2};
    sink->write(std::span(&loss, 1));
    sink->flush();
  }
  const auto source = recording_source(file.path()).release();
  Counting feed;
  CHECK_FALSE(source->drain(feed, {}));
  CHECK(source->counters().losses == std::map<std::string, std::uint64_t>{{"recording_truncated", 1}});
}
