/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The wall-time ledger of a process with several threads: at each moment it runs (one of them is on a CPU), or could
 * run, or waits, and then for what the one waited whose arrival on a CPU ends that. So the threads on CPUs are counted:
 * from when the last leaves until the first arrives is a gap. What of it was in the queue, sched_info tells only when
 * that one leaves again, so the gap is booked then; until then no other can end a gap, as the process runs.
 */
#ifndef TRACER_PROCESS_LEDGER_H
#define TRACER_PROCESS_LEDGER_H

#include "ledger.h"
#include "process_maps.h"
#include "queue_clock.h"
#include "task_state.h"

static __always_inline struct tracer_counting *counting_of_all(void)
{
	__u32 key = 0;

	return bpf_map_lookup_elem(&counting, &key);
}

static __always_inline struct tracer_counted_cpu *counted_cpu(struct tracer_counting *all)
{
	return &all->cpus[bpf_get_smp_processor_id() & (TRACER_MAX_CPUS - 1)];
}

static __always_inline __u32 *process_mark(struct tracer_counting *all, __u32 pid)
{
	return &all->marks[pid & (TRACER_PROCESS_MARKS - 1)];
}

/* Of scopes that are over there is nothing. */
__noinline __u32 scope_of_process(__u32 pid)
{
	struct tracer_process *process = process_find(pid);

	return process ? process->scope : 0;
}

/* What of a switch is read of the two tasks, if it concerns what is counted: most don't. */
static __always_inline void note_switch(struct tracer_counting *all, struct tracer_counted_cpu *cpu,
					struct task_struct *prev, struct task_struct *next)
{
	__u32 prev_pid = prev->tgid;
	__u32 next_pid = next->tgid;
	__u32 prev_tid = prev->pid;

	cpu->concerned = 0;
	cpu->next_scope = 0;
	if (__builtin_expect(all->scopes != 0, 0))
		cpu->next_scope = scope_of_process(next_pid);
	if (__builtin_expect(cpu->scope | cpu->next_scope, 0))
		cpu->concerned = TRACER_CONCERNS_SCOPE;
	if (__builtin_expect(cpu->pid || *process_mark(all, next_pid) || *process_mark(all, prev_pid), 0))
		cpu->concerned |= TRACER_CONCERNS_PROCESS;
	barrier();
	if (__builtin_expect(!cpu->concerned, 1))
		return;
	cpu->prev = (__u64)prev;
	cpu->next = (__u64)next;
	cpu->arrival_ns = prev->sched_info.last_arrival;
	cpu->now_ns = read_queue_clock(prev);
	cpu->prev_is_kernels = kernel_made(prev);
	cpu->next_is_kernels = kernel_made(next);
	cpu->prev_pid = prev_pid;
	cpu->prev_tid = prev_tid;
	cpu->next_pid = next_pid;
}

/* Null: its switches are not counted. */
static __always_inline struct tracer_process_ledger *counted_ledger(struct tracer_counting *all, __u32 pid,
								    __u32 is_kernels)
{
	if (!*process_mark(all, pid) || is_kernels)
		return NULL;
	return process_ledger_find(pid);
}

static __always_inline __u64 *process_wait_of(struct tracer_process_ledger *ledger, __u64 cause)
{
	/* As in wait_of. */
	barrier_var(cause);
	if (cause >= TRACER_WAIT_CAUSES)
		return NULL;
	__u64 *wait_ns = &ledger->wait_ns[cause];
	barrier_var(wait_ns);
	return wait_ns;
}

/* Books a gap up to `in_ns`. Who was preempted, or is new, could run all the time, be it another than the one that
 * comes. */
static __always_inline void add_gap(struct tracer_process_ledger *ledger, __u64 in_ns,
				    const struct tracer_ended_wait *ended)
{
	__u64 gap_ns = in_ns > ledger->gap_from_ns ? in_ns - ledger->gap_from_ns : 0;
	__u64 queued_ns = ended->queued_ns;
	__u64 throttled_ns = ended->throttled_ns;

	if (queued_ns > gap_ns || ledger->gap_ready || ended->cause == TRACER_WAIT_NONE)
		queued_ns = gap_ns;
	if (throttled_ns > queued_ns)
		throttled_ns = queued_ns;
	ledger->run_queue_ns += queued_ns - throttled_ns;
	ledger->wait_ns[TRACER_WAIT_THROTTLED] += throttled_ns;
	__u64 *wait_ns = process_wait_of(ledger, ended->cause);
	if (wait_ns)
		*wait_ns += gap_ns - queued_ns;
}

/* Its owner leaves. */
static __always_inline void book_gap(struct tracer_process_ledger *ledger, __u64 in_ns,
				     const struct tracer_ended_wait *ended, bool fetches)
{
	note_change(&ledger->changes);
	if (fetches || ledger->booked_ns != ledger->gap_from_ns) {
		ledger->booked_ns = ledger->gap_from_ns;
		add_gap(ledger, in_ns, ended);
	}
	ledger->owner = 0;
	note_change(&ledger->changes);
}

/*
 * A thread of it leaves this CPU. The time is noted before the count falls, by each: who finds 0 finds the time of the
 * last, too. The later of two times stays, as the clock of a run queue may be some microseconds old.
 */
static __always_inline void depart(struct tracer_process_ledger *ledger, __u64 now_ns, __u32 cause, bool fetches)
{
	if (now_ns > ledger->zero_ns)
		ledger->zero_ns = now_ns;
	ledger->zero_cause = cause;
	add_in_order((__u32 *)&ledger->on_cpu, -1);
	if (!fetches && *(volatile __s32 *)&ledger->on_cpu == 0)
		ledger->open_ns = ledger->zero_ns;
}

/* True: its arrival ends a gap. */
static __always_inline bool count_arrival(struct tracer_process_ledger *ledger, bool fetches)
{
	/* Counts that tell what they were: 5ca419f2864a (5.12). */
	if (fetches)
		return __sync_fetch_and_add(&ledger->on_cpu, 1) == 0;
	add_in_order((__u32 *)&ledger->on_cpu, 1);
	__s32 on_cpu = *(volatile __s32 *)&ledger->on_cpu;
	/* Of two that arrive at once each sees the other: then both end it, and who leaves first books it. */
	bool ends = on_cpu == 1 || (ledger->open_ns == ledger->zero_ns && ledger->closed_ns != ledger->open_ns);
	if (ends)
		ledger->closed_ns = ledger->zero_ns;
	return ends;
}

/* A thread of it comes to a CPU. True: it owns the gap that this ends. */
static __always_inline bool arrive(struct tracer_process_ledger *ledger, __u64 task, bool fetches)
{
	if (!count_arrival(ledger, fetches))
		return false;
	ledger->gap_from_ns = ledger->zero_ns;
	ledger->gap_ready = ledger->zero_cause == TRACER_WAIT_NONE || ledger->ready > 0;
	ledger->owner = task;
	return true;
}

static __always_inline void arrive_in_process(struct tracer_process_ledger *ledger, struct tracer_counted_cpu *cpu,
					      __u32 pid, __u64 task, bool fetches)
{
	cpu->pid = pid;
	cpu->owns = arrive(ledger, task, fetches);
}

/*
 * What this CPU is counted for is not what leaves it: that was there before its process was followed, or a switch was
 * not shown. Its sched_info says when it came. Shared by kernels of both kinds, so without what only newer ones have.
 */
static __noinline int correct_count(struct tracer_counting *all, struct tracer_counted_cpu *cpu)
{
	struct tracer_process_ledger *ledger;

	if (cpu->pid) {
		ledger = process_ledger_find(cpu->pid);
		if (ledger)
			depart(ledger, cpu->arrival_ns, TRACER_WAIT_OTHER, false);
		cpu->pid = 0;
		cpu->owns = 0;
	}
	ledger = counted_ledger(all, cpu->prev_pid, cpu->prev_is_kernels);
	if (ledger)
		arrive_in_process(ledger, cpu, cpu->prev_pid, cpu->prev, false);
	return 0;
}

/*
 * Of the thread that leaves: whether it could go on, and so stands in the queue until it comes again. Each is counted
 * by a mark of its own, so that no count is left behind.
 */
static __noinline int note_ready(struct tracer_counting *all, struct tracer_counted_cpu *cpu)
{
	struct tracer_process_ledger *ledger = counted_ledger(all, cpu->prev_pid, cpu->prev_is_kernels);

	if (!ledger)
		return 0;
	struct tracer_thread *thread = thread_find(cpu->prev_tid);
	/* The first thread's place may be another's since an exec. */
	if (!thread || thread->task != cpu->prev)
		thread = thread_find(cpu->prev_pid);
	if (!thread || thread->task != cpu->prev)
		return 0;
	if (cpu->cause == TRACER_WAIT_NONE && !(thread->ready & TRACER_READY_IN_PROCESS)) {
		thread->ready |= TRACER_READY_IN_PROCESS;
		__sync_fetch_and_add(&ledger->ready, 1);
	} else if (cpu->cause != TRACER_WAIT_NONE && (thread->ready & TRACER_READY_IN_PROCESS)) {
		thread->ready &= ~TRACER_READY_IN_PROCESS;
		__sync_fetch_and_add(&ledger->ready, -1);
	}
	return 0;
}

/* A switch that concerns a process that is counted. */
static __always_inline void change_process(struct tracer_counting *all, struct tracer_counted_cpu *cpu, bool fetches)
{
	struct tracer_process_ledger *ledger;

	if (cpu->pid != cpu->prev_pid)
		correct_count(all, cpu);
	if ((cpu->cause == TRACER_WAIT_NONE) != ((cpu->ready & TRACER_READY_IN_PROCESS) != 0))
		note_ready(all, cpu);
	bool stays = cpu->pid && cpu->pid == cpu->next_pid && !cpu->next_is_kernels;
	/* Between two threads of one process nothing changes, but a gap may have to be booked. */
	if (cpu->pid && (cpu->owns || !stays)) {
		ledger = process_ledger_find(cpu->pid);
		if (ledger && cpu->owns)
			book_gap(ledger, cpu->arrival_ns, &cpu->ended, fetches);
		if (ledger && !stays)
			depart(ledger, cpu->now_ns, cpu->cause, fetches);
		cpu->owns = 0;
	}
	if (stays)
		return;
	cpu->pid = 0;
	ledger = counted_ledger(all, cpu->next_pid, cpu->next_is_kernels);
	if (ledger)
		arrive_in_process(ledger, cpu, cpu->next_pid, cpu->next, fetches);
}

#endif
