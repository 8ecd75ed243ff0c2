// SPDX-License-Identifier: Apache-2.0
#include <tracer/sink.hpp>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <tracer/recording.hpp>

#include "sample_events.hpp"
#include "temp_file.hpp"

using namespace tracer;

namespace {

std::unique_ptr<Sink> make(bool json, const std::filesystem::path& file) {
  return json ? json_sink(file, HostInfo{}) : recording_sink(file, HostInfo{});
}

std::vector<Event> many_losses(int count) {
  std::vector<Event> events;
  for (int i = 0; i < count; ++i)
    events.emplace_back(sample_events::loss(1, std::to_string(i) + std::string(200, 'x'), 1));
  return events;
}

std::string lines_of(const std::vector<Event>& events) {
  std::string lines = to_json(HostInfo{}) + '\n';
  for (const Event& event : events) lines += to_json(event) + '\n';
  return lines;
}

}  // namespace

TEST_CASE("JSON is one line for the host and one for each event") {
  const TempFile file;
  const auto events = sample_events::all();
  {
    const auto sink = json_sink(file.path(), HostInfo{});
    sink->write(events);
    sink->flush();
    CHECK(file.text() == lines_of(events));
    CHECK_FALSE(sink->problem().has_value());
  }
  CHECK(file.text() == lines_of(events));
}

TEST_CASE("a sink on a full disk says so, and stays quiet from then on") {
  for (const bool json : {false, true}) {
    const auto sink = make(json, "/dev/full");
    sink->write(many_losses(3000));
    sink->flush();
    REQUIRE(sink->problem().has_value());
    CHECK(sink->problem()->code == ErrorCode::kFileUnwritable);
    CHECK(sink->problem()->error_number == ENOSPC);
    CHECK(sink->problem()->what.find("/dev/full") != std::string::npos);
    CHECK_FALSE(sink->problem()->fix.empty());
  }
}

TEST_CASE("what a sink wrote before its disk was full is whole, and nothing comes after") {
  const auto previous = ::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  for (const bool json : {false, true}) {
    const TempFile file;
    const auto events = many_losses(20'000);
    const auto sink = make(json, file.path());
    sink->write(std::span(events).first(100));
    sink->flush();
    const std::size_t whole = file.bytes().size();
    rlimit limit = before;
    limit.rlim_cur = whole + 10;
    ::setrlimit(RLIMIT_FSIZE, &limit);
    sink->write(events);
    sink->flush();
    ::setrlimit(RLIMIT_FSIZE, &before);
    const std::size_t cut = file.bytes().size();
    sink->write(events);
    sink->flush();
    CHECK(sink->problem()->error_number == EFBIG);
    CHECK(file.bytes().size() == cut);
    if (json) {
      CHECK(file.text().starts_with(lines_of({events.begin(), events.begin() + 100})));
    } else {
      RecordingReader reader(file.path());
      std::size_t back = 0;
      while (reader.next()) ++back;
      CHECK(back == 100);
      CHECK(reader.damage().skipped_bytes == cut - whole);
    }
  }
  ::signal(SIGXFSZ, previous);
}

TEST_CASE("a sink whose reader went away says so") {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  ::close(ends[0]);
  const auto previous = ::signal(SIGPIPE, SIG_IGN);
  const auto sink = json_sink(ends[1], "a pipe", HostInfo{});
  sink->flush();
  ::signal(SIGPIPE, previous);
  REQUIRE(sink->problem().has_value());
  CHECK(sink->problem()->error_number == EPIPE);
  CHECK(sink->problem()->what.find("a pipe") != std::string::npos);
}

TEST_CASE("a descriptor that does not block is waited for, not changed, and not spun on") {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
  const int kept = ::dup(ends[1]);
  const auto events = many_losses(2000);  // more than a pipe holds
  std::string read;
  std::atomic<pid_t> thread_id{0};
  std::thread writer([&] {
    thread_id = ::gettid();
    {
      const auto sink = json_sink(ends[1], "a pipe", HostInfo{});
      sink->write(events);
    }
    CHECK((::fcntl(kept, F_GETFL) & O_NONBLOCK) != 0);
    ::close(kept);
  });
  // A thread that spins is never found asleep so often in a row.
  for (int asleep = 0; asleep < 20; std::this_thread::sleep_for(std::chrono::milliseconds(5))) {
    std::ifstream file("/proc/self/task/" + std::to_string(thread_id) + "/stat");
    std::string text((std::istreambuf_iterator<char>(file)), {});
    const bool sleeps = text.find(") S ") != std::string::npos;
    asleep = sleeps ? asleep + 1 : 0;
  }
  char piece[4096];
  for (;;) {
    const ssize_t got = ::read(ends[0], piece, sizeof piece);
    if (got > 0) read.append(piece, static_cast<std::size_t>(got));
    if (got == 0) break;
    if (got < 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  writer.join();
  ::close(ends[0]);
  CHECK(read == lines_of(events));
}

TEST_CASE("a problem can be asked for while the sink writes") {
  const auto sink = recording_sink(std::filesystem::path("/dev/full"), HostInfo{});
  std::thread writer([&] { sink->write(many_losses(5000)); });
  while (!sink->problem().has_value()) std::this_thread::yield();
  writer.join();
  CHECK(sink->problem()->error_number == ENOSPC);
}

TEST_CASE("a file that can't be created is reported at once") {
  const TempFile file;
  for (const bool json : {false, true}) {
    try {
      static_cast<void>(make(json, file.folder() / "missing" / "file"));
      FAIL("created");
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::kFileUnwritable);
      CHECK(error.error_number() == ENOENT);
    }
  }
}

TEST_CASE("a flush makes what came before readable") {
  const TempFile file;
  const auto sink = recording_sink(file.path(), HostInfo{});
  const Event event = sample_events::loss(1, "a", 1);
  sink->write({&event, 1});
  sink->flush();
  RecordingReader reader(file.path());
  CHECK(reader.next().has_value());
  CHECK(reader.damage().skipped_bytes == 0);
  CHECK(sink->flush_period() == std::chrono::seconds(3));
}

TEST_CASE("a recording that can't be written goes on where it is rescued, with all that came before") {
  const TempFile file;
  const TempFile elsewhere;
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, SIG_IGN);
  const int fd = ::open(file.path().c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
  std::uint64_t whole = 0;
  OutputLimit limit;
  limit.rescue = [&](std::uint64_t whole_bytes) {
    whole = whole_bytes;
    const rlimit free{before.rlim_max, before.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &free);
    std::string text(whole_bytes, '\0');
    CHECK(::pread(fd, text.data(), text.size(), 0) == static_cast<ssize_t>(whole_bytes));
    const int other = ::open(elsewhere.path().c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CHECK(::write(other, text.data(), text.size()) == static_cast<ssize_t>(whole_bytes));
    return other;
  };
  const auto events = many_losses(2000);
  {
    const auto sink = recording_sink(fd, file.path().string(), HostInfo{}, std::move(limit));
    sink->write({events.data(), 1000});
    sink->flush();
    const rlimit small{static_cast<rlim_t>(::lseek(fd, 0, SEEK_END)) + 100, before.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
    sink->write({events.data() + 1000, 1000});
    sink->flush();
    REQUIRE(sink->problem().has_value());
    CHECK(sink->problem()->error_number == EFBIG);
  }
  ::setrlimit(RLIMIT_FSIZE, &before);
  CHECK(whole > 0);
  RecordingReader reader(elsewhere.path());
  std::size_t count = 0;
  while (const auto event = reader.next()) count += event->kind() == EventKind::kLoss ? 1 : 0;
  CHECK(count == 2000);
  CHECK(reader.damage().skipped_bytes == 0);
}
