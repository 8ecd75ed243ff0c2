#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how far the bounds of a run's computing time lie apart.

usage: bench/ledger_bounds.py [--seconds N] [--before TRACERD] [TRACERD]

Runs programs of several processes, each for about N seconds (10) under `tracerd run` (build/release/tracerd), all at the same
time, and prints for each the bounds in points of its wall time. With --before, an earlier build beside it. Needs root. Exit
status 1: fewer than 90 % of the bounds are at most 5 points apart, or causes do not sum to the wall time within 1 %.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
MOST_POINTS = 5.0
BUSY = "python3 -c 'import time\nend = time.process_time() + {0}\nwhile time.process_time() < end: pass'"
MIX = ("python3 -c 'import random, time\nend = time.time() + {1}\nwhile time.time() < end:\n"
       "    until = time.process_time() + random.uniform(0.001, {0})\n"
       "    while time.process_time() < until: pass\n    time.sleep(random.uniform(0.001, {0}))'")


def programs(seconds: int) -> dict[str, str]:
    jobs = "\n".join(MIX.format(length, seconds) + " &" for length in (0.01, 0.02, 0.05, 0.1))
    return {
        "pipe of three stages": f"timeout {seconds} cat /dev/zero | gzip -1 | md5sum",
        "pipe of small parts": f"timeout {seconds} sh -c 'while :; do echo x; done' | tr x y | wc -l",
        "parallel jobs": f"{jobs}\nwait",
        "fork, join, straggler": "\n".join(BUSY.format(seconds / part) + " &" for part in (8, 8, 2)) + "\nwait",
        "sleeping producer": f"for i in $(seq {seconds * 5}); do sleep 0.2; echo $i; done | sort | cat",
        "short processes, two at a time": (f"for j in 1 2; do (end=$(($(date +%s) + {seconds}))\nwhile [ $(date +%s) -lt $end ]; do "
                                           "ls / > /dev/null; sleep 0.01; done) & done\nwait"),
    }


def measure(tracerds: dict[str, str], seconds: int) -> dict[tuple[str, str], dict]:
    ledgers = {}
    with tempfile.TemporaryDirectory() as folder:
        running = []
        for which, tracerd in tracerds.items():
            for number, (name, script) in enumerate(programs(seconds).items()):
                events = pathlib.Path(folder) / f"{which}{number}"
                command = [tracerd, "run", "--no-history", "--json", str(events), "--", "bash", "-c", script]
                running.append((which, name, events, subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)))
        for which, name, events, process in running:
            process.wait()
            for line in events.read_text().splitlines():
                event = json.loads(line)
                if event["kind"] == "run_finish":
                    ledgers[which, name] = event["task_ledger"]
    return ledgers


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--before")
    parser.add_argument("tracerd", nargs="?", default=str(ROOT / "build/release/tracerd"))
    options = parser.parse_args()
    tracerds = {"now": options.tracerd} | ({"before": options.before} if options.before else {})
    close, exact = 0, True
    for (which, name), ledger in measure(tracerds, options.seconds).items():
        wall = ledger["wall_ns"]
        points = 100 * (ledger["computing_at_most_ns"] - ledger["computing_ns"]) / wall
        causes = sum(value for key, value in ledger.items() if key not in ("wall_ns", "computing_at_most_ns"))
        print(f"{which:7} {name:32} wall {wall / 1e9:5.1f} s  computing {100 * ledger['computing_ns'] / wall:5.1f} % to "
              f"{100 * ledger['computing_at_most_ns'] / wall:5.1f} %: {points:5.1f} points")
        if which == "now":
            close += points <= MOST_POINTS
            exact = exact and abs(causes - wall) <= wall / 100
    return 0 if exact and close >= 0.9 * len(programs(options.seconds)) else 1


if __name__ == "__main__":
    sys.exit(main())
