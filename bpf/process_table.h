/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finding, taking and leaving a process's place. */
#ifndef TRACER_PROCESS_TABLE_H
#define TRACER_PROCESS_TABLE_H

static __always_inline struct tracer_slot *slot_of(__u32 pid)
{
	__u32 index = pid & slot_mask;

	return bpf_map_lookup_elem(&processes, &index);
}

static __always_inline struct tracer_process *find_process(__u32 pid)
{
	struct tracer_slot *slot = slot_of(pid);

	/* 0 is the idle task, the parent of the first process, and never tracked. */
	if (!slot || !pid)
		return NULL;
	if (slot->pid == pid)
		return &slot->process;
	return slot->displaced ? bpf_map_lookup_elem(&displaced_processes, &pid) : NULL;
}

static __always_inline struct tracer_process *process_of(struct task_struct *task)
{
	struct tracer_process *process = find_process(task->tgid);

	/* A pid comes again; a pid with its start time does not. */
	if (process && process->start_ns != task->group_leader->start_boottime)
		return NULL;
	return process;
}

/*
 * A zeroed place for a new process. Two forks at the same instant never want the same place, as pids are given in turn;
 * and without atomic exchange, which 5.10 lacks, nothing dearer is to be had. NULL, and counted, when there is none.
 */
static __always_inline struct tracer_process *take_place(__u32 pid, __u32 program)
{
	struct tracer_slot *slot = slot_of(pid);

	if (!slot)
		return NULL;
	if (__builtin_expect(slot->pid == 0 || slot->pid == pid, 1)) {
		__builtin_memset(&slot->process, 0, sizeof(slot->process));
		slot->pid = pid;
		return &slot->process;
	}
	struct tracer_process *blank = bpf_map_lookup_elem(&process_buffer, &program);
	if (!blank)
		return NULL;
	__builtin_memset(blank, 0, sizeof(*blank));
	if (bpf_map_update_elem(&displaced_processes, &pid, blank, BPF_ANY)) {
		count_loss(TRACER_LOSS_PROCESS_TABLE);
		return NULL;
	}
	__sync_fetch_and_add(&slot->displaced, 1);
	return bpf_map_lookup_elem(&displaced_processes, &pid);
}

static __always_inline void leave_place(__u32 pid)
{
	struct tracer_slot *slot = slot_of(pid);

	if (!slot)
		return;
	if (slot->pid == pid)
		slot->pid = 0;
	else if (bpf_map_delete_elem(&displaced_processes, &pid) == 0)
		__sync_fetch_and_add(&slot->displaced, -1);
}

#endif
