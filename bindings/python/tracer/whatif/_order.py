# SPDX-License-Identifier: Apache-2.0
"""Finds what each task had to wait for: other tasks, a slot of its launcher, or the launcher itself."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from statistics import median

from ._workload import Launcher, Task, Workload

__all__ = ["find_order"]

# A task that began this much later than all that is known to have kept it back waited for something else.
_UNEXPLAINED_NS = 50_000_000
_UNEXPLAINED_FACTOR = 5


def _most_at_once(tasks: Sequence[Task]) -> int:
    edges = sorted([(task.begin_ns, 1) for task in tasks] + [(max(task.slot_end_ns, task.begin_ns), -1) for task in tasks])
    most = now = 0
    for _, change in edges:
        now += change
        most = max(most, now)
    return most


def find_order(work: Workload, by_files: Mapping[int, Sequence[int]]) -> None:
    """Fills in what tasks wait for, their delays, and the slots of launchers. `by_files`: task -> tasks whose files it used."""
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
        _of_launcher(work, work.launchers[place], numbers, ends, times, by_files)


def _of_launcher(work: Workload, launcher: Launcher, numbers: Sequence[int], ends: Sequence[tuple[int, int]],
                 times: Sequence[int], by_files: Mapping[int, Sequence[int]]) -> None:
    tasks = work.tasks
    own_ends = sorted(tasks[n].slot_end_ns for n in numbers)
    previous = 0
    known: list[tuple[int, int]] = []
    """Each task with the last of what is known to have kept it back."""
    for place, number in enumerate(numbers):
        task = tasks[number]
        task.after = [n for n in by_files.get(number, ()) if n < number and tasks[n].end_ns <= task.begin_ns]
        task.after_early = list(task.after)
        since = max([previous, *(tasks[n].end_ns for n in task.after)])
        ended = bisect_right(own_ends, task.begin_ns)
        if place - ended >= launcher.slots - 1 and ended and launcher.slots < len(numbers):
            # All slots but this one were taken: it began when one became free.
            released = own_ends[ended - 1]
            launcher.limited |= released > previous
            since = max(since, released)
        elif (at := bisect_right(times, task.begin_ns)) and number - at >= work.slots - 1:
            # The whole run had as many as it ever had, such as several makes that share their job slots.
            since = max(since, times[at - 1])
        known.append((number, since))
        previous = task.begin_ns
    delays = [tasks[n].begin_ns - since for n, since in known]
    most = max(_UNEXPLAINED_NS, round(_UNEXPLAINED_FACTOR * median(delays)) if len(delays) > 4 else 0)
    for (number, since), delay in zip(known, delays):
        task = tasks[number]
        if delay > most or number == numbers[0]:
            # Others that ended in between explain it.
            between = [n for _, n in ends[bisect_right(times, since):bisect_right(times, task.begin_ns)] if n < number]
            if between:
                task.after += between
                task.after_early.append(between[-1])
                delay = task.begin_ns - tasks[between[-1]].slot_end_ns
                work.by_order += 1
        task.delay_ns = max(delay, 0)
        work.by_files += bool(by_files.get(number))
