// SPDX-License-Identifier: Apache-2.0
#include "stream/output_file.hpp"

#include <fcntl.h>
#include <poll.h>

#include <cerrno>

#include <fmt/format.h>

namespace tracer {

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

bool OutputFile::write(std::span<const std::byte> bytes) noexcept {
  while (good() && !bytes.empty()) {
    const ssize_t put = ::write(fd_.get(), bytes.data(), bytes.size());
    if (put > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(put));
    } else if (put < 0 && errno == EAGAIN) {
      pollfd room{fd_.get(), POLLOUT, 0};
      ::poll(&room, 1, 1000);
    } else if (put == 0 || errno != EINTR) {
      error_number_ = put == 0 ? ENOSPC : errno;
    }
  }
  return good();
}

std::optional<Problem> OutputFile::problem() const {
  if (good()) return std::nullopt;
  return Problem{ErrorCode::kFileUnwritable,
                 error_number_,
                 fmt::format("writing {} stopped early", name_),
                 error_number_ == ENOSPC ? "free some disk space; what was written before is kept and readable"
                                         : "what was written before is kept and readable",
                 {}};
}

}  // namespace tracer
