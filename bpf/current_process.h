/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The tracked process that runs now. */
#ifndef TRACER_CURRENT_PROCESS_H
#define TRACER_CURRENT_PROCESS_H

#include "process_maps.h"

/* Global, so that it is verified once, not for each way to it. */
__noinline __u64 current_start_ns(void)
{
	struct task_struct *current = (void *)bpf_get_current_task();

	/* Plain loads cost a fraction of what probe reads do. Before 3ca1032ab7ab (5.11) there is no such pointer. */
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_current_task_btf))
		return bpf_get_current_task_btf()->group_leader->start_boottime;
	return BPF_CORE_READ(current, group_leader, start_boottime);
}

static __always_inline struct tracer_process *current_process(void)
{
	struct tracer_process *process = process_find(bpf_get_current_pid_tgid() >> 32);

	return process ? known_by(process, process->start_ns, current_start_ns()) : NULL;
}

#endif
