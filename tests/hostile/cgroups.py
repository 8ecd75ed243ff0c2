# SPDX-License-Identifier: Apache-2.0
"""Cgroups for the attacker, which own theirs, and for the worker; a share of the CPUs for the attacker."""

import contextlib
import os
import time


def mounts():
    """Folder and controllers of each hierarchy; those of v2 are None."""
    with open("/proc/mounts", encoding="utf-8") as file:
        for line in file:
            _, folder, kind, options = line.split()[:4]
            if kind == "cgroup":
                yield folder, set(options.split(","))
            elif kind == "cgroup2":
                yield folder, None


def reported():
    """The hierarchy whose cgroups tracerd reports (docs/kernel-side.md)."""
    found = list(mounts())
    for wanted in ("memory", "pids"):
        for folder, controllers in found:
            if controllers and wanted in controllers:
                return folder
    return next((folder for folder, controllers in found if controllers is None), None)


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


class Cgroups:
    """`attacker` and `worker` are folders to start processes in, `all` all of them; `end()` kills what is there."""

    def __init__(self, attacker_uid, shares):
        self.tops = []
        self.attacker, self.worker = [], []
        name = f"tracer-hostile-{os.getpid()}"
        hierarchy = reported()
        if hierarchy is None:
            raise OSError("no cgroups are mounted here")
        try:
            self.top = self.make(os.path.join(hierarchy, name))
            for path in ("attacker", "worker"):
                os.mkdir(os.path.join(self.top, path))
            self.delegated = os.path.join(self.top, "attacker")
            self.attacker.append(self.delegated)
            self.worker.append(os.path.join(self.top, "worker"))
            for path in (self.delegated, os.path.join(self.delegated, "cgroup.procs")):
                os.chown(path, attacker_uid, attacker_uid)
            self.worker_path = f"/{name}/worker"
            self.has_shares = shares is None or self.share(name, shares)
        except BaseException:
            self.end()
            raise

    def make(self, folder):
        os.mkdir(folder)
        self.tops.append(folder)
        return folder

    def share(self, name, shares):
        """False if there is no controller for it."""
        for folder, controllers in mounts():
            if controllers and "cpu" in controllers:
                top = self.make(os.path.join(folder, name)) if folder != os.path.dirname(self.top) else self.top
                write(os.path.join(top, "cpu.shares"), str(shares))
                self.attacker.append(top)
                return True
        with contextlib.suppress(OSError):
            if os.path.exists(os.path.join(self.top, "cgroup.controllers")):
                write(os.path.join(os.path.dirname(self.top), "cgroup.subtree_control"), "+cpu")
                write(os.path.join(self.top, "cgroup.subtree_control"), "+cpu")
                write(os.path.join(self.delegated, "cpu.weight"), str(max(1, min(10000, shares * 100 // 1024))))
                return True
        return False

    def end(self):
        """Kills all that is in them, also what has left its parent, and removes them."""
        for top in self.tops:
            until = time.monotonic() + 30
            while os.path.isdir(top) and time.monotonic() < until:
                for folder, _, _ in os.walk(top, topdown=False):
                    with contextlib.suppress(OSError):
                        with open(os.path.join(folder, "cgroup.procs"), encoding="ascii") as file:
                            for pid in file.read().split():
                                os.kill(int(pid), 9)
                    with contextlib.suppress(OSError):
                        os.rmdir(folder)
                time.sleep(0.05)
            if os.path.isdir(top):
                print(f"{top} could not be removed")
