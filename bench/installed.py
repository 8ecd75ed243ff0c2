#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""From a package to the first figures, and how long a restart takes: bench/installed.py TRACERD.deb [RESTARTS]. Needs root, and
Debian's archive.

Under a real systemd in a copy of a Debian root: installs the package, whose dependencies are there, starts the service, and runs
a command of an ordinary user. Then kills the service, and prints from when until when nobody serves, as systemd sees it."""

import pathlib
import shutil
import statistics
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "scripts/lib"))
from debian_roots import RootCopy
from systemd_machine import SystemdMachine

APT = "apt-get", "-q", "-y", "--no-install-recommends"


def good(root, *words):
    status, text = root.run(*words)
    if status != 0:
        sys.exit(f"{' '.join(words)}: {text}")
    return text


def timed(root, *words):
    begin = time.monotonic()
    text = good(root, *words)
    return time.monotonic() - begin, text


def down_s(machine):
    """From the end of the process until another one is ready."""
    process = good(machine, "systemctl", "show", "--value", "--property=MainPID", "tracerd").strip()
    begin = time.clock_gettime(time.CLOCK_MONOTONIC)
    good(machine, "sh", "-c", f"kill -9 {process}")
    while True:
        time.sleep(0.1)
        lines = good(machine, "systemctl", "show", "--property=ActiveState,MainPID,ActiveEnterTimestampMonotonic", "tracerd")
        shown = dict(line.split("=", 1) for line in lines.splitlines())
        if shown["ActiveState"] == "active" and shown["MainPID"] not in ("0", process):
            return int(shown["ActiveEnterTimestampMonotonic"]) / 1e6 - begin


def main():
    restarts = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    folder = tempfile.mkdtemp(prefix="libtracer-installed-")
    root = RootCopy(folder)
    root.put("/root/tracerd.deb", sys.argv[1])
    for words in ((*APT, "update"), (*APT, "install", "systemd", "dbus"), (*APT, "install", "/root/tracerd.deb"),
                  ("dpkg", "--purge", "tracerd")):
        good(root, *words)
    machine = SystemdMachine(root)
    try:
        good(machine, "useradd", "--create-home", "alice")
        install_s, _ = timed(machine, *APT, "install", "/root/tracerd.deb")
        start_s, _ = timed(machine, "systemctl", "start", "tracerd")
        run_s, text = timed(machine, *machine.as_user("alice", "tracerd", "run", "--", "gzip", "--version"))
        print(next(line for line in text.splitlines() if "complete" in line))
        print(f"apt-get install {install_s:.1f} s, systemctl start {start_s:.1f} s, tracerd run {run_s:.1f} s; "
              f"together {install_s + start_s + run_s:.1f} s")
        times = []
        for _ in range(restarts):
            good(machine, "systemctl", "reset-failed", "tracerd")
            times.append(down_s(machine))
            time.sleep(1)
        print(f"down after kill -9: median {statistics.median(times):.2f} s, largest of {restarts} {max(times):.2f} s")
    finally:
        machine.close()
        root.close()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
