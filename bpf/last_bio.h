/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What block devices were asked for last: the family waits shares it with the disks. */
#ifndef TRACER_LAST_BIO_H
#define TRACER_LAST_BIO_H

/* On this CPU: who asked which device for something. */
struct tracer_last_bio {
	__u64 switches; /* that the thread had made of its own will */
	__u32 tid;
	__u32 device;
	__u32 swaps; /* 1: it reads or writes swap */
	__u32 reserved;
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tracer_last_bio);
} last_bio SEC(".maps");

#endif
