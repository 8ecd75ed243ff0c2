# SPDX-License-Identifier: Apache-2.0
# Written by scripts/python_events from lib/report/report_parts.hpp: change that.
"""The parts of a report besides its rows. Times are nanoseconds of the boot clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ._events import Context
from ._figure import Figure
from ._state import Damage


@dataclass(frozen=True, slots=True)
class TimeShare:
    """The part of the lives of all processes that went to one cause."""

    cause: str
    """"CPU", "run queue", "CPU limit", "disk", "pipe", "network", "local socket", "lock", "child", "sleep", "events",
    "memory", "stopped", "other", or, of runs, steps and tasks, "CPU or wait": time in which something of it ran, or all
    waited; the bounds of `computing_ns` are so far apart, and "CPU" is what is certain."""
    time_ns: int
    """Spent by all of its processes, added up."""
    share: float
    """Of their lives, 0 to 1; with `task_ledger`, of the wall time."""


@dataclass(frozen=True, slots=True)
class PathTask:
    """A task on the critical path of its run."""

    task_key: str
    """The task's key."""
    name: str
    """For people: "align (S1)"; "?": it has none."""
    begin_ns: int
    """When it began."""
    end_ns: int | None
    """When it ended. None: it has not ended."""
    last_ns: int | None
    """The time of the last event. None: it has ended."""


@dataclass(frozen=True, slots=True)
class CriticalPathFigures:
    """The tasks that a run could not have been shorter than: each read a file that the one before it had written, and
    began when that had ended."""

    basis: str
    """"files": by the files that tasks passed on; or "longest task": which task needed which is not known, and the
    longest one stands for all."""
    length_ns_at_least: int
    """What its tasks took in all. What tasks pass on in other ways is not seen."""
    length_ns_at_most: int
    """The longest chain of tasks that did not overlap, whatever they needed."""
    tasks: tuple[PathTask, ...]
    """In their order."""


@dataclass(frozen=True, slots=True)
class MissingFamily:
    """A requested family that the kernel does not provide, wholly or in part."""

    family: str
    """Its name, such as "waits": see `tracerd check`."""
    active: bool
    """Part of it is there."""
    code: str | None
    """Such as "TRC104"; docs/errors.md explains each. None: not known."""
    what: str | None
    """What is wrong. None: not known."""
    fix: str | None
    """What helps. None: not known."""


@dataclass(frozen=True, slots=True)
class CertificateFigures:
    """How complete a report is: what is there, what is missing, and what is still right."""

    tier: str
    """"kernel" or "proc": of a session on this host, by the kernel's reports or by polling. "service": of a session
    whose events came from a running `tracerd serve`; `ended` counts the processes that the session followed, and the
    line `total` is made of events, as no kernel could be asked. "recording": of a recording, or another source of
    events."""
    complete: bool
    """Each process that ended was seen, and nothing was lost or damaged."""
    exits_seen: int
    """Ends of processes in the events."""
    ended: int | None
    """Processes that ended, by the count of the kernel. None: a recording has no end, or events of a service are
    missing (`service_gap`, or events that it or its client dropped)."""
    losses: Mapping[str, int]
    """What was lost, by cause; docs/losses.md explains each."""
    damage: Damage
    """What of the recording could not be read."""
    rows_are_whole: bool
    """Nothing is missing that rows add up: they are whole where their bounds say so. If false, all sums in rows are
    lower bounds."""
    total_is_whole: bool
    """The same of the total, which the kernel of a session added up beside the events that were lost."""
    missed_at_most: int | None
    """At most so many processes lived too shortly to be seen, by the kernel's count of forks: see docs/tiers.md. If it
    is there, `complete` is false and sums are lower bounds. None: processes were not polled."""
    attached: int
    """Processes that lived before the session: their figures begin when they were attached."""
    cpu_before_ns: int
    """CPU time that these had used until then."""
    handed_over: Mapping[str, int]
    """Calls that handed work to daemons that were not followed, by daemon: what these ran is in no figure
    (`rules/daemons.toml`)."""
    missing: tuple[MissingFamily, ...]
    """Families that were asked for, but are not there, or not all of them."""


@dataclass(frozen=True, slots=True)
class FailureFigures:
    """Processes of one tool that failed in the same way, in which the failures began. Parents that ended with the same
    status passed them on and are not failures of their own."""

    tool: str | None
    """What the first of them runs, like exe and argv. Secrets are masked."""
    exe: str | None
    """None: not known, like the others."""
    argv: tuple[str, ...] | None
    """All words."""
    pid: int
    """With start_ns: its identity."""
    start_ns: int
    """When it started."""
    context: Context | None
    """Where it belongs."""
    exit_code: int | None
    """Its status. None: it ended by a signal."""
    exit_signal: int | None
    """The signal. None: it did not end by a signal."""
    core_dumped: bool
    """A core was dumped."""
    exit_signal_sender: str | None
    """Who sent the signal, as in `process_exit`. None: not known."""
    oom_killed: bool | None
    """The kernel killed it because memory had run out. None: unknown, as in `process_exit`."""
    sent_by: str | None
    """The tool that sent the signal. None: the kernel sent it, or not known."""
    count: int
    """How many failed so."""
    passed_on: int
    """The part of `count` where all of what is known above ended with it."""
    ignored: int
    """The part of `count` where a parent, or one above, went on or ended otherwise."""
    passed_on_by: tuple[str, ...]
    """Tools that passed on the first, from its parent on up, at most 8. Empty: none, or not known."""
    ignored_by: str | None
    """The tool that ignored the first. None: nobody, or not known."""


@dataclass(frozen=True, slots=True)
class Excused:
    """How many ends by a signal, or with a status other than 0, are no failures."""

    reader_had_enough: int
    """Processes that wrote to a pipe or socket that nobody read any more."""
    ended_by_starter: int
    """Processes that one above them ended by a signal, such as the workers of a pool."""


@dataclass(frozen=True, slots=True)
class Survivor:
    """A process that has not ended, as its last sample saw it."""

    tool: str | None
    """What it runs, like exe and argv. Secrets are masked."""
    exe: str | None
    """None: not known, like the others."""
    argv: tuple[str, ...] | None
    """All words."""
    pid: int
    """With start_ns: its identity."""
    start_ns: int
    """When it started."""
    context: Context | None
    """Where it belongs."""
    begin_ns: int
    """When it began, as in `process_exit`: `start_ns`, or the exec of a command that was held until then."""
    time_ns: int
    """When it was sampled."""
    cpu_ns: int | None
    """CPU time until then. None: not known."""
    read_bytes: Figure | None
    """Until then. It may be a bound. None: not known."""
    written_bytes: Figure | None
    """Until then. It may be a bound. None: not known."""


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Programs that pass data on through pipes, and which of them the others wait for."""

    stages: tuple[str, ...]
    """Tools, from the first writer on."""
    bottleneck: str | None
    """The stage that itself waits least for pipes. None: none stands out."""
    bottleneck_share: float | None
    """The part of its processes' lives that it waits for pipes, 0 to 1. None: without `bottleneck`."""
    others_share: float | None
    """The same of the other stages, all together. None: without `bottleneck`."""
    waited_ns: int
    """For pipes, by all stages."""


@dataclass(frozen=True, slots=True)
class CgroupMemory:
    """The most that was charged to a cgroup, and how much of it its processes explain."""

    path: str | None
    """Its path. None: not known."""
    peak_bytes: Figure
    """The kernel's own mark, if it rose during the session; else the most of all snapshots."""
    followed_wholly: bool
    """At each snapshot all processes in it were followed."""
    highest_ns: int
    """The snapshot with the most memory; the following are of that time."""
    memory_bytes: int | None
    """Charged to it. None: not known."""
    held_bytes: int | None
    """Its processes hold together. None: not known."""
    file_bytes: int | None
    """Page cache, which can be dropped. None: not known."""
    shmem_bytes: int | None
    """Shared memory, and files on tmpfs. None: not known."""
    kernel_bytes: int | None
    """Memory of the kernel. None: not known."""
    unexplained_bytes: int | None
    """What none of these explains. None: not known."""


@dataclass(frozen=True, slots=True)
class BusyFile:
    """A file among those that were read or written most, by all processes together."""

    path: str
    """Its path."""
    read_by: str | None
    """The tool that read most of it. None: nobody is known to have."""
    written_by: str | None
    """The tool that wrote most of it. None: nobody is known to have."""
    opens: int
    """Opens, by all processes."""
    read_bytes: Figure
    """Sum over `file_use`."""
    written_bytes: Figure
    """Sum over `file_use`."""


@dataclass(frozen=True, slots=True)
class BusyFileSystem:
    """All files on file systems of one kind."""

    filesystem: str
    """Such as `ext4`, `nfs4` or `overlay`, as in `file_use`."""
    read_bytes: Figure
    """Sum over `file_use`."""
    written_bytes: Figure
    """Sum over `file_use`."""


@dataclass(frozen=True, slots=True)
class BusyPeer:
    """Another machine that a tool exchanged data with, or failed to."""

    tool: str
    """The tool; `others` are peers beyond those that are told apart."""
    protocol: str
    """`tcp` or `udp`."""
    role: str | None
    """As in `connection`. None: not known."""
    address: str | None
    """As in `connection`. None: not known."""
    port: int | None
    """The peer's, or a server's own. None: not known."""
    sent_bytes: int
    """Sum over its connections."""
    received_bytes: int
    """Sum over its connections."""
    failed_connects: int
    """Connects that failed."""
    error: int | None
    """The errno of the last that failed. None: none failed."""


@dataclass(frozen=True, slots=True)
class BusyDevice:
    """A block device, over all snapshots."""

    name: str
    """Such as `vda`."""
    read_bytes: int
    """For the whole host."""
    written_bytes: int
    """For the whole host."""
    span_ns: int
    """The time that all snapshots cover."""
    busy_ns: int | None
    """With a request in flight. None: the kernel does not count it."""
    tool: str | None
    """The tool, with its task, that asked for most. None: no followed process asked for anything."""
    task: str | None
    """The task of the tool. None: no followed process asked for anything, or none is known."""
    tool_bytes: int | None
    """How much it asked for while it asked for most. None: no followed process asked for anything."""


@dataclass(frozen=True, slots=True)
class BusyGpu:
    """A GPU, over all samples of followed processes."""

    gpu: str
    """Such as `nvidia0` or `card0`."""
    name: str | None
    """The product's name, or the driver's. None: not known."""
    span_ns: int
    """The time that the samples cover, while a followed process used the GPU."""
    busy_ns: int | None
    """In this span, for all processes of the host. None: the driver does not report it."""
    used_ns: int | None
    """In this span, the sum over followed processes. None: the driver does not report it by process."""
    memory_peak_bytes: int | None
    """The most that followed processes held together at a sample. None: not known."""
    capacity_bytes: int | None
    """The GPU's memory. None: not known."""
    tool: str | None
    """The tool whose process held the most; if no memory is known, that used it for longest. None: not known."""
    task: str | None
    """The task of the tool. None: not known."""
    tool_peak_bytes: int | None
    """The most that this process held. None: not known."""


@dataclass(frozen=True, slots=True)
class RequestedUse:
    """What the tasks of a run or step requested, beside what they used: of those that ended, and of which both are
    known."""

    cpu_tasks: int | None
    """Tasks that the next two are of. None: of no task both are known."""
    requested_millicpus: int | None
    """CPUs: the mean of the tasks, each by its wall time. None: of no task both are known."""
    used_millicpus: Figure | None
    """The CPU time of these tasks / their wall times, added up. None: of no task both are known."""
    memory_tasks: int | None
    """Tasks that the next are of. None: of no task both are known."""
    requested_memory_bytes: int | None
    """Of the task whose memory came nearest to what it had requested. None: of no task both are known."""
    used_memory_bytes: Figure | None
    """The most that this task held. None: of no task both are known."""
    used_memory_bytes_at_most: int | None
    """An upper bound. None: `used_memory_bytes` is exact, or not known."""


@dataclass(frozen=True, slots=True)
class Waste:
    """What tasks that ended requested and did not use, of those whose request and use are known."""

    cpu_tasks: int | None
    """Tasks that count in the CPU's part. None: no task has a request whose use is known."""
    requested_cpu_hours: float | None
    """Requested CPUs × wall time. None: no task has a request whose use is known."""
    unused_cpu_hours: float | None
    """The part of it beyond the CPU time that was used. None: no task has a request whose use is known."""
    memory_tasks: int | None
    """Tasks that count in the memory's part. None: no task has a request whose use is known."""
    requested_memory_gib_hours: float | None
    """Requested memory × wall time. None: no task has a request whose use is known."""
    unused_memory_gib_hours: float | None
    """The part of it that even the task's peak did not use. None: no task has a request whose use is known."""


@dataclass(frozen=True, slots=True)
class ReportCost:
    """The cost of the tracing."""

    cpu_ns: int | None
    """Of the session: its start, reading, decoding, snapshots, callbacks; and the threads of recordings. None: not
    recorded, as of one run that was taken out of a recording."""
    snapshots_cpu_ns: int | None
    """The part of it for snapshots. None: not known, as of recordings."""
    kernel_ns: int | None
    """Its programs in the kernel; and `tracer-gpu`. None: the kernel does not measure it."""
    memory_bytes: int | None
    """Memory of the process that traces. None: not known."""
    kernel_memory_bytes: int | None
    """Its maps in the kernel. None: not known."""
    start_cpu_ns: int | None
    """The part of `cpu_ns` until the session had started: loading its programs. None: not known, as of recordings."""
    cpu_share: float | None
    """CPU time since the start per elapsed time. None: the session's length is not known."""


__all__ = [
    "BusyDevice",
    "BusyFile",
    "BusyFileSystem",
    "BusyGpu",
    "BusyPeer",
    "CertificateFigures",
    "CgroupMemory",
    "CriticalPathFigures",
    "Excused",
    "FailureFigures",
    "MissingFamily",
    "PathTask",
    "Pipeline",
    "ReportCost",
    "RequestedUse",
    "Survivor",
    "TimeShare",
    "Waste",
]
