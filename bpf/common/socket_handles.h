/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sockets that threads wait for, in 32 bits. */
#ifndef TRACER_SOCKET_HANDLES_H
#define TRACER_SOCKET_HANDLES_H

#include "../wire.h"

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
