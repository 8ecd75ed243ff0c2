#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the service costs where little happens: bench/at_rest.py TRACERD [SECONDS]. Needs root and a host with nothing else to do.

Prints the CPU time of the service as a share of one CPU, with all threads, and its memory: on the quiet host, and beside 50
processes a second. Recordings are written, as an installed service does."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from serve import ask, begin, cpu_s, of_process

PER_SECOND = 50
SETTLES_S = 30  # What a start costs is no rest, and it comes to rest step by step.


def configured_in(folder):
    """A configuration that records."""
    config = pathlib.Path(folder, "tracerd.toml")
    config.write_text(f'schema = 1\n[recordings]\nfolder = "{folder}/recordings"\n', encoding="utf-8")
    os.mkdir(f"{folder}/recordings", 0o700)
    return config


def rest(seconds):
    time.sleep(seconds)
    return 0


def processes(seconds):
    """Evenly: the share must not hang on how fast this machine forks."""
    began_s = time.monotonic()
    count = 0
    while time.monotonic() < began_s + seconds:
        subprocess.run(["/bin/true"], check=True)
        count += 1
        time.sleep(max(0.0, began_s + count / PER_SECOND - time.monotonic()))
    return count


def main():
    tracerd = sys.argv[1]
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 60
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/s"
        service = begin(tracerd, path, "--config", configured_in(folder))
        try:
            time.sleep(SETTLES_S)
            for name, work in (("quiet", rest), (f"{PER_SECOND} processes a second", processes)):
                before, began_s = cpu_s(service.pid), time.monotonic()
                events = ask(path, request="statistics")["statistics"]["events"]
                count = work(seconds)
                spent, wall = cpu_s(service.pid) - before, time.monotonic() - began_s
                events = ask(path, request="statistics")["statistics"]["events"] - events
                print(f"{name}: {100 * spent / wall:.3f} % of a CPU over {wall:.0f} s, {count} processes, {events} events, "
                      f"RSS {of_process(service.pid, 'VmRSS') / 1024:.1f} MiB")
        finally:
            service.send_signal(signal.SIGTERM)
            service.wait()


if __name__ == "__main__":
    main()
