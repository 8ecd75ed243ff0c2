// SPDX-License-Identifier: Apache-2.0
#include "stream/stream_reader.hpp"

#include <cstring>
#include <utility>

namespace tracer::internal {
namespace {

/// The frames of schema 1 began so.
constexpr std::string_view kOlderFrameMagic = "TRFM";

bool begins_with(std::span<const std::byte> bytes, std::string_view text) noexcept {
  return bytes.size() >= text.size() && std::memcmp(bytes.data(), text.data(), text.size()) == 0;
}

}  // namespace

StreamReader::Step StreamReader::step() {
  if (failed_) return *failed_;
  if (has_header_) return read_frame();
  const Step step = read_header();
  if (step == Step::kHeader) {
    has_header_ = true;
  } else if (step != Step::kNeedsBytes) {
    failed_ = step;
  }
  return step;
}

StreamReader::Step StreamReader::read_header() {
  if (!began_) {
    const auto magic = frames_.take(kRecordingMagic.size());
    if (magic.empty()) return ended_ ? Step::kNoStream : Step::kNeedsBytes;
    if (!begins_with(magic, kRecordingMagic)) return Step::kNoStream;
    began_ = true;
  }
  if (frames_.available().size() < kOlderFrameMagic.size() && !ended_) return Step::kNeedsBytes;
  if (begins_with(frames_.available(), kOlderFrameMagic)) return Step::kOlderSchema;
  const auto frame = frames_.next();
  if (frames_.skipped_bytes() != 0) return Step::kBadHeader;
  if (!frame) return ended_ ? Step::kBadHeader : Step::kNeedsBytes;
  auto header = take_header(frame->payload);
  if (!header) return Step::kBadHeader;
  if (header->schema < kStreamSchema) return Step::kOlderSchema;
  if (header->schema > kStreamSchema) return Step::kNewerSchema;
  header_ = std::move(*header);
  stream_ = frame->header.stream;
  return Step::kHeader;
}

StreamReader::Step StreamReader::read_frame() {
  while (const auto frame = frames_.next()) {
    // Whatever a frame of another stream means, it is not described here.
    if (frame->header.stream == stream_ && frame->header.sequence >= next_sequence_) {
      damage_.missing_frames += frame->header.sequence - next_sequence_;
      next_sequence_ = frame->header.sequence + 1;
    }
    if (frame->header.stream == stream_ && frame->header.sequence != 0 &&
        columns_.decode(frame->payload, FrameBounds::of_stored(frame->header.stored_bytes))) {
      damage_.skipped_events += columns_.unknown_rows();
      return Step::kFrame;
    }
    damage_.skipped_bytes += kFrameHeaderBytes + frame->header.stored_bytes;
  }
  return ended_ ? Step::kEnd : Step::kNeedsBytes;
}

RecordingDamage StreamReader::damage() const noexcept {
  RecordingDamage damage = damage_;
  damage.skipped_bytes += frames_.skipped_bytes();
  return damage;
}

}  // namespace tracer::internal
