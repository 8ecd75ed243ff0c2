/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Paths of cgroups, leaf first. */
#ifndef TRACER_KERNFS_H
#define TRACER_KERNFS_H

#define MAX_NAME 255

#define CGROUP_MASK 4095
struct tracer_cgroup_buffer {
	__u8 bytes[CGROUP_MASK + 1 + 512];
};
static __always_inline struct kernfs_node *kernfs_parent(struct kernfs_node *node)
{
	struct kernfs_node___since_6_15 *new_node = (void *)node;
	if (bpf_core_field_exists(new_node->__parent))
		return (void *)BPF_CORE_READ(new_node, __parent);
	return BPF_CORE_READ(node, parent);
}

static __always_inline __u32 append_kernfs_path(struct tracer_cgroup_buffer *to, __u32 offset, struct kernfs_node *node)
{
	for (int i = 0; i < 32; i++) {
		struct kernfs_node *parent = kernfs_parent(node);
		if (!parent)
			break;
		if (offset > CGROUP_MASK - MAX_NAME)
			break;
		offset &= CGROUP_MASK;
		long length = bpf_probe_read_kernel_str(&to->bytes[offset], MAX_NAME + 1, BPF_CORE_READ(node, name));
		if (length <= 0)
			break;
		offset += length;
		node = parent;
	}
	return offset & CGROUP_MASK;
}

#endif
