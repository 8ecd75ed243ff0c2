/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the family waits shares with those that know sockets and devices. */
#ifndef TRACER_WAIT_TARGET_MAPS_H
#define TRACER_WAIT_TARGET_MAPS_H

#include "wire.h"

/* By the id of the thread; only with `owes` of it. */
struct tracer_owed_wait {
	__u64 wait_ns;
	__u32 socket; /* socket_handle() */
	__u32 reserved;
};
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, struct tracer_owed_wait);
} owed_waits SEC(".maps");

/* On this CPU: who asked which device for something. */
struct tracer_last_bio {
	__u64 switches; /* that the thread had made of its own will */
	__u32 tid;
	__u32 device;
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tracer_last_bio);
} last_bio SEC(".maps");

#define TRACER_SOCKET_POLLED 2 /* in place of a handle: some socket, in a call that waits for several things */

static __always_inline bool is_socket_wait(__u32 cause)
{
	return cause == TRACER_WAIT_NETWORK || cause == TRACER_WAIT_LOCAL_SOCKET;
}

/* Of sockets that live at the same time no two have the same, but for some that lie 128 GiB apart. Odd. */
static __always_inline __u32 socket_handle(__u64 sock)
{
	return (__u32)(sock >> 5) | 1;
}

#endif
