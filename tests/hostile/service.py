# SPDX-License-Identifier: Apache-2.0
"""A service of its own for an attack: with users who have names, homes and subordinate ids, and a second user who works."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time

from cgroups import mounts, reported, write
from client import Client
from processes import PYTHON, as_user, memory, share_cpus

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "../cli"))

from keeper import Keeper  # noqa: E402

VICTIM, ATTACKERS = 64002, (64001, 64003, 64004)
# No other run has them.
VICTIM_MARK, ATTACKER_MARK = f"victim{os.getpid()}", f"attacker{os.getpid()}"
SUBORDINATES_OF_EACH = 65536
BEGIN_SECONDS = 120
# An attacker has three sessions: the victim as much of the CPUs as these, and the service as much as both.
USER_NICE, SERVICE_NICE = -5, -8
PROGRAMS = ("attacks.py", "client.py", "read_direct.py", "service_attacks.py", "spy.py", "victim.py")
# The folder of a job of Nextflow: its last parts are the job's id.
JOB = "work/ab/0123456789abcdef0123456789abcd"
# It sees these in place of the host's files.
PRIVATE = 'while [ "$1" != -- ]; do mount --bind "$1" "$2" && shift 2 || exit 1; done; shift; exec "$@"'


def first_subordinate(uid):
    return 1_000_000 + (uid - 64000) * SUBORDINATES_OF_EACH


def is_listening(path):
    with contextlib.suppress(OSError, EOFError), Client(path, 5) as client:
        return client.ask("hello", version=1)["ok"]
    return False


class Service:
    """`tracerd serve` with a recording of the whole host. With a store, its descriptors are kept as systemd does."""

    def __init__(self, tracerd, folder, has_store, records):
        self.folder, self.socket, self.admin = folder, folder + "/run/t.sock", folder + "/run/admin.sock"
        self.recordings = folder + "/recordings"
        self.home_of = {uid: f"{folder}/home-{uid}" for uid in (VICTIM, *ATTACKERS)}
        os.mkdir(self.recordings)
        for uid, home in self.home_of.items():
            os.mkdir(home, 0o755)
            os.chown(home, uid, uid)
        self.write("t.toml", f'schema = 1\n[socket]\npath = "{self.socket}"\nadmin_path = "{self.admin}"\n'
                   f'[history]\nfile = "{folder}/history.db"\n'
                   + records * f'[recordings]\nfolder = "{self.recordings}"\nfile_mib = 4096\n')
        with open("/etc/passwd", encoding="utf-8", errors="replace") as file:
            names = file.read()
        self.write("passwd", names + "".join(f"hostile-{uid}:x:{uid}:{uid}::{home}:/bin/sh\n" for uid, home in self.home_of.items()))
        self.write("subuid", "".join(f"{uid}:{first_subordinate(uid)}:{SUBORDINATES_OF_EACH}\n" for uid in ATTACKERS))
        replaced = [word for name in ("subuid", "passwd") if os.path.exists("/etc/" + name)
                    for word in (f"{folder}/{name}", "/etc/" + name)]
        words = ["/usr/bin/unshare", "--mount", "--propagation", "slave", "/bin/sh", "-c", PRIVATE, "sh", *replaced, "--", tracerd, "serve",
                 "--config", folder + "/t.toml"]
        self.log = folder + "/service.log"
        self.keeper = Keeper(words, folder) if has_store else None
        if self.keeper:
            self.keeper.start()
            self.pid, self.child = self.keeper.pid, None
        else:
            with open(self.log, "wb") as log:
                self.child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
            self.pid = self.child.pid
        share_cpus(self.pid, SERVICE_NICE)
        until = time.monotonic() + BEGIN_SECONDS
        while not is_listening(self.socket):
            if time.monotonic() > until or not self.lives():
                self.end()
                sys.exit("the service did not begin: " + self.said())
            time.sleep(0.1)

    def write(self, name, text):
        with open(f"{self.folder}/{name}", "w", encoding="utf-8") as file:
            file.write(text)

    def said(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()

    def lives(self):
        with contextlib.suppress(OSError), open(f"/proc/{self.pid}/stat", "rb") as file:
            return file.read().rsplit(b")", 1)[1].split()[0] not in (b"Z", b"X")
        return False

    def resident(self, field="VmRSS"):
        try:
            return memory(self.pid, field)
        except OSError:
            return 0

    def runnable(self):
        """Its threads that run or wait for a CPU."""
        found = set()
        with contextlib.suppress(OSError):
            for thread in os.listdir(f"/proc/{self.pid}/task"):
                with contextlib.suppress(OSError), open(f"/proc/{self.pid}/task/{thread}/stat", "rb") as file:
                    if file.read().rsplit(b")", 1)[1].split()[0] == b"R":
                        found.add(thread)
        return found

    def status(self):
        """As root sees it; None: there was no answer."""
        with contextlib.suppress(OSError, EOFError), Client(self.admin, 30) as client:
            reply = client.ask("status")
            return reply["status"] if reply["ok"] else None
        return None

    @contextlib.contextmanager
    def without_pids(self):
        """As on a host where a user has taken all."""
        place = next((folder for folder, controllers in mounts() if controllers and "pids" in controllers), None)
        if place is None:
            place = next(folder for folder, controllers in mounts() if controllers is None)
            with contextlib.suppress(OSError):
                write(place + "/cgroup.subtree_control", "+pids")
        group = f"{place}/tracer-hostile-service-{os.getpid()}"
        os.mkdir(group)
        with open(f"/proc/{self.pid}/cgroup", encoding="ascii") as file:
            own = next(line.strip().split(":", 2)[2] for line in file if ":pids:" in line or line.startswith("0::"))
        try:
            write(group + "/cgroup.procs", str(self.pid))
            write(group + "/pids.max", "0")
            yield
            write(group + "/pids.max", "max")
        finally:
            if self.lives():
                write(place + own + "/cgroup.procs", str(self.pid))
            time.sleep(0.1)
            os.rmdir(group)

    def end(self):
        """Whether it ended by itself, as asked."""
        if self.keeper:
            status = None
            if self.keeper.pid and self.lives():
                os.kill(self.keeper.pid, signal.SIGINT)
                status = self.wait_for(lambda: os.waitpid(self.keeper.pid, os.WNOHANG))
                if status is not None:
                    self.keeper.pid = None
            self.keeper.close()
            return status is not None and status[1] == 0
        if self.child.poll() is None:
            self.child.send_signal(signal.SIGINT)
            try:
                self.child.wait(BEGIN_SECONDS)
            except subprocess.TimeoutExpired:
                self.child.kill()
                self.child.wait()
        return self.child.returncode == 0

    @staticmethod
    def wait_for(look):
        until = time.monotonic() + BEGIN_SECONDS
        while time.monotonic() < until:
            found = look()
            if found[0]:
                return found
            time.sleep(0.05)
        return None


class Users:
    """The processes of the victim, the spy and the attackers, and the cgroups of their slices."""

    def __init__(self, service, cgroups, options):
        self.service, self.cgroups, self.options = service, cgroups, options
        self.folder = service.folder
        self.running, self.reports, self.slices = [], [], []
        self.programs = self.folder + "/programs"
        os.mkdir(self.programs, 0o755)
        for name in PROGRAMS:
            shutil.copyfile(f"{HERE}/{name}", f"{self.programs}/{name}")
            os.chmod(f"{self.programs}/{name}", 0o644)
        # Only the attacker may execute these, and only while the attack lasts.
        self.setuid = self.folder + "/setuid"
        os.mkdir(self.setuid, 0o750)
        os.chown(self.setuid, 0, ATTACKERS[0])
        self.secret_folder = self.folder + "/of-root"
        os.mkdir(self.secret_folder, 0o700)
        self.root_secret, self.victim_secret = (f"{name}-{os.urandom(8).hex()}" for name in ("rootsecret", "victimsecret"))
        self.secrets = [f"{self.secret_folder}/{self.root_secret}-{number}" for number in range(2)]
        for path in self.secrets:
            with open(path, "w", encoding="ascii") as file:
                file.write("x\n")
        self.container = os.urandom(32).hex()
        self.victim = self.victim_folder = None

    def slice_of(self, uid):
        """A cgroup that is the user's, as below user@.service. Its processes are in `work`."""
        folder = f"{reported()}/user.slice/user-{uid}.slice/hostile-{os.getpid()}"
        if folder not in self.slices:
            os.makedirs(folder + "/work")
            self.slices.append(folder)
            for path in (folder, folder + "/cgroup.procs", folder + "/work", folder + "/work/cgroup.procs"):
                os.chown(path, uid, uid)
        return folder

    def folder_of(self, uid, name):
        path = f"{self.folder}/{name}"
        os.mkdir(path, 0o755)
        os.chown(path, uid, uid)
        return path

    def start(self, uid, program, name, slice_folder, words=(), **world):
        folder = self.folder_of(uid, name)
        path = f"{self.folder}/{name}.json"
        with open(path, "w", encoding="utf-8") as file:
            json.dump(world | {"slice": slice_folder, "folder": folder, "socket": self.service.socket, "programs": self.programs,
                               "seconds": self.options.seconds, "victim_mark": VICTIM_MARK, "job": JOB}, file)
        log = open(f"{self.folder}/{name}.log", "wb")
        process = as_user(uid, [slice_folder + "/work"], PYTHON, "-B", f"{self.programs}/{program}", *words, path, stdout=log, stderr=log)
        log.close()
        self.running.append(process)
        return process, folder

    def start_victim(self, busy_disk):
        slice_folder = self.slice_of(VICTIM)
        place = f"{self.service.home_of[VICTIM]}/.local/share/docker/containers/{self.container}"
        as_user(VICTIM, [], "/bin/mkdir", "-p", place).wait()
        with open(place + "/config.v2.json", "w", encoding="ascii") as file:
            file.write(f'{{"Name":"/{self.victim_secret}-container","Config":{{"Image":"image"}}}}')
        os.chown(file.name, VICTIM, VICTIM)
        self.victim, self.victim_folder = self.start(
            VICTIM, "victim.py", "victim", slice_folder, mark=VICTIM_MARK, secret=self.victim_secret,
            container=self.container, processes=self.options.processes, busy_disk=busy_disk)
        share_cpus(self.victim.pid, USER_NICE)
        return self.victim

    def start_spy(self):
        _, self.spy_folder = self.start(ATTACKERS[0], "spy.py", "spy", self.slice_of(ATTACKERS[0]), victim=self.victim.pid,
                                        victim_uid=VICTIM, victim_folder=self.victim_folder)

    def start_attackers(self, name, attack):
        for at, owner in enumerate(ATTACKERS[:self.options.users]):
            if name == "privileged":
                for program in ("grep", "setpriv"):
                    path = shutil.copy(shutil.which(program), self.setuid)
                    os.chmod(path, 0o4755)
            for number in range(1 + attack.subordinates):
                uid = first_subordinate(owner) + number if number else owner
                place = f"attacker-{at}-{number}"
                report = f"{self.folder}/{place}/report"
                self.reports.append(f"{self.folder}/{place}")
                self.start(uid, "service_attacks.py", place, self.slice_of(owner), [name],
                           mark=f"{ATTACKER_MARK}-{at}-{number}", report=report, home=self.service.home_of[owner], secret_folder=self.secret_folder,
                           setuid=self.setuid, paths_to_ask=[self.secrets[0], self.secret_folder + "/missing"])

    def start_old_attack(self, name):
        """One of attacks.py."""
        self.folder_of(ATTACKERS[0], "attacker-0-0")
        self.reports.append(f"{self.folder}/attacker-0-0")
        log = open(f"{self.folder}/attacker.log", "wb")
        self.running.append(as_user(ATTACKERS[0], self.cgroups.attacker, PYTHON, "-B", f"{self.programs}/attacks.py", name,
                                    f"{self.folder}/attacker-0-0/count", f"{self.folder}/attacker-0-0", self.cgroups.delegated,
                                    str(self.service.pid), stdout=log, stderr=log))
        log.close()

    def is_over(self):
        """Whether each attacker has done what it does once."""
        return sum(report["is_over"] for report in self.reports_read()) >= len(self.reports)

    def reports_read(self):
        found = []
        for folder in self.reports:
            for name in os.listdir(folder):
                if name.startswith("report") and not name.endswith(".new"):
                    with contextlib.suppress(OSError, ValueError), open(f"{folder}/{name}", encoding="utf-8") as file:
                        found.append(json.load(file))
        return found

    def end(self):
        for process in self.running:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        shutil.rmtree(self.setuid, ignore_errors=True)
        for process in self.running:
            process.wait()

    def remove_slices(self):
        for folder in self.slices:
            for _ in range(50):
                for inner, _, _ in os.walk(folder, topdown=False):
                    with contextlib.suppress(OSError), open(inner + "/cgroup.procs", encoding="ascii") as file:
                        for pid in file.read().split():
                            os.kill(int(pid), signal.SIGKILL)
                    with contextlib.suppress(OSError):
                        os.rmdir(inner)
                if not os.path.exists(folder):
                    break
                time.sleep(0.1)
            # What the host had before is not empty, and stays.
            for parent in (os.path.dirname(folder), os.path.dirname(os.path.dirname(folder))):
                with contextlib.suppress(OSError):
                    os.rmdir(parent)
