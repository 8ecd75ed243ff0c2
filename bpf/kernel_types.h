/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Every kernel structure and field that libtracer reads, by hand. Offsets come from the running kernel's BTF (CO-RE).
 * This page is the portability surface and the privacy statement: what is not here is not read. The only user memory
 * that is read is the argument vector, from mm->arg_start to mm->arg_end.
 */
#ifndef TRACER_KERNEL_TYPES_H
#define TRACER_KERNEL_TYPES_H

typedef unsigned char __u8;
typedef signed int __s32;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef signed long long __s64;
typedef unsigned long long __u64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef int pid_t;
typedef _Bool bool;
#define NULL ((void *)0)
#define true 1
#define false 0

enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_RINGBUF = 27,
};
enum { BPF_ANY = 0 };
enum { BPF_F_MMAPABLE = 1 << 10 };
enum { BPF_RB_NO_WAKEUP = 1, BPF_RB_FORCE_WAKEUP = 2 };
enum { BPF_RB_AVAIL_DATA = 0 };

/* linux/sched.h, linux/sched/signal.h */
#define TASK_DEAD 0x80
#define PF_KTHREAD 0x00200000
#define PF_IO_WORKER 0x00000010
#define PF_USER_WORKER 0x00004000 /* since f9010dbdce91 (6.4); before, the bit meant something else */
#define SIGNAL_GROUP_EXIT 0x4
/* linux/proc_ns.h: the inode number of the initial pid namespace */
#define PROC_PID_INIT_INO 0xEFFFFFFCU

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
	int counter;
} atomic_t;

typedef struct {
	__s64 counter;
} atomic64_t;

typedef struct {
	__u32 val;
} kuid_t;

struct ns_common {
	__u32 inum;
};

struct mnt_namespace {
	struct ns_common ns;
};

struct pid_namespace {
	struct ns_common ns;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

struct nsproxy {
	struct mnt_namespace *mnt_ns;
};

struct cred {
	kuid_t uid;
};

struct qstr {
	union {
		struct {
			__u32 hash;
			__u32 len;
		};
		__u64 hash_len;
	};
	const unsigned char *name;
};

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
};

struct vfsmount {
	struct dentry *mnt_root;
};

struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
};

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};

struct fs_struct {
	struct path root;
	struct path pwd;
};

struct file {
	struct path f_path;
};

struct percpu_counter {
	__s64 count;
	__s32 *counters;
};

struct mm_struct {
	unsigned long hiwater_rss;
	unsigned long arg_start;
	unsigned long arg_end;
	struct file *exe_file;
	struct percpu_counter rss_stat[4];
};

/* Before f1a7941243c1 ("mm: convert mm's rss stats into percpu_counter", 6.2). */
struct mm_rss_stat___before_6_2 {
	atomic64_t count[4];
};
struct mm_struct___before_6_2 {
	struct mm_rss_stat___before_6_2 rss_stat;
};

struct task_io_accounting {
	__u64 rchar;
	__u64 wchar;
	__u64 syscr;
	__u64 syscw;
	__u64 read_bytes;
	__u64 write_bytes;
	__u64 cancelled_write_bytes;
};

struct sched_info {
	unsigned long long run_delay;
};

struct sched_entity {
	__u64 exec_start;
	__u64 sum_exec_runtime;
};

struct signal_struct {
	atomic_t live;
	int nr_threads;
	int group_exit_code;
	unsigned int flags;
	__u64 utime;
	__u64 stime;
	unsigned long nvcsw;
	unsigned long nivcsw;
	unsigned long min_flt;
	unsigned long maj_flt;
	unsigned long maxrss;
	unsigned long long sum_sched_runtime;
};

struct kernfs_node {
	struct kernfs_node *parent;
	const char *name;
	__u64 id;
};

/* Since 633488947ef6 ("kernfs: Use RCU to access kernfs_node::parent", 6.15). */
struct kernfs_node___since_6_15 {
	struct kernfs_node *__parent;
};

struct cgroup_root {
	int hierarchy_id;
	unsigned int subsys_mask;
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
};

struct cgroup {
	struct kernfs_node *kn;
	struct cgroup_root *root;
};

struct css_set {
	struct cgroup_subsys_state *subsys[1];
	struct cgroup *dfl_cgrp;
};

enum cgroup_subsys_id {
	memory_cgrp_id = 0,
	pids_cgrp_id = 1,
};

struct task_struct {
	unsigned int __state;
	unsigned int flags;
	struct sched_entity se;
	struct sched_info sched_info;
	struct mm_struct *mm;
	int exit_code;
	pid_t pid;
	pid_t tgid;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	__u64 utime;
	__u64 stime;
	unsigned long nvcsw;
	unsigned long nivcsw;
	__u64 start_boottime;
	unsigned long min_flt;
	unsigned long maj_flt;
	const struct cred *cred;
	char comm[16];
	struct fs_struct *fs;
	struct nsproxy *nsproxy;
	struct signal_struct *signal;
	__u64 parent_exec_id;
	__u64 self_exec_id;
	struct task_io_accounting ioac;
	struct css_set *cgroups;
};

/* Before 2f064a59a11f ("sched: Change task_struct::state", 5.14). */
struct task_struct___before_5_14 {
	long state;
};

struct linux_binprm;

struct kernel_clone_args {
	int user_worker;
};

/* Of libtracer's own per-CPU map: where per-CPU memory begins. */
struct bpf_array {
	void *pptrs[1];
};

struct seq_file {
	void *private;
};

struct bpf_iter_meta {
	struct seq_file *seq;
	__u64 session_id;
	__u64 seq_num;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#pragma clang attribute pop

#endif
