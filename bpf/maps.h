/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The maps and load-time knobs of the lifecycle family. Sizes are set by user space before loading. */
#ifndef TRACER_MAPS_H
#define TRACER_MAPS_H

#include "common/emit.h"
#include "common/hierarchies.h"
#include "common/kernfs.h"
#include "process_maps.h"

/* Only of processes that ever have a second thread, or lived before they were tracked. */
struct tracer_thread_sums {
	struct tracer_wire_account ended; /* of its threads that have ended */
	struct tracer_wire_account late;  /* of those, the ones of earlier programs that ended after them */
	struct tracer_wire_waits waits;	  /* of its threads that have ended */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, struct tracer_thread_sums);
} ended_threads SEC(".maps");

/* Of processes without such an entry: which ends have been told. */
struct tracer_end_key {
	__u64 start_ns;
	__u32 pid;
	__u32 reserved;
};
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 256);
	__type(key, struct tracer_end_key);
	__type(value, __u8);
} told_ends SEC(".maps");

/* By context id. Beside the events, so that a lost event never changes a sum. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 256);
	__type(key, __u32);
	__type(value, struct tracer_context_totals);
} totals SEC(".maps");

/* Of context ids beyond those; user space makes the entries. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tracer_context_totals);
} more_totals SEC(".maps");

/* Rules for living processes, by thread group id; read when iter/task adopts. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, struct tracer_rule);
} tree_rules SEC(".maps");

/* Holds the whole subtree of each rule: cgroup_mkdir copies a parent's rule to its child. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, struct tracer_cgroup_key);
	__type(value, struct tracer_rule);
} cgroup_rules SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, struct tracer_rule);
} uid_rules SEC(".maps");

/* Cgroups whose path has been sent. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, struct tracer_cgroup_key);
	__type(value, __u8);
} cgroups_sent SEC(".maps");

/*
 * Buffers for what is too large for a program's stack. Each program has its own, as another may run in the middle of
 * one; a buffer ends with room for one bounded read after the last masked offset.
 */
#define PROGRAM_FORK 0
#define PROGRAM_EXEC 1
#define PROGRAM_CGROUP 2
#define PROGRAM_ATTACH 3
#define PROGRAM_LIVING 4
#define PROGRAM_EXIT 5
#define PROGRAM_SWITCH 6
#define PROGRAM_SCOPE 7
#define PROGRAMS 8

#define EXEC_MASK 16383
struct tracer_exec_buffer {
	/*
	 * Kept in memory, where the verifier knows nothing of them: it then sees each round of a loop as the same
	 * state. In front, on the page that is touched anyway.
	 */
	volatile __u32 used;
	volatile __u32 limit;
	/* Where a path's walk past mount points has come to, and where it ends. */
	volatile __u64 entry;
	volatile __u64 mount;
	volatile __u64 mount_root;
	volatile __u64 root;
	volatile __u64 last_mount;
	__u8 bytes[EXEC_MASK + 1 + 4096];
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tracer_exec_buffer);
} exec_buffer SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, PROGRAMS);
	__type(key, __u32);
	__type(value, struct tracer_cgroup_buffer);
} cgroup_buffer SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, PROGRAMS);
	__type(key, __u32);
	__type(value, struct tracer_process);
} process_buffer SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, PROGRAMS);
	__type(key, __u32);
	__type(value, struct tracer_thread_sums);
} sums_buffer SEC(".maps");

/* The exit of a process that had threads. */
struct tracer_long_exit {
	struct tracer_wire_process_exit exit;
	struct tracer_wire_account late;
	struct tracer_wire_process_waits process_waits;
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tracer_long_exit);
} exit_buffer SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tracer_wire_thread);
} thread_buffer SEC(".maps");

const volatile __u8 track_all = 0; /* every process of the host, but for excluded ones */
const volatile __u8 use_cgroup_rules = 0;
const volatile __u8 use_uid_rules = 0;
const volatile __u8 keep_ledgers = 0; /* the waits family is there */
const volatile __u8 own_uid_only = 0; /* only processes of own_uid, whatever includes them */
const volatile __u32 own_uid = 0;
const volatile __u32 cpu_count = 1; /* up to the last that is online, not only possible */

struct tracer_cpu cpus[TRACER_MAX_CPUS] __attribute__((aligned(64)));

#endif
