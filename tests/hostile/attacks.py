#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One attack, as an ordinary user, until it is killed: attacks.py NAME FILE-OF-COUNTS FOLDER CGROUP TRACER.

The user owns the folder and the cgroup. In the file is what was done: begun processes, execs, cgroups, signals that
were sent, and signals that the tracer's kernel refused."""

import collections
import itertools
import os
import shutil
import signal
import subprocess
import sys

LONGEST_NAME = 200
# So many of the cgroups are there at one time; each fourth has a process that lives as long.
CGROUPS_AT_ONCE = 200
SIGNALS_AT_ONCE = 64


class Counts:
    """In a file, so that they are known when the attack is killed. Counted is what has been done."""
    FIELDS = ("processes", "execs", "cgroups", "signals", "refused")

    def __init__(self, path):
        self.file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
        self.values = dict.fromkeys(self.FIELDS, 0)

    def add(self, **numbers):
        for name, number in numbers.items():
            self.values[name] += number
        os.pwrite(self.file, " ".join(str(value).zfill(12) for value in self.values.values()).encode(), 0)

    @classmethod
    def read(cls, path):
        try:
            with open(path, encoding="ascii") as file:
                return dict(zip(cls.FIELDS, map(int, file.read().split())))
        except OSError:
            return {}


def spawn(counts, program, words, more=0):
    """posix_spawn() is a vfork. `more` processes are begun by the program itself, each executes something."""
    pid = os.posix_spawn(program, words, {}, file_actions=[(os.POSIX_SPAWN_OPEN, 2, "/dev/null", os.O_WRONLY, 0)])
    os.waitpid(pid, 0)
    counts.add(processes=1 + more, execs=1 + more)


def own_copy(program, name):
    shutil.copy(program, name)
    return os.path.abspath(name)


def names(counts, _cgroup, _tracer):
    """Each program has a name that was never there: of a script, or of an executable."""
    program = own_copy("/bin/true", "program")
    for i in itertools.count():
        name = f"n{i}-" + "x" * (i % LONGEST_NAME)
        spawn(counts, "/bin/sh", ["sh", "./" + name])
        os.link(program, name)
        spawn(counts, os.path.abspath(name), [name])
        os.unlink(name)


def engines(counts, _cgroup, _tracer):
    """What the rules take for runs and tasks of workflow engines, each under a new name."""
    nextflow, snakemake = own_copy("/bin/true", "nextflow"), own_copy("/bin/true", "snakemake")
    toil, cwltool = own_copy("/bin/true", "_toil_worker"), own_copy("/bin/sh", "cwltool")
    for i in itertools.count():
        spawn(counts, nextflow, ["./nextflow", "run", f"m{i}.nf", "-name", f"n{i}"])
        spawn(counts, snakemake, ["snakemake", "-s", f"Snakefile{i}"])
        spawn(counts, snakemake, ["snakemake", "--target-jobs", f"step{i}:sample=S{i},unit={i}", "--attempt", "1"])
        spawn(counts, toil, ["_toil_worker", f"step{i}", "store", f"id{i}"])
        # Its child is a task.
        spawn(counts, cwltool, ["cwltool", "-c", "/bin/true; :", f"w{i}.cwl"], more=1)


def arguments(counts, _cgroup, _tracer):
    """4 KiB of control characters, which are six times as long in JSON; new ones each time, that don't compress well."""
    to_control = bytes(1 + i % 31 for i in range(256))
    while True:
        spawn(counts, "/bin/true", [b"true", os.urandom(4000).translate(to_control)])


def forks(counts, _cgroup, _tracer):
    """Storms: trees of seven levels, and children whose parents have ended. dash is small, so that it forks fast."""
    storm = "t() { [ $1 -eq 0 ] || { t $(($1 - 1)) & t $(($1 - 1)) & wait; }; }; t 7; "
    orphans = "( : & ); " * 50
    while True:
        spawn(counts, "/bin/sh", ["sh", "-c", storm + orphans + ":"])
        counts.add(processes=254 + 100)


def vforks(counts, _cgroup, _tracer):
    while True:
        spawn(counts, "/bin/true", ["true"])


def cgroups(counts, cgroup, _tracer):
    """New ones all the time, with long names or with those of Slurm's steps, and a process in each."""
    there = collections.deque()

    def remove(folder, pid):
        if pid:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        os.rmdir(folder)
        if "/job_" in folder:
            os.rmdir(os.path.dirname(folder))

    for i in itertools.count(1):
        if i % 2:
            folder = f"{cgroup}/c{i}-" + "x" * (i % LONGEST_NAME)
        else:
            os.mkdir(f"{cgroup}/job_{i}")
            folder = f"{cgroup}/job_{i}/step_0"
        os.mkdir(folder)
        stays = i % 4 == 0
        ready, told = os.pipe()
        pid = os.fork()
        if pid == 0:
            with open(f"{folder}/cgroup.procs", "w", encoding="ascii") as file:
                file.write("0")
            # The other end is closed by the exec.
            os.execv("/bin/sleep" if stays else "/bin/true", ["sleep" if stays else "true", "1000000"])
        os.close(told)
        os.read(ready, 1)
        os.close(ready)
        if not stays:
            _, status = os.waitpid(pid, 0)
            if status != 0:
                sys.exit(f"no process in {folder}")
        counts.add(processes=1, execs=1, cgroups=2 - i % 2)
        there.append((folder, pid if stays else 0))
        if len(there) > CGROUPS_AT_ONCE:
            remove(*there.popleft())


def signals(counts, _cgroup, tracer):
    """To a child of its own, and to the tracer, which has another user: that is refused."""
    child = subprocess.Popen(["/bin/sleep", "1000000"])
    counts.add(processes=1, execs=1)
    while True:
        for _ in range(SIGNALS_AT_ONCE):
            for number in (signal.SIGCONT, signal.SIGWINCH, signal.SIGURG):
                child.send_signal(number)
            try:
                os.kill(tracer, signal.SIGINT)
                sys.exit("the tracer may be ended by anybody")
            except PermissionError:
                pass
        counts.add(signals=3 * SIGNALS_AT_ONCE, refused=SIGNALS_AT_ONCE)


ATTACKS = {attack.__name__: attack for attack in (names, engines, arguments, forks, vforks, cgroups, signals)}


def main():
    name, file, folder, cgroup, tracer = sys.argv[1:]
    counts = Counts(file)
    os.chdir(folder)
    ATTACKS[name](counts, cgroup, int(tracer))


if __name__ == "__main__":
    main()
