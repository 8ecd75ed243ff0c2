/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The clock by which waits are told. */
#ifndef TRACER_QUEUE_CLOCK_H
#define TRACER_QUEUE_CLOCK_H

/*
 * Of the run queue of its CPU, by which sched_info counts: as of when the kernel last looked, which at a switch is
 * about when that began.
 */
static __always_inline __u64 queue_clock(struct task_struct *task)
{
	return task->se.cfs_rq->rq->clock;
}

#endif
