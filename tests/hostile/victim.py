#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The user who is not to suffer: victim.py WORLD, a JSON file of service.World.

Its programs run in named tasks, while it asks the service all that a user asks. Its stream is in the file `stream`; at its
end `result` has each program, and how long each request took or why it failed."""

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time

from client import Client

IN_TASK = 10
# More than this many without an answer say enough.
MOST_UNANSWERED = 3
PATIENCE_SECONDS = 15
# Of each task one; `label` and `announce` come besides.
QUESTIONS = ("totals", "status", "flush", "findings", "snapshot", "statistics", "state")


class Victim:
    def __init__(self, world):
        self.world, self.mark, self.secret, self.socket = world, world["mark"], world["secret"], world["socket"]
        self.requests, self.programs, self.files, self.peers = [], {}, [], []
        self.unanswered = 0
        self.client = None
        self.working = True

    def ask(self, name, **fields):
        """The reply; {}: none came, or it was refused. On a connection of its own the first time, and after a failure."""
        if self.unanswered >= MOST_UNANSWERED:
            return {}
        began, why = time.monotonic(), None
        reply = {}
        try:
            if self.client is None:
                self.client = Client(self.socket, PATIENCE_SECONDS)
            reply = self.client.ask(name, **fields)
            if not reply["ok"]:
                why = "refused: " + reply["message"]
        except (OSError, EOFError) as error:
            why = f"no answer: {error!r}"
            self.unanswered += 1
            self.client = None
        self.requests.append((name, time.monotonic() - began, why))
        return reply if why is None else {}

    def follow(self):
        with Client(self.socket) as client, open("stream", "wb") as file:
            client.ask("subscribe", capacity_bytes=8 << 20)
            self.following.set()
            client.copy_to(file, lambda: self.working)

    def run_program(self, task, folder):
        number = len(self.programs)
        name = f"{self.mark}-program-{number}"
        program = subprocess.Popen([name, self.secret], executable=self.program, cwd=folder)
        program.wait()
        self.programs[name] = (program.pid, task)

    def touch_things(self, number):
        """A file and a peer in a process that is soon over."""
        path, address = os.path.abspath(f"{self.secret}-file-{number}"), f"127.250.{number // 200}.{1 + number % 200}"
        pid = os.fork()
        if pid == 0:
            with open(path, "wb") as file:
                file.write(b"x")
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as peer:
                peer.connect((address, 9))
                peer.send(b"x")
            os._exit(0)
        os.waitpid(pid, 0)
        self.files.append(path)
        self.peers.append(address)

    def work_in_task(self, number):
        name = f"{self.mark}-task-{number}"
        context = {"pipeline": f"{self.mark}-pipeline", "run": f"{self.mark}-run", "step": f"{self.mark}-step", "task": name,
                   "sample": self.secret, "labels": {self.secret: self.secret}}
        folder, label = None, None
        if number % 5 == 4:
            folder = os.path.abspath(f"{self.mark}-folder-{number}")
            os.mkdir(folder)
            named = self.ask("announce", key={"work_dir": folder}, context=context)
        else:
            named = self.ask("label", tid=os.getpid(), context=context)
            label = named.get("label")
        for _ in range(IN_TASK):
            self.run_program(name if named else None, folder)
        self.touch_things(number)
        if label is not None:
            self.ask("end_label", label=label)
        self.give_away(self.ask(QUESTIONS[number % len(QUESTIONS)]).get("state"))
        if number % 10 == 0:
            self.client = None
            self.ask("hello", version=1)

    def give_away(self, state):
        """To the spy: whoever knows it must gain nothing."""
        if state:
            keys = {row[key] for rows in ("runs", "tasks") for row in state[rows] for key in ("run_key", "task_key") if key in row}
            with open("taken.new", "w", encoding="ascii") as file:
                json.dump({"since": state["since"], "keys": sorted(keys)}, file)
            os.rename("taken.new", "taken")

    def run_job_of_an_engine(self):
        """A task whose name and key are made of its arguments alone."""
        folder = os.path.abspath(self.world["job"])
        os.makedirs(folder)
        with open(folder + "/.command.sh", "w", encoding="utf-8") as file:
            file.write("sleep 0.2\n")
        with open(folder + "/.command.run", "w", encoding="utf-8") as file:
            file.write(f"#!/bin/bash\n### ---\n### name: '{self.secret} (S1)'\n/bin/bash -ue {folder}/.command.sh\n")
        subprocess.run(["bash", ".command.run"], cwd=folder, check=False)

    def run_container(self):
        """A process in a cgroup that is named after a container of this user's Docker."""
        cgroup = f"{self.world['slice']}/docker-{self.world['container']}.scope"
        os.mkdir(cgroup)
        pid = os.fork()
        if pid == 0:
            with open(cgroup + "/cgroup.procs", "w", encoding="ascii") as file:
                file.write("0")
            os.execv("/bin/sleep", ["sleep", "0.3"])
        os.waitpid(pid, 0)
        os.rmdir(cgroup)

    def keep_disk_busy(self):
        """Reads past the page cache, in a task, as long as it lives."""
        size = 256 << 20
        with open(f"{self.secret}-large", "wb") as file:
            for _ in range(size >> 20):
                file.write(os.urandom(1 << 20))
            os.fsync(file.fileno())
        self.ask("label", tid=os.getpid(), context={"task": f"{self.secret}-busy", "run": f"{self.mark}-run", "step": f"{self.mark}-step"})
        subprocess.Popen([sys.executable, self.world["programs"] + "/read_direct.py", file.name, str(1 << 20)])
        # What follows has labels of its own.
        self.client = None

    def run(self):
        self.program = shutil.copy("/bin/true", f"{self.mark}-tool")
        self.program = os.path.abspath(self.program)
        self.following = threading.Event()
        stream = threading.Thread(target=self.follow, daemon=True)
        stream.start()
        self.following.wait()
        if self.world["busy_disk"]:
            self.keep_disk_busy()
        self.run_job_of_an_engine()
        self.run_container()
        tasks = self.world["processes"] // IN_TASK
        began = time.monotonic()
        for number in range(tasks):
            self.work_in_task(number)
            time.sleep(max(0.0, began + self.world["seconds"] * (number + 1) / tasks - time.monotonic()))
        self.seconds = time.monotonic() - began
        self.ask("flush")
        time.sleep(1)
        self.working = False
        stream.join()
        with open("result.new", "w", encoding="utf-8") as file:
            json.dump({"requests": self.requests, "programs": self.programs, "files": self.files, "peers": self.peers,
                       "seconds": self.seconds}, file)
        os.rename("result.new", "result")


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        world = json.load(file)
    os.chdir(world["folder"])
    Victim(world).run()


if __name__ == "__main__":
    main()
