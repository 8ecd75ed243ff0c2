#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the Python package beside plain Python: paired, interleaved, as ratios and differences.

usage: bench/python.py COMMAND [--rounds N]

Commands: hooks (what an audit event that has nothing to do with tasks costs more, without and with an open session); table (a
recording of a million processes as a pyarrow.Table, on one CPU: time, and memory beside that of the table; needs pyarrow and the
target table_bench).
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
    makers = [ROOT / "build" / preset / "bench" / "table_bench" for preset in ("release", "dev")]
    maker = next((each for each in makers if each.exists()), None)
    if maker is None:
        raise SystemExit("build the target table_bench first")
    found: list[list[float]] = []
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "million.tracer")
        subprocess.run([maker, "write", "1000000", file], check=True, timeout=600)
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


COMMANDS = {"hooks": hooks, "table": table}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    COMMANDS[arguments.command](arguments.rounds)


if __name__ == "__main__":
    main()
