// SPDX-License-Identifier: Apache-2.0
#include "stream/stream_reader.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "stream_bytes.hpp"

using namespace tracer;
using namespace tracer::internal;
using Step = StreamReader::Step;

namespace {

Bytes frame_of(std::uint64_t rows) {
  return stream_bytes::Payload{.kinds = {{static_cast<std::uint64_t>(EventKind::kLoss), rows, {}}}};
}

std::vector<Step> all_steps(std::span<const std::byte> bytes, std::size_t piece = SIZE_MAX,
                            RecordingDamage* damage = nullptr) {
  StreamReader reader;
  std::vector<Step> steps;
  for (;;) {
    const Step step = reader.step();
    if (step == Step::kNeedsBytes) {
      if (bytes.empty()) reader.end();
      const auto next = bytes.first(std::min(piece, bytes.size()));
      reader.feed(next);
      bytes = bytes.subspan(next.size());
      continue;
    }
    steps.push_back(step);
    if (step != Step::kHeader && step != Step::kFrame) break;
  }
  if (damage != nullptr) *damage = reader.damage();
  return steps;
}

}  // namespace

TEST_CASE("a stream may come in pieces of any size") {
  stream_bytes::Stream stream;
  stream.add(frame_of(1));
  stream.add(frame_of(2));
  const std::vector<Step> expected = {Step::kHeader, Step::kFrame, Step::kFrame, Step::kEnd};
  for (const std::size_t piece : {1u, 2u, 7u, 31u, 33u, 1000u}) CHECK(all_steps(stream.bytes(), piece) == expected);
}

TEST_CASE("frames that are not there are counted by their numbers") {
  stream_bytes::Stream stream;
  stream.add(frame_of(1));
  stream.leave_out();
  stream.leave_out();
  stream.add(frame_of(1));
  RecordingDamage damage;
  CHECK(all_steps(stream.bytes(), SIZE_MAX, &damage) ==
        std::vector<Step>{Step::kHeader, Step::kFrame, Step::kFrame, Step::kEnd});
  CHECK(damage.missing_frames == 2);
  CHECK(damage.skipped_bytes == 0);
  CHECK(damage.any());
}

TEST_CASE("frames of another stream are passed over, its header, too") {
  stream_bytes::Stream stream;
  stream_bytes::Stream other({}, 43);
  other.add(frame_of(1));
  Bytes both = stream.bytes();
  put_bytes(both, other.bytes());
  RecordingDamage damage;
  CHECK(all_steps(both, SIZE_MAX, &damage) == std::vector<Step>{Step::kHeader, Step::kEnd});
  CHECK(damage.skipped_bytes == other.bytes().size());
}

TEST_CASE("a frame that breaks a rule is skipped as a whole") {
  stream_bytes::Stream stream;
  const std::size_t begin = stream.bytes().size();
  stream.add(frame_of(kMaxRows + 1));
  const std::size_t end = stream.bytes().size();
  stream.add(frame_of(1));
  RecordingDamage damage;
  CHECK(all_steps(stream.bytes(), SIZE_MAX, &damage) == std::vector<Step>{Step::kHeader, Step::kFrame, Step::kEnd});
  CHECK(damage.skipped_bytes == end - begin);
  CHECK(damage.missing_frames == 0);
}

TEST_CASE("what can't be read says why, however often it is asked") {
  CHECK(all_steps({}) == std::vector<Step>{Step::kNoStream});
  CHECK(all_steps(stream_bytes::bytes_of("#!/bin/sh, and more")) == std::vector<Step>{Step::kNoStream});
  CHECK(all_steps(stream_bytes::bytes_of(kRecordingMagic)) == std::vector<Step>{Step::kBadHeader});
  CHECK(all_steps(stream_bytes::bytes_of(std::string(kRecordingMagic) + "TRFM and more")) ==
        std::vector<Step>{Step::kOlderSchema});
  CHECK(all_steps(stream_bytes::Stream({.schema = kStreamSchema + 1, .host = {}}).bytes()) ==
        std::vector<Step>{Step::kNewerSchema});
  CHECK(all_steps(stream_bytes::Stream({.schema = kStreamSchema - 1, .host = {}}).bytes()) ==
        std::vector<Step>{Step::kOlderSchema});
  StreamReader reader;
  reader.feed(stream_bytes::bytes_of("no stream at all"));
  CHECK(reader.step() == Step::kNoStream);
  CHECK(reader.step() == Step::kNoStream);
}

TEST_CASE("a header that is no map with a schema is refused") {
  for (const std::string& payload : {std::string(), std::string("\x2a"), std::string("\x80"), std::string("\x83"),
                                     std::string("\x81\xa6schema\xa3one"), std::string("\x81\x01\x02"),
                                     std::string("\xdf\xff\xff\xff\xff"), std::string("\xdd\x7f\xff\xff\xff")}) {
    CAPTURE(payload.size());
    CHECK(all_steps(stream_bytes::Stream::beginning_with(stream_bytes::bytes_of(payload)).bytes()) ==
          std::vector<Step>{Step::kBadHeader});
  }
}
