/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Regular files that lose a name: they are renamed or deleted. What is about to be done says the one function, with
 * the mount; another one, whether it was.
 */
#ifndef TRACER_FILE_MOVES_H
#define TRACER_FILE_MOVES_H

#include "current_process.h"
#include "file_sums.h"

#define RENAME_EXCHANGE 2 /* uapi/linux/fs.h */

/* What a thread is about to do, in handles that live as long. */
struct tracer_move {
	__u64 mount;
	__u64 entry;  /* that is renamed or deleted */
	__u64 inode;  /* its own */
	__u64 folder; /* it lies there before */
	__u64 target; /* of a rename: what has the new name before, as the next one; 0: nothing that counts */
	__u64 target_inode;
	__u32 exchanges; /* both change their names */
	__u32 name_size;
	__u8 name[MAX_NAME + 1]; /* before */
};
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 512);
	__type(key, __u64); /* the thread */
	__type(value, struct tracer_move);
} moves SEC(".maps");

/* `target`: NULL: it is deleted. */
static __always_inline int move_begins(struct vfsmount *mount, struct dentry *entry, struct dentry *target,
				       bool exchanges)
{
	struct tracer_process *process = current_process();
	struct inode *inode = BPF_CORE_READ(entry, d_inode);
	struct inode *replaced = target ? BPF_CORE_READ(target, d_inode) : NULL;
	__u64 thread = bpf_get_current_pid_tgid();
	struct tracer_file_key key;

	/* Of two names of one file a rename leaves both. */
	if (replaced == inode)
		return 0;
	if (!process || (process->flags & TRACER_FLAG_EXCLUDED) || !is_regular(inode) || is_internal(mount) ||
	    is_on_noise(inode))
		return 0;
	fill_file_key(&key, process, inode);
	if (is_known_noise(&key, place_of(mount, entry)))
		return 0;
	struct tracer_move move = {(__u64)mount, (__u64)entry, (__u64)inode};
	move.folder = (__u64)BPF_CORE_READ(entry, d_parent);
	if (is_regular(replaced)) {
		move.target = (__u64)target;
		move.target_inode = (__u64)replaced;
	}
	move.exchanges = exchanges;
	move.name_size = BPF_CORE_READ(entry, d_name.len) & MAX_NAME;
	if (bpf_probe_read_kernel(move.name, move.name_size & MAX_NAME, BPF_CORE_READ(entry, d_name.name)) < 0 ||
	    bpf_map_update_elem(&moves, &thread, &move, BPF_ANY))
		count_loss(TRACER_LOSS_RING_FILE_USE);
	return 0;
}

/* Adds it to the sums of the file, and begins a record that says so. NULL: there is nothing to send. */
static __always_inline struct tracer_wire_file_use *add_move(struct tracer_path_buffer *buffer,
							     const struct tracer_process *process, struct inode *inode,
							     __u8 change, struct tracer_file_key *key,
							     struct tracer_file_sums **sums)
{
	bool fresh = false;
	__s64 size = BPF_CORE_READ(inode, i_size);

	fill_file_key(key, process, inode);
	*sums = sums_of_file(key, process, &fresh);
	if (!*sums)
		return NULL;
	if (change == TRACER_FILE_RENAMED)
		__sync_fetch_and_add(&(*sums)->renames, 1);
	else
		__sync_fetch_and_add(&(*sums)->deletes, 1);
	(*sums)->size_bytes = size > 0 ? size : 0;
	if (!(*sums)->opens)
		(*sums)->closed_ns = bpf_ktime_get_boot_ns();
	if (!key->inode && !have_doubled(*sums))
		return NULL;
	struct tracer_wire_file_use *record = begin_use(buffer, process, key, *sums, fresh);
	record->change = change;
	if (key->inode)
		name_filesystem(record, inode);
	return record;
}

static __always_inline void add_new_path(struct tracer_path_buffer *buffer, struct tracer_wire_file_use *record,
					 struct vfsmount *mount, struct dentry *entry)
{
	record->new_path_cut = !append_host_path(buffer, mount, entry);
	record->new_path_size = (buffer->used & PATH_MASK) - sizeof(*record) - record->path_size;
}

/* Its last name is gone; `entry` has that name still. */
static __always_inline void add_delete(struct tracer_path_buffer *buffer, const struct tracer_process *process,
				       struct vfsmount *mount, struct dentry *entry, struct inode *inode)
{
	struct tracer_file_key key;
	struct tracer_file_sums *sums;

	if (BPF_CORE_READ(inode, i_nlink))
		return;
	struct tracer_wire_file_use *record = add_move(buffer, process, inode, TRACER_FILE_DELETED, &key, &sums);
	if (!record)
		return;
	if (key.inode) {
		record->path_cut = !append_host_path(buffer, mount, entry);
		end_path(buffer, record);
	}
	send_use(buffer, process, &key, sums);
}

static __always_inline void add_rename(struct tracer_path_buffer *buffer, const struct tracer_process *process,
				       const struct tracer_move *move)
{
	struct vfsmount *mount = (void *)move->mount;
	struct tracer_file_key key;
	struct tracer_file_sums *sums;
	struct tracer_wire_file_use *record =
		add_move(buffer, process, (void *)move->inode, TRACER_FILE_RENAMED, &key, &sums);

	if (!record)
		return;
	if (key.inode) {
		append_name(buffer, move->name, move->name_size);
		record->path_cut = !append_host_path(buffer, mount, (void *)move->folder);
		end_path(buffer, record);
		add_new_path(buffer, record, mount, (void *)move->entry);
	}
	send_use(buffer, process, &key, sums);
}

/* What had the new name has that of the other now. */
static __always_inline void add_exchanged(struct tracer_path_buffer *buffer, const struct tracer_process *process,
					  const struct tracer_move *move)
{
	struct vfsmount *mount = (void *)move->mount;
	struct tracer_file_key key;
	struct tracer_file_sums *sums;
	struct tracer_wire_file_use *record =
		add_move(buffer, process, (void *)move->target_inode, TRACER_FILE_RENAMED, &key, &sums);

	if (!record)
		return;
	if (key.inode) {
		record->path_cut = !append_host_path(buffer, mount, (void *)move->entry);
		end_path(buffer, record);
		add_new_path(buffer, record, mount, (void *)move->target);
	}
	send_use(buffer, process, &key, sums);
}

/* What this thread was about to do with the entry, and has done. NULL: it is another's, as of the file system below. */
static __always_inline struct tracer_move *move_done(__u64 thread, __u64 entry)
{
	struct tracer_move *move = bpf_map_lookup_elem(&moves, &thread);

	return move && move->entry == entry ? move : NULL;
}

static __noinline int rename_ended(__u64 entry, int failed)
{
	__u64 thread = bpf_get_current_pid_tgid();
	struct tracer_move *move = move_done(thread, entry);
	struct tracer_path_buffer *buffer = buffer_at(BUFFER_OF_RENAMES);

	if (!move || !buffer)
		return 0;
	struct tracer_process *process = failed ? NULL : current_process();
	if (process) {
		add_rename(buffer, process, move);
		if (move->target && move->exchanges)
			add_exchanged(buffer, process, move);
		else if (move->target)
			add_delete(buffer, process, (void *)move->mount, (void *)entry, (void *)move->target_inode);
	}
	bpf_map_delete_elem(&moves, &thread);
	return 0;
}

static __noinline int delete_ended(__u64 entry, int failed)
{
	__u64 thread = bpf_get_current_pid_tgid();
	struct tracer_move *move = move_done(thread, entry);
	struct tracer_path_buffer *buffer = buffer_at(BUFFER_OF_DELETES);

	if (!move || !buffer)
		return 0;
	struct tracer_process *process = failed ? NULL : current_process();
	if (process)
		add_delete(buffer, process, (void *)move->mount, (void *)entry, (void *)move->inode);
	bpf_map_delete_elem(&moves, &thread);
	return 0;
}

#endif
