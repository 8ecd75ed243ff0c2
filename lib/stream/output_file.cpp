// SPDX-License-Identifier: Apache-2.0
#include "stream/output_file.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include <fmt/format.h>

namespace tracer::internal {

OutputFile::OutputFile(const std::filesystem::path& file)
    : fd_(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600)), name_(file.string()) {
  if (fd_) {
    see_whose_it_is();
    return;
  }
  const int error_number = errno;
  throw Error({ErrorCode::kFileUnwritable,
               error_number,
               fmt::format("can't create {}", name_),
               "name a file in a folder that exists and that you may write to",
               {}});
}

OutputFile::OutputFile(int file_descriptor, std::string name) : fd_(file_descriptor), name_(std::move(name)) {
  see_whose_it_is();
}

void OutputFile::see_whose_it_is() noexcept {
  struct stat opened {};
  struct stat named {};
  alone_ = ::fstat(fd_.get(), &opened) == 0 && S_ISREG(opened.st_mode) && ::lstat(name_.c_str(), &named) == 0 &&
           named.st_dev == opened.st_dev && named.st_ino == opened.st_ino &&
           (::fcntl(fd_.get(), F_GETFL) & O_APPEND) != 0;
}

void OutputFile::write(std::span<const std::byte> bytes) noexcept {
  if (!rescued_) look_at_file(0);
  const std::size_t all = bytes.size();
  const std::span<const std::byte> whole = bytes;
  while (good() && !bytes.empty()) {
    const ssize_t put = ::write(fd_.get(), bytes.data(), bytes.size());
    if (put > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(put));
    } else if (put < 0 && errno == EAGAIN) {
      // Somebody else made the descriptor non-blocking: it may be shared, therefore it stays so.
      pollfd room{fd_.get(), POLLOUT, 0};
      ::poll(&room, 1, -1);
    } else if (put == 0 || errno != EINTR) {
      fail(put == 0 ? ENOSPC : errno);
      if (rescued_ || !go_on_elsewhere()) {
        rescued_ = false;
        break;
      }
      bytes = whole;
    }
  }
  if (bytes.empty()) written_ += all;
  if (!rescued_) look_at_file(all - bytes.size());
}

bool OutputFile::go_on_elsewhere() noexcept {
  int file = -1;
  try {
    if (rescue_) file = rescue_(written_);
  } catch (...) {
    // No room for it either.
  }
  if (file < 0) return false;
  fd_ = UniqueFd(file);
  rescued_ = true;
  return true;
}

void OutputFile::look_at_file(std::size_t put) noexcept {
  struct stat now {};
  if (::fstat(fd_.get(), &now) != 0 || !S_ISREG(now.st_mode)) return;
  Meddled found = Meddled::kNo;
  if (linked_ && now.st_nlink == 0) {
    found = Meddled::kRemoved;
  } else if (size_ && now.st_size < *size_) {
    found = Meddled::kCut;
  } else if (alone_ && size_ && now.st_size != *size_ + static_cast<off_t>(put)) {
    found = Meddled::kWritten;
  }
  if (found != Meddled::kNo) meddled_.store(found, std::memory_order_relaxed);
  size_ = now.st_size;
  linked_ = now.st_nlink != 0;
}

void OutputFile::replace(UniqueFd file) noexcept {
  fd_ = std::move(file);
  size_.reset();
  linked_ = false;
  written_ = 0;
}

void OutputFile::keep_on_disk() noexcept {
  // A pipe has no disk.
  if (good() && ::fsync(fd_.get()) != 0 && errno != EINVAL && errno != EROFS) fail(errno);
}

void OutputFile::fail_for_memory() noexcept { fail(ENOMEM); }

void OutputFile::fail(int error_number) noexcept {
  int none = 0;
  error_number_.compare_exchange_strong(none, error_number, std::memory_order_relaxed);
}

Problem OutputFile::what_others_did() const {
  const char* done = "removed";
  const char* fix = "its data is gone: write to a folder that others don't change";
  switch (meddled_.load(std::memory_order_relaxed)) {
    case Meddled::kCut: done = "cut"; break;
    case Meddled::kWritten:
      done = "written to";
      fix = "its data may be gone, and not all of it is tracer's: write to a file that others don't write";
      break;
    default: break;
  }
  return {ErrorCode::kFileUnwritable,
          0,
          fmt::format("{} was {} by another program while it was written", name_, done),
          fix,
          {}};
}

std::optional<Problem> OutputFile::problem() const {
  const int error_number = error_number_.load(std::memory_order_relaxed);
  if (error_number == 0 && meddled_.load(std::memory_order_relaxed) == Meddled::kNo) return std::nullopt;
  if (error_number == 0) return what_others_did();
  return Problem{error_number == ENOMEM ? ErrorCode::kNoMemory : ErrorCode::kFileUnwritable,
                 error_number,
                 fmt::format("writing {} stopped early", name_),
                 error_number == ENOSPC ? "free some disk space; data written before is kept and readable"
                                        : "data written before is kept and readable",
                 {}};
}

}  // namespace tracer::internal
