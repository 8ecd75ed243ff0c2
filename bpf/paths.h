/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Paths by walking directory entries, as bpf_d_path is refused in tracepoints. Leaf first; user space turns them round.
 */
#ifndef TRACER_PATHS_H
#define TRACER_PATHS_H

#define MAX_COMPONENTS 40
#define MAX_MOUNTS 12
#define MAX_NAME 255

/* Appends a name and a NUL. */
static __always_inline void append_name(struct tracer_exec_buffer *to, const void *name, __u32 length)
{
	__u32 offset = to->used & EXEC_MASK;

	length &= MAX_NAME;
	if (bpf_probe_read_kernel(&to->bytes[offset], length, name) < 0)
		length = 0;
	offset += length;
	to->bytes[offset & EXEC_MASK] = 0;
	to->used = offset + 1;
}

/*
 * The path as the process sees it: up to its own root. First within one mount by plain loads, which is the usual case;
 * then, past mount points, by probe reads. False when the beginning is missing: too deep, or too long.
 */
static __noinline bool append_path(struct tracer_exec_buffer *to, struct dentry *dentry, struct vfsmount *mount,
				   struct fs_struct *fs)
{
	struct dentry *root = fs->root.dentry;
	struct vfsmount *root_mount = fs->root.mnt;
	struct dentry *mount_root = mount->mnt_root;

	to->limit = to->used + TRACER_PATH_MAX_BYTES - MAX_NAME;
	for (__u32 i = 0; i < MAX_COMPONENTS; i++) {
		if (dentry == mount_root || dentry == root || to->used >= to->limit)
			break;
		append_name(to, dentry->d_name.name, dentry->d_name.len);
		struct dentry *parent = dentry->d_parent;
		if (parent == dentry)
			return true;
		dentry = parent;
	}
	if (mount == root_mount && dentry == root)
		return true;
	if (dentry != mount_root)
		return false;

	struct mount *m = (void *)mount - bpf_core_field_offset(struct mount, mnt);
	struct mount *stop = (void *)root_mount - bpf_core_field_offset(struct mount, mnt);
	__u64 d = (__u64)dentry;
	__u64 mount_top = (__u64)mount_root;
	for (__u32 i = 0; i < MAX_COMPONENTS + MAX_MOUNTS; i++) {
		if (m == stop && d == (__u64)root)
			return true;
		if (to->used >= to->limit)
			break;
		if (d == mount_top) {
			struct mount *above = BPF_CORE_READ(m, mnt_parent);
			if (above == m || !above)
				return true;
			d = (__u64)BPF_CORE_READ(m, mnt_mountpoint);
			m = above;
			mount_top = (__u64)BPF_CORE_READ(m, mnt.mnt_root);
		} else {
			struct dentry *entry = (void *)d;
			append_name(to, BPF_CORE_READ(entry, d_name.name), BPF_CORE_READ(entry, d_name.len));
			d = (__u64)BPF_CORE_READ(entry, d_parent);
		}
	}
	return false;
}

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
