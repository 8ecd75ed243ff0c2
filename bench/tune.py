#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how long `tracer tune` takes, and replays its memory rule in time order.

usage: bench/tune.py [--seconds N] [--gib N] [--prices FILE] TASKS...
       bench/tune.py --make N FILE
       bench/tune.py --replay TASKS...
       bench/tune.py --across TASKS...

--make writes a table of N attempts of 200 steps, some of which ran out of memory. --replay sizes each task that succeeded by
those of its run and step that began before it, as the command advises: below 5 it keeps its request. A failed attempt wastes its
allocation for the whole time, and is repeated with twice as much. Then each step is advised from its first tasks, as a file does that
is used as it is, and so are those that came later. --across advises each run of a pipeline from each other one, as a file that is committed does. Tables as engines write them: run, pipeline, process, submit or start, realtime, memory, peak_rss, status.
Needs duckdb. Exit status 1: too slow, or too large.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import random
import resource
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator

from tracer.tune import _memory, _steps, tune

Task = tuple[float, float, float, float]
"""When it began, seconds, requested, peak, in bytes."""
Kind = tuple[str, str, str]
"""Run, process, pipeline."""
Rule = Callable[[list[float], float], float]
_STEPS = 200


def make(count: int, path: str) -> None:
    """Peaks of a step are its own times a random factor; every 500th attempt ran out of memory."""
    chance = random.Random(7)
    begin = 1767225600000
    with open(path, "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["run_id", "pipeline", "hash", "process", "tag", "status", "exit", "attempt", "start", "complete", "realtime",
                        "cpus", "memory", "time", "%cpu", "peak_rss", "machineType", "cloudZone"])
        for i in range(count):
            step = i % _STEPS
            requested = (4 << (step % 5)) << 30
            peak = int(requested / (2 + step % 4) * chance.lognormvariate(0, 0.08))
            seconds = 60 * (1 + step % 30) * chance.uniform(0.5, 2)
            out = i % 500 == 0
            table.writerow([f"run{i % 50}", "made-up", f"{i:08x}", f"STEP_{step}", f"S{i // _STEPS}", "FAILED" if out else "COMPLETED",
                            137 if out else 0, 1, begin + i * 100, begin + i * 100 + int(seconds * 1000), int(seconds * 1000),
                            2 << (step % 3), requested, 14400000, round(100 * chance.uniform(0.5, 2), 1),
                            requested if out else peak, "m6i.4xlarge", "eu-west-1a"])


def r1(past: list[float], requested: float) -> float:
    """The best of eleven published and simple rules in an earlier comparison, for reference. It sizes from the first task on."""
    n, most = len(past), max(past)
    size = most * (1 + max(0.03, 0.3 / n))
    size += max(requested - size, 0) * 0.5 / n**2
    return min(max(size, 5e8), max(requested, 1.2 * most))


def ours(past: list[float], requested: float, failures: float | None = None) -> float:
    """As the command advises."""
    if len(past) < _memory.ENOUGH:
        return requested
    evidence = _memory.Evidence.of(past)
    size = _steps.rounded(_memory.allocation(evidence, requested, failures) or requested)
    return requested if size >= requested >= evidence.base else size


RULES: dict[str, Rule] = {"requested": lambda past, requested: requested, "max + 20 %": lambda past, requested: 1.2 * max(past),
                          "r1": r1, "tune": ours}


def tasks_of(path: str) -> Iterator[tuple[Kind, Task]]:
    def seconds_of(text: str) -> float:
        try:
            return float(text)
        except ValueError:
            return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()

    with open(path, newline="", encoding="utf-8") as file:
        for number, raw in enumerate(csv.DictReader(row for row in file if not row.startswith("#"))):
            row = {name.lower().replace("_", ""): value for name, value in raw.items() if name}
            try:
                run = row.get("runid") or "/".join(filter(None, (row.get("run"), row.get("machine"), row.get("workflow")))) or path
                task = (seconds_of(row.get("submit") or row.get("start") or str(number)), float(row["realtime"]) / 1000,
                        float(row["memory"]), float(row["peakrss"]))
            except (KeyError, ValueError):
                continue
            if row.get("status", "COMPLETED") == "COMPLETED" and task[3] > 0:
                yield (run, row.get("process") or row["task"], row.get("pipeline") or row.get("workflow") or ""), task


def replay(groups: list[list[Task]], rule: Rule) -> tuple[float, int, float]:
    """GB hours wasted, failed attempts, GB hours used."""
    wasted, failed, used = 0.0, 0, 0.0
    for tasks in groups:
        past: list[float] = []
        for _, seconds, requested, peak in tasks:
            allocated = rule(past, requested) if past else requested
            while allocated < peak:
                wasted, failed, allocated = wasted + allocated * seconds, failed + 1, allocated * 2
            wasted, used = wasted + (allocated - peak) * seconds, used + peak * seconds
            past.append(peak)
    return wasted / 3.6e12, failed, used / 3.6e12


def promised(groups: list[list[Task]], first: int, failures: float | None) -> tuple[float, int, int]:
    """First attempts that were expected to fail, that did, and how many there were, behind the first tasks of each step."""
    expected, failed, count = 0.0, 0, 0
    for tasks in groups:
        seen, later = [task[3] for task in tasks[:first]], tasks[first:]
        size = ours(seen, statistics.median_low(task[2] for task in tasks[:first]), failures)
        expected += _memory.failures_of(_memory.Evidence.of(seen), size) * len(later)
        failed, count = failed + sum(peak > size for *_, peak in later), count + len(later)
    return expected, failed, count


def across(kinds: dict[Kind, list[Task]]) -> None:
    """Steps that are advised, and all: those with too few tasks keep their request."""
    steps: defaultdict[tuple[str, str], dict[str, list[Task]]] = defaultdict(dict)
    for (run, process, pipeline), tasks in kinds.items():
        steps[pipeline, process][run] = tasks
    wasted = requested_waste = expected = 0.0
    failed = first_failed = count = advised = 0
    for runs in steps.values():
        for learned, seen in runs.items():
            evidence = _memory.Evidence.of([task[3] for task in seen])
            for run, tasks in runs.items():
                if run == learned:
                    continue
                for _, seconds, requested, peak in tasks:
                    size = requested
                    if evidence.count >= _memory.ENOUGH:
                        size = ours([task[3] for task in seen], requested)
                        expected, advised = expected + _memory.failures_of(evidence, size), advised + 1
                        first_failed += peak > size
                    requested_waste += max(requested - peak, 0) * seconds
                    while size < peak:
                        wasted, failed, size = wasted + size * seconds, failed + 1, size * 2
                    wasted, count = wasted + (size - peak) * seconds, count + 1
    print(f"{wasted / requested_waste:.1%} of the waste of what was requested, {100 * failed / count:.2f} failed attempts "
          f"per 100 of {count:,} tasks; of {advised:,} with advice {expected:.1f} were expected to fail first, {first_failed} did")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", metavar="TASKS")
    parser.add_argument("--make", nargs=2, metavar=("N", "FILE"))
    parser.add_argument("--replay", action="store_true")
    parser.add_argument("--across", action="store_true")
    parser.add_argument("--prices")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--gib", type=float, default=4)
    options = parser.parse_args()
    if options.make:
        make(int(options.make[0]), options.make[1])
        return 0
    if options.replay or options.across:
        kinds: defaultdict[Kind, list[Task]] = defaultdict(list)
        for path in options.tasks:
            for kind, task in tasks_of(path):
                kinds[kind].append(task)
        if options.across:
            across(kinds)
            return 0
        groups = [sorted(tasks) for tasks in kinds.values()]
        count = sum(map(len, groups))
        for name, rule in RULES.items():
            wasted, failed, used = replay(groups, rule)
            print(f"{name}: {wasted:,.0f} GB hours wasted, {100 * failed / count:.2f} failed attempts per 100, "
                  f"{100 * used / (used + wasted):.1f} % used, {count:,} tasks")
        for first in (10, 20):
            for failures in (None, 0.1):
                expected, failed, advised = promised(groups, first, failures)
                print(f"from the first {first}, --failures {failures}: {expected:.1f} first attempts expected to fail, {failed} did, of {advised:,}")
        return 0
    begin, cpu = time.monotonic(), time.process_time()
    result = tune(options.tasks, prices=options.prices)
    seconds, used = time.monotonic() - begin, time.process_time() - cpu
    gib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)
    print(f"{result.attempts:,} attempts, {len(result.rows)} rows: {seconds:.1f} s, CPU {used:.1f} s, {gib:.2f} GiB")
    return 0 if seconds <= options.seconds and gib <= options.gib else 1


if __name__ == "__main__":
    sys.exit(main())
