// SPDX-License-Identifier: Apache-2.0
/// Frames: a checksummed, compressed run of bytes that can be found again after damage.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "stream/bytes.hpp"

namespace tracer::internal {

inline constexpr std::string_view kRecordingMagic{"TRACER\x1a\n", 8};
inline constexpr std::size_t kFrameHeaderBytes = 32;
/// Larger frames are damage: a writer never makes them.
inline constexpr std::size_t kMaxFrameBytes = 1u << 20;

/// What a frame stands for is at most so many times its stored bytes: a writer pads what is smaller, and a reader
/// refuses more. Else a file of a MiB could keep a reader busy for hours.
inline constexpr std::size_t kMostGrowth = 1024;

/// Of zstd. What is kept takes some 0.7 MiB more memory while it is written, to be 2 to 10 % smaller.
inline constexpr int kStreamLevel = 1;
inline constexpr int kRecordingLevel = 4;

struct FrameHeader {
  std::uint32_t stored_bytes = 0;
  std::uint32_t payload_bytes = 0;
  std::uint32_t checksum = 0;
  std::uint64_t stream = 0;    ///< Random, the same in all frames of a stream.
  std::uint64_t sequence = 0;  ///< 0 for the stream's header, then one more with each frame.
};

/// Compresses frames; keeps its buffers.
class FrameWriter {
 public:
  explicit FrameWriter(std::uint64_t stream, int level = kStreamLevel);
  ~FrameWriter();
  FrameWriter(FrameWriter&&) noexcept;
  FrameWriter& operator=(FrameWriter&&) noexcept;
  /// Appends the frame of `payload`, which has at most kMaxFrameBytes; in `least` stored bytes or more. Throws
  /// std::bad_alloc; `out` is as before then.
  void append(Bytes& out, std::span<const std::byte> payload, std::size_t least = 0);
  /// The last frame goes nowhere, or elsewhere: the next one has its number.
  void take_back() noexcept { --sequence_; }

 private:
  struct Zstd;
  std::unique_ptr<Zstd> zstd_;
  std::uint64_t stream_;
  int level_;
  std::uint64_t sequence_ = 0;
};

/// A frame of events that any stream may have: its stored bytes once, and their checksum, so that a header for it takes
/// no look at them.
struct SharedBytes {
  Bytes stored;
  std::uint32_t payload_bytes = 0;
  std::uint32_t checksum = 0;  ///< Of the stored bytes alone.
};

/// Of a whole frame that a FrameWriter made.
SharedBytes shared_bytes(std::span<const std::byte> frame);
/// The header of these bytes as a frame of that stream.
std::array<std::byte, kFrameHeaderBytes> frame_header(const SharedBytes& bytes, std::uint64_t stream,
                                                      std::uint64_t sequence) noexcept;

struct Frame {
  FrameHeader header;
  std::span<const std::byte> payload;
};

/// Finds frames in bytes from anywhere. What lies between them is damage: passed over and counted.
class FrameFinder {
 public:
  FrameFinder();
  ~FrameFinder();
  FrameFinder(FrameFinder&&) noexcept;
  FrameFinder& operator=(FrameFinder&&) noexcept;

  void feed(std::span<const std::byte> bytes);
  /// No more bytes come: a frame that is not whole is none.
  void end() noexcept { ended_ = true; }
  /// Absent: feed more, or after end() all is read. The payload is valid until the next call of anything.
  std::optional<Frame> next();
  std::uint64_t skipped_bytes() const noexcept { return skipped_bytes_; }

  /// Takes bytes that are no frame, such as a magic number. Empty if there are fewer.
  std::span<const std::byte> take(std::size_t count);
  /// What comes next, without taking it.
  std::span<const std::byte> available() const noexcept { return std::span(buffer_).subspan(begin_); }

 private:
  struct Zstd;
  bool open(const FrameHeader& header, std::span<const std::byte> stored);

  std::unique_ptr<Zstd> zstd_;
  Bytes buffer_;
  std::size_t begin_ = 0;
  Bytes payload_;
  std::uint64_t skipped_bytes_ = 0;
  std::uint64_t checked_in_vain_ = 0;  ///< Bytes of what began like a frame and was none.
  bool ended_ = false;
};

}  // namespace tracer::internal
