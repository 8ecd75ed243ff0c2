/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Constants and plain types of the kernel, by hand. */
#ifndef TRACER_KERNEL_CONSTANTS_H
#define TRACER_KERNEL_CONSTANTS_H

typedef unsigned char __u8;
typedef signed int __s32;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef signed long long __s64;
typedef unsigned long long __u64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef int pid_t;
typedef _Bool bool;
#define NULL ((void *)0)
#define true 1
#define false 0

enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
	BPF_MAP_TYPE_RINGBUF = 27,
};
enum { BPF_ANY = 0, BPF_NOEXIST = 1 };
enum { BPF_F_NO_PREALLOC = 1, BPF_F_MMAPABLE = 1 << 10 };
enum { BPF_RB_NO_WAKEUP = 1, BPF_RB_FORCE_WAKEUP = 2 };
enum { BPF_RB_AVAIL_DATA = 0, BPF_RB_CONS_POS = 2, BPF_RB_PROD_POS = 3 };

/* asm-generic/errno-base.h */
#define ENOENT 2
#define EINTR 4
#define EEXIST 17
#define MAX_ERRNO 4095
/* linux/errno.h: a signal has interrupted a call, which the program may never notice */
#define ERESTARTSYS 512
#define ERESTARTNOINTR 513
#define ERESTARTNOHAND 514
#define ERESTART_RESTARTBLOCK 516
/* linux/sched.h, linux/sched/signal.h */
#define TASK_INTERRUPTIBLE 0x1
#define TASK_UNINTERRUPTIBLE 0x2
#define TASK_STOPPED 0x4
#define TASK_TRACED 0x8
#define TASK_DEAD 0x80
#define TASK_WAKING 0x200
#define TASK_RTLOCK_WAIT 0x1000 /* since 5f220be21418 (5.15), with PREEMPT_RT: for a lock that spins elsewhere */
#define TASK_FROZEN 0x8000	/* since f5d39b020809 (6.1) */
#define PF_IDLE 0x00000002
#define PF_EXITING 0x00000004
#define PF_MEMALLOC 0x00000800
#define PF_KTHREAD 0x00200000
#define PF_FROZEN 0x00010000 /* until f5d39b020809 (6.1); then of kernel threads only */
#define PF_IO_WORKER 0x00000010
#define PF_USER_WORKER 0x00004000 /* since f9010dbdce91 (6.4); before, the bit meant something else */
#define SIGNAL_GROUP_EXIT 0x4
/* linux/signal_types.h, in place of a pointer to what is said of a signal */
#define SEND_SIG_NOINFO 0 /* as if by a process: the current one */
#define SEND_SIG_PRIV 1	  /* by the kernel */
/* asm-generic/siginfo.h: by a process; all other codes are the kernel's */
#define SI_USER 0
#define SI_QUEUE (-1)
#define SI_TKILL (-6)
/* asm-generic/signal.h: those that end no process by themselves, and SIGPIPE */
#define SIGPIPE 13
#define SIGCHLD 17
#define SIGCONT 18
#define SIGSTOP 19
#define SIGTSTP 20
#define SIGTTIN 21
#define SIGTTOU 22
#define SIGURG 23
#define SIGWINCH 28
/* asm-generic/signal-defs.h */
#define SIG_IGN 1
#define SA_RESTART 0x10000000
/* trace/events/signal.h */
#define TRACE_SIGNAL_DELIVERED 0
#define TRACE_SIGNAL_LOSE_INFO 4
#define JOBCTL_PENDING ((1 << 17) | (1 << 19) | (1 << 20) | (1 << 23)) /* to stop, to be traced, to freeze */
/* linux/futex.h */
#define FUTEX_WAKE 1
#define FUTEX_REQUEUE 3
#define FUTEX_CMP_REQUEUE 4
#define FUTEX_WAKE_OP 5
#define FUTEX_UNLOCK_PI 7
#define FUTEX_WAKE_BITSET 10
#define FUTEX_CMP_REQUEUE_PI 12
#define FUTEX_PRIVATE_FLAG 128
#define FUTEX_CMD_MASK 127
/* linux/proc_ns.h: the inode number of the initial pid namespace */
#define PROC_PID_INIT_INO 0xEFFFFFFCU
/* linux/magic.h */
#define ANON_INODE_FS_MAGIC 0x09041934
#define BTRFS_SUPER_MAGIC 0x9123683e
#define FUSE_SUPER_MAGIC 0x65735546
#define OVERLAYFS_SUPER_MAGIC 0x794c7630
#define BCACHEFS_SUPER_MAGIC 0xca451a4e /* fs/bcachefs/bcachefs_format.h */
/* linux/sched/sysctl.h, kernel/sched/sched.h: no limit on CPU time */
#define RUNTIME_INF (~0ULL)
/* asm/thread_info.h, of x86 and arm64: the member that says whether a system call is a 32-bit one, and its bit there */
#if defined(__TARGET_ARCH_x86)
#define COMPAT_WORD thread_info.status
#define COMPAT_MASK 0x2
#elif defined(__TARGET_ARCH_arm64)
#define COMPAT_WORD thread_info.flags
#define COMPAT_MASK (1u << 22)
#endif
/* linux/fs.h */
#define FMODE_READ 0x1
#define FMODE_WRITE 0x2
#define FMODE_EXEC 0x20 /* in a file's flags: the kernel opened it to execute it */
#define FMODE_PATH 0x4000
#define FMODE_OPENED 0x80000
#define FMODE_CREATED 0x100000
#define FMODE_NOACCOUNT 0x20000000 /* a file below another, as of overlayfs */
#define O_TRUNC 01000
#define O_APPEND 02000
#define __O_TMPFILE 020000000
#define O_NONBLOCK 04000
/* fs/mount.h: a mount that nobody sees, in place of its namespace */
#define MNT_NS_INTERNAL (-22)
/* linux/socket.h */
#define AF_UNIX 1
#define AF_INET 2
#define AF_INET6 10
#define AF_NETLINK 16
#define IPPROTO_TCP 6
#define IPPROTO_UDP 17
#define MSG_PEEK 2
#define MSG_DONTWAIT 0x40
#define MSG_ERRQUEUE 0x2000
#define SOCK_RAW 3
/* net/tcp_states.h */
#define TCP_ESTABLISHED 1
#define TCP_SYN_SENT 2
#define TCP_SYN_RECV 3
#define TCP_CLOSE 7
#define BE32(number) __builtin_bswap32(number)
/* linux/stat.h */
#define S_IFMT 0170000
#define S_IFSOCK 0140000
#define S_IFREG 0100000
#define S_IFBLK 0060000
#define S_IFDIR 0040000
#define S_IFIFO 0010000

#endif
