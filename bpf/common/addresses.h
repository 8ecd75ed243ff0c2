/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Addresses of the ends of sockets, as they are on the wire. */
#ifndef TRACER_ADDRESSES_H
#define TRACER_ADDRESSES_H

#include "../kernel_types.h"

static __always_inline bool is_loopback(__u32 address)
{
	return *(__u8 *)&address == 127;
}

struct in6_words {
	__u32 words[4];
};

static __always_inline bool is_loopback6(const struct in6_words *address)
{
	const __u32 *words = address->words;

	if (words[0] || words[1])
		return false;
	return words[2] ? words[2] == BE32(0xffff) && is_loopback(words[3]) : words[3] == BE32(1);
}

static __always_inline bool is_same6(const struct in6_words *a, const struct in6_words *b)
{
	return a->words[0] == b->words[0] && a->words[1] == b->words[1] && a->words[2] == b->words[2] &&
	       a->words[3] == b->words[3];
}

static __always_inline bool is_any6(const struct in6_words *address)
{
	return !(address->words[0] | address->words[1] | address->words[2] | address->words[3]);
}

#endif
