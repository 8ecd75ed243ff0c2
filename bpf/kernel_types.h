/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Every kernel structure and field that libtracer reads, by hand. Offsets come from the running kernel's BTF (CO-RE).
 * This page is the portability surface and the privacy statement: what is not here is not read. The only user memory
 * that is read is the argument vector, from mm->arg_start to mm->arg_end.
 */
#ifndef TRACER_KERNEL_TYPES_H
#define TRACER_KERNEL_TYPES_H

#include "kernel_constants.h"

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
	kuid_t suid;
	kuid_t euid;
	kuid_t fsuid;
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

struct inode;

struct hlist_bl_node {
	struct hlist_bl_node **pprev;
};

struct hlist_node {
	struct hlist_node *next;
};
struct hlist_head {
	struct hlist_node *first;
};

struct dentry {
	struct hlist_bl_node d_hash;
	struct dentry *d_parent;
	struct qstr d_name;
	struct inode *d_inode;
	union {
		struct hlist_node d_alias; /* among the names of its inode */
	} d_u;
};

struct vfsmount {
	struct dentry *mnt_root;
};

struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
	struct mnt_namespace *mnt_ns;
};

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};

struct fs_struct {
	struct path root;
	struct path pwd;
};

struct file_system_type {
	const char *name;
};

struct file_operations {
	void *open; /* its address only */
};

struct super_block {
	__u32 s_dev;
	unsigned long s_magic;
	struct file_system_type *s_type;
	struct dentry *s_root;
	const char *s_subtype; /* which process serves a FUSE file system: "sshfs" */
};

struct pipe_inode_info {
	unsigned int head;
	unsigned int tail;
	unsigned int max_usage;
};

struct inode {
	__u16 i_mode;
	kuid_t i_uid;
	__s64 i_size;
	unsigned int i_nlink;
	unsigned long i_ino;
	__u32 i_generation;
	__s64 i_mtime_sec; /* since 6.11 */
	__u32 i_mtime_nsec;
	struct super_block *i_sb;
	const struct file_operations *i_fop;
	struct pipe_inode_info *i_pipe;
	struct hlist_head i_dentry;
};

struct timespec64 {
	__s64 tv_sec;
	long tv_nsec;
};
struct inode___before_6_11 {
	struct timespec64 __i_mtime;
};
struct inode___before_6_7 {
	struct timespec64 i_mtime;
};

struct in6_addr {
	__u32 in6_u[4];
};

/* Of a socket: its kind, and the addresses of its ends. */
struct sock_common {
	__u16 skc_family;
	__u32 skc_daddr;
	__u32 skc_rcv_saddr;
	__u16 skc_num; /* its own port */
	__u16 skc_dport;
	struct in6_addr skc_v6_daddr; /* with CONFIG_IPV6 */
	struct in6_addr skc_v6_rcv_saddr;
};

struct sock {
	struct sock_common __sk_common;
	__u16 sk_type;
	__u16 sk_protocol;
	int sk_err;
	struct socket *sk_socket;
};

/* With CONFIG_UNIX=y. */
struct unix_sock {
	struct sock *peer;
};

struct tcp_sock {
	__u32 total_retrans;
	__u32 srtt_us;
};

struct socket {
	struct file *file; /* NULL: the kernel's own */
	struct sock *sk;
};

struct socket_alloc {
	struct socket socket;
	struct inode vfs_inode;
};

struct file {
	struct path f_path;
	struct inode *f_inode;
	unsigned int f_mode;
	unsigned int f_flags;
	__s64 f_pos;
};

/* What is renamed. Since 9fe61450972d ("namei: introduce struct renamedata", 5.12), and in stable releases. */
struct renamedata {
	struct dentry *old_dentry;
};

/* From which the kernel takes its structures, by its name. */
struct kmem_cache {
	const char *name;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct list_head {
	struct list_head *next;
};

/* Of a system call that a thread is in: its number and where its arguments say which descriptor. */
struct pt_regs {
#if defined(__TARGET_ARCH_x86)
	unsigned long orig_ax;
	unsigned long di;
	unsigned long si;
	unsigned long dx;
	unsigned long r10;
#elif defined(__TARGET_ARCH_arm64)
	__u64 regs[31];
	__s32 syscallno;
#endif
};

/* Of a thread that calls, or returns from, a function of a GPU driver's library: its first arguments, and the result.
 */
struct pt_regs___of_function {
#if defined(__TARGET_ARCH_x86)
	unsigned long cx;
	unsigned long dx;
	unsigned long si;
	unsigned long di;
	unsigned long ax;
	unsigned long sp;
#elif defined(__TARGET_ARCH_arm64)
	__u64 regs[31];
	__u64 sp;
#endif
};

struct thread_info {
	unsigned long flags; /* read on arm64 only */
	__u32 status;	     /* x86 */
};

enum bpf_func_id {
	BPF_FUNC_get_current_task_btf = 158,
	BPF_FUNC_task_pt_regs = 175,
};

struct percpu_counter {
	__s64 count;
	__s32 *counters;
};

struct mm_struct {
	atomic64_t hugetlb_usage; /* in pages; only with CONFIG_HUGETLB_PAGE */
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
	unsigned long long last_arrival;
	unsigned long long last_queued; /* since when it stands in the queue; 0: it does not */
};

struct rq {
	__u64 clock;
	__u64 clock_task;
	int cpu;
};

struct cfs_rq {
	struct rq *rq;
};

struct sched_entity {
	unsigned char sched_delayed; /* since 152e11f6df29 (6.12): it sleeps, and its place in the queue is kept for a
					while */
	__u64 exec_start;
	__u64 sum_exec_runtime;
	struct cfs_rq *cfs_rq;
};

/* Who has sent a signal, where that is not told by a constant in place of the pointer. */
struct kernel_siginfo {
	int si_code;
};

/* How a program handles a signal. */
struct sigaction {
	void *sa_handler;
	unsigned long sa_flags;
};

struct k_sigaction {
	struct sigaction sa;
};

typedef struct {
	unsigned long sig[1];
} sigset_t;

struct sigpending {
	sigset_t signal;
};

struct signal_struct {
	struct sigpending shared_pending;
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
	struct cgroup_subsys_state *parent;
};

struct cgroup {
	struct cgroup_subsys_state *subsys[1];
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

/* In pages. */
struct page_counter {
	atomic64_t usage;
	unsigned long watermark;
	unsigned long max;
};

enum memcg_memory_event {
	MEMCG_OOM = 3,
};

struct mem_cgroup {
	struct cgroup_subsys_state css;
	struct page_counter memory;
	struct page_counter memsw; /* v1: with what lies in swap */
	bool oom_lock;		   /* with CONFIG_MEMCG_V1, as before 6.11 always: memory has run out in it or above */
	atomic64_t memory_events_local[1];
};

/* With CONFIG_CFS_BANDWIDTH: limits on CPU time. */
struct cfs_bandwidth {
	__u64 quota;
	__u64 throttled_time;
};

struct task_group {
	struct task_group *parent;
	struct cfs_bandwidth cfs_bandwidth;
};

struct task_struct {
	struct thread_info thread_info;
	unsigned int __state;
	void *stack;
	unsigned int on_cpu; /* one byte in 7.2; only loads of unsigned fields are fitted to the kernel's size */
	unsigned in_iowait : 1;
	unsigned in_memstall : 1; /* with CONFIG_PSI=y, unless that is switched off */
	unsigned frozen : 1;
	struct list_head children;
	struct files_struct *files;
	unsigned int flags;
	struct sched_entity se;
	struct sched_info sched_info;
	struct task_group *sched_task_group;
	struct mm_struct *mm;
	int nr_cpus_allowed;
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
	struct sigpending pending;
	sigset_t blocked;
	unsigned long jobctl;
	__u64 parent_exec_id;
	__u64 self_exec_id;
	struct task_io_accounting ioac;
	struct css_set *cgroups;
};

/* Before 2f064a59a11f ("sched: Change task_struct::state", 5.14). */
struct task_struct___before_5_14 {
	long state;
};

/* Of block devices: what they are asked for, and which disk they are or lie on. */
struct gendisk {
	int major;
	int first_minor;
	struct request_queue *queue;
};

struct request_queue {
	const void *mq_ops; /* null: what comes goes on to other devices, without requests of its own */
	struct gendisk *disk;
};

struct request {
	struct request_queue *q;
	unsigned int cmd_flags;
	unsigned int __data_len;
};

/* Before f3fa33acca9f ("block: remove the ->rq_disk field in struct request", 5.17). */
struct request___before_5_17 {
	struct gendisk *rq_disk;
};

enum req_op {
	REQ_OP_READ = 0,
	REQ_OP_WRITE = 1,
	REQ_OP_ZONE_APPEND = 7,
};

/* Before ff07a02e9e8e ("treewide: Rename enum req_opf into enum req_op", 6.0). */
enum req_opf___before_6_0 {
	REQ_OP_ZONE_APPEND___before_6_0 = 13,
};

struct block_device {
	struct gendisk *bd_disk;
};

enum req_flag_bits {
	__REQ_SWAP = 31,
};

struct bvec_iter {
	unsigned int bi_size;
};

struct bio {
	struct block_device *bi_bdev;
	unsigned int bi_opf;
	struct bvec_iter bi_iter;
};

/* Before 309dca309fc3 ("block: store a block_device pointer in struct bio", 5.12). */
struct bio___before_5_12 {
	struct gendisk *bi_disk;
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

struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	__u32 fd;
	struct file *file;
};

#pragma clang attribute pop

#endif
