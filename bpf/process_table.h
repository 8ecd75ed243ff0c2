/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Taking and leaving a process's place. */
#ifndef TRACER_PROCESS_TABLE_H
#define TRACER_PROCESS_TABLE_H

DEFINE_PLACES_TAKEN(process, tracer_slot, tracer_process, pid, process, displaced_processes, process_buffer,
		    TRACER_LOSS_PROCESS_TABLE)

#endif
