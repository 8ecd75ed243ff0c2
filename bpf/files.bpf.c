// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Which regular files tracked processes have used: each at its last close, when all is known of it, and as it is
 * renamed or deleted. Folded by process and file.
 */
#include "kernel_types.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

#include "wire.h"
#include "current_process.h"
#include "file_moves.h"
#include "file_sums.h"
#include "shown_pid.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* When tracked processes have opened files that are still open: by the kernel's handle of the open file. */
struct tracer_opened_file {
	__u64 opened_ns;
	__u64 inode; /* the kernel's handle of it: where another's open was not seen, it is another as a rule */
	__s64 size_bytes;
	__u64 empties;
};
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u64);
	__type(value, struct tracer_opened_file);
} opened_files SEC(".maps");

/* Of an address: a pointer of which the verifier knows what it leads to. Since a35b9af4ec2c (6.2). */
extern void *bpf_rdonly_cast(const void *address, __u32 type) __ksym __weak;

__u32 teacher = 0;		    /* the process that closes files of its own, to see whether this works */
__u32 learning = 0;		    /* it does so now */
__u64 taught = 0;		    /* how many of these were seen */
__u64 file_cache = 0;		    /* where the kernel takes files from */
const volatile __u8 sees_opens = 0; /* file_opened is attached */

/*
 * All that follows is done at each open and close: by plain loads, as a probe read costs as much as ten of them. The
 * pointers are those of which the verifier knows what they lead to.
 */

/* What was just made is another file than the one that was known under its number. */
static __always_inline bool is_noise(struct file *file, struct inode *inode, const struct tracer_file_key *key,
				     __u64 place)
{
	return is_noise_magic(inode->i_sb->s_magic) || (!(file->f_mode & FMODE_CREATED) && is_known_noise(key, place));
}

#define MOST_NAMES 4 /* that are looked at for one that a file still has */

/*
 * The name that a file has, where that by which it was opened is gone: another link, or the one that a file without a
 * name was given. A number, as no typed pointer leads there. 0: it has none, or the kernel does not hold it. Global, so
 * that it is verified once; before 5.12 no argument of such a function may be a pointer.
 */
__noinline __u64 other_name(__u64 address)
{
	struct inode *inode = (void *)address;
	struct hlist_node *alias = BPF_CORE_READ(inode, i_dentry.first);

	if (!BPF_CORE_READ(inode, i_nlink))
		return 0;
	for (int i = 0; i < MOST_NAMES && alias; i++) {
		struct dentry *entry = (void *)alias - bpf_core_field_offset(struct dentry, d_u.d_alias);
		if (BPF_CORE_READ(entry, d_hash.pprev))
			return (__u64)entry;
		alias = BPF_CORE_READ(alias, next);
	}
	return 0;
}

static __always_inline __u64 name_of(struct dentry *entry, struct inode *inode, __u64 number)
{
	bool is_linked = entry->d_inode == inode && entry->d_hash.pprev;

	return is_linked ? (__u64)entry : other_name(number);
}

/*
 * Whether the open that is closed began a content: it made the file, with a name or without, emptied it, or leaves it
 * empty. One that was not seen also did if it has written from 0 to the end, and else may have, unless it could only
 * append. One that was seen may have emptied the file afterwards if it has written from 0 to the end.
 */
static __always_inline void add_content(struct tracer_file_sums *sums, struct file *file, __s64 size, bool seen,
					bool empties)
{
	bool reads = file->f_mode & FMODE_READ;
	bool writes = (file->f_mode & FMODE_WRITE) && !(file->f_flags & O_APPEND);
	/* Of one that also reads, the position says nothing. */
	bool all = writes && !reads && file->f_pos >= size;

	if (empties || (file->f_mode & FMODE_CREATED) || (file->f_flags & __O_TMPFILE) || (writes && size <= 0) ||
	    (all && !seen))
		__sync_fetch_and_add(&sums->begins, 1);
	else if (!sums->begins && (all || (writes && !seen)))
		sums->may_begin = 1;
	else if (!sums->begins && !sums->may_begin && reads)
		sums->reads_earlier = 1;
}

/* The position says how much was read or written only where it began at 0 and nothing else moves it. */
static __always_inline void add_close(struct tracer_file_sums *sums, struct file *file, struct inode *inode,
				      __u64 number)
{
	__u32 mode = file->f_mode;
	__s64 position = file->f_pos;
	__s64 size = inode->i_size;
	bool both = (mode & FMODE_READ) && (mode & FMODE_WRITE);

	if (mode & FMODE_WRITE)
		sums->modified_ns = modified_ns(number);
	/* Programs that append go to the end when they open the file: see add_open(). */
	if ((mode & FMODE_WRITE) && !both && !(file->f_flags & O_APPEND) && position > 0)
		sums->wrote = 1;
	if (mode & FMODE_READ) {
		sums->reads = 1;
		if (both || (position <= 0 && size > 0))
			sums->read_unknown = 1;
		else if (position > 0)
			__sync_fetch_and_add(&sums->read_bytes, position);
	}
	if (mode & FMODE_WRITE) {
		sums->writes = 1;
		if (both || (file->f_flags & O_APPEND) || (position <= 0 && size > 0))
			sums->write_unknown = 1;
		else if (position > 0)
			__sync_fetch_and_add(&sums->written_bytes, position);
	}
	if (mode & FMODE_CREATED)
		sums->created = 1;
	sums->size_bytes = size > 0 ? size : 0;
	sums->closed_ns = bpf_ktime_get_boot_ns();
	__sync_fetch_and_add(&sums->opens, 1);
}

/* When the file that is closed was opened, if that was seen, and whether that has begun a content. */
static __always_inline void add_open(struct tracer_file_sums *sums, struct file *file, struct inode *inode)
{
	__u64 key = (__u64)file;
	struct tracer_opened_file *opened = sees_opens ? bpf_map_lookup_elem(&opened_files, &key) : NULL;

	if (!opened || opened->inode != (__u64)inode) {
		sums->open_unknown = 1;
		add_content(sums, file, inode->i_size, false, false);
		return;
	}
	if (!sums->opened_ns || opened->opened_ns < sums->opened_ns)
		sums->opened_ns = opened->opened_ns;
	if ((file->f_flags & O_APPEND) && !(file->f_mode & FMODE_READ) && file->f_pos > opened->size_bytes)
		sums->wrote = 1;
	add_content(sums, file, inode->i_size, true, opened->empties);
	bpf_map_delete_elem(&opened_files, &key);
}

static __always_inline int add_file(struct file *file, struct inode *inode, struct vfsmount *mount,
				    const struct tracer_process *process)
{
	struct dentry *entry = file->f_path.dentry;
	/* The two halves are loaded apart: the verifier refuses one load of both. */
	__u64 place = place_within(mount, entry->d_name.hash, entry->d_name.len);
	struct tracer_path_buffer *buffer = buffer_at(BUFFER_OF_CLOSES);
	struct tracer_file_key key;
	bool fresh = false;

	if (!buffer)
		return 0;
	/* Read back it is a number, as global functions take it. */
	buffer->inode = (__u64)inode;
	__u64 number = buffer->inode;
	fill_key(&key, process, inode->i_ino, inode->i_sb->s_dev, inode->i_generation);
	if (inode->i_sb->s_magic == OVERLAYFS_SUPER_MAGIC)
		key.generation = overlay_generation(number);
	if (is_noise(file, inode, &key, place))
		return 0;
	__u64 name = name_of(entry, inode, number);
	if (!name) {
		key.inode = key.device = 0;
		key.generation = 1;
	}
	struct tracer_file_sums *sums = sums_of_file(&key, process, &fresh);
	if (!sums)
		return 0;
	/* A file is made only once, and is not used by a name once it was deleted. */
	if (key.inode && (sums->created || sums->deletes) && (file->f_mode & FMODE_CREATED)) {
		begin_anew(sums);
		fresh = true;
	}
	add_open(sums, file, inode);
	add_close(sums, file, inode, number);
	if (!fresh && !have_doubled(sums))
		return 0;
	struct tracer_wire_file_use *record = begin_use(buffer, process, &key, sums, fresh);
	record->place = place;
	if (fresh && key.inode) {
		name_filesystem(record, inode);
		record->path_cut = !append_host_path(buffer, mount, (void *)name);
		end_path(buffer, record);
	}
	send_use(buffer, process, &key, sums);
	return 0;
}

/* A regular file that a program opened, by a name if its mount has one. */
static __always_inline bool is_of_interest(struct file *file, struct inode *inode)
{
	return !(file->f_mode & (FMODE_PATH | FMODE_NOACCOUNT)) && !(file->f_flags & FMODE_EXEC) &&
	       (inode->i_mode & S_IFMT) == S_IFREG;
}

/*
 * A number: the structure around it begins before it, where no typed pointer leads. NULL: no path leads to it.
 * `casts`: the kernel has bpf_rdonly_cast.
 */
static __always_inline struct vfsmount *mount_of(struct file *file, bool casts)
{
	if (!casts) {
		struct vfsmount *mount = BPF_CORE_READ(file, f_path.mnt);
		return is_internal(mount) ? NULL : mount;
	}
	struct tracer_path_buffer *buffer = buffer_at(BUFFER_OF_CLOSES);
	if (!buffer)
		return NULL;
	buffer->mount = (__u64)file->f_path.mnt;
	struct vfsmount *mount = (void *)buffer->mount;
	struct mount *whole = bpf_rdonly_cast(whole_mount(mount), bpf_core_type_id_kernel(struct mount));
	return (__s64)whole->mnt_ns == MNT_NS_INTERNAL ? NULL : mount;
}

static __always_inline int file_closed(struct file *file, bool casts)
{
	if (learning && shown_current_pid() == teacher)
		taught++;
	struct tracer_process *process = current_process();

	if (!process || (process->flags & TRACER_FLAG_EXCLUDED))
		return 0;
	struct inode *inode = file->f_inode;
	if (!(file->f_mode & FMODE_OPENED) || !is_of_interest(file, inode))
		return 0;
	struct vfsmount *mount = mount_of(file, casts);
	return mount ? add_file(file, inode, mount, process) : 0;
}

/* Its inode is known, and whether it may be opened is not yet: of an open that fails what is kept is overwritten, or
 * forgotten. */
SEC("fentry/security_file_open")
int BPF_PROG(file_opened, struct file *file)
{
	struct tracer_process *process = current_process();
	struct inode *inode = file->f_inode;
	__u64 key = (__u64)file;

	if (!process || (process->flags & TRACER_FLAG_EXCLUDED) || !is_of_interest(file, inode) ||
	    is_internal(BPF_CORE_READ(file, f_path.mnt)))
		return 0;
	struct tracer_opened_file opened = {bpf_ktime_get_boot_ns(), (__u64)inode, inode->i_size,
					    (file->f_flags & O_TRUNC) != 0};
	bpf_map_update_elem(&opened_files, &key, &opened, BPF_ANY);
	return 0;
}

/* Called once for each open file, at its last close, in whoever closes it. */
SEC("fentry/locks_remove_file")
int BPF_PROG(file_released, struct file *file)
{
	return file_closed(file, false);
}

/* What the tracepoint says. */
struct tracer_freed {
	__u64 call_site;
	void *object;
	struct kmem_cache *cache;
};

/* Likewise, where functions can't be traced: a file is freed at its last close, since 6.7 by whoever closes it. */
SEC("raw_tp/kmem_cache_free")
int file_freed(struct tracer_freed *freed)
{
	struct kmem_cache *cache = freed->cache;

	if ((__u64)cache != file_cache) {
		char name[8] = {};
		if (file_cache || !learning || shown_current_pid() != teacher)
			return 0;
		bpf_probe_read_kernel_str(name, sizeof(name), BPF_CORE_READ(cache, name));
		if (name[0] != 'f' || name[1] != 'i' || name[2] != 'l' || name[3] != 'p' || name[4])
			return 0;
		file_cache = (__u64)cache;
	}
	return file_closed(bpf_rdonly_cast(freed->object, bpf_core_type_id_kernel(struct file)), true);
}

/* Called for what a call of the host names, with the mount; once it may be done, it is tried at once. */
SEC("fexit/security_path_rename")
int BPF_PROG(rename_begins, const struct path *from, struct dentry *entry, const struct path *to, struct dentry *target,
	     unsigned int flags, int denied)
{
	return denied ? 0 : move_begins(BPF_CORE_READ(from, mnt), entry, target, flags & RENAME_EXCHANGE);
}

SEC("fexit/vfs_rename")
int BPF_PROG(rename_ends, struct renamedata *renamed, int failed)
{
	return rename_ended((__u64)BPF_CORE_READ(renamed, old_dentry), failed);
}

SEC("fexit/security_path_unlink")
int BPF_PROG(delete_begins, const struct path *folder, struct dentry *entry, int denied)
{
	return denied ? 0 : move_begins(BPF_CORE_READ(folder, mnt), entry, NULL, false);
}

SEC("fexit/vfs_unlink")
int BPF_PROG(delete_ends, void *mapping, struct inode *folder, struct dentry *entry, void *delegated, int failed)
{
	return delete_ended((__u64)entry, failed);
}

/* Likewise, before 5.12: without how the mount maps users. */
SEC("fexit/vfs_unlink")
int BPF_PROG(delete_ends_unmapped, struct inode *folder, struct dentry *entry, void *delegated, int failed)
{
	return delete_ended((__u64)entry, failed);
}
