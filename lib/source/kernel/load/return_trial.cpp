// SPDX-License-Identifier: Apache-2.0
#include "source/kernel/load/return_trial.hpp"

#include <bpf/libbpf.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <sstream>
#include <string>

#include "base/text.hpp"

namespace tracer::internal {
namespace {

/// The number of the system call; of x86 only.
constexpr std::uint32_t kReturnCall = 335;

__attribute__((noinline)) int tried_function() {
  // Else the call would be left out.
  asm volatile("");
  return 1;
}

struct PlaceInFile {
  std::string path;
  std::uint64_t offset = 0;
};

std::optional<PlaceInFile> place_of(std::uintptr_t address) {
  const auto maps = read_small_file("/proc/self/maps");
  std::istringstream lines(maps.value_or(""));
  for (std::string line; std::getline(lines, line);) {
    unsigned long begin = 0;
    unsigned long end = 0;
    unsigned long offset = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %*s %lx", &begin, &end, &offset) != 3) continue;
    if (address < begin || address >= end) continue;
    const std::size_t path = line.find('/');
    if (path == std::string::npos) return std::nullopt;
    return PlaceInFile{line.substr(path), address - begin + offset};
  }
  return std::nullopt;
}

/// In the child: no call but of the kernel.
[[noreturn]] void return_under_filter(int (*function)()) {
  std::array<sock_filter, 4> code = {{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kReturnCall, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog filter{code.size(), code.data()};
  const bool filtered = ::prctl(PR_SET_DUMPABLE, 0) == 0 && ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                        ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
  ::_exit(filtered && function() == 1 ? 0 : 1);
}

}  // namespace

bool survives_probed_return(const bpf_program& program) {
  int (*volatile function)() = &tried_function;
  const auto place = place_of(reinterpret_cast<std::uintptr_t>(function));
  if (!place) return false;
  const std::unique_ptr<bpf_link, int (*)(bpf_link*)> link(
      ::bpf_program__attach_uprobe(&program, true, -1, place->path.c_str(), place->offset), &::bpf_link__destroy);
  if (!link) return false;
  // Without a signal at its end, which the program around this might wait for.
  const auto child = static_cast<pid_t>(::syscall(SYS_clone, 0, nullptr, nullptr, nullptr, nullptr));
  if (child == 0) return_under_filter(function);
  if (child < 0) return false;
  int status = 0;
  while (::waitpid(child, &status, static_cast<int>(__WCLONE)) < 0)
    if (errno != EINTR) return false;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace tracer::internal
