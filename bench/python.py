#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the Python package beside plain Python: paired, interleaved, as ratios and differences.

usage: bench/python.py COMMAND [--rounds N]

Commands: hooks (what an audit event that has nothing to do with tasks costs more, without and with an open session); table (a
recording of a million processes as a pyarrow.Table, on one CPU: time, and memory beside that of the table; needs pyarrow and the
target table_bench); events (how fast they are read as objects, lists and tables, from a full queue and from a running session;
needs table_bench); import (beside that of json); run (of `true`, with an open session, beside subprocess.run).
Needs root and a package with its binary part: PYTHONPATH=bindings/python. Nothing else should run meanwhile.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent

HOOKS = """
import sys, timeit
import tracer
state = sys.argv[1]
session = None
if state != "never":
    session = tracer.session(families=())
    if state == "closed":
        session.close()
for name, statement, number in (("id", "id(0)", 300_000), ("open", "open('/dev/null').close()", 20_000)):
    best = min(timeit.repeat(statement, number=number, repeat=5)) / number
    print(name, best * 1e9)
if session is not None:
    session.close()
"""


def hooks(rounds: int) -> None:
    """ns of builtins.id(), the cheapest audit event, and of open(): no session yet, one closed again, one open."""
    states = ("never", "closed", "open")
    found: dict[tuple[str, str], list[float]] = {}
    for turn in range(rounds):
        for state in states[turn % 3 :] + states[: turn % 3]:
            done = subprocess.run(
                [sys.executable, "-c", HOOKS, state], check=True, capture_output=True, text=True, timeout=120
            )
            for line in done.stdout.splitlines():
                name, value = line.split()
                found.setdefault((name, state), []).append(float(value))
    for name in ("id", "open"):
        never = found[name, "never"]
        print(f"{name:5} without the hook {statistics.median(never):8.1f} ns")
        for state in ("closed", "open"):
            now = found[name, state]
            ratio = statistics.median(b / a for a, b in zip(never, now, strict=True))
            more = statistics.median(b - a for a, b in zip(never, now, strict=True))
            print(f"{name:5} session {state:6}   {statistics.median(now):8.1f} ns, {more:+7.1f} ns, ratio {ratio:.2f}")


def write_recording(folder: str, processes: int) -> str:
    """Of made-up processes; returns its path."""
    makers = [ROOT / "build" / preset / "bench" / "table_bench" for preset in ("release", "dev")]
    maker = next((each for each in makers if each.exists()), None)
    if maker is None:
        raise SystemExit("build the target table_bench first")
    file = os.path.join(folder, "made_up.tracer")
    subprocess.run([maker, "write", str(processes), file], check=True, timeout=600)
    return file


TABLE = """
import os, sys, time
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
import pyarrow, tracer

def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))

recording = tracer.read(sys.argv[1])
before = peak()
begin, cpu = time.perf_counter(), time.process_time()
table = recording.processes.to_arrow()
print(time.perf_counter() - begin, time.process_time() - cpu, (peak() - before) / table.nbytes, table.nbytes, len(table))
"""


def table(rounds: int) -> None:
    """Seconds, CPU seconds, and peak memory by the table's own."""
    found: list[list[float]] = []
    with tempfile.TemporaryDirectory() as folder:
        file = write_recording(folder, 1_000_000)
        print(f"recording      {os.path.getsize(file) / 1e6:8.1f} MB")
        for _ in range(rounds):
            done = subprocess.run(
                [sys.executable, "-c", TABLE, file], check=True, capture_output=True, text=True, timeout=120
            )
            found.append([float(word) for word in done.stdout.split()])
    for name, at, unit in (("real time", 0, "s"), ("CPU time", 1, "s"), ("memory / table", 2, "")):
        values = [each[at] for each in found]
        print(f"{name:14} {statistics.median(values):8.2f} {unit:1}   best {min(values):.2f}, worst {max(values):.2f}")
    print(f"table          {found[0][3] / 1e6:8.1f} MB, {found[0][4]:.0f} rows")


EVENTS = """
import sys, time
import tracer

running = sys.argv[3] == "running"
with tracer.session(source=sys.argv[1]) as session:
    room = {} if running else {"capacity_bytes": 4 << 30}
    stream = {
        "objects": lambda: session.events(**room),
        "lists": lambda: session.batches(**room),
        "tables": lambda: session.table_batches("processes", **room),
    }[sys.argv[2]]()
    if not running:
        session.flush()
    begin = time.perf_counter()
    for _ in stream:
        pass
    spent = time.perf_counter() - begin
    print(session.statistics.events / spent, stream.dropped)
"""


def events(rounds: int) -> None:
    """Events a second: from a queue that holds all of them, and while the session's thread reads, decodes and records."""
    with tempfile.TemporaryDirectory() as folder:
        file = write_recording(folder, 200_000)
        found: dict[tuple[str, str], list[float]] = {
            (name, state): [] for state in ("full", "running") for name in ("objects", "lists", "tables")}
        for _ in range(rounds):
            for (name, state), rates in found.items():
                done = subprocess.run([sys.executable, "-c", EVENTS, file, name, state], check=True, capture_output=True,
                                      text=True, timeout=120)
                rate, dropped = map(float, done.stdout.split())
                if dropped:
                    raise SystemExit("the queue was too small")
                rates.append(rate)
    for (name, state), rates in found.items():
        print(f"{name:8} {state:8} {statistics.median(rates):12,.0f} a second   best {max(rates):,.0f}, worst "
              f"{min(rates):,.0f}")


def import_time(rounds: int) -> None:
    """Milliseconds of a whole interpreter that imports one or the other, in turns."""
    found: dict[str, list[float]] = {"json": [], "tracer": []}
    for _ in range(rounds):
        for name, times in found.items():
            begin = time.perf_counter()
            subprocess.run([sys.executable, "-c", f"import {name}"], check=True, timeout=60)
            times.append((time.perf_counter() - begin) * 1e3)
    more = statistics.median(b - a for a, b in zip(found["json"], found["tracer"], strict=True))
    print(f"import json {statistics.median(found['json']):.1f} ms, import tracer {more:+.1f} ms")


def run(rounds: int) -> None:
    """Milliseconds of tracer.run(["true"]) while a session is open, and of subprocess.run(["true"]), in turns."""
    import tracer

    spent: dict[str, list[float]] = {"subprocess": [], "tracer": []}
    with tracer.session():
        for _ in range(rounds * 20):
            for name, function in (("subprocess", subprocess.run), ("tracer", tracer.run)):
                begin = time.perf_counter()
                function(["true"])
                spent[name].append((time.perf_counter() - begin) * 1e3)
    more = statistics.median(b - a for a, b in zip(spent["subprocess"], spent["tracer"], strict=True))
    print(f"subprocess.run {statistics.median(spent['subprocess']):.2f} ms, tracer.run {more:+.2f} ms")


COMMANDS = {"hooks": hooks, "table": table, "events": events, "import": import_time, "run": run}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    COMMANDS[arguments.command](arguments.rounds)


if __name__ == "__main__":
    main()
