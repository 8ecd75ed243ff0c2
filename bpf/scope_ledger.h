/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The ledger of a scope: of several processes together, as that of a process is of several threads. User space says
 * which processes are in a scope; what they fork is in it, too.
 */
#ifndef TRACER_SCOPE_LEDGER_H
#define TRACER_SCOPE_LEDGER_H

#include "process_ledger.h"

static __always_inline struct tracer_scope_ledger_slot *scope_slot(__u32 scope)
{
	__u32 index = scope & scope_mask;

	return bpf_map_lookup_elem(&scope_ledgers, &index);
}

/* Null: none, or one that is over. */
static __always_inline struct tracer_process_ledger *scope_ledger_find(__u32 scope)
{
	struct tracer_scope_ledger_slot *slot = scope_slot(scope);

	return slot && scope && slot->scope == scope ? &slot->ledger : NULL;
}

/* A thread that could run, and does not. */
static __noinline int ready_in_scope(struct tracer_thread *thread, __u32 scope)
{
	struct tracer_process_ledger *ledger = scope_ledger_find(scope);

	if (!ledger || !thread)
		return 0;
	thread->ready |= TRACER_READY_IN_SCOPE;
	thread->ready_scope = scope;
	__sync_fetch_and_add(&ledger->ready, 1);
	return 0;
}

static __noinline int no_more_ready_in_scope(struct tracer_thread *thread)
{
	if (!thread)
		return 0;
	struct tracer_process_ledger *ledger = scope_ledger_find(thread->ready_scope);

	thread->ready &= ~TRACER_READY_IN_SCOPE;
	if (ledger)
		__sync_fetch_and_add(&ledger->ready, -1);
	return 0;
}

/* When a thread leaves the CPU, whose cause is known. */
static __always_inline void note_ready_in_scope(struct tracer_thread *thread, __u32 scope)
{
	bool was_ready = thread->ready & TRACER_READY_IN_SCOPE;

	if (thread->cause != TRACER_WAIT_NONE) {
		if (__builtin_expect(was_ready, 0))
			no_more_ready_in_scope(thread);
	} else if (scope && !was_ready) {
		ready_in_scope(thread, scope);
	}
}

/* A switch that concerns a scope. As change_process. */
static __always_inline void change_scope(struct tracer_counted_cpu *cpu, bool fetches)
{
	struct tracer_process_ledger *ledger;
	__u32 next = cpu->next_is_kernels ? 0 : cpu->next_scope;
	bool stays = cpu->scope == next;

	if (cpu->scope && (cpu->owns_in_scope || !stays)) {
		ledger = scope_ledger_find(cpu->scope);
		if (ledger && cpu->owns_in_scope)
			book_gap(ledger, cpu->arrival_ns, &cpu->ended, fetches);
		if (ledger && !stays)
			depart(ledger, cpu->now_ns, cpu->cause, fetches);
		cpu->owns_in_scope = 0;
	}
	if (stays)
		return;
	cpu->scope = 0;
	ledger = scope_ledger_find(next);
	if (!ledger)
		return;
	cpu->scope = next;
	cpu->owns_in_scope = arrive(ledger, cpu->next, fetches);
}

#endif
