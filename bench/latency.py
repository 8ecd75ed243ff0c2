#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How late findings come: bench/latency.py [FAILURES] [STALLS]. Needs the right to trace, and the package tracer.

Failures: tasks that end with 0 though their child was killed; late after the end of the task. Stalls: tasks that wait for data
that never comes; late after the 60 s that the rule waits."""

import os
import statistics
import subprocess
import sys
import time

import tracer

RULE_S = 60


class Arrivals:
    """When the first finding of a task came, by the task's name."""

    def __init__(self, session, code):
        self.at_s = {}
        self.code = code
        session.on("finding", self.take)

    def take(self, event):
        if event.code == self.code and event.context is not None:
            self.at_s.setdefault(event.context.task, time.monotonic())


def show(what, begins_s, arrivals, after_s):
    late = sorted(arrivals.at_s[name] - begin - after_s for name, begin in begins_s.items() if name in arrivals.at_s)
    if not late:
        sys.exit(f"{what}: none of {len(begins_s)} found")
    print(f"{what}: {len(late)} of {len(begins_s)} found, late by {statistics.median(late):.2f} s "
          f"({late[0]:.2f} to {late[-1]:.2f})")


def failures(session, count):
    arrivals, ends = Arrivals(session, "silent_failure"), {}
    for number in range(count):
        with session.task(f"failure-{number}"):
            subprocess.run(["bash", "-c", "(sleep 0.1; kill -9 $BASHPID); sleep 0.4; true"], check=True)
        ends[f"failure-{number}"] = time.monotonic()
    time.sleep(5)
    show("silent failures", ends, arrivals, 0)


def stalls(session, count):
    arrivals, begins, stalled = Arrivals(session, "stalled"), {}, []
    for number in range(count):
        with session.task(f"stall-{number}"):
            reads, writes = os.pipe()
            stalled.append((subprocess.Popen(["cat"], stdin=reads, stdout=subprocess.DEVNULL), reads, writes))
        begins[f"stall-{number}"] = time.monotonic()
        time.sleep(0.7)  # The rounds of snapshots meet them at different times.
    time.sleep(RULE_S + 10)
    show("stalls", begins, arrivals, RULE_S)
    for process, reads, writes in stalled:
        os.close(reads)
        os.close(writes)
        process.wait()


def main():
    with tracer.session() as session:
        failures(session, int(sys.argv[1]) if len(sys.argv) > 1 else 20)
        stalls(session, int(sys.argv[2]) if len(sys.argv) > 2 else 8)


if __name__ == "__main__":
    main()
