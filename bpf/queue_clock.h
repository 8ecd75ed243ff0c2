/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The clocks by which the scheduler counts. */
#ifndef TRACER_QUEUE_CLOCK_H
#define TRACER_QUEUE_CLOCK_H

#include "ordering.h"

/*
 * Of the run queue of its CPU, by which sched_info counts: as of when the kernel last looked, which at a switch is
 * about when that began. 0: this kernel was built without groups of the fair scheduler.
 */
static __always_inline __u64 queue_clock(struct task_struct *task)
{
	if (!bpf_core_field_exists(task->se.cfs_rq))
		return 0;
	return task->se.cfs_rq->rq->clock;
}

/* Likewise, where it is seldom wanted: see process.h. */
static __always_inline __u64 read_queue_clock(struct task_struct *task)
{
	if (!bpf_core_field_exists(task->se.cfs_rq))
		return 0;
	return BPF_CORE_READ(task, se.cfs_rq, rq, clock);
}

struct queue_clocks {
	__u64 now_ns;  /* queue_clock() */
	__u64 task_ns; /* the same without what interrupts and the hypervisor took: by this, run time is booked */
};

/* False: another CPU changes them just now. */
static __always_inline bool read_queue_clocks(struct queue_clocks *clocks, struct rq *queue)
{
	clocks->now_ns = queue->clock;
	keep_order();
	clocks->task_ns = queue->clock_task;
	keep_order();
	return clocks->now_ns == queue->clock;
}

#endif
