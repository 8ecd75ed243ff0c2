// SPDX-License-Identifier: Apache-2.0
#include "source/kernel/visit/iterator.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <unistd.h>

#include <cerrno>

#include "base/unique_fd.hpp"
#include "source/kernel/load/libbpf_log.hpp"

namespace tracer::internal {

void read_iterator(const bpf_link* link, std::size_t record_bytes, const TakeBytes& take) {
  if (link == nullptr) return;
  const LibbpfLog log;
  const UniqueFd iterator(::bpf_iter_create(::bpf_link__fd(link)));
  if (!iterator) refuse("read what lives", errno, log);
  // The kernel hands out at most 32 KiB.
  constexpr std::size_t kChunkBytes = 32u << 10;
  std::vector<std::byte> bytes;
  for (;;) {
    const std::size_t held = bytes.size();
    bytes.resize(held + kChunkBytes);
    const ssize_t got = ::read(iterator.get(), bytes.data() + held, kChunkBytes);
    bytes.resize(held + static_cast<std::size_t>(got > 0 ? got : 0));
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0) refuse("read what lives", errno, log);
    if (got == 0) return;
    const std::size_t whole = bytes.size() - bytes.size() % record_bytes;
    if (whole != 0) take(std::span(bytes).first(whole));
    bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(whole));
  }
}

}  // namespace tracer::internal
