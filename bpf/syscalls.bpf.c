// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The system calls of tracked processes: how many, how long, how many failed. Folded by process and number, and sent at
 * the process's end. The first two programs run at each call of the host.
 */
#include "kernel_types.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

#include "wire.h"
#include "common/emit.h"
#include "common/records.h"
#include "common/shares.h"
#include "current_process.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* The call that a thread is in, or was in last. Only the thread itself uses its own. */
struct tracer_call {
	__u64 start_ns; /* of its process */
	__u64 entry_ns; /* 0: it is in none that is counted */
	__u64 begun_ns; /* its entry, with `interrupted` */
	__u32 number;
	__u32 interrupted; /* ERESTART...: by a signal, and what becomes of it is not decided yet; 0: it was not */
};

/* By thread id. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, __u32);
	__type(value, struct tracer_call);
} thread_calls SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, struct tracer_syscall_key);
	__type(value, struct tracer_syscall_row);
} syscall_rows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tracer_wire_syscall_use);
} syscall_buffer SEC(".maps");

static const struct tracer_syscall_row blank_row;

/* 1: a call that does not return to where it was made */
const volatile __u8 returns_elsewhere[TRACER_CALLS] = {};
const volatile __s64 restart_call = -1; /* the number of restart_syscall */

/* As places of ended processes may be left behind, the start time is compared the first time that a thread calls. */
static __always_inline struct tracer_call *call_of_thread(const struct tracer_process *process, __u32 tid)
{
	struct tracer_call *call = bpf_map_lookup_elem(&thread_calls, &tid);

	if (call && call->start_ns == process->start_ns)
		return call;
	process = current_process();
	if (!process)
		return NULL;
	struct tracer_call fresh = {.start_ns = process->start_ns};
	if (bpf_map_update_elem(&thread_calls, &tid, &fresh, BPF_ANY)) {
		count_loss(TRACER_LOSS_SYSCALL_TABLE);
		return NULL;
	}
	return bpf_map_lookup_elem(&thread_calls, &tid);
}

static __always_inline bool is_counted(__s64 number)
{
	struct task_struct *current = (void *)bpf_get_current_task();

	if (number < 0 || number >= TRACER_CALLS || returns_elsewhere[number & (TRACER_CALLS - 1)])
		return false;
	/* Numbers of 32-bit programs are others. */
	return !(BPF_CORE_READ(current, COMPAT_WORD) & COMPAT_MASK);
}

SEC("tp_btf/sys_enter")
int BPF_PROG(call_begins, struct pt_regs *registers, long number)
{
	__u64 ids = bpf_get_current_pid_tgid();
	struct tracer_process *process = process_find(ids >> 32);

	if (!process || (process->flags & TRACER_FLAG_EXCLUDED))
		return 0;
	struct tracer_call *call = call_of_thread(process, ids);
	if (!call)
		return 0;
	if (call->interrupted) {
		call->interrupted = 0;
		/* It goes on, as no handler has come in between. */
		if (number == restart_call || number == call->number) {
			call->entry_ns = call->begun_ns;
			return 0;
		}
	}
	call->number = number;
	call->entry_ns = is_counted(number) ? bpf_ktime_get_boot_ns() : 0;
	return 0;
}

/* NULL, and counted: there is no room. */
static __always_inline struct tracer_syscall_sums *sums_of(const struct tracer_process *process, __u32 number)
{
	struct tracer_syscall_key key = {
		.start_ns = process->start_ns, .pid = process->pid, .row = number / TRACER_SYSCALLS_OF_ROW};
	struct tracer_syscall_row *row = bpf_map_lookup_elem(&syscall_rows, &key);

	if (!row) {
		bpf_map_update_elem(&syscall_rows, &key, &blank_row, BPF_NOEXIST);
		row = bpf_map_lookup_elem(&syscall_rows, &key);
	}
	if (!row) {
		count_loss(TRACER_LOSS_SYSCALL_TABLE);
		return NULL;
	}
	return &row->calls[number % TRACER_SYSCALLS_OF_ROW];
}

static __always_inline void add_return(struct tracer_syscall_sums *sums, __u64 duration_ns, __u32 error)
{
	__sync_fetch_and_add(&sums->calls, 1);
	__sync_fetch_and_add(&sums->duration_ns, duration_ns);
	if (!error)
		return;
	__sync_fetch_and_add(&sums->failed, 1);
	sums->error = error;
}

/* The thread's, if it is in a process that is reported. */
static __always_inline struct tracer_call *known_call(struct tracer_process *process, __u32 tid)
{
	if (!process || (process->flags & TRACER_FLAG_EXCLUDED))
		return NULL;
	struct tracer_call *call = bpf_map_lookup_elem(&thread_calls, &tid);

	return call && call->start_ns == process->start_ns ? call : NULL;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(call_ends, struct pt_regs *registers, long result)
{
	__u64 ids = bpf_get_current_pid_tgid();
	struct tracer_process *process = process_find(ids >> 32);
	struct tracer_call *call = known_call(process, ids);

	/* One that it was in before it was followed, or a new thread that leaves the call that made it. */
	if (!call || !call->entry_ns)
		return 0;
	__u64 entry_ns = call->entry_ns;
	call->entry_ns = 0;
	if (result == -ERESTARTSYS || result == -ERESTARTNOINTR || result == -ERESTARTNOHAND ||
	    result == -ERESTART_RESTARTBLOCK) {
		call->begun_ns = entry_ns;
		call->interrupted = -result;
		return 0;
	}
	struct tracer_syscall_sums *sums = sums_of(process, call->number);
	if (sums)
		add_return(sums, bpf_ktime_get_boot_ns() - entry_ns, result < 0 && result >= -MAX_ERRNO ? -result : 0);
	return 0;
}

/* What becomes of a call that the signal has interrupted. */
SEC("tp_btf/signal_deliver")
int BPF_PROG(call_interrupted, int signal, struct kernel_siginfo *info, struct k_sigaction *action)
{
	__u64 ids = bpf_get_current_pid_tgid();
	struct tracer_process *process = process_find(ids >> 32);
	struct tracer_call *call = known_call(process, ids);

	/* Without a handler it goes on, or the process ends in it. */
	if (!call || !call->interrupted || (__u64)action->sa.sa_handler <= SIG_IGN)
		return 0;
	bool goes_on = call->interrupted == ERESTARTNOINTR ||
		       (call->interrupted == ERESTARTSYS && (action->sa.sa_flags & SA_RESTART));
	__u64 duration_ns = bpf_ktime_get_boot_ns() - call->begun_ns;
	struct tracer_syscall_sums *sums = sums_of(process, call->number);
	call->interrupted = 0;
	if (sums && goes_on)
		__sync_fetch_and_add(&sums->duration_ns, duration_ns);
	else if (sums)
		add_return(sums, duration_ns, EINTR);
	return 0;
}

/* A thread that executes a program gets the id of the first one. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(caller_executes, struct task_struct *task, pid_t old_pid)
{
	__u32 old_tid = old_pid;
	__u32 tid = task->pid;

	if (old_tid == tid || !process_of(task))
		return 0;
	struct tracer_call *call = bpf_map_lookup_elem(&thread_calls, &old_tid);
	if (!call)
		return 0;
	struct tracer_call moved = *call;
	bpf_map_delete_elem(&thread_calls, &old_tid);
	if (bpf_map_update_elem(&thread_calls, &tid, &moved, BPF_ANY))
		count_loss(TRACER_LOSS_SYSCALL_TABLE);
	return 0;
}

/* Global, so that it is verified once, not for each row. `account`: that it is charged to, if it is told. */
__noinline int send_row(__u64 start_ns, __u32 pid, __u32 at, bool tells, __u32 account)
{
	__u32 slot = 0;
	struct tracer_syscall_key key = {.start_ns = start_ns, .pid = pid, .row = at};
	struct tracer_wire_syscall_use *record = bpf_map_lookup_elem(&syscall_buffer, &slot);
	struct tracer_syscall_row *row = bpf_map_lookup_elem(&syscall_rows, &key);

	if (!row || !record)
		return 0;
	record->row = at;
	record->sums = *row;
	/* Of two last threads one deletes it, and only that one sends it. */
	if (bpf_map_delete_elem(&syscall_rows, &key) == -ENOENT || !tells)
		return 0;
	if (send_within_own_share(record, sizeof(*record), account))
		count_loss(TRACER_LOSS_RING_SYSCALL_USE);
	return 0;
}

static __always_inline void send_rows(const struct tracer_process *process)
{
	__u32 slot = 0;
	struct tracer_wire_syscall_use *record = bpf_map_lookup_elem(&syscall_buffer, &slot);

	if (!record)
		return;
	fill_header(&record->header, TRACER_WIRE_SYSCALL_USE, sizeof(*record), process->pid, process->start_ns,
		    bpf_ktime_get_boot_ns());
	fill_identity(&record->identity, process);
	record->reserved = 0;
	__u32 account = account_of(bpf_get_current_uid_gid());
#pragma clang loop unroll(disable)
	for (__u32 at = 0; at < TRACER_SYSCALL_ROWS; at++)
		send_row(record->header.start_ns, record->header.pid, at, !(process->flags & TRACER_FLAG_EXCLUDED),
			 account);
}

/* Before the record of the process's end, which is sent when its last thread has left the CPU. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(caller_ends, struct task_struct *task)
{
	struct tracer_process *process = process_of(task);
	__u32 tid = task->pid;

	if (!process)
		return 0;
	bpf_map_delete_elem(&thread_calls, &tid);
	if (task->signal->live.counter == 0)
		send_rows(process);
	return 0;
}
