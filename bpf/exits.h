/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The end of a process: its status, its final account, its context's sums. */
#ifndef TRACER_EXITS_H
#define TRACER_EXITS_H

static __always_inline __u32 exit_status(struct task_struct *last, const struct tracer_process *process)
{
	__u32 group = BPF_CORE_READ(last, signal, group_exit_code);
	__u32 own = last->exit_code;
	__u32 leader = process->leader_exit_code;

	/* Loaded one by one: the verifier refuses one load instruction for pointers of several kinds. */
	barrier_var(group);
	barrier_var(own);
	barrier_var(leader);
	if (BPF_CORE_READ(last, signal, flags) & SIGNAL_GROUP_EXIT)
		return group;
	return last->pid == last->tgid ? own : leader;
}

static __always_inline bool doubtful_read(__u32 flags, __u64 read_before_exec_bytes)
{
	return flags & TRACER_FLAG_EXECUTED ? read_before_exec_bytes > TRACER_MOST_EXEC_READ_BYTES
					    : flags & TRACER_FLAG_ADOPTED_LIFE;
}

/* One for all CPUs, as there may be many of them. */
static __noinline void add_to_more_totals(__u32 context_id, const struct tracer_wire_account *total,
					  __u64 read_before_exec_bytes, __u32 flags, __u32 status)
{
	struct tracer_context_totals *sums = bpf_map_lookup_elem(&more_totals, &context_id);

	if (!sums || !total)
		return;
	if (flags & TRACER_FLAG_SUMS_LOST) {
		__sync_fetch_and_add(&sums->lost_sums, 1);
	} else {
		add_account_atomic(&sums->account, total);
		__sync_fetch_and_add(&sums->read_before_exec_bytes, read_before_exec_bytes);
	}
	if (doubtful_read(flags, read_before_exec_bytes))
		__sync_fetch_and_add(&sums->doubtful_reads, 1);
	if (flags & TRACER_FLAG_LOST_THREADS)
		__sync_fetch_and_add(&sums->lost_threads, 1);
	__sync_fetch_and_add(&sums->ended, 1);
	if (status)
		__sync_fetch_and_add(&sums->failed, 1);
}

static __always_inline void add_to_totals(__u32 context_id, const struct tracer_wire_account *total,
					  __u64 read_before_exec_bytes, __u32 flags, __u32 status)
{
	struct tracer_context_totals *sums = bpf_map_lookup_elem(&totals, &context_id);

	if (!sums) {
		add_to_more_totals(context_id, total, read_before_exec_bytes, flags, status);
		return;
	}
	if (flags & TRACER_FLAG_SUMS_LOST) {
		sums->lost_sums++;
	} else {
		add_account(&sums->account, total);
		sums->read_before_exec_bytes += read_before_exec_bytes;
	}
	if (doubtful_read(flags, read_before_exec_bytes))
		sums->doubtful_reads++;
	if (flags & TRACER_FLAG_LOST_THREADS)
		sums->lost_threads++;
	sums->ended++;
	if (status)
		sums->failed++;
}

/*
 * Where nobody has seen the memory at its last thread's exit: signal->maxrss, this program's if it grew since the
 * program began.
 */
static __always_inline void note_last_peak(struct tracer_process *process, struct task_struct *last)
{
	if (process->peak_pages || (process->flags & TRACER_FLAG_PEAK_SHARED))
		return;
	process->peak_pages = BPF_CORE_READ(last, signal, maxrss);
	if (!(process->flags & TRACER_FLAG_ADOPTED) && process->peak_pages > process->maxrss_pages)
		process->peak_known = PEAK_EXACT;
}

static __always_inline void fill_exit(struct tracer_wire_process_exit *record, struct task_struct *last,
				      struct tracer_process *process, __u32 size, __u64 now_ns)
{
	note_last_peak(process, last);
	fill_header(&record->header, TRACER_WIRE_PROCESS_EXIT, size, process->pid, process->start_ns, now_ns);
	fill_identity(&record->identity, process);
	record->program_start_ns = process->program_start_ns;
	record->attached_ns = process->attached_ns;
	record->peak_pages = process->peak_pages;
	record->read_before_exec_bytes = process->read_before_exec_bytes;
	record->flags = process->flags | (process->peak_known == PEAK_EXACT ? TRACER_FLAG_PEAK_EXACT : 0) |
			(process->sums_lost ? TRACER_FLAG_SUMS_LOST : 0);
	record->exit_code = exit_status(last, process);
	record->threads_created = process->threads_created;
	record->signal_sender_pid = 0;
	record->broken_pipe_ns = process->broken_pipe_ns;
	__builtin_memset(&record->waits, 0, sizeof(record->waits));
	/* Another signal may have come after the one that ended it, or before it. */
	if (!process->fatal_signal || (record->exit_code & 0x7f) != process->fatal_signal)
		return;
	if (process->signal_sender != TRACER_SENDER_PROCESS) {
		record->flags |= TRACER_FLAG_SENT_BY_KERNEL;
		if (process->signal_sender == TRACER_SENDER_OOM)
			record->flags |= TRACER_FLAG_OOM_KILLED;
	} else {
		record->flags |= TRACER_FLAG_SENT_BY_PROCESS;
		record->signal_sender_pid = process->signal_sender_pid;
	}
}

/* A single thread's process: nothing to add up, and nobody else to report it. */
static __always_inline void end_alone(struct task_struct *last, struct tracer_process *process, __u64 now_ns)
{
	__u32 pid = last->tgid;
	void *ring = own_ring();
	struct tracer_wire_process_exit *record = ring ? bpf_ringbuf_reserve(ring, sizeof(*record), 0) : NULL;

	if (!record) {
		struct tracer_wire_account own;
		read_thread(&own, last);
		add_to_totals(process->context_id, &own, process->read_before_exec_bytes, process->flags,
			      exit_status(last, process));
		count_loss(TRACER_LOSS_RING_EXIT);
	} else {
		fill_exit(record, last, process, sizeof(*record), now_ns);
		read_thread(&record->total, last);
		if (keep_ledgers && !process->ledger_lost) {
			end_ledger(&record->waits, last, now_ns, true);
			if (may_have_peers(&record->waits))
				set_wait_peers(&record->waits, process->pid, process->start_ns);
		}
		add_to_totals(process->context_id, &record->total, record->read_before_exec_bytes, record->flags,
			      record->exit_code);
		bpf_ringbuf_submit(record, wakeup_flags(ring));
	}
	process_leave(pid);
	/* It had one if the kernel made it a thread and no event said so. */
	if (keep_ledgers)
		forget_process_ledger(pid);
}

static __always_inline void leave_and_tell(struct tracer_long_exit *record, __u32 pid, __u32 context_id)
{
	process_leave(pid);
	if (keep_ledgers) {
		thread_leave(pid);
		forget_process_ledger(pid);
	}
	if (record->exit.flags & TRACER_FLAG_EXCLUDED)
		return;
	add_to_totals(context_id, &record->exit.total, record->exit.read_before_exec_bytes, record->exit.flags,
		      record->exit.exit_code);
	if (send(record, sizeof(*record)))
		count_loss(TRACER_LOSS_RING_EXIT);
}

/* Of two threads that both find themselves the last, one deletes the sums, and only that one reports. */
static __noinline void end_threaded(struct task_struct *last, struct tracer_process *process,
				    const struct tracer_thread_sums *sums, __u64 now_ns)
{
	__u32 pid = last->tgid;
	__u32 slot = 0;
	struct tracer_long_exit *record = bpf_map_lookup_elem(&exit_buffer, &slot);

	if (!record)
		return;
	fill_exit(&record->exit, last, process, sizeof(*record), now_ns);
	record->exit.flags |= TRACER_FLAG_LATE_THREADS;
	record->exit.total = sums->ended;
	record->late = sums->late;
	__builtin_memset(&record->process_waits, 0, sizeof(record->process_waits));
	if (!process->ledger_lost) {
		record->exit.waits = sums->waits;
		if (keep_ledgers) {
			process_waits_until(&record->process_waits, pid, now_ns, PROGRAM_SWITCH);
			if (may_have_peers(&record->exit.waits))
				set_wait_peers(&record->exit.waits, process->pid, process->start_ns);
		}
	}
	__u32 context_id = process->context_id;
	/* It may fail otherwise, too (EBUSY from 5.11 to 6.0, EDEADLK and ETIMEDOUT since 6.15): no other has told
	 * then. */
	if (bpf_map_delete_elem(&ended_threads, &pid) == -ENOENT)
		return;
	leave_and_tell(record, pid, context_id);
}

/* Of a process whose ended threads could not be summed: that it ended, and how. */
static __noinline void end_unsummed(struct task_struct *last, struct tracer_process *process, __u64 now_ns)
{
	struct tracer_end_key key = {.start_ns = process->start_ns, .pid = last->tgid};
	__u32 slot = 0;
	__u8 told = 1;
	struct tracer_long_exit *record = bpf_map_lookup_elem(&exit_buffer, &slot);

	if (!record || bpf_map_update_elem(&told_ends, &key, &told, BPF_NOEXIST) == -EEXIST)
		return;
	fill_exit(&record->exit, last, process, sizeof(*record), now_ns);
	record->exit.flags |= TRACER_FLAG_LATE_THREADS;
	__builtin_memset(&record->exit.total, 0, sizeof(record->exit.total));
	__builtin_memset(&record->late, 0, sizeof(record->late));
	__builtin_memset(&record->process_waits, 0, sizeof(record->process_waits));
	leave_and_tell(record, key.pid, process->context_id);
}

#endif
