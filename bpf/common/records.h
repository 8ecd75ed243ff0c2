/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What all records have in common. */
#ifndef TRACER_RECORDS_H
#define TRACER_RECORDS_H

#include "../wire.h"

static __always_inline void fill_header(struct tracer_wire_header *header, __u16 kind, __u32 size, __u32 pid,
					__u64 start_ns, __u64 now_ns)
{
	header->kind = kind;
	header->reserved = 0;
	header->size = size;
	header->time_ns = now_ns;
	header->start_ns = start_ns;
	header->pid = pid;
	header->cpu = bpf_get_smp_processor_id();
}

/* Parent, user, namespaces and name are as before, unless filled in as well. */
static __always_inline void fill_identity(struct tracer_wire_identity *identity, const struct tracer_process *process)
{
	identity->parent_start_ns = 0;
	identity->cgroup_id = process->cgroup_id;
	identity->parent_pid = 0;
	identity->uid = TRACER_SAME_UID;
	identity->context_id = process->context_id;
	identity->pid_namespace = 0;
	identity->mount_namespace = 0;
	identity->hierarchy = process->hierarchy;
	__builtin_memset(identity->comm, 0, sizeof(identity->comm));
}

#endif
