/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How many things of one process, or program, a family tells apart: what is beyond that is folded. */
#ifndef TRACER_TOLD_APART_H
#define TRACER_TOLD_APART_H

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, __u64);
	__type(value, __u64);
} told_apart SEC(".maps");

/* Whether another one may be told apart; it is counted then. */
static __always_inline bool has_room(__u64 start_ns, __u32 pid, __u64 most)
{
	__u64 id = start_ns ^ ((__u64)pid << 32);
	__u64 *count = bpf_map_lookup_elem(&told_apart, &id);
	__u64 one = 1;

	if (!count) {
		bpf_map_update_elem(&told_apart, &id, &one, BPF_ANY);
		return true;
	}
	if (*count >= most)
		return false;
	__sync_fetch_and_add(count, 1);
	return true;
}

#endif
