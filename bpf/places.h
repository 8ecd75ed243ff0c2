/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A table by pid: an array by its low bits, and a hash map for the few whose place is taken, as hash maps cost several
 * times as much, in cache misses. A slot begins with the pid (0: free) and the number of those displaced by it.
 */
#ifndef TRACER_PLACES_H
#define TRACER_PLACES_H

/* Defines NAME_slot and NAME_find. */
#define DEFINE_PLACES(NAME, SLOT, VALUE, id, value, array, displaced_map, mask)            \
	static __always_inline struct SLOT *NAME##_slot(__u32 pid)                         \
	{                                                                                  \
		__u32 index = pid & mask;                                                  \
                                                                                           \
		return bpf_map_lookup_elem(&array, &index);                                \
	}                                                                                  \
                                                                                           \
	/* 0 is the idle task, the parent of the first process, and never there. */        \
	static __always_inline struct VALUE *NAME##_find(__u32 pid)                        \
	{                                                                                  \
		struct SLOT *slot = NAME##_slot(pid);                                      \
                                                                                           \
		if (!slot || !pid)                                                         \
			return NULL;                                                       \
		if (slot->id == pid)                                                       \
			return &slot->value;                                               \
		return slot->displaced ? bpf_map_lookup_elem(&displaced_map, &pid) : NULL; \
	}

/*
 * Defines NAME_take and NAME_leave; `buffer` holds a blank value by the number of the program.
 * NAME_take gives a zeroed place. Two forks at the same instant never want the same one, as pids are given in turn; and
 * without atomic exchange, which 5.10 lacks, nothing dearer is to be had. NULL, and counted, when there is none.
 */
#define DEFINE_PLACES_TAKEN(NAME, SLOT, VALUE, id, value, displaced_map, buffer, loss) \
	static __always_inline struct VALUE *NAME##_take(__u32 pid, __u32 program)     \
	{                                                                              \
		struct SLOT *slot = NAME##_slot(pid);                                  \
                                                                                       \
		if (!slot)                                                             \
			return NULL;                                                   \
		if (__builtin_expect(slot->id == 0 || slot->id == pid, 1)) {           \
			__builtin_memset(&slot->value, 0, sizeof(slot->value));        \
			slot->id = pid;                                                \
			return &slot->value;                                           \
		}                                                                      \
		struct VALUE *blank = bpf_map_lookup_elem(&buffer, &program);          \
		if (!blank)                                                            \
			return NULL;                                                   \
		__builtin_memset(blank, 0, sizeof(*blank));                            \
		if (bpf_map_update_elem(&displaced_map, &pid, blank, BPF_ANY)) {       \
			count_loss(loss);                                              \
			return NULL;                                                   \
		}                                                                      \
		__sync_fetch_and_add(&slot->displaced, 1);                             \
		return bpf_map_lookup_elem(&displaced_map, &pid);                      \
	}                                                                              \
                                                                                       \
	static __always_inline void NAME##_leave(__u32 pid)                            \
	{                                                                              \
		struct SLOT *slot = NAME##_slot(pid);                                  \
                                                                                       \
		if (!slot)                                                             \
			return;                                                        \
		if (slot->id == pid)                                                   \
			slot->id = 0;                                                  \
		else if (bpf_map_delete_elem(&displaced_map, &pid) == 0)               \
			__sync_fetch_and_add(&slot->displaced, -1);                    \
	}

#endif
