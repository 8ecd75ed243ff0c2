# SPDX-License-Identifier: Apache-2.0
"""Tasks that wait in a queue, as their engine reports them to a service."""

import glob
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import keeper
import support
from support import DEADLINE_SECONDS, TRACERD, of_kind, parse_lines, text_of, wait_until
from test_findings import removed
from test_serve import ALICE, BOB, ServeCase, become

RUN = {"engine": "planner", "run_id": "r1", "pipeline": "plan", "run": "first"}


def task(number, **more):
    return RUN | {"step": "align", "task": f"align ({number})", "task_id": f"t{number}"} | more


class SubmitCase(ServeCase):
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


class Submit(SubmitCase):
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

    def test_a_report_has_what_waits_as_the_state_has_it(self):
        records = self.path("records")
        os.mkdir(records)
        self.serve("--config", self.write("tracerd.toml", f'schema = 1\n[recordings]\nfolder = "{records}"\n'))
        folder = self.folder_of(ALICE)
        requested = {"millicpus": 4000, "memory_bytes": 1 << 30}
        ran, cached, waits, ended = [
            self.ask(ALICE, "submit", context=task(number), requested=requested)["task_key"] for number in range(4)]
        time.sleep(1)
        self.ask(ALICE, "announce", key={"work_dir": folder}, context=task(0), requested=requested)
        begin = time.monotonic()
        process = self.start("/bin/sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done", cwd=folder,
                             preexec_fn=lambda: become(ALICE))
        process.wait(DEADLINE_SECONDS)
        wall_s = time.monotonic() - begin
        for key, outcome in ((ran, "succeeded"), (cached, "cached"), (ended, "failed")):
            self.ask(ALICE, "withdraw", task_key=key, state=outcome)
        self.row(ALICE, ran, lambda row: row["state"] == "finished" and "outcome" in row)
        client = self.client(ALICE)
        self.assertTrue(client.ask("flush")["ok"])
        state = client.ask("state")["state"]
        self.service.terminate()
        self.service.wait(DEADLINE_SECONDS)
        recording = os.path.join(records, "host.tracer")
        report = json.loads(subprocess.run([TRACERD, "report", "--json", recording], stdout=subprocess.PIPE, check=True).stdout)
        figures = ("queued", "elsewhere", "withdrawn", "expired", "queued_ns", "submitted_ns", "outcome", "requested", "processes", "tasks")
        seen = {"tasks": 0, "steps": 0, "runs": 0}
        for table in seen:
            for row in state[table]:
                same = [each for each in report[table]
                        if all(each.get(name) == row.get(name) for name in ("run_key", "step", "task_key"))]
                self.assertEqual(len(same), 1, (table, row))
                seen[table] += 1
                for figure in figures:
                    self.assertEqual(same[0].get(figure), row.get(figure), (table, row["name"], figure))
                if "state" in same[0]:
                    self.assertEqual(same[0]["state"], row["state"])
        self.assertEqual(seen, {"tasks": 4, "steps": 1, "runs": 1})
        states = {row["task_key"]: row.get("state") for row in report["tasks"] if row["task_key"] in (ran, cached, waits, ended)}
        self.assertEqual(states, {ran: None, cached: "withdrawn", waits: "queued", ended: "finished"})
        step = next(row for row in report["steps"] if row["run_key"] == state["steps"][0]["run_key"])
        self.assertEqual((step["queued"], step["withdrawn"], step["elsewhere"], step["tasks"]), (1, 1, 1, 4))
        self.assertGreaterEqual(step["queued_ns"], 1_000_000_000)
        use = step["requested_use"]
        self.assertEqual((use["cpu_tasks"], use["requested_millicpus"], use["requested_memory_bytes"]), (1, 4000, 1 << 30))
        used = next(row for row in report["tasks"] if row["task_key"] == ran)
        self.assertAlmostEqual(use["used_millicpus"], 1000 * used["cpu_ns"] / used["wall_ns"], delta=1)
        self.assertLessEqual(used["wall_ns"], wall_s * 1e9)
        self.assertGreater(use["used_millicpus"], 0)
        text = subprocess.run([TRACERD, "report", recording], stdout=subprocess.PIPE, check=True, text=True).stdout
        self.assertIn("submitted tasks: 1 queued, 1 elsewhere, 1 withdrawn; those that started waited ", text)
        self.assertRegex(text, r"  align: requested 4 CPUs, used [0-9.]+ \(1 of 4 tasks\); 1.0 GiB, used at most ")

    def limited_group(self):
        """A cgroup with 64 MiB of memory, for v1 or v2."""
        v1 = os.path.isdir("/sys/fs/cgroup/memory")
        group = ("/sys/fs/cgroup/memory" if v1 else "/sys/fs/cgroup") + f"/tracer-submit-{os.getpid()}"
        try:
            os.mkdir(group)
            self.addCleanup(wait_until, lambda: removed(group), "the cgroup can be removed")
            with open(os.path.join(group, "memory.limit_in_bytes" if v1 else "memory.max"), "w", encoding="ascii") as file:
                file.write(str(64 << 20))
        except OSError as error:
            self.skipTest(f"no cgroup with a limit of memory can be made: {error}")
        return group

    def test_attempts_that_run_out_of_memory_one_after_the_other(self):
        group = self.limited_group()
        self.serve()

        def enter():
            with open(os.path.join(group, "cgroup.procs"), "w", encoding="ascii") as file:
                file.write(str(os.getpid()))
            become(ALICE)

        for attempt in (1, 2):
            folder = self.folder_of(ALICE)
            requested = {"memory_bytes": attempt << 30}
            key = self.ask(ALICE, "submit", context=task(1, attempt=attempt), requested=requested)["task_key"]
            self.ask(ALICE, "announce", key={"work_dir": folder}, context=task(1, attempt=attempt), requested=requested)
            process = self.start("tail", "/dev/zero", cwd=folder, preexec_fn=enter)
            self.assertEqual(process.wait(DEADLINE_SECONDS), -signal.SIGKILL)
            self.row(ALICE, key, lambda row: row["state"] == "finished")
            self.ask(ALICE, "withdraw", task_key=key, state="failed", exit_code=137)
        found = [each for each in self.rows(ALICE, "findings") if each["code"] == "retried_starved"]
        self.assertEqual(len(found), 1, found)
        self.assertEqual((found[0]["count"], found[0]["severity"]), (2, "warning"))
        self.assertIn("ran out of memory in 2 attempts, one after the other: they had requested 1.0 GiB, then 2.0 GiB", found[0]["text"])
        self.assertFalse([each for each in self.rows(ALICE, "findings") if each["code"] in ("queue_delay", "retried_alike")])

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


class OverRestart(SubmitCase):
    def keep(self):
        self.recordings = self.path("recordings")
        os.mkdir(self.recordings)
        config = self.path("tracerd.toml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(f'schema = 1\n[recordings]\nfolder = "{self.recordings}"\nfiles = 60\n')
        self.keeper = keeper.Keeper([TRACERD, "serve", "--config", config, "--socket", self.socket], self.folder)
        self.addCleanup(self.keeper.close)
        self.begin()

    def begin(self):
        self.keeper.start()
        self.assertTrue(self.keeper.ready.wait(5 * DEADLINE_SECONDS), text_of(self.keeper.log))

    def said(self):
        """What the recordings say of submissions, as one recording, and each file's alone."""
        files = sorted(glob.glob(self.recordings + "/host.tracer*"))
        def said_in(*words):
            return [(event["context"].get("task_id"), event["state"], event["submitted_ns"], event.get("outcome"))
                    for event in of_kind(parse_lines(self.tracerd("dump", *words).stdout), "task_submit")]
        return said_in(self.recordings), [said_in(file) for file in files]

    def test_what_waits_is_kept(self):
        self.keep()
        folder = self.folder_of(ALICE)
        run = self.ask(ALICE, "submit", context=RUN, expected={"align": 9})["run_key"]
        keys = [self.ask(ALICE, "submit", context=task(number, sample="S"), requested={"millicpus": 1000 + number})
                ["task_key"] for number in range(4)]
        other = self.ask(BOB, "submit", context=task(0))["task_key"]
        # One runs here, one is over.
        self.ask(ALICE, "announce", key={"work_dir": folder}, context=task(1))
        process = self.start("cat", stdin=subprocess.PIPE, cwd=folder, preexec_fn=lambda: become(ALICE))
        self.row(ALICE, keys[1], lambda row: row["state"] == "running")
        self.ask(ALICE, "announce", key={"work_dir": self.folder_of(ALICE)}, context=task(2))
        self.ask(ALICE, "withdraw", task_key=keys[2], state="cached")
        self.row(ALICE, keys[2], lambda row: row["state"] == "withdrawn")
        before = {key: self.row(ALICE, key) for key in keys}
        # Nobody is told of these any more before the end.
        late = self.ask(ALICE, "submit", context=task(7))["task_key"]
        self.ask(ALICE, "withdraw", task_key=keys[3], state="failed", exit_code=3)
        self.keeper.end(signal.SIGKILL)
        self.begin()
        # Of the last one, the end may have been told just in time.
        self.assertRegex(text_of(self.keeper.log), " 1 announcements .*[56] submissions")
        waits = self.row(ALICE, keys[0])
        for name in ("state", "name", "sample", "requested", "submitted_ns"):
            self.assertEqual(waits[name], before[keys[0]][name], name)
        self.assertEqual(self.row(ALICE, keys[1])["submitted_ns"], before[keys[1]]["submitted_ns"])
        self.assertEqual(self.row(ALICE, late)["state"], "queued")
        ended = self.row(ALICE, keys[3], lambda row: row["state"] != "queued")
        self.assertEqual((ended["state"], ended["outcome"]), ("finished", "failed"))
        self.assertEqual([row["task_key"] for row in self.rows(BOB)], [other])
        steps = {row["step"]: row.get("expected") for row in self.rows(ALICE, "steps")}
        self.assertEqual(steps["align"], 9)
        # Submitted again, it keeps its time; it starts, and ends.
        self.assertEqual(self.ask(ALICE, "submit", context=task(0, sample="S"))["task_key"], keys[0])
        self.assertEqual(self.row(ALICE, keys[0])["submitted_ns"], waits["submitted_ns"])
        place = self.folder_of(ALICE)
        self.ask(ALICE, "announce", key={"work_dir": place}, context=task(0, sample="S"))
        self.start("true", cwd=place, preexec_fn=lambda: become(ALICE)).wait()
        self.ask(ALICE, "withdraw", task_key=keys[0], state="succeeded")
        self.assertIn("queued_ns", self.row(ALICE, keys[0], lambda row: row["state"] == "finished"))
        # The next file begins with what is submitted.
        os.kill(self.keeper.pid, signal.SIGHUP)
        support.wait_until(lambda: os.path.exists(self.recordings + "/host.tracer.2"), "a third file")
        process.communicate()
        for key in (keys[1], late):
            self.ask(ALICE, "withdraw", task_key=key, state="succeeded")
        self.ask(ALICE, "withdraw", run_key=run, state="succeeded")
        self.ask(BOB, "withdraw", task_key=other, state="aborted")
        self.ask(ALICE, "flush")
        self.keeper.end(signal.SIGINT)
        said, each = self.said()
        mine = [event[:2] + event[3:] for event in said]
        self.assertEqual(len(set(said)), len(said) - 1, said)  # Alice and Bob each submit a t0; t0 again.
        counts = {state: sum(event[1] == state for event in mine) for state in
                  ("submitted", "started", "ended_elsewhere", "withdrawn", "expired", "started_elsewhere")}
        # A run, four and one of Alice, one of Bob, and one again.
        self.assertEqual(counts, {"submitted": 8, "started": 2, "ended_elsewhere": 2, "withdrawn": 5, "expired": 0,
                                  "started_elsewhere": 0}, said)
        self.assertIn(("t1", "started", before[keys[1]]["submitted_ns"], None), each[0])

    def test_without_a_descriptor_store_it_is_forgotten(self):
        self.serve()
        key = self.ask(ALICE, "submit", context=task(1))["task_key"]
        self.row(ALICE, key)
        self.service.send_signal(signal.SIGINT)
        self.service.communicate(timeout=DEADLINE_SECONDS)
        self.serve()
        self.assertEqual(self.rows(ALICE), [])
        self.ask(ALICE, "withdraw", task_key=key, state="failed")
        self.assertEqual(self.rows(ALICE), [])
        self.assertEqual(self.ask(ALICE, "submit", context=task(1))["task_key"], key)
        self.assertEqual(self.row(ALICE, key)["state"], "queued")


if __name__ == "__main__":
    unittest.main()
