#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""calls.py TRACERD [ROUNDS]: what the family syscalls adds to the shortest system call, in ns: of a process that is not
followed, while another one is; and of one that is. The fastest of 2,000 times
1,000 calls, as others may use the machine. Paired within a round and interleaved."""

import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

CALL_ROUNDS = 2000
HERE = pathlib.Path(__file__).resolve().parent


def ns_of(command):
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[0])


class Tracing:
    """A session that follows another process, for as long as the block lasts."""

    def __init__(self, tracerd, families):
        self.command = [tracerd, "run", "--families", families, "--no-live", "--", "sleep", "3600"]

    def __enter__(self):
        self.child = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(1)

    def __exit__(self, *_):
        self.child.terminate()
        self.child.wait()


def main():
    tracerd, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 7
    with tempfile.TemporaryDirectory() as folder:
        calls = os.path.join(folder, "calls")
        subprocess.run(["cc", "-O2", "-o", calls, HERE / "calls.c"], check=True)
        command = [calls, str(CALL_ROUNDS)]
        traced = [tracerd, "run", "--no-live", "--json", "/dev/null", "--families"]
        found = {"untraced": [], "others followed, without": [], "others followed, with": [], "followed, without": [],
                 "followed, with": []}
        for _ in range(rounds):
            found["untraced"].append(ns_of(command))
            for name, families in (("without", "none"), ("with", "syscalls")):
                with Tracing(tracerd, families):
                    found[f"others followed, {name}"].append(ns_of(command))
                found[f"followed, {name}"].append(ns_of([*traced, families, "--", *command]))
        for name, times in found.items():
            more = [each - before for each, before in zip(times, found["untraced"])]
            ratios = [each / before for each, before in zip(times, found["untraced"])]
            print(f"{name}: {statistics.median(times):.0f} ns a call; {statistics.median(more):.0f} ns more "
                  f"({min(more):.0f} to {max(more):.0f}); ratio {statistics.median(ratios):.2f}")


if __name__ == "__main__":
    main()
