/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Waits for sockets that were booked before their calls returned: the family waits shares them with the network. */
#ifndef TRACER_OWED_WAITS_H
#define TRACER_OWED_WAITS_H

#include "common/socket_handles.h"

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

#endif
