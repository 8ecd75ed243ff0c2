// SPDX-License-Identifier: Apache-2.0
#include "truth_io_uring.hpp"

#include <fcntl.h>
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

namespace truth {

bool make_kernel_worker(bool polling) {
  io_uring_params parameters{};
  if (polling) {
    parameters.flags = IORING_SETUP_SQPOLL;
    parameters.sq_thread_idle = 10;
  }
  const int ring = static_cast<int>(::syscall(SYS_io_uring_setup, 8, &parameters));
  if (ring < 0) return false;
  const std::size_t queue_bytes = parameters.sq_off.array + parameters.sq_entries * sizeof(unsigned);
  void* queue =
      ::mmap(nullptr, queue_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQ_RING);
  void* entries = ::mmap(nullptr, parameters.sq_entries * sizeof(io_uring_sqe), PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQES);
  if (queue == MAP_FAILED || entries == MAP_FAILED) return false;
  static char buffer[4096];
  const int file = ::open("/proc/self/exe", O_RDONLY);
  io_uring_sqe entry{};
  entry.opcode = IORING_OP_READ;
  entry.flags = IOSQE_ASYNC;  // By a worker, whether it would block or not.
  entry.fd = file;
  entry.addr = reinterpret_cast<std::uintptr_t>(buffer);
  entry.len = sizeof buffer;
  std::memcpy(entries, &entry, sizeof entry);
  auto* bytes = static_cast<char*>(queue);
  *reinterpret_cast<unsigned*>(bytes + parameters.sq_off.array) = 0;
  __atomic_store_n(reinterpret_cast<unsigned*>(bytes + parameters.sq_off.tail), 1u, __ATOMIC_RELEASE);
  // The polling thread may have fallen asleep already.
  const unsigned wake = polling ? IORING_ENTER_SQ_WAKEUP : 0u;
  ::syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS | wake, nullptr, 0);
  ::close(file);
  ::close(ring);  // The worker ends soon, long before the process.
  return true;
}

}  // namespace truth
