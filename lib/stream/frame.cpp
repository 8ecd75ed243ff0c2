// SPDX-License-Identifier: Apache-2.0
#include "stream/frame.hpp"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <new>

namespace tracer::internal {
namespace {

constexpr std::uint32_t kFrameMagic = 0x32465254;  // "TRF2"
constexpr std::size_t kChecksumAt = 12;
constexpr std::size_t kSkippableHeaderBytes = 8;

/// Damage makes few false beginnings; a stream made of them would take hours. Of each skipped byte so many more may be
/// checked.
constexpr std::uint64_t kCheckedInVain = 256u << 20;
constexpr std::uint64_t kCheckedPerSkippedByte = 16;

std::uint32_t checksum_of(std::span<const std::byte> bytes, uLong before = 0) noexcept {
  return static_cast<std::uint32_t>(
      ::crc32(before, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size())));
}

std::uint32_t checksum_of(const FrameHeader& header) noexcept {
  std::byte rest[24];
  store(rest, header.stored_bytes);
  store(rest + 4, header.payload_bytes);
  store(rest + 8, header.stream);
  store(rest + 16, header.sequence);
  return checksum_of(rest);
}

/// Of the header too, so that a damaged size is never believed.
std::uint32_t checksum_of(const FrameHeader& header, std::span<const std::byte> stored) noexcept {
  return checksum_of(stored, checksum_of(header));
}

/// What zstd passes over: at least `bytes`. Returns how many it took.
std::size_t pad(std::byte* at, std::size_t bytes) noexcept {
  const std::size_t content = bytes - std::min(bytes, kSkippableHeaderBytes);
  store(at, static_cast<std::uint32_t>(ZSTD_MAGIC_SKIPPABLE_START));
  store(at + 4, static_cast<std::uint32_t>(content));
  std::fill_n(at + kSkippableHeaderBytes, content, std::byte{0});
  return kSkippableHeaderBytes + content;
}

void store_header(std::byte* at, const FrameHeader& header) noexcept {
  store(at, kFrameMagic);
  store(at + 4, header.stored_bytes);
  store(at + 8, header.payload_bytes);
  store(at + kChecksumAt, header.checksum);
  store(at + 16, header.stream);
  store(at + 24, header.sequence);
}

std::optional<FrameHeader> parse_header(std::span<const std::byte> bytes) noexcept {
  if (bytes.size() < kFrameHeaderBytes || load<std::uint32_t>(bytes.data()) != kFrameMagic) return std::nullopt;
  const FrameHeader header{load<std::uint32_t>(bytes.data() + 4), load<std::uint32_t>(bytes.data() + 8),
                           load<std::uint32_t>(bytes.data() + kChecksumAt), load<std::uint64_t>(bytes.data() + 16),
                           load<std::uint64_t>(bytes.data() + 24)};
  if (header.stored_bytes > ::ZSTD_compressBound(kMaxFrameBytes) || header.payload_bytes > kMaxFrameBytes ||
      header.payload_bytes > header.stored_bytes * kMostGrowth)
    return std::nullopt;
  return header;
}

}  // namespace

struct FrameWriter::Zstd {
  ZSTD_CCtx* context = ::ZSTD_createCCtx();
  Zstd() = default;
  Zstd(const Zstd&) = delete;
  Zstd& operator=(const Zstd&) = delete;
  ~Zstd() { ::ZSTD_freeCCtx(context); }
};

FrameWriter::FrameWriter(std::uint64_t stream, int level)
    : zstd_(std::make_unique<Zstd>()), stream_(stream), level_(level) {}
FrameWriter::~FrameWriter() = default;
FrameWriter::FrameWriter(FrameWriter&&) noexcept = default;
FrameWriter& FrameWriter::operator=(FrameWriter&&) noexcept = default;

void FrameWriter::append(Bytes& out, std::span<const std::byte> payload, std::size_t least) {
  const std::size_t begin = out.size();
  least = std::max(least, payload.size() / kMostGrowth + 1);
  const std::size_t room = std::max(::ZSTD_compressBound(payload.size()), least) + kSkippableHeaderBytes;
  out.resize(begin + kFrameHeaderBytes + room);
  std::byte* const stored = out.data() + begin + kFrameHeaderBytes;
  std::size_t stored_bytes = zstd_->context == nullptr ? static_cast<std::size_t>(-1)
                                                       : ::ZSTD_compressCCtx(zstd_->context, stored, room,
                                                                             payload.data(), payload.size(), level_);
  if (::ZSTD_isError(stored_bytes) != 0) {
    out.resize(begin);
    throw std::bad_alloc();
  }
  if (stored_bytes < least) stored_bytes += pad(stored + stored_bytes, least - stored_bytes);
  FrameHeader header{static_cast<std::uint32_t>(stored_bytes), static_cast<std::uint32_t>(payload.size()), 0, stream_,
                     sequence_++};
  header.checksum = checksum_of(header, {stored, stored_bytes});
  store_header(out.data() + begin, header);
  out.resize(begin + kFrameHeaderBytes + stored_bytes);
}

SharedBytes shared_bytes(std::span<const std::byte> frame) {
  const auto stored = frame.subspan(kFrameHeaderBytes);
  return {Bytes(stored.begin(), stored.end()), load<std::uint32_t>(frame.data() + 8), checksum_of(stored)};
}

std::array<std::byte, kFrameHeaderBytes> frame_header(const SharedBytes& bytes, std::uint64_t stream,
                                                      std::uint64_t sequence) noexcept {
  FrameHeader header{static_cast<std::uint32_t>(bytes.stored.size()), bytes.payload_bytes, 0, stream, sequence};
  header.checksum = static_cast<std::uint32_t>(
      ::crc32_combine(checksum_of(header), bytes.checksum, static_cast<z_off_t>(bytes.stored.size())));
  std::array<std::byte, kFrameHeaderBytes> out;
  store_header(out.data(), header);
  return out;
}

struct FrameFinder::Zstd {
  ZSTD_DCtx* context = ::ZSTD_createDCtx();
  Zstd() = default;
  Zstd(const Zstd&) = delete;
  Zstd& operator=(const Zstd&) = delete;
  ~Zstd() { ::ZSTD_freeDCtx(context); }
};

FrameFinder::FrameFinder() : zstd_(std::make_unique<Zstd>()) {
  if (zstd_->context == nullptr) throw std::bad_alloc();
}
FrameFinder::~FrameFinder() = default;
FrameFinder::FrameFinder(FrameFinder&&) noexcept = default;
FrameFinder& FrameFinder::operator=(FrameFinder&&) noexcept = default;

void FrameFinder::feed(std::span<const std::byte> bytes) {
  if (begin_ == buffer_.size() || begin_ > kMaxFrameBytes) {
    buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(begin_));
    begin_ = 0;
  }
  put_bytes(buffer_, bytes);
}

std::span<const std::byte> FrameFinder::take(std::size_t count) {
  const auto all = available();
  if (all.size() < count) return {};
  begin_ += count;
  return all.first(count);
}

bool FrameFinder::open(const FrameHeader& header, std::span<const std::byte> stored) {
  if (checksum_of(header, stored) != header.checksum) return false;
  payload_.resize(header.payload_bytes);
  const std::size_t got =
      ::ZSTD_decompressDCtx(zstd_->context, payload_.data(), payload_.size(), stored.data(), stored.size());
  return ::ZSTD_isError(got) == 0 && got == payload_.size();
}

std::optional<Frame> FrameFinder::next() {
  for (;;) {
    const auto rest = available();
    if (rest.size() < kFrameHeaderBytes) break;
    const bool may_check = checked_in_vain_ < kCheckedInVain + skipped_bytes_ * kCheckedPerSkippedByte;
    const auto header = may_check ? parse_header(rest) : std::nullopt;
    if (header) {
      const bool whole = rest.size() - kFrameHeaderBytes >= header->stored_bytes;
      if (!whole && !ended_) return std::nullopt;
      if (whole) {
        if (open(*header, rest.subspan(kFrameHeaderBytes, header->stored_bytes))) {
          begin_ += kFrameHeaderBytes + header->stored_bytes;
          return Frame{*header, payload_};
        }
        checked_in_vain_ += header->stored_bytes;
      }
    }
    ++begin_;
    ++skipped_bytes_;
  }
  if (ended_) {
    skipped_bytes_ += buffer_.size() - begin_;
    begin_ = buffer_.size();
  }
  return std::nullopt;
}

}  // namespace tracer::internal
