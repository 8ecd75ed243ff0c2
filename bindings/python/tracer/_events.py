# SPDX-License-Identifier: Apache-2.0
# Written by scripts/python_events from the schema and docs/fields.md: change those.
"""The typed facts that a session delivers. Times are nanoseconds of the boot clock; an unknown value is None."""

from __future__ import annotations

from typing import ClassVar

from ._facts import Event, Fact, register


class Label(Fact):
    """A name and a value that a pipeline uses for its own purposes."""

    __slots__ = (
        "name", "value",
    )
    name: str
    """Its name."""
    value: str
    """Its value."""


class Overruled(Fact):
    """A value that a stronger source has overruled."""

    __slots__ = (
        "field", "value", "provenance",
    )
    field: str
    """The field of the context."""
    value: str
    """The value of the weaker source."""
    provenance: str
    """The weaker source."""


class Provenance(Fact):
    """How each field of a context is known: announced, label, engine rule, cgroup, inferred."""

    __slots__ = (
        "pipeline", "run", "step", "sample", "task", "task_id", "attempt", "engine", "labels", "run_id",
    )
    pipeline: str | None
    """How `pipeline` is known."""
    run: str | None
    """How `run` is known."""
    step: str | None
    """How `step` is known."""
    sample: str | None
    """How `sample` is known."""
    task: str | None
    """How `task` is known."""
    task_id: str | None
    """How `task_id` is known."""
    attempt: str | None
    """How `attempt` is known."""
    engine: str | None
    """How `engine` is known."""
    labels: str | None
    """How `labels` is known."""
    run_id: str | None
    """How `run_id` is known."""


class Context(Fact):
    """Where a process belongs."""

    __slots__ = (
        "pipeline", "run", "step", "sample", "task", "task_id", "attempt", "engine", "run_id", "within", "engine_own",
        "labels", "overruled", "rules", "run_key", "task_key", "owner_uid", "labels_cut_bytes",
    )
    pipeline: str | None
    """The pipeline that is executed: `nf-core/rnaseq`, `main.nf`. None when: no source gave it."""
    run: str | None
    """Name of one execution of the pipeline."""
    step: str | None
    """A Nextflow process, a Snakemake rule, a CWL step."""
    sample: str | None
    """The sample: a patient, a library, a lane."""
    task: str | None
    """One execution of a step, by the engine's own name: `ALIGN (S1)`. None when: the engine names no tasks, or its
    name was not found."""
    task_id: str | None
    """Its hash or job id; for a task without one, its first process's pid and start. None when: the process is in no
    task that a rule has found."""
    attempt: int | None
    """Number of the task's attempt, from 1. None when: it is unknown whether it is a retry."""
    engine: str | None
    """The engine that runs the task, or the run: `nextflow`, `slurm`, `make`. None when: no rule has found it."""
    run_id: str | None
    """The engine's own id of the run, if a source gives it; else the pid and start of the run's first process, unique
    on this host, with provenance `inferred`. None when: no rule and no announcement has found the run."""
    within: str | None
    """For a run inside a task of another run: that task, as `run_id/task_id`. None when: the run is in no other."""
    engine_own: bool
    """The process does the engine's own work, such as a wrapper or a poller."""
    labels: tuple[Label, ...]
    """A list of objects with `name` and `value`: further facts from a pipeline, a rule or a caller, such as
    wildcards."""
    overruled: tuple[Overruled, ...]
    """A list of objects with `field`, `value` and `provenance`: the values of weaker sources."""
    rules: tuple[str, ...]
    """Names of the engine rules that gave something, those of the outermost scope first."""
    run_key: str | None
    """Identify the run and the task: 64 bits, as 16 hexadecimal digits; what they are made of. None when: the process
    is in no run, or no task."""
    task_key: str | None
    """Identify the run and the task: 64 bits, as 16 hexadecimal digits; what they are made of. None when: the process
    is in no run, or no task."""
    owner_uid: int | None
    """Whose the run or task is: the user who announced or labeled it by a service; else the owner of the run or task
    around it; else the real user id of its first process, at its first program. In a service, a subordinate user id
    stands for its user. None when: it is in neither, or what root announced or labeled holds processes of several
    users."""
    labels_cut_bytes: int | None
    """Bytes of names and values of labels that were left out, because labels may have 4 KiB together. In bytes. None
    when: nothing was cut."""


class Requested(Fact):
    """The resources that were requested, to compare with what was used."""

    __slots__ = (
        "millicpus", "memory_bytes", "time_ns", "container", "tag",
    )
    millicpus: int | None
    """1000 are one CPU."""
    memory_bytes: int | None
    """Memory. In bytes."""
    time_ns: int | None
    """Time. In nanoseconds."""
    container: str | None
    """The image."""
    tag: str | None
    """The tag of the task."""


class FailedProcess(Fact):
    """A process that failed inside a run or task."""

    __slots__ = (
        "pid", "tool", "exit_code", "exit_signal",
    )
    pid: int
    """Thread group id in the pid namespace of the session. Source: `task->tgid`; in a namespace of its own
    `thread_pid->numbers[]`."""
    tool: str | None
    """Name by `rules/tools.toml`, such as `samtools sort`; without a rule, the file name. A worker of a pool, such as
    Python's `multiprocessing`, has the name of the process that began the pool. None when: neither `exe` nor `argv` is
    known. Source: `exe`, `argv`, `comm`."""
    exit_code: int | None
    """Status 0 to 255; None when a signal ended it. Source: what `wait4` returns: `signal->group_exit_code` if
    `signal->flags` has `SIGNAL_GROUP_EXIT`, else the leader's `exit_code`, bits 8 to 15."""
    exit_signal: int | None
    """Number of the signal that ended it, else None. Source: the same, bits 0 to 6."""


class AwaitedTask(Fact):
    """Another task, which a task waited for."""

    __slots__ = (
        "task_key", "name", "wait_ns", "cause",
    )
    task_key: str
    """Its key."""
    name: str
    """What people call it, by then; empty: nothing."""
    wait_ns: int
    """How long the task as a whole waited for it. In nanoseconds."""
    cause: str
    """Pipe, local socket or lock."""


class ExpectedTasks(Fact):
    """How many tasks a step of a run will have, by its engine's word."""

    __slots__ = (
        "step", "tasks",
    )
    step: str
    """Its name."""
    tasks: int
    """How many."""


class Ledger(Fact):
    """Where the wall time of threads went, summed over them."""

    __slots__ = (
        "cpu_user_ns", "cpu_system_ns", "run_queue_ns", "disk_ns", "pipe_ns", "network_ns", "local_socket_ns",
        "lock_ns", "child_ns", "sleep_ns", "poll_ns", "reclaim_ns", "swap_ns", "throttled_ns", "stopped_ns", "other_ns",
        "wall_ns", "cpu_ns", "pipe_read_ns", "pipe_write_ns", "pipe_read_peer_pid", "pipe_write_peer_pid",
        "local_socket_peer_pid", "local_socket_peer_ns", "lock_peer_pid", "lock_peer_ns",
    )
    cpu_user_ns: int | None
    """It was on the CPU: `cpu_ns`, split as `user_ns` and `system_ns` are; None when no tick hit it. In nanoseconds."""
    cpu_system_ns: int | None
    """It was on the CPU: `cpu_ns`, split as `user_ns` and `system_ns` are; None when no tick hit it. In nanoseconds."""
    run_queue_ns: int
    """It was ready, but no CPU was free: `sched_info.run_delay`, of the followed time only, minus `throttled_ns`. In
    nanoseconds."""
    disk_ns: int
    """`in_iowait`, also in a page fault that reads a mapped file, unless it is `swap_ns`; in a call on a regular file,
    a folder or a block device, no matter what serves it (a disk, a network, a FUSE process); in a call on file names,
    except opening a FIFO, in a sync, or in a close. In nanoseconds."""
    pipe_ns: int
    """`pipe_read_ns` + `pipe_write_ns`. In nanoseconds."""
    network_ns: int
    """In a read, write, send, receive or connect on a socket that may reach another machine. In nanoseconds."""
    local_socket_ns: int
    """In a read, write, send, receive or connect on a socket between processes of this machine: `AF_UNIX`,
    `AF_NETLINK`, or IP to a loopback address (127.0.0.0/8, ::1) or to the socket's own. Also in `poll` and similar
    calls, if a process that used such a socket ended the wait. In nanoseconds."""
    lock_ns: int
    """In `futex`, `flock`, `fcntl`, `semop` and similar calls; in a `futex` call with a timeout only if a thread ended
    it that was just then in a `futex` call that wakes others, or ending. In nanoseconds."""
    child_ns: int
    """In `wait4`, `waitid`; in `vfork` until the child executes; waiting for a signal (`sigsuspend`, as shells do)
    while it has children. In nanoseconds."""
    sleep_ns: int
    """In `nanosleep`, `clock_nanosleep`; in `poll`, `select` and similar calls without a descriptor; in a `futex` call
    whose timeout, or a signal, ended it, such as Java's `Thread.sleep` and Python's `Event.wait(3)`. In a sample,
    includes a wait for a futex with a timeout that still lasts. In nanoseconds."""
    poll_ns: int
    """In `poll`, `select`, `epoll_wait` and similar calls, `io_uring_enter`; in `accept`; reading something other than
    a file, such as an eventfd. Excludes waits that another process ended by reading or writing a pipe (`pipe_ns`) or a
    local socket; waits that a timeout, the network, its own threads or the closing of a pipe ended stay here. In a
    sample, includes a wait that still lasts. In nanoseconds."""
    reclaim_ns: int
    """Between `mm_vmscan_direct_reclaim_begin` and `_end`, or the same for its cgroup: memory was freed for it; or
    `in_memstall` without `in_iowait`: it was held back as its cgroup had more than `memory.high`. The latter needs
    pressure stall information (`CONFIG_PSI`, not switched off by `psi=0`); without, it has the cause of the call that
    it was in. In nanoseconds."""
    swap_ns: int
    """`in_iowait` after the thread itself has asked a device for swapped-out memory (`REQ_SWAP`). Known with the family
    `disks` only; without it, and for memory that another thread reads back, or that is in a swap file on a network file
    system, it is `disk_ns`. In nanoseconds."""
    throttled_ns: int | None
    """It was ready, but its cgroup, or one above it, had used up its share of the CPU: as much of the time in the queue
    as `task_group->cfs_bandwidth.throttled_time` of the limited cgroups (its own and those above; the nearest three)
    grew since it last left the CPU. Exact for one thread of a group that runs without waiting; an upper bound, never
    above the time in the queue, when several CPUs of the group were held back at once, or when it slept meanwhile. In a
    sample it is run-queue time until the thread runs again. An exec may divide the last part differently than the
    process's end does. 0: there is no limit. None: the kernel has none (`CONFIG_CFS_BANDWIDTH`). In nanoseconds."""
    stopped_ns: int
    """Stopped by a signal or a debugger, or frozen with its cgroup. From 6.1 on, a freezer of cgroup v1 does not wake
    waiting threads: their wait keeps its cause. In nanoseconds."""
    other_ns: int
    """The rest: other waits (such as a terminal), interrupts on its CPU, time that a hypervisor took, suspends. In
    nanoseconds."""
    wall_ns: int
    """Sum over the threads of death (or now) minus birth (or since followed). In nanoseconds."""
    cpu_ns: int
    """`task->se.sum_exec_runtime`, of the followed time. In nanoseconds."""
    pipe_read_ns: int
    """In a read of an empty pipe, in a poll that a write to a pipe ended, or opening a FIFO: the writer is slower. In
    nanoseconds."""
    pipe_write_ns: int
    """In a write to a full pipe, or in a poll that a read of a pipe ended: the reader is slower. In nanoseconds."""
    pipe_read_peer_pid: int | None
    """The process that ended most of these waits, by time: it was current at `sched_waking`, unless a signal ended the
    wait. It covers the whole life of the process, even in the ledger of a program. None: none was seen."""
    pipe_write_peer_pid: int | None
    """The process that ended most of these waits, by time: it was current at `sched_waking`, unless a signal ended the
    wait. It covers the whole life of the process, even in the ledger of a program. None: none was seen."""
    local_socket_peer_pid: int | None
    """Likewise, of `local_socket_ns` and `lock_ns`: the process, other than this one, that was current at
    `sched_waking`, and was just then in a call that ends such a wait. For a socket: it sent or received on the other
    end of the one that the thread waited for. For a lock: it was in `futex`, `flock`, `fcntl` or `semop`, in a call
    that closes files, or ending. None: none was seen. Never seen are: who ends a poll, an `accept` or a `connect`, or a
    wait for datagrams of a socket that is not connected; who ends a wait by closing a socket; whose packets a thread of
    the kernel delivers (`ksoftirqd`); and waits for futexes that only threads of one process use
    (`FUTEX_PRIVATE_FLAG`), which is most."""
    local_socket_peer_ns: int
    """How long the waits were that this process ended, at least: those before another had ended as much are not
    included. 0 where the peer is None. In nanoseconds."""
    lock_peer_pid: int | None
    """Likewise, of `local_socket_ns` and `lock_ns`: the process, other than this one, that was current at
    `sched_waking`, and was just then in a call that ends such a wait. For a socket: it sent or received on the other
    end of the one that the thread waited for. For a lock: it was in `futex`, `flock`, `fcntl` or `semop`, in a call
    that closes files, or ending. None: none was seen. Never seen are: who ends a poll, an `accept` or a `connect`, or a
    wait for datagrams of a socket that is not connected; who ends a wait by closing a socket; whose packets a thread of
    the kernel delivers (`ksoftirqd`); and waits for futexes that only threads of one process use
    (`FUTEX_PRIVATE_FLAG`), which is most."""
    lock_peer_ns: int
    """How long the waits were that this process ended, at least: those before another had ended as much are not
    included. 0 where the peer is None. In nanoseconds."""


class ProcessLedger(Fact):
    """Where the life of a process went, taken as a whole."""

    __slots__ = (
        "running_ns", "run_queue_ns", "disk_ns", "pipe_ns", "network_ns", "local_socket_ns", "lock_ns", "child_ns",
        "sleep_ns", "poll_ns", "reclaim_ns", "swap_ns", "throttled_ns", "stopped_ns", "other_ns", "life_ns",
        "pipe_read_ns", "pipe_write_ns",
    )
    running_ns: int
    """At least one thread was on a CPU. It includes what interrupts or a hypervisor took meanwhile, unless the process
    never had a second thread. In nanoseconds."""
    run_queue_ns: int
    """None was, and one could have run: the whole time if any thread was in the queue because it was preempted, or is
    new; else the queue time of the thread that ended it, by `sched_info.run_delay`. In nanoseconds."""
    disk_ns: int
    """None was, and the thread that ended this time had waited for that cause: the causes of the ledger. In
    nanoseconds."""
    pipe_ns: int
    """`pipe_read_ns` + `pipe_write_ns`. In nanoseconds."""
    network_ns: int
    """In a read, write, send, receive or connect on a socket that may reach another machine. In nanoseconds."""
    local_socket_ns: int
    """In a read, write, send, receive or connect on a socket between processes of this machine: `AF_UNIX`,
    `AF_NETLINK`, or IP to a loopback address (127.0.0.0/8, ::1) or to the socket's own. Also in `poll` and similar
    calls, if a process that used such a socket ended the wait. In nanoseconds."""
    lock_ns: int
    """In `futex`, `flock`, `fcntl`, `semop` and similar calls; in a `futex` call with a timeout only if a thread ended
    it that was just then in a `futex` call that wakes others, or ending. In nanoseconds."""
    child_ns: int
    """In `wait4`, `waitid`; in `vfork` until the child executes; waiting for a signal (`sigsuspend`, as shells do)
    while it has children. In nanoseconds."""
    sleep_ns: int
    """In `nanosleep`, `clock_nanosleep`; in `poll`, `select` and similar calls without a descriptor; in a `futex` call
    whose timeout, or a signal, ended it, such as Java's `Thread.sleep` and Python's `Event.wait(3)`. In a sample,
    includes a wait for a futex with a timeout that still lasts. In nanoseconds."""
    poll_ns: int
    """In `poll`, `select`, `epoll_wait` and similar calls, `io_uring_enter`; in `accept`; reading something other than
    a file, such as an eventfd. Excludes waits that another process ended by reading or writing a pipe (`pipe_ns`) or a
    local socket; waits that a timeout, the network, its own threads or the closing of a pipe ended stay here. In a
    sample, includes a wait that still lasts. In nanoseconds."""
    reclaim_ns: int
    """Between `mm_vmscan_direct_reclaim_begin` and `_end`, or the same for its cgroup: memory was freed for it; or
    `in_memstall` without `in_iowait`: it was held back as its cgroup had more than `memory.high`. The latter needs
    pressure stall information (`CONFIG_PSI`, not switched off by `psi=0`); without, it has the cause of the call that
    it was in. In nanoseconds."""
    swap_ns: int
    """`in_iowait` after the thread itself has asked a device for swapped-out memory (`REQ_SWAP`). Known with the family
    `disks` only; without it, and for memory that another thread reads back, or that is in a swap file on a network file
    system, it is `disk_ns`. In nanoseconds."""
    throttled_ns: int | None
    """It was ready, but its cgroup, or one above it, had used up its share of the CPU: as much of the time in the queue
    as `task_group->cfs_bandwidth.throttled_time` of the limited cgroups (its own and those above; the nearest three)
    grew since it last left the CPU. Exact for one thread of a group that runs without waiting; an upper bound, never
    above the time in the queue, when several CPUs of the group were held back at once, or when it slept meanwhile. In a
    sample it is run-queue time until the thread runs again. An exec may divide the last part differently than the
    process's end does. 0: there is no limit. None: the kernel has none (`CONFIG_CFS_BANDWIDTH`). In nanoseconds."""
    stopped_ns: int
    """Stopped by a signal or a debugger, or frozen with its cgroup. From 6.1 on, a freezer of cgroup v1 does not wake
    waiting threads: their wait keeps its cause. In nanoseconds."""
    other_ns: int
    """None was, and the thread that ended this time had waited for that cause: the causes of the ledger. In
    nanoseconds."""
    life_ns: int
    """Death (or now) minus birth (or since followed). In nanoseconds."""
    pipe_read_ns: int
    """None was, and the thread that ended this time had waited for that cause: the causes of the ledger. In
    nanoseconds."""
    pipe_write_ns: int
    """None was, and the thread that ended this time had waited for that cause: the causes of the ledger. In
    nanoseconds."""


class TaskLedger(Fact):
    """Where the wall time of a task or run as a whole went."""

    __slots__ = (
        "computing_ns", "queued_ns", "throttled_ns", "disk_ns", "network_ns", "pipe_ns", "local_socket_ns", "lock_ns",
        "sleep_ns", "poll_ns", "memory_ns", "stopped_ns", "other_ns", "wall_ns", "computing_at_most_ns",
    )
    computing_ns: int
    """The bounds of the time in which something of it ran. In nanoseconds."""
    queued_ns: int
    """Ready to run, but no CPU was free; or held back by a CPU limit. In nanoseconds."""
    throttled_ns: int
    """Ready to run, but no CPU was free; or held back by a CPU limit. In nanoseconds."""
    disk_ns: int
    """Storage and file systems; sockets of other machines; the kernel freed memory for it, or read pages back. In
    nanoseconds."""
    network_ns: int
    """Storage and file systems; sockets of other machines; the kernel freed memory for it, or read pages back. In
    nanoseconds."""
    pipe_ns: int
    """A pipe to or from a process that is not in the task. In nanoseconds."""
    local_socket_ns: int
    """As in the ledger, without what processes of the task are known to have waited for each other
    (`local_socket_peer_pid`, `lock_peer_pid`). For whom the rest was is not known, so it counts only for time that
    nothing else explains. In nanoseconds."""
    lock_ns: int
    """As in the ledger, without what processes of the task are known to have waited for each other
    (`local_socket_peer_pid`, `lock_peer_pid`). For whom the rest was is not known, so it counts only for time that
    nothing else explains. In nanoseconds."""
    sleep_ns: int
    """As in the ledger. In nanoseconds."""
    poll_ns: int
    """As in the ledger. In nanoseconds."""
    memory_ns: int
    """Storage and file systems; sockets of other machines; the kernel freed memory for it, or read pages back. In
    nanoseconds."""
    stopped_ns: int
    """As in the ledger. In nanoseconds."""
    other_ns: int
    """The rest, and time in which no process of it lived. In nanoseconds."""
    wall_ns: int
    """From `begin_ns` to `end_ns`. `computing_ns` and all causes sum to it. In nanoseconds."""
    computing_at_most_ns: int
    """The bounds of the time in which something of it ran. In nanoseconds."""


class ProgramAccount(Fact):
    """One of the programs that a process ran."""

    __slots__ = (
        "start_ns", "end_ns", "exe", "tool", "cpu_ns", "user_ns", "system_ns", "run_queue_ns", "minor_faults",
        "major_faults", "voluntary_switches", "involuntary_switches", "peak_rss_bytes", "peak_rss_at_most_bytes",
        "read_bytes", "read_at_most_bytes", "written_bytes", "read_calls", "write_calls", "storage_read_bytes",
        "storage_written_bytes", "storage_cancelled_bytes", "ledger", "process_ledger", "peak_rss_at_least_bytes",
        "network_sent_bytes", "network_received_bytes", "cpu_at_least_ns", "missed_children_cpu_ns", "engine_own",
    )
    start_ns: int | None
    """Its exec, or the process's start for a copy of the parent. If the process lived before and has executed nothing
    since: the process's start. In nanoseconds. None when: in the first exec of a command that waited to be followed:
    the copy of its caller does not count, so no program ended."""
    end_ns: int | None
    """The next exec, or the end of the process. In nanoseconds. None when: the same."""
    exe: str | None
    """Executable and tool, as for the process. The other fields of the program are in recordings and in C++, not in
    JSON. None when: the exec that began it was lost."""
    tool: str | None
    """Executable and tool, as for the process. The other fields of the program are in recordings and in C++, not in
    JSON. None when: the exec that began it was lost."""
    cpu_ns: int | None
    """Time on a CPU. In nanoseconds. Source: process: `task->se.sum_exec_runtime` at dead."""
    user_ns: int | None
    """Split of `cpu_ns`; their sum is `cpu_ns`. In nanoseconds. None when: no tick hit it. Source: `task->utime` and
    `task->stime` give the ratio, scaled to `cpu_ns`."""
    system_ns: int | None
    """Split of `cpu_ns`; their sum is `cpu_ns`. In nanoseconds. None when: no tick hit it. Source: `task->utime` and
    `task->stime` give the ratio, scaled to `cpu_ns`."""
    run_queue_ns: int | None
    """Ready to run, but no CPU was free. In nanoseconds. None when: lost threads. Source: `task->sched_info.run_delay`
    at dead; exec."""
    minor_faults: int | None
    """Page faults without I/O. Source: `task->min_flt`."""
    major_faults: int | None
    """Page faults that waited for I/O. Source: `task->maj_flt`."""
    voluntary_switches: int | None
    """Switches because it waited. Source: `task->nvcsw`."""
    involuntary_switches: int | None
    """Switches because it was preempted. Source: `task->nivcsw`."""
    peak_rss_bytes: int | None
    """The peak. In bytes."""
    peak_rss_at_most_bytes: int | None
    """An upper bound, if the peak can't be known. Never given together with `peak_rss_bytes`. In bytes."""
    read_bytes: int | None
    """Bytes of read calls of the program itself. In bytes. None when: lost threads; `read_at_most_bytes` is given.
    Source: `task->ioac.rchar`."""
    read_at_most_bytes: int | None
    """An upper bound: includes what exec itself read. In bytes. None when: `read_bytes` is given; lost threads. Source:
    the same."""
    written_bytes: int | None
    """Bytes of write calls. In bytes. None when: lost threads. Source: `task->ioac.wchar`."""
    read_calls: int | None
    """Read calls of the program itself, also those that read nothing. None when: `read_bytes` is; in sums of what
    executed anything; the exec event was lost, or other threads were still ending then. Source: `task->ioac.syscr`."""
    write_calls: int | None
    """Write calls. None when: lost threads. Source: `task->ioac.syscw`."""
    storage_read_bytes: int | None
    """Bytes fetched from storage because of it, including read-ahead and mapped files. In bytes. None when: lost
    threads. Source: `task->ioac.read_bytes`."""
    storage_written_bytes: int | None
    """Bytes made dirty for storage, including mapped files; another thread writes them later. In bytes. None when: lost
    threads. Source: `task->ioac.write_bytes`."""
    storage_cancelled_bytes: int | None
    """Bytes made dirty, and dropped before they got there, by truncating or deleting. In bytes. None when: lost
    threads. Source: `task->ioac.cancelled_write_bytes`."""
    ledger: Ledger | None
    """Where the time went; None without the family `waits`, or when a thread could not be followed."""
    process_ledger: ProcessLedger | None
    """Where the life of the process went, taken as a whole; None if `ledger` is."""
    peak_rss_at_least_bytes: int | None
    """A lower bound beside it: the most that it held at a snapshot, each page once; None if no snapshot saw it. In
    bytes."""
    network_sent_bytes: int | None
    """Payload sent to and received from other machines, since the process was followed: the sum of its `connection`
    events without `same_host` whose peer is known. In bytes. None when: the family `network` is off; in `tool_sample`,
    `own_work` and kernel totals. Source: as there."""
    network_received_bytes: int | None
    """Payload sent to and received from other machines, since the process was followed: the sum of its `connection`
    events without `same_host` whose peer is known. In bytes. None when: the family `network` is off; in `tool_sample`,
    `own_work` and kernel totals. Source: as there."""
    cpu_at_least_ns: int | None
    """A lower bound, if `cpu_ns` is None: in the proc tier, CPU time up to the last look at the process; in sums, that
    of the parts that are known. In nanoseconds. None when: `cpu_ns` is known, or nothing is. Source: tier `proc`: as in
    tiers."""
    missed_children_cpu_ns: int | None
    """Only in the proc tier, and not in `cpu_ns`: CPU time of children that the process waited for, as far as it is in
    no account of a program: of those that nobody saw, and of those that were seen, after the last look at them and
    around their execs. In nanoseconds. None when: other tiers. Source: `cutime` and `cstime` of `/proc/PID/stat`, less
    what was seen of children that ended."""
    engine_own: bool
    """It did the engine's own work, including what an engine's copy does before its exec."""


class Progress(Fact):
    """A process's progress through the file that it is reading."""

    __slots__ = (
        "file", "position_bytes", "size_bytes", "bytes_per_s", "time_left_ns",
    )
    file: str
    """Its name, without the folder, at most 63 bytes: `file->f_path.dentry->d_name`; `iter/task_file`, descriptors of
    the first thread."""
    position_bytes: int
    """`file->f_pos`, less than `size_bytes`. In bytes."""
    size_bytes: int
    """`inode->i_size`. In bytes."""
    bytes_per_s: int | None
    """Rate at which the position moved in about the last second (or since the previous snapshot, if that is longer
    ago); 0: it stands still. In bytes a second."""
    time_left_ns: int | None
    """Time that the rest takes at that rate; None below one byte per second. In nanoseconds."""


class KindCount(Fact):
    """How many events of one kind."""

    __slots__ = (
        "kind", "count",
    )
    kind: str
    """A kind of event, and how many were dropped."""
    count: int
    """A kind of event, and how many were dropped."""


class Evidence(Fact):
    """A figure or a text that a finding rests on."""

    __slots__ = (
        "name", "value", "unit", "text",
    )
    name: str
    """Such as `limit_bytes`, `disk_ns` or `allocator`."""
    value: int | None
    """The figure. None when: it is a text."""
    unit: str | None
    """`ns`, `bytes`, `count`, `percent` or `bytes/s`. None when: it is a plain number, or a text."""
    text: str | None
    """The text. None when: it is a figure."""


class Host(Fact):
    """The machine, and its clocks, that events come from."""

    __slots__ = (
        "boot_id", "host_name", "kernel_release", "architecture", "cpu_count", "memory_bytes", "wall_offset_ns",
        "tracer_version", "session_id",
    )
    boot_id: str
    """Random number of this boot. Source: `/proc/sys/kernel/random/boot_id`."""
    host_name: str
    """As `uname` prints them. Source: `uname(2)`."""
    kernel_release: str
    """As `uname` prints them. Source: `uname(2)`."""
    architecture: str
    """As `uname` prints them. Source: `uname(2)`."""
    cpu_count: int
    """CPUs online. Source: `sysconf`."""
    memory_bytes: int
    """Memory of the machine. In bytes. Source: `sysinfo(2)`."""
    wall_offset_ns: int
    """Add it to a time of the boot clock to get Unix time. It was read when the session was opened. JSON does not
    follow later changes of the clock; each frame of a recording has its own offset. In nanoseconds. Source:
    `CLOCK_REALTIME` - `CLOCK_BOOTTIME`."""
    tracer_version: str
    """Version of libtracer."""
    session_id: str
    """16 hexadecimal digits, different for each session; empty for a host without a session. Source: the system's
    random numbers."""


class ContextTotals(Fact):
    """Sums of all processes of one context, added up in the kernel."""

    __slots__ = (
        "context", "provenance", "living", "ended", "failed", "contexts", "cpu_ns", "user_ns", "system_ns",
        "run_queue_ns", "minor_faults", "major_faults", "voluntary_switches", "involuntary_switches", "peak_rss_bytes",
        "peak_rss_at_most_bytes", "read_bytes", "read_at_most_bytes", "written_bytes", "read_calls", "write_calls",
        "storage_read_bytes", "storage_written_bytes", "storage_cancelled_bytes", "ledger", "process_ledger",
        "peak_rss_at_least_bytes", "network_sent_bytes", "network_received_bytes", "cpu_at_least_ns",
        "missed_children_cpu_ns",
    )
    context: Context | None
    """Where it belongs; None if it belongs to no run."""
    provenance: Provenance | None
    """How each field of the context is known."""
    living: int
    """Processes begun or taken in, and not ended yet."""
    ended: int
    """How many have ended."""
    failed: int
    """How many of those failed."""
    contexts: int
    """How many contexts are in the sums; more than 1: contexts that no process has anymore."""
    cpu_ns: int | None
    """Time on a CPU. In nanoseconds. Source: process: `task->se.sum_exec_runtime` at dead."""
    user_ns: int | None
    """Split of `cpu_ns`; their sum is `cpu_ns`. In nanoseconds. None when: no tick hit it. Source: `task->utime` and
    `task->stime` give the ratio, scaled to `cpu_ns`."""
    system_ns: int | None
    """Split of `cpu_ns`; their sum is `cpu_ns`. In nanoseconds. None when: no tick hit it. Source: `task->utime` and
    `task->stime` give the ratio, scaled to `cpu_ns`."""
    run_queue_ns: int | None
    """Ready to run, but no CPU was free. In nanoseconds. None when: lost threads. Source: `task->sched_info.run_delay`
    at dead; exec."""
    minor_faults: int | None
    """Page faults without I/O. Source: `task->min_flt`."""
    major_faults: int | None
    """Page faults that waited for I/O. Source: `task->maj_flt`."""
    voluntary_switches: int | None
    """Switches because it waited. Source: `task->nvcsw`."""
    involuntary_switches: int | None
    """Switches because it was preempted. Source: `task->nivcsw`."""
    peak_rss_bytes: int | None
    """The peak. In bytes."""
    peak_rss_at_most_bytes: int | None
    """An upper bound, if the peak can't be known. Never given together with `peak_rss_bytes`. In bytes."""
    read_bytes: int | None
    """Bytes of read calls of the program itself. In bytes. None when: lost threads; `read_at_most_bytes` is given.
    Source: `task->ioac.rchar`."""
    read_at_most_bytes: int | None
    """An upper bound: includes what exec itself read. In bytes. None when: `read_bytes` is given; lost threads. Source:
    the same."""
    written_bytes: int | None
    """Bytes of write calls. In bytes. None when: lost threads. Source: `task->ioac.wchar`."""
    read_calls: int | None
    """Read calls of the program itself, also those that read nothing. None when: `read_bytes` is; in sums of what
    executed anything; the exec event was lost, or other threads were still ending then. Source: `task->ioac.syscr`."""
    write_calls: int | None
    """Write calls. None when: lost threads. Source: `task->ioac.syscw`."""
    storage_read_bytes: int | None
    """Bytes fetched from storage because of it, including read-ahead and mapped files. In bytes. None when: lost
    threads. Source: `task->ioac.read_bytes`."""
    storage_written_bytes: int | None
    """Bytes made dirty for storage, including mapped files; another thread writes them later. In bytes. None when: lost
    threads. Source: `task->ioac.write_bytes`."""
    storage_cancelled_bytes: int | None
    """Bytes made dirty, and dropped before they got there, by truncating or deleting. In bytes. None when: lost
    threads. Source: `task->ioac.cancelled_write_bytes`."""
    ledger: Ledger | None
    """Where the time went; None without the family `waits`, or when a thread could not be followed."""
    process_ledger: ProcessLedger | None
    """Where the life of the process went, taken as a whole; None if `ledger` is."""
    peak_rss_at_least_bytes: int | None
    """A lower bound beside it: the most that it held at a snapshot, each page once; None if no snapshot saw it. In
    bytes."""
    network_sent_bytes: int | None
    """Payload sent to and received from other machines, since the process was followed: the sum of its `connection`
    events without `same_host` whose peer is known. In bytes. None when: the family `network` is off; in `tool_sample`,
    `own_work` and kernel totals. Source: as there."""
    network_received_bytes: int | None
    """Payload sent to and received from other machines, since the process was followed: the sum of its `connection`
    events without `same_host` whose peer is known. In bytes. None when: the family `network` is off; in `tool_sample`,
    `own_work` and kernel totals. Source: as there."""
    cpu_at_least_ns: int | None
    """A lower bound, if `cpu_ns` is None: in the proc tier, CPU time up to the last look at the process; in sums, that
    of the parts that are known. In nanoseconds. None when: `cpu_ns` is known, or nothing is. Source: tier `proc`: as in
    tiers."""
    missed_children_cpu_ns: int | None
    """Only in the proc tier, and not in `cpu_ns`: CPU time of children that the process waited for, as far as it is in
    no account of a program: of those that nobody saw, and of those that were seen, after the last look at them and
    around their execs. In nanoseconds. None when: other tiers. Source: `cutime` and `cstime` of `/proc/PID/stat`, less
    what was seen of children that ended."""


class ProcessExit(Event):
    """A process ended: its accounts are final."""

    __slots__ = (
        "time_ns", "pid", "start_ns", "parent_pid", "parent_start_ns", "uid", "pid_namespace", "mount_namespace",
        "comm", "exe", "argv", "argv_cut_bytes", "cwd", "tool", "exec_euid", "cgroup", "cgroup_id", "cgroup_hierarchy",
        "container_id", "context", "provenance", "end_ns", "attached_ns", "exit_code", "exit_signal", "core_dumped",
        "threads", "cpu_ns", "user_ns", "system_ns", "run_queue_ns", "minor_faults", "major_faults",
        "voluntary_switches", "involuntary_switches", "peak_rss_bytes", "peak_rss_at_most_bytes", "read_bytes",
        "read_at_most_bytes", "written_bytes", "read_calls", "write_calls", "storage_read_bytes",
        "storage_written_bytes", "storage_cancelled_bytes", "ledger", "process_ledger", "peak_rss_at_least_bytes",
        "network_sent_bytes", "network_received_bytes", "cpu_at_least_ns", "missed_children_cpu_ns", "program",
        "status_is_answer", "exit_signal_sender", "exit_signal_sender_pid", "broken_pipe_ns", "begin_ns", "oom_killed",
        "disk_wait_device", "disk_wait_device_ns",
    )
    kind: ClassVar[str] = "process_exit"
    time_ns: int
    """When the BPF program ran. In all events of a snapshot: when the snapshot began; in a `gpu_sample`: when the
    driver was asked. In `loss` and `session_end`: when it was reported. In nanoseconds."""
    pid: int
    """Thread group id in the pid namespace of the session. Source: `task->tgid`; in a namespace of its own
    `thread_pid->numbers[]`."""
    start_ns: int
    """When its first thread was created. Together with the host's `boot_id` and `pid`, it is the identity. In
    nanoseconds. Source: `leader->start_boottime`."""
    parent_pid: int | None
    """The parent when tracking began; reparenting does not change it. None when: the start record was lost. Source:
    `leader->real_parent`, its `tgid` and its leader's `start_boottime`; fork or visit."""
    parent_start_ns: int | None
    """The parent when tracking began; reparenting does not change it. In nanoseconds. None when: the start record was
    lost. Source: `leader->real_parent`, its `tgid` and its leader's `start_boottime`; fork or visit."""
    uid: int | None
    """Real user id, in the initial user namespace. None when: the start record was lost and it has executed nothing.
    Source: `task->cred->uid`; fork, exec, visit."""
    pid_namespace: int | None
    """Inode number, as in `/proc/PID/ns/pid`. None when: unknown for the parent. Source:
    `task->thread_pid->numbers[level].ns`; exec, visit, and fork if it is a new one."""
    mount_namespace: int | None
    """Inode number, as in `/proc/PID/ns/mnt`. None when: unknown for the parent. Source: `task->nsproxy->mnt_ns`; at
    the same moments."""
    comm: str | None
    """The kernel's short name, up to 15 bytes, when the program began. None when: unknown for the parent. Source:
    `task->comm`; exec, visit. A later change of the name is not seen."""
    exe: str | None
    """Path of the executable below the process's own root, by the file's name at the exec. For a script: its
    interpreter. None when: the exec was lost; `/proc` could not be read. Source: exec: `mm->exe_file->f_path`, by
    walking directory entries. Lived before: `/proc/PID/exe`. A leading "…" marks a missing beginning: deeper than 40
    names in one mount, 12 mounts, or 3.8 KiB."""
    argv: tuple[str, ...] | None
    """Arguments, secrets masked as `***`. Above 4 KiB: the first 3 KiB and the last 1 KiB; "…" marks the cut. The word
    in which the cut begins and the word in which it ends are shown as one. None when: as `exe`; the memory could not be
    read without waiting. Source: exec: user memory from `mm->arg_start` to `mm->arg_end`. Lived before:
    `/proc/PID/cmdline`."""
    argv_cut_bytes: int | None
    """Number of bytes missing in the middle. In bytes. None when: nothing is missing."""
    cwd: str | None
    """Working folder when the program began, below the process's own root; "…" as for `exe`. None when: as `exe`.
    Source: exec: `task->fs->pwd`. Lived before: `/proc/PID/cwd`."""
    tool: str | None
    """Name by `rules/tools.toml`, such as `samtools sort`; without a rule, the file name. A worker of a pool, such as
    Python's `multiprocessing`, has the name of the process that began the pool. None when: neither `exe` nor `argv` is
    known. Source: `exe`, `argv`, `comm`."""
    exec_euid: int | None
    """Effective user id when the program began, in the initial user namespace: another than `uid` for a setuid program.
    None when: as `exe`; recordings of earlier versions. Source: exec: `task->cred->euid`. Lived before: the owner of
    `/proc/PID/cwd`, which is root for a program that the user may not look into."""
    cgroup: str | None
    """Path within its hierarchy. None when: its path was lost, and it was removed before it could be looked up. Source:
    `kernfs_node` names, or the path given to `cgroup_mkdir`; else the cgroup file system."""
    cgroup_id: int | None
    """The kernel's number, the inode of the folder. None when: never known. Source: `css_set` → `cgroup->kn->id`; fork,
    exec, visit. A move in between shows at the next exec, and in children."""
    cgroup_hierarchy: str | None
    """`v2`, or `memory` or `pids`: the v1 hierarchy of `cgroup`. design.md explains the choice. None when: never
    known."""
    container_id: str | None
    """The 64 hexadecimal digits at the end of a component of the cgroup's path; the innermost such component. None
    when: there is none; the runtime uses short ids. Source: `cgroup`."""
    context: Context | None
    """Where it belongs; None if it belongs to no run."""
    provenance: Provenance | None
    """How each field of the context is known."""
    end_ns: int
    """When its last thread was switched away for good: some microseconds after its parent could have been notified, or
    earlier if the process remains a zombie. In nanoseconds. Source: boot clock at dead."""
    attached_ns: int | None
    """When tracking of the process began, if it lived before that; for a command that waited to be followed, its exec;
    else None. In nanoseconds."""
    exit_code: int | None
    """Status 0 to 255; None when a signal ended it. Source: what `wait4` returns: `signal->group_exit_code` if
    `signal->flags` has `SIGNAL_GROUP_EXIT`, else the leader's `exit_code`, bits 8 to 15."""
    exit_signal: int | None
    """Number of the signal that ended it, else None. Source: the same, bits 0 to 6."""
    core_dumped: bool
    """A core dump was written. Source: the same, bit 7."""
    threads: int | None
    """Threads ever created, the first included, in all its programs. None when it lived before and threads had ended by
    then. Source: counted at fork; lived before: `signal->nr_threads`."""
    cpu_ns: int | None
    """Time on a CPU. In nanoseconds. Source: process: `task->se.sum_exec_runtime` at dead."""
    user_ns: int | None
    """Split of `cpu_ns`; their sum is `cpu_ns`. In nanoseconds. None when: no tick hit it. Source: `task->utime` and
    `task->stime` give the ratio, scaled to `cpu_ns`."""
    system_ns: int | None
    """Split of `cpu_ns`; their sum is `cpu_ns`. In nanoseconds. None when: no tick hit it. Source: `task->utime` and
    `task->stime` give the ratio, scaled to `cpu_ns`."""
    run_queue_ns: int | None
    """Ready to run, but no CPU was free. In nanoseconds. None when: lost threads. Source: `task->sched_info.run_delay`
    at dead; exec."""
    minor_faults: int | None
    """Page faults without I/O. Source: `task->min_flt`."""
    major_faults: int | None
    """Page faults that waited for I/O. Source: `task->maj_flt`."""
    voluntary_switches: int | None
    """Switches because it waited. Source: `task->nvcsw`."""
    involuntary_switches: int | None
    """Switches because it was preempted. Source: `task->nivcsw`."""
    peak_rss_bytes: int | None
    """The peak. In bytes."""
    peak_rss_at_most_bytes: int | None
    """An upper bound, if the peak can't be known. Never given together with `peak_rss_bytes`. In bytes."""
    read_bytes: int | None
    """Bytes of read calls of the program itself. In bytes. None when: lost threads; `read_at_most_bytes` is given.
    Source: `task->ioac.rchar`."""
    read_at_most_bytes: int | None
    """An upper bound: includes what exec itself read. In bytes. None when: `read_bytes` is given; lost threads. Source:
    the same."""
    written_bytes: int | None
    """Bytes of write calls. In bytes. None when: lost threads. Source: `task->ioac.wchar`."""
    read_calls: int | None
    """Read calls of the program itself, also those that read nothing. None when: `read_bytes` is; in sums of what
    executed anything; the exec event was lost, or other threads were still ending then. Source: `task->ioac.syscr`."""
    write_calls: int | None
    """Write calls. None when: lost threads. Source: `task->ioac.syscw`."""
    storage_read_bytes: int | None
    """Bytes fetched from storage because of it, including read-ahead and mapped files. In bytes. None when: lost
    threads. Source: `task->ioac.read_bytes`."""
    storage_written_bytes: int | None
    """Bytes made dirty for storage, including mapped files; another thread writes them later. In bytes. None when: lost
    threads. Source: `task->ioac.write_bytes`."""
    storage_cancelled_bytes: int | None
    """Bytes made dirty, and dropped before they got there, by truncating or deleting. In bytes. None when: lost
    threads. Source: `task->ioac.cancelled_write_bytes`."""
    ledger: Ledger | None
    """Where the time went; None without the family `waits`, or when a thread could not be followed."""
    process_ledger: ProcessLedger | None
    """Where the life of the process went, taken as a whole; None if `ledger` is."""
    peak_rss_at_least_bytes: int | None
    """A lower bound beside it: the most that it held at a snapshot, each page once; None if no snapshot saw it. In
    bytes."""
    network_sent_bytes: int | None
    """Payload sent to and received from other machines, since the process was followed: the sum of its `connection`
    events without `same_host` whose peer is known. In bytes. None when: the family `network` is off; in `tool_sample`,
    `own_work` and kernel totals. Source: as there."""
    network_received_bytes: int | None
    """Payload sent to and received from other machines, since the process was followed: the sum of its `connection`
    events without `same_host` whose peer is known. In bytes. None when: the family `network` is off; in `tool_sample`,
    `own_work` and kernel totals. Source: as there."""
    cpu_at_least_ns: int | None
    """A lower bound, if `cpu_ns` is None: in the proc tier, CPU time up to the last look at the process; in sums, that
    of the parts that are known. In nanoseconds. None when: `cpu_ns` is known, or nothing is. Source: tier `proc`: as in
    tiers."""
    missed_children_cpu_ns: int | None
    """Only in the proc tier, and not in `cpu_ns`: CPU time of children that the process waited for, as far as it is in
    no account of a program: of those that nobody saw, and of those that were seen, after the last look at them and
    around their execs. In nanoseconds. None when: other tiers. Source: `cutime` and `cstime` of `/proc/PID/stat`, less
    what was seen of children that ended."""
    program: ProgramAccount
    """The last program: a program and its account."""
    status_is_answer: bool
    """`exit_code` is not 0, but answers a question and is not a failure, such as `grep`'s 1 for "nothing found".
    Source: `answers` of the tool in `rules/tools.toml`."""
    exit_signal_sender: str | None
    """The sender of `exit_signal`: `kernel` (a fault, a broken pipe, the end of a timer, a key on the terminal, lack of
    memory) or `process`. None: no signal ended it, or the sender was not seen, such as when the signal came before the
    process was followed, or another signal came after it. Source: `signal_generate`: `SEND_SIG_PRIV` and `si_code` mark
    a signal that the kernel sends, including one that a process gets in its own system call; else the current process
    sent it."""
    exit_signal_sender_pid: int | None
    """For `process`: the sender's pid in the session's pid namespace. None: the namespace does not show it. Source: the
    current process."""
    broken_pipe_ns: int | None
    """When it last wrote to a pipe or socket that nobody reads: a write that fails with `EPIPE`, even if the process
    ignores `SIGPIPE`. None: never, or the kernel does not report it. In nanoseconds. Source: boot clock at
    `signal_generate`."""
    begin_ns: int
    """When it began its own work: `start_ns`, or the exec of a command that waited to be followed (`tracerd run`,
    `tracer::Command`). Before that exec, the command is a copy of its caller, and nothing of that counts. In
    nanoseconds."""
    oom_killed: bool | None
    """The kernel killed it with SIGKILL as memory had run out, in a cgroup with a limit or on the host: `oom_kill` has
    the rest. It is known even where that event was lost. Processes that share the victim's memory are killed with it,
    and are not called that. None: the family `memory` is off, or nobody saw `exit_signal` sent. Source: `mark_victim`,
    behind a SIGKILL by the kernel."""
    disk_wait_device: str | None
    """The block device, such as `vda`, for which its threads waited longest: below. None: no such wait is known; the
    device is gone; the family `waits` or `disks` is off. Source: `block_bio_queue` in the thread, before the wait."""
    disk_wait_device_ns: int | None
    """How long they did, summed over threads: a lower bound, and part of `ledger.disk_ns`. None likewise. In
    nanoseconds. Source: the ledger."""


class ProcessExec(Event):
    """A process began a new program, and so ended another."""

    __slots__ = (
        "time_ns", "pid", "start_ns", "parent_pid", "parent_start_ns", "uid", "pid_namespace", "mount_namespace",
        "comm", "exe", "argv", "argv_cut_bytes", "cwd", "tool", "exec_euid", "cgroup", "cgroup_id", "cgroup_hierarchy",
        "container_id", "context", "provenance", "attached_ns", "ended", "cpus_allowed",
    )
    kind: ClassVar[str] = "process_exec"
    time_ns: int
    """When the BPF program ran. In all events of a snapshot: when the snapshot began; in a `gpu_sample`: when the
    driver was asked. In `loss` and `session_end`: when it was reported. In nanoseconds."""
    pid: int
    """Thread group id in the pid namespace of the session. Source: `task->tgid`; in a namespace of its own
    `thread_pid->numbers[]`."""
    start_ns: int
    """When its first thread was created. Together with the host's `boot_id` and `pid`, it is the identity. In
    nanoseconds. Source: `leader->start_boottime`."""
    parent_pid: int | None
    """The parent when tracking began; reparenting does not change it. None when: the start record was lost. Source:
    `leader->real_parent`, its `tgid` and its leader's `start_boottime`; fork or visit."""
    parent_start_ns: int | None
    """The parent when tracking began; reparenting does not change it. In nanoseconds. None when: the start record was
    lost. Source: `leader->real_parent`, its `tgid` and its leader's `start_boottime`; fork or visit."""
    uid: int | None
    """Real user id, in the initial user namespace. None when: the start record was lost and it has executed nothing.
    Source: `task->cred->uid`; fork, exec, visit."""
    pid_namespace: int | None
    """Inode number, as in `/proc/PID/ns/pid`. None when: unknown for the parent. Source:
    `task->thread_pid->numbers[level].ns`; exec, visit, and fork if it is a new one."""
    mount_namespace: int | None
    """Inode number, as in `/proc/PID/ns/mnt`. None when: unknown for the parent. Source: `task->nsproxy->mnt_ns`; at
    the same moments."""
    comm: str | None
    """The kernel's short name, up to 15 bytes, when the program began. None when: unknown for the parent. Source:
    `task->comm`; exec, visit. A later change of the name is not seen."""
    exe: str | None
    """Path of the executable below the process's own root, by the file's name at the exec. For a script: its
    interpreter. None when: the exec was lost; `/proc` could not be read. Source: exec: `mm->exe_file->f_path`, by
    walking directory entries. Lived before: `/proc/PID/exe`. A leading "…" marks a missing beginning: deeper than 40
    names in one mount, 12 mounts, or 3.8 KiB."""
    argv: tuple[str, ...] | None
    """Arguments, secrets masked as `***`. Above 4 KiB: the first 3 KiB and the last 1 KiB; "…" marks the cut. The word
    in which the cut begins and the word in which it ends are shown as one. None when: as `exe`; the memory could not be
    read without waiting. Source: exec: user memory from `mm->arg_start` to `mm->arg_end`. Lived before:
    `/proc/PID/cmdline`."""
    argv_cut_bytes: int | None
    """Number of bytes missing in the middle. In bytes. None when: nothing is missing."""
    cwd: str | None
    """Working folder when the program began, below the process's own root; "…" as for `exe`. None when: as `exe`.
    Source: exec: `task->fs->pwd`. Lived before: `/proc/PID/cwd`."""
    tool: str | None
    """Name by `rules/tools.toml`, such as `samtools sort`; without a rule, the file name. A worker of a pool, such as
    Python's `multiprocessing`, has the name of the process that began the pool. None when: neither `exe` nor `argv` is
    known. Source: `exe`, `argv`, `comm`."""
    exec_euid: int | None
    """Effective user id when the program began, in the initial user namespace: another than `uid` for a setuid program.
    None when: as `exe`; recordings of earlier versions. Source: exec: `task->cred->euid`. Lived before: the owner of
    `/proc/PID/cwd`, which is root for a program that the user may not look into."""
    cgroup: str | None
    """Path within its hierarchy. None when: its path was lost, and it was removed before it could be looked up. Source:
    `kernfs_node` names, or the path given to `cgroup_mkdir`; else the cgroup file system."""
    cgroup_id: int | None
    """The kernel's number, the inode of the folder. None when: never known. Source: `css_set` → `cgroup->kn->id`; fork,
    exec, visit. A move in between shows at the next exec, and in children."""
    cgroup_hierarchy: str | None
    """`v2`, or `memory` or `pids`: the v1 hierarchy of `cgroup`. design.md explains the choice. None when: never
    known."""
    container_id: str | None
    """The 64 hexadecimal digits at the end of a component of the cgroup's path; the innermost such component. None
    when: there is none; the runtime uses short ids. Source: `cgroup`."""
    context: Context | None
    """Where it belongs; None if it belongs to no run."""
    provenance: Provenance | None
    """How each field of the context is known."""
    attached_ns: int | None
    """When tracking of the process began, if it lived before that; else None. In all events of that process. If two
    threads end in the very microseconds in which it is taken in, its account may have one of them twice, and the other
    not at all. In nanoseconds."""
    ended: ProgramAccount
    """The program that ended."""
    cpus_allowed: int | None
    """How many CPUs its affinity (`taskset`) and its cgroup's set of CPUs (Slurm, Docker) let it run on when the
    program began. None when: the source does not report it. Source: `task->nr_cpus_allowed`; exec."""


class ProcessStart(Event):
    """A process began, or it lived before the session did."""

    __slots__ = (
        "time_ns", "pid", "start_ns", "parent_pid", "parent_start_ns", "uid", "pid_namespace", "mount_namespace",
        "comm", "exe", "argv", "argv_cut_bytes", "cwd", "tool", "exec_euid", "cgroup", "cgroup_id", "cgroup_hierarchy",
        "container_id", "context", "provenance", "attached_ns",
    )
    kind: ClassVar[str] = "process_start"
    time_ns: int
    """When the BPF program ran. In all events of a snapshot: when the snapshot began; in a `gpu_sample`: when the
    driver was asked. In `loss` and `session_end`: when it was reported. In nanoseconds."""
    pid: int
    """Thread group id in the pid namespace of the session. Source: `task->tgid`; in a namespace of its own
    `thread_pid->numbers[]`."""
    start_ns: int
    """When its first thread was created. Together with the host's `boot_id` and `pid`, it is the identity. In
    nanoseconds. Source: `leader->start_boottime`."""
    parent_pid: int | None
    """The parent when tracking began; reparenting does not change it. None when: the start record was lost. Source:
    `leader->real_parent`, its `tgid` and its leader's `start_boottime`; fork or visit."""
    parent_start_ns: int | None
    """The parent when tracking began; reparenting does not change it. In nanoseconds. None when: the start record was
    lost. Source: `leader->real_parent`, its `tgid` and its leader's `start_boottime`; fork or visit."""
    uid: int | None
    """Real user id, in the initial user namespace. None when: the start record was lost and it has executed nothing.
    Source: `task->cred->uid`; fork, exec, visit."""
    pid_namespace: int | None
    """Inode number, as in `/proc/PID/ns/pid`. None when: unknown for the parent. Source:
    `task->thread_pid->numbers[level].ns`; exec, visit, and fork if it is a new one."""
    mount_namespace: int | None
    """Inode number, as in `/proc/PID/ns/mnt`. None when: unknown for the parent. Source: `task->nsproxy->mnt_ns`; at
    the same moments."""
    comm: str | None
    """The kernel's short name, up to 15 bytes, when the program began. None when: unknown for the parent. Source:
    `task->comm`; exec, visit. A later change of the name is not seen."""
    exe: str | None
    """Path of the executable below the process's own root, by the file's name at the exec. For a script: its
    interpreter. None when: the exec was lost; `/proc` could not be read. Source: exec: `mm->exe_file->f_path`, by
    walking directory entries. Lived before: `/proc/PID/exe`. A leading "…" marks a missing beginning: deeper than 40
    names in one mount, 12 mounts, or 3.8 KiB."""
    argv: tuple[str, ...] | None
    """Arguments, secrets masked as `***`. Above 4 KiB: the first 3 KiB and the last 1 KiB; "…" marks the cut. The word
    in which the cut begins and the word in which it ends are shown as one. None when: as `exe`; the memory could not be
    read without waiting. Source: exec: user memory from `mm->arg_start` to `mm->arg_end`. Lived before:
    `/proc/PID/cmdline`."""
    argv_cut_bytes: int | None
    """Number of bytes missing in the middle. In bytes. None when: nothing is missing."""
    cwd: str | None
    """Working folder when the program began, below the process's own root; "…" as for `exe`. None when: as `exe`.
    Source: exec: `task->fs->pwd`. Lived before: `/proc/PID/cwd`."""
    tool: str | None
    """Name by `rules/tools.toml`, such as `samtools sort`; without a rule, the file name. A worker of a pool, such as
    Python's `multiprocessing`, has the name of the process that began the pool. None when: neither `exe` nor `argv` is
    known. Source: `exe`, `argv`, `comm`."""
    exec_euid: int | None
    """Effective user id when the program began, in the initial user namespace: another than `uid` for a setuid program.
    None when: as `exe`; recordings of earlier versions. Source: exec: `task->cred->euid`. Lived before: the owner of
    `/proc/PID/cwd`, which is root for a program that the user may not look into."""
    cgroup: str | None
    """Path within its hierarchy. None when: its path was lost, and it was removed before it could be looked up. Source:
    `kernfs_node` names, or the path given to `cgroup_mkdir`; else the cgroup file system."""
    cgroup_id: int | None
    """The kernel's number, the inode of the folder. None when: never known. Source: `css_set` → `cgroup->kn->id`; fork,
    exec, visit. A move in between shows at the next exec, and in children."""
    cgroup_hierarchy: str | None
    """`v2`, or `memory` or `pids`: the v1 hierarchy of `cgroup`. design.md explains the choice. None when: never
    known."""
    container_id: str | None
    """The 64 hexadecimal digits at the end of a component of the cgroup's path; the innermost such component. None
    when: there is none; the runtime uses short ids. Source: `cgroup`."""
    context: Context | None
    """Where it belongs; None if it belongs to no run."""
    provenance: Provenance | None
    """How each field of the context is known."""
    attached_ns: int | None
    """When tracking of the process began, if it lived before that; else None. In all events of that process. If two
    threads end in the very microseconds in which it is taken in, its account may have one of them twice, and the other
    not at all. In nanoseconds."""


class ProcessSample(Event):
    """A living process and what it has consumed so far."""

    __slots__ = (
        "time_ns", "pid", "start_ns", "parent_pid", "parent_start_ns", "uid", "pid_namespace", "mount_namespace",
        "comm", "exe", "argv", "argv_cut_bytes", "cwd", "tool", "exec_euid", "cgroup", "cgroup_id", "cgroup_hierarchy",
        "container_id", "context", "provenance", "attached_ns", "threads", "state", "rss_anonymous_bytes",
        "rss_file_bytes", "rss_shared_bytes", "pss_bytes", "progress", "cpu_ns", "user_ns", "system_ns", "run_queue_ns",
        "minor_faults", "major_faults", "voluntary_switches", "involuntary_switches", "peak_rss_bytes",
        "peak_rss_at_most_bytes", "read_bytes", "read_at_most_bytes", "written_bytes", "read_calls", "write_calls",
        "storage_read_bytes", "storage_written_bytes", "storage_cancelled_bytes", "ledger", "process_ledger",
        "peak_rss_at_least_bytes", "network_sent_bytes", "network_received_bytes", "cpu_at_least_ns",
        "missed_children_cpu_ns", "disk_wait_device", "disk_wait_device_ns",
    )
    kind: ClassVar[str] = "process_sample"
    time_ns: int
    """When the BPF program ran. In all events of a snapshot: when the snapshot began; in a `gpu_sample`: when the
    driver was asked. In `loss` and `session_end`: when it was reported. In nanoseconds."""
    pid: int
    """Thread group id in the pid namespace of the session. Source: `task->tgid`; in a namespace of its own
    `thread_pid->numbers[]`."""
    start_ns: int
    """When its first thread was created. Together with the host's `boot_id` and `pid`, it is the identity. In
    nanoseconds. Source: `leader->start_boottime`."""
    parent_pid: int | None
    """The parent when tracking began; reparenting does not change it. None when: the start record was lost. Source:
    `leader->real_parent`, its `tgid` and its leader's `start_boottime`; fork or visit."""
    parent_start_ns: int | None
    """The parent when tracking began; reparenting does not change it. In nanoseconds. None when: the start record was
    lost. Source: `leader->real_parent`, its `tgid` and its leader's `start_boottime`; fork or visit."""
    uid: int | None
    """Real user id, in the initial user namespace. None when: the start record was lost and it has executed nothing.
    Source: `task->cred->uid`; fork, exec, visit."""
    pid_namespace: int | None
    """Inode number, as in `/proc/PID/ns/pid`. None when: unknown for the parent. Source:
    `task->thread_pid->numbers[level].ns`; exec, visit, and fork if it is a new one."""
    mount_namespace: int | None
    """Inode number, as in `/proc/PID/ns/mnt`. None when: unknown for the parent. Source: `task->nsproxy->mnt_ns`; at
    the same moments."""
    comm: str | None
    """The kernel's short name, up to 15 bytes, when the program began. None when: unknown for the parent. Source:
    `task->comm`; exec, visit. A later change of the name is not seen."""
    exe: str | None
    """Path of the executable below the process's own root, by the file's name at the exec. For a script: its
    interpreter. None when: the exec was lost; `/proc` could not be read. Source: exec: `mm->exe_file->f_path`, by
    walking directory entries. Lived before: `/proc/PID/exe`. A leading "…" marks a missing beginning: deeper than 40
    names in one mount, 12 mounts, or 3.8 KiB."""
    argv: tuple[str, ...] | None
    """Arguments, secrets masked as `***`. Above 4 KiB: the first 3 KiB and the last 1 KiB; "…" marks the cut. The word
    in which the cut begins and the word in which it ends are shown as one. None when: as `exe`; the memory could not be
    read without waiting. Source: exec: user memory from `mm->arg_start` to `mm->arg_end`. Lived before:
    `/proc/PID/cmdline`."""
    argv_cut_bytes: int | None
    """Number of bytes missing in the middle. In bytes. None when: nothing is missing."""
    cwd: str | None
    """Working folder when the program began, below the process's own root; "…" as for `exe`. None when: as `exe`.
    Source: exec: `task->fs->pwd`. Lived before: `/proc/PID/cwd`."""
    tool: str | None
    """Name by `rules/tools.toml`, such as `samtools sort`; without a rule, the file name. A worker of a pool, such as
    Python's `multiprocessing`, has the name of the process that began the pool. None when: neither `exe` nor `argv` is
    known. Source: `exe`, `argv`, `comm`."""
    exec_euid: int | None
    """Effective user id when the program began, in the initial user namespace: another than `uid` for a setuid program.
    None when: as `exe`; recordings of earlier versions. Source: exec: `task->cred->euid`. Lived before: the owner of
    `/proc/PID/cwd`, which is root for a program that the user may not look into."""
    cgroup: str | None
    """Path within its hierarchy. None when: its path was lost, and it was removed before it could be looked up. Source:
    `kernfs_node` names, or the path given to `cgroup_mkdir`; else the cgroup file system."""
    cgroup_id: int | None
    """The kernel's number, the inode of the folder. None when: never known. Source: `css_set` → `cgroup->kn->id`; fork,
    exec, visit. A move in between shows at the next exec, and in children."""
    cgroup_hierarchy: str | None
    """`v2`, or `memory` or `pids`: the v1 hierarchy of `cgroup`. design.md explains the choice. None when: never
    known."""
    container_id: str | None
    """The 64 hexadecimal digits at the end of a component of the cgroup's path; the innermost such component. None
    when: there is none; the runtime uses short ids. Source: `cgroup`."""
    context: Context | None
    """Where it belongs; None if it belongs to no run."""
    provenance: Provenance | None
    """How each field of the context is known."""
    attached_ns: int | None
    """When tracking of the process began, if it lived before that; else None. In nanoseconds."""
    threads: int | None
    """Alive now."""
    state: str | None
    """State of its first living thread (a first thread may end before others): `running` (or ready to run), `sleeping`,
    `uninterruptible`, `stopped`; `task->__state`."""
    rss_anonymous_bytes: int | None
    """Resident now: `mm->rss_stat`, all per-CPU parts added (exact at that moment; before 6.2 up to 64 pages for each
    thread are not counted yet). 0 while it borrows its parent's memory (`vfork`). None: the parts can't be found on
    this kernel; or its share of common memory is unknown, because other processes came, went or released memory,
    because reading the shares took longer than 200 ms, or because it holds more than 100 GiB. In bytes."""
    rss_file_bytes: int | None
    """Resident now: `mm->rss_stat`, all per-CPU parts added (exact at that moment; before 6.2 up to 64 pages for each
    thread are not counted yet). 0 while it borrows its parent's memory (`vfork`). None: the parts can't be found on
    this kernel; or its share of common memory is unknown, because other processes came, went or released memory,
    because reading the shares took longer than 200 ms, or because it holds more than 100 GiB. In bytes."""
    rss_shared_bytes: int | None
    """Resident now: `mm->rss_stat`, all per-CPU parts added (exact at that moment; before 6.2 up to 64 pages for each
    thread are not counted yet). 0 while it borrows its parent's memory (`vfork`). None: the parts can't be found on
    this kernel; or its share of common memory is unknown, because other processes came, went or released memory,
    because reading the shares took longer than 200 ms, or because it holds more than 100 GiB. In bytes."""
    pss_bytes: int | None
    """Its proportional share, `Pss` of `/proc/PID/smaps_rollup`, including files. Read only where resident memory would
    count pages several times: for copies that have executed nothing, if those of one executable hold 4 MiB or more
    together, and for all processes with that executable; for processes with shared memory, if all have 4 MiB or more of
    it (a page that one process maps three times counts three times in its resident memory, once here); and for
    processes with 64 MiB or more of mapped files and at most 8 GiB in total. None for all others. In bytes."""
    progress: Progress | None
    """Progress through the regular file of 256 KiB or more that it is reading: open only for reading, its position
    moved while it was watched, its size did not change, and it is not read to its end. Among several files, one that
    has moved within about a second, and among those the one with the most left to read. None when there is none: reads
    at a given position (`pread`), mapped reads, and a file that was read to its end show none."""
    cpu_ns: int | None
    """Time on a CPU. In nanoseconds. Source: process: `task->se.sum_exec_runtime` at dead."""
    user_ns: int | None
    """Split of `cpu_ns`; their sum is `cpu_ns`. In nanoseconds. None when: no tick hit it. Source: `task->utime` and
    `task->stime` give the ratio, scaled to `cpu_ns`."""
    system_ns: int | None
    """Split of `cpu_ns`; their sum is `cpu_ns`. In nanoseconds. None when: no tick hit it. Source: `task->utime` and
    `task->stime` give the ratio, scaled to `cpu_ns`."""
    run_queue_ns: int | None
    """Ready to run, but no CPU was free. In nanoseconds. None when: lost threads. Source: `task->sched_info.run_delay`
    at dead; exec."""
    minor_faults: int | None
    """Page faults without I/O. Source: `task->min_flt`."""
    major_faults: int | None
    """Page faults that waited for I/O. Source: `task->maj_flt`."""
    voluntary_switches: int | None
    """Switches because it waited. Source: `task->nvcsw`."""
    involuntary_switches: int | None
    """Switches because it was preempted. Source: `task->nivcsw`."""
    peak_rss_bytes: int | None
    """The peak. In bytes."""
    peak_rss_at_most_bytes: int | None
    """An upper bound, if the peak can't be known. Never given together with `peak_rss_bytes`. In bytes."""
    read_bytes: int | None
    """Bytes of read calls of the program itself. In bytes. None when: lost threads; `read_at_most_bytes` is given.
    Source: `task->ioac.rchar`."""
    read_at_most_bytes: int | None
    """An upper bound: includes what exec itself read. In bytes. None when: `read_bytes` is given; lost threads. Source:
    the same."""
    written_bytes: int | None
    """Bytes of write calls. In bytes. None when: lost threads. Source: `task->ioac.wchar`."""
    read_calls: int | None
    """Read calls of the program itself, also those that read nothing. None when: `read_bytes` is; in sums of what
    executed anything; the exec event was lost, or other threads were still ending then. Source: `task->ioac.syscr`."""
    write_calls: int | None
    """Write calls. None when: lost threads. Source: `task->ioac.syscw`."""
    storage_read_bytes: int | None
    """Bytes fetched from storage because of it, including read-ahead and mapped files. In bytes. None when: lost
    threads. Source: `task->ioac.read_bytes`."""
    storage_written_bytes: int | None
    """Bytes made dirty for storage, including mapped files; another thread writes them later. In bytes. None when: lost
    threads. Source: `task->ioac.write_bytes`."""
    storage_cancelled_bytes: int | None
    """Bytes made dirty, and dropped before they got there, by truncating or deleting. In bytes. None when: lost
    threads. Source: `task->ioac.cancelled_write_bytes`."""
    ledger: Ledger | None
    """Where the time went; None without the family `waits`, or when a thread could not be followed."""
    process_ledger: ProcessLedger | None
    """Where the life of the process went, taken as a whole; None if `ledger` is."""
    peak_rss_at_least_bytes: int | None
    """A lower bound beside it: the most that it held at a snapshot, each page once; None if no snapshot saw it. In
    bytes."""
    network_sent_bytes: int | None
    """Payload sent to and received from other machines, since the process was followed: the sum of its `connection`
    events without `same_host` whose peer is known. In bytes. None when: the family `network` is off; in `tool_sample`,
    `own_work` and kernel totals. Source: as there."""
    network_received_bytes: int | None
    """Payload sent to and received from other machines, since the process was followed: the sum of its `connection`
    events without `same_host` whose peer is known. In bytes. None when: the family `network` is off; in `tool_sample`,
    `own_work` and kernel totals. Source: as there."""
    cpu_at_least_ns: int | None
    """A lower bound, if `cpu_ns` is None: in the proc tier, CPU time up to the last look at the process; in sums, that
    of the parts that are known. In nanoseconds. None when: `cpu_ns` is known, or nothing is. Source: tier `proc`: as in
    tiers."""
    missed_children_cpu_ns: int | None
    """Only in the proc tier, and not in `cpu_ns`: CPU time of children that the process waited for, as far as it is in
    no account of a program: of those that nobody saw, and of those that were seen, after the last look at them and
    around their execs. In nanoseconds. None when: other tiers. Source: `cutime` and `cstime` of `/proc/PID/stat`, less
    what was seen of children that ended."""
    disk_wait_device: str | None
    """As in `process_exit`, up to now."""
    disk_wait_device_ns: int | None
    """As in `process_exit`, up to now. In nanoseconds."""


class ToolSample(Event):
    """One user's living processes of one tool with the same labels, when there are too many to list."""

    __slots__ = (
        "time_ns", "tool", "context", "provenance", "processes", "running", "threads", "rss_anonymous_bytes",
        "rss_file_bytes", "rss_shared_bytes", "held_bytes", "cpu_ns", "user_ns", "system_ns", "run_queue_ns",
        "minor_faults", "major_faults", "voluntary_switches", "involuntary_switches", "peak_rss_bytes",
        "peak_rss_at_most_bytes", "read_bytes", "read_at_most_bytes", "written_bytes", "read_calls", "write_calls",
        "storage_read_bytes", "storage_written_bytes", "storage_cancelled_bytes", "ledger", "process_ledger",
        "peak_rss_at_least_bytes", "network_sent_bytes", "network_received_bytes", "cpu_at_least_ns",
        "missed_children_cpu_ns", "uid",
    )
    kind: ClassVar[str] = "tool_sample"
    time_ns: int
    """When the BPF program ran. In all events of a snapshot: when the snapshot began; in a `gpu_sample`: when the
    driver was asked. In `loss` and `session_end`: when it was reported. In nanoseconds."""
    tool: str | None
    """The values that they have in common."""
    context: Context | None
    """Where it belongs; None if it belongs to no run."""
    provenance: Provenance | None
    """How each field of the context is known."""
    processes: int
    """Number of processes."""
    running: int
    """How many of these have a first thread that runs or is ready to run."""
    threads: int | None
    """Threads alive now, of all processes."""
    rss_anonymous_bytes: int | None
    """Sums. In bytes."""
    rss_file_bytes: int | None
    """Sums. In bytes."""
    rss_shared_bytes: int | None
    """Sums. In bytes."""
    held_bytes: int | None
    """Memory that they hold together: see `task_peak_bytes`. In bytes."""
    cpu_ns: int | None
    """Time on a CPU. In nanoseconds. Source: process: `task->se.sum_exec_runtime` at dead."""
    user_ns: int | None
    """Split of `cpu_ns`; their sum is `cpu_ns`. In nanoseconds. None when: no tick hit it. Source: `task->utime` and
    `task->stime` give the ratio, scaled to `cpu_ns`."""
    system_ns: int | None
    """Split of `cpu_ns`; their sum is `cpu_ns`. In nanoseconds. None when: no tick hit it. Source: `task->utime` and
    `task->stime` give the ratio, scaled to `cpu_ns`."""
    run_queue_ns: int | None
    """Ready to run, but no CPU was free. In nanoseconds. None when: lost threads. Source: `task->sched_info.run_delay`
    at dead; exec."""
    minor_faults: int | None
    """Page faults without I/O. Source: `task->min_flt`."""
    major_faults: int | None
    """Page faults that waited for I/O. Source: `task->maj_flt`."""
    voluntary_switches: int | None
    """Switches because it waited. Source: `task->nvcsw`."""
    involuntary_switches: int | None
    """Switches because it was preempted. Source: `task->nivcsw`."""
    peak_rss_bytes: int | None
    """The peak. In bytes."""
    peak_rss_at_most_bytes: int | None
    """An upper bound, if the peak can't be known. Never given together with `peak_rss_bytes`. In bytes."""
    read_bytes: int | None
    """Bytes of read calls of the program itself. In bytes. None when: lost threads; `read_at_most_bytes` is given.
    Source: `task->ioac.rchar`."""
    read_at_most_bytes: int | None
    """An upper bound: includes what exec itself read. In bytes. None when: `read_bytes` is given; lost threads. Source:
    the same."""
    written_bytes: int | None
    """Bytes of write calls. In bytes. None when: lost threads. Source: `task->ioac.wchar`."""
    read_calls: int | None
    """Read calls of the program itself, also those that read nothing. None when: `read_bytes` is; in sums of what
    executed anything; the exec event was lost, or other threads were still ending then. Source: `task->ioac.syscr`."""
    write_calls: int | None
    """Write calls. None when: lost threads. Source: `task->ioac.syscw`."""
    storage_read_bytes: int | None
    """Bytes fetched from storage because of it, including read-ahead and mapped files. In bytes. None when: lost
    threads. Source: `task->ioac.read_bytes`."""
    storage_written_bytes: int | None
    """Bytes made dirty for storage, including mapped files; another thread writes them later. In bytes. None when: lost
    threads. Source: `task->ioac.write_bytes`."""
    storage_cancelled_bytes: int | None
    """Bytes made dirty, and dropped before they got there, by truncating or deleting. In bytes. None when: lost
    threads. Source: `task->ioac.cancelled_write_bytes`."""
    ledger: Ledger | None
    """Where the time went; None without the family `waits`, or when a thread could not be followed."""
    process_ledger: ProcessLedger | None
    """Where the life of the process went, taken as a whole; None if `ledger` is."""
    peak_rss_at_least_bytes: int | None
    """A lower bound beside it: the most that it held at a snapshot, each page once; None if no snapshot saw it. In
    bytes."""
    network_sent_bytes: int | None
    """Payload sent to and received from other machines, since the process was followed: the sum of its `connection`
    events without `same_host` whose peer is known. In bytes. None when: the family `network` is off; in `tool_sample`,
    `own_work` and kernel totals. Source: as there."""
    network_received_bytes: int | None
    """Payload sent to and received from other machines, since the process was followed: the sum of its `connection`
    events without `same_host` whose peer is known. In bytes. None when: the family `network` is off; in `tool_sample`,
    `own_work` and kernel totals. Source: as there."""
    cpu_at_least_ns: int | None
    """A lower bound, if `cpu_ns` is None: in the proc tier, CPU time up to the last look at the process; in sums, that
    of the parts that are known. In nanoseconds. None when: `cpu_ns` is known, or nothing is. Source: tier `proc`: as in
    tiers."""
    missed_children_cpu_ns: int | None
    """Only in the proc tier, and not in `cpu_ns`: CPU time of children that the process waited for, as far as it is in
    no account of a program: of those that nobody saw, and of those that were seen, after the last look at them and
    around their execs. In nanoseconds. None when: other tiers. Source: `cutime` and `cstime` of `/proc/PID/stat`, less
    what was seen of children that ended."""
    uid: int | None
    """The user that they have in common."""


class CgroupSample(Event):
    """The memory of a cgroup that holds followed processes."""

    __slots__ = (
        "time_ns", "cgroup", "cgroup_id", "cgroup_hierarchy", "container_id", "has_below", "processes",
        "followed_processes", "memory_bytes", "memory_peak_bytes", "file_bytes", "kernel_bytes", "held_bytes",
        "unexplained_bytes", "throttled_ns", "shmem_bytes", "memory_limit_bytes", "cpu_limit_millicpus",
    )
    kind: ClassVar[str] = "cgroup_sample"
    time_ns: int
    """When the BPF program ran. In all events of a snapshot: when the snapshot began; in a `gpu_sample`: when the
    driver was asked. In `loss` and `session_end`: when it was reported. In nanoseconds."""
    cgroup: str | None
    """The cgroup, with the same fields as for a process."""
    cgroup_id: int | None
    """The cgroup, with the same fields as for a process."""
    cgroup_hierarchy: str | None
    """The cgroup, with the same fields as for a process."""
    container_id: str | None
    """The cgroup, with the same fields as for a process."""
    has_below: bool
    """There are cgroups below it, whose memory is included in its own. Source: links of its folder."""
    processes: int | None
    """Processes in it, without cgroups below. None: the file can't be read, such as for a threaded cgroup. Source:
    `cgroup.procs`."""
    followed_processes: int | None
    """How many of these are followed. Source: the kernel side's table; with a filter that user space decides, the
    samples of the same snapshot."""
    memory_bytes: int | None
    """Charged now, cgroups below included. In bytes. Source: `memory.current`; v1: `memory.usage_in_bytes`."""
    memory_peak_bytes: int | None
    """The maximum since the cgroup was created. None: v2 before 5.19. In bytes. Source: `memory.peak`; v1:
    `memory.max_usage_in_bytes`."""
    file_bytes: int | None
    """Its part that is page cache, which can be dropped or written back; without shared memory. In bytes. Source:
    `file` minus `shmem` of `memory.stat`; v1: `total_cache` minus `total_shmem`."""
    kernel_bytes: int | None
    """Its part that the kernel itself uses. In bytes. Source: `kernel` of `memory.stat`, before 5.18 the sum of its
    parts; v1: `memory.kmem.usage_in_bytes`."""
    held_bytes: int | None
    """Anonymous memory that the followed processes hold. In bytes. Source: the samples of the same snapshot."""
    unexplained_bytes: int | None
    """`memory_bytes` minus the four fields above, at least 0: processes that are not followed, memory of processes that
    have just ended, swap cache. None when one of these fields is None, or with `has_below`. In bytes."""
    throttled_ns: int | None
    """How long its limit held back its CPUs since the cgroup was created, summed over CPUs; not the limits of cgroups
    above it. v1: of the cgroup in the hierarchy of the CPU controller that all its processes are in, which may hold
    others, too. None: no CPU controller accounts for it; v1: its processes are in several of these, or in the topmost.
    In nanoseconds. Source: `throttled_usec` of `cpu.stat`; v1: `throttled_time`."""
    shmem_bytes: int | None
    """Its part that is shared memory and files on tmpfs (such as `/dev/shm`), mapped or not: only swapping or deleting
    frees it. In bytes. Source: `shmem` of `memory.stat`; v1: `total_shmem`."""
    memory_limit_bytes: int | None
    """The smallest of its own memory limit and those of the cgroups above it. In bytes. Source: `memory.max`; v1:
    `hierarchical_memory_limit`."""
    cpu_limit_millicpus: int | None
    """Likewise the limit on CPU time: 1000 are one CPU. v1: the limit of the cgroup in the hierarchy of the CPU
    controller that all its processes are in. None: there is no limit; v1: its processes are in several of these, or in
    the topmost. Source: `cpu.max`; v1: `cpu.cfs_quota_us` over `cpu.cfs_period_us`."""


class SnapshotEnd(Event):
    """A snapshot is complete."""

    __slots__ = (
        "time_ns", "processes",
    )
    kind: ClassVar[str] = "snapshot_end"
    time_ns: int
    """When the BPF program ran. In all events of a snapshot: when the snapshot began; in a `gpu_sample`: when the
    driver was asked. In `loss` and `session_end`: when it was reported. In nanoseconds."""
    processes: int
    """Followed processes that lived then."""


class Loss(Event):
    """Something was lost since the last event of the same cause."""

    __slots__ = (
        "time_ns", "cause", "count", "first_ns", "last_ns", "by_kind", "uid",
    )
    kind: ClassVar[str] = "loss"
    time_ns: int
    """When the BPF program ran. In all events of a snapshot: when the snapshot began; in a `gpu_sample`: when the
    driver was asked. In `loss` and `session_end`: when it was reported. In nanoseconds."""
    cause: str
    """The cause, a name in losses.md."""
    count: int
    """New losses since the last report of this cause."""
    first_ns: int | None
    """For `queue_full`: times of the first and of the last event that was dropped; else None. `time_ns` is that of the
    last. In nanoseconds."""
    last_ns: int | None
    """For `queue_full`: times of the first and of the last event that was dropped; else None. `time_ns` is that of the
    last. In nanoseconds."""
    by_kind: tuple[KindCount, ...]
    """For `queue_full`: a list of the dropped events by kind; else empty."""
    uid: int | None
    """The user whose account lost it: who held most of what was full. None: losses of this cause are not told apart by
    user."""


class SessionEnd(Event):
    """The last event of a session."""

    __slots__ = (
        "time_ns", "processes_started", "processes_ended", "exits_delivered", "losses", "cost_cpu_ns", "cost_kernel_ns",
        "cost_memory_bytes", "cost_kernel_memory_bytes", "missing_families", "missed_at_most",
    )
    kind: ClassVar[str] = "session_end"
    time_ns: int
    """When the BPF program ran. In all events of a snapshot: when the snapshot began; in a `gpu_sample`: when the
    driver was asked. In `loss` and `session_end`: when it was reported. In nanoseconds."""
    processes_started: int
    """Tracked processes, begun or taken in: those that ended, and those that the kernel side still holds."""
    processes_ended: int
    """How many of those ended; counted in the kernel."""
    exits_delivered: int
    """`process_exit` events that were delivered."""
    losses: int
    """Sum of all causes of the session; without those of single queues and streams."""
    cost_cpu_ns: int | None
    """CPU time of the session's reader, callbacks and snapshots included, and of the threads of its sinks. In
    nanoseconds."""
    cost_kernel_ns: int | None
    """Time of its BPF programs in the kernel; None while `kernel.bpf_stats_enabled` is 0, unless `max_cost_share` was
    given and the caller has CAP_SYS_ADMIN. In nanoseconds."""
    cost_memory_bytes: int | None
    """Resident memory of the process that the session is in. In bytes."""
    cost_kernel_memory_bytes: int | None
    """Kernel memory of its maps. In bytes."""
    missing_families: tuple[str, ...] | None
    """Families that were requested, but refused by the kernel, or disabled because the session exceeded
    `max_cost_share`: their fields are None from then on."""
    missed_at_most: int | None
    """In the proc tier: at most so many processes lived too shortly to be seen. None in other tiers, in which the
    kernel reports each process."""


class TaskStart(Event):
    """The first process of a task was seen."""

    __slots__ = (
        "time_ns", "context", "provenance", "pid", "start_ns", "requested", "submitted_ns",
    )
    kind: ClassVar[str] = "task_start"
    time_ns: int
    """When the BPF program ran. In all events of a snapshot: when the snapshot began; in a `gpu_sample`: when the
    driver was asked. In `loss` and `session_end`: when it was reported. In nanoseconds."""
    context: Context | None
    """Its context, as in the process, with `provenance`; the fields that are known by then."""
    provenance: Provenance | None
    """How each field of the context is known."""
    pid: int
    """The leader's. If the session's own process is the leader, `start_ns` is when it began the task."""
    start_ns: int
    """The leader's. If the session's own process is the leader, `start_ns` is when it began the task. In
    nanoseconds."""
    requested: Requested
    """For a task that was announced, an object: `millicpus` (1000 are one CPU), `memory_bytes`, `time_ns`, `container`
    (the image), `tag`; see `Session::announce()`."""
    submitted_ns: int | None
    """When its engine reported that it waits. In nanoseconds. None when: that was not reported."""


class TaskFinish(Event):
    """A task's leader has ended, and no process lives in it."""

    __slots__ = (
        "time_ns", "context", "provenance", "pid", "start_ns", "end_ns", "exit_code", "exit_signal", "processes",
        "engine_processes", "failed", "failures", "engine_cpu_ns", "peak_bytes", "cpu_ns", "user_ns", "system_ns",
        "run_queue_ns", "minor_faults", "major_faults", "voluntary_switches", "involuntary_switches", "peak_rss_bytes",
        "peak_rss_at_most_bytes", "read_bytes", "read_at_most_bytes", "written_bytes", "read_calls", "write_calls",
        "storage_read_bytes", "storage_written_bytes", "storage_cancelled_bytes", "ledger", "process_ledger",
        "peak_rss_at_least_bytes", "network_sent_bytes", "network_received_bytes", "cpu_at_least_ns",
        "missed_children_cpu_ns", "own_cpu_ns", "peak_at_least_bytes", "peak_at_most_bytes", "requested", "begin_ns",
        "task_ledger", "waits_for",
    )
    kind: ClassVar[str] = "task_finish"
    time_ns: int
    """When the BPF program ran. In all events of a snapshot: when the snapshot began; in a `gpu_sample`: when the
    driver was asked. In `loss` and `session_end`: when it was reported. In nanoseconds."""
    context: Context | None
    """Its context, as in the process, with `provenance`; the fields that are known by then."""
    provenance: Provenance | None
    """How each field of the context is known."""
    pid: int
    """The leader's. If the session's own process is the leader, `start_ns` is when it began the task."""
    start_ns: int
    """The leader's. If the session's own process is the leader, `start_ns` is when it began the task. In
    nanoseconds."""
    end_ns: int
    """When its last process ended. In nanoseconds."""
    exit_code: int | None
    """The leader's status, as in `process_exit`. The last of several attempts inside one process has that process's,
    the others that of the shell command that failed. None when: its end was not seen; of an attempt that was tried
    again: no command of it failed."""
    exit_signal: int | None
    """The leader's status, as in `process_exit`. The last of several attempts inside one process has that process's,
    the others that of the shell command that failed. None when: its end was not seen; of an attempt that was tried
    again: no command of it failed."""
    processes: int
    """Processes that ended in it."""
    engine_processes: int
    """The engine's own processes among them."""
    failed: int
    """Failures that began in it; not of the engine's own processes."""
    failures: tuple[FailedProcess, ...]
    """The first 16 of them, each where it began: a list of objects with `pid`, `tool`, `exit_code`, `exit_signal`;
    `tool` is None where the process is another user's."""
    engine_cpu_ns: int | None
    """CPU time of the engine's own processes; `cpu_ns` includes it. In nanoseconds. None when: unknown for one of
    them."""
    peak_bytes: int | None
    """The most that its living processes held together, if known to within 1 %, as it is for a single process: see
    memory of a task. In bytes. None when: only bounds are known."""
    cpu_ns: int | None
    """Time on a CPU. In nanoseconds. Source: process: `task->se.sum_exec_runtime` at dead."""
    user_ns: int | None
    """Split of `cpu_ns`; their sum is `cpu_ns`. In nanoseconds. None when: no tick hit it. Source: `task->utime` and
    `task->stime` give the ratio, scaled to `cpu_ns`."""
    system_ns: int | None
    """Split of `cpu_ns`; their sum is `cpu_ns`. In nanoseconds. None when: no tick hit it. Source: `task->utime` and
    `task->stime` give the ratio, scaled to `cpu_ns`."""
    run_queue_ns: int | None
    """Ready to run, but no CPU was free. In nanoseconds. None when: lost threads. Source: `task->sched_info.run_delay`
    at dead; exec."""
    minor_faults: int | None
    """Page faults without I/O. Source: `task->min_flt`."""
    major_faults: int | None
    """Page faults that waited for I/O. Source: `task->maj_flt`."""
    voluntary_switches: int | None
    """Switches because it waited. Source: `task->nvcsw`."""
    involuntary_switches: int | None
    """Switches because it was preempted. Source: `task->nivcsw`."""
    peak_rss_bytes: int | None
    """The peak. In bytes."""
    peak_rss_at_most_bytes: int | None
    """An upper bound, if the peak can't be known. Never given together with `peak_rss_bytes`. In bytes."""
    read_bytes: int | None
    """Bytes of read calls of the program itself. In bytes. None when: lost threads; `read_at_most_bytes` is given.
    Source: `task->ioac.rchar`."""
    read_at_most_bytes: int | None
    """An upper bound: includes what exec itself read. In bytes. None when: `read_bytes` is given; lost threads. Source:
    the same."""
    written_bytes: int | None
    """Bytes of write calls. In bytes. None when: lost threads. Source: `task->ioac.wchar`."""
    read_calls: int | None
    """Read calls of the program itself, also those that read nothing. None when: `read_bytes` is; in sums of what
    executed anything; the exec event was lost, or other threads were still ending then. Source: `task->ioac.syscr`."""
    write_calls: int | None
    """Write calls. None when: lost threads. Source: `task->ioac.syscw`."""
    storage_read_bytes: int | None
    """Bytes fetched from storage because of it, including read-ahead and mapped files. In bytes. None when: lost
    threads. Source: `task->ioac.read_bytes`."""
    storage_written_bytes: int | None
    """Bytes made dirty for storage, including mapped files; another thread writes them later. In bytes. None when: lost
    threads. Source: `task->ioac.write_bytes`."""
    storage_cancelled_bytes: int | None
    """Bytes made dirty, and dropped before they got there, by truncating or deleting. In bytes. None when: lost
    threads. Source: `task->ioac.cancelled_write_bytes`."""
    ledger: Ledger | None
    """Where the time went; None without the family `waits`, or when a thread could not be followed."""
    process_ledger: ProcessLedger | None
    """Where the life of the process went, taken as a whole; None if `ledger` is."""
    peak_rss_at_least_bytes: int | None
    """A lower bound beside it: the most that it held at a snapshot, each page once; None if no snapshot saw it. In
    bytes."""
    network_sent_bytes: int | None
    """Payload sent to and received from other machines, since the process was followed: the sum of its `connection`
    events without `same_host` whose peer is known. In bytes. None when: the family `network` is off; in `tool_sample`,
    `own_work` and kernel totals. Source: as there."""
    network_received_bytes: int | None
    """Payload sent to and received from other machines, since the process was followed: the sum of its `connection`
    events without `same_host` whose peer is known. In bytes. None when: the family `network` is off; in `tool_sample`,
    `own_work` and kernel totals. Source: as there."""
    cpu_at_least_ns: int | None
    """A lower bound, if `cpu_ns` is None: in the proc tier, CPU time up to the last look at the process; in sums, that
    of the parts that are known. In nanoseconds. None when: `cpu_ns` is known, or nothing is. Source: tier `proc`: as in
    tiers."""
    missed_children_cpu_ns: int | None
    """Only in the proc tier, and not in `cpu_ns`: CPU time of children that the process waited for, as far as it is in
    no account of a program: of those that nobody saw, and of those that were seen, after the last look at them and
    around their execs. In nanoseconds. None when: other tiers. Source: `cutime` and `cstime` of `/proc/PID/stat`, less
    what was seen of children that ended."""
    own_cpu_ns: int | None
    """CPU time of the session's own process (`own_work`); `cpu_ns` includes it. Sums include none of its other figures,
    except a peak that grew in the task. In nanoseconds. None when: unknown for a part."""
    peak_at_least_bytes: int | None
    """A lower bound: what they held at a snapshot, or the peak of its largest process if that is more. In bytes. None
    when: `peak_bytes` is given; unknown for all of them."""
    peak_at_most_bytes: int | None
    """An upper bound: the maximum, over time, of the sum of the peaks of the processes that lived then. In bytes. None
    when: `peak_bytes` is given; unknown for one of them."""
    requested: Requested
    """For a task that was announced, an object: `millicpus` (1000 are one CPU), `memory_bytes`, `time_ns`, `container`
    (the image), `tag`; see `Session::announce()`."""
    begin_ns: int
    """When it began: the leader's start; for a command that waited to be followed (`tracerd run`, `tracer::Command`),
    its exec. In nanoseconds."""
    task_ledger: TaskLedger | None
    """Where the wall time went, taken as a whole; None: unknown, see `Task ledger` in docs/fields.md."""
    waits_for: tuple[AwaitedTask, ...]
    """For a task: the other tasks that it waited for, by cause, the longest first, 8 at most: a list of objects with
    `task_key`, `name` (what people call it), `wait_ns`, a part of that cause in `task_ledger`, and `cause`: "pipe",
    "local socket" or "lock"; see below."""


class RunStart(Event):
    """The first process of a run was seen."""

    __slots__ = (
        "time_ns", "context", "provenance", "pid", "start_ns",
    )
    kind: ClassVar[str] = "run_start"
    time_ns: int
    """When the BPF program ran. In all events of a snapshot: when the snapshot began; in a `gpu_sample`: when the
    driver was asked. In `loss` and `session_end`: when it was reported. In nanoseconds."""
    context: Context | None
    """Its context, as in the process, with `provenance`; the fields that are known by then."""
    provenance: Provenance | None
    """How each field of the context is known."""
    pid: int
    """The leader's. If the session's own process is the leader, `start_ns` is when it began the task."""
    start_ns: int
    """The leader's. If the session's own process is the leader, `start_ns` is when it began the task. In
    nanoseconds."""


class RunFinish(Event):
    """A run's leader has ended, and no process lives in it."""

    __slots__ = (
        "time_ns", "context", "provenance", "pid", "start_ns", "end_ns", "exit_code", "exit_signal", "processes",
        "engine_processes", "failed", "failures", "engine_cpu_ns", "peak_bytes", "cpu_ns", "user_ns", "system_ns",
        "run_queue_ns", "minor_faults", "major_faults", "voluntary_switches", "involuntary_switches", "peak_rss_bytes",
        "peak_rss_at_most_bytes", "read_bytes", "read_at_most_bytes", "written_bytes", "read_calls", "write_calls",
        "storage_read_bytes", "storage_written_bytes", "storage_cancelled_bytes", "ledger", "process_ledger",
        "peak_rss_at_least_bytes", "network_sent_bytes", "network_received_bytes", "cpu_at_least_ns",
        "missed_children_cpu_ns", "own_cpu_ns", "peak_at_least_bytes", "peak_at_most_bytes", "tasks", "failed_tasks",
        "begin_ns", "task_ledger", "without_task_ns",
    )
    kind: ClassVar[str] = "run_finish"
    time_ns: int
    """When the BPF program ran. In all events of a snapshot: when the snapshot began; in a `gpu_sample`: when the
    driver was asked. In `loss` and `session_end`: when it was reported. In nanoseconds."""
    context: Context | None
    """Its context, as in the process, with `provenance`; the fields that are known by then."""
    provenance: Provenance | None
    """How each field of the context is known."""
    pid: int
    """The leader's. If the session's own process is the leader, `start_ns` is when it began the task."""
    start_ns: int
    """The leader's. If the session's own process is the leader, `start_ns` is when it began the task. In
    nanoseconds."""
    end_ns: int
    """When its last process ended. In nanoseconds."""
    exit_code: int | None
    """The leader's status, as in `process_exit`. The last of several attempts inside one process has that process's,
    the others that of the shell command that failed. None when: its end was not seen; of an attempt that was tried
    again: no command of it failed."""
    exit_signal: int | None
    """The leader's status, as in `process_exit`. The last of several attempts inside one process has that process's,
    the others that of the shell command that failed. None when: its end was not seen; of an attempt that was tried
    again: no command of it failed."""
    processes: int
    """Processes that ended in it."""
    engine_processes: int
    """The engine's own processes among them."""
    failed: int
    """Failures that began in it; not of the engine's own processes."""
    failures: tuple[FailedProcess, ...]
    """The first 16 of them, each where it began: a list of objects with `pid`, `tool`, `exit_code`, `exit_signal`;
    `tool` is None where the process is another user's."""
    engine_cpu_ns: int | None
    """CPU time of the engine's own processes; `cpu_ns` includes it. In nanoseconds. None when: unknown for one of
    them."""
    peak_bytes: int | None
    """The most that its living processes held together, if known to within 1 %, as it is for a single process: see
    memory of a task. In bytes. None when: only bounds are known."""
    cpu_ns: int | None
    """Time on a CPU. In nanoseconds. Source: process: `task->se.sum_exec_runtime` at dead."""
    user_ns: int | None
    """Split of `cpu_ns`; their sum is `cpu_ns`. In nanoseconds. None when: no tick hit it. Source: `task->utime` and
    `task->stime` give the ratio, scaled to `cpu_ns`."""
    system_ns: int | None
    """Split of `cpu_ns`; their sum is `cpu_ns`. In nanoseconds. None when: no tick hit it. Source: `task->utime` and
    `task->stime` give the ratio, scaled to `cpu_ns`."""
    run_queue_ns: int | None
    """Ready to run, but no CPU was free. In nanoseconds. None when: lost threads. Source: `task->sched_info.run_delay`
    at dead; exec."""
    minor_faults: int | None
    """Page faults without I/O. Source: `task->min_flt`."""
    major_faults: int | None
    """Page faults that waited for I/O. Source: `task->maj_flt`."""
    voluntary_switches: int | None
    """Switches because it waited. Source: `task->nvcsw`."""
    involuntary_switches: int | None
    """Switches because it was preempted. Source: `task->nivcsw`."""
    peak_rss_bytes: int | None
    """The peak. In bytes."""
    peak_rss_at_most_bytes: int | None
    """An upper bound, if the peak can't be known. Never given together with `peak_rss_bytes`. In bytes."""
    read_bytes: int | None
    """Bytes of read calls of the program itself. In bytes. None when: lost threads; `read_at_most_bytes` is given.
    Source: `task->ioac.rchar`."""
    read_at_most_bytes: int | None
    """An upper bound: includes what exec itself read. In bytes. None when: `read_bytes` is given; lost threads. Source:
    the same."""
    written_bytes: int | None
    """Bytes of write calls. In bytes. None when: lost threads. Source: `task->ioac.wchar`."""
    read_calls: int | None
    """Read calls of the program itself, also those that read nothing. None when: `read_bytes` is; in sums of what
    executed anything; the exec event was lost, or other threads were still ending then. Source: `task->ioac.syscr`."""
    write_calls: int | None
    """Write calls. None when: lost threads. Source: `task->ioac.syscw`."""
    storage_read_bytes: int | None
    """Bytes fetched from storage because of it, including read-ahead and mapped files. In bytes. None when: lost
    threads. Source: `task->ioac.read_bytes`."""
    storage_written_bytes: int | None
    """Bytes made dirty for storage, including mapped files; another thread writes them later. In bytes. None when: lost
    threads. Source: `task->ioac.write_bytes`."""
    storage_cancelled_bytes: int | None
    """Bytes made dirty, and dropped before they got there, by truncating or deleting. In bytes. None when: lost
    threads. Source: `task->ioac.cancelled_write_bytes`."""
    ledger: Ledger | None
    """Where the time went; None without the family `waits`, or when a thread could not be followed."""
    process_ledger: ProcessLedger | None
    """Where the life of the process went, taken as a whole; None if `ledger` is."""
    peak_rss_at_least_bytes: int | None
    """A lower bound beside it: the most that it held at a snapshot, each page once; None if no snapshot saw it. In
    bytes."""
    network_sent_bytes: int | None
    """Payload sent to and received from other machines, since the process was followed: the sum of its `connection`
    events without `same_host` whose peer is known. In bytes. None when: the family `network` is off; in `tool_sample`,
    `own_work` and kernel totals. Source: as there."""
    network_received_bytes: int | None
    """Payload sent to and received from other machines, since the process was followed: the sum of its `connection`
    events without `same_host` whose peer is known. In bytes. None when: the family `network` is off; in `tool_sample`,
    `own_work` and kernel totals. Source: as there."""
    cpu_at_least_ns: int | None
    """A lower bound, if `cpu_ns` is None: in the proc tier, CPU time up to the last look at the process; in sums, that
    of the parts that are known. In nanoseconds. None when: `cpu_ns` is known, or nothing is. Source: tier `proc`: as in
    tiers."""
    missed_children_cpu_ns: int | None
    """Only in the proc tier, and not in `cpu_ns`: CPU time of children that the process waited for, as far as it is in
    no account of a program: of those that nobody saw, and of those that were seen, after the last look at them and
    around their execs. In nanoseconds. None when: other tiers. Source: `cutime` and `cstime` of `/proc/PID/stat`, less
    what was seen of children that ended."""
    own_cpu_ns: int | None
    """CPU time of the session's own process (`own_work`); `cpu_ns` includes it. Sums include none of its other figures,
    except a peak that grew in the task. In nanoseconds. None when: unknown for a part."""
    peak_at_least_bytes: int | None
    """A lower bound: what they held at a snapshot, or the peak of its largest process if that is more. In bytes. None
    when: `peak_bytes` is given; unknown for all of them."""
    peak_at_most_bytes: int | None
    """An upper bound: the maximum, over time, of the sum of the peaks of the processes that lived then. In bytes. None
    when: `peak_bytes` is given; unknown for one of them."""
    tasks: int
    """For a run: the tasks that finished in it."""
    failed_tasks: int
    """Tasks whose leader ended by a signal or with a status other than 0, and attempts that were tried again inside one
    process."""
    begin_ns: int
    """When it began: the leader's start; for a command that waited to be followed (`tracerd run`, `tracer::Command`),
    its exec. In nanoseconds."""
    task_ledger: TaskLedger | None
    """Where the wall time went, taken as a whole; None: unknown, see `Task ledger` in docs/fields.md."""
    without_task_ns: int | None
    """The part of a run's wall time in which no task of it ran. In nanoseconds. None when: the run has no tasks, or
    `task_ledger` is None."""


class ContextChange(Event):
    """The context of a run or task became more complete, or it changed."""

    __slots__ = (
        "time_ns", "before", "before_provenance", "after", "after_provenance", "pid", "start_ns", "old_run_key",
        "old_task_key",
    )
    kind: ClassVar[str] = "context_change"
    time_ns: int
    """When the BPF program ran. In all events of a snapshot: when the snapshot began; in a `gpu_sample`: when the
    driver was asked. In `loss` and `session_end`: when it was reported. In nanoseconds."""
    before: Context | None
    """The old and the new context, with `before_provenance` and `after_provenance`."""
    before_provenance: Provenance | None
    """How each field of `before` is known."""
    after: Context | None
    """The old and the new context, with `before_provenance` and `after_provenance`."""
    after_provenance: Provenance | None
    """How each field of `after` is known."""
    pid: int | None
    """The process that changed; None: all processes that have `before`."""
    start_ns: int | None
    """The process that changed; None: all processes that have `before`. In nanoseconds."""
    old_run_key: str | None
    """The key of `before`, if `after` has another one, because a part of the key became known. None: it is the same."""
    old_task_key: str | None
    """The key of `before`, if `after` has another one, because a part of the key became known. None: it is the same."""


class OwnWork(Event):
    """An account of what the session's own process consumed in a task, or outside of all."""

    __slots__ = (
        "time_ns", "pid", "start_ns", "parent_pid", "parent_start_ns", "uid", "pid_namespace", "mount_namespace",
        "comm", "exe", "argv", "argv_cut_bytes", "cwd", "tool", "exec_euid", "cgroup", "cgroup_id", "cgroup_hierarchy",
        "container_id", "context", "provenance", "begin_ns", "cpu_ns", "user_ns", "system_ns", "run_queue_ns",
        "minor_faults", "major_faults", "voluntary_switches", "involuntary_switches", "peak_rss_bytes",
        "peak_rss_at_most_bytes", "read_bytes", "read_at_most_bytes", "written_bytes", "read_calls", "write_calls",
        "storage_read_bytes", "storage_written_bytes", "storage_cancelled_bytes", "ledger", "process_ledger",
        "peak_rss_at_least_bytes", "network_sent_bytes", "network_received_bytes", "cpu_at_least_ns",
        "missed_children_cpu_ns",
    )
    kind: ClassVar[str] = "own_work"
    time_ns: int
    """When the BPF program ran. In all events of a snapshot: when the snapshot began; in a `gpu_sample`: when the
    driver was asked. In `loss` and `session_end`: when it was reported. In nanoseconds."""
    pid: int
    """Thread group id in the pid namespace of the session. Source: `task->tgid`; in a namespace of its own
    `thread_pid->numbers[]`."""
    start_ns: int
    """When its first thread was created. Together with the host's `boot_id` and `pid`, it is the identity. In
    nanoseconds. Source: `leader->start_boottime`."""
    parent_pid: int | None
    """The parent when tracking began; reparenting does not change it. None when: the start record was lost. Source:
    `leader->real_parent`, its `tgid` and its leader's `start_boottime`; fork or visit."""
    parent_start_ns: int | None
    """The parent when tracking began; reparenting does not change it. In nanoseconds. None when: the start record was
    lost. Source: `leader->real_parent`, its `tgid` and its leader's `start_boottime`; fork or visit."""
    uid: int | None
    """Real user id, in the initial user namespace. None when: the start record was lost and it has executed nothing.
    Source: `task->cred->uid`; fork, exec, visit."""
    pid_namespace: int | None
    """Inode number, as in `/proc/PID/ns/pid`. None when: unknown for the parent. Source:
    `task->thread_pid->numbers[level].ns`; exec, visit, and fork if it is a new one."""
    mount_namespace: int | None
    """Inode number, as in `/proc/PID/ns/mnt`. None when: unknown for the parent. Source: `task->nsproxy->mnt_ns`; at
    the same moments."""
    comm: str | None
    """The kernel's short name, up to 15 bytes, when the program began. None when: unknown for the parent. Source:
    `task->comm`; exec, visit. A later change of the name is not seen."""
    exe: str | None
    """Path of the executable below the process's own root, by the file's name at the exec. For a script: its
    interpreter. None when: the exec was lost; `/proc` could not be read. Source: exec: `mm->exe_file->f_path`, by
    walking directory entries. Lived before: `/proc/PID/exe`. A leading "…" marks a missing beginning: deeper than 40
    names in one mount, 12 mounts, or 3.8 KiB."""
    argv: tuple[str, ...] | None
    """Arguments, secrets masked as `***`. Above 4 KiB: the first 3 KiB and the last 1 KiB; "…" marks the cut. The word
    in which the cut begins and the word in which it ends are shown as one. None when: as `exe`; the memory could not be
    read without waiting. Source: exec: user memory from `mm->arg_start` to `mm->arg_end`. Lived before:
    `/proc/PID/cmdline`."""
    argv_cut_bytes: int | None
    """Number of bytes missing in the middle. In bytes. None when: nothing is missing."""
    cwd: str | None
    """Working folder when the program began, below the process's own root; "…" as for `exe`. None when: as `exe`.
    Source: exec: `task->fs->pwd`. Lived before: `/proc/PID/cwd`."""
    tool: str | None
    """Name by `rules/tools.toml`, such as `samtools sort`; without a rule, the file name. A worker of a pool, such as
    Python's `multiprocessing`, has the name of the process that began the pool. None when: neither `exe` nor `argv` is
    known. Source: `exe`, `argv`, `comm`."""
    exec_euid: int | None
    """Effective user id when the program began, in the initial user namespace: another than `uid` for a setuid program.
    None when: as `exe`; recordings of earlier versions. Source: exec: `task->cred->euid`. Lived before: the owner of
    `/proc/PID/cwd`, which is root for a program that the user may not look into."""
    cgroup: str | None
    """Path within its hierarchy. None when: its path was lost, and it was removed before it could be looked up. Source:
    `kernfs_node` names, or the path given to `cgroup_mkdir`; else the cgroup file system."""
    cgroup_id: int | None
    """The kernel's number, the inode of the folder. None when: never known. Source: `css_set` → `cgroup->kn->id`; fork,
    exec, visit. A move in between shows at the next exec, and in children."""
    cgroup_hierarchy: str | None
    """`v2`, or `memory` or `pids`: the v1 hierarchy of `cgroup`. design.md explains the choice. None when: never
    known."""
    container_id: str | None
    """The 64 hexadecimal digits at the end of a component of the cgroup's path; the innermost such component. None
    when: there is none; the runtime uses short ids. Source: `cgroup`."""
    context: Context | None
    """Where it belongs; None if it belongs to no run."""
    provenance: Provenance | None
    """How each field of the context is known."""
    begin_ns: int
    """When the part began; it ended at `time_ns`. In nanoseconds."""
    cpu_ns: int | None
    """In a task: CPU time of the threads that worked for it, while they did. Outside of tasks: CPU time of the process,
    without its tasks. In nanoseconds. None when: other threads of the process, such as those of BLAS, ran meanwhile and
    may have worked for the task; or other code on the same thread can't be distinguished (greenlets, uvloop, a
    suspended generator). Source: clocks of threads and of the process (`clock_gettime`)."""
    user_ns: int | None
    """Split of `cpu_ns`; their sum is `cpu_ns`. In nanoseconds. None when: no tick hit it. Source: `task->utime` and
    `task->stime` give the ratio, scaled to `cpu_ns`."""
    system_ns: int | None
    """Split of `cpu_ns`; their sum is `cpu_ns`. In nanoseconds. None when: no tick hit it. Source: `task->utime` and
    `task->stime` give the ratio, scaled to `cpu_ns`."""
    run_queue_ns: int | None
    """Ready to run, but no CPU was free. In nanoseconds. None when: lost threads. Source: `task->sched_info.run_delay`
    at dead; exec."""
    minor_faults: int | None
    """Page faults without I/O. Source: `task->min_flt`."""
    major_faults: int | None
    """Page faults that waited for I/O. Source: `task->maj_flt`."""
    voluntary_switches: int | None
    """Switches because it waited. Source: `task->nvcsw`."""
    involuntary_switches: int | None
    """Switches because it was preempted. Source: `task->nivcsw`."""
    peak_rss_bytes: int | None
    """Peak of the process as a whole, including what it held before. In bytes. None when: its peak did not grow in this
    part. Source: `getrusage`, `ru_maxrss`."""
    peak_rss_at_most_bytes: int | None
    """An upper bound, if the peak can't be known. Never given together with `peak_rss_bytes`. In bytes."""
    read_bytes: int | None
    """Bytes of read and write calls of the thread; outside of tasks, of the process. In bytes. None when: more than one
    thread or coroutine worked for the task. Source: `/proc/self/task/TID/io`, `/proc/self/io`."""
    read_at_most_bytes: int | None
    """An upper bound: includes what exec itself read. In bytes. None when: `read_bytes` is given; lost threads. Source:
    the same."""
    written_bytes: int | None
    """Bytes of read and write calls of the thread; outside of tasks, of the process. In bytes. None when: more than one
    thread or coroutine worked for the task. Source: `/proc/self/task/TID/io`, `/proc/self/io`."""
    read_calls: int | None
    """Read calls of the program itself, also those that read nothing. None when: `read_bytes` is; in sums of what
    executed anything; the exec event was lost, or other threads were still ending then. Source: `task->ioac.syscr`."""
    write_calls: int | None
    """Write calls. None when: lost threads. Source: `task->ioac.syscw`."""
    storage_read_bytes: int | None
    """Bytes fetched from storage because of it, including read-ahead and mapped files. In bytes. None when: lost
    threads. Source: `task->ioac.read_bytes`."""
    storage_written_bytes: int | None
    """Bytes made dirty for storage, including mapped files; another thread writes them later. In bytes. None when: lost
    threads. Source: `task->ioac.write_bytes`."""
    storage_cancelled_bytes: int | None
    """Bytes made dirty, and dropped before they got there, by truncating or deleting. In bytes. None when: lost
    threads. Source: `task->ioac.cancelled_write_bytes`."""
    ledger: Ledger | None
    """Where the time went; None without the family `waits`, or when a thread could not be followed."""
    process_ledger: ProcessLedger | None
    """Where the life of the process went, taken as a whole; None if `ledger` is."""
    peak_rss_at_least_bytes: int | None
    """A lower bound, if `peak_rss_bytes` is None: what it held at the beginning or the end. In bytes. None when:
    `peak_rss_bytes` is known. Source: `/proc/self/statm`."""
    network_sent_bytes: int | None
    """Payload sent to and received from other machines, since the process was followed: the sum of its `connection`
    events without `same_host` whose peer is known. In bytes. None when: the family `network` is off; in `tool_sample`,
    `own_work` and kernel totals. Source: as there."""
    network_received_bytes: int | None
    """Payload sent to and received from other machines, since the process was followed: the sum of its `connection`
    events without `same_host` whose peer is known. In bytes. None when: the family `network` is off; in `tool_sample`,
    `own_work` and kernel totals. Source: as there."""
    cpu_at_least_ns: int | None
    """A lower bound, if `cpu_ns` is None: CPU time of the threads that worked for it. In nanoseconds. None when:
    `cpu_ns` is known, or nothing is. Source: as `cpu_ns`."""
    missed_children_cpu_ns: int | None
    """Only in the proc tier, and not in `cpu_ns`: CPU time of children that the process waited for, as far as it is in
    no account of a program: of those that nobody saw, and of those that were seen, after the last look at them and
    around their execs. In nanoseconds. None when: other tiers. Source: `cutime` and `cstime` of `/proc/PID/stat`, less
    what was seen of children that ended."""


class OomKill(Event):
    """Memory had run out, in a cgroup with a limit or on the host, and the kernel chose this process to be killed."""

    __slots__ = (
        "time_ns", "pid", "start_ns", "parent_pid", "parent_start_ns", "uid", "pid_namespace", "mount_namespace",
        "comm", "exe", "argv", "argv_cut_bytes", "cwd", "tool", "exec_euid", "cgroup", "cgroup_id", "cgroup_hierarchy",
        "container_id", "context", "provenance", "scope", "limit_cgroup", "limit_bytes", "usage_bytes", "peak_bytes",
        "allocator_pid",
    )
    kind: ClassVar[str] = "oom_kill"
    time_ns: int
    """When the BPF program ran. In all events of a snapshot: when the snapshot began; in a `gpu_sample`: when the
    driver was asked. In `loss` and `session_end`: when it was reported. In nanoseconds."""
    pid: int
    """Thread group id in the pid namespace of the session. Source: `task->tgid`; in a namespace of its own
    `thread_pid->numbers[]`."""
    start_ns: int
    """When its first thread was created. Together with the host's `boot_id` and `pid`, it is the identity. In
    nanoseconds. Source: `leader->start_boottime`."""
    parent_pid: int | None
    """The parent when tracking began; reparenting does not change it. None when: the start record was lost. Source:
    `leader->real_parent`, its `tgid` and its leader's `start_boottime`; fork or visit."""
    parent_start_ns: int | None
    """The parent when tracking began; reparenting does not change it. In nanoseconds. None when: the start record was
    lost. Source: `leader->real_parent`, its `tgid` and its leader's `start_boottime`; fork or visit."""
    uid: int | None
    """Real user id, in the initial user namespace. None when: the start record was lost and it has executed nothing.
    Source: `task->cred->uid`; fork, exec, visit."""
    pid_namespace: int | None
    """Inode number, as in `/proc/PID/ns/pid`. None when: unknown for the parent. Source:
    `task->thread_pid->numbers[level].ns`; exec, visit, and fork if it is a new one."""
    mount_namespace: int | None
    """Inode number, as in `/proc/PID/ns/mnt`. None when: unknown for the parent. Source: `task->nsproxy->mnt_ns`; at
    the same moments."""
    comm: str | None
    """The kernel's short name, up to 15 bytes, when the program began. None when: unknown for the parent. Source:
    `task->comm`; exec, visit. A later change of the name is not seen."""
    exe: str | None
    """Path of the executable below the process's own root, by the file's name at the exec. For a script: its
    interpreter. None when: the exec was lost; `/proc` could not be read. Source: exec: `mm->exe_file->f_path`, by
    walking directory entries. Lived before: `/proc/PID/exe`. A leading "…" marks a missing beginning: deeper than 40
    names in one mount, 12 mounts, or 3.8 KiB."""
    argv: tuple[str, ...] | None
    """Arguments, secrets masked as `***`. Above 4 KiB: the first 3 KiB and the last 1 KiB; "…" marks the cut. The word
    in which the cut begins and the word in which it ends are shown as one. None when: as `exe`; the memory could not be
    read without waiting. Source: exec: user memory from `mm->arg_start` to `mm->arg_end`. Lived before:
    `/proc/PID/cmdline`."""
    argv_cut_bytes: int | None
    """Number of bytes missing in the middle. In bytes. None when: nothing is missing."""
    cwd: str | None
    """Working folder when the program began, below the process's own root; "…" as for `exe`. None when: as `exe`.
    Source: exec: `task->fs->pwd`. Lived before: `/proc/PID/cwd`."""
    tool: str | None
    """Name by `rules/tools.toml`, such as `samtools sort`; without a rule, the file name. A worker of a pool, such as
    Python's `multiprocessing`, has the name of the process that began the pool. None when: neither `exe` nor `argv` is
    known. Source: `exe`, `argv`, `comm`."""
    exec_euid: int | None
    """Effective user id when the program began, in the initial user namespace: another than `uid` for a setuid program.
    None when: as `exe`; recordings of earlier versions. Source: exec: `task->cred->euid`. Lived before: the owner of
    `/proc/PID/cwd`, which is root for a program that the user may not look into."""
    cgroup: str | None
    """Path within its hierarchy. None when: its path was lost, and it was removed before it could be looked up. Source:
    `kernfs_node` names, or the path given to `cgroup_mkdir`; else the cgroup file system."""
    cgroup_id: int | None
    """The kernel's number, the inode of the folder. None when: never known. Source: `css_set` → `cgroup->kn->id`; fork,
    exec, visit. A move in between shows at the next exec, and in children."""
    cgroup_hierarchy: str | None
    """`v2`, or `memory` or `pids`: the v1 hierarchy of `cgroup`. design.md explains the choice. None when: never
    known."""
    container_id: str | None
    """The 64 hexadecimal digits at the end of a component of the cgroup's path; the innermost such component. None
    when: there is none; the runtime uses short ids. Source: `cgroup`."""
    context: Context | None
    """Where it belongs; None if it belongs to no run."""
    provenance: Provenance | None
    """How each field of the context is known."""
    scope: str | None
    """`cgroup`: the limit of a cgroup was hit; `host`: the memory of the machine had run out. Source: the topmost
    cgroup above the victim whose `oom_lock` is held; without `CONFIG_MEMCG_V1` (6.11 and later may lack it), whose
    count `oom` in `memory.events.local` has grown, or, where that was not looked at before, is above 0 while the cgroup
    is near its limit."""
    limit_cgroup: str | None
    """The path of the cgroup whose limit was hit: the victim's own, or one above it. None: of the host. Source:
    `css.cgroup->kn`."""
    limit_bytes: int | None
    """That limit: of memory, or on v1, where that was not hit, of memory and swap together. None: of the host. In
    bytes. Source: `memory.max`, v1 `memsw.max`."""
    usage_bytes: int | None
    """What was charged to that cgroup then, at most a batch of pages below the limit. None: of the host. In bytes.
    Source: `memory.usage`."""
    peak_bytes: int | None
    """The most that was ever charged to it. None: of the host. In bytes. Source: `memory.watermark`."""
    allocator_pid: int | None
    """The process that asked for memory when there was none, often the victim. None: it was the kernel itself, or the
    session's pid namespace does not show it. Source: the current process at `mark_victim`."""


class FileUse(Event):
    """A regular file that a process used: all its uses up to the end of the process, or of the session."""

    __slots__ = (
        "time_ns", "pid", "start_ns", "parent_pid", "parent_start_ns", "uid", "pid_namespace", "mount_namespace",
        "comm", "exe", "argv", "argv_cut_bytes", "cwd", "tool", "exec_euid", "cgroup", "cgroup_id", "cgroup_hierarchy",
        "container_id", "context", "provenance", "path", "path_at", "path_cut", "folded", "device", "inode", "opens",
        "opened_to_read", "opened_to_write", "created", "read_bytes", "written_bytes", "size_bytes", "first_open_ns",
        "last_close_ns", "filesystem", "renamed_to", "renames", "deletes", "euid", "generation", "contents_begun",
        "read_earlier_content", "modified_meanwhile",
    )
    kind: ClassVar[str] = "file_use"
    time_ns: int
    """When the BPF program ran. In all events of a snapshot: when the snapshot began; in a `gpu_sample`: when the
    driver was asked. In `loss` and `session_end`: when it was reported. In nanoseconds."""
    pid: int
    """Thread group id in the pid namespace of the session. Source: `task->tgid`; in a namespace of its own
    `thread_pid->numbers[]`."""
    start_ns: int
    """When its first thread was created. Together with the host's `boot_id` and `pid`, it is the identity. In
    nanoseconds. Source: `leader->start_boottime`."""
    parent_pid: int | None
    """The parent when tracking began; reparenting does not change it. None when: the start record was lost. Source:
    `leader->real_parent`, its `tgid` and its leader's `start_boottime`; fork or visit."""
    parent_start_ns: int | None
    """The parent when tracking began; reparenting does not change it. In nanoseconds. None when: the start record was
    lost. Source: `leader->real_parent`, its `tgid` and its leader's `start_boottime`; fork or visit."""
    uid: int | None
    """Real user id, in the initial user namespace. None when: the start record was lost and it has executed nothing.
    Source: `task->cred->uid`; fork, exec, visit."""
    pid_namespace: int | None
    """Inode number, as in `/proc/PID/ns/pid`. None when: unknown for the parent. Source:
    `task->thread_pid->numbers[level].ns`; exec, visit, and fork if it is a new one."""
    mount_namespace: int | None
    """Inode number, as in `/proc/PID/ns/mnt`. None when: unknown for the parent. Source: `task->nsproxy->mnt_ns`; at
    the same moments."""
    comm: str | None
    """The kernel's short name, up to 15 bytes, when the program began. None when: unknown for the parent. Source:
    `task->comm`; exec, visit. A later change of the name is not seen."""
    exe: str | None
    """Path of the executable below the process's own root, by the file's name at the exec. For a script: its
    interpreter. None when: the exec was lost; `/proc` could not be read. Source: exec: `mm->exe_file->f_path`, by
    walking directory entries. Lived before: `/proc/PID/exe`. A leading "…" marks a missing beginning: deeper than 40
    names in one mount, 12 mounts, or 3.8 KiB."""
    argv: tuple[str, ...] | None
    """Arguments, secrets masked as `***`. Above 4 KiB: the first 3 KiB and the last 1 KiB; "…" marks the cut. The word
    in which the cut begins and the word in which it ends are shown as one. None when: as `exe`; the memory could not be
    read without waiting. Source: exec: user memory from `mm->arg_start` to `mm->arg_end`. Lived before:
    `/proc/PID/cmdline`."""
    argv_cut_bytes: int | None
    """Number of bytes missing in the middle. In bytes. None when: nothing is missing."""
    cwd: str | None
    """Working folder when the program began, below the process's own root; "…" as for `exe`. None when: as `exe`.
    Source: exec: `task->fs->pwd`. Lived before: `/proc/PID/cwd`."""
    tool: str | None
    """Name by `rules/tools.toml`, such as `samtools sort`; without a rule, the file name. A worker of a pool, such as
    Python's `multiprocessing`, has the name of the process that began the pool. None when: neither `exe` nor `argv` is
    known. Source: `exe`, `argv`, `comm`."""
    exec_euid: int | None
    """Effective user id when the program began, in the initial user namespace: another than `uid` for a setuid program.
    None when: as `exe`; recordings of earlier versions. Source: exec: `task->cred->euid`. Lived before: the owner of
    `/proc/PID/cwd`, which is root for a program that the user may not look into."""
    cgroup: str | None
    """Path within its hierarchy. None when: its path was lost, and it was removed before it could be looked up. Source:
    `kernfs_node` names, or the path given to `cgroup_mkdir`; else the cgroup file system."""
    cgroup_id: int | None
    """The kernel's number, the inode of the folder. None when: never known. Source: `css_set` → `cgroup->kn->id`; fork,
    exec, visit. A move in between shows at the next exec, and in children."""
    cgroup_hierarchy: str | None
    """`v2`, or `memory` or `pids`: the v1 hierarchy of `cgroup`. design.md explains the choice. None when: never
    known."""
    container_id: str | None
    """The 64 hexadecimal digits at the end of a component of the cgroup's path; the innermost such component. None
    when: there is none; the runtime uses short ids. Source: `cgroup`."""
    context: Context | None
    """Where it belongs; None if it belongs to no run."""
    provenance: Provenance | None
    """How each field of the context is known."""
    path: str | None
    """Absolute, from the top of the mounts that the process sees, whatever its root folder: the path at the first of
    these closes, or before the process's first rename or its delete, whichever came first. Up to 1,000 bytes and 48
    components are never cut. None when: see `folded`. Source: `f_path`: names of `dentry`, up through `mount`."""
    path_at: str | None
    """Which of these it was: `close`, `rename` or `delete`. None when: `path` is None."""
    path_cut: bool
    """The beginning of the path is missing: it is longer, or its mount was taken off meanwhile."""
    folded: str | None
    """Several files in one event: `unlinked` (their names were gone before the last close) or `others` (beyond those
    that are told apart, as above; or the record with the path was lost; or, from a service, used as another user than
    the client). None when: it is one file."""
    device: int | None
    """Number of the file system, as the kernel has it: major number << 20 | minor number. None when: `folded`. Source:
    `i_sb->s_dev`."""
    inode: int | None
    """Number of the file on it; may be given again once the file is gone. None when: `folded`. Source: `i_ino`."""
    opens: int
    """Opens that ended by these closes; 0: the process only renamed or deleted it. Source: counted."""
    opened_to_read: bool
    """One of them was for that. Source: `f_mode`."""
    opened_to_write: bool
    """One of them was for that. Source: `f_mode`."""
    created: bool
    """One of them made the file. Source: `FMODE_CREATED`."""
    read_bytes: int | None
    """Read through these opens, by all processes that shared them: the position at each close. Exact for a program that
    reads from the start to where it stops; a program that skips parts of a file is counted with them, and what is read
    again after going back is counted once. In bytes. None when: not opened to read; opened to read and write; read at
    given positions or mapped, so that the position says nothing; all positions together exceed what the process and
    those below it have read; the process lives on. Source: `f_pos`."""
    written_bytes: int | None
    """Likewise. In bytes. None when: likewise, and if it was opened to append. Source: `f_pos`."""
    size_bytes: int | None
    """Size at the last close, rename or delete. In bytes. None when: `folded`. Source: `i_size`."""
    first_open_ns: int | None
    """The earliest of these opens, whichever process opened it. In nanoseconds. None when: the way is not `fentry`
    (below); one of the opens was not seen: it was before the session, by a process that is not followed, or more than
    16,384 files that followed processes opened were open at once. Source: boot clock at `security_file_open`."""
    last_close_ns: int
    """The last of these closes; with 0 `opens`, the last rename or delete. In nanoseconds. Source: boot clock."""
    filesystem: str | None
    """The kind of the file system: `ext4`, `nfs4`, `lustre`, `overlay`, `tmpfs`; with what serves it, if FUSE says so:
    `fuse.sshfs`. At most 15 bytes of each. In a container it is often `overlay`, whatever is below. None when:
    `folded`. Source: `i_sb->s_type->name`, `i_sb->s_subtype`."""
    renamed_to: str | None
    """Its path after the process's last rename of it, as `path`; begins with "…" where the beginning is missing. None
    when: the process did not rename it; `folded`; the kernel does not show renames (below). Source: names of `dentry`
    after `vfs_rename`."""
    renames: int | None
    """Renames of it by this process, within a folder or to another one. None when: the kernel does not show renames and
    deletes. Source: returns of `vfs_rename` with 0, after `security_path_rename`."""
    deletes: int | None
    """How often this process took the file's last name from it: by a delete, or by a rename of another file to that
    name. 0 or 1, unless `folded`. A file that is open lives on without a name: its use is in `unlinked`, for whoever
    closes it. None when: likewise. Source: returns of `vfs_unlink` and `vfs_rename` with 0, after
    `security_path_unlink` and `security_path_rename`, with `i_nlink` 0."""
    euid: int | None
    """The user id that the process acted as at the close, rename or delete, in the initial user namespace: the
    effective one, so root's in a setuid program. If the program was executed as another user than the real one, it is
    that user until the next exec. The same file used as two users is in two events. None when: `folded`; recordings of
    earlier versions. Source: `cred->fsuid`, `euid` and `suid` of the thread: the first that is not the real one."""
    generation: int | None
    """Tells files apart whose `device` and `inode` were given again: the file system chooses it, most of them another
    for each file. Of an overlay, whose layers may be new, it is also another for each overlay. None when: likewise.
    Source: `i_generation`; `s_root` of an overlay, mixed with a random number."""
    contents_begun: int | None
    """Opens that began another content, at least: they made the file or emptied it, or left it empty. One that was not
    seen also did if it had written all of the file by its close. None when: none did for certain, but one may have: it
    was not seen, and was to write, not to append; or it was seen, and may have emptied the file afterwards, as it had
    written up to the end by its close; recordings of earlier versions. Source: `FMODE_CREATED`; `O_TRUNC` at
    `security_file_open`; opened to write, not to append, and `i_size` is 0 or, where the open was not seen and was to
    write only, `f_pos` is not below it."""
    read_earlier_content: bool | None
    """It opened the file to read before it began a content itself. None when: not opened to read; by an open that may
    have begun one, as above, or behind such; recordings of earlier versions."""
    modified_meanwhile: bool | None
    """The file was modified, by whoever, between the first of these opens, or, where that was not seen, the begin of
    the process, and the last close. A program that opens a database to read and write, and only reads, is told by that
    from one that writes. None when: not opened to write; modified within 10 ms of the first open; on a file system of
    another machine; recordings of earlier versions. Source: `contents_begun`; `f_pos`, where it was not opened to
    append; `i_mtime` at the last close."""


class Connection(Event):
    """What a program sent and received through its sockets with one peer: up to its end, or the session's."""

    __slots__ = (
        "time_ns", "pid", "start_ns", "parent_pid", "parent_start_ns", "uid", "pid_namespace", "mount_namespace",
        "comm", "exe", "argv", "argv_cut_bytes", "cwd", "tool", "exec_euid", "cgroup", "cgroup_id", "cgroup_hierarchy",
        "container_id", "context", "provenance", "protocol", "role", "same_host", "remote_address", "remote_port",
        "local_address", "local_port", "folded", "sent_bytes", "received_bytes", "sends", "receives", "connects",
        "failed_connects", "error", "retransmits_at_least", "round_trip_ns", "last_ns", "wait_ns", "euid",
    )
    kind: ClassVar[str] = "connection"
    time_ns: int
    """When the BPF program ran. In all events of a snapshot: when the snapshot began; in a `gpu_sample`: when the
    driver was asked. In `loss` and `session_end`: when it was reported. In nanoseconds."""
    pid: int
    """Thread group id in the pid namespace of the session. Source: `task->tgid`; in a namespace of its own
    `thread_pid->numbers[]`."""
    start_ns: int
    """When its first thread was created. Together with the host's `boot_id` and `pid`, it is the identity. In
    nanoseconds. Source: `leader->start_boottime`."""
    parent_pid: int | None
    """The parent when tracking began; reparenting does not change it. None when: the start record was lost. Source:
    `leader->real_parent`, its `tgid` and its leader's `start_boottime`; fork or visit."""
    parent_start_ns: int | None
    """The parent when tracking began; reparenting does not change it. In nanoseconds. None when: the start record was
    lost. Source: `leader->real_parent`, its `tgid` and its leader's `start_boottime`; fork or visit."""
    uid: int | None
    """Real user id, in the initial user namespace. None when: the start record was lost and it has executed nothing.
    Source: `task->cred->uid`; fork, exec, visit."""
    pid_namespace: int | None
    """Inode number, as in `/proc/PID/ns/pid`. None when: unknown for the parent. Source:
    `task->thread_pid->numbers[level].ns`; exec, visit, and fork if it is a new one."""
    mount_namespace: int | None
    """Inode number, as in `/proc/PID/ns/mnt`. None when: unknown for the parent. Source: `task->nsproxy->mnt_ns`; at
    the same moments."""
    comm: str | None
    """The kernel's short name, up to 15 bytes, when the program began. None when: unknown for the parent. Source:
    `task->comm`; exec, visit. A later change of the name is not seen."""
    exe: str | None
    """Path of the executable below the process's own root, by the file's name at the exec. For a script: its
    interpreter. None when: the exec was lost; `/proc` could not be read. Source: exec: `mm->exe_file->f_path`, by
    walking directory entries. Lived before: `/proc/PID/exe`. A leading "…" marks a missing beginning: deeper than 40
    names in one mount, 12 mounts, or 3.8 KiB."""
    argv: tuple[str, ...] | None
    """Arguments, secrets masked as `***`. Above 4 KiB: the first 3 KiB and the last 1 KiB; "…" marks the cut. The word
    in which the cut begins and the word in which it ends are shown as one. None when: as `exe`; the memory could not be
    read without waiting. Source: exec: user memory from `mm->arg_start` to `mm->arg_end`. Lived before:
    `/proc/PID/cmdline`."""
    argv_cut_bytes: int | None
    """Number of bytes missing in the middle. In bytes. None when: nothing is missing."""
    cwd: str | None
    """Working folder when the program began, below the process's own root; "…" as for `exe`. None when: as `exe`.
    Source: exec: `task->fs->pwd`. Lived before: `/proc/PID/cwd`."""
    tool: str | None
    """Name by `rules/tools.toml`, such as `samtools sort`; without a rule, the file name. A worker of a pool, such as
    Python's `multiprocessing`, has the name of the process that began the pool. None when: neither `exe` nor `argv` is
    known. Source: `exe`, `argv`, `comm`."""
    exec_euid: int | None
    """Effective user id when the program began, in the initial user namespace: another than `uid` for a setuid program.
    None when: as `exe`; recordings of earlier versions. Source: exec: `task->cred->euid`. Lived before: the owner of
    `/proc/PID/cwd`, which is root for a program that the user may not look into."""
    cgroup: str | None
    """Path within its hierarchy. None when: its path was lost, and it was removed before it could be looked up. Source:
    `kernfs_node` names, or the path given to `cgroup_mkdir`; else the cgroup file system."""
    cgroup_id: int | None
    """The kernel's number, the inode of the folder. None when: never known. Source: `css_set` → `cgroup->kn->id`; fork,
    exec, visit. A move in between shows at the next exec, and in children."""
    cgroup_hierarchy: str | None
    """`v2`, or `memory` or `pids`: the v1 hierarchy of `cgroup`. design.md explains the choice. None when: never
    known."""
    container_id: str | None
    """The 64 hexadecimal digits at the end of a component of the cgroup's path; the innermost such component. None
    when: there is none; the runtime uses short ids. Source: `cgroup`."""
    context: Context | None
    """Where it belongs; None if it belongs to no run."""
    provenance: Provenance | None
    """How each field of the context is known."""
    protocol: str | None
    """`tcp`, `udp` or `unix`. None when: another, or `folded`. Source: `sk_protocol`."""
    role: str | None
    """`client` or `server`. None when: not TCP; connected before the session. Source: seen as the socket connects or is
    accepted."""
    same_host: bool
    """The other end is on this machine: a local socket, a loopback address, or the socket's own address. False also
    where the peer is not known (UDP whose socket was not connected), and between a container with a network of its own
    and its host. Source: addresses of `struct sock`."""
    remote_address: str | None
    """The peer's address, IPv4 or IPv6. None when: `unix`; `folded`; UDP whose socket was not connected. Source:
    `skc_daddr`, `skc_v6_daddr`."""
    remote_port: int | None
    """The peer's port. None when: likewise, and for a server. Source: `skc_dport`."""
    local_address: str | None
    """The own address of the first of these sockets. None when: not known; `folded`. Source: `skc_rcv_saddr`."""
    local_port: int | None
    """A server's own port. None when: not a server. Source: `skc_num`."""
    folded: str | None
    """Several peers in one event: `others`, beyond those that are told apart; or, from a service, as another user than
    the client. None when: it is one peer."""
    sent_bytes: int
    """Payload, without headers; a peek takes nothing. In bytes. Source: `sock_send_length`, `sock_recv_length`."""
    received_bytes: int
    """Payload, without headers; a peek takes nothing. In bytes. Source: `sock_send_length`, `sock_recv_length`."""
    sends: int
    """Calls that moved something. Source: counted."""
    receives: int
    """Calls that moved something. Source: counted."""
    connects: int | None
    """Attempts to connect. None when: `role` is not `client`. Source: `inet_sock_set_state` to `SYN_SENT`."""
    failed_connects: int | None
    """The part of them that the peer refused, or that timed out; what the program gave up itself is none. None when:
    likewise. Source: `sk_err`."""
    error: int | None
    """Errno of the last that failed. None when: none failed. Source: `sk_err`."""
    retransmits_at_least: int | None
    """Segments that were sent again, as far as they were seen: the kernel's count is read now and then, and at the end
    of the peer's data. None when: not TCP. Source: `total_retrans`."""
    round_trip_ns: int | None
    """The smoothed round-trip time when it was read last. In nanoseconds. None when: not TCP; not measured yet. Source:
    `srtt_us`."""
    last_ns: int
    """The last send, receive or connect. In nanoseconds. Source: boot clock."""
    wait_ns: int | None
    """How long threads waited in calls that send or receive on these sockets, until each call returned; summed over
    threads, without the time in a run queue, and without waits to connect or accept. Part of the ledger's `network_ns`
    or `local_socket_ns`. In nanoseconds. None when: the family `waits` is off; a socket does not block (`O_NONBLOCK`,
    `MSG_DONTWAIT`), or a thread called `poll`, `epoll_wait` or the like right before: that wait may have been for
    several peers; a call was made by a thread that is not followed, such as io_uring's; nothing was sent or received.
    Source: the ledger, by the socket on which the thread waited, at `sock_send_length` and `sock_recv_length`."""
    euid: int | None
    """The user id that the program acted as, as in `file_use`. None when: recordings of earlier versions. Source:
    likewise."""


class DeviceSample(Event):
    """A block device that was used since the last snapshot: what it did for the whole host, and which followed process asked it for most."""

    __slots__ = (
        "time_ns", "since_ns", "device", "device_name", "read_requests", "write_requests", "read_bytes",
        "written_bytes", "read_latency_ns", "write_latency_ns", "latency_p99_at_most_ns", "busy_ns", "heaviest_pid",
        "heaviest_tool", "heaviest_bytes", "context", "provenance",
    )
    kind: ClassVar[str] = "device_sample"
    time_ns: int
    """When the BPF program ran. In all events of a snapshot: when the snapshot began; in a `gpu_sample`: when the
    driver was asked. In `loss` and `session_end`: when it was reported. In nanoseconds."""
    since_ns: int
    """When these sums began: when the last ones were read, which is shortly after the `time_ns` of that snapshot. In
    nanoseconds. Source: boot clock."""
    device: int
    """Number of the device: major number << 20 | minor number. It is the `device` of a `file_use` if the file system
    lies on the whole disk, and not on a partition, LVM or RAID. Source: `gendisk`: `major`, `first_minor`."""
    device_name: str | None
    """Such as `vda` or `nvme0n1`. None when: the device is gone. Source: `/sys/dev/block/`."""
    read_requests: int
    """Requests that were completed; neighboring requests that the kernel merged are one. Source:
    `block_rq_complete`."""
    write_requests: int
    """Requests that were completed; neighboring requests that the kernel merged are one. Source:
    `block_rq_complete`."""
    read_bytes: int
    """Bytes of completed requests, and of the completed parts of others. In bytes. Source: `block_rq_complete`."""
    written_bytes: int
    """Bytes of completed requests, and of the completed parts of others. In bytes. Source: `block_rq_complete`."""
    read_latency_ns: int | None
    """The mean time from the issue of a request to its completion. The time in the kernel's queue before that is not in
    it; a request that was issued again counts from then. In nanoseconds. None when: no such request was completed whose
    issue was seen: those issued before the session started are counted without a time. Source: `block_rq_issue`,
    `block_rq_complete`."""
    write_latency_ns: int | None
    """The mean time from the issue of a request to its completion. The time in the kernel's queue before that is not in
    it; a request that was issued again counts from then. In nanoseconds. None when: no such request was completed whose
    issue was seen: those issued before the session started are counted without a time. Source: `block_rq_issue`,
    `block_rq_complete`."""
    latency_p99_at_most_ns: int | None
    """99 of 100 of these requests, reads and writes together, took no longer. Too high by at most a factor of 2, and
    never below 2 µs. In nanoseconds. None when: likewise; it is longer than 35 minutes. Source: classes by the binary
    logarithm of the time in µs."""
    busy_ns: int | None
    """How long at least one request was in flight. The kernel counts it in ticks of its clock (1 to 10 ms), and may be
    off by that for each time that the device became busy. In nanoseconds. None when: the device is gone or its numbers
    began anew; `queue/iostats` is 0. Source: `/sys/dev/block/*/stat`, `io_ticks`."""
    heaviest_pid: int | None
    """The followed process that asked the device for the most bytes, reads and writes together; it may have ended
    meanwhile. It asked for them in its own system calls or page faults: read, read ahead, written past the page cache,
    or written by its own `fsync`. Later the kernel writes cached data to the device itself, and puts off what a limit
    on I/O of a cgroup (`io.max`) holds back: that names nobody. None when: no followed process asked; a process that
    asked for more is not known, as its events were lost, or more than 4,096 ended since the last snapshot. Source:
    `block_bio_queue` in the process."""
    heaviest_tool: str | None
    """Its tool, or `comm` if there is none: the last program that it executed. None when: `heaviest_pid` is None, or
    neither is known."""
    heaviest_bytes: int | None
    """What it asked for. Not a part of `read_bytes` and `written_bytes`: some of it may be completed after this sample.
    In bytes. None when: `heaviest_pid` is None. Source: `bio->bi_iter`."""
    context: Context | None
    """The context of that process. None when: `heaviest_pid` is None."""
    provenance: Provenance | None
    """How each field of the context is known."""


class ContainerStart(Event):
    """The first process was reported in a container."""

    __slots__ = (
        "time_ns", "pid", "start_ns", "parent_pid", "parent_start_ns", "uid", "pid_namespace", "mount_namespace",
        "comm", "exe", "argv", "argv_cut_bytes", "cwd", "tool", "exec_euid", "cgroup", "cgroup_id", "cgroup_hierarchy",
        "container_id", "context", "provenance", "runtime", "name", "image",
    )
    kind: ClassVar[str] = "container_start"
    time_ns: int
    """When the BPF program ran. In all events of a snapshot: when the snapshot began; in a `gpu_sample`: when the
    driver was asked. In `loss` and `session_end`: when it was reported. In nanoseconds."""
    pid: int
    """Thread group id in the pid namespace of the session. Source: `task->tgid`; in a namespace of its own
    `thread_pid->numbers[]`."""
    start_ns: int
    """When its first thread was created. Together with the host's `boot_id` and `pid`, it is the identity. In
    nanoseconds. Source: `leader->start_boottime`."""
    parent_pid: int | None
    """The parent when tracking began; reparenting does not change it. None when: the start record was lost. Source:
    `leader->real_parent`, its `tgid` and its leader's `start_boottime`; fork or visit."""
    parent_start_ns: int | None
    """The parent when tracking began; reparenting does not change it. In nanoseconds. None when: the start record was
    lost. Source: `leader->real_parent`, its `tgid` and its leader's `start_boottime`; fork or visit."""
    uid: int | None
    """Real user id, in the initial user namespace. None when: the start record was lost and it has executed nothing.
    Source: `task->cred->uid`; fork, exec, visit."""
    pid_namespace: int | None
    """Inode number, as in `/proc/PID/ns/pid`. None when: unknown for the parent. Source:
    `task->thread_pid->numbers[level].ns`; exec, visit, and fork if it is a new one."""
    mount_namespace: int | None
    """Inode number, as in `/proc/PID/ns/mnt`. None when: unknown for the parent. Source: `task->nsproxy->mnt_ns`; at
    the same moments."""
    comm: str | None
    """The kernel's short name, up to 15 bytes, when the program began. None when: unknown for the parent. Source:
    `task->comm`; exec, visit. A later change of the name is not seen."""
    exe: str | None
    """Path of the executable below the process's own root, by the file's name at the exec. For a script: its
    interpreter. None when: the exec was lost; `/proc` could not be read. Source: exec: `mm->exe_file->f_path`, by
    walking directory entries. Lived before: `/proc/PID/exe`. A leading "…" marks a missing beginning: deeper than 40
    names in one mount, 12 mounts, or 3.8 KiB."""
    argv: tuple[str, ...] | None
    """Arguments, secrets masked as `***`. Above 4 KiB: the first 3 KiB and the last 1 KiB; "…" marks the cut. The word
    in which the cut begins and the word in which it ends are shown as one. None when: as `exe`; the memory could not be
    read without waiting. Source: exec: user memory from `mm->arg_start` to `mm->arg_end`. Lived before:
    `/proc/PID/cmdline`."""
    argv_cut_bytes: int | None
    """Number of bytes missing in the middle. In bytes. None when: nothing is missing."""
    cwd: str | None
    """Working folder when the program began, below the process's own root; "…" as for `exe`. None when: as `exe`.
    Source: exec: `task->fs->pwd`. Lived before: `/proc/PID/cwd`."""
    tool: str | None
    """Name by `rules/tools.toml`, such as `samtools sort`; without a rule, the file name. A worker of a pool, such as
    Python's `multiprocessing`, has the name of the process that began the pool. None when: neither `exe` nor `argv` is
    known. Source: `exe`, `argv`, `comm`."""
    exec_euid: int | None
    """Effective user id when the program began, in the initial user namespace: another than `uid` for a setuid program.
    None when: as `exe`; recordings of earlier versions. Source: exec: `task->cred->euid`. Lived before: the owner of
    `/proc/PID/cwd`, which is root for a program that the user may not look into."""
    cgroup: str | None
    """Path within its hierarchy. None when: its path was lost, and it was removed before it could be looked up. Source:
    `kernfs_node` names, or the path given to `cgroup_mkdir`; else the cgroup file system."""
    cgroup_id: int | None
    """The kernel's number, the inode of the folder. None when: never known. Source: `css_set` → `cgroup->kn->id`; fork,
    exec, visit. A move in between shows at the next exec, and in children."""
    cgroup_hierarchy: str | None
    """`v2`, or `memory` or `pids`: the v1 hierarchy of `cgroup`. design.md explains the choice. None when: never
    known."""
    container_id: str | None
    """The 64 hexadecimal digits at the end of a component of the cgroup's path; the innermost such component. None
    when: there is none; the runtime uses short ids. Source: `cgroup`."""
    context: Context | None
    """Where it belongs; None if it belongs to no run."""
    provenance: Provenance | None
    """How each field of the context is known."""
    runtime: str | None
    """`podman`, `docker`, `containerd`, `cri-o`, `kubernetes` (the path does not say which runtime the kubelet uses) or
    `ecs`. None when: no rule fits its path. Source: `cgroup` and `rules/containers.toml`."""
    name: str | None
    """What the runtime calls the container. None when: the files don't have it, can't be read with the rights that the
    session has, lie elsewhere, or did not answer within 5 ms; the runtime keeps names elsewhere. Source: the runtime's
    files, named in `rules/containers.toml`. For cgroups in a user's slice only files of that user are read, for others
    only those of root."""
    image: str | None
    """The name of its image, as the runtime was asked for it: `docker.io/library/bwa:0.7`. None when: likewise. Source:
    likewise."""


class ContainerFinish(Event):
    """A container is gone: its cgroup was removed."""

    __slots__ = (
        "time_ns", "pid", "start_ns", "parent_pid", "parent_start_ns", "uid", "pid_namespace", "mount_namespace",
        "comm", "exe", "argv", "argv_cut_bytes", "cwd", "tool", "exec_euid", "cgroup", "cgroup_id", "cgroup_hierarchy",
        "container_id", "context", "provenance", "runtime", "begin_ns", "end_ns", "processes", "oom_kills",
        "peak_bytes", "name", "image",
    )
    kind: ClassVar[str] = "container_finish"
    time_ns: int
    """When the cgroup was removed. In nanoseconds. Source: `cgroup_rmdir`."""
    pid: int
    """Thread group id in the pid namespace of the session. Source: `task->tgid`; in a namespace of its own
    `thread_pid->numbers[]`."""
    start_ns: int
    """When its first thread was created. Together with the host's `boot_id` and `pid`, it is the identity. In
    nanoseconds. Source: `leader->start_boottime`."""
    parent_pid: int | None
    """The parent when tracking began; reparenting does not change it. None when: the start record was lost. Source:
    `leader->real_parent`, its `tgid` and its leader's `start_boottime`; fork or visit."""
    parent_start_ns: int | None
    """The parent when tracking began; reparenting does not change it. In nanoseconds. None when: the start record was
    lost. Source: `leader->real_parent`, its `tgid` and its leader's `start_boottime`; fork or visit."""
    uid: int | None
    """Real user id, in the initial user namespace. None when: the start record was lost and it has executed nothing.
    Source: `task->cred->uid`; fork, exec, visit."""
    pid_namespace: int | None
    """Inode number, as in `/proc/PID/ns/pid`. None when: unknown for the parent. Source:
    `task->thread_pid->numbers[level].ns`; exec, visit, and fork if it is a new one."""
    mount_namespace: int | None
    """Inode number, as in `/proc/PID/ns/mnt`. None when: unknown for the parent. Source: `task->nsproxy->mnt_ns`; at
    the same moments."""
    comm: str | None
    """The kernel's short name, up to 15 bytes, when the program began. None when: unknown for the parent. Source:
    `task->comm`; exec, visit. A later change of the name is not seen."""
    exe: str | None
    """Path of the executable below the process's own root, by the file's name at the exec. For a script: its
    interpreter. None when: the exec was lost; `/proc` could not be read. Source: exec: `mm->exe_file->f_path`, by
    walking directory entries. Lived before: `/proc/PID/exe`. A leading "…" marks a missing beginning: deeper than 40
    names in one mount, 12 mounts, or 3.8 KiB."""
    argv: tuple[str, ...] | None
    """Arguments, secrets masked as `***`. Above 4 KiB: the first 3 KiB and the last 1 KiB; "…" marks the cut. The word
    in which the cut begins and the word in which it ends are shown as one. None when: as `exe`; the memory could not be
    read without waiting. Source: exec: user memory from `mm->arg_start` to `mm->arg_end`. Lived before:
    `/proc/PID/cmdline`."""
    argv_cut_bytes: int | None
    """Number of bytes missing in the middle. In bytes. None when: nothing is missing."""
    cwd: str | None
    """Working folder when the program began, below the process's own root; "…" as for `exe`. None when: as `exe`.
    Source: exec: `task->fs->pwd`. Lived before: `/proc/PID/cwd`."""
    tool: str | None
    """Name by `rules/tools.toml`, such as `samtools sort`; without a rule, the file name. A worker of a pool, such as
    Python's `multiprocessing`, has the name of the process that began the pool. None when: neither `exe` nor `argv` is
    known. Source: `exe`, `argv`, `comm`."""
    exec_euid: int | None
    """Effective user id when the program began, in the initial user namespace: another than `uid` for a setuid program.
    None when: as `exe`; recordings of earlier versions. Source: exec: `task->cred->euid`. Lived before: the owner of
    `/proc/PID/cwd`, which is root for a program that the user may not look into."""
    cgroup: str | None
    """Path within its hierarchy. None when: its path was lost, and it was removed before it could be looked up. Source:
    `kernfs_node` names, or the path given to `cgroup_mkdir`; else the cgroup file system."""
    cgroup_id: int | None
    """The kernel's number, the inode of the folder. None when: never known. Source: `css_set` → `cgroup->kn->id`; fork,
    exec, visit. A move in between shows at the next exec, and in children."""
    cgroup_hierarchy: str | None
    """`v2`, or `memory` or `pids`: the v1 hierarchy of `cgroup`. design.md explains the choice. None when: never
    known."""
    container_id: str | None
    """The 64 hexadecimal digits at the end of a component of the cgroup's path; the innermost such component. None
    when: there is none; the runtime uses short ids. Source: `cgroup`."""
    context: Context | None
    """Where it belongs; None if it belongs to no run."""
    provenance: Provenance | None
    """How each field of the context is known."""
    runtime: str | None
    """As in `container_start`. None when: likewise."""
    begin_ns: int
    """`time_ns` of its `container_start`. In nanoseconds."""
    end_ns: int | None
    """When its last followed process ended. It may be a little later than `time_ns`: the kernel lets a cgroup go while
    the last process in it is on its way out. The event waits up to a second for that exit. In nanoseconds. None when:
    no followed process ended in it. Source: `process_exit`."""
    processes: int
    """Followed processes that ended in it. Source: counted."""
    oom_kills: int | None
    """The part of them that the kernel killed as memory had run out. None when: it is None for one of them: the family
    `memory` is off, for example. Source: `oom_killed`."""
    peak_bytes: int | None
    """The most memory that was ever charged to its cgroup, with that of all cgroups below it and of processes that are
    not followed: what `memory.peak` (v1: `memory.max_usage_in_bytes`) says at the end. It has page cache and the
    kernel's own memory, too. In bytes. None when: the memory controller does not count that cgroup by itself; processes
    were in several cgroups of the container beside each other, and none above them. Source: `memory.watermark` of the
    memory controller at `cgroup_rmdir`."""
    name: str | None
    """As in `container_start`, or known since. None when: likewise."""
    image: str | None
    """As in `container_start`, or known since. None when: likewise."""


class Finding(Event):
    """Something failed, is slow, stands still or is not normal: a conclusion from other events."""

    __slots__ = (
        "time_ns", "finding_key", "code", "severity", "confidence", "subject", "state", "context", "provenance", "pid",
        "start_ns", "tool", "first_ns", "last_ns", "count", "text", "advice", "evidence",
    )
    kind: ClassVar[str] = "finding"
    time_ns: int
    """When it was reported. In nanoseconds."""
    finding_key: str
    """The same in all reports of a finding; made of its code and subject."""
    code: str
    """`silent_failure`, `oom_kill` …"""
    severity: str
    """`error`, `warning` or `note`."""
    confidence: str
    """`high`, `medium` or `low`."""
    subject: str
    """What it is about: `process`, `task`, `step`, `run` or `host`."""
    state: str
    """`open`, or `closed`: it is over, or will not change anymore."""
    context: Context | None
    """Where the subject belongs."""
    provenance: Provenance | None
    """How each field of the context is known."""
    pid: int | None
    """The process that it is about, or that shows it best. None when: no process stands for it."""
    start_ns: int | None
    """The process that it is about, or that shows it best. In nanoseconds. None when: no process stands for it."""
    tool: str | None
    """The process that it is about, or that shows it best. None when: no process stands for it."""
    first_ns: int
    """Since when it holds, and until when it was seen. In nanoseconds."""
    last_ns: int
    """Since when it holds, and until when it was seen. In nanoseconds."""
    count: int
    """How often it happened."""
    text: str
    """One sentence: the subject, and what happened."""
    advice: str
    """What to try; empty if there is nothing sensible."""
    evidence: tuple[Evidence, ...]
    """A list of the figures and texts that it rests on."""


class SyscallUse(Event):
    """The calls of one system call by one process, reported when the process ends, or with the session."""

    __slots__ = (
        "time_ns", "pid", "start_ns", "parent_pid", "parent_start_ns", "uid", "pid_namespace", "mount_namespace",
        "comm", "exe", "argv", "argv_cut_bytes", "cwd", "tool", "exec_euid", "cgroup", "cgroup_id", "cgroup_hierarchy",
        "container_id", "context", "provenance", "number", "name", "calls", "failed", "duration_ns", "error",
    )
    kind: ClassVar[str] = "syscall_use"
    time_ns: int
    """When the BPF program ran. In all events of a snapshot: when the snapshot began; in a `gpu_sample`: when the
    driver was asked. In `loss` and `session_end`: when it was reported. In nanoseconds."""
    pid: int
    """Thread group id in the pid namespace of the session. Source: `task->tgid`; in a namespace of its own
    `thread_pid->numbers[]`."""
    start_ns: int
    """When its first thread was created. Together with the host's `boot_id` and `pid`, it is the identity. In
    nanoseconds. Source: `leader->start_boottime`."""
    parent_pid: int | None
    """The parent when tracking began; reparenting does not change it. None when: the start record was lost. Source:
    `leader->real_parent`, its `tgid` and its leader's `start_boottime`; fork or visit."""
    parent_start_ns: int | None
    """The parent when tracking began; reparenting does not change it. In nanoseconds. None when: the start record was
    lost. Source: `leader->real_parent`, its `tgid` and its leader's `start_boottime`; fork or visit."""
    uid: int | None
    """Real user id, in the initial user namespace. None when: the start record was lost and it has executed nothing.
    Source: `task->cred->uid`; fork, exec, visit."""
    pid_namespace: int | None
    """Inode number, as in `/proc/PID/ns/pid`. None when: unknown for the parent. Source:
    `task->thread_pid->numbers[level].ns`; exec, visit, and fork if it is a new one."""
    mount_namespace: int | None
    """Inode number, as in `/proc/PID/ns/mnt`. None when: unknown for the parent. Source: `task->nsproxy->mnt_ns`; at
    the same moments."""
    comm: str | None
    """The kernel's short name, up to 15 bytes, when the program began. None when: unknown for the parent. Source:
    `task->comm`; exec, visit. A later change of the name is not seen."""
    exe: str | None
    """Path of the executable below the process's own root, by the file's name at the exec. For a script: its
    interpreter. None when: the exec was lost; `/proc` could not be read. Source: exec: `mm->exe_file->f_path`, by
    walking directory entries. Lived before: `/proc/PID/exe`. A leading "…" marks a missing beginning: deeper than 40
    names in one mount, 12 mounts, or 3.8 KiB."""
    argv: tuple[str, ...] | None
    """Arguments, secrets masked as `***`. Above 4 KiB: the first 3 KiB and the last 1 KiB; "…" marks the cut. The word
    in which the cut begins and the word in which it ends are shown as one. None when: as `exe`; the memory could not be
    read without waiting. Source: exec: user memory from `mm->arg_start` to `mm->arg_end`. Lived before:
    `/proc/PID/cmdline`."""
    argv_cut_bytes: int | None
    """Number of bytes missing in the middle. In bytes. None when: nothing is missing."""
    cwd: str | None
    """Working folder when the program began, below the process's own root; "…" as for `exe`. None when: as `exe`.
    Source: exec: `task->fs->pwd`. Lived before: `/proc/PID/cwd`."""
    tool: str | None
    """Name by `rules/tools.toml`, such as `samtools sort`; without a rule, the file name. A worker of a pool, such as
    Python's `multiprocessing`, has the name of the process that began the pool. None when: neither `exe` nor `argv` is
    known. Source: `exe`, `argv`, `comm`."""
    exec_euid: int | None
    """Effective user id when the program began, in the initial user namespace: another than `uid` for a setuid program.
    None when: as `exe`; recordings of earlier versions. Source: exec: `task->cred->euid`. Lived before: the owner of
    `/proc/PID/cwd`, which is root for a program that the user may not look into."""
    cgroup: str | None
    """Path within its hierarchy. None when: its path was lost, and it was removed before it could be looked up. Source:
    `kernfs_node` names, or the path given to `cgroup_mkdir`; else the cgroup file system."""
    cgroup_id: int | None
    """The kernel's number, the inode of the folder. None when: never known. Source: `css_set` → `cgroup->kn->id`; fork,
    exec, visit. A move in between shows at the next exec, and in children."""
    cgroup_hierarchy: str | None
    """`v2`, or `memory` or `pids`: the v1 hierarchy of `cgroup`. design.md explains the choice. None when: never
    known."""
    container_id: str | None
    """The 64 hexadecimal digits at the end of a component of the cgroup's path; the innermost such component. None
    when: there is none; the runtime uses short ids. Source: `cgroup`."""
    context: Context | None
    """Where it belongs; None if it belongs to no run."""
    provenance: Provenance | None
    """How each field of the context is known."""
    number: int
    """The number of the call, on this machine's architecture. Source: `sys_enter`."""
    name: str | None
    """`openat`, `read` … None when: this version does not know the number. Source: a table by architecture."""
    calls: int
    """Calls that returned. Those that don't return, such as `exit_group`, are not counted. Source: `sys_exit`."""
    failed: int
    """The part of them that returned an error. Source: the value that `sys_exit` reports: -4095 to -1."""
    duration_ns: int
    """From entry to return, with all waits, summed over threads. In nanoseconds. Source: the clock at both
    tracepoints."""
    error: int | None
    """The errno of the last that failed. None when: none failed. Source: `sys_exit`."""


class GpuSample(Event):
    """What a followed process held of a GPU when the driver was asked last, and how long it kept the GPU busy since the sample before."""

    __slots__ = (
        "time_ns", "pid", "start_ns", "parent_pid", "parent_start_ns", "uid", "pid_namespace", "mount_namespace",
        "comm", "exe", "argv", "argv_cut_bytes", "cwd", "tool", "exec_euid", "cgroup", "cgroup_id", "cgroup_hierarchy",
        "container_id", "context", "provenance", "since_ns", "gpu", "gpu_name", "gpu_uuid", "memory_bytes", "busy_ns",
        "gpu_busy_ns", "gpu_memory_bytes", "gpu_capacity_bytes",
    )
    kind: ClassVar[str] = "gpu_sample"
    time_ns: int
    """When the driver was asked, up to about a second before the snapshot. In nanoseconds. Source: boot clock."""
    pid: int
    """Thread group id in the pid namespace of the session. Source: `task->tgid`; in a namespace of its own
    `thread_pid->numbers[]`."""
    start_ns: int
    """When its first thread was created. Together with the host's `boot_id` and `pid`, it is the identity. In
    nanoseconds. Source: `leader->start_boottime`."""
    parent_pid: int | None
    """The parent when tracking began; reparenting does not change it. None when: the start record was lost. Source:
    `leader->real_parent`, its `tgid` and its leader's `start_boottime`; fork or visit."""
    parent_start_ns: int | None
    """The parent when tracking began; reparenting does not change it. In nanoseconds. None when: the start record was
    lost. Source: `leader->real_parent`, its `tgid` and its leader's `start_boottime`; fork or visit."""
    uid: int | None
    """Real user id, in the initial user namespace. None when: the start record was lost and it has executed nothing.
    Source: `task->cred->uid`; fork, exec, visit."""
    pid_namespace: int | None
    """Inode number, as in `/proc/PID/ns/pid`. None when: unknown for the parent. Source:
    `task->thread_pid->numbers[level].ns`; exec, visit, and fork if it is a new one."""
    mount_namespace: int | None
    """Inode number, as in `/proc/PID/ns/mnt`. None when: unknown for the parent. Source: `task->nsproxy->mnt_ns`; at
    the same moments."""
    comm: str | None
    """The kernel's short name, up to 15 bytes, when the program began. None when: unknown for the parent. Source:
    `task->comm`; exec, visit. A later change of the name is not seen."""
    exe: str | None
    """Path of the executable below the process's own root, by the file's name at the exec. For a script: its
    interpreter. None when: the exec was lost; `/proc` could not be read. Source: exec: `mm->exe_file->f_path`, by
    walking directory entries. Lived before: `/proc/PID/exe`. A leading "…" marks a missing beginning: deeper than 40
    names in one mount, 12 mounts, or 3.8 KiB."""
    argv: tuple[str, ...] | None
    """Arguments, secrets masked as `***`. Above 4 KiB: the first 3 KiB and the last 1 KiB; "…" marks the cut. The word
    in which the cut begins and the word in which it ends are shown as one. None when: as `exe`; the memory could not be
    read without waiting. Source: exec: user memory from `mm->arg_start` to `mm->arg_end`. Lived before:
    `/proc/PID/cmdline`."""
    argv_cut_bytes: int | None
    """Number of bytes missing in the middle. In bytes. None when: nothing is missing."""
    cwd: str | None
    """Working folder when the program began, below the process's own root; "…" as for `exe`. None when: as `exe`.
    Source: exec: `task->fs->pwd`. Lived before: `/proc/PID/cwd`."""
    tool: str | None
    """Name by `rules/tools.toml`, such as `samtools sort`; without a rule, the file name. A worker of a pool, such as
    Python's `multiprocessing`, has the name of the process that began the pool. None when: neither `exe` nor `argv` is
    known. Source: `exe`, `argv`, `comm`."""
    exec_euid: int | None
    """Effective user id when the program began, in the initial user namespace: another than `uid` for a setuid program.
    None when: as `exe`; recordings of earlier versions. Source: exec: `task->cred->euid`. Lived before: the owner of
    `/proc/PID/cwd`, which is root for a program that the user may not look into."""
    cgroup: str | None
    """Path within its hierarchy. None when: its path was lost, and it was removed before it could be looked up. Source:
    `kernfs_node` names, or the path given to `cgroup_mkdir`; else the cgroup file system."""
    cgroup_id: int | None
    """The kernel's number, the inode of the folder. None when: never known. Source: `css_set` → `cgroup->kn->id`; fork,
    exec, visit. A move in between shows at the next exec, and in children."""
    cgroup_hierarchy: str | None
    """`v2`, or `memory` or `pids`: the v1 hierarchy of `cgroup`. design.md explains the choice. None when: never
    known."""
    container_id: str | None
    """The 64 hexadecimal digits at the end of a component of the cgroup's path; the innermost such component. None
    when: there is none; the runtime uses short ids. Source: `cgroup`."""
    context: Context | None
    """Where it belongs; None if it belongs to no run."""
    provenance: Provenance | None
    """How each field of the context is known."""
    since_ns: int | None
    """When `busy_ns` and `gpu_busy_ns` begin: the `time_ns` of its sample before. In nanoseconds. None when: its first
    sample on this GPU; `tracer-gpu` was started again."""
    gpu: str
    """NVML: `nvidia` and the minor number, as in `/dev/nvidia0`. DRM: `card0`, as in `/sys/class/drm`. Source:
    `nvmlDeviceGetMinorNumber`; `drm-pdev`."""
    gpu_name: str | None
    """NVML: the product's name. DRM: the driver's name, such as `amdgpu`. None when: NVML does not know it. Source:
    `nvmlDeviceGetName`; `drm-driver`."""
    gpu_uuid: str | None
    """The GPU's identity. None when: DRM. Source: `nvmlDeviceGetUUID`."""
    memory_bytes: int | None
    """Memory of the GPU that the process holds. For a GPU without memory of its own, memory of the host that its
    buffers take, which the process's resident memory may include. In bytes. None when: the driver does not report it;
    it is more than the GPU has (counted as lost). Source: `nvmlDeviceGetComputeRunningProcesses`,
    `…GraphicsRunningProcesses`; `drm-resident-*` or `drm-memory-*`, else `drm-total-*`, of regions `vram*` and `local*`
    if there are any."""
    busy_ns: int | None
    """NVML: in each second, the driver's percentage of this process in its last sample period (1/6 s to 1 s), times
    that second. It is an estimate, in steps of 1 %. DRM: how long its busiest kind of engine worked for it; if there
    are several engines of a kind, their mean. In nanoseconds. None when: `since_ns` is None; the driver does not report
    it by process; it is more than the time that passed (counted as lost). Source: `nvmlDeviceGetProcessUtilization`,
    `smUtil`; `drm-engine-*`, or `drm-cycles-*` over `drm-total-cycles-*`."""
    gpu_busy_ns: int | None
    """NVML: likewise, the percentage of time in which the GPU worked for anybody. DRM: not known. In nanoseconds. None
    when: `since_ns` is None; DRM. Source: `nvmlDeviceGetUtilizationRates`."""
    gpu_memory_bytes: int | None
    """Memory of the GPU that is in use, by anybody and by the driver. In bytes. None when: the driver does not report
    it. Source: `nvmlDeviceGetMemoryInfo`; `mem_info_vram_used` of `amdgpu`."""
    gpu_capacity_bytes: int | None
    """Memory of the GPU. In bytes. None when: likewise. Source: likewise; `mem_info_vram_total`."""


class GpuUse(Event):
    """What a process asked of a GPU's driver: memory, and to wait for the GPU."""

    __slots__ = (
        "time_ns", "pid", "start_ns", "parent_pid", "parent_start_ns", "uid", "pid_namespace", "mount_namespace",
        "comm", "exe", "argv", "argv_cut_bytes", "cwd", "tool", "exec_euid", "cgroup", "cgroup_id", "cgroup_hierarchy",
        "container_id", "context", "provenance", "interface", "library", "allocations", "allocated_bytes",
        "failed_allocations", "frees", "waits", "wait_ns", "context_switches",
    )
    kind: ClassVar[str] = "gpu_use"
    time_ns: int
    """When its last thread began to end; at a snapshot, and at the end of the session: when the sums were read. In
    nanoseconds. Source: boot clock."""
    pid: int
    """Thread group id in the pid namespace of the session. Source: `task->tgid`; in a namespace of its own
    `thread_pid->numbers[]`."""
    start_ns: int
    """When its first thread was created. Together with the host's `boot_id` and `pid`, it is the identity. In
    nanoseconds. Source: `leader->start_boottime`."""
    parent_pid: int | None
    """The parent when tracking began; reparenting does not change it. None when: the start record was lost. Source:
    `leader->real_parent`, its `tgid` and its leader's `start_boottime`; fork or visit."""
    parent_start_ns: int | None
    """The parent when tracking began; reparenting does not change it. In nanoseconds. None when: the start record was
    lost. Source: `leader->real_parent`, its `tgid` and its leader's `start_boottime`; fork or visit."""
    uid: int | None
    """Real user id, in the initial user namespace. None when: the start record was lost and it has executed nothing.
    Source: `task->cred->uid`; fork, exec, visit."""
    pid_namespace: int | None
    """Inode number, as in `/proc/PID/ns/pid`. None when: unknown for the parent. Source:
    `task->thread_pid->numbers[level].ns`; exec, visit, and fork if it is a new one."""
    mount_namespace: int | None
    """Inode number, as in `/proc/PID/ns/mnt`. None when: unknown for the parent. Source: `task->nsproxy->mnt_ns`; at
    the same moments."""
    comm: str | None
    """The kernel's short name, up to 15 bytes, when the program began. None when: unknown for the parent. Source:
    `task->comm`; exec, visit. A later change of the name is not seen."""
    exe: str | None
    """Path of the executable below the process's own root, by the file's name at the exec. For a script: its
    interpreter. None when: the exec was lost; `/proc` could not be read. Source: exec: `mm->exe_file->f_path`, by
    walking directory entries. Lived before: `/proc/PID/exe`. A leading "…" marks a missing beginning: deeper than 40
    names in one mount, 12 mounts, or 3.8 KiB."""
    argv: tuple[str, ...] | None
    """Arguments, secrets masked as `***`. Above 4 KiB: the first 3 KiB and the last 1 KiB; "…" marks the cut. The word
    in which the cut begins and the word in which it ends are shown as one. None when: as `exe`; the memory could not be
    read without waiting. Source: exec: user memory from `mm->arg_start` to `mm->arg_end`. Lived before:
    `/proc/PID/cmdline`."""
    argv_cut_bytes: int | None
    """Number of bytes missing in the middle. In bytes. None when: nothing is missing."""
    cwd: str | None
    """Working folder when the program began, below the process's own root; "…" as for `exe`. None when: as `exe`.
    Source: exec: `task->fs->pwd`. Lived before: `/proc/PID/cwd`."""
    tool: str | None
    """Name by `rules/tools.toml`, such as `samtools sort`; without a rule, the file name. A worker of a pool, such as
    Python's `multiprocessing`, has the name of the process that began the pool. None when: neither `exe` nor `argv` is
    known. Source: `exe`, `argv`, `comm`."""
    exec_euid: int | None
    """Effective user id when the program began, in the initial user namespace: another than `uid` for a setuid program.
    None when: as `exe`; recordings of earlier versions. Source: exec: `task->cred->euid`. Lived before: the owner of
    `/proc/PID/cwd`, which is root for a program that the user may not look into."""
    cgroup: str | None
    """Path within its hierarchy. None when: its path was lost, and it was removed before it could be looked up. Source:
    `kernfs_node` names, or the path given to `cgroup_mkdir`; else the cgroup file system."""
    cgroup_id: int | None
    """The kernel's number, the inode of the folder. None when: never known. Source: `css_set` → `cgroup->kn->id`; fork,
    exec, visit. A move in between shows at the next exec, and in children."""
    cgroup_hierarchy: str | None
    """`v2`, or `memory` or `pids`: the v1 hierarchy of `cgroup`. design.md explains the choice. None when: never
    known."""
    container_id: str | None
    """The 64 hexadecimal digits at the end of a component of the cgroup's path; the innermost such component. None
    when: there is none; the runtime uses short ids. Source: `cgroup`."""
    context: Context | None
    """Where it belongs; None if it belongs to no run."""
    provenance: Provenance | None
    """How each field of the context is known."""
    interface: str
    """`cuda` or `hip`. Source: `rules/gpu_libraries.toml`."""
    library: str
    """Path of the library, when it was found on the host, with links resolved. Source: the file's own path."""
    allocations: int
    """Calls that got memory of the GPU, or memory that GPU and host share. Source: calls that returned 0."""
    allocated_bytes: int
    """What these calls asked for, without what the driver added. Memory that was freed meanwhile is in it: it is no
    peak. A size that is not true, as the program can pass anything, counts as it is. In bytes. Source: the call's
    arguments."""
    failed_allocations: int
    """Calls that got none, as when the GPU's memory has run out. Source: calls that did not return 0."""
    frees: int
    """Calls that gave memory back. Those of a None pointer, which do nothing, don't count. Source: calls that returned
    0."""
    waits: int
    """Calls of functions that return when the GPU has done what it was asked for: of a context, device, stream or
    event, and copies from the GPU. Also those that returned an error. Those under way count: at a snapshot, and when
    the end of the thread cuts them short."""
    wait_ns: int
    """How long these calls took, summed over threads; up to now for those under way. A thread that spins in the call
    waits, too: the ledger has that as CPU time. In nanoseconds. Source: from call to return, by the boot clock."""
    context_switches: int
    """Calls that made another context, or device, the thread's own; also if it was that before. Source: calls that
    returned 0."""


class HostSample(Event):
    """What the host as a whole used since the last such event, and which part of it belonged to runs and tasks."""

    __slots__ = (
        "time_ns", "since_ns", "cpus", "task_cpu_ns", "system_cpu_ns", "idle_cpu_ns", "steal_cpu_ns", "memory_bytes",
        "task_memory_bytes", "system_memory_bytes", "available_memory_bytes", "tasks", "network_bytes", "storage_bytes",
        "provider", "instance_type", "instance_id",
    )
    kind: ClassVar[str] = "host_sample"
    time_ns: int
    """When the kernel's files were read, right before the snapshot. In nanoseconds. Source: boot clock."""
    since_ns: int
    """`time_ns` of the one before. In nanoseconds. Source: boot clock."""
    cpus: int
    """That are online. Source: `/proc/stat`."""
    task_cpu_ns: int | None
    """CPU time of followed processes in runs and tasks, engines included: of those that live at the snapshot, and those
    that ended since. In nanoseconds. None when: of one of them it is not known; one was not in the snapshot before,
    though it lived. Source: `cpu_ns`."""
    system_cpu_ns: int | None
    """CPU time of all others, excluded processes, the kernel's threads and interrupts: used by anybody, without
    `task_cpu_ns`. In nanoseconds. None when: `task_cpu_ns` is None, or the kernel's count fell. Source: `/proc/stat`:
    user, nice, system, irq, softirq."""
    idle_cpu_ns: int | None
    """CPU time of nobody, waits for disks included. In nanoseconds. None when: the kernel's count fell. Source:
    `/proc/stat`: idle, iowait."""
    steal_cpu_ns: int | None
    """CPU time that the hypervisor held back: neither used nor idle. In nanoseconds. None when: the kernel's count
    fell. Source: `/proc/stat`: steal."""
    memory_bytes: int | None
    """Memory of the host. In bytes. None when: it can't be read. Source: `/proc/meminfo`: MemTotal."""
    task_memory_bytes: int | None
    """Held by processes of runs and tasks at the snapshot, common pages once, as task memory. Pages of files are in it,
    which may be available as well. In bytes. None when: of one of them it is not known. Source: snapshot."""
    system_memory_bytes: int | None
    """Neither available, nor anonymous or shared memory of runs and tasks. In bytes. None when: one of the above is
    None."""
    available_memory_bytes: int | None
    """What the kernel could give without swapping, caches of files included. In bytes. None when: it can't be read.
    Source: MemAvailable."""
    tasks: int
    """Runs and tasks in which a process lives."""
    network_bytes: int | None
    """Received and sent through network devices; if there are none, through all interfaces but loopback. In bytes. None
    when: the kernel's count fell, as when an interface is gone. Source: `/proc/net/dev`, `/sys/class/net/*/device`."""
    storage_bytes: int | None
    """Read from and written to disks, partitions counted as their disk; not LVM, RAID, loop devices and `zram`, which
    hand on what they are asked for. In bytes. None when: likewise. Source: `/proc/diskstats`, `/sys/block/*/device`."""
    provider: str | None
    """`aws`, `gcp` or `azure`, by `rules/hosts.toml`. None when: the firmware says nothing of that, as in many
    containers. Source: `/sys/class/dmi/id/`."""
    instance_type: str | None
    """Such as `m6i.4xlarge` and `i-0b68…`. None when: the firmware does not say it: on AWS, machines with Nitro do.
    Source: likewise."""
    instance_id: str | None
    """Such as `m6i.4xlarge` and `i-0b68…`. None when: the firmware does not say it: on AWS, machines with Nitro do.
    Source: likewise."""


class TaskSubmit(Event):
    """A task that waits for its turn, or a run, and what becomes of it."""

    __slots__ = (
        "time_ns", "context", "provenance", "state", "submitted_ns", "outcome", "exit_code", "requested", "expected",
    )
    kind: ClassVar[str] = "task_submit"
    time_ns: int
    """When the BPF program ran. In all events of a snapshot: when the snapshot began; in a `gpu_sample`: when the
    driver was asked. In `loss` and `session_end`: when it was reported. In nanoseconds."""
    context: Context | None
    """Of the task or run, with its keys."""
    provenance: Provenance | None
    """How each field of the context is known."""
    state: str
    """"submitted"; "started": a process of it has begun here; "started_elsewhere": it was announced again, as it began,
    10 s ago, and no process here belongs to it; "ended_elsewhere": it ran, but not here; "withdrawn": it is over, or
    never ran; "expired": it waited longer than its submission holds."""
    submitted_ns: int
    """When it was submitted first. In nanoseconds."""
    outcome: str | None
    """With "ended_elsewhere" and "withdrawn": "succeeded", "failed", "cached", "aborted" or "unknown". None when:
    otherwise."""
    exit_code: int | None
    """By the engine's word. None when: the engine did not say."""
    requested: Requested
    """What was asked for, as in runs and tasks."""
    expected: tuple[ExpectedTasks, ...]
    """Of a run: how many tasks each step will have: a list of objects with `step` and `tasks`."""


EVENT_TYPES: dict[str, type[Event]] = {
    "process_exit": ProcessExit,
    "process_exec": ProcessExec,
    "process_start": ProcessStart,
    "process_sample": ProcessSample,
    "tool_sample": ToolSample,
    "cgroup_sample": CgroupSample,
    "snapshot_end": SnapshotEnd,
    "loss": Loss,
    "session_end": SessionEnd,
    "task_start": TaskStart,
    "task_finish": TaskFinish,
    "run_start": RunStart,
    "run_finish": RunFinish,
    "context_change": ContextChange,
    "own_work": OwnWork,
    "oom_kill": OomKill,
    "file_use": FileUse,
    "connection": Connection,
    "device_sample": DeviceSample,
    "container_start": ContainerStart,
    "container_finish": ContainerFinish,
    "finding": Finding,
    "syscall_use": SyscallUse,
    "gpu_sample": GpuSample,
    "gpu_use": GpuUse,
    "host_sample": HostSample,
    "task_submit": TaskSubmit,
}
"""The class of each kind of events."""

EVENT_KINDS: tuple[str, ...] = tuple(EVENT_TYPES)
"""The names for `kinds`."""

__all__ = [
    "Event", "Fact", "EVENT_KINDS", "EVENT_TYPES",
    "Label",
    "Overruled",
    "Provenance",
    "Context",
    "Requested",
    "FailedProcess",
    "AwaitedTask",
    "ExpectedTasks",
    "Ledger",
    "ProcessLedger",
    "TaskLedger",
    "ProgramAccount",
    "Progress",
    "KindCount",
    "Evidence",
    "Host",
    "ContextTotals",
    "ProcessExit",
    "ProcessExec",
    "ProcessStart",
    "ProcessSample",
    "ToolSample",
    "CgroupSample",
    "SnapshotEnd",
    "Loss",
    "SessionEnd",
    "TaskStart",
    "TaskFinish",
    "RunStart",
    "RunFinish",
    "ContextChange",
    "OwnWork",
    "OomKill",
    "FileUse",
    "Connection",
    "DeviceSample",
    "ContainerStart",
    "ContainerFinish",
    "Finding",
    "SyscallUse",
    "GpuSample",
    "GpuUse",
    "HostSample",
    "TaskSubmit",
]

for _type in (
    Label,
    Overruled,
    Provenance,
    Context,
    Requested,
    FailedProcess,
    AwaitedTask,
    ExpectedTasks,
    Ledger,
    ProcessLedger,
    TaskLedger,
    ProgramAccount,
    Progress,
    KindCount,
    Evidence,
    Host,
    ContextTotals,
    ProcessExit,
    ProcessExec,
    ProcessStart,
    ProcessSample,
    ToolSample,
    CgroupSample,
    SnapshotEnd,
    Loss,
    SessionEnd,
    TaskStart,
    TaskFinish,
    RunStart,
    RunFinish,
    ContextChange,
    OwnWork,
    OomKill,
    FileUse,
    Connection,
    DeviceSample,
    ContainerStart,
    ContainerFinish,
    Finding,
    SyscallUse,
    GpuSample,
    GpuUse,
    HostSample,
    TaskSubmit,
):
    register(_type)
