#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what a session costs where much lives: memory, and how long the ring is not drained.

usage: bench/scale.py TRACERD [--processes N] [--threads N] [--seconds N] [--before TRACERD]

Starts N processes of N threads that sleep, and watches them: without snapshots, and with one each second. Tells the
resident memory of both, and their difference: that of a snapshot; then, beside a storm of processes, the longest time in
which nothing left the ring though there was enough in it to wake the reader. Needs root and a C compiler.
"""

from __future__ import annotations

import argparse
import ctypes
import mmap
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
RING_MIB = 1
# An eighth.
WAKES_BYTES = (RING_MIB << 20) // 8


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


class Ring:
    """The two positions of the ring that a tracerd has, as the kernel keeps them."""
    NR_BPF, FD_BY_ID, RINGBUF = 321, 14, 27

    def __init__(self, pid: int):
        infos = [each.read_text() for each in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir()]
        [number] = {int(re.search(r"map_id:\s+(\d+)", info)[1]) for info in infos
                    if re.search(rf"map_type:\s+{self.RINGBUF}\n", info)}
        attributes = ctypes.create_string_buffer(struct.pack("=II", number, 0), 120)
        fd = ctypes.CDLL(None, use_errno=True).syscall(self.NR_BPF, self.FD_BY_ID, attributes, 120)
        page = mmap.PAGESIZE
        self.consumer = mmap.mmap(fd, page, mmap.MAP_SHARED, mmap.PROT_READ, offset=0)
        self.producer = mmap.mmap(fd, page, mmap.MAP_SHARED, mmap.PROT_READ, offset=page)
        os.close(fd)

    def positions(self) -> tuple[int, int]:
        return struct.unpack_from("=Q", self.consumer)[0], struct.unpack_from("=Q", self.producer)[0]


def undrained(tracerd: str, seconds: float, options: list[str]) -> tuple[float, str]:
    """In ms, beside a storm that fills an eighth of the ring every few ms, at which the reader is woken: the longest time in
    which nothing left the ring though it held that much; and how the table ends."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile("w+") as table:
        storm = pathlib.Path(folder) / "storm"
        subprocess.run([shutil.which("cc") or "gcc", "-O1", "-o", storm, HERE / "storm.c"], check=True)
        noop = pathlib.Path(folder) / "noop"
        subprocess.run([shutil.which("cc") or "gcc", "-O1", "-static", "-o", noop, HERE / "noop.c"], check=True)
        watch = subprocess.Popen([tracerd, "watch", "--host", "--no-live", "--ring", str(RING_MIB), *options],
                                 stdout=subprocess.DEVNULL, stderr=table, stdin=subprocess.DEVNULL)
        loop = None
        try:
            time.sleep(3)
            ring = Ring(watch.pid)
            loop = subprocess.Popen(["sh", "-c", f'while :; do {storm} 20000 {noop} "$1" || exit; done', "sh", "x" * 4000],
                                    start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            os.setpriority(os.PRIO_PROCESS, 0, -20)
            longest = 0.0
            until = time.monotonic() + seconds
            last, since = ring.positions()[0], time.monotonic()
            while (now := time.monotonic()) < until:
                consumed, produced = ring.positions()
                if consumed != last or produced - consumed < WAKES_BYTES:
                    last, since = consumed, now
                longest = max(longest, now - since)
                time.sleep(0.0002)
            os.setpriority(os.PRIO_PROCESS, 0, 0)
        finally:
            if loop:
                os.killpg(loop.pid, signal.SIGKILL)
                loop.wait()
            watch.send_signal(signal.SIGINT)
            watch.wait()
        table.seek(0)
        ends = [line for line in table.read().splitlines() if "complete" in line.lower()]
    return 1e3 * longest, ends[-1] if ends else "no table"


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
                for what, families in (("with snapshots", "waits,snapshots"), ("without", "waits")):
                    longest, end = undrained(tracerd, given.seconds, ["--families", families])
                    print(f"{name}: {what}, the ring was not drained for {longest:.1f} ms at most; {end}")
        finally:
            crowd.stdin.close()
            crowd.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
