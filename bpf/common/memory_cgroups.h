/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the memory controller knows of a cgroup. */
#ifndef TRACER_MEMORY_CGROUPS_H
#define TRACER_MEMORY_CGROUPS_H

static __always_inline struct mem_cgroup *mem_cgroup_of(struct cgroup_subsys_state *state)
{
	return state ? (void *)state - bpf_core_field_offset(struct mem_cgroup, css) : NULL;
}

#endif
