/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Why a thread left the CPU: from its state, the system call that it is in, and what that call's descriptor is. */
#ifndef TRACER_WAIT_CAUSES_H
#define TRACER_WAIT_CAUSES_H

#include "common/addresses.h"
#include "common/socket_handles.h"
#include "process_ledger.h"

#define CALL_FOREIGN (-2)
#define TRACER_WAIT_RESTARTED TRACER_WAIT_CAUSES
#define ON_SHARED_LOCK (TRACER_LOCK_SHARED | TRACER_WAKER_MATTERS)
#define TRACER_WAIT_ON_LOCK 128 /* with TRACER_LOCK_* */
#define OLD_STACK_BYTES 16384	/* THREAD_SIZE of kernels without bpf_task_pt_regs, before dd6e10fbd9fb (5.15) */

/* By a pointer that the verifier knows, so that plain loads will do. */
static __always_inline bool registers_known(void)
{
	return bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs);
}

/* The registers with which the thread entered the kernel. */
static __always_inline struct pt_regs *entry_registers(struct task_struct *task)
{
	if (registers_known())
		return (struct pt_regs *)bpf_task_pt_regs(task);
	void *stack = BPF_CORE_READ(task, stack);
	return stack + OLD_STACK_BYTES - bpf_core_type_size(struct pt_regs);
}

static __always_inline long number_of(struct pt_regs *registers)
{
#if defined(__TARGET_ARCH_x86)
	return registers_known() ? registers->orig_ax : BPF_CORE_READ(registers, orig_ax);
#elif defined(__TARGET_ARCH_arm64)
	return registers_known() ? registers->syscallno : BPF_CORE_READ(registers, syscallno);
#endif
}

static __always_inline long call_number(struct task_struct *task, struct pt_regs *registers)
{
	/* Numbers of 32-bit programs are others. */
	if (task->COMPAT_WORD & COMPAT_MASK)
		return CALL_FOREIGN;
	return number_of(registers);
}

/* TRACER_CALL_* or TRACER_WAIT_*. */
static __always_inline __u32 call_of(long number)
{
	return number < 0 || number >= TRACER_CALLS ? TRACER_WAIT_OTHER : call_causes[number & (TRACER_CALLS - 1)];
}

static __always_inline __u32 call_argument(struct pt_regs *registers, int which)
{
#if defined(__TARGET_ARCH_x86)
	if (registers_known())
		return which == 0   ? registers->di
		       : which == 1 ? registers->si
		       : which == 2 ? registers->dx
				    : registers->r10;
	return which == 0   ? BPF_CORE_READ(registers, di)
	       : which == 1 ? BPF_CORE_READ(registers, si)
	       : which == 2 ? BPF_CORE_READ(registers, dx)
			    : BPF_CORE_READ(registers, r10);
#elif defined(__TARGET_ARCH_arm64)
	if (registers_known())
		return registers->regs[which];
	return which == 0   ? BPF_CORE_READ(registers, regs[0])
	       : which == 1 ? BPF_CORE_READ(registers, regs[1])
	       : which == 2 ? BPF_CORE_READ(registers, regs[2])
			    : BPF_CORE_READ(registers, regs[3]);
#endif
}

static __always_inline struct inode *descriptor_inode(struct files_struct *files, __u32 fd)
{
	struct file *file = NULL;
	struct fdtable *table = files->fdt;

	if (fd >= table->max_fds)
		return NULL;
	bpf_probe_read_kernel(&file, sizeof(file), table->fd + fd);
	return BPF_CORE_READ(file, f_inode);
}

/*
 * S_IF* of an open descriptor; 0 for what is no file, such as an eventfd, and for none. With cfd3e1c9cb9d (6.16) such
 * have the type of a regular file for a while.
 */
static __always_inline __u32 inode_type(struct inode *inode)
{
	__u32 type = BPF_CORE_READ(inode, i_mode) & S_IFMT;

	if (type == S_IFREG && BPF_CORE_READ(inode, i_sb, s_magic) == ANON_INODE_FS_MAGIC)
		return 0;
	return type;
}

/*
 * What is global here is verified once, not for each way to it. Before 5.12 no argument of such a function may be a
 * pointer, so they take addresses.
 */

/* The other end is on this machine: by family, or by an address that is a loopback's, or its own. */
__noinline bool is_local_socket(__u64 address)
{
	struct sock *sock = (void *)address;
	__u16 family = BPF_CORE_READ(sock, __sk_common.skc_family);

	if (family == AF_INET) {
		__u32 peer = BPF_CORE_READ(sock, __sk_common.skc_daddr);
		__u32 own = BPF_CORE_READ(sock, __sk_common.skc_rcv_saddr);
		return peer ? is_loopback(peer) || peer == own : is_loopback(own);
	}
	if (family == AF_INET6 && bpf_core_field_exists(((struct sock_common *)0)->skc_v6_daddr)) {
		struct in6_words peer = {};
		struct in6_words own = {};
		bpf_probe_read_kernel(&peer, sizeof(peer), &sock->__sk_common.skc_v6_daddr);
		bpf_probe_read_kernel(&own, sizeof(own), &sock->__sk_common.skc_v6_rcv_saddr);
		return is_any6(&peer) ? is_loopback6(&own) : is_loopback6(&peer) || is_same6(&peer, &own);
	}
	return family == AF_UNIX || family == AF_NETLINK;
}

/* For the switch that asks what its thread waits for. */
static __always_inline void note_socket(__u32 handle)
{
	struct tracer_counting *all = counting_of_all();

	if (all)
		counted_cpu(all)->socket = handle;
}

__noinline int forget_socket(void)
{
	note_socket(0);
	return 0;
}

/* `inode`: of a socket. */
static __always_inline struct sock *sock_of(struct inode *inode)
{
	struct socket *socket = (void *)inode - bpf_core_field_offset(struct socket_alloc, vfs_inode);

	return BPF_CORE_READ(socket, sk);
}

__noinline __u32 cause_of_socket(__u64 inode)
{
	__u64 sock = (__u64)sock_of((void *)inode);

	note_socket(socket_handle(sock));
	return is_local_socket(sock) ? TRACER_WAIT_LOCAL_SOCKET : TRACER_WAIT_NETWORK;
}

/* `inode`: of an open descriptor. */
__noinline __u32 cause_of_descriptor(__u64 inode, __u32 pipe_cause)
{
	switch (inode_type((void *)inode)) {
	case S_IFIFO:
		return pipe_cause;
	case S_IFSOCK:
		return cause_of_socket(inode);
	case S_IFREG:
	case S_IFBLK:
	case S_IFDIR:
		return TRACER_WAIT_DISK;
	case 0:
		return TRACER_WAIT_POLL;
	}
	return TRACER_WAIT_OTHER;
}

/* Both ends may be at fault: what a pipe holds tells which. */
__noinline __u32 cause_of_move(__u64 from_inode, __u64 to_inode)
{
	struct inode *from = (void *)from_inode;
	struct inode *to = (void *)to_inode;
	__u32 from_type = inode_type(from);
	__u32 to_type = inode_type(to);
	struct pipe_inode_info *pipe;

	if (from_type == S_IFIFO) {
		pipe = BPF_CORE_READ(from, i_pipe);
		if (BPF_CORE_READ(pipe, head) == BPF_CORE_READ(pipe, tail))
			return TRACER_WAIT_PIPE_READ;
	}
	if (to_type == S_IFIFO) {
		pipe = BPF_CORE_READ(to, i_pipe);
		if (BPF_CORE_READ(pipe, head) - BPF_CORE_READ(pipe, tail) >= BPF_CORE_READ(pipe, max_usage))
			return TRACER_WAIT_PIPE_WRITE;
	}
	if (from_type == S_IFSOCK || to_type == S_IFSOCK)
		return cause_of_socket(from_type == S_IFSOCK ? from_inode : to_inode);
	if (from_type == S_IFIFO && to_type != S_IFIFO)
		return cause_of_descriptor(to_inode, TRACER_WAIT_PIPE_WRITE);
	return cause_of_descriptor(from_inode, TRACER_WAIT_PIPE_READ);
}

#define STACK_FRAMES 32
#define FIFO_OPEN_BYTES 2048 /* its length, at least; what lies behind it opens nothing */
struct tracer_stack {
	__u64 frames[STACK_FRAMES];
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tracer_stack);
} stack_of_open SEC(".maps");

/* A return address in it is within the function that opens a FIFO; or that is not known. Global, as above. */
__noinline __u32 cause_by_stack(__s64 bytes)
{
	__u32 slot = 0;
	struct tracer_stack *stack = bpf_map_lookup_elem(&stack_of_open, &slot);
	struct tracer_counting *all = counting_of_all();

	if (!stack || !all || !all->fifo_open || bytes <= 0)
		return TRACER_WAIT_PIPE_READ;
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < STACK_FRAMES && i < bytes / sizeof(__u64); i++) {
		if (stack->frames[i] - all->fifo_open < FIFO_OPEN_BYTES)
			return TRACER_WAIT_PIPE_READ;
	}
	return TRACER_WAIT_DISK;
}

/* An open that a signal may interrupt waits for the other end of a FIFO, or for a process that serves the file (FUSE).
 */
static __noinline __u32 cause_of_open(struct task_struct *task)
{
	__u32 slot = 0;
	struct tracer_stack *stack = bpf_map_lookup_elem(&stack_of_open, &slot);

	if (!stack)
		return TRACER_WAIT_PIPE_READ;
	return cause_by_stack(bpf_get_task_stack(task, stack->frames, sizeof(stack->frames), 0));
}

static __noinline __u32 cause_of_call(struct task_struct *task, struct pt_regs *registers, __u32 call, __u32 state)
{
	struct files_struct *files = task->files;
	int to_argument;
	__u64 inode;
	__u32 cause;

	switch (call) {
	case TRACER_CALL_READS:
	case TRACER_CALL_WRITES:
	case TRACER_CALL_SOCKET:
	case TRACER_CALL_CONNECTS:
		inode = (__u64)descriptor_inode(files, call_argument(registers, 0));
		cause = cause_of_descriptor(inode, call == TRACER_CALL_READS	? TRACER_WAIT_PIPE_READ
						   : call == TRACER_CALL_WRITES ? TRACER_WAIT_PIPE_WRITE
										: TRACER_WAIT_OTHER);
		/* Nothing is sent or received in it. */
		if (call == TRACER_CALL_CONNECTS)
			forget_socket();
		return cause;
	case TRACER_CALL_MOVES_0_1:
	case TRACER_CALL_MOVES_0_2:
	case TRACER_CALL_MOVES_1_0:
		inode = (__u64)descriptor_inode(files, call_argument(registers, call == TRACER_CALL_MOVES_1_0 ? 1 : 0));
		to_argument = call == TRACER_CALL_MOVES_0_1 ? 1 : call == TRACER_CALL_MOVES_0_2 ? 2 : 0;
		return cause_of_move(inode, (__u64)descriptor_inode(files, call_argument(registers, to_argument)));
	case TRACER_CALL_OPENS:
		return (state & TASK_UNINTERRUPTIBLE) ? TRACER_WAIT_DISK : cause_of_open(task);
	case TRACER_CALL_FILES:
		return TRACER_WAIT_DISK;
	case TRACER_CALL_FUTEX:
		return TRACER_WAIT_ON_LOCK | ((call_argument(registers, 1) & FUTEX_PRIVATE_FLAG) ? 0 : ON_SHARED_LOCK) |
		       (call_argument(registers, 3) ? TRACER_LOCK_TIMED | TRACER_WAKER_MATTERS : 0);
	case TRACER_CALL_LOCKS:
		return TRACER_WAIT_ON_LOCK | ON_SHARED_LOCK;
	case TRACER_CALL_ACCEPTS:
		return TRACER_WAIT_POLL;
	case TRACER_CALL_POLLS_0:
	case TRACER_CALL_POLLS_1:
		return call_argument(registers, call == TRACER_CALL_POLLS_1) ? TRACER_WAIT_POLL : TRACER_WAIT_SLEEP;
	case TRACER_CALL_AWAITS_SIGNAL:
		/* As shells wait for their children. */
		return BPF_CORE_READ(task, children.next) != &task->children ? TRACER_WAIT_CHILD : TRACER_WAIT_OTHER;
	}
	return call < TRACER_WAIT_CAUSES ? call : TRACER_WAIT_OTHER;
}

/* Into `thread` goes what it waits for; after a stop the kernel goes on with the wait of the call before. */
static __always_inline void keep_cause(struct tracer_thread *thread, __u32 cause)
{
	thread->peers = 0;
	if (cause & TRACER_WAIT_ON_LOCK) {
		thread->peers = cause & (ON_SHARED_LOCK | TRACER_LOCK_TIMED);
		cause = thread->peers & TRACER_LOCK_TIMED ? TRACER_WAIT_SLEEP : TRACER_WAIT_LOCK;
	}
	if (cause == TRACER_WAIT_RESTARTED)
		cause = thread->call_cause ? thread->call_cause : TRACER_WAIT_OTHER;
	else if (cause != TRACER_WAIT_STOPPED)
		thread->call_cause = cause;
	thread->cause = cause;
}

/* The kernel holds it back as its cgroup has too much memory, or makes room for it. */
static __always_inline bool in_memory_stall(struct task_struct *task)
{
	return bpf_core_field_exists(task->in_memstall) && BPF_CORE_READ_BITFIELD(task, in_memstall);
}

/* TRACER_WAIT_*, TRACER_WAIT_RESTARTED and TRACER_WAIT_ON_LOCK included. In a page fault there is no call. */
static __always_inline __u32 cause_of_wait(struct task_struct *task, __u32 state, bool in_reclaim)
{
	if (is_stopped(task, state))
		return TRACER_WAIT_STOPPED;
	if (state & TASK_RTLOCK_WAIT)
		return TRACER_WAIT_LOCK;
	/* That it has ended may have been skipped; while it frees, it may use what is kept back. */
	if (in_reclaim && (task->flags & PF_MEMALLOC))
		return TRACER_WAIT_RECLAIM;
	if (BPF_CORE_READ_BITFIELD(task, in_iowait))
		return TRACER_WAIT_DISK;
	if (in_memory_stall(task))
		return TRACER_WAIT_RECLAIM;
	struct pt_regs *registers = entry_registers(task);
	__u32 call = call_of(call_number(task, registers));
	if (call == TRACER_CALL_RESTARTS)
		return TRACER_WAIT_RESTARTED;
	return cause_of_call(task, registers, call, state);
}

#endif
