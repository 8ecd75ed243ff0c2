/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which processes are tracked: made with the lifecycle family, shared with the snapshot family, which only reads. */
#ifndef TRACER_PROCESS_MAPS_H
#define TRACER_PROCESS_MAPS_H

#include "ordering.h"
#include "places.h"

/*
 * Processes lie in an array by the low bits of their pid: a hash map costs several times as much, in cache misses. The
 * few whose place is taken lie in a hash map.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 32768); /* a power of two */
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct tracer_slot);
} processes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, __u32);
	__type(value, struct tracer_process);
} displaced_processes SEC(".maps");

const volatile __u32 slot_mask = 32767; /* places in `processes`, less 1 */

DEFINE_PLACES(process, tracer_slot, tracer_process, pid, process, processes, displaced_processes, slot_mask)

static __always_inline struct tracer_process *process_of(struct task_struct *task)
{
	struct tracer_process *process = process_find(BPF_CORE_READ(task, tgid));

	/* A pid comes again; a pid with its start time does not. */
	return process ? known_by(process, process->start_ns, BPF_CORE_READ(task, group_leader, start_boottime)) : NULL;
}

#endif
