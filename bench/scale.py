#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what a session costs where much lives: memory, and how long the ring is not drained.

usage: bench/scale.py TRACERD [--processes N] [--threads N] [--seconds N] [--before TRACERD]

Starts N processes of N threads that sleep, and watches them: without snapshots, and with one each second. Tells the
resident memory of both, and their difference: that of a snapshot; then, by strace, the longest time between two looks at
what the kernel hands out, in which the ring is drained. Needs root, a C compiler, and strace for the second part.
"""

from __future__ import annotations

import argparse
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent


def memory_of(pid: int) -> dict[str, int]:
    """In KiB."""
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return {name: int(value) for name, value in re.findall(r"^(VmHWM|VmRSS):\s+(\d+) kB", text, re.M)}


def watched(tracerd: str, pid: int, families: str, seconds: float) -> dict[str, int]:
    watch = subprocess.Popen([tracerd, "watch", "--pid", str(pid), "--no-live", "--families", families],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    time.sleep(seconds)
    memory = memory_of(watch.pid)
    watch.send_signal(signal.SIGINT)
    watch.wait()
    return memory


def longest_pauses(tracerd: str, pid: int, seconds: float) -> list[float]:
    """In ms: within each snapshot, the longest time from one chunk to the next."""
    with tempfile.NamedTemporaryFile() as log:
        watch = subprocess.Popen(["strace", "-f", "-qq", "-ttt", "-e", "trace=read,bpf", "-e", "signal=none", "-o", log.name,
                                  tracerd, "watch", "--pid", str(pid), "--no-live"],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        time.sleep(seconds)
        children = pathlib.Path(f"/proc/{watch.pid}/task/{watch.pid}/children").read_text().split()
        subprocess.run(["kill", "-INT", *children], check=True)
        watch.wait()
        pauses: list[float] = []
        longest = last = 0.0
        chunks = 0
        for line in pathlib.Path(log.name).read_text().splitlines():
            found = re.match(r"\d+\s+(\d+\.\d+) (read|bpf)\((.*)", line)
            if not found:
                continue
            at, call, rest = float(found[1]), found[2], found[3]
            if call == "bpf" and "BPF_ITER_CREATE" in rest:
                longest, last, chunks = 0.0, at, 0
            elif call == "read" and last and rest.endswith(("32768) = 0",)) and chunks:
                pauses.append(1e3 * max(longest, at - last))
                last = 0.0
            elif call == "read" and last and ", 32768)" in rest:
                longest, last, chunks = max(longest, at - last), at, chunks + 1
        return [each for each in pauses if each]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tracerd")
    parser.add_argument("--processes", type=int, default=2000)
    parser.add_argument("--threads", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--before", help="an older tracerd, to compare with")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "crowd"
        subprocess.run([shutil.which("cc") or "gcc", "-O1", "-pthread", "-o", program, HERE / "crowd.c"], check=True)
        crowd = subprocess.Popen([program, str(given.processes), str(given.threads)], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, text=True)
        try:
            if crowd.stdout.readline() != "ready\n":
                print("so many processes or threads are not to be had here", file=sys.stderr)
                return 1
            for name, tracerd in (("now", given.tracerd), *((("before", given.before),) if given.before else ())):
                without = watched(tracerd, crowd.pid, "waits", given.seconds)
                with_snapshots = watched(tracerd, crowd.pid, "waits,snapshots", given.seconds)
                print(f"{name}: resident {without['VmRSS'] / 1024:.1f} MiB, at most {without['VmHWM'] / 1024:.1f}; "
                      f"with snapshots at most {with_snapshots['VmHWM'] / 1024:.1f}: "
                      f"{(with_snapshots['VmHWM'] - without['VmHWM']) / 1024:.1f} MiB more")
                if shutil.which("strace"):
                    pauses = longest_pauses(tracerd, crowd.pid, given.seconds)
                    print(f"{name}: longest time between two chunks, ms, a snapshot each: "
                          + " ".join(f"{each:.1f}" for each in pauses))
        finally:
            crowd.stdin.close()
            crowd.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
