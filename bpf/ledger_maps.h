/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The maps of the ledger: made with the lifecycle family, which begins and ends the threads in them; shared with the
 * waits family, which fills them.
 */
#ifndef TRACER_LEDGER_MAPS_H
#define TRACER_LEDGER_MAPS_H

#include "thread_places.h"

/*
 * How many threads whose ids have these low bits wait for what another process may end. So a waking, of which
 * there are many, need not look into the table, which is seldom in the cache.
 */
#define AWAITING_IDS 8192
struct tracer_awaiting {
	__u32 threads[AWAITING_IDS];
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tracer_awaiting);
} awaiting SEC(".maps");

/* Of processes of which another has ended a wait for a local socket or a lock. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 2048);
	__type(key, struct tracer_wait_peers_key);
	__type(value, struct tracer_wait_peers);
} wait_peers SEC(".maps");

/* As `processes`, only of those with several threads. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* a power of two */
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct tracer_process_ledger_slot);
} process_ledgers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tracer_process_ledger);
} displaced_process_ledgers SEC(".maps");

/* Of scopes, by the low bits of their ids. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* a power of two */
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct tracer_scope_ledger_slot);
} scope_ledgers SEC(".maps");

/*
 * Which processes have such a ledger, so that the switches of all others need not look into the table; and for which
 * each CPU is counted.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	/* As above: CPUs that write to their parts all the time share no line. */
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct tracer_counting);
} counting SEC(".maps");

const volatile __u32 process_ledger_mask = 0;	    /* places in `process_ledgers`, less 1 */
const volatile __u32 scope_mask = 0;		    /* places in `scope_ledgers`, less 1 */
const volatile __u8 call_causes[TRACER_CALLS] = {}; /* by the number of a system call: TRACER_WAIT_* or TRACER_CALL_* */

#endif
