// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What tracked processes ask of a GPU's driver: its memory, and to wait for it. By functions of the driver's library,
 * to each of which user space attaches the first two programs. None of these functions launches work.
 */
#include "kernel_types.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

#include "wire.h"
#include "common/emit.h"
#include "common/records.h"
#include "current_process.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#if defined(__TARGET_ARCH_x86)
#define ARGUMENT_1 di
#define ARGUMENT_2 si
#define ARGUMENT_3 dx
#define ARGUMENT_4 cx
#define RESULT ax
#define RETURN_POPS 8 /* the address that it returns to */
#elif defined(__TARGET_ARCH_arm64)
#define ARGUMENT_1 regs[0]
#define ARGUMENT_2 regs[1]
#define ARGUMENT_3 regs[2]
#define ARGUMENT_4 regs[3]
#define RESULT regs[0]
#define RETURN_POPS 0
#endif

/* By thread id. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, struct tracer_gpu_call);
} gpu_calls SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, struct tracer_gpu_key);
	__type(value, struct tracer_gpu_user);
} gpu_users SEC(".maps");

/* By number; user space fills it in. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TRACER_GPU_LIBRARIES);
	__type(key, __u32);
	__type(value, struct tracer_gpu_library);
} gpu_libraries SEC(".maps");

struct tracer_gpu_buffer {
	struct tracer_gpu_user user;
	struct tracer_wire_gpu_use record;
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tracer_gpu_buffer);
} gpu_buffer SEC(".maps");

static const struct tracer_gpu_user blank_user;

static __always_inline __u64 argument(struct pt_regs___of_function *registers, __u32 number)
{
	switch (number) {
	case 1:
		return BPF_CORE_READ(registers, ARGUMENT_1);
	case 2:
		return BPF_CORE_READ(registers, ARGUMENT_2);
	case 3:
		return BPF_CORE_READ(registers, ARGUMENT_3);
	case 4:
		return BPF_CORE_READ(registers, ARGUMENT_4);
	}
	return 1;
}

/* NULL, and counted: there is no room. */
static __always_inline struct tracer_gpu_user *user_of(const struct tracer_process *process)
{
	struct tracer_gpu_key key = {.start_ns = process->start_ns, .pid = process->pid};
	struct tracer_gpu_user *user = bpf_map_lookup_elem(&gpu_users, &key);

	if (!user) {
		bpf_map_update_elem(&gpu_users, &key, &blank_user, BPF_NOEXIST);
		user = bpf_map_lookup_elem(&gpu_users, &key);
	}
	if (!user)
		count_loss(TRACER_LOSS_GPU_TABLE);
	return user;
}

SEC("uprobe")
int gpu_call_begins(struct pt_regs___of_function *registers)
{
	__u32 tid = bpf_get_current_pid_tgid();
	struct tracer_process *process = current_process();

	if (!process || (process->flags & TRACER_FLAG_EXCLUDED))
		return 0;
	__u64 cookie = bpf_get_attach_cookie(registers);
	struct tracer_gpu_call call = {
		.start_ns = process->start_ns,
		.begun_ns = bpf_ktime_get_boot_ns(),
		.stack = BPF_CORE_READ(registers, sp),
		.amount = argument(registers, cookie >> 16 & 0xff) * argument(registers, cookie >> 24 & 0xff),
		.pid = process->pid,
		.library = cookie >> 8 & 0xff,
		.does = cookie & 0xff,
	};
	struct tracer_gpu_call *before = bpf_map_lookup_elem(&gpu_calls, &tid);
	bool replaces = before && before->start_ns == call.start_ns;
	/* What a function calls itself is a part of its own call. One that was left otherwise than by a return is over.
	 */
	if (replaces && call.stack < before->stack)
		return 0;
	struct tracer_gpu_user *user = user_of(process);
	if (!user)
		return 0;
	if (bpf_map_update_elem(&gpu_calls, &tid, &call, BPF_ANY))
		count_loss(TRACER_LOSS_GPU_TABLE);
	else if (!replaces)
		__sync_fetch_and_add(&user->open, 1);
	return 0;
}

static __always_inline void add_to(struct tracer_gpu_sums *sums, const struct tracer_gpu_call *call, bool succeeded)
{
	if (call->does == TRACER_GPU_WAIT) {
		__sync_fetch_and_add(&sums->waits, 1);
		__sync_fetch_and_add(&sums->wait_ns, bpf_ktime_get_boot_ns() - call->begun_ns);
	} else if (call->does == TRACER_GPU_ALLOCATE && succeeded) {
		__sync_fetch_and_add(&sums->allocations, 1);
		__sync_fetch_and_add(&sums->allocated_bytes, call->amount);
	} else if (call->does == TRACER_GPU_ALLOCATE) {
		__sync_fetch_and_add(&sums->failed_allocations, 1);
	} else if (call->does == TRACER_GPU_FREE && succeeded && call->amount) {
		__sync_fetch_and_add(&sums->frees, 1);
	} else if (call->does == TRACER_GPU_SWITCH && succeeded) {
		__sync_fetch_and_add(&sums->context_switches, 1);
	}
}

SEC("uretprobe")
int gpu_call_returns(struct pt_regs___of_function *registers)
{
	__u32 tid = bpf_get_current_pid_tgid();
	struct tracer_gpu_call *open = bpf_map_lookup_elem(&gpu_calls, &tid);

	/* Else it returns from a function that this one has called, or whose call was not seen. */
	if (!open || BPF_CORE_READ(registers, sp) != open->stack + RETURN_POPS)
		return 0;
	struct tracer_gpu_call call = *open;
	struct tracer_gpu_key key = {.start_ns = call.start_ns, .pid = call.pid};
	bpf_map_delete_elem(&gpu_calls, &tid);
	struct tracer_gpu_user *user = bpf_map_lookup_elem(&gpu_users, &key);
	if (!user)
		return 0;
	add_to(&user->libraries[call.library % TRACER_GPU_LIBRARIES], &call, !(__u32)BPF_CORE_READ(registers, RESULT));
	__sync_fetch_and_add(&user->open, -1);
	return 0;
}

/* The thread ends in a call: it has waited until now, and of all else nobody knows what came of it. */
static __always_inline void cut_short(const struct tracer_process *process, __u32 tid)
{
	struct tracer_gpu_call *open = bpf_map_lookup_elem(&gpu_calls, &tid);

	if (!open)
		return;
	struct tracer_gpu_call call = *open;
	struct tracer_gpu_key key = {.start_ns = call.start_ns, .pid = call.pid};
	bpf_map_delete_elem(&gpu_calls, &tid);
	struct tracer_gpu_user *user = bpf_map_lookup_elem(&gpu_users, &key);
	if (!user || call.start_ns != process->start_ns)
		return;
	if (call.does == TRACER_GPU_WAIT)
		add_to(&user->libraries[call.library % TRACER_GPU_LIBRARIES], &call, true);
	__sync_fetch_and_add(&user->open, -1);
}

static __always_inline bool has_some(const struct tracer_gpu_sums *sums)
{
	return sums->allocations || sums->failed_allocations || sums->frees || sums->waits || sums->context_switches;
}

static __always_inline void send_uses(const struct tracer_process *process)
{
	__u32 slot = 0;
	struct tracer_gpu_key key = {.start_ns = process->start_ns, .pid = process->pid};
	struct tracer_gpu_user *user = bpf_map_lookup_elem(&gpu_users, &key);
	struct tracer_gpu_buffer *buffer = bpf_map_lookup_elem(&gpu_buffer, &slot);

	/* Another of the last threads ends in a call, and will send them. */
	if (!user || !buffer || user->open)
		return;
	buffer->user = *user;
	/* Of two last threads one deletes it, and only that one sends it. */
	if (bpf_map_delete_elem(&gpu_users, &key) == -ENOENT || (process->flags & TRACER_FLAG_EXCLUDED))
		return;
	struct tracer_wire_gpu_use *record = &buffer->record;
	fill_header(&record->header, TRACER_WIRE_GPU_USE, sizeof(*record), process->pid, process->start_ns,
		    bpf_ktime_get_boot_ns());
	fill_identity(&record->identity, process);
#pragma clang loop unroll(disable)
	for (__u32 at = 0; at < TRACER_GPU_LIBRARIES; at++) {
		__u32 number = at;
		struct tracer_gpu_library *library = bpf_map_lookup_elem(&gpu_libraries, &number);
		struct tracer_gpu_sums *sums = &buffer->user.libraries[at];
		if (!library || !has_some(sums))
			continue;
		record->sums = *sums;
		record->library = *library;
		if (send(record, sizeof(*record)))
			count_loss(TRACER_LOSS_RING_GPU_USE);
	}
}

/* Before the record of the process's end, which is sent when its last thread has left the CPU. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(gpu_user_ends, struct task_struct *task)
{
	struct tracer_process *process = process_of(task);

	if (!process)
		return 0;
	cut_short(process, task->pid);
	if (task->signal->live.counter == 0)
		send_uses(process);
	return 0;
}
