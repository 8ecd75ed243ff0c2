/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How many things a family tells apart, of one process or program, and of the users that share its table: what is
 * beyond that is folded.
 */
#ifndef TRACER_TOLD_APART_H
#define TRACER_TOLD_APART_H

#include "../wire.h"

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, __u64);
	__type(value, __u64);
} told_apart SEC(".maps");

static __always_inline __u64 told_apart_id(__u64 start_ns, __u32 pid)
{
	return start_ns ^ ((__u64)pid << 32);
}

/* Whether another one may be told apart. What is global here is verified once, not for each way to it. */
__noinline bool has_room(__u64 start_ns, __u32 pid, __u64 most)
{
	__u64 id = told_apart_id(start_ns, pid);
	__u64 *count = bpf_map_lookup_elem(&told_apart, &id);

	return !count || *count < most;
}

__noinline int note_told_apart(__u64 start_ns, __u32 pid)
{
	__u64 id = told_apart_id(start_ns, pid);
	__u64 *count = bpf_map_lookup_elem(&told_apart, &id);
	__u64 one = 1;

	if (count)
		__sync_fetch_and_add(count, 1);
	else
		bpf_map_update_elem(&told_apart, &id, &one, BPF_ANY);
	return 0;
}

/* Rows of the table, by account and in all. User space subtracts those that it deletes. */
__u32 rows_of[TRACER_ACCOUNTS] = {};
__u32 rows_of_all = 0;

/*
 * An account takes another row only as long as it has fewer than so many times what is free. With 2, one takes two
 * thirds of the table, and whoever comes later finds a third.
 */
#define SHARES_OF_ROWS 2
#define SHARES_OF_FOLDED 8

/* Whether it may take a row of a table with so many; it is counted then. */
__noinline bool take_row(__u32 account, __u32 rows, __u32 shares)
{
	__u32 *own = &rows_of[account % TRACER_ACCOUNTS];
	__u32 taken = rows_of_all;

	if (taken >= rows || *own >= shares * (rows - taken))
		return false;
	__sync_fetch_and_add(own, 1);
	__sync_fetch_and_add(&rows_of_all, 1);
	return true;
}

__noinline int give_row_back(__u32 account)
{
	__sync_fetch_and_add(&rows_of[account % TRACER_ACCOUNTS], -1);
	__sync_fetch_and_add(&rows_of_all, -1);
	return 0;
}

#endif
