// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What threads wait for: fills the ledgers of the threads that the lifecycle family has begun. */
#include "kernel_types.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

#include "wire.h"
#include "queue_clock.h"
#include "ledger.h"
#include "task_state.h"
#include "shown_pid.h"
#include "process_ledger.h"
#include "scope_ledger.h"
#include "wait_causes.h"
#include "wait_targets.h"
#include "wait_peers.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

const volatile __u8 switch_tells_state = 0; /* by a fourth argument, since 9c2136be0878 (5.19) */

/* What it was when it gave up the CPU: another CPU may be waking it already. */
static __always_inline __u32 state_left_in(struct task_struct *task, __u64 *context)
{
	__u32 state = task_state(task);

	return switch_tells_state && (state & TASK_WAKING) ? context[3] : state;
}

static __noinline void leave_cpu(struct task_struct *task, bool preempt, __u32 state, struct tracer_counted_cpu *cpu)
{
	/* Read before any branch: the verifier takes a millisecond for each way that leads to such a load. */
	struct task_group *group = task->sched_task_group;
	__u64 now_ns = queue_clock(task);
	struct tracer_thread *thread = thread_of(task);

	cpu->ended.cause = TRACER_WAIT_OTHER;
	cpu->ready = 0;
	cpu->cause = preempt || !state ? TRACER_WAIT_NONE : TRACER_WAIT_OTHER;
	if (!thread && (state & TASK_DEAD))
		thread = thread_of_dead(task);
	if (!thread)
		return;
	__u64 in_ns = task->sched_info.last_arrival;
	__u64 switches = task->nvcsw;
	bool was_marked = waker_matters(thread);
	bool peer_noted = thread->peers & TRACER_WAKER_NOTED;
	cpu->target = has_target(thread->cause) ? thread->target : 0;
	cpu->waited_ns = targeted_ns(thread);
	note_change(&thread->changes);
	book(thread, group, in_ns, task->sched_info.run_delay, &cpu->ended);
	cpu->waited_ns = targeted_ns(thread) - cpu->waited_ns;
	cpu->ready = thread->ready;
	thread->out_ns = now_ns;
	thread->waker = 0;
	cpu->socket = 0;
	if (preempt || !state) {
		thread->cause = TRACER_WAIT_NONE;
		thread->peers = 0;
	} else {
		keep_cause(thread, cause_of_wait(task, state, thread->in_reclaim));
	}
	cpu->cause = thread->cause;
	note_ready_in_scope(thread, cpu->scope);
	note_limit(thread, group);
	if (cpu->target || has_target(thread->cause))
		change_target(thread, cpu, switches, now_ns - in_ns);
	if (peer_noted)
		count_peer(cpu);
	note_change(&thread->changes);
	bool is_marked = waker_matters(thread);
	/* Again though it was marked before: that may have been under another id. */
	if (is_marked || was_marked)
		mark_awaiting(thread, is_marked ? task->pid : 0);
}

static __always_inline int on_switch(__u64 *context, bool fetches)
{
	bool preempt = context[0];
	struct task_struct *prev = (void *)context[1];
	struct task_struct *next = (void *)context[2];
	struct tracer_counting *all = counting_of_all();

	if (!all)
		return 0;
	struct tracer_counted_cpu *cpu = counted_cpu(all);
	note_switch(all, cpu, prev, next);
	if (!(prev->flags & PF_KTHREAD))
		leave_cpu(prev, preempt, state_left_in(prev, context), cpu);
	if (__builtin_expect(cpu->concerned & TRACER_CONCERNS_PROCESS, 0))
		change_process(all, cpu, fetches);
	if (__builtin_expect(cpu->concerned & TRACER_CONCERNS_SCOPE, 0))
		change_scope(cpu, fetches);
	return 0;
}

SEC("tp_btf/sched_switch")
int waits_switch(__u64 *context)
{
	return on_switch(context, true);
}

/* For kernels whose counts don't tell what they were. */
SEC("tp_btf/sched_switch")
int waits_switch_without_fetch(__u64 *context)
{
	return on_switch(context, false);
}

/*
 * It opens a file, and what runs here is the process that serves it (FUSE), with its answer; the other end of a FIFO
 * would be opening it.
 */
static __noinline bool opened_by_server(struct task_struct *woken)
{
	struct task_struct *waker = (void *)bpf_get_current_task();

	/* Not yet asleep: what is noted is an earlier wait. */
	if (woken->on_cpu || signaled(woken))
		return false;
	if (call_of(call_number(woken, entry_registers(woken))) != TRACER_CALL_OPENS)
		return false;
	if (BPF_CORE_READ(waker, flags) & PF_KTHREAD)
		return true;
	__u32 call = call_of(number_of(own_registers()));
	return call == TRACER_CALL_WRITES || call == TRACER_CALL_MOVES_0_2;
}

/*
 * What it waited for that awaits any of several things: a pipe or local socket that what runs here has just read or
 * written. TRACER_WAIT_POLL: neither.
 */
static __noinline __u32 cause_by_waker(struct task_struct *woken)
{
	/* Not yet asleep, or woken by itself: a thread that tells another of its work is no neighbor. */
	if (woken->on_cpu || bpf_get_current_pid_tgid() >> 32 == woken->tgid || (own_flags() & PF_KTHREAD))
		return TRACER_WAIT_POLL;
	struct pt_regs *registers = own_registers();
	__u32 call = call_of(number_of(registers));
	bool reads = call == TRACER_CALL_READS;
	if (call == TRACER_CALL_MOVES_0_2 || call == TRACER_CALL_MOVES_0_1) {
		/* To a pipe it writes; else it has read. */
		__u64 to = own_descriptor_inode(call_argument(registers, call == TRACER_CALL_MOVES_0_1 ? 1 : 2));
		if (inode_type((void *)to) == S_IFIFO)
			return TRACER_WAIT_PIPE_READ;
		reads = true;
	} else if (!reads && call != TRACER_CALL_WRITES && call != TRACER_CALL_SOCKET && call != TRACER_CALL_CONNECTS &&
		   call != TRACER_CALL_MOVES_1_0) {
		return TRACER_WAIT_POLL;
	}
	__u64 inode = own_descriptor_inode(call_argument(registers, 0));
	__u32 type = inode_type((void *)inode);
	if (type == S_IFIFO)
		return reads ? TRACER_WAIT_PIPE_WRITE : TRACER_WAIT_PIPE_READ;
	if (type == S_IFSOCK && cause_of_socket(inode) == TRACER_WAIT_LOCAL_SOCKET)
		return TRACER_WAIT_LOCAL_SOCKET;
	return TRACER_WAIT_POLL;
}

/* Runs in the one that wakes: of a pipe, a local socket or a lock, the process at the other end. */
SEC("tp_btf/sched_waking")
int BPF_PROG(waits_waking, struct task_struct *woken)
{
	__u32 *count = awaiting_count(woken->pid);

	if (!count || !*count)
		return 0;
	struct tracer_thread *thread = thread_of(woken);
	if (!thread || !waker_matters(thread))
		return 0;
	if (thread->cause == TRACER_WAIT_LOCAL_SOCKET || thread->cause == TRACER_WAIT_LOCK)
		return note_peer(woken, thread);
	if (thread->cause == TRACER_WAIT_PIPE_READ && opened_by_server(woken)) {
		keep_cause(thread, TRACER_WAIT_DISK);
		thread->target = 0;
		mark_awaiting(thread, 0);
		return 0;
	}
	/* Of the wait, not of its call: after a stop that goes on. */
	if (thread->cause == TRACER_WAIT_POLL) {
		thread->cause = cause_by_waker(woken);
		if (thread->cause == TRACER_WAIT_LOCAL_SOCKET)
			thread->target = TRACER_SOCKET_POLLED;
		if (!is_pipe(thread->cause))
			return 0;
	}
	struct task_struct *waker = (void *)bpf_get_current_task();
	thread->waker =
		own_pid_namespace ? number_shown(BPF_CORE_READ(waker, group_leader)) : bpf_get_current_pid_tgid() >> 32;
	return 0;
}

static __always_inline int set_in_reclaim(__u32 in_reclaim)
{
	struct tracer_thread *thread = thread_find(bpf_get_current_pid_tgid());

	if (thread && thread->task == bpf_get_current_task())
		thread->in_reclaim = in_reclaim;
	return 0;
}

SEC("tp_btf/mm_vmscan_direct_reclaim_begin")
int waits_reclaim_begin(void *context)
{
	return set_in_reclaim(1);
}

SEC("tp_btf/mm_vmscan_direct_reclaim_end")
int waits_reclaim_end(void *context)
{
	return set_in_reclaim(0);
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_begin")
int waits_cgroup_reclaim_begin(void *context)
{
	return set_in_reclaim(1);
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_end")
int waits_cgroup_reclaim_end(void *context)
{
	return set_in_reclaim(0);
}
