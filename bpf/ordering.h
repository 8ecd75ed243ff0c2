/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * In which order other CPUs see what is written. x86 keeps the order of writes, and that of reads, and any locked
 * addition is a full barrier there. arm64 keeps neither, and of its additions only those that tell what was before are
 * barriers; its kernels have them since 1902472b4fa9 (5.18).
 */
#ifndef TRACER_ORDERING_H
#define TRACER_ORDERING_H

#if defined(__TARGET_ARCH_arm64)
#define CPU_REORDERS 1
#else
#define CPU_REORDERS 0
#endif

/* Adds. All that was read and written before is so for everybody before what follows is. */
static __always_inline void add_in_order(__u32 *word, __s32 by)
{
#if CPU_REORDERS
	__u32 before = __sync_fetch_and_add(word, by);

	/* The compiler would take one that fetches nothing if nobody wanted the result. */
	asm volatile("" : : "r"(before) : "memory");
#else
	__sync_fetch_and_add(word, by);
#endif
}

/* Likewise, without adding; for the order of writes among each other, and that of reads. */
static __always_inline void keep_order(void)
{
#if CPU_REORDERS
	__u32 nothing = 0;

	asm volatile("" : : "r"(&nothing) : "memory");
	add_in_order(&nothing, 0);
#else
	barrier();
#endif
}

/*
 * `found`, if `key`, which was read from it, is the one that is wanted; else null. What is read of it then is as of
 * when the key was written, or later: a branch alone keeps no order of reads.
 */
static __always_inline void *known_by(void *found, __u64 key, __u64 wanted)
{
	if (key != wanted)
		return NULL;
	if (CPU_REORDERS)
		keep_order();
	return found;
}

/* At the begin and at the end of a change that only one makes at a time: odd in between. */
static __always_inline void note_change(__u32 *changes)
{
#if CPU_REORDERS
	add_in_order(changes, 1);
#else
	barrier();
	++*changes;
	barrier();
#endif
}

#endif
