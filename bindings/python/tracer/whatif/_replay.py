# SPDX-License-Identifier: Apache-2.0
"""Replays a run on a number of CPUs, as a simulation of discrete events: tasks begin when launchers, slots and other tasks
allow, share the CPUs while they compute, and wait as long as they did."""

from __future__ import annotations

import heapq
import random
from collections.abc import Sequence
from dataclasses import dataclass

from ._workload import Phase, Task, Workload

__all__ = ["Replay", "replay"]

# A task computes and waits in turns whose number is not recorded: enough that tasks meet at random.
_TURNS = 16
_MOST_TURNS = 200_000


@dataclass(frozen=True, slots=True)
class Replay:
    wall_ns: float
    cpu_share: float
    """Of all CPUs, over the wall time: 1 if all of them computed all of the time."""
    most_tasks: int
    """At once."""
    most_bytes: int | None
    """The most that tasks held at once, if each held its peak for all of its time. None: one is not known."""
    slots_ns: float
    """How long a task waited only for a slot, while a CPU was free."""


def _turns(phases: tuple[Phase, ...], count: int, generator: random.Random, speed: float) -> list[tuple[float, float, float]]:
    """(work, threads, wait) of each turn: in a phase, lengths at random that sum to it."""
    found = []
    total = sum(phase.cpu_ns + phase.wait_ns for phase in phases)
    for phase in phases:
        own = round(count * (phase.cpu_ns + phase.wait_ns) / total) if total else 1
        if phase.wait_ns <= 0 or phase.cpu_ns <= 0 or own < 2:
            found.append((phase.cpu_ns / speed, phase.runnable, phase.wait_ns))
            continue
        parts = [generator.expovariate(1) for _ in range(own)]
        pauses = [generator.expovariate(1) for _ in range(own)]
        work, wait = phase.cpu_ns / speed / sum(parts), phase.wait_ns / sum(pauses)
        found += [(part * work, phase.runnable, pause * wait) for part, pause in zip(parts, pauses)]
    return found


class _Simulation:
    def __init__(self, work: Workload, cpus: float, slots: int | None, speed: float, early: bool, serial: bool,
                 seed: int) -> None:
        self.tasks, self.cpus = work.tasks, cpus
        generator = random.Random(seed)
        turns = max(1, min(_TURNS, _MOST_TURNS // max(len(work.tasks), 1)))
        self.turns = [_turns(task.phases_serial if serial else task.phases, turns, generator, speed)[::-1] for task in work.tasks]
        self.now = 0.0
        # While tasks want more threads than there are CPUs, each gets as much less: time for their work runs slower.
        self.virtual = 0.0
        self.threads = 0.0
        self.busy = 0.0
        self.computing: list[tuple[float, int]] = []
        """(virtual time of its end, task)"""
        self.wants: dict[int, float] = {}
        self.events: list[tuple[float, int, int]] = []
        """(time, kind, task): a wait is over, or a launcher begins one."""
        self.missing = [0] * len(work.tasks)
        self.followers: list[list[int]] = [[] for _ in work.tasks]
        self.gated: dict[int, list[int]] = {}
        for number, task in enumerate(work.tasks):
            after = set(task.after_early if early else task.after)
            self.missing[number] = len(after)
            for each in after:
                self.followers[each].append(number)
            if task.after_begin is not None:
                self.missing[number] += 1
                self.gated.setdefault(task.after_begin, []).append(number)
        self.limit = [slots or launcher.slots for launcher in work.launchers]
        self.all_slots = slots or work.slots
        self.running = [0] * len(work.launchers)
        self.busy_launcher = [False] * len(work.launchers)
        self.ready: list[list[int]] = [[] for _ in work.launchers]
        self.waiting: set[int] = set()
        """Launchers with tasks that are ready."""
        self.total = self.most = self.left = 0
        self.held = self.most_bytes = 0
        self.blocked = False
        self.slots_ns = 0.0
        self.left = len(work.tasks)
        for number in range(len(work.tasks)):
            if not self.missing[number]:
                self.is_ready(number)
        if work.other_cpu_ns > 0:
            self._add_other(work, generator)

    def _add_other(self, work: Workload, generator: random.Random) -> None:
        """What the engine computes itself while tasks run: it competes with them, and nothing waits for it."""
        first, last = work.tasks[0].begin_ns, max(task.end_ns for task in work.tasks)
        count = max(1, min(400, _MOST_TURNS // 100))
        phase = Phase(work.other_cpu_ns, 1.0, max(last - first - work.other_cpu_ns, 0.0))
        self.turns.append(_turns((phase,), count, generator, 1.0)[::-1])
        self.other = len(self.turns) - 1
        heapq.heappush(self.events, (float(first), _WAITED, self.other))

    def is_ready(self, number: int) -> None:
        place = self.tasks[number].launcher
        heapq.heappush(self.ready[place], number)
        self.waiting.add(place)

    def advance(self, time: float) -> None:
        span = time - self.now
        rate = 1.0 if self.threads <= self.cpus else self.cpus / self.threads
        self.virtual += span * rate
        self.busy += span * min(self.threads, self.cpus)
        if self.blocked and self.threads < self.cpus:
            self.slots_ns += span
        self.now = time

    def begin_what_may(self) -> None:
        self.blocked = False
        for place in sorted(self.waiting):
            ready = self.ready[place]
            if self.busy_launcher[place]:
                continue
            if self.running[place] >= self.limit[place] or self.total >= self.all_slots:
                self.blocked = True
                continue
            number = heapq.heappop(ready)
            if not ready:
                self.waiting.discard(place)
            self.busy_launcher[place] = True
            self.running[place] += 1
            self.total += 1
            heapq.heappush(self.events, (self.now + self.tasks[number].delay_ns, _BEGINS, number))

    def next_turn(self, number: int) -> None:
        """It computes; a turn without work is a wait only."""
        if not self.turns[number]:
            if number < len(self.tasks):
                self.end(number)
            return
        work, threads, wait = self.turns[number][-1]
        if work > 0:
            self.wants[number] = threads
            self.threads += threads
            heapq.heappush(self.computing, (self.virtual + work / threads, number))
        else:
            self.turns[number].pop()
            heapq.heappush(self.events, (self.now + wait, _WAITED, number))

    def end(self, number: int) -> None:
        task = self.tasks[number]
        self.running[task.launcher] -= 1
        self.total -= 1
        self.left -= 1
        self.held -= task.peak_bytes or 0
        self.release(self.followers[number])

    def release(self, numbers: Sequence[int]) -> None:
        for number in numbers:
            self.missing[number] -= 1
            if not self.missing[number]:
                self.is_ready(number)

    def run(self) -> None:
        self.begin_what_may()
        while self.left:
            rate = 1.0 if self.threads <= self.cpus else self.cpus / self.threads
            computed = self.now + (self.computing[0][0] - self.virtual) / rate if self.computing else float("inf")
            waited = self.events[0][0] if self.events else float("inf")
            if computed <= waited:
                self.advance(computed)
                _, number = heapq.heappop(self.computing)
                self.threads -= self.wants.pop(number)
                if not self.computing:
                    self.threads = 0.0  # Sums of floats don't come back to it.
                wait = self.turns[number].pop()[2]
                if wait > 0:
                    heapq.heappush(self.events, (self.now + wait, _WAITED, number))
                else:
                    self.next_turn(number)
            else:
                self.advance(waited)
                _, kind, number = heapq.heappop(self.events)
                if kind == _BEGINS:
                    task: Task = self.tasks[number]
                    self.busy_launcher[task.launcher] = False
                    self.release(self.gated.get(number, ()))
                    self.held += task.peak_bytes or 0
                    self.most, self.most_bytes = max(self.most, self.total), max(self.most_bytes, self.held)
                self.next_turn(number)
            self.begin_what_may()


_BEGINS, _WAITED = 0, 1


def replay(work: Workload, cpus: float, *, slots: int | None = None, speed: float = 1.0, early: bool = False,
           serial: bool = False, seed: int = 1) -> Replay:
    """`slots`: of each launcher; None: as recorded. `speed`: of a CPU, in those of the recording's machine. `early`: tasks
    wait for the least that explains the order seen. `serial`: processes of a task compute one after another."""
    simulation = _Simulation(work, cpus, slots, speed, early, serial, seed)
    simulation.run()
    wall = simulation.now + work.tail_ns
    outside = max(work.cpu_ns - work.other_cpu_ns - sum(task.cpu_ns for task in work.tasks), 0.0) / speed
    known = all(task.peak_bytes is not None for task in work.tasks)
    return Replay(wall, min((simulation.busy + outside) / (wall * cpus), 1.0) if wall else 0.0, simulation.most,
                  simulation.most_bytes if known else None, simulation.slots_ns)
