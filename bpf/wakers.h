/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What runs here while it wakes another thread. */
#ifndef TRACER_WAKERS_H
#define TRACER_WAKERS_H

#include "wait_causes.h"

/* The registers with which what runs here entered the kernel. */
static __always_inline struct pt_regs *own_registers(void)
{
	/* Known wherever bpf_task_pt_regs is, which wants it. */
	if (registers_known())
		return entry_registers(bpf_get_current_task_btf());
	return entry_registers((void *)bpf_get_current_task());
}

/* Of an open file of what runs here: its address. Global: see wait_causes.h. */
__noinline __u64 own_descriptor_inode(__u32 fd)
{
	if (registers_known())
		return (__u64)descriptor_inode(bpf_get_current_task_btf()->files, fd);
	struct task_struct *task = (void *)bpf_get_current_task();
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file *file = NULL;

	if (fd >= BPF_CORE_READ(table, max_fds))
		return 0;
	bpf_probe_read_kernel(&file, sizeof(file), BPF_CORE_READ(table, fd) + fd);
	return (__u64)BPF_CORE_READ(file, f_inode);
}

/* PF_* of what runs here. */
static __always_inline __u32 own_flags(void)
{
	return registers_known() ? bpf_get_current_task_btf()->flags
				 : BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), flags);
}

static __always_inline bool signaled(struct task_struct *task)
{
	__u64 pending = task->pending.signal.sig[0] | BPF_CORE_READ(task, signal, shared_pending.signal.sig[0]);

	return (pending & ~task->blocked.sig[0]) || (task->jobctl & JOBCTL_PENDING);
}

#endif
