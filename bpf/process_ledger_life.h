/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The beginning and the end of a process's ledger, and its sums on the way. */
#ifndef TRACER_PROCESS_LEDGER_LIFE_H
#define TRACER_PROCESS_LEDGER_LIFE_H

#include "ledger_life.h"
#include "process_ledger.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, PROGRAMS);
	__type(key, __u32);
	__type(value, struct tracer_process_ledger);
} process_ledger_copy SEC(".maps");

DEFINE_PLACES_TAKEN(process_ledger, tracer_process_ledger_slot, tracer_process_ledger, pid, ledger,
		    displaced_process_ledgers, process_ledger_copy, TRACER_LOSS_LEDGER_TABLE)

/* Null: it has none, as nearly all. */
static __always_inline struct tracer_process_ledger *own_ledger(__u32 pid)
{
	struct tracer_counting *all = counting_of_all();

	return all && *process_mark(all, pid) ? process_ledger_find(pid) : NULL;
}

/* Some thread was on a CPU when the ledger of its process began: user space has count_here run on each. */
__u32 uncounted = 0;

static __always_inline struct tracer_process_ledger *begin_process_ledger(struct tracer_process *process, __u32 pid,
									  __u64 now_ns, __u32 program)
{
	struct tracer_process_ledger *ledger = process_ledger_take(pid, program);

	if (!ledger) {
		process->ledger_lost = 1;
		return NULL;
	}
	ledger->since_ns = now_ns;
	ledger->zero_ns = queue_clock_now(now_ns);
	return ledger;
}

static __always_inline void mark_process(__u32 pid, __s32 by)
{
	struct tracer_counting *all = counting_of_all();

	if (all)
		__sync_fetch_and_add(process_mark(all, pid), by);
}

/* It is about to have a second thread. The first runs here, and what it waited for is what the process waited for. */
static __noinline void split_ledger(struct tracer_process *process, struct task_struct *task, __u64 now_ns)
{
	struct tracer_counting *all = counting_of_all();
	__u32 program = PROGRAM_FORK;

	if (!all || process_ledger_find(task->tgid))
		return;
	struct tracer_process_ledger *ledger = begin_process_ledger(process, task->tgid, now_ns, program);
	struct tracer_thread *thread = thread_of(task);
	struct tracer_thread *copy = bpf_map_lookup_elem(&thread_copy, &program);
	if (!ledger)
		return;
	if (thread && copy) {
		struct tracer_ended_wait ended;
		__builtin_memcpy(copy, thread, sizeof(*copy));
		book(copy, BPF_CORE_READ(task, sched_task_group), task->sched_info.last_arrival,
		     task->sched_info.run_delay, &ended);
		ledger->since_ns = copy->followed_ns;
		ledger->run_queue_ns = copy->run_queue_ns;
		__builtin_memcpy(ledger->wait_ns, copy->wait_ns, sizeof(ledger->wait_ns));
	}
	/* In this order, as a switch may come in between. */
	ledger->on_cpu = 1;
	barrier();
	counted_cpu(all)->owns = 0;
	counted_cpu(all)->pid = task->tgid;
	keep_order();
	mark_process(task->tgid, 1);
}

/* One that lives already, and has several threads. `cause`: what its first thread waits for. */
static __always_inline void join_process_ledger(struct tracer_process *process, __u32 pid, __u32 cause, __u64 now_ns,
						__u32 program)
{
	if (process_ledger_find(pid))
		return;
	struct tracer_process_ledger *ledger = begin_process_ledger(process, pid, now_ns, program);
	if (!ledger)
		return;
	ledger->zero_cause = cause;
	keep_order();
	mark_process(pid, 1);
	uncounted = 1;
}

static __always_inline void forget_process_ledger(__u32 pid)
{
	if (!own_ledger(pid))
		return;
	mark_process(pid, -1);
	process_ledger_leave(pid);
}

/* A ledger, not in the middle of a change. */
static __always_inline bool copy_process_ledger(struct tracer_process_ledger *copy,
						const struct tracer_process_ledger *ledger)
{
	__u32 changes = *(volatile __u32 *)&ledger->changes;

	keep_order();
	__builtin_memcpy(copy, ledger, sizeof(*copy));
	keep_order();
	/* Departures and arrivals count no change, as they are on the path of each switch. */
	return !(changes & 1) && changes == *(volatile __u32 *)&ledger->changes &&
	       copy->on_cpu == *(volatile __s32 *)&ledger->on_cpu &&
	       copy->zero_ns == *(volatile __u64 *)&ledger->zero_ns &&
	       copy->gap_from_ns == *(volatile __u64 *)&ledger->gap_from_ns &&
	       copy->owner == *(volatile __u64 *)&ledger->owner;
}

/* Into a copy: the gap that is still open; or the last, whose owner runs. */
static __always_inline void add_last_gap(struct tracer_process_ledger *copy, __u64 now_ns, __u32 program)
{
	struct task_struct *owner = (void *)copy->owner;
	struct tracer_ended_wait ended = {};

	if (copy->on_cpu <= 0) {
		copy->gap_from_ns = copy->zero_ns;
		ended.cause = copy->zero_cause;
		copy->gap_ready = ended.cause == TRACER_WAIT_NONE || copy->ready > 0;
		add_gap(copy, queue_clock_now(now_ns), &ended);
		return;
	}
	if (!owner)
		return;
	struct tracer_thread *thread = thread_find(BPF_CORE_READ(owner, pid));
	struct tracer_thread *waited = bpf_map_lookup_elem(&thread_copy, &program);
	if (!thread || !waited || thread->task != (__u64)owner)
		return;
	__builtin_memcpy(waited, thread, sizeof(*waited));
	__u64 in_ns = BPF_CORE_READ(owner, sched_info.last_arrival);
	book(waited, BPF_CORE_READ(owner, sched_task_group), in_ns, BPF_CORE_READ(owner, sched_info.run_delay), &ended);
	add_gap(copy, in_ns, &ended);
}

/* Null: there is no room. */
static __always_inline struct tracer_process_ledger *steady_copy(const struct tracer_process_ledger *ledger,
								 __u32 program)
{
	struct tracer_process_ledger *copy = bpf_map_lookup_elem(&process_ledger_copy, &program);

	if (!copy)
		return NULL;
	if (!copy_process_ledger(copy, ledger) && !copy_process_ledger(copy, ledger))
		copy_process_ledger(copy, ledger);
	return copy;
}

/* The sums up to now; zeroed, if it has no ledger of its own. */
static __noinline void process_waits_until(struct tracer_wire_process_waits *to, __u32 pid, __u64 now_ns, __u32 program)
{
	struct tracer_process_ledger *ledger = own_ledger(pid);

	if (!to)
		return;
	__builtin_memset(to, 0, sizeof(*to));
	if (!ledger)
		return;
	struct tracer_process_ledger *copy = steady_copy(ledger, program);
	if (!copy)
		return;
	add_last_gap(copy, now_ns, program);
	to->life_ns = now_ns - copy->since_ns;
	to->run_queue_ns = copy->run_queue_ns;
	__builtin_memcpy(to->wait_ns, copy->wait_ns, sizeof(to->wait_ns));
}

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tracer_wire_process_waits);
} exec_process_waits SEC(".maps");

/* At an exec, behind everything else, if it ever had a second thread. */
static __noinline int append_process_waits(struct tracer_exec_buffer *to, __u32 pid, __u64 now_ns)
{
	__u32 key = 0;

	if (!own_ledger(pid))
		return 0;
	struct tracer_wire_process_waits *waits = bpf_map_lookup_elem(&exec_process_waits, &key);
	struct tracer_wire_process_exec *record = (void *)to->bytes;
	__u32 offset = to->used & EXEC_MASK;
	if (!waits)
		return 0;
	process_waits_until(waits, pid, now_ns, PROGRAM_EXEC);
	bpf_probe_read_kernel(&to->bytes[offset], sizeof(*waits), waits);
	to->used = offset + sizeof(*waits);
	record->flags |= TRACER_FLAG_PROCESS_WAITS;
	return 0;
}

#endif
