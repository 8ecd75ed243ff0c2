// SPDX-License-Identifier: Apache-2.0
#include <tracer/error.hpp>
#include <tracer/recording.hpp>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/unique_fd.hpp"
#include "stream/event_rows.hpp"
#include "stream/stream_reader.hpp"

namespace tracer {

using internal::StreamReader;
using internal::UniqueFd;

class RecordingReader::Impl {
 public:
  explicit Impl(const std::filesystem::path& file) : Impl(::open(file.c_str(), O_RDONLY | O_CLOEXEC), file.string()) {}
  Impl(int file_descriptor, std::string name) : fd_(file_descriptor), name_(std::move(name)), buffer_(64u << 10) {
    if (!fd_) fail(ErrorCode::kFileUnreadable, errno, "can't open {}", "check the path and its permissions");
    read_header();
  }

  const HostInfo& host() const noexcept { return reader_.header().host; }
  const RecordingDamage& damage() const noexcept { return damage_; }

  Event next() {
    for (;;) {
      Event event = rows_.next();
      if (event.kind() != EventKind::kNone) {
        ended_ = event.kind() == EventKind::kSessionEnd;
        return event;
      }
      refused_events_ += rows_.refused();
      rows_ = {};
      const StreamReader::Step step = next_step();
      damage_ = reader_.damage();
      damage_.skipped_events += refused_events_;
      if (step != StreamReader::Step::kFrame) {
        damage_.truncated = !ended_;
        return {};
      }
      rows_.open(reader_.frame());
    }
  }

 private:
  [[noreturn]] void fail(ErrorCode code, int error_number, fmt::format_string<const std::string&> what,
                         std::string fix) const {
    throw Error({code, error_number, fmt::format(what, name_), std::move(fix), {}});
  }

  StreamReader::Step next_step() {
    for (;;) {
      const StreamReader::Step step = reader_.step();
      if (step != StreamReader::Step::kNeedsBytes) return step;
      read_more();
    }
  }

  void read_header() {
    const StreamReader::Step step = next_step();
    if (read_error_ != 0)
      fail(ErrorCode::kFileUnreadable, read_error_, "can't read {}", "name a recording, a regular file or a pipe");
    switch (step) {
      case StreamReader::Step::kHeader: return;
      case StreamReader::Step::kNoStream:
        fail(ErrorCode::kNotARecording, 0, "{} is not a recording of libtracer", "recordings are made with --record");
      case StreamReader::Step::kOlderSchema:
        fail(ErrorCode::kOlderSchema, 0, "{} was written by an older libtracer whose format is no longer read",
             "read it with that version, or record again");
      case StreamReader::Step::kNewerSchema:
        fail(ErrorCode::kNewerSchema, 0, "{} was written by a newer libtracer",
             "read it with that version or a later one");
      default:
        fail(ErrorCode::kCorruptRecording, 0, "the header of {} is cut or damaged",
             "the recording can't be read without it");
    }
  }

  void read_more() {
    const ssize_t got = ::read(fd_.get(), buffer_.data(), buffer_.size());
    if (got > 0) {
      reader_.feed(std::span(buffer_).first(static_cast<std::size_t>(got)));
    } else if (got < 0 && errno == EAGAIN) {
      pollfd more{fd_.get(), POLLIN, 0};
      ::poll(&more, 1, -1);
    } else if (got == 0 || errno != EINTR) {
      read_error_ = got == 0 ? 0 : errno;
      reader_.end();
    }
  }

  UniqueFd fd_;
  std::string name_;
  std::vector<std::byte> buffer_;
  int read_error_ = 0;
  StreamReader reader_;
  internal::EventRows rows_;
  std::uint64_t refused_events_ = 0;
  RecordingDamage damage_;
  bool ended_ = false;
};

RecordingReader::RecordingReader(const std::filesystem::path& file) : impl_(std::make_unique<Impl>(file)) {}
RecordingReader::RecordingReader(int file_descriptor, std::string name)
    : impl_(std::make_unique<Impl>(file_descriptor, std::move(name))) {}
RecordingReader::~RecordingReader() = default;
RecordingReader::RecordingReader(RecordingReader&&) noexcept = default;
RecordingReader& RecordingReader::operator=(RecordingReader&&) noexcept = default;
const HostInfo& RecordingReader::host() const noexcept { return impl_->host(); }
const RecordingDamage& RecordingReader::damage() const noexcept { return impl_->damage(); }

std::optional<Event> RecordingReader::next() {
  Event event = impl_->next();
  if (event.kind() == EventKind::kNone) return std::nullopt;
  return event;
}

std::size_t RecordingReader::read(std::span<Event> events) {
  std::size_t count = 0;
  while (count < events.size()) {
    Event event = impl_->next();
    if (event.kind() == EventKind::kNone) break;
    events[count++] = std::move(event);
  }
  return count;
}

}  // namespace tracer
