// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Which processes the kernel kills as memory has run out. */
#include "kernel_types.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

#include "wire.h"
#include "common/emit.h"
#include "common/kernfs.h"
#include "common/memory_cgroups.h"
#include "common/records.h"
#include "process_maps.h"
#include "shown_pid.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define SIGKILL 9
#define MOST_CGROUPS_ABOVE 32

/* How often memory had run out in a cgroup, where the kernel does not say in which it has now. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u64);
	__type(value, __u64);
} ooms SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tracer_cgroup_buffer);
} oom_buffer SEC(".maps");

static __always_inline struct mem_cgroup *mem_cgroup_of_task(struct task_struct *task)
{
	struct css_set *set = BPF_CORE_READ(task, cgroups);
	struct cgroup_subsys_state *state = NULL;

	bpf_probe_read_kernel(&state, sizeof(state),
			      (void *)set + bpf_core_field_offset(struct css_set, subsys) +
				      bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id) * sizeof(void *));
	return mem_cgroup_of(state);
}

static __always_inline bool is_near_limit(struct mem_cgroup *group)
{
	__u64 max = BPF_CORE_READ(group, memory.max);

	return (__u64)BPF_CORE_READ(group, memory.usage.counter) >= max - max / 8;
}

/* By its count of such moments. One that was not seen before may have had them before the session. */
static __always_inline bool has_run_out_now(struct mem_cgroup *group)
{
	__u64 id = BPF_CORE_READ(group, css.cgroup, kn, id);
	__u64 count = 0;
	__u64 *known = bpf_map_lookup_elem(&ooms, &id);
	__u64 before = known ? *known : 0;

	bpf_probe_read_kernel(&count, sizeof(count),
			      (void *)group + bpf_core_field_offset(struct mem_cgroup, memory_events_local) +
				      8 * bpf_core_enum_value(enum memcg_memory_event, MEMCG_OOM));
	if (count <= before)
		return false;
	bpf_map_update_elem(&ooms, &id, &count, BPF_ANY);
	return known || is_near_limit(group);
}

/* The kernel locks it with all below it; where it has no such lock, it has counted it. Global, so that it is verified
 * once, not for each level; before 5.12 no argument of such a function may be a pointer. */
__noinline bool has_run_out(__u64 address)
{
	struct mem_cgroup *group = (void *)address;

	return bpf_core_field_exists(group->oom_lock) ? BPF_CORE_READ(group, oom_lock) : has_run_out_now(group);
}

/* The cgroup whose limit was hit. NULL: it is the memory of the host that has run out. */
static __noinline struct mem_cgroup *limited_group(struct task_struct *victim)
{
	struct mem_cgroup *found = NULL;
	struct mem_cgroup *group = mem_cgroup_of_task(victim);

	for (int i = 0; i < MOST_CGROUPS_ABOVE && group; i++) {
		if (has_run_out((__u64)group))
			found = group;
		group = mem_cgroup_of(BPF_CORE_READ(group, css.parent));
	}
	return found;
}

static __always_inline void read_counter(struct tracer_wire_oom_kill *record, struct mem_cgroup *group, __u32 offset)
{
	void *counter = (void *)group + offset;

	bpf_probe_read_kernel(&record->usage_pages, 8, counter + bpf_core_field_offset(struct page_counter, usage));
	bpf_probe_read_kernel(&record->peak_pages, 8, counter + bpf_core_field_offset(struct page_counter, watermark));
	bpf_probe_read_kernel(&record->limit_pages, 8, counter + bpf_core_field_offset(struct page_counter, max));
}

/* A charge fails within a batch of pages below the limit. */
#define BATCH_PAGES 64

static __always_inline void read_limit(struct tracer_wire_oom_kill *record, struct mem_cgroup *group)
{
	read_counter(record, group, bpf_core_field_offset(struct mem_cgroup, memory));
	if (record->usage_pages + BATCH_PAGES >= record->limit_pages ||
	    BPF_CORE_READ(group, css.cgroup, root, hierarchy_id) == 0)
		return;
	read_counter(record, group, bpf_core_field_offset(struct mem_cgroup, memsw));
}

static __always_inline __u32 allocator_pid(void)
{
	struct task_struct *current = (void *)bpf_get_current_task();

	return BPF_CORE_READ(current, flags) & PF_KTHREAD ? 0 : shown_current_pid();
}

SEC("tp_btf/mark_victim")
int BPF_PROG(oom_victim, struct task_struct *victim)
{
	struct tracer_process *process = process_of(victim);
	__u32 slot = 0;

	/* It is marked, too, when it was ending already by itself or by another's signal. */
	if (!process || process->fatal_signal != SIGKILL || process->signal_sender != TRACER_SENDER_KERNEL)
		return 0;
	/* In its place, so that its exit says so, though this record find no room. */
	process->signal_sender = TRACER_SENDER_OOM;
	if (process->flags & TRACER_FLAG_EXCLUDED)
		return 0;
	struct tracer_cgroup_buffer *to = bpf_map_lookup_elem(&oom_buffer, &slot);
	if (!to)
		return 0;
	struct tracer_wire_oom_kill *record = (void *)to;
	__u32 size = sizeof(*record);
	__builtin_memset(record, 0, sizeof(*record));
	fill_identity(&record->identity, process);
	record->allocator_pid = allocator_pid();
	struct mem_cgroup *group = limited_group(victim);
	if (group) {
		record->has_cgroup = 1;
		read_limit(record, group);
		size = append_kernfs_path(to, size, BPF_CORE_READ(group, css.cgroup, kn));
		record->path_size = size - sizeof(*record);
	}
	fill_header(&record->header, TRACER_WIRE_OOM_KILL, size, process->pid, process->start_ns,
		    bpf_ktime_get_boot_ns());
	if (send(record, size & CGROUP_MASK))
		count_loss(TRACER_LOSS_RING_OOM_KILL);
	return 0;
}
