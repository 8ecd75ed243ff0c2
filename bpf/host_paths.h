/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Paths of files, leaf first, up to the top of the tree of mounts: absolute on the host, whatever the process's root.
 */
#ifndef TRACER_HOST_PATHS_H
#define TRACER_HOST_PATHS_H

#include "common/kernfs.h"

#define PATH_MASK 4095
#define MOST_PATH_BYTES 1536 /* with the last name */
#define MOST_STEPS 64	     /* components and mount points */

struct tracer_path_buffer {
	/* Kept in memory, where the verifier knows nothing of them. */
	volatile __u32 used;
	volatile __u32 limit;
	volatile __u64 entry;
	volatile __u64 mount;
	volatile __u64 mount_root;
	volatile __u64 inode; /* of a close */
	volatile __u64 slot;  /* where it is itself */
	__u8 bytes[PATH_MASK + 1 + MAX_NAME + 1];
};
/* One for each program that makes records, as one may begin on a CPU while another waits there. */
enum { BUFFER_OF_CLOSES, BUFFER_OF_RENAMES, BUFFER_OF_DELETES, BUFFERS };
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, BUFFERS);
	__type(key, __u32);
	__type(value, struct tracer_path_buffer);
} path_buffer SEC(".maps");

static __always_inline struct tracer_path_buffer *buffer_at(__u32 slot)
{
	struct tracer_path_buffer *buffer = bpf_map_lookup_elem(&path_buffer, &slot);

	if (buffer)
		buffer->slot = slot;
	return buffer;
}

static __always_inline void append_name(struct tracer_path_buffer *to, const void *name, __u32 length)
{
	__u32 offset = to->used & PATH_MASK;

	length &= MAX_NAME;
	if (bpf_probe_read_kernel(&to->bytes[offset], length, name) < 0)
		length = 0;
	offset += length;
	to->bytes[offset & PATH_MASK] = 0;
	to->used = offset + 1;
}

/* From where the buffer says. As append_host_path(). Global, so that it is verified once, not for each way to it;
 * before 5.12 no argument of such a function may be a pointer. */
__noinline bool append_entries(__u32 slot)
{
	struct tracer_path_buffer *to = bpf_map_lookup_elem(&path_buffer, &slot);

	if (!to)
		return false;
	for (__u32 i = 0; i < MOST_STEPS; i++) {
		struct mount *within = (void *)to->mount;
		struct dentry *entry = (void *)to->entry;

		if (to->used >= to->limit)
			return false;
		if ((__u64)entry == to->mount_root) {
			struct mount *above = BPF_CORE_READ(within, mnt_parent);
			/* Where a mount was that was taken off the tree nobody knows. */
			if (above == within || !above)
				return BPF_CORE_READ(within, mnt_ns) != NULL;
			to->entry = (__u64)BPF_CORE_READ(within, mnt_mountpoint);
			to->mount = (__u64)above;
			to->mount_root = (__u64)BPF_CORE_READ(above, mnt.mnt_root);
			continue;
		}
		struct dentry *parent = BPF_CORE_READ(entry, d_parent);
		if (parent == entry)
			return true;
		append_name(to, BPF_CORE_READ(entry, d_name.name), BPF_CORE_READ(entry, d_name.len));
		to->entry = (__u64)parent;
	}
	return false;
}

/* False: its beginning is missing. */
static __always_inline bool append_host_path(struct tracer_path_buffer *to, struct vfsmount *shown, struct dentry *leaf)
{
	to->limit = to->used + MOST_PATH_BYTES - MAX_NAME;
	to->entry = (__u64)leaf;
	to->mount = (__u64)shown - bpf_core_field_offset(struct mount, mnt);
	to->mount_root = (__u64)BPF_CORE_READ(shown, mnt_root);
	return append_entries(to->slot);
}

static __always_inline struct mount *whole_mount(struct vfsmount *shown)
{
	return (void *)shown - bpf_core_field_offset(struct mount, mnt);
}

/* A mount that no path leads to: of shared memory, for example. */
static __always_inline bool is_internal(struct vfsmount *shown)
{
	return (__s64)BPF_CORE_READ(whole_mount(shown), mnt_ns) == MNT_NS_INTERNAL;
}

/* Another for each name in each folder and mount; says nothing else. */
static __always_inline __u64 place_within(struct vfsmount *mount, __u32 name_hash, __u32 name_length)
{
	return ((__u64)name_length << 32 | name_hash) ^ ((__u64)mount * 0x9e3779b97f4a7c15ULL);
}

static __always_inline __u64 place_of(struct vfsmount *mount, struct dentry *entry)
{
	return place_within(mount, BPF_CORE_READ(entry, d_name.hash), BPF_CORE_READ(entry, d_name.len));
}

#endif
