/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A program of lifecycle.bpf.c: the iterator over what lives. */
#ifndef TRACER_LIVING_H
#define TRACER_LIVING_H

static __always_inline __u32 living_rule(struct task_struct *task, __u32 *context_id)
{
	__u32 pid = shown_pid(task);
	struct tracer_rule *rule = bpf_map_lookup_elem(&tree_rules, &pid);

	if (foreign(task))
		return TRACER_RULE_EXCLUDE;
	if (rule) {
		*context_id = rule->context_id;
		return rule->action;
	}
	struct task_struct *leader = BPF_CORE_READ(task, group_leader);
	struct tracer_process *above = process_of(BPF_CORE_READ(leader, real_parent));
	if (above) {
		/* Born while its parent was tracked: its fork tells of it, perhaps in a moment. */
		if (BPF_CORE_READ(leader, start_boottime) > above->attached_ns)
			return 0;
		*context_id = above->context_id;
		return (above->flags & TRACER_FLAG_EXCLUDED) ? TRACER_RULE_EXCLUDE : TRACER_RULE_INCLUDE;
	}
	return rule_for(task, context_id);
}

static __always_inline __u32 state_of(struct task_struct *task)
{
	__u32 state = task_state(task);

	if (is_stopped(task, state))
		return TRACER_STATE_STOPPED;
	if (state & TASK_UNINTERRUPTIBLE)
		return TRACER_STATE_UNINTERRUPTIBLE;
	return state ? TRACER_STATE_SLEEPING : TRACER_STATE_RUNNING;
}

/* Parts of a counter are read one after the other. */
static __always_inline __u64 not_negative(__s64 value)
{
	return value > 0 ? value : 0;
}

__u32 adopting = 0; /* set by user space while the rules are carried out on what lives */

/* Adopts living processes that the rules name, and reports each thread of those that are tracked. */
SEC("iter/task")
int living_tasks(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;
	__u32 context_id = 0;
	__u32 slot = 0;
	bool adopted = false;

	if (!task)
		return 0;
	struct tracer_process *process = process_of(task);
	/* A first thread that has ended before others: with it comes what all that have ended consumed. */
	bool gone = !BPF_CORE_READ(task, mm);
	if (gone && (!process || task->pid != task->tgid || BPF_CORE_READ(task, signal, live.counter) == 0))
		return 0;
	if (!process) {
		if (!adopting)
			return 0;
		__u32 action = living_rule(task, &context_id);
		if (!action)
			return 0;
		process = adopt(task, action, context_id, PROGRAM_LIVING);
		if (!process)
			return 0;
		adopted = true;
		/* Of one that is excluded from the first, user space has nothing to hear. */
		process->untold = action == TRACER_RULE_INCLUDE;
	}
	if (process->flags & TRACER_FLAG_EXCLUDED)
		return 0;
	/* Its path goes ahead. */
	if (!adopted && task->pid == task->tgid)
		refresh_cgroup(task, process, PROGRAM_LIVING);
	__u64 now_ns = bpf_ktime_get_boot_ns();
	/* Each thread of a process that lived before is met here; one that an iterator adopted a moment ago, in part.
	 */
	if (keep_ledgers && (process->flags & TRACER_FLAG_ADOPTED_LIFE) && !process->ledger_lost && !gone &&
	    !kernel_made(task) && !thread_of(task))
		join_ledger(process, task, now_ns, PROGRAM_LIVING);
	if (keep_ledgers && !process->ledger_lost && task->pid == task->tgid &&
	    BPF_CORE_READ(task, signal, nr_threads) > 1 && !own_ledger(task->tgid)) {
		struct tracer_thread *first = thread_of(task);
		join_process_ledger(process, task->tgid, first ? first->cause : TRACER_WAIT_OTHER, now_ns,
				    PROGRAM_LIVING);
	}
	if (adopting && !adopted) {
		/* Followed before, by another rule: what it begins from now on gets the new labels. */
		__u32 tree = process->pid;
		struct tracer_rule *rule = bpf_map_lookup_elem(&tree_rules, &tree);
		if (rule && rule->action == TRACER_RULE_INCLUDE)
			process->context_id = rule->context_id;
	}

	struct tracer_wire_thread *record = bpf_map_lookup_elem(&thread_buffer, &slot);
	if (!record)
		return 0;
	__builtin_memset(record, 0, sizeof(*record));
	fill_header(&record->header, TRACER_WIRE_THREAD, sizeof(*record), process->pid, process->start_ns, now_ns);
	fill_identity(&record->identity, process);
	record->identity.uid = BPF_CORE_READ(task, cred, uid.val);
	fill_namespaces(&record->identity, task);
	fill_comm(&record->identity, task);
	fill_parent(&record->identity, task);
	/* Once it has been switched away for the last time, it is among those that have ended. */
	bool summed = gone && process->leader_dead;
	if (!summed)
		read_thread(&record->own, task);
	if (task->pid == task->tgid && process->has_sums) {
		__u32 pid = task->tgid;
		struct tracer_thread_sums *sums = bpf_map_lookup_elem(&ended_threads, &pid);
		if (sums) {
			record->ended = sums->ended;
			if (keep_ledgers && !process->ledger_lost)
				record->waits = sums->waits;
		}
	}
	if (keep_ledgers && !process->ledger_lost && !summed)
		ledger_of_living(&record->waits, task, now_ns, PROGRAM_LIVING);
	if (keep_ledgers && task->pid == task->tgid)
		set_wait_peers(&record->waits, process->pid, process->start_ns);
	record->state = state_of(task);
	/* Of the process, so once: with its first thread, unless that has ended. */
	if (!gone && (task->pid == task->tgid || !BPF_CORE_READ(task, group_leader, mm)) && resident_pages_known()) {
		struct resident resident = {};
		read_resident(&resident, task->mm);
		record->has_memory = 1;
		record->file_pages = not_negative(resident.pages[RSS_FILE]);
		record->anonymous_pages = not_negative(resident.pages[RSS_ANONYMOUS]);
		record->shared_pages = not_negative(resident.pages[RSS_SHARED]);
		if (bpf_core_field_exists(task->mm->hugetlb_usage))
			record->huge_pages = not_negative(BPF_CORE_READ(task, mm, hugetlb_usage.counter));
	}
	record->attached_ns = process->attached_ns;
	record->tid = gone ? 0 : shown_tid(task);
	record->flags = process->flags;
	if (task->self_exec_id == task->parent_exec_id)
		record->flags |= TRACER_FLAG_COPY;
	if (process->sums_lost)
		record->flags |= TRACER_FLAG_SUMS_LOST;
	record->threads_created = process->threads_created;
	/* A record that finds no room is dropped, and the kernel comes again with the same thread. */
	record->newly_adopted = process->untold;
	record->read_before_exec_bytes = process->read_before_exec_bytes;
	if (keep_ledgers && (!record->tid || record->tid == record->header.pid))
		process_waits_until(&record->process_waits, task->tgid, now_ns, PROGRAM_LIVING);
	if (bpf_seq_write(context->meta->seq, record, sizeof(*record)) == 0 && process->untold)
		process->untold = 0;
	return 0;
}

#endif
