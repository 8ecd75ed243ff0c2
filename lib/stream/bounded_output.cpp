// SPDX-License-Identifier: Apache-2.0
#include "stream/bounded_output.hpp"

#include <cerrno>

#include <fmt/format.h>

namespace tracer::internal {

UniqueFd BoundedOutput::next_file() noexcept {
  int fd = -1;
  if (limit_.next_file) {
    try {
      errno = 0;
      fd = limit_.next_file();
    } catch (...) {
      errno = EIO;
    }
    if (fd < 0) next_error_.store(errno == 0 ? EIO : errno, std::memory_order_relaxed);
  }
  if (fd < 0) full_.store(true, std::memory_order_relaxed);
  return UniqueFd(fd);
}

void BoundedOutput::go_on_in(UniqueFd file) noexcept {
  file_.replace(std::move(file));
  written_ = 0;
}

void BoundedOutput::write(std::span<const std::byte> bytes) noexcept {
  file_.write(bytes);
  written_ += bytes.size();
}

Loss BoundedOutput::loss_before(const Event& end) const {
  Loss loss;
  loss.time_ns = end.time_ns();
  loss.cause = "file_full";
  loss.count = missing_.load(std::memory_order_relaxed);
  return loss;
}

std::optional<Problem> BoundedOutput::problem() const {
  if (auto problem = file_.problem()) return problem;
  if (!full()) return std::nullopt;
  const std::uint64_t missing = missing_.load(std::memory_order_relaxed);
  const std::string without = fmt::format("{} event{} not in it", missing, missing == 1 ? " is" : "s are");
  if (const int error_number = next_error_.load(std::memory_order_relaxed); error_number != 0)
    return Problem{
        ErrorCode::kFileUnwritable,
        error_number,
        fmt::format("writing {} stopped early, because the next file can't be created: {}", file_.name(), without),
        "data written before is kept and readable",
        {}};
  return Problem{
      ErrorCode::kFileUnwritable,
      EFBIG,
      fmt::format("writing {} stopped early, at its bound of {} bytes: {}", file_.name(), limit_.max_bytes, without),
      "set a larger bound, or let it continue in further files; data written before is kept and readable",
      {}};
}

}  // namespace tracer::internal
