/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Paths by walking directory entries, as bpf_d_path is refused in tracepoints. Leaf first; user space turns them round.
 */
#ifndef TRACER_PATHS_H
#define TRACER_PATHS_H

#define USUAL_COMPONENTS 12
#define MAX_COMPONENTS 40
#define MAX_MOUNTS 12

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

/* Past mount points, from where the buffer says. As append_path(). Global, so that it is verified once, not for each
 * way to it; before 5.12 no argument of such a function may be a pointer. */
__noinline int append_past_mounts(void)
{
	__u32 slot = 0;
	struct tracer_exec_buffer *to = bpf_map_lookup_elem(&exec_buffer, &slot);

	if (!to)
		return false;
	for (__u32 i = 0; i < MAX_COMPONENTS + MAX_MOUNTS; i++) {
		struct mount *within = (void *)to->mount;
		struct dentry *entry = (void *)to->entry;
		if ((__u64)within == to->last_mount && (__u64)entry == to->root)
			return true;
		if (to->used >= to->limit)
			break;
		if ((__u64)entry == to->mount_root) {
			struct mount *above = BPF_CORE_READ(within, mnt_parent);
			if (above == within || !above)
				return true;
			to->entry = (__u64)BPF_CORE_READ(within, mnt_mountpoint);
			to->mount = (__u64)above;
			to->mount_root = (__u64)BPF_CORE_READ(above, mnt.mnt_root);
		} else {
			append_name(to, BPF_CORE_READ(entry, d_name.name), BPF_CORE_READ(entry, d_name.len));
			to->entry = (__u64)BPF_CORE_READ(entry, d_parent);
		}
	}
	return false;
}

/*
 * The path as the process sees it: up to its own root. First within one mount by plain loads, which is the usual case;
 * then, past mount points or deeper, by probe reads. False when the beginning is missing: too deep, or too long.
 */
static __noinline bool append_path(struct tracer_exec_buffer *to, struct dentry *dentry, struct vfsmount *mount,
				   struct fs_struct *fs)
{
	struct dentry *root = fs->root.dentry;
	struct vfsmount *root_mount = fs->root.mnt;
	struct dentry *mount_root = mount->mnt_root;

	to->limit = to->used + TRACER_PATH_MAX_BYTES - MAX_NAME;
	for (__u32 i = 0; i < USUAL_COMPONENTS; i++) {
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
	to->last_mount = (__u64)root_mount - bpf_core_field_offset(struct mount, mnt);
	to->root = (__u64)root;
	to->mount = (__u64)mount - bpf_core_field_offset(struct mount, mnt);
	to->mount_root = (__u64)mount_root;
	to->entry = (__u64)dentry;
	return append_past_mounts();
}

#endif
