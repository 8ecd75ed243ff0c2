/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a thread is at just now, and the kernel's differences in saying so. */
#ifndef TRACER_TASK_STATE_H
#define TRACER_TASK_STATE_H

static __always_inline __u32 task_state(struct task_struct *task)
{
	if (bpf_core_field_exists(task->__state))
		return task->__state;
	struct task_struct___before_5_14 *old = (void *)task;
	return BPF_CORE_READ(old, state);
}

/* By a signal or a debugger, or frozen: cgroup v2 lets it sleep, v1 sets PF_FROZEN before f5d39b020809 (6.1). */
static __always_inline bool is_stopped(struct task_struct *task, __u32 state)
{
	if (state & (TASK_STOPPED | TASK_TRACED | TASK_FROZEN))
		return true;
	if ((state & TASK_UNINTERRUPTIBLE) && (task->flags & PF_FROZEN))
		return true;
	return (state & TASK_INTERRUPTIBLE) && BPF_CORE_READ_BITFIELD(task, frozen);
}

/*
 * Threads that the kernel makes for itself in a process, such as io_uring's workers: no sched_process_fork tells of
 * them.
 */
static __always_inline __u32 kernel_made(struct task_struct *task)
{
	__u32 bits = PF_IO_WORKER;

	if (bpf_core_field_exists(struct kernel_clone_args, user_worker))
		bits |= PF_USER_WORKER;
	return task->flags & bits;
}

#endif
