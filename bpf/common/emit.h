/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How any family sends records, wakes the reader and counts what it loses. The rings, `reader` and `id_ranges` are made
 * with the lifecycle family and shared with the others; `losses` is each family's own, by its own numbers.
 */
#ifndef TRACER_EMIT_H
#define TRACER_EMIT_H

#include "../wire.h"

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 8 << 20);
} events SEC(".maps");

/* Where there are many CPUs: one for each group of them, as each ring has a lock. User space makes them. */
struct tracer_ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 65536); /* a pattern: some pages, whatever their size */
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct tracer_ring);
} event_rings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct tracer_reader);
} reader SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, TRACER_MOST_LOSS_CAUSES);
	__type(key, __u32);
	__type(value, __u64);
} losses SEC(".maps");

/* Subordinate user ids in order, from the second on; of the first, `first` says how many ranges follow. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TRACER_MOST_ID_RANGES);
	__type(key, __u32);
	__type(value, struct tracer_id_range);
} id_ranges SEC(".maps");

const volatile __u64 wakeup_bytes = 1 << 20; /* wake the reader when so much waits for it in a ring */
const volatile __u64 flood_bytes = 4 << 20;  /* of a ring, the most that records of which there may be floods take */
const volatile __u32 ring_count = 1;	     /* 1: only `events` */
const volatile __u32 ring_cpus_shift = 0;    /* so many CPUs, as a power of two, share a ring */

static __always_inline void count_loss(__u32 cause)
{
	__u64 *count = bpf_map_lookup_elem(&losses, &cause);
	if (count)
		__sync_fetch_and_add(count, 1);
}

/* Its number. A CPU that was added later, beyond the last group, uses the last. */
static __always_inline __u32 ring_of_cpu(void)
{
	__u32 ring = bpf_get_smp_processor_id() >> ring_cpus_shift;

	return ring >= ring_count ? ring_count - 1 : ring;
}

/* That of this CPU. */
static __always_inline void *own_ring(void)
{
	if (ring_count == 1)
		return &events;
	__u32 ring = ring_of_cpu();
	return bpf_map_lookup_elem(&event_rings, &ring);
}

/* A wake-up for each event would cost more than all the rest: one when enough has come together. */
static __always_inline __u64 wakeup_flags(void *ring)
{
	__u32 slot = 0;
	struct tracer_reader *state = bpf_map_lookup_elem(&reader, &slot);

	if (!state || state->woken || bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) < wakeup_bytes)
		return BPF_RB_NO_WAKEUP;
	state->woken = 1;
	return BPF_RB_FORCE_WAKEUP;
}

static __always_inline void forget_wakeup(void)
{
	__u32 slot = 0;
	struct tracer_reader *state = bpf_map_lookup_elem(&reader, &slot);

	if (state)
		state->woken = 0;
}

/* Other than 0: it found no room. */
static __always_inline long send(void *record, __u64 size)
{
	void *ring = own_ring();

	if (!ring)
		return -1;
	__u64 flags = wakeup_flags(ring);
	long failed = bpf_ringbuf_output(ring, record, size, flags);
	/* Then nobody was woken either. */
	if (failed && flags == BPF_RB_FORCE_WAKEUP)
		forget_wakeup();
	return failed;
}

/* Of which there may be floods: what others need in a ring they leave free. */
static __always_inline long send_within_share(void *record, __u64 size)
{
	void *ring = own_ring();

	if (!ring || bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) > flood_bytes)
		return -1;
	return send(record, size);
}

/* Of what is small and soon followed by others, which look how much has come together. */
static __always_inline long send_quietly(void *record, __u64 size)
{
	void *ring = own_ring();

	return ring ? bpf_ringbuf_output(ring, record, size, BPF_RB_NO_WAKEUP) : -1;
}

#endif
