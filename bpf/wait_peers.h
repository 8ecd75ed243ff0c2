/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which other process ends a process's waits for local sockets and locks. It is noted when it wakes the thread, only
 * where the call that it is in says that it was meant: what an interrupt wakes finds some process there. It counts when
 * the thread leaves the CPU the next time, as how long it had waited is known then.
 */
#ifndef TRACER_WAIT_PEERS_H
#define TRACER_WAIT_PEERS_H

#include "process_ledger.h"
#include "shown_pid.h"
#include "wakers.h"

static const struct tracer_wait_peers no_wait_peers;

/* NULL: there is none, or no process. */
static __noinline struct tracer_wait_peers *wait_peers_of(__u32 pid, bool begins)
{
	struct tracer_process *process = process_find(pid);
	struct tracer_wait_peers_key key = {};

	if (!process)
		return NULL;
	key.start_ns = process->start_ns;
	key.pid = process->pid;
	struct tracer_wait_peers *peers = bpf_map_lookup_elem(&wait_peers, &key);
	if (peers || !begins)
		return peers;
	bpf_map_update_elem(&wait_peers, &key, &no_wait_peers, BPF_NOEXIST);
	return bpf_map_lookup_elem(&wait_peers, &key);
}

/* It moves data on the socket that is its first argument. */
static __always_inline bool moves_on_socket(__u32 call)
{
	return call == TRACER_CALL_READS || call == TRACER_CALL_WRITES || call == TRACER_CALL_SOCKET ||
	       call == TRACER_CALL_MOVES_1_0;
}

/* NULL: it is none. */
static __always_inline struct sock *sock_of_inode(struct inode *inode)
{
	return inode_type(inode) == S_IFSOCK ? sock_of(inode) : NULL;
}

static __always_inline bool are_ends(struct sock *one, struct sock *other)
{
	__u16 port = BPF_CORE_READ(one, __sk_common.skc_num);

	return port && port == __builtin_bswap16(BPF_CORE_READ(other, __sk_common.skc_dport)) &&
	       BPF_CORE_READ(other, __sk_common.skc_num) ==
		       __builtin_bswap16(BPF_CORE_READ(one, __sk_common.skc_dport));
}

/* What runs here sends to the socket that it waits for, or has received what it sent. `handle`: of that. */
static __noinline bool woken_by_other_end(struct task_struct *woken, __u32 handle)
{
	struct pt_regs *registers = own_registers();
	struct sock *own = NULL;

	if (moves_on_socket(call_of(number_of(registers))))
		own = sock_of_inode((void *)own_descriptor_inode(call_argument(registers, 0)));
	__u16 family = BPF_CORE_READ(own, __sk_common.skc_family);
	if (family == AF_UNIX && bpf_core_field_exists(((struct unix_sock *)0)->peer))
		return socket_handle((__u64)BPF_CORE_READ((struct unix_sock *)own, peer)) == handle;
	if (family != AF_INET && family != AF_INET6)
		return false;
	struct pt_regs *awaiting_registers = entry_registers(woken);
	if (!moves_on_socket(call_of(call_number(woken, awaiting_registers))))
		return false;
	struct sock *other = sock_of_inode(descriptor_inode(woken->files, call_argument(awaiting_registers, 0)));
	return other && are_ends(own, other);
}

/* What runs here gives up what it waits for: a file lock also with its last descriptor. */
static __noinline bool woken_by_unlock(struct task_struct *woken)
{
	__u32 awaited = call_of(call_number(woken, entry_registers(woken)));
	struct pt_regs *registers = own_registers();
	__u32 call = call_of(number_of(registers));

	if (awaited == TRACER_CALL_FUTEX)
		return call == TRACER_CALL_FUTEX && !(call_argument(registers, 1) & FUTEX_PRIVATE_FLAG);
	return awaited == TRACER_CALL_LOCKS &&
	       (call == TRACER_CALL_LOCKS || call == TRACER_CALL_FILES || (own_flags() & PF_EXITING));
}

/* A thread is woken that waits for a local socket, or for a lock that other processes may have. */
static __noinline int note_peer(struct task_struct *woken, struct tracer_thread *thread)
{
	/* Not yet asleep; or woken by its own process, by a signal, by the kernel. */
	if (!thread || woken->on_cpu || bpf_get_current_pid_tgid() >> 32 == woken->tgid || signaled(woken) ||
	    (own_flags() & PF_KTHREAD))
		return 0;
	if (thread->cause == TRACER_WAIT_LOCK) {
		if (!woken_by_unlock(woken))
			return 0;
	} else if (!woken_by_other_end(woken, thread->target)) {
		return 0;
	}
	struct tracer_wait_peers *peers = wait_peers_of(woken->tgid, true);
	if (!peers)
		return 0;
	peers->waker = shown_current_pid();
	peers->tid = woken->pid;
	thread->peers |= TRACER_WAKER_NOTED;
	return 0;
}

/* Keeps the one that leads, as `vote` does. */
static __always_inline void count_wait(struct tracer_wait_peer *peer, __u32 waker, __u64 wait_ns)
{
	if (peer->pid == waker) {
		peer->wait_ns += wait_ns;
		peer->lead_ns += wait_ns;
	} else if (peer->lead_ns < wait_ns) {
		peer->pid = waker;
		peer->wait_ns = wait_ns;
		peer->lead_ns = wait_ns - peer->lead_ns;
	} else {
		peer->lead_ns -= wait_ns;
	}
}

/* A thread leaves this CPU of which it was noted who had ended its last wait. */
static __noinline int count_peer(const struct tracer_counted_cpu *cpu)
{
	__u64 ids = bpf_get_current_pid_tgid();
	struct tracer_wait_peers *peers = wait_peers_of(ids >> 32, false);

	/* Another thread of it may have been woken since. */
	if (!cpu || !peers || peers->tid != (__u32)ids || !peers->waker)
		return 0;
	if (cpu->ended.cause == TRACER_WAIT_LOCAL_SOCKET)
		count_wait(&peers->local_socket, peers->waker, cpu->waited_ns);
	else if (cpu->ended.cause == TRACER_WAIT_LOCK)
		count_wait(&peers->lock, peers->waker, cpu->waited_ns);
	return 0;
}

#endif
