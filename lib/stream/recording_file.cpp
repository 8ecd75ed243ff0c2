// SPDX-License-Identifier: Apache-2.0
#include "stream/recording_file.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <utility>

namespace tracer::internal {
namespace {

constexpr std::size_t kReadBytes = 64u << 10;

bool keeps_waiting(int fd) noexcept {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISBLK(status.st_mode);
}

}  // namespace

RecordingFile::RecordingFile(const std::filesystem::path& file)
    : RecordingFile(::open(file.c_str(), O_RDONLY | O_CLOEXEC), file.string()) {}

RecordingFile::RecordingFile(int file_descriptor, std::string name)
    : fd_(file_descriptor), name_(std::move(name)), buffer_(kReadBytes) {
  if (!fd_) fail(ErrorCode::kFileUnreadable, errno, "can't open {}", "check the path and its permissions");
  is_pipe_ = keeps_waiting(fd_.get());
  if (!is_pipe_) read_at_ = std::max<off_t>(0, ::lseek(fd_.get(), 0, SEEK_CUR));
  read_header();
}

UniqueFd RecordingFile::take_file() noexcept {
  if (is_pipe_) return {};
  return std::move(fd_);
}

int RecordingFile::pipe_fd() const noexcept { return is_pipe_ ? fd_.get() : -1; }

Event RecordingFile::next(Wait wait) {
  for (;;) {
    Event event = rows_.next();
    if (event.kind() != EventKind::kNone) {
      has_session_end_ = event.kind() == EventKind::kSessionEnd;
      return event;
    }
    note_refused(rows_.refused());
    rows_ = {};
    if (!open_frame(wait)) return {};
    rows_.open(reader_.frame(), rename_);
  }
}

RecordingFile::FrameRest RecordingFile::next_frame(Wait wait) {
  std::size_t first = rows_.position();
  rows_ = {};
  if (first == 0 || first >= reader_.frame().rows()) {
    first = 0;
    if (!open_frame(wait)) return {};
  }
  const ColumnFrame& frame = reader_.frame();
  if (frame.rows() != 0) has_session_end_ = frame.place_of_row(frame.rows() - 1) == kPlaceOfKind<SessionEnd>;
  return {&frame, first};
}

void RecordingFile::note_refused(std::size_t events) noexcept {
  refused_events_ += events;
  damage_.skipped_events += events;
}

bool RecordingFile::open_frame(Wait wait) {
  const StreamReader::Step step = next_step(wait);
  damage_ = reader_.damage();
  damage_.skipped_events += refused_events_;
  damage_.read_error = read_error_;
  if (step == StreamReader::Step::kNeedsBytes) return false;
  if (step == StreamReader::Step::kFrame) {
    // A frame without events ends a file on purpose.
    has_session_end_ = reader_.frame().rows() == 0;
    return true;
  }
  damage_.truncated = !has_session_end_;
  at_end_ = true;
  return false;
}

void RecordingFile::fail(ErrorCode code, int error_number, fmt::format_string<const std::string&> what,
                         std::string fix) const {
  throw Error({code, error_number, fmt::format(what, name_), std::move(fix), {}});
}

StreamReader::Step RecordingFile::next_step(Wait wait) {
  for (;;) {
    const StreamReader::Step step = reader_.step();
    if (step != StreamReader::Step::kNeedsBytes || !may_read(wait) || !read_more()) return step;
  }
}

void RecordingFile::read_header() {
  const StreamReader::Step step = next_step(Wait::kForBytes);
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
           "the file is damaged; an older recording may be beside it, as FILE.1");
  }
}

bool RecordingFile::may_read(Wait wait) const {
  if (!is_pipe_) return true;
  pollfd more{fd_.get(), POLLIN, 0};
  const int ready = ::poll(&more, 1, wait == Wait::kNever ? 0 : -1);
  return wait == Wait::kForBytes || ready > 0;
}

bool RecordingFile::read_more() {
  const ssize_t got = is_pipe_ ? ::read(fd_.get(), buffer_.data(), buffer_.size())
                               : ::pread(fd_.get(), buffer_.data(), buffer_.size(), read_at_);
  if (got > 0) {
    read_at_ += got;
    reader_.feed(std::span(buffer_).first(static_cast<std::size_t>(got)));
  } else if (got == 0 && grows_) {
    return false;
  } else if (got == 0 || (errno != EINTR && errno != EAGAIN)) {
    read_error_ = got == 0 ? 0 : errno;
    reader_.end();
  }
  return true;
}

}  // namespace tracer::internal
