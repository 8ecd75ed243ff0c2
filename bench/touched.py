#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the memory of tracerd beside many files, peers and containers, and whether what it folds and loses is counted.

usage: bench/touched.py TRACERD [--scale SHARE] [--workers N] [--families LIST]

A million opens of files with different names, 100,000 connections to different addresses of this host, and 10,000 cgroups
with a process in each, made and removed; or a share of them. `tracerd watch --record` follows the processes, which live to
the end. Prints its resident memory after each quarter, and what the recording has of all this. Needs root, a C compiler and a
tmpfs in /dev/shm; takes some minutes.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from typing import NamedTuple

HERE = pathlib.Path(__file__).resolve().parent
CGROUPS = pathlib.Path("/sys/fs/cgroup")
OPENS, CONNECTIONS, CONTAINERS = 1_000_000, 100_000, 10_000
MOST_MIB = 48


class Resident(NamedTuple):
    """In MiB, as /proc/PID/status has it. `files` are pages of its program, and of the kernel's ring, which it maps."""

    whole: float
    own: float
    files: float
    shared: float

    def __str__(self) -> str:
        return (f"resident {self.whole:.1f} MiB: {self.own:.1f} its own (RssAnon), {self.files:.1f} of files and of the kernel's "
                f"ring (RssFile), {self.shared:.1f} shared (RssShmem)")


def resident(pid: int) -> Resident:
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return Resident(*(int(re.search(rf"^{name}:\s+(\d+) kB", text, re.M)[1]) / 1024
                      for name in ("VmRSS", "RssAnon", "RssFile", "RssShmem")))


class Most(threading.Thread):
    """When it had most, looked at every 20 ms until it has ended."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.pid, self.resident = pid, resident(pid)
        self.start()

    def run(self) -> None:
        # A zombie has no memory.
        with contextlib.suppress(OSError, TypeError):
            while True:
                self.resident = max(self.resident, resident(self.pid))
                time.sleep(0.02)


def hierarchy() -> pathlib.Path:
    """Where tracerd looks for containers: version 2, or of version 1 that of memory."""
    return CGROUPS if (CGROUPS / "cgroup.controllers").exists() else CGROUPS / "memory"


@contextlib.contextmanager
def folder_of_cgroups():
    """Removed again, with what a workload that failed has left in it."""
    place = hierarchy() / f"tracer-bench-{os.getpid()}"
    place.mkdir()
    try:
        yield place
    finally:
        for tries in range(100):
            for each in place.glob("*/"):
                with contextlib.suppress(OSError):
                    each.rmdir()
            with contextlib.suppress(OSError):
                place.rmdir()
            if not place.exists():
                break
            time.sleep(0.1)
        else:
            print(f"{place} is still there: a process is in it", file=sys.stderr)


def rounds(workload: subprocess.Popen[str], watch: subprocess.Popen[bytes]) -> list[float]:
    """The resident memory of tracerd after each quarter."""
    whole = []
    print(f"before: {resident(watch.pid)}", flush=True)
    for quarter in range(1, 5):
        begin = time.monotonic()
        workload.stdin.write("go\n")
        workload.stdin.flush()
        if workload.stdout.readline() != "done\n":
            raise SystemExit("the workload has failed")
        # The rest of the ring is read by then.
        time.sleep(1)
        now = resident(watch.pid)
        whole.append(now.whole)
        print(f"{25 * quarter:3} %: {now}; after {time.monotonic() - begin - 1:.1f} s", flush=True)
    return whole


def counted(tracerd: str, recording: str) -> collections.Counter[str]:
    found: collections.Counter[str] = collections.Counter()
    with subprocess.Popen([tracerd, "dump", recording], stdout=subprocess.PIPE) as dump:
        for line in dump.stdout:
            event = json.loads(line)
            kind = event.get("kind")
            if kind == "file_use" and event["opened_to_write"]:
                found[f"opens, {event['folded'] or 'told apart'}"] += event["opens"]
            elif kind == "connection":
                found[f"sends, {event['folded'] or 'told apart'}"] += event["sends"]
            elif kind in ("container_start", "container_finish"):
                found[kind] += 1
            elif kind == "loss":
                found[f"loss {event['cause']}"] += event["count"]
    return found


def measure(given: argparse.Namespace, folder: str) -> int:
    opens, connections, containers = (round(given.scale * each) for each in (OPENS, CONNECTIONS, CONTAINERS))
    program = os.path.join(folder, "touched")
    subprocess.run([shutil.which("cc") or "gcc", "-O1", "-o", program, HERE / "touched.c"], check=True)
    recording = os.path.join(folder, "r.tracer")
    with folder_of_cgroups() as cgroups, tempfile.TemporaryDirectory(dir="/dev/shm") as files:
        workload = subprocess.Popen([program, files, cgroups, *map(str, (opens, connections, containers, given.workers))],
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        watch = None
        try:
            if workload.stdout.readline() != "ready\n":
                raise SystemExit("the workload does not begin")
            watch = subprocess.Popen([given.tracerd, "watch", "--pid", str(workload.pid), "--no-live", "--families",
                                      given.families, "--record", recording],
                                     stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(3)
            if watch.poll() is not None:
                raise SystemExit("tracerd has ended: it needs root, and these families")
            most = Most(watch.pid)
            whole = rounds(workload, watch)
            workload.stdin.close()
            # It ends with the last of them.
            most_kib = os.wait4(watch.pid, 0)[2].ru_maxrss
            watch.returncode = 0
        finally:
            workload.kill()
            workload.wait()
            if watch is not None and watch.returncode is None:
                watch.send_signal(signal.SIGINT)
                watch.wait()
    found = counted(given.tracerd, recording)
    print(f"at most {most_kib / 1024:.1f} MiB from its beginning to its end (bar: {MOST_MIB} MiB); after the last quarter "
          f"{whole[-1] / whole[0]:.3f} times the memory after the first")
    print(f"at most, while it followed: {most.resident}")
    for what, count in sorted(found.items()):
        print(f"  {what}: {count}")
    for what, truth, prefix in (("opens", opens, "opens,"), ("sends", 2 * connections, "sends,"),
                                ("containers", containers, "container_finish")):
        seen = sum(count for name, count in found.items() if name.startswith(prefix))
        print(f"  {seen} of {truth} {what}")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tracerd")
    parser.add_argument("--scale", type=float, default=1.0, help="the share of all this (default: 1)")
    parser.add_argument("--workers", type=int, default=64, help="processes that open and connect (default: 64)")
    parser.add_argument("--families", default="files,network,containers")
    given = parser.parse_args()
    # Cgroups are removed then, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory() as folder:
        return measure(given, folder)


if __name__ == "__main__":
    sys.exit(main())
