/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The beginning and the end of a thread's ledger, and its sums on the way. */
#ifndef TRACER_LEDGER_LIFE_H
#define TRACER_LEDGER_LIFE_H

#include "ledger.h"
#include "process_ledger.h"
#include "scope_ledger.h"
#include "wait_causes.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, PROGRAMS);
	__type(key, __u32);
	__type(value, struct tracer_thread);
} thread_copy SEC(".maps");

DEFINE_PLACES_TAKEN(thread, tracer_thread_slot, tracer_thread, tid, thread, displaced_threads, thread_copy,
		    TRACER_LOSS_LEDGER_TABLE)

/* One that could run from the first: new, or met so. */
static __always_inline void begin_ready(struct tracer_thread *thread, struct task_struct *task)
{
	struct tracer_counting *all = counting_of_all();
	struct tracer_process_ledger *ledger = all ? counted_ledger(all, task->tgid, kernel_made(task)) : NULL;

	if (!ledger)
		return;
	thread->ready |= TRACER_READY_IN_PROCESS;
	__sync_fetch_and_add(&ledger->ready, 1);
}

/* Its place is given up; at its last switch it has been counted out, unless that was not shown. */
static __always_inline void end_ready(struct tracer_thread *thread, struct task_struct *task)
{
	struct tracer_counting *all;
	struct tracer_process_ledger *ledger;

	if (__builtin_expect(!thread->ready, 1))
		return;
	if (thread->ready & TRACER_READY_IN_SCOPE)
		no_more_ready_in_scope(thread);
	if (!(thread->ready & TRACER_READY_IN_PROCESS))
		return;
	thread->ready = 0;
	all = counting_of_all();
	ledger = all ? counted_ledger(all, task->tgid, 0) : NULL;
	if (ledger)
		__sync_fetch_and_add(&ledger->ready, -1);
}

/* Follows a thread of a process from `since_ns` on: from its birth, or from now, which is `out_ns` by the queue's clock
 * if it may be off the CPU. */
static __noinline struct tracer_thread *begin_ledger(struct tracer_process *process, struct task_struct *task,
						     __u64 since_ns, __u64 out_ns, __u32 program)
{
	struct tracer_thread *thread = thread_take(task->pid, program);

	if (!thread) {
		process->ledger_lost = 1;
		return NULL;
	}
	thread->followed_ns = since_ns;
	thread->out_ns = out_ns;
	thread->queued_before = out_ns != 0;
	thread->cpu_before_ns = task->se.sum_exec_runtime;
	thread->run_delay_ns = task->sched_info.run_delay;
	bool ready = !out_ns || !task_state(task);
	/* A new process has one thread, and no ledger of its own. */
	if (ready && (out_ns || task->pid != task->tgid))
		begin_ready(thread, task);
	if (ready && process->scope)
		ready_in_scope(thread, process->scope);
	/* From here on a switch finds it. */
	keep_order();
	thread->task = (__u64)task;
	return thread;
}

/* Of a new thread, which may find its cgroup held back before it first runs. */
static __always_inline void inherit_limit(struct tracer_thread *thread, struct task_struct *task,
					  struct task_struct *parent)
{
	struct tracer_thread *above = thread_of(parent);

	if (!limits_known() || !thread || !above || !above->limited[0] ||
	    above->group != (__u64)BPF_CORE_READ(task, sched_task_group))
		return;
	thread->group = above->group;
	__builtin_memcpy(thread->limited, above->limited, sizeof(thread->limited));
	thread->throttled_ns = throttled_so_far(thread);
}

/* One that lives already: what it waits for just now is seen, too. */
static __always_inline void join_ledger(struct tracer_process *process, struct task_struct *task, __u64 now_ns,
					__u32 program)
{
	struct tracer_thread *thread = begin_ledger(process, task, now_ns, queue_clock_now(now_ns), program);

	if (!thread)
		return;
	__u32 state = task_state(task);
	/* It runs, or is in the queue; or a switch since has told more. */
	if (!state || thread->changes)
		return;
	thread->queued_before = 0;
	keep_cause(thread, cause_of_wait(task, state, false));
	if (waker_matters(thread))
		mark_awaiting(thread, task->pid);
}

static __always_inline void add_waits(struct tracer_wire_waits *sum, const struct tracer_wire_waits *more)
{
	__u64 *to = (__u64 *)sum;
	const __u64 *from = (const __u64 *)more;

#pragma clang loop unroll(disable)
	for (int i = 0; i < __builtin_offsetof(struct tracer_wire_waits, pipe_read_peer) / sizeof(__u64); i++)
		to[i] += from[i];
	if (!sum->pipe_read_peer)
		sum->pipe_read_peer = more->pipe_read_peer;
	if (!sum->pipe_write_peer)
		sum->pipe_write_peer = more->pipe_write_peer;
	sum->threads += more->threads;
	sum->limits_known |= more->limits_known;
}

static __always_inline bool may_have_peers(const struct tracer_wire_waits *waits)
{
	return waits->wait_ns[TRACER_WAIT_LOCAL_SOCKET] || waits->wait_ns[TRACER_WAIT_LOCK];
}

/* Of the process. */
static __noinline int set_wait_peers(struct tracer_wire_waits *to, __u32 pid, __u64 start_ns)
{
	struct tracer_wait_peers_key key = {.start_ns = start_ns, .pid = pid};
	struct tracer_wait_peers *peers = bpf_map_lookup_elem(&wait_peers, &key);

	if (!to || !peers)
		return 0;
	to->local_socket_peer = peers->local_socket.pid;
	to->local_socket_peer_ns = peers->local_socket.wait_ns;
	to->lock_peer = peers->lock.pid;
	to->lock_peer_ns = peers->lock.wait_ns;
	return 0;
}

static __always_inline void keep_peer(__u32 *peer, __u64 known_ns, __u32 other, __u64 other_ns)
{
	if (other && (!*peer || other_ns > known_ns))
		*peer = other;
}

/* Before the waits are added: of each kind the peer of the longer one. */
static __always_inline void keep_peers(struct tracer_wire_waits *to, const struct tracer_thread *thread)
{
	keep_peer(&to->pipe_read_peer, to->wait_ns[TRACER_WAIT_PIPE_READ], thread->pipe_read_peer,
		  thread->wait_ns[TRACER_WAIT_PIPE_READ]);
	keep_peer(&to->pipe_write_peer, to->wait_ns[TRACER_WAIT_PIPE_WRITE], thread->pipe_write_peer,
		  thread->wait_ns[TRACER_WAIT_PIPE_WRITE]);
}

static __always_inline void add_word(__u64 *to, __u64 more, bool alone)
{
	if (alone)
		*to += more;
	else
		__sync_fetch_and_add(to, more);
}

static __always_inline void add_thread(struct tracer_wire_waits *to, const struct tracer_thread *thread, __u64 cpu_ns,
				       __u64 now_ns, bool alone)
{
	keep_peers(to, thread);
	add_word(&to->wall_ns, now_ns - thread->followed_ns, alone);
	/* Taken in while it ran: what the kernel had not booked then may not be booked yet. */
	add_word(&to->cpu_ns, cpu_ns > thread->cpu_before_ns ? cpu_ns - thread->cpu_before_ns : 0, alone);
	add_word(&to->run_queue_ns, thread->run_queue_ns, alone);
	__sync_fetch_and_add(&to->threads, 1);
	to->limits_known = limits_known();
#pragma clang loop unroll(disable)
	for (int i = 0; i < TRACER_WAIT_CAUSES; i++)
		add_word(&to->wait_ns[i], thread->wait_ns[i], alone);
}

/* Adds a thread's sums; nobody else adds to these. */
static __noinline void add_ledger(struct tracer_wire_waits *to, const struct tracer_thread *thread, __u64 cpu_ns,
				  __u64 now_ns)
{
	add_thread(to, thread, cpu_ns, now_ns, true);
}

/* As above, while other threads may be ending on other CPUs. */
static __noinline void add_ledger_atomic(struct tracer_wire_waits *to, const struct tracer_thread *thread, __u64 cpu_ns,
					 __u64 now_ns)
{
	add_thread(to, thread, cpu_ns, now_ns, false);
}

/* Adds a dead thread's sums. */
static __always_inline void end_ledger(struct tracer_wire_waits *to, struct task_struct *task, __u64 now_ns, bool alone)
{
	struct tracer_thread *thread = thread_of_dead(task);

	if (!thread)
		return;
	if (alone)
		add_ledger(to, thread, task->se.sum_exec_runtime, now_ns);
	else
		add_ledger_atomic(to, thread, task->se.sum_exec_runtime, now_ns);
	if (BPF_CORE_READ(task, signal, live.counter) > 0 && thread == thread_find(task->tgid))
		thread->ended = 1;
}

/*
 * The place of a first thread that is not the last to die stays: an exec by another thread may be about to take it, on
 * another CPU.
 */
static __always_inline void forget_ledger(struct task_struct *task)
{
	struct tracer_thread *thread = thread_of_dead(task);

	if (!thread || thread->ended)
		return;
	mark_awaiting(thread, 0);
	end_ready(thread, task);
	thread->task = 0;
	thread_leave(task->pid);
}

/*
 * A thread other than the first has called exec, and the two have changed their ids: so their ledgers change places.
 * The first one's is still there when its last switch is yet to come.
 */
static __always_inline struct tracer_thread *trade_places(struct tracer_thread *thread, struct task_struct *task,
							  pid_t old_tid)
{
	__u32 program = PROGRAM_EXEC;
	struct tracer_thread *first = thread_find(task->pid);

	if (first && !first->ended) {
		struct tracer_thread *copy = bpf_map_lookup_elem(&thread_copy, &program);
		if (!copy)
			return NULL;
		__builtin_memcpy(copy, thread, sizeof(*copy));
		__builtin_memcpy(thread, first, sizeof(*thread));
		__builtin_memcpy(first, copy, sizeof(*first));
		return first;
	}
	if (!first)
		first = thread_take(task->pid, program);
	if (first)
		__builtin_memcpy(first, thread, sizeof(*first));
	thread->task = 0;
	thread_leave(old_tid);
	return first;
}

/* Where a thread stands, by what the kernel says of it. */
struct standing {
	bool on_cpu;
	__u64 arrival_ns;
	__u64 run_delay_ns;
};

/* A thread, and where it stood then. False: it has left the CPU meanwhile. */
static __always_inline bool copy_thread(struct tracer_thread *copy, struct standing *standing,
					const struct tracer_thread *thread, struct task_struct *task)
{
	__u32 changes = *(volatile __u32 *)&thread->changes;

	keep_order();
	__builtin_memcpy(copy, thread, sizeof(*copy));
	/* Its arrival is told before it is on the CPU; where CPUs reorder, what is seen may still be the one before. */
	standing->on_cpu = task->on_cpu;
	keep_order();
	standing->arrival_ns = task->sched_info.last_arrival;
	standing->run_delay_ns = task->sched_info.run_delay;
	if (CPU_REORDERS && (!standing->arrival_ns || standing->arrival_ns < copy->out_ns))
		standing->on_cpu = false;
	keep_order();
	return !(changes & 1) && changes == *(volatile __u32 *)&thread->changes;
}

/* At an exec, of the thread that called it, which runs. */
static __always_inline void ledger_at_exec(struct tracer_wire_waits *to, struct task_struct *task, pid_t old_tid,
					   __u64 cpu_ns, __u64 now_ns)
{
	struct tracer_thread *thread = thread_find(old_tid);
	__u32 program = PROGRAM_EXEC;
	struct standing standing;

	if (!thread || thread->task != (__u64)task)
		return;
	if (old_tid != task->pid)
		thread = trade_places(thread, task, old_tid);
	struct tracer_thread *copy = bpf_map_lookup_elem(&thread_copy, &program);
	if (!thread || !copy)
		return;
	/* Booked for good when it leaves the CPU, which it may do in the middle of this. */
	if (!copy_thread(copy, &standing, thread, task))
		copy_thread(copy, &standing, thread, task);
	struct tracer_ended_wait ended;
	book(copy, BPF_CORE_READ(task, sched_task_group), standing.arrival_ns, standing.run_delay_ns, &ended);
	add_ledger(to, copy, cpu_ns, now_ns);
}

/* Of a thread that lives, up to now; on another CPU it may go on meanwhile. */
static __always_inline void ledger_of_living(struct tracer_wire_waits *to, struct task_struct *task, __u64 now_ns,
					     __u32 program)
{
	struct tracer_thread *thread = thread_of(task);
	struct tracer_thread *copy = bpf_map_lookup_elem(&thread_copy, &program);
	struct standing standing;

	if (!thread || !copy)
		return;
	/* No loop: 5.10 refuses one that is entered by falling into it, as the compiler makes of this. */
	if (!copy_thread(copy, &standing, thread, task) && !copy_thread(copy, &standing, thread, task) &&
	    !copy_thread(copy, &standing, thread, task))
		copy_thread(copy, &standing, thread, task);
	__u64 until_ns = standing.arrival_ns;
	if (!standing.on_cpu) {
		until_ns = queue_clock_now(now_ns);
		/* Ready, and not told by sched_info before it runs. */
		if (!copy->cause) {
			/* A new thread that has not run; since then by the boot clock. */
			if (!copy->out_ns && task->se.sum_exec_runtime == copy->cpu_before_ns)
				copy->run_queue_ns += now_ns - copy->followed_ns;
			else if (copy->out_ns && until_ns > copy->out_ns)
				copy->run_queue_ns += until_ns - copy->out_ns;
			copy->run_delay_ns = standing.run_delay_ns;
			until_ns = 0;
		} else {
			standing.run_delay_ns = copy->run_delay_ns;
		}
	}
	struct tracer_ended_wait ended;
	book(copy, BPF_CORE_READ(task, sched_task_group), until_ns, standing.run_delay_ns, &ended);
	add_ledger(to, copy, task->se.sum_exec_runtime, now_ns);
}

#endif
