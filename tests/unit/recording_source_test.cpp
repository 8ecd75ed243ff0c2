// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <tracer/event.hpp>
#include <tracer/recording.hpp>
#include <tracer/session.hpp>
#include <tracer/sink.hpp>
#include <tracer/source.hpp>

#include "base/unique_fd.hpp"
#include "sample_events.hpp"
#include "source/source.hpp"
#include "temp_file.hpp"

using namespace tracer;
using namespace tracer::internal;

namespace {

struct Counting final : internal::Feed {
  void record(const internal::Record&) override {}
  void event(Event) override { ++events; }
  void snapshot_end(std::uint64_t) override {}
  std::size_t events = 0;
};

std::vector<std::byte> bytes_of_a_recording(std::span<const Event> events) {
  const TempFile file;
  const auto sink = recording_sink(file.path(), HostInfo{});
  sink->write(events);
  sink->flush();
  return file.bytes();
}

/// A FIFO with a recording so far, whose writer has not closed it.
struct RecordingFifo {
  TempFile file;
  UniqueFd writer;
  std::unique_ptr<internal::Source> source;

  explicit RecordingFifo(std::span<const std::byte> so_far) {
    REQUIRE(::mkfifo(file.path().c_str(), 0600) == 0);
    std::thread other([&] {
      writer = UniqueFd(::open(file.path().c_str(), O_WRONLY | O_CLOEXEC));
      write(so_far);
    });
    source = recording_source(file.path()).release();
    other.join();
  }
  void write(std::span<const std::byte> bytes) const {
    CHECK(::write(writer.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  }
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
  CHECK(source->tracker() == nullptr);
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

TEST_CASE("a recording in a pipe is read as far as it is there, without waiting") {
  const auto events = sample_events::all();
  const auto bytes = bytes_of_a_recording(events);
  const auto all = std::span<const std::byte>(bytes);
  const RecordingFifo fifo(all.first(all.size() - 1));
  Counting feed;
  CHECK_FALSE(fifo.source->drain(feed, {}));
  CHECK(feed.events == 0);
  CHECK_FALSE(fifo.source->finished());
  CHECK_FALSE(is_readable(fifo.source->fd()));
  fifo.write(all.last(1));
  CHECK(is_readable(fifo.source->fd()));
  CHECK_FALSE(fifo.source->drain(feed, {}));
  CHECK(feed.events == events.size());
  CHECK_FALSE(fifo.source->finished());
}

TEST_CASE("a session that replays a pipe stops although the pipe's writer is silent") {
  const Event loss = Loss{1, "cause", 2};
  RecordingFifo fifo(bytes_of_a_recording(std::span(&loss, 1)));
  Session session(tracer::Source(std::move(fifo.source)), SessionOptions{});
  Queue queue = session.queue();
  session.start();
  REQUIRE(queue.wait(std::chrono::seconds(30)));
  Event first;
  REQUIRE(queue.read(std::span(&first, 1)) == 1);
  CHECK(to_json(first) == to_json(loss));
  session.stop();
  CHECK(session.statistics().losses.empty());
}

TEST_CASE("a read that fails before the end is reported") {
  const Event loss = Loss{1, "cause", 2};
  const auto bytes = bytes_of_a_recording(std::span(&loss, 1));
  // Reading a terminal whose other end is closed fails with EIO.
  UniqueFd terminal(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  REQUIRE(terminal);
  REQUIRE(::unlockpt(terminal.get()) == 0);
  char name[64];
  REQUIRE(::ptsname_r(terminal.get(), name, sizeof name) == 0);
  std::thread other([&] {
    const UniqueFd end(::open(name, O_RDWR | O_NOCTTY | O_CLOEXEC));
    termios raw{};
    CHECK(::tcgetattr(end.get(), &raw) == 0);
    ::cfmakeraw(&raw);
    CHECK(::tcsetattr(end.get(), TCSANOW, &raw) == 0);
    CHECK(::write(end.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  });
  other.join();
  RecordingReader reader(terminal.release(), "terminal");
  CHECK(reader.next().has_value());
  CHECK_FALSE(reader.next().has_value());
  CHECK(reader.damage().read_error == EIO);
  CHECK(reader.damage().truncated);
}
