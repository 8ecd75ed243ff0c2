// SPDX-License-Identifier: Apache-2.0
#include "truth_disks.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "truth_tools.hpp"

namespace truth {
namespace {

constexpr long kMiB = 1 << 20;
constexpr long kMiBUsed = 8;

int move_directly(const std::string& path, long write_mib, long read_mib) {
  const std::unique_ptr<void, decltype(&std::free)> room(std::aligned_alloc(4096, kMiB), &std::free);
  if (!room) return 1;
  std::memset(room.get(), 1, kMiB);
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_DIRECT | O_CLOEXEC, 0600);
  if (fd < 0) return 2;
  for (long i = 0; i < write_mib; ++i)
    if (::pwrite(fd, room.get(), kMiB, i % kMiBUsed * kMiB) != kMiB) return 3;
  for (long i = 0; i < read_mib; ++i)
    if (::pread(fd, room.get(), kMiB, i % kMiBUsed * kMiB) != kMiB) return 4;
  return ::close(fd);
}

}  // namespace

int use_disk(const Arguments& a) { return move_directly(a.at(0), number(a, 1), number(a, 2)); }

int read_pages(const Arguments& a) {
  constexpr long kPage = 4096;
  const std::unique_ptr<void, decltype(&std::free)> room(std::aligned_alloc(kPage, kPage), &std::free);
  const int fd = ::open(a.at(0).c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC);
  if (!room || fd < 0) return 1;
  std::uint64_t ns = 0;
  for (long i = 0; i < number(a, 1); ++i) {
    const std::uint64_t before_ns = clock_ns(CLOCK_MONOTONIC);
    if (::pread(fd, room.get(), kPage, i * kPage) != kPage) return 2;
    ns += clock_ns(CLOCK_MONOTONIC) - before_ns;
  }
  report(ns);
  return ::close(fd);
}

int read_cached(const Arguments& a) {
  constexpr long kPiece = 256 << 10;
  const std::unique_ptr<void, decltype(&std::free)> room(std::aligned_alloc(4096, kPiece), &std::free);
  const int fd = ::open(a.at(0).c_str(), O_RDONLY | O_CLOEXEC);
  if (!room || fd < 0) return 1;
  if (::fsync(fd) != 0 || ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0) return 2;
  const timespec pause{0, 1'000'000};
  for (long i = 0; i < number(a, 1); ++i) {
    if (::read(fd, room.get(), kPiece) != kPiece) return 3;
    ::nanosleep(&pause, nullptr);
  }
  return ::close(fd);
}

int share_disks(const Arguments& a) {
  const long mib[] = {64, 1};
  pid_t children[2];
  for (std::size_t i = 0; i < 2; ++i) {
    children[i] = ::fork();
    if (children[i] == 0) ::_exit(move_directly(a.at(i), mib[i], 0));
    report(static_cast<std::uint64_t>(children[i]));
  }
  int failed = 0;
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    failed |= status;
  }
  return failed == 0 ? 0 : 1;
}

}  // namespace truth
