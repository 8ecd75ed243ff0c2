/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The wall-time ledger of a thread. When a thread leaves the CPU the cause is noted. When it leaves the next time, what
 * it was off the CPU in between is booked: what sched_info calls run-queue time as that, the rest on the cause.
 */
#ifndef TRACER_LEDGER_H
#define TRACER_LEDGER_H

#include "ledger_maps.h"
#include "ordering.h"
#include "places.h"

DEFINE_PLACES(process_ledger, tracer_process_ledger_slot, tracer_process_ledger, pid, ledger, process_ledgers,
	      displaced_process_ledgers, process_ledger_mask)

/* Likewise; the last switch of a first thread, whose id another has taken by an exec, comes before that is known. */
static __always_inline struct tracer_thread *thread_of_dead(struct task_struct *task)
{
	struct tracer_thread *thread = thread_of(task);

	if (thread || task->pid == task->tgid)
		return thread;
	thread = thread_find(task->tgid);
	return thread ? known_by(thread, thread->task, (__u64)task) : NULL;
}

static __always_inline bool is_pipe(__u32 cause)
{
	return cause == TRACER_WAIT_PIPE_READ || cause == TRACER_WAIT_PIPE_WRITE;
}

/* Who ends the wait says more of it. */
static __always_inline bool waker_matters(const struct tracer_thread *thread)
{
	__u32 cause = thread->cause;

	return is_pipe(cause) || cause == TRACER_WAIT_POLL || cause == TRACER_WAIT_LOCAL_SOCKET ||
	       (thread->peers & TRACER_WAKER_MATTERS);
}

static __always_inline __u32 *awaiting_count(__u32 tid)
{
	__u32 key = 0;
	struct tracer_awaiting *all = bpf_map_lookup_elem(&awaiting, &key);

	return all ? &all->threads[tid & (AWAITING_IDS - 1)] : NULL;
}

/* `tid`: its id, while it waits so that the waker matters; else 0. */
static __always_inline void mark_awaiting(struct tracer_thread *thread, __u32 tid)
{
	__u32 before = thread->mark;

	if (before == tid)
		return;
	thread->mark = tid;
	__u32 *count = awaiting_count(before);
	if (before && count)
		__sync_fetch_and_add(count, -1);
	count = awaiting_count(tid);
	if (tid && count)
		__sync_fetch_and_add(count, 1);
}

#define LEAD_SHIFT 8
#define MOST_LEAD 0xffffffffu

/* Keeps the one that leads: a majority of the time, if there is one. A lead of 18 minutes grows no more. */
static __always_inline void vote(__u32 *peer, __u32 *lead, __u32 candidate, __u64 ns)
{
	__u64 part = ns >> LEAD_SHIFT;
	__u64 sum = *lead;

	if (*peer == candidate) {
		sum += part;
	} else if (sum < part) {
		*peer = candidate;
		sum = part - sum;
	} else {
		sum -= part;
	}
	*lead = sum < MOST_LEAD ? sum : MOST_LEAD;
}

static __always_inline bool limits_known(void)
{
	return bpf_core_field_exists(((struct cfs_bandwidth *)0)->quota);
}

#define MAX_GROUP_LEVELS 32

/* The first that limits CPU time, of a cgroup and those above; 0: none. Global and by numbers: see wait_causes.h. */
__noinline __u64 next_limited(__u64 address)
{
	struct task_group *group = (void *)address;

#pragma clang loop unroll(disable)
	for (int level = 0; level < MAX_GROUP_LEVELS && group; level++) {
		if (BPF_CORE_READ(group, cfs_bandwidth.quota) != RUNTIME_INF)
			return (__u64)group;
		group = BPF_CORE_READ(group, parent);
	}
	return 0;
}

/* Finds the cgroups, its own and those above, whose limits on CPU time hold for a thread. */
static __noinline void find_limits(struct tracer_thread *thread, struct task_group *group)
{
	thread->group = (__u64)group;
	/* By a detour, as a number. */
	__u64 next = *(volatile __u64 *)&thread->group;
#pragma clang loop unroll(full)
	for (int i = 0; i < TRACER_MAX_LIMITS; i++) {
		struct task_group *limited = (void *)next_limited(next);
		thread->limited[i] = (__u64)limited;
		next = (__u64)BPF_CORE_READ(limited, parent);
	}
}

/* Of the limiting cgroups, over all CPUs; they live as long as the thread stays in its group. */
static __noinline __u64 throttled_so_far(const struct tracer_thread *thread)
{
	__u64 sum_ns = 0;

#pragma clang loop unroll(full)
	for (int i = 0; i < TRACER_MAX_LIMITS; i++) {
		struct task_group *limited = (void *)thread->limited[i];
		if (!limited)
			break;
		sum_ns += BPF_CORE_READ(limited, cfs_bandwidth.throttled_time);
	}
	return sum_ns;
}

/* When a thread leaves the CPU. `group`: its task group. */
static __always_inline void note_limit(struct tracer_thread *thread, struct task_group *group)
{
	if (!limits_known())
		return;
	if (thread->group != (__u64)group)
		find_limits(thread, group);
	if (thread->limited[0])
		thread->throttled_ns = throttled_so_far(thread);
}

#define LONG_QUEUE_NS 1000000

/* What of the time in the queue since then it was throttled, at most. */
static __always_inline __u64 throttled_of(struct tracer_thread *thread, struct task_group *group, __u64 queued_ns)
{
	if (!limits_known())
		return 0;
	bool limited = thread->limited[0] && thread->group == (__u64)group;
	/* Limits may be set at any time: where it matters, they are looked for again. */
	if (queued_ns > LONG_QUEUE_NS)
		thread->group = 0;
	if (!limited || !queued_ns)
		return 0;
	__u64 throttled_ns = throttled_so_far(thread) - thread->throttled_ns;
	return throttled_ns < queued_ns ? throttled_ns : queued_ns;
}

/*
 * What of the time off the CPU was in the queue, as sched_info says, by the same clock. It may say more if the thread
 * was in the queue before it was followed, or if the clocks of two CPUs run apart: then it is what passed; or nothing,
 * if they differ by more than a wait, of which the cause is known.
 */
static __always_inline __u64 queued_of(struct tracer_thread *thread, __u64 run_delay_ns, __u64 off_ns)
{
	bool queued_before = thread->queued_before;

	thread->queued_before = 0;
	if (thread->peers & TRACER_QUEUE_UNKNOWN)
		return 0;
	if (run_delay_ns <= off_ns)
		return run_delay_ns;
	return thread->cause != TRACER_WAIT_NONE && !queued_before && run_delay_ns > 2 * off_ns ? 0 : off_ns;
}

static __always_inline __u64 *wait_of(struct tracer_thread *thread, __u64 cause)
{
	/* In one piece: before 354e8f1970f8 (5.16) the verifier forgets the bound of a number that is spilled. */
	barrier_var(cause);
	if (cause >= TRACER_WAIT_CAUSES)
		return NULL;
	__u64 *wait_ns = &thread->wait_ns[cause];
	barrier_var(wait_ns);
	return wait_ns;
}

/* Books the time from out_ns to `in_ns`, by its run queue's clock. Idempotent: what is booked is so up to there.
 * `run_delay_ns`: its sched_info's. */
static __always_inline void book(struct tracer_thread *thread, struct task_group *group, __u64 in_ns,
				 __u64 run_delay_ns, struct tracer_ended_wait *ended)
{
	__u64 queued_ns = run_delay_ns - thread->run_delay_ns;
	__u64 off_ns = 0;
	__u32 cause = thread->cause;

	/* A new thread has been in the queue only. */
	if (thread->out_ns) {
		off_ns = in_ns > thread->out_ns ? in_ns - thread->out_ns : 0;
		queued_ns = queued_of(thread, queued_ns, off_ns);
	}
	thread->run_delay_ns = run_delay_ns;
	__u64 throttled_ns = throttled_of(thread, group, queued_ns);
	ended->queued_ns = queued_ns;
	ended->throttled_ns = throttled_ns;
	ended->cause = cause;
	thread->run_queue_ns += queued_ns - throttled_ns;
	thread->wait_ns[TRACER_WAIT_THROTTLED] += throttled_ns;
	if (!off_ns)
		return;
	thread->out_ns = in_ns;
	__u64 *wait_ns = wait_of(thread, cause);
	if (off_ns <= queued_ns || !wait_ns)
		return;
	off_ns -= queued_ns;
	*wait_ns += off_ns;
	if (thread->waker) {
		if (cause == TRACER_WAIT_PIPE_READ)
			vote(&thread->pipe_read_peer, &thread->read_lead, thread->waker, off_ns);
		else if (cause == TRACER_WAIT_PIPE_WRITE)
			vote(&thread->pipe_write_peer, &thread->write_lead, thread->waker, off_ns);
	}
}

#endif
