// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The life of processes: fork, exec, exit, and the final accounts when the last thread is dead. */
#include "kernel_types.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

#include "wire.h"
#include "maps.h"
#include "accounts.h"
#include "paths.h"
#include "shown_pid.h"
#include "process_table.h"
#include "task_state.h"
#include "process_ledger_life.h"
#include "process.h"
#include "arguments.h"
#include "labels.h"
#include "exits.h"
#include "signals.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#include "cgroups.h"
#include "counted.h"
#include "living.h"

SEC("tp_btf/sched_process_fork")
int BPF_PROG(process_fork, struct task_struct *parent, struct task_struct *child)
{
	struct tracer_process *origin = process_of(parent);
	__u32 pid = child->tgid;

	if (child->pid != child->tgid) {
		if (labels_in_use)
			inherit_label(child, parent);
		if (!origin)
			return 0;
		if (began_later(child, origin)) {
			__sync_fetch_and_add(&origin->threads, 1);
			__sync_fetch_and_add(&origin->threads_created, 1);
		}
		if (keep_ledgers && !origin->ledger_lost && !(origin->flags & TRACER_FLAG_EXCLUDED)) {
			__u64 now_ns = bpf_ktime_get_boot_ns();
			split_ledger(origin, parent, now_ns);
			/* Counted once for the process, whatever else would have found no room. */
			if (!origin->ledger_lost)
				inherit_limit(begin_ledger(origin, child, now_ns, 0, PROGRAM_FORK), child, parent);
		}
		if (needs_sums(origin))
			add_sums(origin, pid, NULL, PROGRAM_FORK);
		return 0;
	}

	__u32 action = 0;
	__u32 context_id = 0;
	if (origin) {
		context_id = origin->context_id;
		action = (origin->flags & TRACER_FLAG_EXCLUDED) ? TRACER_RULE_EXCLUDE : TRACER_RULE_INCLUDE;
		if (foreign(child) || (origin->css_set != (__u64)BPF_CORE_READ(child, cgroups) && pruned(child)))
			action = TRACER_RULE_EXCLUDE;
	} else if (child->flags & PF_KTHREAD) {
		return 0;
	} else if (track_all || use_cgroup_rules || use_uid_rules) {
		action = rule_for(child, &context_id);
	}
	/* What a labeled thread makes is followed, whatever the filter takes in. */
	__u32 label = 0;
	if (labels_in_use && action != TRACER_RULE_EXCLUDE && label_of(parent, &label)) {
		action = TRACER_RULE_INCLUDE;
		if (label)
			context_id = label;
	}
	if (!action || (!origin && action == TRACER_RULE_EXCLUDE))
		return 0;

	struct tracer_process *fresh = process_take(pid, PROGRAM_FORK);
	if (!fresh)
		return 0;
	fresh->pid = shown_pid(child);
	fresh->program_start_ns = child->start_boottime;
	fresh->exec_id = child->self_exec_id;
	fresh->signal = (__u64)BPF_CORE_READ(child, signal);
	fresh->context_id = context_id;
	fresh->threads = 1;
	fresh->threads_created = 1;
	if (BPF_CORE_READ(child, mm) == BPF_CORE_READ(parent, mm))
		fresh->flags = TRACER_FLAG_PEAK_SHARED;
	if (action == TRACER_RULE_EXCLUDE)
		fresh->flags = TRACER_FLAG_EXCLUDED;
	/* By this the iterators know it, which may meet it already. */
	keep_order();
	fresh->start_ns = fresh->program_start_ns;
	if (action == TRACER_RULE_EXCLUDE)
		return 0;
	if (origin) {
		fresh->flags |= origin->flags & TRACER_FLAG_OTHER_USER;
		fresh->scope = origin->scope;
		fresh->cgroup_id = origin->cgroup_id;
		fresh->hierarchy = origin->hierarchy;
		fresh->css_set = origin->css_set;
	}
	refresh_cgroup(child, fresh, PROGRAM_FORK);
	if (keep_ledgers)
		inherit_limit(begin_ledger(fresh, child, fresh->start_ns, 0, PROGRAM_FORK), child, parent);
	send_new_start(child, fresh, fresh->start_ns,
		       !origin || BPF_CORE_READ(child, nsproxy) != BPF_CORE_READ(parent, nsproxy));
	return 0;
}

/* The one moment at which the memory of the program that an exec ends is still there. Since 5c5fad46e48c (6.10). */
SEC("tp_btf/sched_prepare_exec")
int BPF_PROG(process_prepare_exec, struct task_struct *task)
{
	/* Of a mere copy of the parent, which has executed nothing since its fork, nobody asks for the peak. */
	if (task->self_exec_id == task->parent_exec_id)
		return 0;
	struct tracer_process *process = process_of(task);
	if (!process || (process->flags & (TRACER_FLAG_EXCLUDED | TRACER_FLAG_EXECUTED)) != TRACER_FLAG_EXECUTED)
		return 0;
	if (!resident_pages_known())
		return 0;
	note_peak(process, task->mm);
	return 0;
}

/* Without the hook above: signal->maxrss is this program's if it grew, else only a bound. */
static __always_inline __u32 ended_peak(struct tracer_process *process, __u32 maxrss_pages, __u64 *pages)
{
	*pages = process->peak_pages;
	if (process->peak_known)
		return process->peak_known == PEAK_EXACT ? TRACER_FLAG_PEAK_EXACT : 0;
	*pages = maxrss_pages;
	if (process->flags & TRACER_FLAG_ADOPTED)
		return 0;
	/* A child that only forked may have borrowed its parent's memory until now. */
	if (!(process->flags & TRACER_FLAG_EXECUTED))
		return TRACER_FLAG_PEAK_SHARED;
	return maxrss_pages > process->maxrss_pages ? TRACER_FLAG_PEAK_EXACT : 0;
}

/*
 * Which folder the working directory is, whatever its path leads to elsewhere. Subvolumes have inodes of equal numbers,
 * and whoever mounts by FUSE chooses them: there nothing is said.
 */
static __always_inline void fill_folder(struct tracer_wire_process_exec *record, struct inode *folder)
{
	__u64 magic = BPF_CORE_READ(folder, i_sb, s_magic);
	bool says = magic != BTRFS_SUPER_MAGIC && magic != BCACHEFS_SUPER_MAGIC && magic != FUSE_SUPER_MAGIC;

	record->cwd_inode = says ? BPF_CORE_READ(folder, i_ino) : 0;
	record->cwd_device = says ? BPF_CORE_READ(folder, i_sb, s_dev) : 0;
	record->cwd_owner = says ? BPF_CORE_READ(folder, i_uid.val) : 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(process_exec, struct task_struct *task, pid_t old_tid)
{
	struct tracer_process *process = process_of(task);
	__u32 slot = 0;

	/* The labels of its maker's scope are in its context id by now; what its threads have said ends here. */
	if (labels_in_use) {
		forget_label(shown_tid(task));
		/* Known by the kernel's number only; where that is not what is shown, it stays until its scope ends. */
		if (!own_pid_namespace)
			forget_label(old_tid);
	}
	if (!process) {
		__u32 context_id;
		if (!track_all && !use_cgroup_rules && !use_uid_rules)
			return 0;
		if (rule_for(task, &context_id) != TRACER_RULE_INCLUDE)
			return 0;
		process = adopt(task, TRACER_RULE_INCLUDE, context_id, PROGRAM_EXEC);
		if (!process)
			return 0;
		if (keep_ledgers) {
			struct tracer_thread *thread =
				begin_ledger(process, task, process->attached_ns, 0, PROGRAM_EXEC);
			if (thread)
				exact_run_time(task, process->attached_ns, &thread->cpu_before_ns);
		}
		process->flags |= TRACER_FLAG_AT_EXEC;
		send_new_start(task, process, process->attached_ns, true);
		process->flags &= ~TRACER_FLAG_AT_EXEC;
	} else if (process->flags & TRACER_FLAG_EXCLUDED) {
		prune_again(task, process, false);
	} else if (pruned(task)) {
		prune(task, process);
	}

	__u64 now_ns = bpf_ktime_get_boot_ns();
	__u32 maxrss_pages = BPF_CORE_READ(task, signal, maxrss);
	__u64 program_start_ns = process->program_start_ns;
	__u32 flags = process->flags & ~TRACER_FLAG_PEAK_SHARED;
	__u64 peak_pages;
	flags |= ended_peak(process, maxrss_pages, &peak_pages);

	struct tracer_exec_buffer *to = bpf_map_lookup_elem(&exec_buffer, &slot);
	if (!to)
		return 0;
	struct tracer_wire_process_exec *record = (void *)to->bytes;
	/* Before the sums are read: a thread that dies in between is booked as late then. */
	process->exec_id = task->self_exec_id;
	read_thread(&record->total, task);
	if (!exact_run_time(task, now_ns, &record->total.cpu_ns))
		flags |= TRACER_FLAG_CPU_STALE;
	__u64 own_cpu_ns = record->total.cpu_ns;
	struct tracer_wire_waits *ended_waits = NULL;
	__builtin_memset(&record->waits, 0, sizeof(record->waits));
	if (process->has_sums) {
		__u32 pid = task->tgid;
		struct tracer_thread_sums *sums = bpf_map_lookup_elem(&ended_threads, &pid);
		if (sums) {
			add_account(&record->total, &sums->ended);
			__builtin_memset(&sums->late, 0, sizeof(sums->late));
			ended_waits = &sums->waits;
		}
	}
	if (keep_ledgers && !process->ledger_lost) {
		ledger_at_exec(&record->waits, task, old_tid, own_cpu_ns, now_ns);
		if (ended_waits)
			add_waits(&record->waits, ended_waits);
		if (may_have_peers(&record->waits))
			set_wait_peers(&record->waits, process->pid, process->start_ns);
	}
	if (process->threads > 1)
		flags |= TRACER_FLAG_THREADS_PENDING;
	if (process->sums_lost)
		flags |= TRACER_FLAG_SUMS_LOST;

	/* The new program begins here. Stragglers of the one before are known by their older exec id. */
	process->read_before_exec_bytes = record->total.read_bytes;
	process->program_start_ns = now_ns;
	process->maxrss_pages = maxrss_pages;
	process->peak_pages = 0;
	process->peak_known = 0;
	process->leader_dead = 0;
	__u32 euid = BPF_CORE_READ(task, cred, euid.val);
	__u32 uid = BPF_CORE_READ(task, cred, uid.val);
	process->flags = (process->flags & ~(TRACER_FLAG_ADOPTED | TRACER_FLAG_PEAK_SHARED | TRACER_FLAG_OTHER_USER)) |
			 TRACER_FLAG_EXECUTED | (euid != uid ? TRACER_FLAG_OTHER_USER : 0);
	if (process->flags & TRACER_FLAG_EXCLUDED)
		return 0;
	refresh_cgroup(task, process, PROGRAM_EXEC);

	/* `process` is not used after this: the verifier would walk the paths once for each place it may be in. */
	fill_header(&record->header, TRACER_WIRE_PROCESS_EXEC, 0, process->pid, process->start_ns, now_ns);
	fill_identity(&record->identity, process);
	record->identity.uid = uid;
	fill_namespaces(&record->identity, task);
	fill_comm(&record->identity, task);
	record->program_start_ns = program_start_ns;
	record->peak_pages = peak_pages;
	record->flags = flags | TRACER_FLAG_EXECUTED;
	record->old_tid = old_tid;
	record->euid = euid;
	record->reserved = 0;
	record->threads_created = process->threads_created;
	record->cpus_allowed = task->nr_cpus_allowed;

	struct mm_struct *mm = task->mm;
	struct fs_struct *fs = task->fs;
	struct file *exe = mm->exe_file;
	to->used = sizeof(*record);
	if (!append_path(to, exe->f_path.dentry, exe->f_path.mnt, fs))
		record->flags |= TRACER_FLAG_EXE_CUT;
	record->exe_size = to->used - sizeof(*record);
	if (!append_path(to, fs->pwd.dentry, fs->pwd.mnt, fs))
		record->flags |= TRACER_FLAG_CWD_CUT;
	record->cwd_size = to->used - sizeof(*record) - record->exe_size;
	fill_folder(record, BPF_CORE_READ(fs, pwd.dentry, d_inode));
	record->argv_size = 0;
	append_argv(to, mm, record);

	if (keep_ledgers)
		append_process_waits(to, task->tgid, now_ns);
	__u32 size = to->used;
	record->header.size = size;
	if (send(record, size & EXEC_MASK))
		count_loss(TRACER_LOSS_RING_EXEC);
	return 0;
}

/*
 * Each thread passes here before it is dead, with its memory still there since 6.16 (5a0d49c5b8a5). What only this
 * sees may be missing: the kernel may skip it.
 */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(process_exit, struct task_struct *task)
{
	struct tracer_process *process = process_of(task);

	if (labels_in_use)
		forget_label(shown_tid(task));
	if (!process) {
		this_cpu()->exiting = (__u64)task;
		return 0;
	}
	this_cpu()->exiting = 0;
	/* Counted now, before it is dead. */
	if (kernel_made(task) && began_later(task, process)) {
		__sync_fetch_and_add(&process->threads, 1);
		__sync_fetch_and_add(&process->threads_created, 1);
		if (needs_sums(process))
			add_sums(process, task->tgid, NULL, PROGRAM_EXIT);
	}
	if (BPF_CORE_READ(task, signal, live.counter) > 0 ||
	    (process->flags & (TRACER_FLAG_EXCLUDED | TRACER_FLAG_PEAK_SHARED)))
		return 0;
	struct mm_struct *mm = task->mm;
	if (!mm || !resident_pages_known())
		return 0;
	note_peak(process, mm);
	return 0;
}

/*
 * The kernel adds a thread to its sums before the thread's last switch. Was its process taken in between these, it is
 * in what was read of them. So is a leader that was as good as dead.
 */
static __always_inline bool counted_when_taken_in(struct tracer_process *process, struct task_struct *task, bool leader)
{
	if (leader)
		return process->leader_dead;
	if (task->start_boottime >= process->attached_ns || this_cpu()->exiting != (__u64)task)
		return false;
	if (process->old_ending <= 0)
		return true;
	__sync_fetch_and_add(&process->old_ending, -1);
	return false;
}

/* A thread's last switch: only now are its accounts final. */
static __noinline void thread_dead(struct task_struct *task, __u64 now_ns)
{
	__u32 pid = task->tgid;
	struct signal_struct *signal = task->signal;
	struct tracer_process *process = process_find(pid);
	struct tracer_wire_account own;

	/* Not by the first thread's start time: that thread may be gone by now. */
	if (process)
		process = known_by(process, process->signal, (__u64)signal);
	if (!process)
		return;
	/*
	 * While one thread is alive, or the leader is not dead, the process is not at its end, whatever was counted:
	 * the kernel may have made threads of its own.
	 */
	bool alive = signal->live.counter > 0;
	bool leader = task->pid == task->tgid;
	bool counted = counted_when_taken_in(process, task, leader);
	if (needs_sums(process)) {
		if (alive || !leader) {
			add_sums(process, pid, NULL, PROGRAM_SWITCH);
		} else if (process->flags & TRACER_FLAG_EXCLUDED) {
			prune_again(task, process, true);
			process_leave(pid);
			return;
		} else {
			end_alone(task, process, now_ns);
			return;
		}
	}
	if (leader) {
		process->leader_exit_code = task->exit_code;
		process->leader_dead = 1;
	}

	struct tracer_thread_sums *sums = bpf_map_lookup_elem(&ended_threads, &pid);
	if (!sums && !process->sums_lost)
		return;
	if (sums && !counted) {
		read_thread(&own, task);
		add_account_atomic(&sums->ended, &own);
		if (keep_ledgers)
			end_ledger(&sums->waits, task, now_ns, false);
		/* A thread of a program that an exec has ended already: nothing of it is the new program's. */
		if ((__u32)task->self_exec_id < process->exec_id)
			add_account_atomic(&sums->late, &own);
	}
	/* The last finds what all others have added. */
	if (!counted)
		add_in_order((__u32 *)&process->threads, -1);
	/* Another may have ended since it was read; each counts itself out of `live` first. */
	alive = *(volatile __s32 *)&signal->live.counter > 0;
	if (process->threads > 0 || alive || !process->leader_dead)
		return;
	keep_order();
	if (process->flags & TRACER_FLAG_EXCLUDED)
		prune_again(task, process, true);
	if (sums)
		end_threaded(task, process, sums, now_ns);
	else
		end_unsummed(task, process, now_ns);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(thread_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	/* Nearly always there is nothing to do: what is done else stays out of the way, and out of the cache. */
	bool ended = dead(prev);
	if (__builtin_expect(!ended && !time_to_note_clock(prev, next), 1))
		return 0;
	__u64 now_ns = bpf_ktime_get_boot_ns();
	note_clock(next, now_ns);
	if (ended) {
		thread_dead(prev, now_ns);
		if (keep_ledgers)
			forget_ledger(prev);
	}
	return 0;
}

/* Signals are rare, but for those of children's ends, which end no process. */
SEC("tp_btf/signal_generate")
int signal_sent(__u64 *context)
{
	int number = context[0];
	struct task_struct *task = (void *)context[2];
	__u64 said = 0;

	if (!may_end_process(number))
		return 0;
	struct tracer_process *process = process_of(task);
	if (!process)
		return 0;
	/* By a detour: the verifier holds it for a pointer that is never null, and drops the comparison. */
	bpf_probe_read_kernel(&said, sizeof(said), &context[1]);
	note_signal(process, task, number, said, context[4]);
	return 0;
}

/* Run once by user space before anything is attached. A pointer becomes a number by a detour through memory. */
SEC("raw_tp")
int find_cpu_offsets(void *context)
{
	__u32 key = 0;
	__u64 base = 0;
	volatile __u64 *number = bpf_map_lookup_elem(&cpu_probe, &key);

	if (!number)
		return 0;
	*number = (__u64)&cpu_probe;
	bpf_probe_read_kernel(&base, sizeof(base), (void *)(*number + bpf_core_field_offset(struct bpf_array, pptrs)));
	if (!base)
		return 0;
	for (__u32 cpu = 0; cpu < TRACER_MAX_CPUS && cpu < cpu_count; cpu++) {
		__u64 *element = bpf_map_lookup_percpu_elem(&cpu_probe, &key, cpu);
		if (!element)
			return 0;
		*number = (__u64)element;
		cpus[cpu].offset = *number - base;
	}
	cpu_offsets_known = 1;
	return 0;
}
