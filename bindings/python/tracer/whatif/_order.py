# SPDX-License-Identifier: Apache-2.0
"""Finds what each task had to wait for: other tasks, a slot of its launcher, or the launcher itself."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from statistics import median

from ._workload import Launcher, Task, Workload

__all__ = ["find_order"]

# A task that began this much later than all that is known to have kept it back waited for something else.
_UNEXPLAINED_NS = 50_000_000
_UNEXPLAINED_FACTOR = 5


def _most_at_once(tasks: Sequence[Task]) -> int:
    edges = sorted([(task.begin_ns, 1) for task in tasks] + [(max(task.slot_end_ns, task.begin_ns), -1) for task in tasks])
    most, now = 1, 0
    for _, change in edges:
        now += change
        most = max(most, now)
    return most


def find_order(work: Workload, known: Mapping[int, Sequence[int]]) -> None:
    """Fills in what tasks wait for, their delays, and the slots of launchers. `known`: task -> tasks that it
    must come after, such as those whose files it used."""
    tasks = work.tasks
    of_launcher: dict[int, list[int]] = {}
    for number, task in enumerate(tasks):
        of_launcher.setdefault(task.launcher, []).append(number)
    work.launchers = [Launcher(_most_at_once([tasks[n] for n in of_launcher.get(place, [])]), False)
                      for place in range(max(of_launcher, default=-1) + 1)]
    work.slots = _most_at_once(tasks)
    ends = sorted((task.slot_end_ns, number) for number, task in enumerate(tasks))
    times = [end for end, _ in ends]
    for place, numbers in of_launcher.items():
        _of_launcher(work, work.launchers[place], numbers, ends, times, known)


def _of_launcher(work: Workload, launcher: Launcher, numbers: Sequence[int], ends: Sequence[tuple[int, int]],
                 times: Sequence[int], known: Mapping[int, Sequence[int]]) -> None:
    tasks = work.tasks
    own_ends = sorted(tasks[n].slot_end_ns for n in numbers)
    kept: list[tuple[int, int]] = []
    """Of each: when a slot was free and the launcher had begun the one before; and the last end of what it needed."""
    previous = 0
    for place, number in enumerate(numbers):
        task = tasks[number]
        task.after = [n for n in known.get(number, ()) if n < number and tasks[n].end_ns <= task.begin_ns]
        task.after_early = list(task.after)
        # With s slots, the task at place p begins when p - s + 1 have ended; so does the whole run, such as several makes
        # that share their job slots.
        slot = max(own_ends[place - launcher.slots] if place >= launcher.slots else 0,
                   times[number - work.slots] if number >= work.slots else 0)
        free, needed = max(previous, slot), max((tasks[n].end_ns for n in task.after), default=0)
        launcher.limited |= slot > max(previous, needed)
        kept.append((free, needed))
        previous = task.begin_ns
    delays = [tasks[n].begin_ns - max(since) for n, since in zip(numbers, kept)]
    most = max(_UNEXPLAINED_NS, round(_UNEXPLAINED_FACTOR * median(delays)) if len(delays) > 4 else 0)
    gate: int | None = None
    for place, (number, (free, needed), delay) in enumerate(zip(numbers, kept, delays)):
        task = tasks[number]
        if delay > most or not place:
            # Others that ended in between explain it.
            since = max(free, needed)
            between = [n for _, n in ends[bisect_left(times, since):bisect_right(times, task.begin_ns)] if n < number]
            if between:
                task.after += between
                task.after_early.append(between[-1])
                delay = task.begin_ns - tasks[between[-1]].slot_end_ns
                work.by_order += 1
        task.delay_ns = max(delay, 0)
        if gate is not None and needed <= tasks[gate].begin_ns:
            task.after_begin = gate
        if place and task.begin_ns - free > most or not place and len(task.after):
            # A slot was free, and none of those that begin later took it: they could not begin yet either.
            gate = number
