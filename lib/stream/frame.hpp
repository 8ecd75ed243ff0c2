// SPDX-License-Identifier: Apache-2.0
/// Frames: a checksummed, compressed run of bytes that can be found again after damage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace tracer {

inline constexpr std::string_view kRecordingMagic{"TRACER\x1a\n", 8};
inline constexpr std::size_t kFrameHeaderBytes = 16;
/// Larger frames are damage: a writer never makes them.
inline constexpr std::size_t kMaxFrameBytes = 1u << 20;

/// Compresses frames; keeps its buffers.
class FrameWriter {
 public:
  FrameWriter();
  ~FrameWriter();
  FrameWriter(FrameWriter&&) noexcept;
  FrameWriter& operator=(FrameWriter&&) noexcept;
  /// The frame of `payload` (at most kMaxFrameBytes), valid until the next call. Empty: zstd could not (out of memory).
  std::span<const std::byte> frame(std::span<const std::byte> payload);

 private:
  struct Zstd;
  std::unique_ptr<Zstd> zstd_;
  std::vector<std::byte> out_;
};

struct FrameHeader {
  std::uint32_t stored_bytes = 0;
  std::uint32_t payload_bytes = 0;
  std::uint32_t checksum = 0;
};

/// Absent: these bytes are no frame's header.
std::optional<FrameHeader> parse_frame_header(std::span<const std::byte> bytes) noexcept;

/// Absent: the checksum is wrong, or it does not decompress to what the header says.
std::optional<std::vector<std::byte>> open_frame(const FrameHeader& header, std::span<const std::byte> stored);

}  // namespace tracer
