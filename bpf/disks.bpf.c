// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What block devices do for the whole host, and which tracked process asks them for how much. */
#include "kernel_types.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

#include "wire.h"
#include "current_process.h"
#include "last_bio.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define OP_MASK 0xff
#define DEVICE_MINOR_BITS 20

/* By number. User space removes devices that are gone. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 512);
	__type(key, __u32);
	__type(value, struct tracer_device_sums);
} devices SEC(".maps");

/* Requests that were issued, and when. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, __u64);
	__type(value, __u64);
} in_flight SEC(".maps");

/* Bytes that tracked processes asked for since user space read them last. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct tracer_device_use_key);
	__type(value, __u64);
} device_uses SEC(".maps");

static const struct tracer_device_sums nothing;

enum direction {
	DIRECTION_READ = 0,
	DIRECTION_WRITE = 1,
	DIRECTION_NONE = 2, /* no data is moved: a flush or discard, for example, or a command of its own kind */
};

static __always_inline __u32 zone_append(void)
{
	if (bpf_core_enum_value_exists(enum req_op, REQ_OP_ZONE_APPEND))
		return bpf_core_enum_value(enum req_op, REQ_OP_ZONE_APPEND);
	return bpf_core_enum_value(enum req_opf___before_6_0, REQ_OP_ZONE_APPEND___before_6_0);
}

static __always_inline enum direction direction_of(__u32 flags)
{
	__u32 op = flags & OP_MASK;

	if (op == REQ_OP_READ)
		return DIRECTION_READ;
	return op == REQ_OP_WRITE || op == zone_append() ? DIRECTION_WRITE : DIRECTION_NONE;
}

/* Of the whole disk; 0: it has none. */
static __always_inline __u32 device_of(struct gendisk *disk)
{
	return disk ? (__u32)BPF_CORE_READ(disk, major) << DEVICE_MINOR_BITS | (__u32)BPF_CORE_READ(disk, first_minor)
		    : 0;
}

static __always_inline struct gendisk *disk_of_request(struct request *request)
{
	struct request___before_5_17 *old = (void *)request;

	if (bpf_core_field_exists(old->rq_disk))
		return BPF_CORE_READ(old, rq_disk);
	return BPF_CORE_READ(request, q, disk);
}

static __always_inline struct gendisk *disk_of_bio(struct bio *bio)
{
	struct bio___before_5_12 *old = (void *)bio;

	if (bpf_core_field_exists(old->bi_disk))
		return BPF_CORE_READ(old, bi_disk);
	return BPF_CORE_READ(bio, bi_bdev, bd_disk);
}

static __always_inline __u32 slot_of(__u64 us)
{
	__u32 slot = 0;

	if (us >> TRACER_LATENCY_SLOTS)
		return TRACER_LATENCY_SLOTS - 1;
#pragma unroll
	for (int bits = TRACER_LATENCY_SLOTS / 2; bits; bits >>= 1) {
		if (us >> bits) {
			us >>= bits;
			slot += bits;
		}
	}
	return slot;
}

static __always_inline int request_issued(struct request *request)
{
	__u64 key = (__u64)request;
	__u64 now_ns = bpf_ktime_get_ns();

	if (direction_of(BPF_CORE_READ(request, cmd_flags)) != DIRECTION_NONE && BPF_CORE_READ(request, __data_len))
		bpf_map_update_elem(&in_flight, &key, &now_ns, BPF_ANY);
	return 0;
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(issued, struct request *request)
{
	return request_issued(request);
}

/* Before a54895fa057c ("block: remove the request_queue to argument request based tracepoints", 5.11). */
SEC("tp_btf/block_rq_issue")
int BPF_PROG(issued_in_queue, struct request_queue *queue, struct request *request)
{
	return request_issued(request);
}

static __always_inline struct tracer_device_sums *sums_of(__u32 device)
{
	struct tracer_device_sums *sums = bpf_map_lookup_elem(&devices, &device);

	if (sums)
		return sums;
	bpf_map_update_elem(&devices, &device, &nothing, BPF_NOEXIST);
	return bpf_map_lookup_elem(&devices, &device);
}

static __always_inline void add_latency(struct tracer_device_sums *sums, __u32 direction, __u64 latency_ns)
{
	__u32 slot = slot_of(latency_ns / 1000);

	__sync_fetch_and_add(&sums->latency_ns[direction], latency_ns);
	__sync_fetch_and_add(&sums->timed[direction], 1);
	if (slot < TRACER_LATENCY_SLOTS)
		__sync_fetch_and_add(&sums->slots[slot], 1);
}

/* Once for each part of a request that is completed apart from the rest, and for a write that is flushed once more,
 * without bytes, at its end. */
SEC("tp_btf/block_rq_complete")
int BPF_PROG(completed, struct request *request, int error, unsigned int bytes)
{
	__u32 direction = direction_of(BPF_CORE_READ(request, cmd_flags));
	__u32 left = BPF_CORE_READ(request, __data_len);
	__u64 key = (__u64)request;
	__u64 issued_ns = 0;

	if (direction > DIRECTION_WRITE || !bytes || !left)
		return 0;
	if (bytes >= left) {
		__u64 *issued = bpf_map_lookup_elem(&in_flight, &key);
		if (issued) {
			issued_ns = *issued;
			bpf_map_delete_elem(&in_flight, &key);
		}
	}
	__u32 device = device_of(disk_of_request(request));
	if (error || !device)
		return 0;
	struct tracer_device_sums *sums = sums_of(device);
	if (!sums)
		return 0;
	__sync_fetch_and_add(&sums->bytes[direction], bytes < left ? bytes : left);
	if (bytes < left)
		return 0;
	__sync_fetch_and_add(&sums->requests[direction], 1);
	if (issued_ns)
		add_latency(sums, direction, bpf_ktime_get_ns() - issued_ns);
	return 0;
}

static __always_inline bool swaps(struct bio *bio)
{
	return bpf_core_enum_value_exists(enum req_flag_bits, __REQ_SWAP) &&
	       BPF_CORE_READ(bio, bi_opf) & 1U << bpf_core_enum_value(enum req_flag_bits, __REQ_SWAP);
}

/* What it waits for next is this. */
static __always_inline void note_last_bio(struct task_struct *current, __u32 device, bool swaps)
{
	__u32 slot = 0;
	struct tracer_last_bio *last = bpf_map_lookup_elem(&last_bio, &slot);

	if (!last)
		return;
	last->switches = BPF_CORE_READ(current, nvcsw);
	last->tid = bpf_get_current_pid_tgid();
	last->device = device;
	last->swaps = swaps;
}

/* In whoever asks. Requests are issued later, often by somebody else. */
static __always_inline int bio_queued(struct bio *bio)
{
	struct task_struct *current = (void *)bpf_get_current_task();
	/* What was cached and is written later is somebody's who is not known here: it counts as nobody's. */
	bool by_kernel = BPF_CORE_READ(current, flags) & PF_KTHREAD;
	struct tracer_process *process = by_kernel ? NULL : current_process();
	__u64 bytes = BPF_CORE_READ(bio, bi_iter.bi_size);

	if (!by_kernel && (!process || (process->flags & TRACER_FLAG_EXCLUDED)))
		return 0;
	struct gendisk *disk = disk_of_bio(bio);
	if (process)
		note_last_bio(current, device_of(disk), swaps(bio));
	if (!bytes || direction_of(BPF_CORE_READ(bio, bi_opf)) == DIRECTION_NONE)
		return 0;
	/* What such a device does with it comes here again, for the devices below. */
	if (!BPF_CORE_READ(disk, queue, mq_ops))
		return 0;
	struct tracer_device_use_key key = {.device = device_of(disk)};
	if (process) {
		key.start_ns = process->start_ns;
		key.pid = process->pid;
	}
	__u64 *sum = bpf_map_lookup_elem(&device_uses, &key);
	if (sum) {
		__sync_fetch_and_add(sum, bytes);
	} else if (bpf_map_update_elem(&device_uses, &key, &bytes, BPF_NOEXIST)) {
		/* Another thread of it was first. */
		sum = bpf_map_lookup_elem(&device_uses, &key);
		if (sum)
			__sync_fetch_and_add(sum, bytes);
	}
	return 0;
}

SEC("tp_btf/block_bio_queue")
int BPF_PROG(queued, struct bio *bio)
{
	return bio_queued(bio);
}

/* Before e8a676d61c07 ("block: simplify and extended the block_bio_merge tracepoint class", 5.11). */
SEC("tp_btf/block_bio_queue")
int BPF_PROG(queued_in_queue, struct request_queue *queue, struct bio *bio)
{
	return bio_queued(bio);
}
