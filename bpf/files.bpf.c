// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Which regular files tracked processes have used: each at its last close, when all is known of it. Folded by process
 * and file.
 */
#include "kernel_types.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

#include "wire.h"
#include "common/emit.h"
#include "common/kernfs.h"
#include "common/records.h"
#include "common/told_apart.h"
#include "current_process.h"
#include "shown_pid.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define PATH_MASK 2047
#define MOST_PATH_BYTES 1536 /* with the last name */
#define MOST_STEPS 64	     /* components and mount points */

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 32768);
	__type(key, struct tracer_file_key);
	__type(value, struct tracer_file_sums);
} file_uses SEC(".maps");

/* User space, which knows the rules, adds a file when it has seen its path. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct tracer_noise_key);
	__type(value, __u8);
} noise_files SEC(".maps");

/* By their magic numbers. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, __u32);
	__type(value, __u8);
} noise_filesystems SEC(".maps");

/* When tracked processes have opened files that are still open: by the kernel's handle of the open file. */
struct tracer_opened_file {
	__u64 opened_ns;
	__u64 inode; /* the kernel's handle of it: where another's open was not seen, it is another as a rule */
};
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u64);
	__type(value, struct tracer_opened_file);
} opened_files SEC(".maps");

struct tracer_path_buffer {
	/* Kept in memory, where the verifier knows nothing of them. */
	volatile __u32 used;
	volatile __u32 reserved;
	volatile __u64 entry;
	volatile __u64 mount;
	volatile __u64 mount_root;
	struct tracer_file_sums sums;
	__u8 bytes[PATH_MASK + 1 + MAX_NAME + 1];
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tracer_path_buffer);
} path_buffer SEC(".maps");

const volatile __u64 most_files = 8192; /* of a process, noise among them */
__u32 teacher = 0;			/* the process that closes files of its own, to see whether this works */
__u32 learning = 0;			/* it does so now */
__u64 taught = 0;			/* how many of these were seen */
__u64 file_cache = 0;			/* where the kernel takes files from */
const volatile __u8 sees_opens = 0;	/* file_opened is attached */

static __always_inline void append_path_name(struct tracer_path_buffer *to, struct dentry *entry)
{
	__u32 offset = to->used & PATH_MASK;
	__u32 length = BPF_CORE_READ(entry, d_name.len) & MAX_NAME;

	if (bpf_probe_read_kernel(&to->bytes[offset], length, BPF_CORE_READ(entry, d_name.name)) < 0)
		length = 0;
	offset += length;
	to->bytes[offset & PATH_MASK] = 0;
	to->used = offset + 1;
}

/* Up to the top of the tree of mounts: absolute on the host, whatever the process's root. False: its beginning is
 * missing. */
static __noinline bool append_host_path(struct tracer_path_buffer *to, struct file *file)
{
	struct vfsmount *shown = BPF_CORE_READ(file, f_path.mnt);
	__u32 limit = to->used + MOST_PATH_BYTES - MAX_NAME;

	to->entry = (__u64)BPF_CORE_READ(file, f_path.dentry);
	to->mount = (__u64)shown - bpf_core_field_offset(struct mount, mnt);
	to->mount_root = (__u64)BPF_CORE_READ(shown, mnt_root);
	for (__u32 i = 0; i < MOST_STEPS; i++) {
		struct mount *within = (void *)to->mount;
		struct dentry *entry = (void *)to->entry;

		if (to->used >= limit)
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
		append_path_name(to, entry);
		to->entry = (__u64)parent;
	}
	return false;
}

/* A mount that no path leads to: of shared memory, for example. */
static __always_inline bool is_internal(struct file *file)
{
	struct mount *mount = (void *)BPF_CORE_READ(file, f_path.mnt) - bpf_core_field_offset(struct mount, mnt);

	return (__s64)BPF_CORE_READ(mount, mnt_ns) == MNT_NS_INTERNAL;
}

static __always_inline __u64 place_of(struct file *file)
{
	__u64 mount = (__u64)BPF_CORE_READ(file, f_path.mnt);

	return BPF_CORE_READ(file, f_path.dentry, d_name.hash_len) ^ (mount * 0x9e3779b97f4a7c15ULL);
}

/* What was just made is another file than the one that was known under its number. */
static __always_inline bool is_noise(struct file *file, struct inode *inode, const struct tracer_file_key *key)
{
	__u32 magic = BPF_CORE_READ(inode, i_sb, s_magic);
	struct tracer_noise_key noise = {key->inode, place_of(file), key->device, key->generation};

	return bpf_map_lookup_elem(&noise_filesystems, &magic) ||
	       (!(BPF_CORE_READ(file, f_mode) & FMODE_CREATED) && bpf_map_lookup_elem(&noise_files, &noise));
}

/* Its name is gone, though it was open. */
static __always_inline bool is_unlinked(struct dentry *entry, struct inode *inode)
{
	return BPF_CORE_READ(entry, d_inode) != inode || !BPF_CORE_READ(entry, d_hash.pprev);
}

/* The position says how much was read or written only where it began at 0 and nothing else moves it. */
static __always_inline void add_close(struct tracer_file_sums *sums, struct file *file, struct inode *inode)
{
	__u32 mode = BPF_CORE_READ(file, f_mode);
	__s64 position = BPF_CORE_READ(file, f_pos);
	__s64 size = BPF_CORE_READ(inode, i_size);
	bool both = (mode & FMODE_READ) && (mode & FMODE_WRITE);

	if (mode & FMODE_READ) {
		sums->reads = 1;
		if (both || (position <= 0 && size > 0))
			sums->read_unknown = 1;
		else if (position > 0)
			__sync_fetch_and_add(&sums->read_bytes, position);
	}
	if (mode & FMODE_WRITE) {
		sums->writes = 1;
		if (both || (BPF_CORE_READ(file, f_flags) & O_APPEND) || (position <= 0 && size > 0))
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

/* When the file that is closed was opened, if that was seen. */
static __always_inline void add_open(struct tracer_file_sums *sums, struct file *file, struct inode *inode)
{
	__u64 key = (__u64)file;
	struct tracer_opened_file *opened = sees_opens ? bpf_map_lookup_elem(&opened_files, &key) : NULL;

	if (!opened || opened->inode != (__u64)inode) {
		sums->open_unknown = 1;
		return;
	}
	if (!sums->opened_ns || opened->opened_ns < sums->opened_ns)
		sums->opened_ns = opened->opened_ns;
	bpf_map_delete_elem(&opened_files, &key);
}

static __always_inline int send_use(struct tracer_path_buffer *buffer, const struct tracer_process *process,
				    const struct tracer_file_key *key, struct tracer_file_sums *sums, struct file *file,
				    bool fresh)
{
	struct tracer_wire_file_use *record = (void *)buffer->bytes;

	__builtin_memset(record, 0, sizeof(*record));
	fill_identity(&record->identity, process);
	record->key = *key;
	record->sums = *sums;
	record->fresh = fresh;
	record->place = place_of(file);
	record->more_opens = sums->opens - sums->sent_opens;
	buffer->used = sizeof(*record);
	if (fresh && key->inode) {
		struct super_block *super = BPF_CORE_READ(file, f_inode, i_sb);

		bpf_probe_read_kernel_str(record->filesystem, sizeof(record->filesystem),
					  BPF_CORE_READ(super, s_type, name));
		if (bpf_core_field_exists(super->s_subtype))
			bpf_probe_read_kernel_str(record->subtype, sizeof(record->subtype),
						  BPF_CORE_READ(super, s_subtype));
		record->path_cut = !append_host_path(buffer, file);
	}
	__u32 size = buffer->used & PATH_MASK;
	record->path_size = size - sizeof(*record);
	fill_header(&record->header, TRACER_WIRE_FILE_USE, size, process->pid, process->start_ns,
		    bpf_ktime_get_boot_ns());
	if (!send_within_share(record, size)) {
		sums->sent_opens = sums->opens;
		return 0;
	}
	count_loss(TRACER_LOSS_RING_FILE_USE);
	/* The path comes with the next close. */
	if (fresh)
		bpf_map_delete_elem(&file_uses, key);
	return 0;
}

/* Begins the sums of a file of this process; sets `fresh`, unless another CPU has just begun them. */
static __always_inline struct tracer_file_sums *begin_sums(struct tracer_path_buffer *buffer,
							   const struct tracer_file_key *key, bool *fresh)
{
	__builtin_memset(&buffer->sums, 0, sizeof(buffer->sums));
	*fresh = bpf_map_update_elem(&file_uses, key, &buffer->sums, BPF_NOEXIST) == 0;
	return bpf_map_lookup_elem(&file_uses, key);
}

static __always_inline int add_file(struct file *file, struct inode *inode, const struct tracer_process *process)
{
	__u32 slot = 0;
	struct tracer_file_key key = {.start_ns = process->start_ns, .pid = bpf_get_current_pid_tgid() >> 32};
	struct tracer_path_buffer *buffer = bpf_map_lookup_elem(&path_buffer, &slot);
	bool fresh = false;

	if (!buffer)
		return 0;
	key.inode = BPF_CORE_READ(inode, i_ino);
	key.device = BPF_CORE_READ(inode, i_sb, s_dev);
	key.generation = BPF_CORE_READ(inode, i_generation);
	if (is_noise(file, inode, &key))
		return 0;
	if (is_unlinked(BPF_CORE_READ(file, f_path.dentry), inode)) {
		key.inode = key.device = 0;
		key.generation = 1;
	}
	struct tracer_file_sums *sums = bpf_map_lookup_elem(&file_uses, &key);
	if (!sums && key.inode && !has_room(process->start_ns, process->pid, most_files)) {
		key.inode = key.device = key.generation = 0;
		sums = bpf_map_lookup_elem(&file_uses, &key);
	}
	if (!sums)
		sums = begin_sums(buffer, &key, &fresh);
	if (!sums) {
		count_loss(TRACER_LOSS_RING_FILE_USE);
		return 0;
	}
	/* A file is made only once: this is another, whose number was given again. What was not sent of the one before
	 * is given up with it. */
	if (key.inode && sums->created && (BPF_CORE_READ(file, f_mode) & FMODE_CREATED)) {
		if (sums->opens > sums->sent_opens)
			count_loss(TRACER_LOSS_RING_FILE_USE);
		__builtin_memset(sums, 0, sizeof(*sums));
		fresh = true;
	}
	add_open(sums, file, inode);
	add_close(sums, file, inode);
	if (!fresh && sums->opens < 2 * sums->sent_opens)
		return 0;
	return send_use(buffer, process, &key, sums, file, fresh);
}

/* A regular file that a program opened by a name. */
static __always_inline bool is_of_interest(struct file *file, struct inode *inode)
{
	return !(BPF_CORE_READ(file, f_mode) & (FMODE_PATH | FMODE_NOACCOUNT)) &&
	       !(BPF_CORE_READ(file, f_flags) & FMODE_EXEC) && inode &&
	       (BPF_CORE_READ(inode, i_mode) & S_IFMT) == S_IFREG && !is_internal(file);
}

static __always_inline int file_closed(struct file *file)
{
	if (learning && shown_current_pid() == teacher)
		taught++;
	struct tracer_process *process = current_process();

	if (!process || (process->flags & TRACER_FLAG_EXCLUDED))
		return 0;
	struct inode *inode = BPF_CORE_READ(file, f_inode);
	if (!(BPF_CORE_READ(file, f_mode) & FMODE_OPENED) || !is_of_interest(file, inode))
		return 0;
	return add_file(file, inode, process);
}

/* Its inode is known, and whether it may be opened is not yet: of an open that fails what is kept is overwritten, or
 * forgotten. */
SEC("fentry/security_file_open")
int BPF_PROG(file_opened, struct file *file)
{
	struct tracer_process *process = current_process();
	struct inode *inode = BPF_CORE_READ(file, f_inode);
	struct tracer_opened_file opened = {bpf_ktime_get_boot_ns(), (__u64)inode};
	__u64 key = (__u64)file;

	if (process && !(process->flags & TRACER_FLAG_EXCLUDED) && is_of_interest(file, inode))
		bpf_map_update_elem(&opened_files, &key, &opened, BPF_ANY);
	return 0;
}

/* Called once for each open file, at its last close, in whoever closes it. */
SEC("fentry/locks_remove_file")
int BPF_PROG(file_released, struct file *file)
{
	return file_closed(file);
}

/* What the tracepoint says. */
struct tracer_freed {
	__u64 call_site;
	struct file *object;
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
	return file_closed(freed->object);
}
