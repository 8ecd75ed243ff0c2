# SPDX-License-Identifier: Apache-2.0
"""What a recorded run consists of: its tasks, how each computes and waits, and what each had to wait for to begin."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["Launcher", "Phase", "Task", "Workload"]


@dataclass(frozen=True, slots=True)
class Phase:
    """A part of a task: it computes, then waits."""

    cpu_ns: float
    """CPU time of all of its threads."""
    runnable: float
    """Threads that ran or could have run, on average while it computed or was queued: at least 1 where there is CPU time."""
    wait_ns: float
    """Waits that more CPUs don't shorten: disk, network, timers …"""


@dataclass(slots=True)
class Task:
    """Times are nanoseconds since the run began."""

    name: str
    key: str | None
    """Its task_key; of a run without tasks, its run_key."""
    begin_ns: int
    end_ns: int
    phases: tuple[Phase, ...]
    launcher: int
    """Place of its launcher in Workload.launchers."""
    phases_serial: tuple[Phase, ...] = ()
    """If its processes computed one after another as much as its ledger allows: the upper end of the range."""
    peak_bytes: int | None = None
    """Or an upper bound of it."""
    slot_end_ns: int = 0
    """When its leader ended: then its launcher may begin another."""
    after: list[int] = field(default_factory=list)
    """Tasks that must end before it begins, by the files that it used or by the order seen."""
    after_early: list[int] = field(default_factory=list)
    """The least that explains the order seen: the lower end of the range is found with these."""
    after_begin: int | None = None
    """A task of its launcher that must have begun: before, it did not take a slot that was free."""
    delay_ns: int = 0
    """From the last of what it had to wait for to its begin: the launcher's own time."""

    @property
    def cpu_ns(self) -> float:
        return sum(phase.cpu_ns for phase in self.phases)

    @property
    def wait_ns(self) -> float:
        return sum(phase.wait_ns for phase in self.phases)


@dataclass(slots=True)
class Launcher:
    """A process that begins tasks, one after another: make, xargs, an engine."""

    slots: int
    """The most tasks that it had at once."""
    limited: bool
    """A task of it began when another ended: more slots may change the time."""


@dataclass(slots=True)
class Workload:
    name: str
    tasks: list[Task]
    """In the order of their beginnings."""
    launchers: list[Launcher]
    slots: int
    """The most tasks that the whole run had at once."""
    wall_ns: int
    tail_ns: int
    """From the end of the last task to the end of the run."""
    cpus: int
    """That it was recorded on."""
    cpus_basis: str
    """How they are known."""
    cpu_ns: int
    """Of the whole run, also outside of tasks."""
    other_cpu_ns: float = 0.0
    """CPU time of the run outside of its tasks, while tasks ran: an engine's own, which competes with them."""
    limited: bool = False
    """These CPUs are a limit of the whole run: time in which it was held back is a queue, no wait."""
    outside_bytes: int | None = 0
    """What processes outside of its tasks hold at most; None: not known."""
    by_files: int = 0
    """Tasks that began after others whose files they used."""
    by_order: int = 0
    """Tasks that began right after others ended, for a reason that files don't show."""
    has_files: bool = False
    peaks_exact: bool = True
    """Of all tasks; else some are upper bounds."""
    notes: list[str] = field(default_factory=list)
