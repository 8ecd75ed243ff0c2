#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One attack on the service, as an ordinary user, until it is killed: service_attacks.py NAME WORLD.

WORLD is a JSON file of service.World. In its `report` is what was done, and what was granted that must not be."""

import contextlib
import ctypes
import itertools
import json
import os
import random
import select
import signal
import socket
import subprocess
import sys
import threading
import time

from client import Client

KIB = 1024
LINE_BYTES = 256 * KIB
CONTEXT_FIELDS = ("pipeline", "run", "step", "sample", "task", "task_id", "engine", "run_id")
CONTEXT_BYTES = 1024
LABELS = 62
RENAME_EXCHANGE = 2
AT_FDCWD = -100


class Hostile:
    """Who attacks, with what it has done."""

    def __init__(self, world):
        self.__dict__.update(world)
        self.counts, self.wrong, self.is_over = {}, [], False
        self.written = 0.0
        self.random = random.Random(1)

    def write(self):
        with open(self.report + ".new", "w", encoding="utf-8") as file:
            json.dump({"counts": self.counts, "wrong": self.wrong[:20], "is_over": self.is_over}, file)
        os.rename(self.report + ".new", self.report)
        self.written = time.monotonic()

    def count(self, **numbers):
        for name, number in numbers.items():
            self.counts[name] = self.counts.get(name, 0) + number
        if time.monotonic() - self.written > 0.1:
            self.write()

    def grant(self, what):
        """It was granted, and must not be."""
        if what not in self.wrong:
            self.wrong.append(what)
            self.write()

    def client(self, patience=300.0):
        return Client(self.socket, patience)

    def ask(self, client, name, **fields):
        reply = client.ask(name, **fields)
        self.count(requests=1, **{} if reply["ok"] else {"refused": 1})
        return reply

    def text(self, length):
        """One that nothing shares, and that does not compress."""
        return self.mark + os.urandom(length // 2 + 1).hex()[:max(0, length - len(self.mark))]

    def full_context(self):
        return ({name: self.text(CONTEXT_BYTES) for name in CONTEXT_FIELDS}
                | {"labels": {self.text(CONTEXT_BYTES): self.text(CONTEXT_BYTES) for _ in range(LABELS)}})

    def helper(self, work):
        """A process that does `work(self)` beside this one; it ends with it."""
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)
            if os.getppid() != parent:
                os._exit(0)
            self.report += f"-{os.getpid()}"
            self.counts, self.wrong = {}, []
            try:
                work(self)
                self.write()
            finally:
                os._exit(0)
        self.count(processes=1)
        return pid

    def stay(self):
        self.is_over = True
        self.write()
        while True:
            time.sleep(1)


def own_labels(hostile, client, most, context):
    """As many as it may have."""
    for number in range(most):
        if not hostile.ask(client, "label", tid=os.getpid(), context=context(number))["ok"]:
            break


# What each attack does is in its name and its text: the report of a broken property has them.

def requests(hostile):
    """All requests with wrong types, extreme values and broken bytes."""
    me = os.getpid()
    context = {"task": hostile.mark, "labels": {"a": "b"}}
    good = [{"request": name} for name in ("totals", "statistics", "status", "snapshot", "flush", "history", "recordings", "usage")]
    good += [{"request": "hello", "version": 1}, {"request": "findings", "since_ns": 0}, {"request": "recordings", "since": 1},
             {"request": "history", "pipeline": "p", "step": "s", "input_bytes": 1},
             {"request": "state", "since": "0.1", "rows": ["tasks", "counts"], "key": "0" * 16, "fields": ["cpu_ns", "state"]},
             {"request": "attach", "pid": me, "context": context, "command": True, "held": True, "stream": 3},
             {"request": "label", "tid": me, "context": context}, {"request": "end_label", "label": 1},
             {"request": "resume_label", "label": 1, "tid": me}, {"request": "unlabel", "tid": me},
             {"request": "own_work", "context": context, "work": {"begin_ns": 1, "end_ns": 2, "cpu_ns": 3}},
             {"request": "subscribe", "filter": [{"include": {"tree": me}}, {"exclude": {"tool": "x*"}}], "kinds": ["loss"],
              "living_first": True, "capacity_bytes": 1, "stream": 1, "from": 1}]
    good += [{"request": "announce", "key": key, "context": context, "requested": {"millicpus": 1}, "expires_after_s": 1}
             for key in ({"work_dir": hostile.folder + "/w"}, {"pid": me}, {"below": {"pid": me}, "argv": ["...", "x", "..."]},
                         {"cgroup": "/.." + hostile.folder}, {"container": "0123456789ab"}, {"slurm_job": "1"})]
    values = (None, 0, 1, -1, 2**31, 2**63, 2**64 - 1, -2**63, 1e308, "", "\0", "a" * 5000, "\u202e", [], {}, True, [[]],
              {"": {}}, "/", "..", "/proc/1/root", "/etc/shadow", 1.5, "0" * 300, [None] * 100, "\x1b" * 2000)
    names = ("key", "pid", "context", "labels", "\0", "filter", "argv")
    chance = hostile.random.random

    def changed(value, depth=0):
        if chance() < 0.15 or depth > 4:
            return hostile.random.choice(values)
        if isinstance(value, dict):
            found = {hostile.random.choice(names) if chance() < 0.03 else key: changed(each, depth + 1) if chance() < 0.25 else each
                     for key, each in value.items() if chance() > 0.05}
            return found
        if isinstance(value, list):
            return [changed(each, depth + 1) for each in value] + ([changed(0, depth + 1)] if chance() < 0.2 else [])
        return hostile.random.choice(values)

    def has_nul(value):
        if isinstance(value, dict):
            return any("\0" in key or has_nul(each) for key, each in value.items())
        return any(map(has_nul, value)) if isinstance(value, list) else isinstance(value, str) and "\0" in value

    # Texts must not have NUL, in names as in values.
    with hostile.client() as client:
        for labels in ({"a\0b": "c"}, {"a": "b\0c"}):
            if hostile.ask(client, "label", tid=me, context={"task": "t", "labels": labels})["ok"]:
                hostile.grant(f"NUL was accepted in {labels!r}")
    client = None
    while True:
        try:
            if client is None:
                client = hostile.client()
            request = changed(hostile.random.choice(good))
            line = json.dumps(request).encode()
            if chance() < 0.2:
                broken = bytearray(line)
                for _ in range(hostile.random.randint(1, 4)):
                    broken[hostile.random.randrange(len(broken))] = hostile.random.randrange(256)
                line = bytes(broken).replace(b"\n", b" ")
            client.raw(line + b"\n")
            hostile.count(requests=1)
            if b'"subscribe"' in line or chance() < 0.05:
                client.socket.close()
                client = None
            else:
                client.line()
        except (OSError, EOFError):
            client = None


def labels(hostile):
    """A label with a full context, and bursts of forks below it."""
    with hostile.client() as client:
        hostile.ask(client, "label", tid=os.getpid(), context=hostile.full_context())
        # Bursts are enough, and recordings stay small enough to read.
        storm_of_forks(hostile, pause=1)


def storm_of_forks(hostile, pause=0):
    """dash is small, so that it forks fast."""
    while True:
        subprocess.run(["/bin/sh", "-c", "i=0; while [ $i -lt 500 ]; do (:); i=$((i + 1)); done"], check=False)
        hostile.count(processes=501)
        time.sleep(pause)


def ended_tasks(hostile):
    """Tasks with full contexts that fail, one after the other: each has a finding."""
    with hostile.client() as client:
        while True:
            label = hostile.ask(client, "label", tid=os.getpid(), context=hostile.full_context()).get("label")
            subprocess.run(["/bin/sh", "-c", "/bin/true; exit 127"], check=False)
            hostile.count(processes=2)
            if label is not None:
                hostile.ask(client, "end_label", label=label)


def control_characters(hostile):
    """As many labels and announcements as it may have, of control characters, which are six times as long in JSON. Then it
    leaves, and its labels end, while processes begin."""
    text = "\1" * 42000
    with hostile.client() as client:
        own_labels(hostile, client, 400, lambda number: {"pipeline": f"{number:05}{text}"})
        for number in range(110):
            if not hostile.ask(client, "announce", key={"work_dir": f"{hostile.folder}/w{number}"},
                               context={"task": f"{number:05}", "pipeline": text})["ok"]:
                break
        hostile.is_over = True
        hostile.write()
        time.sleep(2)
    storm_of_forks(hostile)


def announcements(hostile):
    """All that each of its ids may announce, with large contexts."""
    labels = {f"{number:03}" + "n" * 900: "x" * 1000 for number in range(30)}
    with hostile.client() as client:
        for number in itertools.count():
            context = {"task": f"{hostile.mark}-{number}", "labels": labels}
            if not hostile.ask(client, "announce", key={"work_dir": f"{hostile.folder}/w{number}"}, context=context)["ok"]:
                if not labels:
                    break
                labels = {}
        for key in ({"pid": os.getpid()}, {"below": {"pid": os.getpid()}, "argv": ["...", "*a*b*c*d*e*", "..."]}):
            hostile.ask(client, "announce", key=key, context={"task": hostile.mark})
        hostile.stay()


def lines(hostile):
    """Long lines whose objects are many or deep, on many connections at a time."""
    head, tail = b'{"request":"hello","version":1,"x":[', b"]}\n"
    units = (b"{}", b"[]", b"0", b'{"":0}', b"[[]]", b"[" * 12 + b"]" * 12)
    made = [head + b",".join([unit] * ((LINE_BYTES - len(head) - len(tail)) // (len(unit) + 1))) + tail for unit in units]
    made += [b"[" * (LINE_BYTES - 1) + b"\n", b"\xff" * (LINE_BYTES - 1) + b"\n", b" " * (LINE_BYTES + 1) + b"\n"]

    def send(_):
        while True:
            for line in made:
                try:
                    with hostile.client() as client:
                        client.raw(line)
                        client.line()
                except (OSError, EOFError):
                    pass
                hostile.count(requests=1)

    for _ in range(7):
        hostile.helper(send)
    send(hostile)


def connections(hostile):
    """Connections that come and go."""
    def connect(_):
        while True:
            made = socket.socket(socket.AF_UNIX)
            made.setblocking(False)
            try:
                made.connect(hostile.socket)
                hostile.count(connections=1)
            except BlockingIOError:
                pass
            made.close()

    for _ in range(2):
        hostile.helper(connect)
    connect(hostile)


def slow_readers(hostile):
    """Streams that nobody reads, replies that nobody reads, halves of lines, and events for all of them."""
    kept = []
    for number in range(70):
        try:
            client = hostile.client(5)
            kept.append(client)
            if number < 34:
                client.raw(b'{"request":"subscribe","living_first":true,"capacity_bytes":8388608}\n')
            elif number < 50:
                client.socket.setblocking(False)
                client.raw(b'{"request":"snapshot"}\n' * 2000)
            else:
                client.raw(b'{"request":"tot')
        except (OSError, EOFError):
            pass
        hostile.count(requests=1)
    storm_of_forks(hostile)


def filters(hostile):
    """As many streams as it may have, each with a filter of its own that is long to decide, and events for them."""
    rules = [{"include": {"argument": "*" + "a*" * 100 + "b"}} for _ in range(63)]
    kept = []
    for number in range(32):
        client = hostile.client()
        hostile.ask(client, "subscribe", living_first=True, filter=[*rules, {"include": {"tool": f"{number}*"}}])
        client.socket.setblocking(False)
        kept.append(client)

    def read(_):
        while True:
            for ready in select.select([client.socket for client in kept], [], [])[0]:
                if not ready.recv(1 << 20):
                    time.sleep(0.1)

    threading.Thread(target=read, args=(hostile,), daemon=True).start()
    while True:
        pid = os.posix_spawn("/bin/true", ["true", "a" * 4000], {})
        os.waitpid(pid, 0)
        hostile.count(processes=1)


def questions(hostile):
    """The largest questions, on as many connections as it may have, as fast as they are answered."""
    names = ("flush", "snapshot", "status", "totals", "findings", "history", "statistics", "state", "recordings")

    def ask(start):
        client = None
        for name in itertools.islice(itertools.cycle(names), start, None):
            try:
                client = client or hostile.client()
                hostile.ask(client, name)
            except (OSError, EOFError, KeyError):
                client = None

    for number in range(59):
        threading.Thread(target=ask, args=(number,), daemon=True).start()
    storm_of_forks(hostile)


def limits(hostile):
    """Each limit of a user, filled and gone beyond, again and again."""
    me = os.getpid()
    while True:
        kept = []
        for _ in range(80):
            with contextlib.suppress(OSError, EOFError):
                kept.append(hostile.client(5))
                hostile.ask(kept[-1], "hello", version=1)
                hostile.ask(kept[-1], "subscribe", kinds=["loss"])
        for client in kept:
            client.socket.close()
        with contextlib.suppress(OSError, EOFError), hostile.client(5) as client:
            own_labels(hostile, client, 1200, lambda number: {"task": f"{hostile.mark}-{number}"})
            for number in range(2000):
                hostile.ask(client, "announce", key={"pid": me}, context={"task": f"{hostile.mark}-{number}"}, expires_after_s=1)
                hostile.ask(client, "own_work", context={"task": f"{hostile.mark}-own-{number}"},
                            work={"begin_ns": 1, "end_ns": 2, "cpu_ns": 3})


def files(hostile):
    """Living processes, each of which has opened many files with long names."""
    def open_many(_):
        deep = f"{hostile.folder}/" + "/".join(["p" * 200] * 3)
        os.makedirs(deep, exist_ok=True)
        for number in range(260):
            with open(f"{deep}/{os.getpid()}_{number:04}_" + "n" * 200, "wb") as file:
                file.write(b"x")
        hostile.count(files=260)
        time.sleep(1000)

    for _ in range(100):
        hostile.helper(open_many)
    hostile.stay()


def peers(hostile):
    """Living processes, each of which has had many peers."""
    def meet_many(_):
        first = os.getpid() % 200
        for number in range(1000):
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as peer:
                peer.connect((f"127.{first}.{number // 250 + 1}.{number % 250 + 1}", 1024 + os.getpid() % 60000))
                try:
                    peer.send(b"x")
                except OSError:
                    pass
        hostile.count(peers=1000)
        time.sleep(1000)

    for _ in range(60):
        hostile.helper(meet_many)
    hostile.stay()


def containers(hostile):
    """Cgroups that are named after containers, whose files are as large as is read."""
    body = ",".join(["{}"] * ((16 << 20) // 3 - 4096))
    for number in range(6):
        name = os.urandom(32).hex()
        cgroup = f"{hostile.slice}/docker-{name}.scope"
        place = f"{hostile.home}/.local/share/docker/containers/{name}"
        os.makedirs(place)
        with open(place + "/config.v2.json", "w", encoding="ascii") as file:
            file.write(f'{{"Name":"/{hostile.mark}-{number}","Config":{{"Image":"i"}},"z":[{body}]}}')
        os.mkdir(cgroup)
        pid = os.fork()
        if pid == 0:
            with open(cgroup + "/cgroup.procs", "w", encoding="ascii") as file:
                file.write("0")
            os.execv("/bin/sleep", ["sleep", "0.2"])
        os.waitpid(pid, 0)
        hostile.count(processes=1, cgroups=1)
    hostile.stay()


def privileged(hostile):
    """Programs that run as root for it, and open files whose names it can't know: with its real user, and wholly, as below sudo."""
    search = ["-rs", "x", hostile.secret_folder]
    ways = ([hostile.setuid + "/grep", *search],
            [hostile.setuid + "/setpriv", "--reuid", "0", "--regid", "0", "--clear-groups", "grep", *search])
    while True:
        for words in ways:
            subprocess.run(words, stdout=subprocess.DEVNULL, check=False)
        # The second is root's when it ends.
        hostile.count(processes=1, as_root=1)
        time.sleep(0.05)


def keys(hostile):
    """Tasks whose ids, names and folders are those of the other user's."""
    folder = f"{hostile.folder}/{hostile.job}"
    os.makedirs(folder)
    with open(folder + "/.command.run", "w", encoding="utf-8") as file:
        file.write(f"#!/bin/bash\n### ---\n### name: '{hostile.mark}-job (S1)'\ntimeout 1 sh -c 'while :; do :; done'\n")
    with hostile.client() as client:
        while True:
            subprocess.run(["bash", ".command.run"], cwd=folder, check=False)
            hostile.count(processes=1)
            # The names are no secret here: who knows them must gain nothing.
            context = {name: f"{hostile.victim_mark}-{name}" for name in ("pipeline", "run", "step", "sample")}
            context |= {"task": f"{hostile.victim_mark}-task-1", "labels": {"whose": hostile.mark}}
            label = hostile.ask(client, "label", tid=os.getpid(), context=context)
            subprocess.run(["/bin/true", hostile.mark], check=False)
            hostile.ask(client, "end_label", label=label.get("label", 0))


def without_pids(hostile):
    """Asks while no process or thread can be made on the host, which root limits for it."""
    announced = {"key": {"work_dir": hostile.folder + "/w"}, "context": {"task": hostile.mark}}
    clients = []
    for name, fields in [("totals", {}), ("status", {}), ("flush", {}), ("history", {}), ("announce", announced)] * 10:
        client = hostile.client()
        clients.append(client)
        client.raw(json.dumps({"request": name, **fields}).encode() + b"\n")
        hostile.count(requests=1)
    time.sleep(1)
    hostile.stay()


def oracle(hostile):
    """Swaps a folder of its own and a link while it announces: refusals must not depend on whether the link's target exists."""
    libc = ctypes.CDLL(None, use_errno=True)
    words = {}
    for target in hostile.paths_to_ask:
        base = f"{hostile.folder}/{len(words)}"
        os.makedirs(base + "/folder")
        os.symlink(target, base + "/link")

        def swap(_, one=f"{base}/folder".encode(), other=f"{base}/link".encode()):
            while True:
                libc.renameat2(AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE)

        pid = hostile.helper(swap)
        found = words[target] = set()
        until = time.monotonic() + max(2.0, hostile.seconds / 2)
        with hostile.client() as client:
            while time.monotonic() < until:
                reply = hostile.ask(client, "announce", key={"work_dir": base + "/folder"}, context={"task": "t"},
                                    expires_after_s=1)
                if not reply["ok"]:
                    found.add(reply["message"].replace(base, ""))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    there, missing = words.values()
    if there - missing:
        hostile.grant(f"a refusal says that a path exists: {sorted(there - missing)}")
    hostile.stay()


def disk(hostile):
    """Waits for a disk that the other user keeps busy, in a task of its own: its finding must not name the other."""
    path = f"{hostile.folder}/small"
    with open(path, "wb") as file:
        file.write(os.urandom(64 << 20))
        os.fsync(file.fileno())
    with hostile.client() as client:
        while True:
            label = hostile.ask(client, "label", tid=os.getpid(), context={"task": hostile.mark + "-probe", "run": "r"})
            reader = subprocess.Popen([sys.executable, hostile.programs + "/read_direct.py", path, "4096"])
            time.sleep(15)
            reader.kill()
            reader.wait()
            hostile.count(processes=1)
            hostile.ask(client, "end_label", label=label.get("label", 0))


def living_tasks(hostile):
    """Many tasks that live, each with a finding."""
    with hostile.client() as client:
        for number in range(500):
            label = hostile.ask(client, "label", tid=os.getpid(), context={"task": f"{hostile.mark}-{number}", "run": hostile.mark})
            subprocess.Popen(["/bin/sh", "-c", "sh -c 'exit 127'; exec sleep 1000"])
            hostile.count(processes=2)
            hostile.ask(client, "end_label", label=label.get("label", 0))
    hostile.stay()


def everything(hostile):
    """All that makes the service keep something, at one time."""
    for each in (ended_tasks, announcements, living_tasks, files, peers, slow_readers, control_characters, questions):
        hostile.helper(each)
    hostile.stay()


class Attack:
    def __init__(self, run, subordinates=0, comes_first=False, busy_disk=False, seconds=0, records=True):
        self.run, self.subordinates, self.comes_first, self.busy_disk, self.seconds = run, subordinates, comes_first, busy_disk, seconds
        self.records = records


# `subordinates`: so many of its subordinate ids do the same. `comes_first`: it is over before the other user begins.
# `seconds`: it takes at least so long. `records`: whether the service records the host, for which it has begun a thread.
ATTACKS = {attack.run.__name__: attack for attack in (
    Attack(requests), Attack(labels), Attack(ended_tasks, subordinates=2), Attack(control_characters, comes_first=True, seconds=90),
    Attack(announcements, subordinates=4, comes_first=True, seconds=60), Attack(lines, subordinates=2), Attack(connections, subordinates=1),
    Attack(slow_readers, subordinates=2), Attack(filters), Attack(questions, subordinates=1), Attack(limits), Attack(files), Attack(peers),
    Attack(containers, comes_first=True, seconds=10), Attack(privileged), Attack(keys), Attack(without_pids, comes_first=True, seconds=5, records=False), Attack(oracle, seconds=8),
    Attack(disk, busy_disk=True, seconds=35), Attack(living_tasks, subordinates=1),
    Attack(everything, subordinates=2, seconds=30))}


def main():
    with open(sys.argv[2], encoding="utf-8") as file:
        hostile = Hostile(json.load(file))
    os.chdir(hostile.folder)
    hostile.write()
    ATTACKS[sys.argv[1]].run(hostile)


if __name__ == "__main__":
    main()
