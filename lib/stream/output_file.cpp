// SPDX-License-Identifier: Apache-2.0
#include "stream/output_file.hpp"

#include <fcntl.h>
#include <poll.h>

#include <cerrno>
#include <utility>

#include <fmt/format.h>

namespace tracer::internal {

OutputFile::OutputFile(const std::filesystem::path& file)
    : fd_(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)), name_(file.string()) {
  if (fd_) return;
  const int error_number = errno;
  throw Error({ErrorCode::kFileUnwritable,
               error_number,
               fmt::format("can't create {}", name_),
               "name a file in a folder that exists and that you may write to",
               {}});
}

OutputFile::OutputFile(int file_descriptor, std::string name) : fd_(file_descriptor), name_(std::move(name)) {}

void OutputFile::write(std::span<const std::byte> bytes) noexcept {
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
    }
  }
}

void OutputFile::fail_for_memory() noexcept { fail(ENOMEM); }

void OutputFile::fail(int error_number) noexcept {
  int none = 0;
  error_number_.compare_exchange_strong(none, error_number, std::memory_order_relaxed);
}

std::optional<Problem> OutputFile::problem() const {
  const int error_number = error_number_.load(std::memory_order_relaxed);
  if (error_number == 0) return std::nullopt;
  return Problem{error_number == ENOMEM ? ErrorCode::kNoMemory : ErrorCode::kFileUnwritable,
                 error_number,
                 fmt::format("writing {} stopped early", name_),
                 error_number == ENOSPC ? "free some disk space; what was written before is kept and readable"
                                        : "what was written before is kept and readable",
                 {}};
}

}  // namespace tracer::internal
