/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the ledgers remember: the values of their maps. Compiled by clang for BPF and by C++. */
#ifndef TRACER_LEDGER_STATE_H
#define TRACER_LEDGER_STATE_H

#include "wire.h"

#define TRACER_MAX_LIMITS 3

/* It could run when it last left the CPU, or is new, and is counted so: */
#define TRACER_READY_IN_PROCESS 1 /* in the ledger of its process */
#define TRACER_READY_IN_SCOPE 2	  /* in that of a scope */

#define TRACER_WAKER_MATTERS 1 /* with the next two: one bit to test, as the verifier would follow each by itself */
#define TRACER_LOCK_SHARED 16  /* it waits for a lock that other processes may have */
#define TRACER_WAKER_NOTED 2   /* in its process's tracer_wait_peers is who has ended its wait */
#define TRACER_LOCK_TIMED 4    /* it sleeps, unless a thread that gives up a lock wakes it before its time is over */
#define TRACER_QUEUE_UNKNOWN 8 /* what sched_info calls queue time was its sleep */

/* What the ledger remembers of a thread. What each switch wants stands side by side. */
struct tracer_thread {
	__u64 task;	    /* its address, as tids come again, and an exec moves them */
	__u64 out_ns;	    /* when it last left the CPU, by its run queue's clock; 0: it is new */
	__u64 run_delay_ns; /* sched_info.run_delay up to where the sums go */
	__u64 run_queue_ns;
	__u64 group; /* the kernel's handle of its CPU cgroup, from which `limited` was found */
	__u8 cause;  /* TRACER_WAIT_*, since out_ns */
	__u8 ready;  /* TRACER_READY_* */
	__u8 owes;   /* there is an entry in owed_waits */
	__u8 peers;  /* TRACER_LOCK_SHARED and what follows that */
	union {
		__u32 waker;  /* process that woke it from a wait for a pipe, or for one of several things */
		__u32 target; /* of a wait for a disk, the device; for a socket, its handle; 0: not known, or told */
	};
	__u32 changes; /* odd while it is being changed */
	__u8 in_reclaim;
	__u8 queued_before; /* stands in the queue since before it was followed */
	__u8 call_cause;    /* the last cause other than a stop */
	__u8 ended;	    /* added to the sums of ended threads; its place waits for an exec, or the process's end */
	__u64 limited[TRACER_MAX_LIMITS]; /* those of cgroups with a limit on CPU time, its own or above; 0: no more */
	__u64 throttled_ns;		  /* how long these had been throttled, together, at out_ns */
	__u64 wait_ns[TRACER_WAIT_CAUSES];
	__u32 read_lead; /* by how much pipe_read_peer leads over all others, in units of 256 ns */
	__u32 write_lead;
	__u32 pipe_read_peer;
	__u32 pipe_write_peer;
	__u32 mark;	     /* the id under which it is counted in `awaiting`; 0: it is not */
	__u32 ready_scope;   /* with TRACER_READY_IN_SCOPE: in which */
	__u64 followed_ns;   /* by the boot clock */
	__u64 cpu_before_ns; /* its CPU time then */
};

/* A place in the map `threads`. */
struct tracer_thread_slot {
	__u32 tid; /* 0: free */
	__u32 displaced;
	struct tracer_thread thread;
};
TRACER_STATIC_ASSERT(sizeof(struct tracer_thread_slot) == 256, "whole cache lines");

/* What the ledger remembers of a process that has, or had, several threads; and of a scope that is counted. */
struct tracer_process_ledger {
	__s32 on_cpu;	  /* of its threads, how many run */
	__u32 changes;	  /* odd while the sums are being changed */
	__u64 zero_ns;	  /* when one last left a CPU, by its run queue's clock */
	__u32 zero_cause; /* TRACER_WAIT_* of that one; TRACER_WAIT_NONE: it could have gone on */
	__u32 gap_ready;  /* the one that left last before the gap could have gone on */
	__u64 gap_from_ns;
	__s32 ready; /* of its threads, how many were preempted, or are new, when they last left a CPU */
	__u32 reserved;
	__u64 owner; /* the kernel's handle of the thread whose arrival ended a gap that is not booked yet; 0: none */
	__u64 run_queue_ns;
	__u64 wait_ns[TRACER_WAIT_CAUSES];
	__u64 since_ns; /* by the boot clock */
	/* Only of kernels whose counts don't tell what they were. */
	__u64 open_ns;	 /* when the last one left */
	__u64 closed_ns; /* zero_ns of the last gap that ended */
	__u64 booked_ns; /* and of the last that was booked */
};

/* The process that ended most of another's waits of one kind: as long as it leads. */
struct tracer_wait_peer {
	__u64 wait_ns; /* those that it has ended since then */
	__u64 lead_ns; /* over all others */
	__u32 pid;     /* 0: none has ended one */
	__u32 reserved;
};
struct tracer_wait_peers_key {
	__u64 start_ns;
	__u32 pid; /* as records say it, as are those above and below */
	__u32 reserved;
};
struct tracer_wait_peers {
	struct tracer_wait_peer local_socket;
	struct tracer_wait_peer lock;
	__u32 waker; /* that has just ended the wait of this thread of it */
	__u32 tid;   /* the kernel's number */
};

/* A place in the map `process_ledgers`. */
struct tracer_process_ledger_slot {
	__u32 pid; /* 0: free */
	__u32 displaced;
	struct tracer_process_ledger ledger;
};

/* A place in the map `scope_ledgers`: that of the low bits of a scope's id. */
struct tracer_scope_ledger_slot {
	__u32 scope; /* 0: free. Ids don't come again, and those of scopes that are over find nothing. */
	__u32 reserved;
	struct tracer_process_ledger ledger;
};

/* How the wait ended that a thread had before it came to its CPU. */
struct tracer_ended_wait {
	__u64 queued_ns;    /* in the queue, throttled or not */
	__u64 throttled_ns; /* of that */
	__u32 cause;	    /* of the rest */
	__u32 reserved;
};

#define TRACER_CONCERNS_PROCESS 1 /* one that is counted */
#define TRACER_CONCERNS_SCOPE 2	  /* likewise */

/* Which process, and which scope, is counted as running on a CPU. */
struct tracer_counted_cpu {
	__u32 pid;  /* 0: none that has a ledger */
	__u32 owns; /* 1: what runs there has ended a gap of it */
	/*
	 * Of the switch that is going on, and of the thread that leaves. Here, as the verifier knows nothing of what is
	 * in maps: on the stack it would follow each way in which these may have come about.
	 */
	struct tracer_ended_wait ended; /* what it had waited for before */
	__u32 cause;			/* what it waits for now; TRACER_WAIT_NONE: it could go on */
	__u32 concerned;		/* TRACER_CONCERNS_*; 0: the rest is not filled in */
	__u64 prev;			/* the kernel's handles */
	__u64 next;
	/* What the kernel does for a process in threads of its own is no run time of it. */
	__u32 prev_is_kernels;
	__u32 next_is_kernels;
	__u32 prev_pid;
	__u32 next_pid;
	__u64 arrival_ns; /* when the one that leaves had come, by its run queue's clock */
	__u64 now_ns;	  /* by that clock */
	__u32 prev_tid;
	__u32 ready;	     /* TRACER_READY_* of it */
	__u32 scope;	     /* which one is counted as running here; 0: none */
	__u32 owns_in_scope; /* 1: what runs here has ended a gap of that */
	__u32 next_scope;
	__u32 socket;	 /* handle of the one that it waits for now; 0: none, or not known */
	__u64 waited_ns; /* what has just been booked for a target, or a lock */
	__u32 target;	 /* of that; 0: none, or not known */
	__u32 reserved;
};
TRACER_STATIC_ASSERT(sizeof(struct tracer_counted_cpu) == 128, "whole cache lines");

#define TRACER_PROCESS_MARKS 8192

/* The one element of the map `counting`. */
struct tracer_counting {
	struct tracer_counted_cpu cpus[TRACER_MAX_CPUS];
	__u32 marks[TRACER_PROCESS_MARKS]; /* how many process ledgers there are whose pids have these low bits */
	__u32 scopes;			   /* how many are counted */
	__u32 reserved;
	__u64 fifo_open; /* where the kernel's function begins that opens a FIFO; 0: not known */
};

#endif
