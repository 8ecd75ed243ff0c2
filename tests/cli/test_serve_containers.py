# SPDX-License-Identifier: Apache-2.0
"""Whose root's processes in containers are, by `tracerd serve`. The containers are made as engines make them: a cgroup
that is named after an id, a mount namespace, and the work folder bound to its own path."""

import ctypes
import json
import os
import pathlib
import random
import subprocess
import sys
import types

import support
from support import cgroup_hierarchy, of_kind, wait_until
from test_serve import ALICE, BOB, ServeCase

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "engines"))
import podman_image  # noqa: E402

CLONE_NEWNS, MS_BIND, MS_REC, MS_PRIVATE = 0x20000, 0x1000, 0x4000, 0x40000
TRIES = 1000


class ServeContainers(ServeCase):
    def setUp(self):
        super().setUp()
        if not cgroup_hierarchy():
            self.skipTest("no cgroup can be made here")

    def run_in_container(self, folder, *words, shown_as=None, uid=0):
        """Runs it to its end in the folder, which has the path `shown_as` in there. Its pid."""
        container = f"{random.getrandbits(256):064x}"
        group = os.path.join(cgroup_hierarchy(), f"docker-{container}.scope")
        os.mkdir(group)
        self.addCleanup(lambda: os.path.isdir(group) and os.rmdir(group))
        libc = ctypes.CDLL(None, use_errno=True)

        def enter():
            with open(os.path.join(group, "cgroup.procs"), "w", encoding="ascii") as procs:
                procs.write("0")
            path = shown_as or folder
            results = [libc.unshare(CLONE_NEWNS), libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None),
                       libc.mount(folder.encode(), path.encode(), None, MS_BIND, None)]
            if any(results):
                raise OSError(ctypes.get_errno(), "no mount namespace")
            os.chdir(path)
            if uid:
                os.setresgid(uid, uid, uid)
                os.setresuid(uid, uid, uid)

        process = subprocess.Popen(words, preexec_fn=enter, stdout=subprocess.DEVNULL)
        self.assertEqual(process.wait(support.DEADLINE_SECONDS), 0)
        wait_until(lambda: not self.remove(group), "the cgroup is empty")
        return process.pid

    @staticmethod
    def remove(group):
        """Whether it is still there."""
        try:
            os.rmdir(group)
        except OSError:
            return os.path.isdir(group)
        return False

    def announce(self, uid, folder, name):
        reply = self.client(uid).ask("announce", key={"work_dir": folder}, context={"run": "r", "task": name})
        self.assertTrue(reply["ok"], reply)

    def test_a_container_of_root_in_a_user_s_task_is_theirs(self):
        self.serve()
        folder = self.folder_of(ALICE, "work")
        self.announce(ALICE, folder, "alices")
        streams = {uid: self.subscribe(uid) for uid in (ALICE, BOB, 0)}
        pid = self.run_in_container(folder, "/bin/sh", "-c", "/bin/echo word-of-container; cd /; /bin/true; :")
        other = self.run_in_container(self.folder_of(BOB, "other"), "/bin/echo", "word-of-other", shown_as=folder)
        root = self.read_until(streams[0], lambda events: {pid, other} <= {
            event["pid"] for event in of_kind(events, "process_exit")}, "both have ended")
        ends = {event["pid"]: event for event in of_kind(root, "process_exit")}
        self.assertEqual((ends[pid]["uid"], ends[pid]["cwd"]), (0, folder))
        self.assertEqual(ends[other]["cwd"], folder)
        self.assertEqual(ends[pid]["context"]["task"], "alices")
        self.assertIsNone((ends[other]["context"] or {}).get("task"))

        seen = self.read_until(streams[ALICE], lambda events: any(
            event["pid"] == pid for event in of_kind(events, "process_exit")), "she sees its end")
        ends = {event["pid"]: event for event in of_kind(seen, "process_exit")}
        self.assertEqual(len(ends), 3, "of sh, echo and true")
        self.assertEqual({event["context"]["task"] for event in ends.values()}, {"alices"})
        self.assertEqual(ends[pid]["argv"], ["sh", "***", "***"])
        execs = of_kind(seen, "process_exec")
        self.assertEqual(len(execs), 3)
        text = json.dumps(seen)
        for word in ("word-of-container", "word-of-other"):
            self.assertNotIn(word, text)
        self.assertNotIn(other, {event.get("pid") for event in seen})
        of_bob = self.events_of(streams[BOB], streams[BOB].rest(0.5))
        self.assertEqual([event for event in of_bob if event["kind"].startswith(("process_", "task_", "run_"))], [])

    def test_rootful_podman(self):
        podman = podman_image.Podman(types.SimpleNamespace(folder=pathlib.Path(self.folder)))
        self.addCleanup(podman.stop)
        podman.make_image()
        self.serve()
        folder = self.folder_of(ALICE, "work")
        self.announce(ALICE, folder, "alices")
        streams = {uid: self.subscribe(uid) for uid in (ALICE, BOB, 0)}
        podman.call("run", "--rm", "-v", f"{folder}:{folder}", "-w", folder, podman_image.IMAGE, "/bin/bash", "-c",
                    "/bin/busybox true word-of-container; cd /; /bin/busybox false; :")
        # The same path, to another folder.
        podman.call("run", "--rm", "--tmpfs", folder, "-w", folder, podman_image.IMAGE, "/bin/bash", "-c",
                    "/bin/busybox true word-of-other; :")

        def ends_in(events):
            return [event for event in of_kind(events, "process_exit") if event["exe"] in ("/bin/bash", "/bin/busybox")
                    and event["container_id"]]

        root = ends_in(self.read_until(streams[0], lambda events: len(ends_in(events)) == 5, "both have ended"))
        self.assertEqual({event["uid"] for event in root}, {0})
        self.assertEqual([event["context"]["task"] if event["context"] else None for event in root],
                         ["alices"] * 3 + [None] * 2)
        seen = self.read_until(streams[ALICE], lambda events: len(ends_in(events)) == 3, "she sees hers")
        self.assertEqual({event["pid"] for event in of_kind(seen, "process_exit")}, {event["pid"] for event in root[:3]})
        for event in ends_in(seen):
            self.assertEqual(set(event["argv"][1:]), {"***"})
        self.assertNotIn("word-of", json.dumps(seen))
        of_bob = self.events_of(streams[BOB], streams[BOB].rest(0.5))
        self.assertEqual([event for event in of_bob
                          if event["kind"].startswith(("process_", "task_", "run_", "container_"))], [])

    def test_a_thousand_guesses_leak_nothing(self):
        """Of Bob, who knows all paths, and announces what he can make of them."""
        self.serve()
        work = self.folder_of(ALICE, "work")
        self.announce(ALICE, work, "alices")
        stream = self.subscribe(BOB)
        bob = self.client(BOB)
        own = self.folder_of(BOB, "bobs")
        guesses = random.Random(7)
        refused = 0
        for number in range(TRIES):
            path = guesses.choice((work, f"{work}/below-{number}", f"{own}/../work", f"{own}/link-{number}", own,
                                   f"{own}/new-{number}", "/tmp", "/"))
            if "/link-" in path:
                os.symlink(work, path)
            reply = bob.ask("announce", key={"work_dir": path}, context={"run": "r", "task": f"guess-{number}"})
            refused += not reply["ok"]
            if number % 50 == 0:
                # Alice's, and one whose folder has the path of Bob's.
                self.run_in_container(work, "/bin/sh", "-c", "/bin/echo secret-of-alice; :")
                self.run_in_container(self.folder_of(ALICE, f"more-{number}"), "/bin/echo", "secret-of-alice", shown_as=own)
        self.assertGreater(refused, TRIES // 4)
        self.assertLess(refused, TRIES)
        # He sees his own.
        mine = self.run_in_container(own, "/bin/true")
        seen = self.read_until(stream, lambda events: any(
            event["pid"] == mine for event in of_kind(events, "process_exit")), "he sees his own")
        self.assertEqual({event["pid"] for event in of_kind(seen, "process_exit")}, {mine})
        self.assertNotIn("secret-of-alice", json.dumps(seen))
        self.assertNotIn("echo", json.dumps(seen))


if __name__ == "__main__":
    support.main()
