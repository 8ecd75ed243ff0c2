/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * For which device or socket a thread waits. Of sockets, the family network adds a wait to a connection when the call
 * returns: what is booked before that is owed to it.
 */
#ifndef TRACER_WAIT_TARGETS_H
#define TRACER_WAIT_TARGETS_H

#include "last_bio.h"
#include "owed_waits.h"
#include "process_ledger.h"

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 2048);
	__type(key, struct tracer_disk_waits_key);
	__type(value, struct tracer_disk_waits);
} disk_waits SEC(".maps");

static const struct tracer_disk_waits no_disk_waits;

static __always_inline bool has_target(__u32 cause)
{
	return cause == TRACER_WAIT_DISK || is_socket_wait(cause);
}

/* Of all waits that have a target, or a peer. */
static __always_inline __u64 targeted_ns(const struct tracer_thread *thread)
{
	return thread->wait_ns[TRACER_WAIT_DISK] + thread->wait_ns[TRACER_WAIT_NETWORK] +
	       thread->wait_ns[TRACER_WAIT_LOCAL_SOCKET] + thread->wait_ns[TRACER_WAIT_LOCK];
}

static __always_inline void add_to_device(struct tracer_disk_waits *waits, __u32 device, __u64 wait_ns)
{
#pragma clang loop unroll(full)
	for (int i = 0; i < TRACER_WAITED_DEVICES; i++) {
		if (!waits->device[i])
			waits->device[i] = device;
		if (waits->device[i] == device) {
			__sync_fetch_and_add(&waits->wait_ns[i], wait_ns);
			return;
		}
	}
}

__noinline int add_disk_wait(__u32 pid, __u32 device, __u64 wait_ns)
{
	struct tracer_process *process = process_find(pid);
	struct tracer_disk_waits_key key = {};

	if (!process)
		return 0;
	key.start_ns = process->start_ns;
	key.pid = process->pid;
	struct tracer_disk_waits *waits = bpf_map_lookup_elem(&disk_waits, &key);
	if (!waits) {
		bpf_map_update_elem(&disk_waits, &key, &no_disk_waits, BPF_NOEXIST);
		waits = bpf_map_lookup_elem(&disk_waits, &key);
	}
	if (waits)
		add_to_device(waits, device, wait_ns);
	return 0;
}

/* A wait for a socket was booked before its call returned. */
static __noinline int owe_socket_wait(struct tracer_thread *thread, __u32 tid, __u32 socket, __u64 wait_ns)
{
	struct tracer_owed_wait *owed = bpf_map_lookup_elem(&owed_waits, &tid);
	struct tracer_owed_wait first = {.wait_ns = wait_ns, .socket = socket};

	if (!thread)
		return 0;
	if (owed && thread->owes && owed->socket == socket) {
		owed->wait_ns += wait_ns;
		return 0;
	}
	thread->owes = bpf_map_update_elem(&owed_waits, &tid, &first, BPF_ANY) == 0;
	return 0;
}

#define SAME_WAIT_NS                                                                                    \
	20000 /* who runs for so short a time in between goes on with one wait, for several parts of it \
	       */

/* What the thread that leaves this CPU has last asked a device for, if it has not waited since; else NULL. */
static __always_inline struct tracer_last_bio *bio_waited_for(__u32 tid, __u64 switches)
{
	__u32 slot = 0;
	struct tracer_last_bio *last = bpf_map_lookup_elem(&last_bio, &slot);

	/* The kernel has counted the switch that goes on. */
	return last && last->tid == tid && last->switches + 1 == switches ? last : NULL;
}

/* A wait for storage is one for memory where it reads that back. Global: see wait_causes.h. */
__noinline __u32 storage_or_swap(__u32 cause, __u32 tid, __u64 switches)
{
	if (cause != TRACER_WAIT_DISK)
		return cause;
	struct tracer_last_bio *last = bio_waited_for(tid, switches);

	return last && last->swaps ? TRACER_WAIT_SWAP : cause;
}

/* Of that; else of the wait before, if this one goes on with it. */
static __always_inline __u32 device_waited_for(const struct tracer_counted_cpu *cpu, __u32 tid, __u64 switches,
					       __u64 ran_ns)
{
	struct tracer_last_bio *last = bio_waited_for(tid, switches);

	if (last)
		return last->device;
	return cpu->ended.cause == TRACER_WAIT_DISK && ran_ns < SAME_WAIT_NS ? cpu->target : 0;
}

/* A thread leaves this CPU, of which one wait or both, that before and that which begins, has a target. */
static __noinline int change_target(struct tracer_thread *thread, struct tracer_counted_cpu *cpu, __u64 switches,
				    __u64 ran_ns)
{
	__u64 ids = bpf_get_current_pid_tgid();

	if (!thread || !cpu)
		return 0;
	if (thread->cause == TRACER_WAIT_DISK)
		thread->target = device_waited_for(cpu, ids, switches, ran_ns);
	else if (is_socket_wait(thread->cause))
		thread->target = cpu->socket;
	if (!cpu->target || !cpu->waited_ns)
		return 0;
	if (cpu->ended.cause == TRACER_WAIT_DISK)
		add_disk_wait(ids >> 32, cpu->target, cpu->waited_ns);
	else if (is_socket_wait(cpu->ended.cause) &&
		 (thread->cause == TRACER_WAIT_NONE || thread->target == cpu->target))
		owe_socket_wait(thread, ids, cpu->target, cpu->waited_ns);
	return 0;
}

#endif
