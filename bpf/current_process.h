/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The tracked process that runs now. */
#ifndef TRACER_CURRENT_PROCESS_H
#define TRACER_CURRENT_PROCESS_H

#include "process_maps.h"

static __always_inline struct tracer_process *current_process(void)
{
	struct tracer_process *process = process_find(bpf_get_current_pid_tgid() >> 32);
	__u64 start_ns;

	if (!process)
		return NULL;
	/* Plain loads cost a fraction of what probe reads do. Before 3ca1032ab7ab (5.11) there is no such pointer. */
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_current_task_btf)) {
		start_ns = bpf_get_current_task_btf()->group_leader->start_boottime;
	} else {
		struct task_struct *current = (void *)bpf_get_current_task();
		start_ns = BPF_CORE_READ(current, group_leader, start_boottime);
	}
	return known_by(process, process->start_ns, start_ns);
}

#endif
