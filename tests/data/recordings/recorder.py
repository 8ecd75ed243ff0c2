# SPDX-License-Identifier: Apache-2.0
"""What each recording is made with: /tmp/work, /opt/tracerd and a clean environment. See `make`."""

import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[3]
WORK = pathlib.Path("/tmp/work")
TRACERD = "/opt/tracerd"
PYTHON = "/usr/bin/python3"
ALICE, BOB = 20011, 20012
SECONDS = 900
HIERARCHIES = ("memory", "cpu", "blkio") if os.path.isdir("/sys/fs/cgroup/memory") else ("",)
ENVIRONMENT = {"PATH": f"{WORK}/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL": "C.UTF-8", "TZ": "UTC", "HOME": f"{WORK}/home"}


def cgroup(hierarchy, name=""):
    """A folder: of cgroup v1, or of the one hierarchy of v2."""
    return os.path.join("/sys/fs/cgroup", hierarchy if len(HIERARCHIES) > 1 else "", "batch", name).rstrip("/")


def limited(hierarchy, name, limits):
    """A new cgroup; `limits`: the text of each file that it has."""
    folder = cgroup(hierarchy, name)
    os.mkdir(folder)
    for file, text in limits.items():
        if os.path.exists(f"{folder}/{file}"):
            pathlib.Path(folder, file).write_text(text, encoding="ascii")
    return folder


def as_user(uid, *words):
    return ["setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups", "--inh-caps=-all", "--bounding-set=-all",
            *map(str, words)]


def task(command, step, **more):
    return " ".join([TRACERD, "task", "--step", step, *(f"--{name} {value}" for name, value in more.items()), "--", command])


class Recorder:
    """Of one recording: NAME.tracer in /tmp/work, which is empty before."""

    def __init__(self, name):
        self.file = WORK / f"{name}.tracer"
        (WORK / "home").mkdir()
        (WORK / "home").chmod(0o777)

    def write(self, name, text):
        path = WORK / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)
        return path

    def program(self, name, source):
        """Of C."""
        subprocess.run(["cc", "-O1", "-pthread", "-o", WORK / name, self.write(name + ".c", source)], check=True)
        return WORK / name

    def words(self, *options, what=("run", "--no-live", "--no-history")):
        return [TRACERD, *what, "--record", str(self.file), *map(str, options)]

    def call(self, *words, **environment):
        with open(WORK / "log", "ab") as log:
            return subprocess.run([*map(str, words)], cwd=WORK, env=ENVIRONMENT | environment, stdin=subprocess.DEVNULL, stdout=log,
                                  stderr=log, timeout=SECONDS, check=False)

    def run(self, *command, options=(), user=None, **environment):
        words = self.words(*options, "--", *command)
        self.call(*(as_user(user, *words) if user else words), **environment)

    def script(self, text, **more):
        self.run("bash", self.write("run.sh", text), **more)
