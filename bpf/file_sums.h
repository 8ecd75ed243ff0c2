/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What processes have done with files, in all, and the records that say so; noise is left out. */
#ifndef TRACER_FILE_SUMS_H
#define TRACER_FILE_SUMS_H

#include "wire.h"
#include "common/emit.h"
#include "common/records.h"
#include "common/shares.h"
#include "common/told_apart.h"
#include "acting_user.h"
#include "host_paths.h"

#define MOST_FILE_USES 32768
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MOST_FILE_USES);
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

const volatile __u64 most_files = 8192; /* of a process, noise among them */
const volatile __u8 sees_moves = 0;	/* renames and deletes */

static __always_inline bool is_regular(struct inode *inode)
{
	return inode && (BPF_CORE_READ(inode, i_mode) & S_IFMT) == S_IFREG;
}

/* Of the process that runs now. */
static __always_inline void fill_key(struct tracer_file_key *key, const struct tracer_process *process, __u64 inode,
				     __u32 device, __u32 generation)
{
	key->start_ns = process->start_ns;
	key->inode = inode;
	key->device = device;
	key->generation = generation;
	key->pid = bpf_get_current_pid_tgid() >> 32;
	key->user = acting_user(process);
}

__u64 own_seed = 0; /* random, so that what is made of a handle does not tell it; with the maps, over a restart */

/*
 * Device numbers are given again, and an overlay on a fresh tmpfs has the inode numbers of the one before: the root of
 * the file system tells them apart. Others do so by the generation of each inode. Global, as append_entries().
 */
__noinline __u32 overlay_generation(__u64 address)
{
	struct inode *inode = (void *)address;
	__u64 root = (__u64)BPF_CORE_READ(inode, i_sb, s_root);

	return ((root ^ own_seed) * 0x9e3779b97f4a7c15ULL >> 32) ^ BPF_CORE_READ(inode, i_generation);
}

static __always_inline void fill_file_key(struct tracer_file_key *key, const struct tracer_process *process,
					  struct inode *inode)
{
	bool is_overlay = BPF_CORE_READ(inode, i_sb, s_magic) == OVERLAYFS_SUPER_MAGIC;

	fill_key(key, process, BPF_CORE_READ(inode, i_ino), BPF_CORE_READ(inode, i_sb, s_dev),
		 is_overlay ? overlay_generation((__u64)inode) : BPF_CORE_READ(inode, i_generation));
}

/* By the wall clock. Global, as append_entries(). */
__noinline __u64 modified_ns(__u64 address)
{
	struct inode *inode = (void *)address;

	if (bpf_core_field_exists(inode->i_mtime_sec))
		return BPF_CORE_READ(inode, i_mtime_sec) * 1000000000ULL + BPF_CORE_READ(inode, i_mtime_nsec);
	if (bpf_core_field_exists(((struct inode___before_6_11 *)inode)->__i_mtime)) {
		struct inode___before_6_11 *before = (void *)inode;
		return BPF_CORE_READ(before, __i_mtime.tv_sec) * 1000000000ULL +
		       BPF_CORE_READ(before, __i_mtime.tv_nsec);
	}
	struct inode___before_6_7 *before = (void *)inode;
	return BPF_CORE_READ(before, i_mtime.tv_sec) * 1000000000ULL + BPF_CORE_READ(before, i_mtime.tv_nsec);
}

/* One bit is set for each of them: most of the others are known by theirs, without a hash. */
const volatile __u64 noise_bits[TRACER_NOISE_WORDS] = {};

static __always_inline bool is_noise_magic(__u32 magic)
{
	__u32 bit = TRACER_NOISE_BIT(magic);

	if (!(noise_bits[bit / 64] & (1ULL << (bit % 64))))
		return false;
	return bpf_map_lookup_elem(&noise_filesystems, &magic);
}

static __always_inline bool is_on_noise(struct inode *inode)
{
	return is_noise_magic(BPF_CORE_READ(inode, i_sb, s_magic));
}

static __always_inline bool is_known_noise(const struct tracer_file_key *key, __u64 place)
{
	struct tracer_noise_key noise = {key->inode, place, key->device, key->generation};

	return bpf_map_lookup_elem(&noise_files, &noise);
}

/* Begins them where there are none, and sets `fresh`, unless another CPU has just begun them. Those of a file that
 * finds no room are the ones of all such files of the process. NULL: there is no room for any; that is counted. */
static __always_inline struct tracer_file_sums *sums_of_file(struct tracer_file_key *key,
							     const struct tracer_process *process, bool *fresh)
{
	struct tracer_file_sums *sums = bpf_map_lookup_elem(&file_uses, key);

	if (sums)
		return sums;
	struct tracer_file_sums none = {.moves_unseen = !sees_moves, .account = account_of(bpf_get_current_uid_gid())};
	bool taken = false;
	if (key->inode && has_room(process->start_ns, process->pid, most_files)) {
		taken = take_row(none.account, MOST_FILE_USES, SHARES_OF_ROWS);
		none.no_room = !taken;
		if (taken)
			note_told_apart(process->start_ns, process->pid);
	}
	if (!taken) {
		if (key->inode)
			key->inode = key->device = key->generation = 0;
		sums = bpf_map_lookup_elem(&file_uses, key);
		if (sums && none.no_room)
			sums->no_room = 1;
		if (sums)
			return sums;
		taken = take_row(none.account, MOST_FILE_USES, SHARES_OF_FOLDED);
	}
	*fresh = taken && bpf_map_update_elem(&file_uses, key, &none, BPF_NOEXIST) == 0;
	if (taken && !*fresh)
		give_row_back(none.account);
	sums = bpf_map_lookup_elem(&file_uses, key);
	if (!sums)
		count_loss(TRACER_LOSS_RING_FILE_USE);
	return sums;
}

/* Another file, whose number was given again, has the key now. What was not sent of the one before is given up. */
static __always_inline void begin_anew(struct tracer_file_sums *sums)
{
	if (sums->opens > sums->sent_opens)
		count_loss(TRACER_LOSS_RING_FILE_USE);
	__u32 account = sums->account;
	__builtin_memset(sums, 0, sizeof(*sums));
	sums->moves_unseen = !sees_moves;
	sums->account = account;
}

/* All that is counted, since the record that was sent last. */
static __always_inline bool have_doubled(const struct tracer_file_sums *sums)
{
	return sums->opens + sums->renames + sums->deletes >=
	       2 * (sums->sent_opens + sums->sent_renames + sums->sent_deletes);
}

/* Begins a record, which paths may follow. */
static __always_inline struct tracer_wire_file_use *begin_use(struct tracer_path_buffer *buffer,
							      const struct tracer_process *process,
							      const struct tracer_file_key *key,
							      const struct tracer_file_sums *sums, bool fresh)
{
	struct tracer_wire_file_use *record = (void *)buffer->bytes;

	__builtin_memset(record, 0, sizeof(*record));
	fill_identity(&record->identity, process);
	record->key = *key;
	record->sums = *sums;
	record->fresh = fresh;
	record->more_opens = sums->opens - sums->sent_opens;
	record->more_renames = sums->renames - sums->sent_renames;
	record->more_deletes = sums->deletes - sums->sent_deletes;
	buffer->used = sizeof(*record);
	return record;
}

static __always_inline void name_filesystem(struct tracer_wire_file_use *record, struct inode *inode)
{
	struct super_block *super = BPF_CORE_READ(inode, i_sb);

	bpf_probe_read_kernel_str(record->filesystem, sizeof(record->filesystem), BPF_CORE_READ(super, s_type, name));
	if (bpf_core_field_exists(super->s_subtype))
		bpf_probe_read_kernel_str(record->subtype, sizeof(record->subtype), BPF_CORE_READ(super, s_subtype));
}

/* The first path is complete. */
static __always_inline void end_path(struct tracer_path_buffer *buffer, struct tracer_wire_file_use *record)
{
	record->path_size = (buffer->used & PATH_MASK) - sizeof(*record);
}

/* What the buffer has; the first path comes again with the next close, where this record finds no room. */
static __always_inline void send_use(struct tracer_path_buffer *buffer, const struct tracer_process *process,
				     const struct tracer_file_key *key, struct tracer_file_sums *sums)
{
	struct tracer_wire_file_use *record = (void *)buffer->bytes;
	__u32 size = buffer->used & PATH_MASK;

	fill_header(&record->header, TRACER_WIRE_FILE_USE, size, process->pid, process->start_ns,
		    bpf_ktime_get_boot_ns());
	if (!send_within_own_share(record, size, record->sums.account)) {
		sums->sent_opens = sums->opens;
		sums->sent_renames = sums->renames;
		sums->sent_deletes = sums->deletes;
		return;
	}
	count_loss(TRACER_LOSS_RING_FILE_USE);
	if (record->fresh && bpf_map_delete_elem(&file_uses, key) == 0)
		give_row_back(record->sums.account);
}

#endif
