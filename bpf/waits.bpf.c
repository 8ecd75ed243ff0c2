// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What threads wait for: fills the ledgers of the threads that the lifecycle family has begun. */
#include "kernel_types.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

#include "wire.h"
#include "ledger.h"
#include "task_state.h"
#include "wait_causes.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/*
 * Not 0: a thread whose id has these low bits waits for a pipe. So a waking, of which there are many, need not look
 * into the table, which is seldom in the cache.
 */
#define PIPE_WAITERS 32768
__u8 pipe_waiters[PIPE_WAITERS];

static __always_inline bool is_pipe(__u32 cause)
{
	return cause == TRACER_WAIT_PIPE_READ || cause == TRACER_WAIT_PIPE_WRITE;
}

static __noinline void leave_cpu(struct task_struct *task, bool preempt, __u64 in_ns, __u64 now_ns)
{
	struct tracer_thread *thread = thread_of(task);
	__u32 state = task_state(task);

	if (!thread && (state & TASK_DEAD))
		thread = thread_of_dead(task);
	if (!thread)
		return;
	bool waited_for_pipe = is_pipe(thread->cause);
	thread->changes++;
	barrier();
	book(thread, task, in_ns ? in_ns : now_ns);
	thread->out_ns = now_ns;
	thread->waker = 0;
	if (preempt || !state)
		thread->cause = TRACER_WAIT_NONE;
	else
		keep_cause(thread, cause_of_wait(task, state, thread->in_reclaim));
	note_limit(thread, task);
	barrier();
	thread->changes++;
	bool waits_for_pipe = is_pipe(thread->cause);
	if (waits_for_pipe != waited_for_pipe)
		pipe_waiters[task->pid & (PIPE_WAITERS - 1)] = waits_for_pipe;
}

SEC("tp_btf/sched_switch")
int waits_switch(__u64 *context)
{
	bool preempt = context[0];
	struct task_struct *prev = (void *)context[1];
	struct tracer_cpu_switch *last = switch_of_cpu(bpf_get_smp_processor_id());

	if (!last)
		return 0;
	__u64 now_ns = bpf_ktime_get_boot_ns();
	__u64 in_ns = last->time_ns;
	last->time_ns = now_ns;
	if (!(prev->flags & PF_KTHREAD))
		leave_cpu(prev, preempt, in_ns, now_ns);
	return 0;
}

/* Runs in the one that wakes: of a pipe, the process at its other end. */
SEC("tp_btf/sched_waking")
int BPF_PROG(waits_waking, struct task_struct *woken)
{
	if (!pipe_waiters[woken->pid & (PIPE_WAITERS - 1)])
		return 0;
	struct tracer_thread *thread = thread_of(woken);
	if (thread && is_pipe(thread->cause))
		thread->waker = bpf_get_current_pid_tgid() >> 32;
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
