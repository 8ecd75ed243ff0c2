// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <tracer/recording.hpp>

#include "stream/column_frame.hpp"
#include "stream/frame.hpp"
#include "stream/stream_header.hpp"

namespace tracer::internal {

/// Reads a stream from bytes that come from anywhere, in pieces of any size.
class StreamReader {
 public:
  enum class Step {
    kNeedsBytes,  ///< Feed more.
    kHeader,      ///< header() is there. The first step.
    kFrame,       ///< frame() holds the next frame.
    kEnd,         ///< After end(): all is read.
    // What follows comes in place of the header, and again if it is asked again.
    kNoStream,
    kBadHeader,
    kOlderSchema,
    kNewerSchema,
  };

  void feed(std::span<const std::byte> bytes) { frames_.feed(bytes); }
  /// As ColumnFrame.
  void keep_only(const KindSet& kinds) noexcept { columns_.keep_only(kinds); }
  /// No more bytes come.
  void end() noexcept {
    ended_ = true;
    frames_.end();
  }
  Step step();

  const StreamHeader& header() const noexcept { return header_; }
  const ColumnFrame& frame() const noexcept { return columns_; }
  std::uint64_t stream() const noexcept { return stream_; }
  /// How many frames were read or missed by now, by their numbers; the header is one.
  std::uint64_t frames() const noexcept { return next_sequence_; }
  /// All but RecordingDamage::truncated.
  RecordingDamage damage() const noexcept;

 private:
  Step read_header();
  Step read_frame();

  FrameFinder frames_;
  bool ended_ = false;
  bool began_ = false;  ///< The magic number is read.
  std::optional<Step> failed_;
  bool has_header_ = false;
  StreamHeader header_;
  std::uint64_t stream_ = 0;
  std::uint64_t next_sequence_ = 1;
  ColumnFrame columns_;
  RecordingDamage damage_;
};

}  // namespace tracer::internal
