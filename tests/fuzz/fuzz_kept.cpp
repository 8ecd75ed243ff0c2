// SPDX-License-Identifier: Apache-2.0
/// Reads what nobody's service has left: entries of a spool, with right checksums, which a fuzzer would not find by
/// itself, and lines of what clients have said.
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include <tracer/host.hpp>

#include "base/unique_fd.hpp"
#include "serve/restart_said.hpp"
#include "serve/recent_events.hpp"

namespace {

using tracer::internal::RecentEvents;
using tracer::internal::Said;
using tracer::internal::UniqueFd;

constexpr off_t kFirstHalf = 4096;
struct HalfHead {
  std::uint64_t generation = 0;
  std::uint64_t used = 0;
};
struct EntryHead {
  std::uint32_t kind = 0;
  std::uint32_t bytes = 0;
  std::uint32_t checksum = 0;
  std::uint32_t reserved = 0;
};

void write_at(int memory, const void* bytes, std::size_t size, off_t at) {
  if (::pwrite(memory, bytes, size, at) != static_cast<ssize_t>(size)) std::abort();
}

/// Each entry: its kind, two bytes of its size, and its bytes.
void read_spool(std::span<const std::uint8_t> input) {
  static const RecentEvents empty(tracer::this_host());
  static const HalfHead before = [] {
    HalfHead head;
    if (::pread(empty.memory(), &head, sizeof head, kFirstHalf) != sizeof head) std::abort();
    return head;
  }();
  HalfHead head = before;
  while (input.size() >= 3) {
    const std::size_t size =
        std::min<std::size_t>(input[1] | static_cast<std::size_t>(input[2]) << 8, input.size() - 3);
    const auto payload = input.subspan(3, size);
    const EntryHead entry{input[0], static_cast<std::uint32_t>(size),
                          static_cast<std::uint32_t>(::crc32(0, payload.data(), static_cast<uInt>(size))), 0};
    write_at(empty.memory(), &entry, sizeof entry, kFirstHalf + static_cast<off_t>(head.used));
    write_at(empty.memory(), payload.data(), size, kFirstHalf + static_cast<off_t>(head.used + sizeof entry));
    head.used += sizeof entry + size;
    input = input.subspan(3 + size);
  }
  write_at(empty.memory(), &head, sizeof head, kFirstHalf);
  auto left = RecentEvents::read(empty.memory());
  if (!left) return;
  // Who goes on with it can write.
  RecentEvents next(tracer::this_host(), UniqueFd(::dup(empty.memory())), *left);
  if (next.next() != left->next) std::abort();
}

void read_said(std::span<const std::uint8_t> input) {
  const UniqueFd memory(::memfd_create("said", MFD_CLOEXEC));
  write_at(memory.get(), input.data(), input.size(), 0);
  Said::read(memory.get());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto input = std::span(data, size).subspan(1);
  data[0] % 2 == 0 ? read_spool(input) : read_said(input);
  return 0;
}
