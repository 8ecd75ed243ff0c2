/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The records that cross from the kernel to user space, and the maps' values that both sides know.
 * Compiled by clang for BPF, by C and by C++. Fixed-width members, widest first, padding explicit. Fields are only
 * appended.
 */
#ifndef TRACER_WIRE_H
#define TRACER_WIRE_H

#ifndef __bpf__
#include <linux/types.h>
#endif

#ifdef __cplusplus
#define TRACER_STATIC_ASSERT static_assert
#else
#define TRACER_STATIC_ASSERT _Static_assert
#endif

#define TRACER_COMM_SIZE 16
#define TRACER_SAME_UID 0xffffffffu
#define TRACER_NO_LABEL 0xffffffffffffffffull /* in place of a serial: none, nor that of an outer scope or maker */
#define TRACER_ARGV_HEAD_BYTES 3072
#define TRACER_ARGV_TAIL_BYTES 1024
#define TRACER_PATH_MAX_BYTES 4096

/* Kinds are never renumbered, and none takes the number of one that is gone: 6, 8. */
#define TRACER_WIRE_PROCESS_START 1
#define TRACER_WIRE_PROCESS_EXEC 2
#define TRACER_WIRE_PROCESS_EXIT 3
#define TRACER_WIRE_CGROUP 4
#define TRACER_WIRE_THREAD 5 /* one living thread of a tracked process, from iter/task */
#define TRACER_WIRE_FILE 7   /* an open regular file of a tracked process, from iter/task_file */
#define TRACER_WIRE_OOM_KILL 9
#define TRACER_WIRE_FILE_USE 10
#define TRACER_WIRE_CONNECTION 11
#define TRACER_WIRE_CGROUP_END 12
#define TRACER_WIRE_SYSCALL_USE 13
#define TRACER_WIRE_GPU_USE 14

/* Which hierarchy a cgroup id belongs to. */
#define TRACER_HIERARCHY_V2 0
#define TRACER_HIERARCHY_V1_MEMORY 1
#define TRACER_HIERARCHY_V1_PIDS 2

struct tracer_wire_header {
	__u16 kind;
	__u16 reserved;
	__u32 size;	/* of the whole record, header included */
	__u64 time_ns;	/* boot clock */
	__u64 start_ns; /* boot clock, of the process (its first thread) */
	__u32 pid;	/* thread group id, in the session's pid namespace */
	__u32 cpu;
};
TRACER_STATIC_ASSERT(sizeof(struct tracer_wire_header) == 32, "wire layout");

/* Own counters of a process, summed over its threads; never those of its children. */
struct tracer_wire_account {
	__u64 cpu_ns;		       /* se.sum_exec_runtime */
	__u64 user_sampled_ns;	       /* utime: whole ticks, or exact with VIRT_CPU_ACCOUNTING */
	__u64 system_sampled_ns;       /* stime */
	__u64 run_queue_ns;	       /* sched_info.run_delay */
	__u64 minor_faults;	       /* min_flt */
	__u64 major_faults;	       /* maj_flt */
	__u64 voluntary_switches;      /* nvcsw */
	__u64 involuntary_switches;    /* nivcsw */
	__u64 read_bytes;	       /* ioac.rchar */
	__u64 written_bytes;	       /* ioac.wchar */
	__u64 read_calls;	       /* ioac.syscr */
	__u64 write_calls;	       /* ioac.syscw */
	__u64 storage_read_bytes;      /* ioac.read_bytes */
	__u64 storage_written_bytes;   /* ioac.write_bytes */
	__u64 storage_cancelled_bytes; /* ioac.cancelled_write_bytes */
};
TRACER_STATIC_ASSERT(sizeof(struct tracer_wire_account) == 120, "wire layout");

/* What a thread waits for while it is off the CPU. */
#define TRACER_WAIT_NONE 0 /* for nothing: it could run. Sums: what of that was not run-queue time */
#define TRACER_WAIT_DISK 1
#define TRACER_WAIT_PIPE_READ 2	 /* for data in an empty pipe, or for somebody to open its other end */
#define TRACER_WAIT_PIPE_WRITE 3 /* for room in a full pipe */
#define TRACER_WAIT_NETWORK 4	 /* a socket that may reach another machine */
#define TRACER_WAIT_LOCK 5
#define TRACER_WAIT_CHILD 6
#define TRACER_WAIT_SLEEP 7
#define TRACER_WAIT_POLL 8 /* for any of several things, or for an event */
#define TRACER_WAIT_RECLAIM 9
#define TRACER_WAIT_SWAP 10 /* in a page fault that reads */
#define TRACER_WAIT_STOPPED 11
#define TRACER_WAIT_OTHER 12
#define TRACER_WAIT_THROTTLED 13    /* ready, but its cgroup had used up its share of the CPU */
#define TRACER_WAIT_LOCAL_SOCKET 14 /* one between processes of this machine */
#define TRACER_WAIT_CAUSES 15

/* How the cause follows from the number of a system call: one of the above, or by what a descriptor is. */
#define TRACER_CALL_READS 32	 /* from its first argument */
#define TRACER_CALL_WRITES 33	 /* to its first argument */
#define TRACER_CALL_MOVES_0_1 34 /* from its first argument to its second */
#define TRACER_CALL_MOVES_0_2 35 /* from its first argument to its third */
#define TRACER_CALL_MOVES_1_0 36 /* from its second argument to its first */
#define TRACER_CALL_OPENS 37
#define TRACER_CALL_FILES 38 /* works on the file system */
#define TRACER_CALL_AWAITS_SIGNAL 39
#define TRACER_CALL_RESTARTS 40 /* goes on with the wait that a stop interrupted */
#define TRACER_CALL_SOCKET 41	/* sends or receives, on the socket that is its first argument */
#define TRACER_CALL_CONNECTS 42 /* makes a connection, likewise */
#define TRACER_CALL_FUTEX 43
#define TRACER_CALL_LOCKS 44   /* locks or unlocks what processes share */
#define TRACER_CALL_ACCEPTS 45 /* waits for whoever connects */
#define TRACER_CALL_POLLS_0 46 /* any of so many descriptors as its first argument says; of none, it sleeps */
#define TRACER_CALL_POLLS_1 47 /* likewise its second argument */
#define TRACER_CALLS 512

/* Where the wall time went, since the threads were followed, summed over them. */
struct tracer_wire_waits {
	__u64 wall_ns;
	__u64 cpu_ns;
	__u64 run_queue_ns;
	__u64 wait_ns[TRACER_WAIT_CAUSES];
	__u32 pipe_read_peer; /* the process that ended most of these waits; 0: none, or not known */
	__u32 pipe_write_peer;
	__u32 threads;	    /* summed up here; 0: nothing is known */
	__u32 limits_known; /* 1: wait_ns[TRACER_WAIT_THROTTLED] is */
	/* The process that ended most waits for a local socket, and for a lock; 0: none is known to have. How long
	 * those were that it ended, at least. Of a process, not of its threads. */
	__u32 local_socket_peer;
	__u32 lock_peer;
	__u64 local_socket_peer_ns;
	__u64 lock_peer_ns;
};
TRACER_STATIC_ASSERT(sizeof(struct tracer_wire_waits) == 184, "wire layout");

/* Where the life of a process went that has, or had, several threads: at each moment in one of these. */
struct tracer_wire_process_waits {
	__u64 life_ns; /* since it was followed; 0: it never had a second thread, so its thread's waits are its own */
	__u64 run_queue_ns;		   /* none ran, and one could have */
	__u64 wait_ns[TRACER_WAIT_CAUSES]; /* none ran or could have: what the one waited for that ended this */
};
TRACER_STATIC_ASSERT(sizeof(struct tracer_wire_process_waits) == 136, "wire layout");

/* What is the same for a process from its birth on, or changes seldom. */
struct tracer_wire_identity {
	__u64 parent_start_ns;
	__u64 cgroup_id;
	__u32 parent_pid; /* 0 in the records of an exec and an exit: as before */
	__u32 uid;	  /* real; TRACER_SAME_UID: as before */
	__u32 context_id;
	__u32 pid_namespace;	     /* inode number of the namespace; 0: as before, or as the parent's */
	__u32 mount_namespace;	     /* likewise */
	__u32 hierarchy;	     /* TRACER_HIERARCHY_*, of cgroup_id */
	char comm[TRACER_COMM_SIZE]; /* empty: as before, or as the parent's */
};
TRACER_STATIC_ASSERT(sizeof(struct tracer_wire_identity) == 56, "wire layout");

/* In place of a user id: the one as which the program was executed, where that is not the real one. */
#define TRACER_USER_OF_PROGRAM 0xfffffffeu

/* Bits of `flags` in the records below and in struct tracer_process. */
#define TRACER_FLAG_EXCLUDED (1u << 0) /* known, inherited, never reported */
#define TRACER_FLAG_ADOPTED (1u << 1)  /* lived before it was tracked; cleared by an exec */
#define TRACER_FLAG_LOST_THREADS \
	(1u << 2) /* threads ended before it was tracked: their I/O and run-queue time are unknown */
#define TRACER_FLAG_EXECUTED (1u << 3)	      /* has executed a program since it was tracked or forked */
#define TRACER_FLAG_PEAK_EXACT (1u << 4)      /* peak_pages is this program's */
#define TRACER_FLAG_PEAK_SHARED (1u << 5)     /* its memory is its parent's (vfork, CLONE_VM): no peak of its own */
#define TRACER_FLAG_THREADS_PENDING (1u << 6) /* exec: threads of the ended program were still ending */
#define TRACER_FLAG_EXE_CUT (1u << 7)	      /* the path's beginning is missing */
#define TRACER_FLAG_CWD_CUT (1u << 8)
#define TRACER_FLAG_ARGV_UNREADABLE (1u << 9)
#define TRACER_FLAG_THREADS_UNKNOWN (1u << 10) /* threads_created counts only those seen */
#define TRACER_FLAG_ADOPTED_LIFE (1u << 11)    /* lived before it was tracked; never cleared */
#define TRACER_FLAG_CPU_STALE (1u << 12)       /* exec: cpu_ns may miss up to one tick */
#define TRACER_FLAG_LATE_THREADS (1u << 13)    /* exit: an account follows */
#define TRACER_FLAG_AT_EXEC (1u << 14)	       /* start: taken in as it executed; what it ran before is not known */
#define TRACER_FLAG_COPY (1u << 15)	       /* living: has executed nothing since its fork, whenever that was */
#define TRACER_FLAG_SUMS_LOST (1u << 16)       /* its ended threads could not be summed: no account is known */
#define TRACER_FLAG_PROCESS_WAITS (1u << 17)   /* exec: at the very end, after argv, follow tracer_wire_process_waits */
#define TRACER_FLAG_SENT_BY_KERNEL (1u << 18)  /* exit: the signal that ended it */
#define TRACER_FLAG_SENT_BY_PROCESS (1u << 19) /* likewise */
#define TRACER_FLAG_OOM_KILLED (1u << 20)      /* with TRACER_FLAG_SENT_BY_KERNEL: as memory had run out */
#define TRACER_FLAG_OTHER_USER (1u << 21)      /* its program was executed as another user than its real one */

struct tracer_wire_process_start {
	struct tracer_wire_header header;
	struct tracer_wire_identity identity;
	__u32 flags;
	__u32 reserved;
};

/* Followed by exe_size + cwd_size bytes of path components, leaf first, each ended by NUL; then argv_size bytes. */
struct tracer_wire_process_exec {
	struct tracer_wire_header header;
	struct tracer_wire_identity identity;
	struct tracer_wire_account total; /* of the process, at this moment: where the ended program's share ends */
	__u64 program_start_ns;		  /* when the ended program began: its exec, or the fork */
	__u64 peak_pages;		  /* of the ended program: exact or at most, see flags */
	__u64 argv_total;		  /* bytes the vector really has */
	__u32 flags;
	__u32 old_tid;	       /* of the thread that called exec */
	__u32 threads_created; /* by the process up to now */
	__u16 exe_size;
	__u16 cwd_size;
	__u32 argv_size;		/* bytes of it that follow: all, or the first 3 KiB and the last 1 KiB */
	__u32 cpus_allowed;		/* how many its thread may run on */
	struct tracer_wire_waits waits; /* of the process, at this moment */
	/* Of the folder that cwd leads to; inode 0: its number says nothing. */
	__u64 cwd_inode;
	__u32 cwd_device;
	__u32 cwd_owner; /* a uid */
	__u32 euid;	 /* effective, as the new program begins */
	__u32 reserved;
};

/*
 * With TRACER_FLAG_LATE_THREADS followed by an account, of threads of ended programs that ended after those, and by
 * tracer_wire_process_waits.
 */
struct tracer_wire_process_exit {
	struct tracer_wire_header header;
	struct tracer_wire_identity identity;
	struct tracer_wire_account total;
	__u64 program_start_ns; /* when its last program began */
	__u64 attached_ns;	/* since when it was tracked; 0: from birth */
	__u64 peak_pages;
	__u64 read_before_exec_bytes; /* ioac.rchar up to the last exec: of ended programs, and of exec itself */
	__u32 flags;
	__u32 exit_code; /* as wait4 gives it: signal in bits 0-6, core dump in bit 7, status in bits 8-15 */
	__u32 threads_created;
	__u32 signal_sender_pid; /* with TRACER_FLAG_SENT_BY_PROCESS; 0: it is not shown */
	struct tracer_wire_waits waits;
	__u64 broken_pipe_ns; /* boot clock, when it last wrote to what nobody reads; 0: never, or not known */
};

/* Followed by path_size bytes: the path for a new cgroup, or components, leaf first, when `reversed`. */
struct tracer_wire_cgroup {
	struct tracer_wire_header header;
	__u64 cgroup_id;
	__u32 hierarchy;
	__u16 path_size;
	__u16 reversed;
};

struct tracer_wire_thread {
	struct tracer_wire_header header;
	struct tracer_wire_identity identity;
	struct tracer_wire_account own;	  /* of this thread; of a running one stale by up to a tick */
	struct tracer_wire_account ended; /* of the process's ended threads; only in the leader's record, else 0 */
	__u64 attached_ns;
	__u32 reserved;
	__u32 tid; /* 0: its first thread, which is dead: only what has ended, no thread that lives */
	__u32 flags;
	__u32 threads_created;
	__u32 newly_adopted; /* 1: this pass began to track the process */
	__u64 read_before_exec_bytes;
	struct tracer_wire_waits waits; /* of this thread; in the leader's record also of all that have ended */
	__u64 anonymous_pages;		/* of the process now; only with has_memory */
	__u64 file_pages;
	__u64 shared_pages;
	__u64 huge_pages; /* of hugetlbfs, in pages of the usual size; in none of the above */
	__u32 has_memory;
	__u32 state;					/* TRACER_STATE_* */
	struct tracer_wire_process_waits process_waits; /* only in the leader's record, else 0 */
};

#define TRACER_STATE_RUNNING 0 /* or ready to */
#define TRACER_STATE_SLEEPING 1
#define TRACER_STATE_UNINTERRUPTIBLE 2
#define TRACER_STATE_STOPPED 3

#define TRACER_FILE_NAME_SIZE 64
struct tracer_wire_file {
	struct tracer_wire_header header;
	__u64 inode;
	__u64 size_bytes;
	__u64 position_bytes;
	__u32 device;
	__u32 fd;
	__u32 readable;
	__u32 writable;
	char name[TRACER_FILE_NAME_SIZE]; /* the last component; cut when longer */
};

/* Followed by path_size bytes: path components of the cgroup, leaf first, each ended by NUL. */
struct tracer_wire_oom_kill {
	struct tracer_wire_header header; /* of the victim */
	struct tracer_wire_identity identity;
	__u64 limit_pages; /* of the cgroup whose limit was hit; 0, as all that follows but the pid: the host's memory
			    */
	__u64 usage_pages;
	__u64 peak_pages;
	__u32 allocator_pid; /* 0: the kernel itself, or not shown */
	__u32 has_cgroup;
	__u32 path_size;
	__u32 reserved;
};

/* What users share is counted by account: by user id, modulo this. */
#define TRACER_ACCOUNTS 4096

/* Subordinate user ids, and the user to whom they are charged. */
#define TRACER_MOST_ID_RANGES 8192 /* less 1 */
struct tracer_id_range {
	__u32 first;
	__u32 last;
	__u32 user;
};

/* Which file of which process; all 0 but for the process: more of its files than are told apart. */
struct tracer_file_key {
	__u64 start_ns;
	__u64 inode;
	__u32 device;
	__u32 generation; /* of the inode, which may be given again; 1 where inode is 0: files that were unlinked */
	__u32 pid;	  /* the kernel's number, as the places of processes are by that */
	__u32 user;	  /* as which it was used, or TRACER_USER_OF_PROGRAM */
};

/* What a process has done with a file, in all, up to its last close. */
struct tracer_file_sums {
	__u64 opens;
	__u64 sent_opens; /* when the record was sent last; it is sent again when all that is counted has doubled */
	__u64 read_bytes; /* by positions at the close; see *_unknown */
	__u64 written_bytes;
	__u64 size_bytes; /* at the last close */
	__u64 closed_ns;  /* the last close, by the boot clock; without one: the last rename or delete */
	/* 0 or 1, apart from each other, as several CPUs may write them at once. */
	__u8 read_unknown;  /* a position does not say how much was read */
	__u8 write_unknown; /* likewise */
	__u8 created;	    /* by an open that this process closed */
	__u8 reads;	    /* opened for reading */
	__u8 writes;
	__u8 open_unknown;  /* an open was not seen */
	__u8 moves_unseen;  /* this kernel shows no renames and deletes */
	__u8 no_room;	    /* of files that are not told apart: they would be, had their user not taken its share */
	__u64 opened_ns;    /* the first open, by the boot clock; 0: none was seen */
	__u32 renames;	    /* by this process, as all that follows */
	__u32 deletes;	    /* of its last name */
	__u32 sent_renames; /* when the record was sent last, as sent_opens */
	__u32 sent_deletes;
	__u32 account; /* that they are charged to */
	__u32 begins;  /* opens that began another content: they made the file, emptied it, or wrote all that it has */
	__u64 modified_ns;  /* by the wall clock: when it had changed last, at the last close of one opened for writing
			     */
	__u8 reads_earlier; /* an open for reading that began no content, before any of this process did or may have */
	__u8 wrote;	    /* an open for writing only had moved on; to append: past the end that it found */
	__u8 may_begin;	    /* an open may have begun another content, before any did for certain */
	__u8 reserved[5];
};

#define TRACER_FILESYSTEM_SIZE 16
#define TRACER_FILE_CLOSED 0
#define TRACER_FILE_RENAMED 1
#define TRACER_FILE_DELETED 2

/*
 * Followed by path_size bytes: path components, leaf first, each ended by NUL; only where the sums began, or it is
 * renamed or deleted: its path before. Then, of a rename, by new_path_size bytes: likewise, its path afterwards.
 */
struct tracer_wire_file_use {
	struct tracer_wire_header header;
	struct tracer_wire_identity identity;
	struct tracer_file_key key;
	struct tracer_file_sums sums;
	__u64 place;	  /* as in struct tracer_noise_key */
	__u64 more_opens; /* since the record that was sent before */
	__u32 more_renames;
	__u32 more_deletes;
	__u32 path_size;
	__u32 new_path_size;
	__u8 fresh;    /* the sums began with this record */
	__u8 change;   /* TRACER_FILE_* */
	__u8 path_cut; /* its beginning is missing */
	__u8 new_path_cut;
	__u32 reserved;
	char filesystem[TRACER_FILESYSTEM_SIZE]; /* with the path: its kind; cut when longer */
	char subtype[TRACER_FILESYSTEM_SIZE];	 /* and, of FUSE, what serves it; empty: not known */
};

/* Of a kind of filesystem whose files are noise, by its magic number. */
#define TRACER_NOISE_WORDS 4
#define TRACER_NOISE_BIT(magic) ((__u32)((magic)*0x85ebca6bu) >> 24)

/* A file, under one of its names, that is none of the workload's data. */
struct tracer_noise_key {
	__u64 inode;
	__u64 place; /* another for each name in each folder and mount; says nothing else */
	__u32 device;
	__u32 generation;
};

#define TRACER_PROTOCOL_OTHER 0
#define TRACER_PROTOCOL_TCP 1
#define TRACER_PROTOCOL_UDP 2
#define TRACER_PROTOCOL_UNIX 3
#define TRACER_ROLE_NONE 0
#define TRACER_ROLE_CLIENT 1
#define TRACER_ROLE_SERVER 2

/* Sockets of a program with one peer; IPv4 addresses as IPv6 ones that stand for them. */
struct tracer_connection_key {
	__u64 start_ns;
	__u64 program_start_ns;
	__u8 remote[16]; /* all 0: none, or not known */
	__u32 pid;	 /* the kernel's number */
	__u16 port;	 /* the service's: a server's own, else the peer's */
	__u8 protocol;	 /* TRACER_PROTOCOL_* */
	__u8 role;	 /* TRACER_ROLE_* */
	__u8 same_host;
	__u8 folded; /* 1: all peers beyond those that are told apart */
	__u8 reserved[2];
	__u32 user; /* as which it was exchanged with, or TRACER_USER_OF_PROGRAM */
};
TRACER_STATIC_ASSERT(sizeof(struct tracer_connection_key) == 48, "wire layout");

struct tracer_connection_sums {
	__u64 sent_bytes;
	__u64 received_bytes;
	__u64 sends;
	__u64 receives;
	__u64 told; /* sends and receives when the record was sent last; it is sent again when they have doubled */
	__u64 connects;
	__u64 failed_connects;
	__u64 retransmits;    /* at least */
	__u64 last_ns;	      /* boot clock */
	__u64 socket;	      /* of which the next two were read */
	__u32 retransmits_of; /* by that socket in all */
	__u32 round_trip_us;  /* times 8, as the kernel keeps it; 0: not known */
	__u32 error;	      /* errno of the last connect that failed; 0: none */
	__u32 wait_unknown;   /* 1: threads have waited otherwise than in a call on these sockets, or nobody knows */
	__u8 local[16];	      /* of the first socket */
	__u64 wait_ns;	      /* in calls that send or receive */
	__u32 account;	      /* that they are charged to */
	__u32 no_room;	      /* 1: as in struct tracer_file_sums */
};

struct tracer_wire_connection {
	struct tracer_wire_header header;
	struct tracer_wire_identity identity;
	struct tracer_connection_key key;
	struct tracer_connection_sums sums;
};

/* A cgroup is removed. */
struct tracer_wire_cgroup_end {
	struct tracer_wire_header header;
	__u64 cgroup_id;
	__u64 peak_pages; /* with has_peak */
	__u32 hierarchy;
	__u32 has_peak;
};

/* The calls of a process, by number: rows of successive numbers, as each process uses few of all. */
#define TRACER_SYSCALLS_OF_ROW 8
#define TRACER_SYSCALL_ROWS (TRACER_CALLS / TRACER_SYSCALLS_OF_ROW)
struct tracer_syscall_key {
	__u64 start_ns;
	__u32 pid; /* as records say it */
	__u32 row;
};
struct tracer_syscall_sums {
	__u64 calls; /* that returned */
	__u64 failed;
	__u64 duration_ns;
	__u32 error; /* errno of the last that failed; 0: none */
	__u32 reserved;
};
struct tracer_syscall_row {
	struct tracer_syscall_sums calls[TRACER_SYSCALLS_OF_ROW];
};

struct tracer_wire_syscall_use {
	struct tracer_wire_header header;
	struct tracer_wire_identity identity;
	__u32 row;
	__u32 reserved;
	struct tracer_syscall_row sums;
};
TRACER_STATIC_ASSERT(sizeof(struct tracer_wire_syscall_use) == 352, "wire layout");

/* What a call of a function of a GPU driver's library does: the lowest byte of the probe's cookie. Above it: the number
 * of the library; then of the arguments that say how much, counted from 1; 0: none. */
#define TRACER_GPU_ALLOCATE 1 /* as many bytes as the product of its arguments */
#define TRACER_GPU_FREE 2     /* what its argument says; nothing if that is 0 */
#define TRACER_GPU_WAIT 3
#define TRACER_GPU_SWITCH 4 /* to another context of the driver */
#define TRACER_GPU_COOKIE(does, library, first, second) ((does) | (library) << 8 | (first) << 16 | (second) << 24)

/* The call that a thread is in. */
struct tracer_gpu_call {
	__u64 start_ns; /* of its process */
	__u64 begun_ns;
	__u64 stack;  /* where it began */
	__u64 amount; /* of which its arguments speak */
	__u32 pid;    /* as records say it */
	__u16 library;
	__u16 does; /* TRACER_GPU_*; 0: nobody knows any more */
};

struct tracer_gpu_key {
	__u64 start_ns;
	__u32 pid; /* as records say it */
	__u32 reserved;
};

/* By calls that returned. */
struct tracer_gpu_sums {
	__u64 allocations; /* that succeeded, as frees and switches */
	__u64 allocated_bytes;
	__u64 failed_allocations;
	__u64 frees;
	__u64 waits; /* likewise those that the end of their thread cut short */
	__u64 wait_ns;
	__u64 context_switches;
};

#define TRACER_GPU_LIBRARIES 8
struct tracer_gpu_user {
	struct tracer_gpu_sums libraries[TRACER_GPU_LIBRARIES];
	__u64 open; /* calls that threads are in */
};

#define TRACER_GPU_PATH_SIZE 224
struct tracer_gpu_library {
	__u64 inode; /* 0: there is none of this number */
	__u32 device;
	__u32 reserved;
	char interface[16];		 /* ended by NUL, as the path */
	char path[TRACER_GPU_PATH_SIZE]; /* when it was found */
};

struct tracer_wire_gpu_use {
	struct tracer_wire_header header;
	struct tracer_wire_identity identity;
	struct tracer_gpu_sums sums;
	struct tracer_gpu_library library;
};
TRACER_STATIC_ASSERT(sizeof(struct tracer_wire_gpu_use) == 400, "wire layout");

/* What a block device has done, since its family was attached. */
#define TRACER_LATENCY_SLOTS 32
struct tracer_device_sums {
	__u64 requests[2]; /* reads, writes; completed */
	__u64 bytes[2];
	__u64 latency_ns[2];		   /* summed, from issue to completion */
	__u64 timed[2];			   /* requests whose issue was seen */
	__u64 slots[TRACER_LATENCY_SLOTS]; /* of these, by the binary logarithm of the microseconds that they took */
};
struct tracer_device_use_key {
	__u64 start_ns;
	__u32 pid; /* as the session sees it */
	__u32 device;
};

/* How long a process waited for block devices, for each of the first few. */
#define TRACER_WAITED_DEVICES 4
struct tracer_disk_waits_key {
	__u64 start_ns;
	__u32 pid; /* as records say it */
	__u32 reserved;
};
struct tracer_disk_waits {
	__u64 wait_ns[TRACER_WAITED_DEVICES];
	__u32 device[TRACER_WAITED_DEVICES]; /* 0: no more */
};

/* Sums of all processes that ended in a context: per CPU in the map `totals`, or one in `more_totals`. */
struct tracer_context_totals {
	struct tracer_wire_account account;
	__u64 ended;
	__u64 failed;		      /* ended by a signal or with a status other than 0 */
	__u64 read_before_exec_bytes; /* ioac.rchar up to the last exec: what ended programs and exec itself read */
	__u64 doubtful_reads; /* of which more than exec itself reads may have been read before that, or tracking */
	__u64 lost_threads;   /* with TRACER_FLAG_LOST_THREADS */
	__u64 lost_sums;      /* with TRACER_FLAG_SUMS_LOST: in `ended` and `failed`, not in the rest */
};
/* The most that exec itself reads at one exec: headers, tables, the interpreter's. More was the program's own. */
#define TRACER_MOST_EXEC_READ_BYTES 8192

/* Indices of the map `losses`, per CPU: each family's own begin at 0, in the order of its row in tracer/families.hpp.
 */
#define TRACER_MOST_LOSS_CAUSES 16
#define TRACER_LOSS_RING_START 0
#define TRACER_LOSS_RING_EXEC 1
#define TRACER_LOSS_RING_EXIT 2
#define TRACER_LOSS_RING_CGROUP 3
#define TRACER_LOSS_PROCESS_TABLE 4 /* a process that could not be tracked */
#define TRACER_LOSS_THREAD_TABLE 5  /* a process whose ended threads could not be summed */
#define TRACER_LOSS_CGROUP_TABLE 6  /* a new cgroup of a rule's subtree that could not be noted */
#define TRACER_LOSS_LEDGER_TABLE 7  /* a process whose waits could not be followed */
#define TRACER_LOSS_LABEL_TABLE 8   /* a new thread that could not be given the label of its maker */
#define TRACER_LIFECYCLE_LOSSES 9

#define TRACER_LOSS_RING_OOM_KILL 0

#define TRACER_LOSS_RING_FILE_USE 0

#define TRACER_LOSS_RING_CONNECTION 0

#define TRACER_LOSS_RING_CGROUP_END 0

#define TRACER_LOSS_RING_SYSCALL_USE 0
#define TRACER_LOSS_SYSCALL_TABLE 1 /* a call that could not be counted */

#define TRACER_LOSS_RING_GPU_USE 0
#define TRACER_LOSS_GPU_TABLE 1 /* a call that could not be counted */

/* Actions of the filter maps. */
#define TRACER_RULE_INCLUDE 1
#define TRACER_RULE_EXCLUDE 2

struct tracer_rule {
	__u32 action;
	__u32 context_id;
};

#define TRACER_MAX_CPUS 1024

/* Of the one that reads the rings. */
struct tracer_reader {
	__u32 woken; /* it has been woken; cleared by it when it has read what there was */
	__u32 reserved;
};

#define TRACER_SENDER_KERNEL 1
#define TRACER_SENDER_PROCESS 2
#define TRACER_SENDER_OOM 3 /* the kernel, as memory had run out */

/* What the kernel side remembers of a tracked process; small, as each cache line of it costs. */
struct tracer_process {
	__u64 start_ns;
	__u64 program_start_ns;
	__u64 css_set; /* the kernel's handle of its cgroups, from which cgroup_id was read; 0: read again */
	__u64 cgroup_id;
	__u64 read_before_exec_bytes;
	__u64 attached_ns;
	__u32 scope; /* that is counted as a whole, in which it is; 0: none. Switches want it: in the first line */
	__u32 flags;
	__s32 threads; /* not yet dead, those of programs that an exec has ended among them */
	__u32 threads_created;
	__u32 exec_id; /* self_exec_id of its current program's threads */
	__u32 context_id;
	__u32 peak_pages;   /* of the program that is about to end: by an exec, or with its last thread */
	__u32 maxrss_pages; /* signal->maxrss when the current program began */
	__u16 leader_exit_code;
	__u16 hierarchy;
	/* 0 or 1, apart from the flags, as several CPUs may write them at once. */
	__u8 peak_known;    /* peak_pages is this program's, exact or at most; 0: it is not known */
	__u8 has_sums;	    /* has an entry in ended_threads */
	__u8 leader_dead;   /* its first thread is */
	__u8 ledger_lost;   /* a thread of it was not followed, so its ledger would be short */
	__u8 untold;	    /* taken in by an iterator, or excluded later: the record of it has not got through yet */
	__u8 sums_lost;	    /* no entry in ended_threads was to be had: its accounts are not known */
	__u8 fatal_signal;  /* the last that may end it; 0: none was seen */
	__u8 signal_sender; /* TRACER_SENDER_*, of that */
	__u32 pid;	    /* as records say it: in the session's pid namespace; its place is by the kernel's number */
	__s32 old_ending;   /* threads that had begun to exit when it was taken in, not in the kernel's sums then */
	__u32 signal_sender_pid; /* of TRACER_SENDER_PROCESS, as records say it; 0: it is not shown */
	__u64 broken_pipe_ns;	 /* when it last wrote to what nobody reads, by the boot clock; 0: never */
	__u64 signal; /* the kernel's handle of what its threads share, the same for all, from birth to the last one's
			 end */
};

/* A place in the map `processes`. */
struct tracer_slot {
	__u32 pid;	 /* 0: free */
	__u32 displaced; /* how many lie in displaced_processes instead */
	struct tracer_process process;
};
TRACER_STATIC_ASSERT(sizeof(struct tracer_slot) == 128, "whole cache lines");

/* Where the time of a scope went since it was counted as a whole: at each moment in one of these, else something ran.
 */
struct tracer_scope_times {
	struct tracer_wire_process_waits waits; /* as of a process; life_ns 0: it is not counted */
	__u64 open_ns;				/* up to now: none ran or could have, and nothing has ended this */
	__s32 on_cpu;				/* threads that run */
	__u32 reserved;
};

/* What `put_in_scope` finds. */
#define TRACER_SCOPE_GONE 0    /* no such process */
#define TRACER_SCOPE_WAS_IN 1  /* it was in this scope already */
#define TRACER_SCOPE_PUT 2     /* none of its threads runs */
#define TRACER_SCOPE_MAY_RUN 3 /* it has several threads: any CPU may run one */
#define TRACER_SCOPE_RUNS 4    /* plus the number of the CPU on which it runs */

/* What is known of a CPU. One cache line each. */
struct tracer_cpu {
	__u64 ahead_ns; /* the boot clock, of the clock of its run queue, when last seen */
	__u64 seen_ns;	/* when, in the run queue's clock; 0: never */
	__u64 offset;	/* of its per-CPU memory */
	__u64 exiting;	/* the last thread that began to exit here while its process was not tracked */
	__u64 reserved[4];
};

struct tracer_cgroup_key {
	__u64 id;
	__u32 hierarchy;
	__u32 reserved;
};

#endif
