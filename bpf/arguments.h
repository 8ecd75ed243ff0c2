/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The argument vector: the only user memory that is read. */
#ifndef TRACER_ARGUMENTS_H
#define TRACER_ARGUMENTS_H

static __always_inline void append_argv(struct tracer_exec_buffer *to, struct mm_struct *mm,
					struct tracer_wire_process_exec *record)
{
	unsigned long begin = mm->arg_start;
	unsigned long end = mm->arg_end;
	__u64 total = end > begin ? end - begin : 0;
	__u32 head = TRACER_ARGV_HEAD_BYTES;
	__u32 tail = TRACER_ARGV_TAIL_BYTES;
	__u32 offset = to->used & EXEC_MASK;

	record->argv_total = total;
	if (total <= TRACER_ARGV_HEAD_BYTES) {
		head = total;
		tail = 0;
	} else if (total < TRACER_ARGV_HEAD_BYTES + TRACER_ARGV_TAIL_BYTES) {
		tail = total - TRACER_ARGV_HEAD_BYTES;
	}
	if (bpf_probe_read_user(&to->bytes[offset], head & 4095, (void *)begin) < 0) {
		record->flags |= TRACER_FLAG_ARGV_UNREADABLE;
		return;
	}
	if (tail) {
		__u32 next = (offset + head) & EXEC_MASK;
		if (bpf_probe_read_user(&to->bytes[next], tail & 2047, (void *)(end - tail)) < 0) {
			record->flags |= TRACER_FLAG_ARGV_UNREADABLE;
			return;
		}
	}
	record->argv_size = head + tail;
	to->used = offset + head + tail;
}

#endif
