// SPDX-License-Identifier: Apache-2.0
#include "source/gpu/helper_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

#include <fmt/format.h>

#include <tracer/error.hpp>

#include "base/clock.hpp"

namespace tracer::internal {
namespace {

[[noreturn]] void refuse_to_start(const std::string& program, int error_number) {
  throw Error({ErrorCode::kNoGpu,
               error_number,
               fmt::format("{} can't be started", program),
               "install tracer-gpu, which comes with tracerd, and make it executable",
               {}});
}

/// The end of a child's pipe does not block only here: the other end is an open file of its own.
bool make_pipe(UniqueFd& reads, UniqueFd& writes, bool we_read) noexcept {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  reads.reset(ends[0]);
  writes.reset(ends[1]);
  return ::fcntl(we_read ? ends[0] : ends[1], F_SETFL, O_NONBLOCK) == 0;
}

}  // namespace

HelperProcess::HelperProcess(const std::string& program) {
  UniqueFd its_input;
  UniqueFd its_output;
  if (!make_pipe(its_input, input_, false) || !make_pipe(output_, its_output, true)) refuse_to_start(program, errno);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  sigset_t none;
  sigset_t all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_adddup2(&actions, its_input.get(), STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, its_output.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  std::string name = "tracer-gpu";
  char* const argv[] = {name.data(), nullptr};
  char* const environment[] = {nullptr};
  const int failed = ::posix_spawn(&pid_, program.c_str(), &actions, &attributes, argv, environment);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) refuse_to_start(program, failed);
  process_.reset(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
}

HelperProcess::~HelperProcess() {
  // It ends when its input does; one that hangs is killed.
  input_.reset();
  if (!process_) return;
  ::syscall(SYS_pidfd_send_signal, process_.get(), SIGKILL, nullptr, 0);
  // One that a driver holds in the kernel does not end at once: it is left behind.
  constexpr int kMostMs = 200;
  pollfd ended{process_.get(), POLLIN, 0};
  siginfo_t info{};
  if (::poll(&ended, 1, kMostMs) > 0)
    ::waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(process_.get()), &info, WEXITED);
}

bool HelperProcess::send(char byte) noexcept {
  // A pipe that nobody reads any more kills who writes to it, unless the signal is blocked.
  sigset_t broken;
  sigset_t before;
  ::sigemptyset(&broken);
  ::sigaddset(&broken, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &broken, &before);
  const bool sent = ::write(input_.get(), &byte, 1) == 1;
  const bool pending = !sent && errno == EPIPE;
  if (pending && ::sigismember(&before, SIGPIPE) == 0) {
    const timespec now{};
    ::sigtimedwait(&broken, nullptr, &now);
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return sent;
}

std::uint64_t HelperProcess::cpu_ns() const noexcept {
  clockid_t clock{};
  return ::clock_getcpuclockid(pid_, &clock) == 0 ? clock_ns(clock) : 0;
}

}  // namespace tracer::internal
