/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which processes are tracked, and what a record says of them. */
#ifndef TRACER_PROCESS_H
#define TRACER_PROCESS_H

#include "common/records.h"

/*
 * What is seldom needed is read by BPF_CORE_READ: for each plain load of a pointer the verifier searches all types of
 * the kernel by name, which takes it a millisecond.
 */

static __always_inline struct cgroup *v1_cgroup(struct task_struct *task, __u32 subsystem)
{
	struct css_set *set = BPF_CORE_READ(task, cgroups);
	struct cgroup_subsys_state *state = NULL;

	bpf_probe_read_kernel(&state, sizeof(state),
			      (void *)set + bpf_core_field_offset(struct css_set, subsys) + subsystem * sizeof(void *));
	return BPF_CORE_READ(state, cgroup);
}

/* The v2 cgroup; where containers live in v1 hierarchies, the memory or pids one, if it is not that hierarchy's root.
 */
static __always_inline struct kernfs_node *cgroup_node(struct task_struct *task, __u32 *hierarchy)
{
	struct kernfs_node *node;

	if (memory_is_v1) {
		node = BPF_CORE_READ(v1_cgroup(task, bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id)), kn);
		if (kernfs_parent(node)) {
			*hierarchy = TRACER_HIERARCHY_V1_MEMORY;
			return node;
		}
	}
	if (pids_is_v1) {
		node = BPF_CORE_READ(v1_cgroup(task, bpf_core_enum_value(enum cgroup_subsys_id, pids_cgrp_id)), kn);
		if (kernfs_parent(node)) {
			*hierarchy = TRACER_HIERARCHY_V1_PIDS;
			return node;
		}
	}
	*hierarchy = TRACER_HIERARCHY_V2;
	return BPF_CORE_READ(task, cgroups, dfl_cgrp, kn);
}

static __always_inline __u32 pid_namespace_of(struct task_struct *task)
{
	void *pid = BPF_CORE_READ(task, thread_pid);
	unsigned int level = BPF_CORE_READ((struct pid *)pid, level);

	return level == 0 ? PROC_PID_INIT_INO : namespace_of_number(number_at(pid, level));
}

static __always_inline void fill_parent(struct tracer_wire_identity *identity, struct task_struct *task)
{
	struct task_struct *parent = BPF_CORE_READ(task, group_leader, real_parent);

	identity->parent_pid = shown_pid(parent);
	identity->parent_start_ns = identity->parent_pid ? BPF_CORE_READ(parent, group_leader, start_boottime) : 0;
}

static __always_inline void fill_namespaces(struct tracer_wire_identity *identity, struct task_struct *task)
{
	identity->pid_namespace = pid_namespace_of(task);
	identity->mount_namespace = BPF_CORE_READ(task, nsproxy, mnt_ns, ns.inum);
}

static __always_inline void fill_comm(struct tracer_wire_identity *identity, struct task_struct *task)
{
	bpf_probe_read_kernel(identity->comm, sizeof(identity->comm), task->comm);
}

/* Sends the path of a cgroup the first time that a tracked process is found in it. `node`: its address, as in
 * wait_causes.h. */
__noinline int send_cgroup(__u64 node, __u64 id, __u32 hierarchy, __u32 program)
{
	struct tracer_cgroup_key key = {.id = id, .hierarchy = hierarchy};
	__u8 sent = 1;

	if (bpf_map_lookup_elem(&cgroups_sent, &key))
		return 0;
	struct tracer_cgroup_buffer *to = bpf_map_lookup_elem(&cgroup_buffer, &program);
	if (!to)
		return 0;
	struct tracer_wire_cgroup *record = (void *)to;
	__u32 size = append_kernfs_path(to, sizeof(*record), (void *)node);
	fill_header(&record->header, TRACER_WIRE_CGROUP, size, 0, 0, bpf_ktime_get_boot_ns());
	record->cgroup_id = id;
	record->hierarchy = hierarchy;
	record->path_size = size - sizeof(*record);
	record->reversed = 1;
	if (send(record, size & CGROUP_MASK) == 0)
		bpf_map_update_elem(&cgroups_sent, &key, &sent, BPF_ANY);
	else
		count_loss(TRACER_LOSS_RING_CGROUP);
	return 0;
}

/* Follows a process that was moved to another cgroup. */
static __noinline void read_cgroup(struct task_struct *task, struct tracer_process *process, __u32 program)
{
	__u64 known_id = process->cgroup_id;
	__u32 hierarchy;
	struct kernfs_node *node = cgroup_node(task, &hierarchy);

	process->hierarchy = hierarchy;
	process->css_set = (__u64)BPF_CORE_READ(task, cgroups);
	process->cgroup_id = BPF_CORE_READ(node, id);
	if (process->cgroup_id != known_id)
		send_cgroup((__u64)node, process->cgroup_id, hierarchy, program);
}

static __always_inline void refresh_cgroup(struct task_struct *task, struct tracer_process *process, __u32 program)
{
	if (process->css_set != (__u64)BPF_CORE_READ(task, cgroups))
		read_cgroup(task, process, program);
}

/* Switched away for the last time; no earlier, as its accounts grow until then, and end by that switch. */
static __always_inline bool dead(struct task_struct *task)
{
	return task_state(task) & TASK_DEAD;
}

static __always_inline bool needs_sums(const struct tracer_process *process)
{
	return !process->has_sums && !process->sums_lost;
}

/* Makes room for the sums of threads that end before their process does. */
static __noinline void add_sums(struct tracer_process *process, __u32 pid, struct task_struct *leader, __u32 program)
{
	struct tracer_thread_sums *fresh = bpf_map_lookup_elem(&sums_buffer, &program);

	if (!fresh)
		return;
	__builtin_memset(fresh, 0, sizeof(*fresh));
	if (leader)
		read_ended_threads(&fresh->ended, BPF_CORE_READ(leader, signal));
	if (leader && dead(leader)) {
		/* Ended before the others: the kernel adds it to its sums only when the process is reaped. */
		read_thread(&fresh->late, leader);
		add_account(&fresh->ended, &fresh->late);
		__builtin_memset(&fresh->late, 0, sizeof(fresh->late));
	}
	if (bpf_map_update_elem(&ended_threads, &pid, fresh, BPF_ANY)) {
		count_loss(TRACER_LOSS_THREAD_TABLE);
		/* For good: what ends from now on is missing, though there were room later. */
		process->sums_lost = 1;
		return;
	}
	process->has_sums = 1;
}

/* What the session may not see: other users' processes, or those that its pid namespace does not show. */
static __always_inline bool foreign(struct task_struct *task)
{
	return (own_uid_only && BPF_CORE_READ(task, cred, uid.val) != own_uid) ||
	       (own_pid_namespace && !shown_pid(task));
}

/* What the rules say of a task that inherits nothing: 0, or TRACER_RULE_*. */
static __noinline __u32 rule_for(struct task_struct *task, __u32 *context_id)
{
	struct tracer_rule *rule;
	__u32 found = track_all ? TRACER_RULE_INCLUDE : 0;

	*context_id = 0;
	if (foreign(task))
		return TRACER_RULE_EXCLUDE;
	if (use_cgroup_rules) {
		struct tracer_cgroup_key key = {};
		/* Not inside BPF_CORE_READ: it would make key.hierarchy a field of the kernel's. */
		struct kernfs_node *node = cgroup_node(task, &key.hierarchy);
		key.id = BPF_CORE_READ(node, id);
		rule = bpf_map_lookup_elem(&cgroup_rules, &key);
		if (rule) {
			if (rule->action == TRACER_RULE_EXCLUDE)
				return TRACER_RULE_EXCLUDE;
			found = rule->action;
			*context_id = rule->context_id;
		}
	}
	if (use_uid_rules) {
		__u32 uid = BPF_CORE_READ(task, cred, uid.val);
		rule = bpf_map_lookup_elem(&uid_rules, &uid);
		if (rule && rule->action == TRACER_RULE_EXCLUDE)
			return TRACER_RULE_EXCLUDE;
		if (rule)
			found = TRACER_RULE_INCLUDE;
	}
	return found;
}

/* Exclude rules prune, whatever the process has inherited. */
static __always_inline bool pruned(struct task_struct *task)
{
	__u32 context_id;

	return (use_cgroup_rules || use_uid_rules || own_uid_only) &&
	       rule_for(task, &context_id) == TRACER_RULE_EXCLUDE;
}

/* False: it was counted, or left out, when its process was taken in. One too few does no harm, one too many would. */
static __always_inline bool began_later(struct task_struct *task, const struct tracer_process *process)
{
	if (*(volatile __s32 *)&process->threads <= 0)
		return false;
	keep_order();
	return task->start_boottime >= process->attached_ns;
}

/* Begins to track a process in the middle of its life. */
static __noinline struct tracer_process *adopt(struct task_struct *task, __u32 action, __u32 context_id, __u32 program)
{
	struct task_struct *leader = task->group_leader;
	struct signal_struct *signal = BPF_CORE_READ(task, signal);
	__u32 pid = task->tgid;
	struct tracer_process *fresh = process_take(pid, program);

	if (!fresh)
		return NULL;
	fresh->pid = shown_pid(task);
	fresh->program_start_ns = leader->start_boottime;
	fresh->attached_ns = bpf_ktime_get_boot_ns();
	fresh->exec_id = leader->self_exec_id;
	fresh->context_id = context_id;
	fresh->flags = TRACER_FLAG_ADOPTED | TRACER_FLAG_ADOPTED_LIFE;
	if (BPF_CORE_READ(leader, cred, euid.val) != BPF_CORE_READ(leader, cred, uid.val))
		fresh->flags |= TRACER_FLAG_OTHER_USER;
	if (action == TRACER_RULE_EXCLUDE)
		fresh->flags |= TRACER_FLAG_EXCLUDED;
	/* By these other CPUs know it; its dying threads by the second. */
	keep_order();
	fresh->start_ns = fresh->program_start_ns;
	fresh->signal = (__u64)signal;
	/* From here on exits of its threads are seen as such. `live` is read first: one too many does no harm. */
	add_in_order((__u32 *)&fresh->old_ending, 1);
	__s32 live = BPF_CORE_READ(signal, live.counter);
	__s32 threads = BPF_CORE_READ(signal, nr_threads);
	add_in_order((__u32 *)&fresh->old_ending, threads - live - 1);
	fresh->attached_ns = bpf_ktime_get_boot_ns();
	fresh->threads_created = threads;
	/* From here on those that are newer are counted, too. Added, as one may have ended by now. */
	add_in_order((__u32 *)&fresh->threads, threads);
	if (dead(leader)) {
		fresh->leader_dead = 1;
		fresh->leader_exit_code = leader->exit_code;
		__sync_fetch_and_add(&fresh->threads, -1);
		__sync_fetch_and_add(&fresh->old_ending, -1);
	}
	if (BPF_CORE_READ(signal, sum_sched_runtime))
		fresh->flags |= TRACER_FLAG_LOST_THREADS | TRACER_FLAG_THREADS_UNKNOWN;
	__u32 hierarchy;
	struct kernfs_node *node = cgroup_node(leader, &hierarchy);
	fresh->hierarchy = hierarchy;
	fresh->cgroup_id = BPF_CORE_READ(node, id);
	fresh->css_set = (__u64)BPF_CORE_READ(leader, cgroups);
	/* Of most there is nothing to sum, and no room to waste. */
	if (BPF_CORE_READ(signal, nr_threads) > 1 || BPF_CORE_READ(signal, sum_sched_runtime) || fresh->leader_dead)
		add_sums(fresh, pid, leader, program);
	if (action == TRACER_RULE_INCLUDE)
		send_cgroup((__u64)node, fresh->cgroup_id, hierarchy, program);
	return fresh;
}

static __always_inline bool send_start(struct task_struct *task, const struct tracer_process *process, __u64 now_ns,
				       bool new_namespaces)
{
	/* Not filled in the ring: preempted in between, as programs may be, it would hold up all that comes after. */
	struct tracer_wire_process_start record;

	fill_header(&record.header, TRACER_WIRE_PROCESS_START, sizeof(record), process->pid, process->start_ns, now_ns);
	fill_identity(&record.identity, process);
	fill_parent(&record.identity, task);
	record.identity.uid = BPF_CORE_READ(task, cred, uid.val);
	if (new_namespaces)
		fill_namespaces(&record.identity, task);
	record.flags = process->flags;
	record.reserved = 0;
	return send_quietly(&record, sizeof(record)) == 0;
}

static __always_inline void send_new_start(struct task_struct *task, const struct tracer_process *process, __u64 now_ns,
					   bool new_namespaces)
{
	if (!send_start(task, process, now_ns, new_namespaces))
		count_loss(TRACER_LOSS_RING_START);
}

/* From now on it is known only so that its children are excluded, too; user space forgets it. */
static __noinline void prune(struct task_struct *task, struct tracer_process *process)
{
	if (process->flags & TRACER_FLAG_EXCLUDED)
		return;
	process->flags |= TRACER_FLAG_EXCLUDED;
	process->untold = !send_start(task, process, bpf_ktime_get_boot_ns(), false);
}

/* Of one that is excluded: tells user space of it if there was no room for that before. `ends`: else it would know of
 * it for ever. */
static __noinline void prune_again(struct task_struct *task, struct tracer_process *process, bool ends)
{
	if (!process->untold)
		return;
	process->untold = !send_start(task, process, bpf_ktime_get_boot_ns(), false);
	if (ends && process->untold)
		count_loss(TRACER_LOSS_RING_START);
}

#endif
