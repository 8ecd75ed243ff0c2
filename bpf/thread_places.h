/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The ledgers of threads, and how one is found; read by families that add to what is known of a wait. */
#ifndef TRACER_THREAD_PLACES_H
#define TRACER_THREAD_PLACES_H

#include "ledger_state.h"
#include "ordering.h"
#include "places.h"

/* As `processes`, by thread id. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* a power of two */
	/* For where it begins: at a page, so that what each switch wants of a slot is one cache line. */
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct tracer_thread_slot);
} threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tracer_thread);
} displaced_threads SEC(".maps");

const volatile __u32 thread_mask = 0; /* places in `threads`, less 1 */

DEFINE_PLACES(thread, tracer_thread_slot, tracer_thread, tid, thread, threads, displaced_threads, thread_mask)

static __always_inline struct tracer_thread *thread_of(struct task_struct *task)
{
	struct tracer_thread *thread = thread_find(task->pid);

	return thread ? known_by(thread, thread->task, (__u64)task) : NULL;
}

#endif
