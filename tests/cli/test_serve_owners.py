# SPDX-License-Identifier: Apache-2.0
"""A service where two users have runs and tasks with equal names, ids and folders: each is its owner's alone."""

import json
import os
import subprocess

import support
from support import of_kind
from test_serve import ALICE, BOB, PYTHON_OF_ALL, ServeCase, become

WORK = "work/ab/0123456789abcdef0123456789abcd"
SLEEPS = "sleep 2"
COMPUTES = "sh -c 'ulimit -t 1; while :; do :; done' || true"
# Reads blocks of a file past the page cache, for some seconds, in a task of its own.
READER = """
import json, mmap, os, random, socket, sys, time
path, size, seconds, context = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), json.loads(sys.argv[4])
client = socket.socket(socket.AF_UNIX)
client.connect(sys.argv[5])
client.sendall(json.dumps({"request": "label", "tid": os.getpid(), "context": context}).encode() + b"\\n")
assert b'"ok":true' in client.recv(65536)
child = os.fork()
if child == 0:
    file, block = os.open(path, os.O_RDONLY | os.O_DIRECT), mmap.mmap(-1, size)
    blocks, until = os.fstat(file).st_size // size, time.monotonic() + seconds
    while time.monotonic() < until:
        os.preadv(file, [block], random.randrange(blocks) * size)
    os._exit(0)
os.waitpid(child, 0)
"""


class ServeOwners(ServeCase):
    def script_of(self, uid, name, text):
        path = self.path(str(uid), name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def tasks_of(self, words_of):
        """What words_of(uid, folder, command) starts at the same time for both users; their tasks at their ends."""
        self.serve()
        streams = {uid: self.subscribe(uid) for uid in (ALICE, BOB)}
        processes = []
        for uid, command in ((ALICE, SLEEPS), (BOB, COMPUTES)):
            words, folder = words_of(uid, command)
            processes.append(self.start(*words, cwd=folder, stderr=subprocess.DEVNULL,
                                        preexec_fn=lambda uid=uid: become(uid)))
        for process in processes:
            process.wait()
        return {uid: of_kind(self.read_until(stream, lambda events: of_kind(events, "task_finish"), "the task ends"),
                             "task_finish")[-1] for uid, stream in streams.items()}

    def check(self, words_of):
        tasks = self.tasks_of(words_of)
        keys = {uid: {task["context"][name] for name in ("run_key", "task_key") if task["context"].get(name)}
                for uid, task in tasks.items()}
        self.assertEqual(keys[ALICE] & keys[BOB], set())
        for uid, task in tasks.items():
            self.assertEqual(task["context"]["owner_uid"], uid)
        self.assertEqual(tasks[ALICE]["context"]["task_id"], tasks[BOB]["context"]["task_id"])
        self.assertLess(tasks[ALICE]["task_ledger"]["computing_ns"], 500_000_000, "what Bob computes is not hers")
        self.assertGreater(tasks[BOB]["task_ledger"]["computing_ns"], 500_000_000)

    def test_nextflow_on_a_node(self):
        def words_of(uid, command):
            head = f"#!/bin/bash\n### ---\n### name: 'ALIGN ({uid})'\n"
            script = self.script_of(uid, f"{WORK}/.command.run", head + command + "\n")
            return ["bash", ".command.run"], os.path.dirname(script)
        self.check(words_of)

    def test_toil(self):
        def words_of(uid, command):
            script = self.script_of(uid, "_toil_worker", f"import os\nos.system({command!r})\n")
            return [PYTHON_OF_ALL, script, "align", "file:/js", "7"], "/"
        self.check(words_of)

    def test_lsf(self):
        def words_of(uid, command):
            return ["sh", self.script_of(uid, ".lsbatch/1700000000.123.shell", command + "\n")], "/"
        self.check(words_of)

    def test_a_run_by_a_rule_and_by_another_users_announcement(self):
        """Bob announces the engine, ids and names that Alice's task has by a rule."""
        def words_of(uid, command):
            if uid == ALICE:
                return ["sh", self.script_of(uid, ".lsbatch/1700000000.123.shell", command + "\n")], "/"
            folder = self.folder_of(BOB, "bobs")
            context = {"engine": "lsf", "task_id": "123"}
            self.assertTrue(self.client(BOB).ask("announce", key={"work_dir": folder}, context=context)["ok"])
            return ["sh", "-c", command], folder
        self.check(words_of)

    def test_a_neighbor_at_the_disk_has_no_name_for_others(self):
        folders = {uid: self.folder_of(uid, str(uid)) for uid in (ALICE, BOB)}
        device = os.stat(self.folder).st_dev
        if not os.path.exists(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}/stat"):
            self.skipTest("the folder of the tests is on no disk")
        for uid, size in ((ALICE, 256), (BOB, 64)):
            with open(folders[uid] + "/data", "wb") as file:
                for _ in range(size):
                    file.write(os.urandom(1 << 20))
                os.fsync(file.fileno())
        self.serve()

        def start(uid, size, seconds, name):
            context = {"run": name, "step": name, "sample": name, "task": name}
            return self.start(PYTHON_OF_ALL, "-c", READER, f"{folders[uid]}/data", str(size), str(seconds),
                              json.dumps(context), self.socket, preexec_fn=lambda: become(uid))
        stream = self.subscribe(BOB)
        hog = start(ALICE, 1 << 20, 20, "patient-4711")
        waiter = start(BOB, 4096, 16, "probe")
        for process in (waiter, hog):
            self.assertEqual(process.wait(), 0)
        events = self.read_until(stream, lambda events: of_kind(events, "task_finish"), "the task ends")
        findings = of_kind(events, "finding")
        self.assertNotIn("patient-4711", json.dumps(findings))
        texts = [finding["text"] for finding in findings if finding["code"] == "disk_contention"]
        if not texts:
            self.skipTest("others use this machine, or its disk, too much")
        self.assertIn("while another user's program kept it busy", texts[0])


if __name__ == "__main__":
    support.main()
