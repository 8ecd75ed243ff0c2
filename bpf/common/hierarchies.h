/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Hierarchies of cgroups in which processes are looked for. */
#ifndef TRACER_HIERARCHIES_H
#define TRACER_HIERARCHIES_H

#include "../wire.h"

const volatile __u8 memory_is_v1 = 0; /* the memory controller is mounted as a v1 hierarchy */
const volatile __u8 pids_is_v1 = 0;

/* False: it is in another hierarchy. */
static __always_inline bool key_of_cgroup(struct cgroup *cgroup, struct tracer_cgroup_key *key)
{
	__u32 mask = BPF_CORE_READ(cgroup, root, subsys_mask);

	key->id = BPF_CORE_READ(cgroup, kn, id);
	if (BPF_CORE_READ(cgroup, root, hierarchy_id) == 0)
		key->hierarchy = TRACER_HIERARCHY_V2;
	else if (memory_is_v1 && (mask & (1u << bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id))))
		key->hierarchy = TRACER_HIERARCHY_V1_MEMORY;
	else if (pids_is_v1 && (mask & (1u << bpf_core_enum_value(enum cgroup_subsys_id, pids_cgrp_id))))
		key->hierarchy = TRACER_HIERARCHY_V1_PIDS;
	else
		return false;
	return true;
}

#endif
