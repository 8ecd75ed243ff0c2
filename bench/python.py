#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the Python package beside plain Python: paired, interleaved, as ratios and differences.

usage: bench/python.py COMMAND [--rounds N]

Commands: hooks (what an audit event that has nothing to do with tasks costs more, without and with an open session).
Needs root and a package with its binary part: PYTHONPATH=bindings/python. Nothing else should run meanwhile.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys

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


COMMANDS = {"hooks": hooks}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    COMMANDS[arguments.command](arguments.rounds)


if __name__ == "__main__":
    main()
