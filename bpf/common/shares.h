/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Records of which there may be floods: what of a ring these may take, users share. */
#ifndef TRACER_SHARES_H
#define TRACER_SHARES_H

#include "emit.h"

/* Of a user in a ring, so that no more than these bytes wait there: those before a position of the ring, and since. */
struct tracer_ring_use {
	__u64 position;
	__u32 before;
	__u32 since;
};
struct tracer_ring_user {
	__u32 account;
	__u32 ring;
};
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, struct tracer_ring_user);
	__type(value, struct tracer_ring_use);
} ring_uses SEC(".maps");

/* Nobody shares root's. */
static __always_inline __u32 as_account(__u32 user)
{
	return user ? 1 + user % (TRACER_ACCOUNTS - 1) : 0;
}

/* The user to whom a user id is charged, as one of TRACER_ACCOUNTS. Global: verified once, wherever it is called. */
__noinline __u32 account_of(__u32 uid)
{
	__u32 none = 0;
	struct tracer_id_range *range = bpf_map_lookup_elem(&id_ranges, &none);

	if (!range)
		return as_account(uid);
	__u32 count = range->first;
	/* 0, which the verifier does not know: it would follow each way to each number. */
	__u32 found = range->last;
#pragma clang loop unroll(disable)
	for (__u32 step = TRACER_MOST_ID_RANGES / 2; step; step /= 2) {
		__u32 next = found + step;
		range = bpf_map_lookup_elem(&id_ranges, &next);
		if (next <= count && range && range->first <= uid)
			found = next;
	}
	range = bpf_map_lookup_elem(&id_ranges, &found);
	return as_account(found && range && uid <= range->last ? range->user : uid);
}

/* What was sent since the position may be read once all before it is. */
static __always_inline bool within_own_share(void *ring, __u32 account, __u64 size, __u64 free)
{
	struct tracer_ring_user key = {account, ring_of_cpu()};
	struct tracer_ring_use *use = bpf_map_lookup_elem(&ring_uses, &key);

	if (!use) {
		struct tracer_ring_use first = {bpf_ringbuf_query(ring, BPF_RB_PROD_POS), 0, size};
		bpf_map_update_elem(&ring_uses, &key, &first, BPF_ANY);
		return true;
	}
	if (bpf_ringbuf_query(ring, BPF_RB_CONS_POS) >= use->position) {
		use->before = use->since;
		use->since = 0;
		use->position = bpf_ringbuf_query(ring, BPF_RB_PROD_POS);
	}
	if (use->before + use->since > 2 * free)
		return false;
	use->since += size;
	return true;
}

/* As send_within_share(), of which one user leaves others some. */
static __always_inline long send_within_own_share(void *record, __u64 size, __u32 account)
{
	void *ring = own_ring();

	if (!ring)
		return -1;
	__u64 waiting = bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA);
	if (waiting > flood_bytes || !within_own_share(ring, account, size, flood_bytes - waiting))
		return -1;
	return send(record, size);
}

#endif
