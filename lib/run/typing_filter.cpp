// SPDX-License-Identifier: Apache-2.0
#include "run/typing_filter.hpp"

#include <asm/ioctls.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace tracer::internal {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kCompatArchitecture = AUDIT_ARCH_I386;
constexpr std::uint32_t kOtherIoctl = 0x40000202;  // x32's
#elif defined(__aarch64__)
constexpr std::uint32_t kCompatArchitecture = AUDIT_ARCH_ARM;
constexpr std::uint32_t kOtherIoctl = SYS_ioctl;
#else
#error "number of ioctl in the 32-bit programs of this architecture"
#endif
constexpr std::uint32_t kCompatIoctl = 54;

constexpr sock_filter load(std::size_t offset) {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset));
}
constexpr sock_filter jump_if(std::uint32_t value, std::uint8_t then, std::uint8_t otherwise) {
  return BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, then, otherwise);
}

constexpr std::size_t kNumber = offsetof(seccomp_data, nr);
/// The kernel looks at the lower half only, which comes first on these architectures.
constexpr std::size_t kRequest = offsetof(seccomp_data, args) + sizeof(std::uint64_t);

constexpr sock_filter kFilter[] = {
    load(offsetof(seccomp_data, arch)),
    jump_if(kCompatArchitecture, 3, 0),
    load(kNumber),
    jump_if(SYS_ioctl, 3, 0),
    jump_if(kOtherIoctl, 2, 5),
    load(kNumber),
    jump_if(kCompatIoctl, 0, 3),
    load(kRequest),
    jump_if(TIOCSTI, 2, 0),
    jump_if(TIOCLINUX, 1, 0),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
};

bool install(const sock_fprog& program) noexcept {
  // Else older kernels slow the command down against speculation, from which this filter protects nothing.
  return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program) == 0;
}

}  // namespace

bool refuse_typing() noexcept {
  const int terminal = ::open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
  if (terminal < 0) return true;
  ::close(terminal);
  const sock_fprog program{static_cast<unsigned short>(sizeof kFilter / sizeof *kFilter),
                           const_cast<sock_filter*>(kFilter)};
  if (install(program)) return true;
  // A root of few rights may not, but for who gains none by executing programs.
  return errno == EACCES && ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && install(program);
}

}  // namespace tracer::internal
