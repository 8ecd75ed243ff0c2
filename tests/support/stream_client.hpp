// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <vector>

#include <doctest/doctest.h>

#include <tracer/event.hpp>

#include "base/unique_fd.hpp"
#include "serve/outbox.hpp"
#include "stream/event_rows.hpp"
#include "stream/stream_reader.hpp"

/// A client at the other end of a socket.
struct StreamClient {
  StreamClient() {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
    service.reset(ends[0]);
    own.reset(ends[1]);
  }
  /// All events that have come so far.
  std::vector<tracer::Event> read() {
    using tracer::internal::StreamReader;
    std::byte buffer[65536];
    for (ssize_t got = 0; (got = ::read(own.get(), buffer, sizeof buffer)) > 0;)
      reader.feed({buffer, static_cast<std::size_t>(got)});
    std::vector<tracer::Event> events;
    for (auto step = reader.step(); step != StreamReader::Step::kNeedsBytes; step = reader.step()) {
      REQUIRE((step == StreamReader::Step::kHeader || step == StreamReader::Step::kFrame));
      if (step == StreamReader::Step::kHeader) continue;
      tracer::internal::EventRows rows;
      rows.open(reader.frame());
      for (tracer::Event event = rows.next(); event.kind() != tracer::EventKind::kNone; event = rows.next())
        events.push_back(event);
    }
    CHECK(reader.damage().missing_frames == 0);
    CHECK(reader.damage().skipped_bytes == 0);
    return events;
  }
  /// Likewise, with all that waits for it.
  std::vector<tracer::Event> read_all(tracer::internal::Outbox& outbox) {
    using tracer::internal::Outbox;
    std::vector<tracer::Event> events;
    for (;;) {
      const auto written = outbox.write(service.get(), std::chrono::steady_clock::now());
      REQUIRE(written != Outbox::Written::kFailed);
      const auto got = read();
      events.insert(events.end(), got.begin(), got.end());
      if (written == Outbox::Written::kAll) return events;
    }
  }

  tracer::internal::UniqueFd service;
  tracer::internal::UniqueFd own;
  tracer::internal::StreamReader reader;
};
