// SPDX-License-Identifier: Apache-2.0
#include "stream/frame.hpp"

#include <zlib.h>
#include <zstd.h>

#include <cstring>

namespace tracer {
namespace {

constexpr std::uint32_t kFrameMagic = 0x4d465254;  // "TRFM"

void put_u32(std::byte* at, std::uint32_t value) noexcept {
  for (unsigned i = 0; i < 4; ++i) at[i] = static_cast<std::byte>((value >> (8 * i)) & 0xffu);
}

std::uint32_t get_u32(const std::byte* at) noexcept {
  std::uint32_t value = 0;
  for (unsigned i = 0; i < 4; ++i) value |= static_cast<std::uint32_t>(at[i]) << (8 * i);
  return value;
}

/// Of the payload's size too, so that a damaged size is never believed.
std::uint32_t checksum_of(std::uint32_t payload_bytes, std::span<const std::byte> stored) noexcept {
  std::byte size[4];
  put_u32(size, payload_bytes);
  uLong sum = ::crc32(0, reinterpret_cast<const Bytef*>(size), sizeof size);
  sum = ::crc32(sum, reinterpret_cast<const Bytef*>(stored.data()), static_cast<uInt>(stored.size()));
  return static_cast<std::uint32_t>(sum);
}

}  // namespace

struct FrameWriter::Zstd {
  ZSTD_CCtx* context = ::ZSTD_createCCtx();
  Zstd() = default;
  Zstd(const Zstd&) = delete;
  Zstd& operator=(const Zstd&) = delete;
  ~Zstd() { ::ZSTD_freeCCtx(context); }
};

FrameWriter::FrameWriter() : zstd_(std::make_unique<Zstd>()) {}
FrameWriter::~FrameWriter() = default;
FrameWriter::FrameWriter(FrameWriter&&) noexcept = default;
FrameWriter& FrameWriter::operator=(FrameWriter&&) noexcept = default;

std::span<const std::byte> FrameWriter::frame(std::span<const std::byte> payload) {
  if (zstd_->context == nullptr || payload.size() > kMaxFrameBytes) return {};
  out_.resize(kFrameHeaderBytes + ::ZSTD_compressBound(payload.size()));
  const std::size_t stored = ::ZSTD_compressCCtx(zstd_->context, out_.data() + kFrameHeaderBytes,
                                                 out_.size() - kFrameHeaderBytes, payload.data(), payload.size(), 1);
  if (::ZSTD_isError(stored) != 0) return {};
  const auto payload_bytes = static_cast<std::uint32_t>(payload.size());
  put_u32(out_.data(), kFrameMagic);
  put_u32(out_.data() + 4, static_cast<std::uint32_t>(stored));
  put_u32(out_.data() + 8, payload_bytes);
  put_u32(out_.data() + 12, checksum_of(payload_bytes, std::span(out_).subspan(kFrameHeaderBytes, stored)));
  return std::span(out_).first(kFrameHeaderBytes + stored);
}

std::optional<FrameHeader> parse_frame_header(std::span<const std::byte> bytes) noexcept {
  if (bytes.size() < kFrameHeaderBytes || get_u32(bytes.data()) != kFrameMagic) return std::nullopt;
  const FrameHeader header{get_u32(bytes.data() + 4), get_u32(bytes.data() + 8), get_u32(bytes.data() + 12)};
  if (header.stored_bytes > ::ZSTD_compressBound(kMaxFrameBytes) || header.payload_bytes > kMaxFrameBytes)
    return std::nullopt;
  return header;
}

std::optional<std::vector<std::byte>> open_frame(const FrameHeader& header, std::span<const std::byte> stored) {
  if (stored.size() != header.stored_bytes || checksum_of(header.payload_bytes, stored) != header.checksum)
    return std::nullopt;
  std::vector<std::byte> payload(header.payload_bytes);
  const std::size_t got = ::ZSTD_decompress(payload.data(), payload.size(), stored.data(), stored.size());
  if (::ZSTD_isError(got) != 0 || got != payload.size()) return std::nullopt;
  return payload;
}

}  // namespace tracer
