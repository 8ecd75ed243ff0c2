# SPDX-License-Identifier: Apache-2.0
"""What a user learns, by `tracerd serve`, of programs that act as another user: each way shows what the user did, and hides
what root's rights have shown."""

import json
import os
import pwd
import shutil
import socket
import subprocess

import support
from support import of_kind
from test_serve import ALICE, PYTHON_OF_ALL, ServeCase

SECRET, OWN = "secret-of-root", "own-of-alice"
NOBODY = pwd.getpwnam("nobody").pw_uid


class ServeSetuid(ServeCase):
    def setUp(self):
        super().setUp()
        self.setuid = self.path("python-setuid")
        shutil.copy(os.path.realpath(PYTHON_OF_ALL), self.setuid)
        os.chmod(self.setuid, 0o4755)
        probe = subprocess.run([self.setuid, "-c", "import os; print(os.geteuid())"], stdout=subprocess.PIPE, text=True,
                               user=ALICE, check=False)
        if probe.stdout.strip() != "0":
            self.skipTest("no setuid program works here")
        self.private = self.path("private")
        os.mkdir(self.private, 0o700)
        self.secret = self.write(f"private/{SECRET}", "x")
        os.chmod(self.secret, 0o600)
        self.mine = self.folder_of(ALICE, "mine")
        self.own = self.write(f"mine/{OWN}", "x")
        self.listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.listener.bind(("0.0.0.0", 0))
        self.addCleanup(self.listener.close)
        self.port = self.listener.getsockname()[1]

    def act(self, path, address):
        """Python that reads a file and sends to an address."""
        return (f"open({path!r}).read()\nwith socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:\n"
                f"    made.connect(({address!r}, {self.port})); made.send(b'x')\n")

    def both(self, uid, *words, **more):
        """The events of the process by these words, and of its children: as the user gets them, and as root does."""
        self.serve()
        streams = {who: self.subscribe(who) for who in (uid, 0)}
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
        output = process.communicate(timeout=support.DEADLINE_SECONDS)[0]
        self.assertEqual(process.returncode, 0, output)
        pid = process.pid
        seen = []
        for stream in streams.values():
            events = self.read_until(stream, lambda events: any(
                pid in (event["pid"], event["parent_pid"]) for event in of_kind(events, "process_exit")), "its end")
            seen.append([event for event in events if pid in (event.get("pid"), event.get("parent_pid"))])
        return seen

    def python(self, text):
        return ["-c", "import os, socket, sys\n" + text]

    def paths(self, events):
        return {event["path"]: event["euid"] for event in of_kind(events, "file_use") if event["path"]}

    def peers(self, events):
        return {event["remote_address"]: event["euid"] for event in of_kind(events, "connection")
                if event["remote_address"]}

    def check_secret(self, alices, roots, euid=0):
        """Nothing of the secret is in hers; root gets all of it."""
        for word in (SECRET, self.private, "127.77.0.1"):
            self.assertNotIn(word, json.dumps(alices))
        self.assertEqual(self.paths(roots)[self.secret], euid)
        self.assertEqual(self.peers(roots)["127.77.0.1"], euid)

    def check_own(self, alices, roots):
        for events in (alices, roots):
            self.assertEqual(self.paths(events)[self.own], ALICE)
            self.assertEqual(self.peers(events)["127.88.0.1"], ALICE)

    def test_a_setuid_program(self):
        alices, roots = self.both(ALICE, self.setuid, *self.python(
            f"os.chdir({self.private!r})\n" + self.act(SECRET, "127.77.0.1")), user=ALICE)
        self.check_secret(alices, roots)
        end = of_kind(alices, "process_exit")[-1]
        self.assertEqual((end["uid"], end["exec_euid"], end["exe"], end["cwd"]), (ALICE, 0, None, None))
        self.assertEqual(end["argv"], ["python-setuid", "***", "***"])
        hidden = [event for event in of_kind(alices, "file_use") if event["folded"] == "others"]
        self.assertIn(0, {event["euid"] for event in hidden})
        for event in hidden:
            self.assertEqual([event[name] for name in ("device", "inode", "size_bytes", "renamed_to")], [None] * 4)
        self.assertEqual(of_kind(roots, "process_exit")[-1]["exe"], self.setuid)

    def test_her_own_program(self):
        alices, roots = self.both(ALICE, PYTHON_OF_ALL, *self.python(self.act(self.own, "127.88.0.1")), user=ALICE,
                                  cwd=self.mine)
        self.check_own(alices, roots)
        for events in (alices, roots):
            end = of_kind(events, "process_exit")[-1]
            self.assertEqual((end["exec_euid"], end["cwd"]), (ALICE, self.mine))

    def test_a_setuid_program_that_gives_root_up_is_still_hidden(self):
        alices, roots = self.both(ALICE, self.setuid, *self.python(
            f"os.setresuid({ALICE}, {ALICE}, {ALICE})\n" + self.act(self.own, "127.88.0.1")), user=ALICE)
        self.assertNotIn(OWN, json.dumps(alices))
        self.assertEqual(self.paths(roots)[self.own], 0)

    def test_after_an_exec_as_the_owner_alone_all_shows_again(self):
        """As the starter of Apptainer: root's work first, then the user's program in the same process."""
        alices, roots = self.both(ALICE, self.setuid, *self.python(
            self.act(self.secret, "127.77.0.1") + f"os.setresuid({ALICE}, {ALICE}, {ALICE})\nos.chdir({self.mine!r})\n"
            f"os.execv({PYTHON_OF_ALL!r}, ['own-name', '-c', sys.argv[1]])\n"),
            "import os, socket\n" + self.act(self.own, "127.88.0.1"), user=ALICE)
        self.check_secret(alices, roots)
        self.check_own(alices, roots)
        end = of_kind(alices, "process_exit")[-1]
        self.assertEqual((end["exec_euid"], end["cwd"], end["argv"][0]), (ALICE, self.mine, "own-name"))
        self.assertNotIn(self.setuid, json.dumps(alices))

    def test_a_program_that_becomes_root_and_executes_another(self):
        """As sudo does."""
        alices, roots = self.both(ALICE, self.setuid, *self.python(
            f"os.setgroups([])\nos.setresgid(0, 0, 0)\nos.setresuid(0, 0, 0)\nos.chdir({self.private!r})\n"
            f"os.execv({PYTHON_OF_ALL!r}, ['python', '-c', sys.argv[1]])\n"),
            "import os, socket\n" + self.act(self.secret, "127.77.0.1"), user=ALICE)
        self.check_secret(alices, roots)
        end = of_kind(alices, "process_exit")[-1]
        self.assertEqual((end["uid"], end["exe"], end["cwd"]), (0, None, None))

    def test_what_root_did_before_it_became_a_user(self):
        """As sshd and su do: the process is the user's from the exec on."""
        alices, roots = self.both(ALICE, PYTHON_OF_ALL, *self.python(
            self.act(self.secret, "127.77.0.1") + f"os.setresuid({ALICE}, {ALICE}, {ALICE})\nos.chdir({self.mine!r})\n"
            f"os.execv({PYTHON_OF_ALL!r}, ['own-name', '-c', sys.argv[1]])\n"),
            "import os, socket\n" + self.act(self.own, "127.88.0.1"))
        self.check_secret(alices, roots)
        self.check_own(alices, roots)

    def test_su(self):
        if not shutil.which("su"):
            self.skipTest("there is no su")
        os.chmod(self.own, 0o644)
        theirs, roots = self.both(NOBODY, "su", "-s", "/bin/sh", "nobody", "-c", f"exec cat {self.own}")
        self.assertIn(self.own, self.paths(theirs))
        self.assertLessEqual(set(self.paths(theirs).values()), {NOBODY})


if __name__ == "__main__":
    support.main()
