// SPDX-License-Identifier: Apache-2.0
/// Feeds a session records that no kernel sent: each two bytes of length, then as many bytes. The first byte of the
/// input selects filters.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include <tracer/session.hpp>
#include <tracer/source.hpp>
#include <tracer/summary.hpp>

#include "decoded.hpp"
#include "source/kernel/ring/decoder.hpp"
#include "stream/stream_writer.hpp"
#include "wire_builder.hpp"
#include "wire_source.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  tracer::SessionOptions options;
  options.reader = tracer::ReaderMode::kPoll;
  options.max_processes = 8;
  options.read_engine_notes = false;
  options.max_announcements = 4;
  if ((data[0] & 1) != 0) options.filter.include_exe("*a*");
  if ((data[0] & 2) != 0) options.filter.exclude_tool("*b*c");
  if ((data[0] & 4) != 0) options.filter.include_argument("?*");
  auto owned = std::make_unique<wire::WireSource>();
  wire::WireSource& source = *owned;
  tracer::Session session(tracer::Source(std::move(owned)), options);
  tracer::Summary summary;
  tracer::internal::StreamWriter stream(tracer::HostInfo{});
  bool ended = false;
  const tracer::Subscription all = session.on_any([&](const tracer::Event& event) {
    if (ended) __builtin_trap();
    ended = event.kind() == tracer::EventKind::kSessionEnd;
    summary.add(event);
    static_cast<void>(tracer::to_json(event));
    stream.append(event);
  });
  session.start();
  tracer::Context said;
  said.task = "a";
  if ((data[0] & 8) != 0) session.announce({tracer::InWorkDir{"/a"}, said});
  if ((data[0] & 16) != 0) session.announce({tracer::BelowProcess{{1, 1}, {"a*", "..."}}, said});
  auto rest = std::as_bytes(std::span(data + 1, size - 1));
  tracer::internal::Decoder decoder;
  while (rest.size() >= 2) {
    const std::size_t length =
        std::min(static_cast<std::size_t>(rest[0]) | (static_cast<std::size_t>(rest[1]) << 8), rest.size() - 2);
    const wire::Exact record(rest.subspan(2, length));
    static_cast<void>(collect::decoded(decoder, record.span()));
    source.push(record.span());
    rest = rest.subspan(2 + length);
  }
  session.poll(std::chrono::milliseconds(0));
  static_cast<void>(session.living());
  session.stop();
  stream.close_frame();
  static_cast<void>(summary.by_tool());
  static_cast<void>(summary.by_step());
  static_cast<void>(summary.total());
  if (!ended) __builtin_trap();
  return 0;
}
