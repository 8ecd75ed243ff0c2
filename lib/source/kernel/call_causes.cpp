// SPDX-License-Identifier: Apache-2.0
#include "source/kernel/call_causes.hpp"

#include <sys/syscall.h>

#include <algorithm>

#include "wire.h"

namespace tracer::internal {
namespace {

struct Group {
  std::uint8_t cause;
  std::initializer_list<long> calls;
};

/// Calls that an architecture or an older C library does not have are left out.
const Group kGroups[] = {
    {TRACER_CALL_READS,
     {SYS_read, SYS_readv, SYS_pread64, SYS_preadv, SYS_preadv2,
#ifdef SYS_getdents
      SYS_getdents,
#endif
      SYS_getdents64}},
    {TRACER_CALL_WRITES, {SYS_write, SYS_writev, SYS_pwrite64, SYS_pwritev, SYS_pwritev2, SYS_vmsplice}},
    {TRACER_CALL_MOVES_0_1, {SYS_tee}},
    {TRACER_CALL_MOVES_0_2, {SYS_splice, SYS_copy_file_range}},
    {TRACER_CALL_MOVES_1_0, {SYS_sendfile}},
    {TRACER_CALL_OPENS,
     {
#ifdef SYS_open
         SYS_open, SYS_creat,
#endif
#ifdef SYS_openat2
         SYS_openat2,
#endif
         SYS_openat}},
    {TRACER_CALL_FILES, {SYS_fsync,      SYS_fdatasync, SYS_sync,       SYS_syncfs,    SYS_sync_file_range, SYS_msync,
                         SYS_truncate,   SYS_ftruncate, SYS_fallocate,  SYS_unlinkat,  SYS_renameat2,       SYS_mkdirat,
                         SYS_linkat,     SYS_symlinkat, SYS_fchmodat,   SYS_fchownat,  SYS_statx,           SYS_fstat,
                         SYS_newfstatat, SYS_faccessat, SYS_readlinkat, SYS_utimensat, SYS_chdir,           SYS_execve,
                         SYS_execveat,   SYS_close,     SYS_lseek,      SYS_mount,     SYS_umount2,
#ifdef SYS_stat
                         SYS_stat,       SYS_lstat,     SYS_access,     SYS_unlink,    SYS_rename,          SYS_mkdir,
                         SYS_rmdir,      SYS_link,      SYS_symlink,    SYS_readlink,  SYS_chmod,           SYS_chown,
#endif
#ifdef SYS_renameat
                         SYS_renameat,
#endif
#ifdef SYS_faccessat2
                         SYS_faccessat2,
#endif
                         SYS_statfs,     SYS_fstatfs}},
    {TRACER_CALL_FILES,
     {SYS_getxattr, SYS_lgetxattr, SYS_fgetxattr, SYS_setxattr, SYS_lsetxattr, SYS_fsetxattr, SYS_listxattr,
      SYS_llistxattr, SYS_flistxattr, SYS_mknodat, SYS_fchmod, SYS_fchown, SYS_fchdir, SYS_chroot,
      SYS_inotify_add_watch, SYS_fadvise64, SYS_readahead}},
    {TRACER_CALL_AWAITS_SIGNAL,
     {
#ifdef SYS_pause
         SYS_pause,
#endif
         SYS_rt_sigsuspend, SYS_rt_sigtimedwait}},
    {TRACER_CALL_RESTARTS, {SYS_restart_syscall}},
    {TRACER_CALL_SOCKET, {SYS_recvfrom, SYS_recvmsg, SYS_recvmmsg, SYS_sendto, SYS_sendmsg, SYS_sendmmsg}},
    {TRACER_CALL_CONNECTS, {SYS_connect}},
    {TRACER_CALL_ACCEPTS, {SYS_accept, SYS_accept4}},
    {TRACER_CALL_FUTEX, {SYS_futex}},
    {TRACER_CALL_LOCKS, {SYS_flock, SYS_fcntl, SYS_semop, SYS_semtimedop}},
#ifdef SYS_futex_waitv
    {TRACER_WAIT_LOCK, {SYS_futex_waitv}},
#endif
    {TRACER_WAIT_CHILD,
     {SYS_wait4, SYS_waitid,
#ifdef SYS_vfork
      SYS_vfork, SYS_fork,
#endif
#ifdef SYS_clone3
      SYS_clone3,
#endif
      SYS_clone}},
    {TRACER_WAIT_SLEEP, {SYS_nanosleep, SYS_clock_nanosleep}},
    {TRACER_CALL_POLLS_0,
     {
#ifdef SYS_select
         SYS_select,
#endif
         SYS_pselect6}},
    {TRACER_CALL_POLLS_1,
     {
#ifdef SYS_poll
         SYS_poll,
#endif
         SYS_ppoll}},
    {TRACER_WAIT_POLL,
     {
#ifdef SYS_epoll_wait
         SYS_epoll_wait,
#endif
#ifdef SYS_epoll_pwait2
         SYS_epoll_pwait2,
#endif
#ifdef SYS_io_uring_enter
         SYS_io_uring_enter,
#endif
         SYS_epoll_pwait, SYS_io_getevents}},
};

}  // namespace

void fill_call_causes(std::span<std::uint8_t> causes) {
  std::fill(causes.begin(), causes.end(), std::uint8_t{TRACER_WAIT_OTHER});
  for (const Group& group : kGroups)
    for (const long call : group.calls)
      if (call >= 0 && static_cast<std::size_t>(call) < causes.size())
        causes[static_cast<std::size_t>(call)] = group.cause;
}

}  // namespace tracer::internal
