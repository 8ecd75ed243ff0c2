// SPDX-License-Identifier: Apache-2.0
#include <tracer/error.hpp>
#include <tracer/recording.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "base/unique_fd.hpp"
#include "stream/frame.hpp"
#include "stream/recording_header.hpp"

namespace tracer {
namespace {

/// Damage makes few false beginnings; a file made of them would take hours.
constexpr std::uint64_t kMostCheckedInVain = 256u << 20;

/// Of a frame's msgpack: none of ours comes near.
const msgpack::unpack_limit kLimits(1u << 16, 1u << 12, 1u << 20, 1u << 20, 1u << 20, 8);

}  // namespace

class RecordingReader::Impl {
 public:
  explicit Impl(const std::filesystem::path& file)
      : name_(file.string()), fd_(::open(file.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (!fd_) fail(ErrorCode::kFileUnreadable, errno, "can't open {}", "check the path and its permissions");
    read_magic();
    read_header();
  }

  const HostInfo& host() const noexcept { return host_; }
  const RecordingDamage& damage() const noexcept { return damage_; }

  std::optional<Event> next() {
    for (;;) {
      while (offset_ < frame_.size()) {
        std::optional<Event> event = next_in_frame();
        if (event) {
          ended_ = kind_of(*event) == EventKind::kSessionEnd;
          return event;
        }
      }
      if (!next_frame()) {
        damage_.truncated = !ended_;
        return std::nullopt;
      }
    }
  }

 private:
  [[noreturn]] void fail(ErrorCode code, int error_number, fmt::format_string<const std::string&> what,
                         std::string fix) const {
    throw Error({code, error_number, fmt::format(what, name_), std::move(fix), {}});
  }

  void read_magic() {
    char magic[8] = {};
    const ssize_t got = ::read(fd_.get(), magic, sizeof magic);
    if (got < 0) fail(ErrorCode::kFileUnreadable, errno, "can't read {}", "name a recording, a regular file");
    if (got != static_cast<ssize_t>(sizeof magic) || std::string_view(magic, sizeof magic) != kRecordingMagic)
      fail(ErrorCode::kNotARecording, 0, "{} is not a recording of libtracer", "recordings are made with --record");
  }

  void read_header() {
    if (!next_frame() || damage_.skipped_bytes != 0)
      fail(ErrorCode::kCorruptRecording, 0, "the header of {} is cut or damaged",
           "the recording can't be read without it");
    std::optional<RecordingHeader> header;
    try {
      std::size_t used = 0;
      const msgpack::object_handle handle =
          msgpack::unpack(reinterpret_cast<const char*>(frame_.data()), frame_.size(), used, nullptr, nullptr, kLimits);
      header = unpack_header(handle.get());
    } catch (const msgpack::unpack_error&) {
    }
    if (!header)
      fail(ErrorCode::kCorruptRecording, 0, "the header of {} can't be understood",
           "the recording can't be read without it");
    if (header->schema > kRecordingSchema)
      fail(ErrorCode::kNewerSchema, 0, "{} was written by a newer libtracer",
           "read it with that version or a later one");
    host_ = std::move(header->host);
    unpacker_.emplace(header->events);
    frame_.clear();
    offset_ = 0;
  }

  std::optional<Event> next_in_frame() {
    try {
      const msgpack::object_handle handle = msgpack::unpack(reinterpret_cast<const char*>(frame_.data()), frame_.size(),
                                                            offset_, nullptr, nullptr, kLimits);
      std::optional<Event> event = unpacker_->unpack(handle.get());
      if (!event) ++damage_.skipped_events;
      return event;
    } catch (const msgpack::unpack_error&) {
      ++damage_.skipped_events;
      offset_ = frame_.size();
      return std::nullopt;
    }
  }

  /// Makes at least `bytes` of the file available, if it has them.
  bool fill(std::size_t bytes) {
    while (buffer_.size() - begin_ < bytes) {
      if (begin_ > (1u << 20)) {
        buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(begin_));
        begin_ = 0;
      }
      const std::size_t old = buffer_.size();
      buffer_.resize(old + std::max<std::size_t>(bytes, 64u << 10));
      const ssize_t got = ::read(fd_.get(), buffer_.data() + old, buffer_.size() - old);
      buffer_.resize(old + (got > 0 ? static_cast<std::size_t>(got) : 0));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;
    }
    return true;
  }

  std::span<const std::byte> available() const { return std::span(buffer_).subspan(begin_); }

  /// Finds the next good frame; what lies before it is damage.
  bool next_frame() {
    frame_.clear();
    offset_ = 0;
    while (fill(kFrameHeaderBytes)) {
      const auto header = parse_frame_header(available());
      if (header && checked_in_vain_ < kMostCheckedInVain && fill(kFrameHeaderBytes + header->stored_bytes)) {
        auto payload = open_frame(*header, available().subspan(kFrameHeaderBytes, header->stored_bytes));
        if (payload) {
          begin_ += kFrameHeaderBytes + header->stored_bytes;
          frame_ = std::move(*payload);
          return true;
        }
        checked_in_vain_ += header->stored_bytes;
      }
      ++begin_;
      ++damage_.skipped_bytes;
    }
    damage_.skipped_bytes += buffer_.size() - begin_;
    begin_ = buffer_.size();
    return false;
  }

  std::string name_;
  UniqueFd fd_;
  HostInfo host_;
  std::optional<EventUnpacker> unpacker_;
  RecordingDamage damage_;
  std::vector<std::byte> buffer_;
  std::size_t begin_ = 0;
  std::uint64_t checked_in_vain_ = 0;  ///< Bytes of what began like a frame and was none.
  std::vector<std::byte> frame_;
  std::size_t offset_ = 0;
  bool ended_ = false;
};

RecordingReader::RecordingReader(const std::filesystem::path& file) : impl_(std::make_unique<Impl>(file)) {}
RecordingReader::~RecordingReader() = default;
RecordingReader::RecordingReader(RecordingReader&&) noexcept = default;
RecordingReader& RecordingReader::operator=(RecordingReader&&) noexcept = default;
const HostInfo& RecordingReader::host() const noexcept { return impl_->host(); }
std::optional<Event> RecordingReader::next() { return impl_->next(); }
const RecordingDamage& RecordingReader::damage() const noexcept { return impl_->damage(); }

}  // namespace tracer
