/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finding, taking and leaving a process's place. */
#ifndef TRACER_PROCESS_TABLE_H
#define TRACER_PROCESS_TABLE_H

#include "places.h"

DEFINE_PLACES(process, tracer_slot, tracer_process, pid, process, processes, displaced_processes, slot_mask)
DEFINE_PLACES_TAKEN(process, tracer_slot, tracer_process, pid, process, displaced_processes, process_buffer,
		    TRACER_LOSS_PROCESS_TABLE)

static __always_inline struct tracer_process *process_of(struct task_struct *task)
{
	struct tracer_process *process = process_find(task->tgid);

	/* A pid comes again; a pid with its start time does not. */
	if (process && process->start_ns != task->group_leader->start_boottime)
		return NULL;
	return process;
}

#endif
