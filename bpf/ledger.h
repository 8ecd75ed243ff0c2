/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The wall-time ledger of a thread. When a thread leaves the CPU the cause is noted. When it leaves the next time, what
 * it was off the CPU in between is booked: what sched_info calls run-queue time as that, the rest on the cause.
 */
#ifndef TRACER_LEDGER_H
#define TRACER_LEDGER_H

#include "ledger_maps.h"
#include "places.h"

DEFINE_PLACES(thread, tracer_thread_slot, tracer_thread, tid, thread, threads, displaced_threads, thread_mask)

static __always_inline struct tracer_thread *thread_of(struct task_struct *task)
{
	struct tracer_thread *thread = thread_find(task->pid);

	return thread && thread->task == (__u64)task ? thread : NULL;
}

/* Likewise; the last switch of a first thread, whose id another has taken by an exec, comes before that is known. */
static __always_inline struct tracer_thread *thread_of_dead(struct task_struct *task)
{
	struct tracer_thread *thread = thread_of(task);

	if (thread || task->pid == task->tgid)
		return thread;
	thread = thread_find(task->tgid);
	return thread && thread->task == (__u64)task ? thread : NULL;
}

/* When the thread that is on this CPU got there; 0: before anything was seen. */
static __always_inline struct tracer_cpu_switch *switch_of_cpu(__u32 cpu)
{
	return bpf_map_lookup_elem(&cpu_switches, &cpu);
}

/* Keeps the one that leads: a majority of the time, if there is one. */
static __always_inline void vote(__u32 *peer, __u64 *lead_ns, __u32 candidate, __u64 ns)
{
	if (*peer == candidate) {
		*lead_ns += ns;
	} else if (*lead_ns < ns) {
		*peer = candidate;
		*lead_ns = ns - *lead_ns;
	} else {
		*lead_ns -= ns;
	}
}

/* Books the time from out_ns to `in_ns`. Idempotent: what is booked is so up to there. */
static __always_inline void book(struct tracer_thread *thread, struct task_struct *task, __u64 in_ns)
{
	__u64 out_ns = thread->out_ns;
	__u64 run_delay_ns = task->sched_info.run_delay;
	__u64 queued_ns = run_delay_ns - thread->run_delay_ns;
	__u32 cause = thread->cause;

	thread->run_delay_ns = run_delay_ns;
	thread->run_queue_ns += queued_ns;
	if (in_ns <= out_ns)
		return;
	thread->out_ns = in_ns;
	__u64 off_ns = in_ns - out_ns;
	if (off_ns <= queued_ns || cause >= TRACER_WAIT_CAUSES)
		return;
	off_ns -= queued_ns;
	thread->wait_ns[cause] += off_ns;
	if (thread->waker) {
		if (cause == TRACER_WAIT_PIPE_READ)
			vote(&thread->pipe_read_peer, &thread->read_lead_ns, thread->waker, off_ns);
		else if (cause == TRACER_WAIT_PIPE_WRITE)
			vote(&thread->pipe_write_peer, &thread->write_lead_ns, thread->waker, off_ns);
	}
}

#endif
