/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The tracked process that runs now. */
#ifndef TRACER_CURRENT_PROCESS_H
#define TRACER_CURRENT_PROCESS_H

#include "process_maps.h"

static __always_inline struct tracer_process *current_process(void)
{
	struct task_struct *current = (void *)bpf_get_current_task();
	struct tracer_process *process = process_find(bpf_get_current_pid_tgid() >> 32);

	return process ? known_by(process, process->start_ns, BPF_CORE_READ(current, group_leader, start_boottime))
		       : NULL;
}

#endif
