/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Pids as the session's pid namespace shows them: what users name, and what records say. Tables are by the kernel's own
 * numbers, which a task keeps to its last switch.
 */
#ifndef TRACER_SHOWN_PID_H
#define TRACER_SHOWN_PID_H

const volatile __u32 own_pid_namespace = 0; /* its inode number; 0: the initial one, which shows the kernel's numbers */

#define MAX_PID_NS_LEVEL 32

/* The address of the number that a namespace of this level gives; as a number: old verifiers refuse sums with a typed
 * pointer. */
static __always_inline void *number_at(void *pid, unsigned int level)
{
	return pid + bpf_core_field_offset(struct pid, numbers) + level * bpf_core_type_size(struct upid);
}

static __always_inline __u32 namespace_of_number(void *number)
{
	struct pid_namespace *ns = NULL;

	bpf_probe_read_kernel(&ns, sizeof(ns), number + bpf_core_field_offset(struct upid, ns));
	return BPF_CORE_READ(ns, ns.inum);
}

/* Of a task that has not been reaped; 0: it is not shown. */
static __noinline __u32 number_shown(struct task_struct *task)
{
	void *pid = BPF_CORE_READ(task, thread_pid);
	unsigned int last = BPF_CORE_READ((struct pid *)pid, level);

#pragma clang loop unroll(disable)
	for (unsigned int level = 1; level <= MAX_PID_NS_LEVEL; level++) {
		if (level > last)
			break;
		void *number = number_at(pid, level);
		__u32 shown = 0;
		if (namespace_of_number(number) != own_pid_namespace)
			continue;
		bpf_probe_read_kernel(&shown, sizeof(shown), number + bpf_core_field_offset(struct upid, nr));
		return shown;
	}
	return 0;
}

static __always_inline __u32 shown_tid(struct task_struct *task)
{
	return own_pid_namespace ? number_shown(task) : task->pid;
}

static __always_inline __u32 shown_pid(struct task_struct *task)
{
	return own_pid_namespace ? number_shown(BPF_CORE_READ(task, group_leader)) : BPF_CORE_READ(task, tgid);
}

static __always_inline __u32 shown_current_pid(void)
{
	struct task_struct *current = (void *)bpf_get_current_task();

	return own_pid_namespace ? number_shown(BPF_CORE_READ(current, group_leader))
				 : bpf_get_current_pid_tgid() >> 32;
}

#endif
