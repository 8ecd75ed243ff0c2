# SPDX-License-Identifier: Apache-2.0
"""Tasks that wait in a queue, as their engine reports them to a service."""

import os
import shutil
import subprocess
import tempfile
import time
import unittest

from support import DEADLINE_SECONDS
from test_serve import ALICE, BOB, ServeCase, become

RUN = {"engine": "planner", "run_id": "r1", "pipeline": "plan", "run": "first"}


def task(number, **more):
    return RUN | {"step": "align", "task": f"align ({number})", "task_id": f"t{number}"} | more


class Submit(ServeCase):
    def folder_of(self, uid):
        folder = tempfile.mkdtemp(prefix="tracerd-cli-", dir="/tmp")
        self.addCleanup(shutil.rmtree, folder, True)
        os.chown(folder, uid, uid)
        return folder

    def ask(self, uid, request, **keys):
        reply = self.client(uid).ask(request, **keys)
        self.assertTrue(reply["ok"], reply)
        return reply

    def rows(self, uid, table="tasks"):
        client = self.client(uid)
        self.assertTrue(client.ask("flush")["ok"])
        return client.ask("state", rows=[table])["state"][table]

    def row(self, uid, task_key, until=lambda row: True):
        deadline = time.monotonic() + DEADLINE_SECONDS
        while True:
            found = [row for row in self.rows(uid) if row.get("task_key") == task_key]
            if found and until(found[0]):
                return found[0]
            self.assertLess(time.monotonic(), deadline, f"{task_key}: {found}")
            time.sleep(0.1)

    def test_a_task_waits_runs_and_ends(self):
        self.serve()
        folder = self.folder_of(ALICE)
        context = task(1, sample="S1")
        requested = {"millicpus": 2000, "memory_bytes": 1 << 30}
        run = self.ask(ALICE, "submit", context=RUN, expected={"align": 3, "sort": 1})
        self.assertEqual(set(run), {"ok", "run_key"})
        key = self.ask(ALICE, "submit", context=context, requested=requested)["task_key"]
        queued = self.row(ALICE, key)
        self.assertEqual((queued["state"], queued["name"], queued["sample"]), ("queued", "align (1)", "S1"))
        self.assertEqual(queued["requested"], requested)
        self.assertNotIn("queued_ns", queued)
        steps = {row["step"]: row.get("expected") for row in self.rows(ALICE, "steps")}
        self.assertEqual(steps, {"align": 3, "sort": 1})
        self.assertEqual(self.rows(BOB), [])
        time.sleep(1)
        self.ask(ALICE, "announce", key={"work_dir": folder}, context=context, requested=requested)
        process = self.start("cat", stdin=subprocess.PIPE, cwd=folder, preexec_fn=lambda: become(ALICE))
        running = self.row(ALICE, key, lambda row: row["state"] != "queued")
        self.assertEqual(running["state"], "running")
        self.assertEqual(running["submitted_ns"], queued["submitted_ns"])
        self.assertGreaterEqual(running["queued_ns"], 1_000_000_000)
        self.assertLess(running["queued_ns"], 60_000_000_000)
        process.communicate()
        self.ask(ALICE, "withdraw", task_key=key, state="succeeded", exit_code=0)
        ended = self.row(ALICE, key, lambda row: row["state"] == "finished" and "outcome" in row)
        self.assertEqual((ended["outcome"], ended["processes"], ended["failed"]), ("succeeded", 1, 0))
        # Nothing of it is left that a process could join.
        late = self.start("cat", stdin=subprocess.PIPE, cwd=folder, preexec_fn=lambda: become(ALICE))
        late.communicate()
        self.assertEqual(self.row(ALICE, key)["processes"], 1)

    def test_what_becomes_of_tasks_that_do_not_run_here(self):
        self.serve()
        outcomes = {"cached": "withdrawn", "aborted": "withdrawn", "unknown": "withdrawn", "succeeded": "finished",
                    "failed": "finished"}
        for number, (outcome, state) in enumerate(outcomes.items()):
            key = self.ask(ALICE, "submit", context=task(number))["task_key"]
            self.assertEqual(self.row(ALICE, key)["state"], "queued")
            self.ask(ALICE, "withdraw", task_key=key, state=outcome)
            row = self.row(ALICE, key, lambda row: row["state"] != "queued")
            self.assertEqual((row["state"], row["outcome"]), (state, outcome))
            self.assertNotIn("queued_ns", row)

    def test_a_task_that_is_submitted_again_keeps_its_time(self):
        self.serve()
        key = self.ask(ALICE, "submit", context=task(1))["task_key"]
        first = self.row(ALICE, key)
        again = self.ask(ALICE, "submit", context=task(1), requested={"millicpus": 500})["task_key"]
        self.assertEqual(again, key)
        row = self.row(ALICE, key, lambda row: row.get("requested") == {"millicpus": 500})
        self.assertEqual(row["submitted_ns"], first["submitted_ns"])
        self.assertNotEqual(self.ask(ALICE, "submit", context=task(1, attempt=2))["task_key"], key)

    def test_equal_words_of_two_users_are_two_tasks(self):
        self.serve()
        keys = {uid: self.ask(uid, "submit", context=task(1))["task_key"] for uid in (ALICE, BOB)}
        self.assertNotEqual(keys[ALICE], keys[BOB])
        self.ask(BOB, "withdraw", task_key=keys[ALICE], state="aborted")
        self.row(BOB, keys[BOB])
        self.assertEqual(self.row(ALICE, keys[ALICE])["state"], "queued")
        self.assertEqual({row["task_key"] for row in self.rows(0)}, set(keys.values()))

    def test_a_run_takes_what_is_queued_with_it(self):
        self.serve()
        run = self.ask(ALICE, "submit", context=RUN)["run_key"]
        keys = [self.ask(ALICE, "submit", context=task(number))["task_key"] for number in range(3)]
        self.ask(ALICE, "withdraw", run_key=run, state="aborted")
        for key in keys:
            self.assertEqual(self.row(ALICE, key, lambda row: row["state"] != "queued")["state"], "withdrawn")

    def test_wrong_requests(self):
        self.serve()
        client = self.client(ALICE)
        for context in ({}, {"engine": "planner"}, {"engine": "planner", "run_id": "r", "step": "align"}):
            reply = client.ask("submit", context=context)
            self.assertEqual((reply["ok"], reply["code"]), (False, "TRC101"), context)
        self.assertFalse(client.ask("submit", context=RUN, expected=[1])["ok"])
        self.assertFalse(client.ask("withdraw", task_key="no key", state="failed")["ok"])
        self.assertFalse(client.ask("withdraw", task_key="12ab", state="gone")["ok"])
        self.assertFalse(client.ask("withdraw", state="failed")["ok"])
        self.assertTrue(client.ask("withdraw", task_key="12ab", state="failed")["ok"])

    def test_many_are_submitted_and_withdrawn(self):
        self.serve()
        client = self.client(ALICE)
        for number in range(5000):
            key = client.ask("submit", context=task(number))["task_key"]
            self.assertTrue(client.ask("withdraw", task_key=key, state="cached")["ok"])
        reply = client.ask("status")["status"]
        self.assertEqual(reply.get("lost", {}), {}, reply)


if __name__ == "__main__":
    unittest.main()
