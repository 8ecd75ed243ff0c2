/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reading the accounts that the kernel keeps of each thread, and the kernel's differences in doing so. */
#ifndef TRACER_ACCOUNTS_H
#define TRACER_ACCOUNTS_H

#include "queue_clock.h"

/*
 * Each CPU's offset of per-CPU memory, in cpus[], is what a percpu_counter's parts are found with. No symbol tells it
 * on every kernel (kallsyms may lack data), but the elements of a per-CPU map do: filled once by find_cpu_offsets.
 */
__u32 cpu_offsets_known = 0;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} cpu_probe SEC(".maps");

static __always_inline void read_thread(struct tracer_wire_account *account, struct task_struct *task)
{
	account->cpu_ns = task->se.sum_exec_runtime;
	account->user_sampled_ns = task->utime;
	account->system_sampled_ns = task->stime;
	account->run_queue_ns = task->sched_info.run_delay;
	account->minor_faults = task->min_flt;
	account->major_faults = task->maj_flt;
	account->voluntary_switches = task->nvcsw;
	account->involuntary_switches = task->nivcsw;
	account->read_bytes = task->ioac.rchar;
	account->written_bytes = task->ioac.wchar;
	account->read_calls = task->ioac.syscr;
	account->write_calls = task->ioac.syscw;
	account->storage_read_bytes = task->ioac.read_bytes;
	account->storage_written_bytes = task->ioac.write_bytes;
	account->storage_cancelled_bytes = task->ioac.cancelled_write_bytes;
}

#define ACCOUNT_WORDS (sizeof(struct tracer_wire_account) / sizeof(__u64))

static __always_inline void add_account(struct tracer_wire_account *sum, const struct tracer_wire_account *more)
{
	__u64 *to = (__u64 *)sum;
	const __u64 *from = (const __u64 *)more;

#pragma clang loop unroll(disable)
	for (int i = 0; i < ACCOUNT_WORDS; i++)
		to[i] += from[i];
}

/* For sums that several CPUs may add to at once. */
static __always_inline void add_account_atomic(struct tracer_wire_account *sum, const struct tracer_wire_account *more)
{
	__u64 *to = (__u64 *)sum;
	const __u64 *from = (const __u64 *)more;

	/* Rolled up: code that is not in the cache costs more than a loop. */
#pragma clang loop unroll(disable)
	for (int i = 0; i < ACCOUNT_WORDS; i++)
		__sync_fetch_and_add(&to[i], from[i]);
}

/* What the kernel has summed of ended threads; it keeps no such sum of run-queue time, and one of I/O only with
 * children's. */
static __always_inline void read_ended_threads(struct tracer_wire_account *account, struct signal_struct *signal)
{
	account->cpu_ns = BPF_CORE_READ(signal, sum_sched_runtime);
	account->user_sampled_ns = BPF_CORE_READ(signal, utime);
	account->system_sampled_ns = BPF_CORE_READ(signal, stime);
	account->minor_faults = BPF_CORE_READ(signal, min_flt);
	account->major_faults = BPF_CORE_READ(signal, maj_flt);
	account->voluntary_switches = BPF_CORE_READ(signal, nvcsw);
	account->involuntary_switches = BPF_CORE_READ(signal, nivcsw);
}

static __always_inline struct tracer_cpu *this_cpu(void)
{
	return &cpus[bpf_get_smp_processor_id() & (TRACER_MAX_CPUS - 1)];
}

#define SUSPEND_NS 1000000000

/* The smaller value is truer, but for a slow drift: at most one part in 64 of since_ns; 0: none was known. */
static __always_inline __u64 least_ahead(__u64 known_ns, __u64 seen_ns, __u64 since_ns)
{
	__u64 most_ns = known_ns + (since_ns >> 6);

	/* A whole second more is a suspend: only the boot clock goes on then. */
	return since_ns && seen_ns > most_ns && seen_ns - most_ns < SUSPEND_NS ? most_ns : seen_ns;
}

/*
 * Run time of the current thread is booked at ticks and switches only. To know it in between, the run queue's clock
 * must be known now: the boot clock less what it is ahead, which each CPU notes at some switches. The kernel looked at
 * its clock a moment before a switch; how long before varies.
 */
static __noinline void note_clock(struct task_struct *next, __u64 now_ns)
{
	struct tracer_cpu *cpu = this_cpu();
	__u64 now = read_queue_clock(next);
	__s64 since = now - cpu->seen_ns;

	/* Added since this began: what is kept on it would be missing. */
	if (bpf_get_smp_processor_id() >= cpu_count)
		cpu_offsets_known = 0;
	if (since <= 0)
		return;
	cpu->ahead_ns = least_ahead(cpu->ahead_ns, now_ns - now, cpu->seen_ns ? since : 0);
	cpu->seen_ns = now;
}

/* The clock of this CPU's run queue, now. */
static __always_inline __u64 queue_clock_now(__u64 now_ns)
{
	struct task_struct *current = (void *)bpf_get_current_task();
	__u64 last = read_queue_clock(current);
	struct tracer_cpu *cpu = this_cpu();
	__u64 since = now_ns - cpu->ahead_ns - last;

	/* Longer: not seen since a suspend. */
	return cpu->seen_ns && since < SUSPEND_NS ? last + since : last;
}

#define CLOCK_FRESH_NS 1000000000ULL
#define CLOCK_KNOWN_NS 10000000000ULL

/*
 * One switch in 16, told by the clock: looking up when this CPU was last seen would cost as much as noting it. A CPU
 * that was idle may not have been seen for long, and what it runs next may exec at once.
 */
static __always_inline bool time_to_note_clock(struct task_struct *prev, struct task_struct *next)
{
	if ((next->se.exec_start & (15 << 10)) == 0)
		return true;
	if (!(prev->flags & PF_IDLE))
		return false;
	return queue_clock(next) - this_cpu()->seen_ns > CLOCK_FRESH_NS;
}

#define LONGEST_TICK_NS 100000000
#define CLOCK_UNSURE_NS 1000000

/* False: not known so exactly, up to one tick may be missing. */
static __always_inline bool exact_run_time(struct task_struct *current, __u64 now_ns, __u64 *run_time_ns)
{
	struct tracer_cpu *cpu = this_cpu();
	struct queue_clocks clocks;

	*run_time_ns = current->se.sum_exec_runtime;
	if (!bpf_core_field_exists(current->se.cfs_rq))
		return false;
	struct rq *queue = current->se.cfs_rq->rq;
	if (!read_queue_clocks(&clocks, queue) && !read_queue_clocks(&clocks, queue))
		return false;
	__s64 since_booked = clocks.task_ns - current->se.exec_start;
	__s64 since_looked = now_ns - cpu->ahead_ns - clocks.now_ns;
	if (!cpu->seen_ns || clocks.now_ns + since_looked - cpu->seen_ns > CLOCK_KNOWN_NS)
		return false;
	/* Longer than any tick, or far off: its clock is not known here. */
	if (since_booked < 0 || since_booked > LONGEST_TICK_NS)
		return false;
	if (since_looked < -CLOCK_UNSURE_NS || since_looked > LONGEST_TICK_NS)
		return false;
	/* Looked at a moment ago, so it is not so far behind as was thought. */
	if (since_looked < 0) {
		cpu->ahead_ns += since_looked;
		since_looked = 0;
	}
	*run_time_ns += since_booked + since_looked;
	return true;
}

static __always_inline bool resident_pages_known(void)
{
	return bpf_core_type_exists(struct mm_rss_stat___before_6_2) || cpu_offsets_known;
}

/* Indices of rss_stat; the third counter is swap. */
#define RSS_FILE 0
#define RSS_ANONYMOUS 1
#define RSS_SHARED 3

struct resident {
	__s64 pages[4];
};

static __always_inline void read_resident(struct resident *to, struct mm_struct *mm)
{
	if (bpf_core_type_exists(struct mm_rss_stat___before_6_2)) {
		struct mm_struct___before_6_2 *old = (void *)mm;
		to->pages[RSS_FILE] = BPF_CORE_READ(old, rss_stat.count[0].counter);
		to->pages[RSS_ANONYMOUS] = BPF_CORE_READ(old, rss_stat.count[1].counter);
		to->pages[RSS_SHARED] = BPF_CORE_READ(old, rss_stat.count[3].counter);
		return;
	}
	__s32 *file = mm->rss_stat[RSS_FILE].counters;
	__s32 *anonymous = mm->rss_stat[RSS_ANONYMOUS].counters;
	__s32 *shared = mm->rss_stat[RSS_SHARED].counters;
	to->pages[RSS_FILE] = mm->rss_stat[RSS_FILE].count;
	to->pages[RSS_ANONYMOUS] = mm->rss_stat[RSS_ANONYMOUS].count;
	to->pages[RSS_SHARED] = mm->rss_stat[RSS_SHARED].count;
	for (__u32 cpu = 0; cpu < TRACER_MAX_CPUS && cpu < cpu_count; cpu++) {
		__u64 offset = cpus[cpu].offset;
		__s32 part[4] = {};
		/* Since c0bff412e67b ("mm: percpu_counter_init_many", 6.6) the four lie side by side. */
		if ((void *)shared - (void *)file == 3 * sizeof(__s32)) {
			bpf_probe_read_kernel(part, sizeof(part), (void *)file + offset);
		} else {
			bpf_probe_read_kernel(&part[0], sizeof(part[0]), (void *)file + offset);
			bpf_probe_read_kernel(&part[1], sizeof(part[1]), (void *)anonymous + offset);
			bpf_probe_read_kernel(&part[3], sizeof(part[3]), (void *)shared + offset);
		}
		to->pages[RSS_FILE] += part[0];
		to->pages[RSS_ANONYMOUS] += part[1];
		to->pages[RSS_SHARED] += part[3];
	}
}

/* What is known of process->peak_pages. */
#define PEAK_EXACT 1
#define PEAK_AT_MOST 2
/* With fewer it does not matter how often they are mapped: 4 MiB. */
#define FEW_SHARED_PAGES 1024

/*
 * The most that this memory ever held, of file, anonymous and shared pages; its own mark is only moved when memory
 * shrinks. The kernel counts a shared page as often as it is mapped, so that with many of them it is an upper bound.
 */
static __always_inline void note_peak(struct tracer_process *process, struct mm_struct *mm)
{
	struct resident resident = {};

	read_resident(&resident, mm);
	__s64 now = resident.pages[RSS_FILE] + resident.pages[RSS_ANONYMOUS] + resident.pages[RSS_SHARED];
	__s64 mark = mm->hiwater_rss;
	__s64 peak = mark > now ? mark : now;
	process->peak_pages = peak > 0 ? peak : 0;
	process->peak_known = resident.pages[RSS_SHARED] < FEW_SHARED_PAGES ? PEAK_EXACT : PEAK_AT_MOST;
}

#endif
