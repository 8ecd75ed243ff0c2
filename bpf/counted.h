/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Programs of lifecycle.bpf.c that user space runs: what is counted as a whole, and what of it. */
#ifndef TRACER_COUNTED_H
#define TRACER_COUNTED_H

#include "process_ledger_life.h"
#include "scope_ledger.h"
#include "wakers.h"

static __always_inline void count_process_here(struct tracer_counting *all, __u32 pid)
{
	if (!*process_mark(all, pid) || counted_cpu(all)->pid)
		return;
	struct tracer_process_ledger *ledger = process_ledger_find(pid);
	if (!ledger)
		return;
	counted_cpu(all)->owns = 0;
	counted_cpu(all)->pid = pid;
	__sync_fetch_and_add(&ledger->on_cpu, 1);
}

static __always_inline void count_scope_here(struct tracer_counting *all, __u32 pid)
{
	struct tracer_counted_cpu *cpu = counted_cpu(all);
	__u32 scope = scope_of_process(pid);

	if (cpu->scope == scope)
		return;
	struct tracer_process_ledger *ledger = scope_ledger_find(cpu->scope);
	if (ledger)
		depart(ledger, queue_clock_now(bpf_ktime_get_boot_ns()), TRACER_WAIT_OTHER, false);
	cpu->scope = 0;
	cpu->owns_in_scope = 0;
	ledger = scope_ledger_find(scope);
	if (!ledger)
		return;
	/* It ran all the time: what seemed a gap was none. */
	ledger->closed_ns = ledger->zero_ns;
	cpu->scope = scope;
	__sync_fetch_and_add(&ledger->on_cpu, 1);
}

/*
 * Run by user space on each CPU, by an interrupt there, after processes with several threads have been taken in, or
 * were put in a scope: what has been on this CPU since before is counted now.
 */
SEC("raw_tp")
int count_here(void *context)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct tracer_counting *all = counting_of_all();
	__u32 pid = BPF_CORE_READ(task, tgid);

	if (!all)
		return 0;
	count_process_here(all, pid);
	if (all->scopes)
		count_scope_here(all, pid);
	return 0;
}

/* Arguments: a scope's id, whose place is free. */
SEC("raw_tp")
int begin_scope(__u64 *context)
{
	__u32 scope = context[0];
	struct tracer_scope_ledger_slot *slot = scope_slot(scope);
	struct tracer_counting *all = counting_of_all();
	__u64 now_ns = bpf_ktime_get_boot_ns();

	if (!slot || !all)
		return 0;
	__builtin_memset(&slot->ledger, 0, sizeof(slot->ledger));
	slot->ledger.since_ns = now_ns;
	slot->ledger.zero_ns = queue_clock_now(now_ns);
	slot->ledger.zero_cause = TRACER_WAIT_OTHER;
	keep_order();
	slot->scope = scope;
	__sync_fetch_and_add(&all->scopes, 1);
	return 0;
}

/* Arguments: the id of one that has begun. */
SEC("raw_tp")
int end_scope(__u64 *context)
{
	__u32 scope = context[0];
	struct tracer_scope_ledger_slot *slot = scope_slot(scope);
	struct tracer_counting *all = counting_of_all();

	if (!slot || !all || slot->scope != scope)
		return 0;
	slot->scope = 0;
	__sync_fetch_and_add(&all->scopes, -1);
	return 0;
}

/* Arguments: a scope's id, or 0; a process's id and start time. Returns TRACER_SCOPE_*. */
SEC("raw_tp")
int put_in_scope(__u64 *context)
{
	__u32 scope = context[0];
	__u32 pid = context[1];
	__u64 start_ns = context[2];
	struct tracer_process *process = process_find(pid);

	if (!process || process->start_ns != start_ns)
		return TRACER_SCOPE_GONE;
	if (process->scope == scope)
		return TRACER_SCOPE_WAS_IN;
	process->scope = scope;
	keep_order();
	if (process->threads > 1)
		return TRACER_SCOPE_MAY_RUN;
	struct tracer_thread *thread = thread_find(pid);
	struct task_struct *task = thread ? (void *)thread->task : NULL;
	if (!task)
		return TRACER_SCOPE_MAY_RUN;
	if (!BPF_CORE_READ(task, on_cpu))
		return TRACER_SCOPE_PUT;
	if (!bpf_core_field_exists(((struct rq *)0)->cpu))
		return TRACER_SCOPE_MAY_RUN;
	return TRACER_SCOPE_RUNS + BPF_CORE_READ(task, se.cfs_rq, rq, cpu);
}

/* Arguments: an open descriptor of a pipe, of what runs here. */
SEC("raw_tp")
int find_fifo_open(__u64 *context)
{
	struct inode *inode = (void *)own_descriptor_inode(context[0]);
	struct tracer_counting *all = counting_of_all();

	if (inode && all)
		all->fifo_open = (__u64)BPF_CORE_READ(inode, i_fop, open);
	return 0;
}

struct tracer_scope_times scope_answer = {};

/* Arguments: a scope's id. The answer: its times up to now. */
SEC("raw_tp")
int read_scope(__u64 *context)
{
	struct tracer_process_ledger *ledger = scope_ledger_find(context[0]);
	struct tracer_scope_times *to = &scope_answer;

	to->waits.life_ns = 0;
	if (!ledger)
		return 0;
	__u64 now_ns = bpf_ktime_get_boot_ns();
	struct tracer_process_ledger *copy = steady_copy(ledger, PROGRAM_SCOPE);
	if (!copy)
		return 0;
	to->open_ns = 0;
	if (copy->on_cpu > 0) {
		add_last_gap(copy, now_ns, PROGRAM_SCOPE);
	} else {
		__u64 until_ns = queue_clock_now(now_ns);
		__u64 open_ns = until_ns > copy->zero_ns ? until_ns - copy->zero_ns : 0;
		if (copy->zero_cause == TRACER_WAIT_NONE || copy->ready > 0)
			copy->run_queue_ns += open_ns;
		else
			to->open_ns = open_ns;
	}
	to->waits.run_queue_ns = copy->run_queue_ns;
	__builtin_memcpy(to->waits.wait_ns, copy->wait_ns, sizeof(to->waits.wait_ns));
	to->on_cpu = copy->on_cpu;
	to->waits.life_ns = now_ns - copy->since_ns;
	return 0;
}

#endif
