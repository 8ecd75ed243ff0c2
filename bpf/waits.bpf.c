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
		cpu->cause = cause_of_wait(task, state, thread->in_reclaim);
		/* Read back: else the verifier goes on with each cause by itself. */
		asm volatile("" ::: "memory");
		keep_cause(thread, cpu->cause);
		thread->cause = storage_or_swap(thread->cause, task->pid, switches);
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

#define FUTEX_WAKES                                                                               \
	(1U << FUTEX_WAKE | 1U << FUTEX_REQUEUE | 1U << FUTEX_CMP_REQUEUE | 1U << FUTEX_WAKE_OP | \
	 1U << FUTEX_UNLOCK_PI | 1U << FUTEX_WAKE_BITSET | 1U << FUTEX_CMP_REQUEUE_PI)

/* What runs here gives up what it waits for, be it by its end; else it is woken by its timer, or by a signal. */
static __noinline bool woken_by_futex(struct task_struct *woken)
{
	/* Not yet asleep: what is noted is an earlier wait. */
	if (woken->on_cpu || (own_flags() & PF_KTHREAD))
		return false;
	struct pt_regs *registers = own_registers();
	if (call_of(number_of(registers)) != TRACER_CALL_FUTEX)
		return own_flags() & PF_EXITING;
	__u32 operation = call_argument(registers, 1) & FUTEX_CMD_MASK;
	return operation < 32 && (FUTEX_WAKES >> operation & 1);
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
	/* A server is idle until then, whoever connects. */
	if (call_of(call_number(woken, entry_registers(woken))) == TRACER_CALL_ACCEPTS)
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

/*
 * A thread that sleeps may keep its place in the queue for a while (delayed dequeueing); if that is moved to another
 * CPU, sched_info counts as if it could run.
 */
static __noinline int forget_queue(struct task_struct *woken)
{
	struct tracer_thread *thread = thread_of(woken);

	if (thread && thread->cause != TRACER_WAIT_NONE && !woken->on_cpu)
		thread->peers |= TRACER_QUEUE_UNKNOWN;
	return 0;
}

/* Runs in the one that wakes: of a pipe, a local socket or a lock, the process at the other end. */
SEC("tp_btf/sched_waking")
int BPF_PROG(waits_waking, struct task_struct *woken)
{
	__u32 *count = awaiting_count(woken->pid);

	if (bpf_core_field_exists(woken->se.sched_delayed) && __builtin_expect(woken->sched_info.last_queued != 0, 0))
		forget_queue(woken);
	if (!count || !*count)
		return 0;
	struct tracer_thread *thread = thread_of(woken);
	if (!thread || !waker_matters(thread))
		return 0;
	if (thread->peers & TRACER_LOCK_TIMED) {
		if (!woken_by_futex(woken))
			return 0;
		thread->cause = TRACER_WAIT_LOCK;
		thread->peers &= ~TRACER_LOCK_TIMED;
		if (!(thread->peers & TRACER_LOCK_SHARED)) {
			thread->peers &= ~TRACER_WAKER_MATTERS;
			mark_awaiting(thread, 0);
			return 0;
		}
	}
	if (thread->cause == TRACER_WAIT_LOCAL_SOCKET || thread->cause == TRACER_WAIT_LOCK)
		return note_peer(woken, thread);
	if (signaled(woken))
		return 0;
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
