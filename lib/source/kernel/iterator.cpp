// SPDX-License-Identifier: Apache-2.0
#include "source/kernel/iterator.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <unistd.h>

#include <cerrno>

#include "base/unique_fd.hpp"
#include "source/kernel/libbpf_log.hpp"

namespace tracer::internal {

std::vector<std::byte> read_iterator(const bpf_link* link) {
  std::vector<std::byte> bytes;
  if (link == nullptr) return bytes;
  const LibbpfLog log;
  const UniqueFd iterator(::bpf_iter_create(::bpf_link__fd(link)));
  if (!iterator) refuse("read what lives", errno, log);
  constexpr std::size_t kChunkBytes = 64u << 10;
  for (;;) {
    const std::size_t held = bytes.size();
    bytes.resize(held + kChunkBytes);
    const ssize_t got = ::read(iterator.get(), bytes.data() + held, kChunkBytes);
    bytes.resize(held + static_cast<std::size_t>(got > 0 ? got : 0));
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0) refuse("read what lives", errno, log);
    if (got == 0) return bytes;
  }
}

}  // namespace tracer::internal
