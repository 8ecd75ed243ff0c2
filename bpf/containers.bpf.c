// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Which cgroups are removed, and how much memory was charged to each at most. User space knows which of them were
 * containers: a map of these would forget one that lives longer than it has room.
 */
#include "kernel_types.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

#include "wire.h"
#include "common/emit.h"
#include "common/hierarchies.h"
#include "common/memory_cgroups.h"
#include "common/records.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* NULL: the memory controller is not there, or counts nothing in this cgroup. */
static __always_inline struct mem_cgroup *mem_cgroup_of_cgroup(struct cgroup *cgroup)
{
	struct cgroup_subsys_state *state = NULL;

	if (!bpf_core_enum_value_exists(enum cgroup_subsys_id, memory_cgrp_id))
		return NULL;
	bpf_probe_read_kernel(&state, sizeof(state),
			      (void *)cgroup + bpf_core_field_offset(struct cgroup, subsys) +
				      bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id) * sizeof(void *));
	return mem_cgroup_of(state);
}

/* The controllers let go of it only afterwards. */
SEC("tp_btf/cgroup_rmdir")
int BPF_PROG(cgroup_ended, struct cgroup *cgroup)
{
	struct tracer_cgroup_key key = {};
	struct tracer_wire_cgroup_end record;

	if (!key_of_cgroup(cgroup, &key))
		return 0;
	__builtin_memset(&record, 0, sizeof(record));
	fill_header(&record.header, TRACER_WIRE_CGROUP_END, sizeof(record), 0, 0, bpf_ktime_get_boot_ns());
	record.cgroup_id = key.id;
	record.hierarchy = key.hierarchy;
	struct mem_cgroup *group = mem_cgroup_of_cgroup(cgroup);
	if (group) {
		record.peak_pages = BPF_CORE_READ(group, memory.watermark);
		record.has_peak = 1;
	}
	if (send_within_share(&record, sizeof(record)))
		count_loss(TRACER_LOSS_RING_CGROUP_END);
	return 0;
}
