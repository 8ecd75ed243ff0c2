/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Programs of lifecycle.bpf.c: cgroups come, go, and take processes in. */
#ifndef TRACER_CGROUPS_H
#define TRACER_CGROUPS_H

/* Keeps the names of short-lived cgroups, and lets a rule's subtree grow. */
SEC("tp_btf/cgroup_mkdir")
int BPF_PROG(cgroup_created, struct cgroup *cgroup, const char *path)
{
	struct tracer_cgroup_key key = {};
	__u32 slot = PROGRAM_CGROUP;

	if (!key_of_cgroup(cgroup, &key))
		return 0;
	if (use_cgroup_rules) {
		struct tracer_cgroup_key above = {.hierarchy = key.hierarchy};
		above.id = BPF_CORE_READ(kernfs_parent(cgroup->kn), id);
		struct tracer_rule *rule = bpf_map_lookup_elem(&cgroup_rules, &above);
		if (rule) {
			struct tracer_rule copy = *rule;
			if (bpf_map_update_elem(&cgroup_rules, &key, &copy, BPF_ANY))
				count_loss(TRACER_LOSS_CGROUP_TABLE);
		}
	}
	struct tracer_cgroup_buffer *to = bpf_map_lookup_elem(&cgroup_buffer, &slot);
	if (!to)
		return 0;
	struct tracer_wire_cgroup *record = (void *)to;
	long length = bpf_probe_read_kernel_str(&to->bytes[sizeof(*record)], CGROUP_MASK, path);
	if (length <= 0)
		return 0;
	__u32 size = sizeof(*record) + length;
	fill_header(&record->header, TRACER_WIRE_CGROUP, size, 0, 0, bpf_ktime_get_boot_ns());
	record->cgroup_id = key.id;
	record->hierarchy = key.hierarchy;
	record->path_size = length;
	record->reversed = 0;
	if (send(record, size & EXEC_MASK)) {
		count_loss(TRACER_LOSS_RING_CGROUP);
		return 0;
	}
	__u8 sent = 1;
	bpf_map_update_elem(&cgroups_sent, &key, &sent, BPF_ANY);
	return 0;
}

SEC("tp_btf/cgroup_rmdir")
int BPF_PROG(cgroup_removed, struct cgroup *cgroup)
{
	struct tracer_cgroup_key key = {.id = cgroup->kn->id};

	if (!use_cgroup_rules)
		return 0;
		/* Unrolled: of a counter in memory 5.10 does not see that it ends. */
#pragma clang loop unroll(full)
	for (__u32 hierarchy = 0; hierarchy <= TRACER_HIERARCHY_V1_PIDS; hierarchy++) {
		key.hierarchy = hierarchy;
		bpf_map_delete_elem(&cgroup_rules, &key);
	}
	return 0;
}

/* A process that is moved into a cgroup of the filter is tracked from then on, even if it never executes anything. */
SEC("tp_btf/cgroup_attach_task")
int BPF_PROG(cgroup_attached, struct cgroup *to, const char *path, struct task_struct *task)
{
	struct tracer_process *process = process_of(task);
	__u32 context_id;

	if (process) {
		process->css_set = 0;
		if (pruned(task))
			prune(task, process);
	}
	if (!use_cgroup_rules || process)
		return 0;
	if (rule_for(task, &context_id) != TRACER_RULE_INCLUDE)
		return 0;
	process = adopt(task, TRACER_RULE_INCLUDE, context_id, PROGRAM_ATTACH);
	if (!process)
		return 0;
	if (keep_ledgers) {
		join_ledger(process, task, process->attached_ns, PROGRAM_ATTACH);
		/* Told of one thread only: what the others wait for would be missing. */
		if (task->signal->nr_threads > 1)
			process->ledger_lost = 1;
	}
	send_new_start(task, process, process->attached_ns, true);
	return 0;
}

#endif
