# SPDX-License-Identifier: Apache-2.0
"""The present state as a service gives it to two users and root."""

import json
import signal
import subprocess
import time

import support
from support import DEADLINE_SECONDS, of_kind
from test_serve import ALICE, BOB, ServeCase, become

ROWS = ("runs", "steps", "tasks", "findings")


class ServeState(ServeCase):
    def run_task(self, uid, name, *words):
        """Its process, which waits in a task of its own."""
        process = self.start(*words, stdin=subprocess.PIPE, preexec_fn=lambda: become(uid))
        context = {"pipeline": f"{name}-pipeline", "run": f"{name}-run", "step": f"{name}-step", "task": f"{name}-task"}
        reply = self.client(uid).ask("attach", pid=process.pid, context=context)
        self.assertTrue(reply["ok"], reply)
        return process

    def state(self, uid, **query):
        client = self.client(uid)
        self.assertTrue(client.ask("flush")["ok"])
        reply = client.ask("state", **query)
        self.assertTrue(reply["ok"], reply)
        return reply["state"]

    def state_with(self, uid, *names, **query):
        """As soon as these tasks are in it, each with a process that was sampled."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        while True:
            state = self.state(uid, **query)
            tasks = {row["task"]: row for row in state["tasks"] if row.get("task")}
            if set(names) <= set(tasks) and all(tasks[name]["living"] for name in names):
                return state
            self.assertLess(time.monotonic(), deadline, f"no {names} in {state}")
            time.sleep(0.1)

    def names(self, state):
        return sorted(row["task"] for row in state["tasks"] if row.get("task"))

    def test_each_user_has_their_own_rows_and_root_all(self):
        self.serve()
        names = {ALICE: "alices", BOB: "bobs"}
        running = {uid: self.run_task(uid, name, "cat") for uid, name in names.items()}
        both = [f"{name}-task" for name in names.values()]
        before = {uid: self.state_with(uid, f"{name}-task") for uid, name in names.items()} | {0: self.state_with(0, *both)}
        for uid, name in names.items():
            self.assertEqual(self.names(before[uid]), [f"{name}-task"])
            row, = [row for row in before[uid]["tasks"] if row.get("task")]
            self.assertEqual((row["state"], row["processes"], row["living"]), ("running", 1, 1))
            self.assertEqual([run["run"] for run in before[uid]["runs"] if run.get("run")], [f"{name}-run"])
            self.assertEqual([step["step"] for step in before[uid]["steps"] if step.get("step")], [f"{name}-step"])
            other = next(each for each in names.values() if each != name)
            self.assertNotIn(other, json.dumps(before[uid]))
        self.assertLessEqual({"alices-task", "bobs-task"}, set(self.names(before[0])))
        self.assertGreater(before[0]["counts"]["living"], before[ALICE]["counts"]["living"])

        # What has changed since, and nothing else. Bob's reply is no beginning for Alice, nor are his keys hers.
        stream = self.subscribe(ALICE)
        running[ALICE].communicate("")
        self.read_until(stream, lambda events: of_kind(events, "task_finish"), "her task ends")
        later = self.state(ALICE, since=before[ALICE]["since"], rows=["tasks"], fields=["task", "state", "processes"])
        row, = later["tasks"]
        self.assertEqual((row["task"], row["state"], row["processes"]), ("alices-task", "finished", 1))
        self.assertNotIn("cpu_ns", row)
        self.assertNotIn("runs", later)
        # His was sampled since.
        self.assertLessEqual(set(self.names(self.state(BOB, since=before[BOB]["since"]))), {"bobs-task"})
        self.assertLessEqual({"alices-task"}, set(self.names(self.state(0, since=before[0]["since"]))))
        self.assertNotIn("bobs", json.dumps(self.state(ALICE, since=before[BOB]["since"])))
        keys = {uid: next(row["task_key"] for row in before[uid]["tasks"] if row.get("task")) for uid in names}
        own = self.state(BOB, key=keys[BOB], rows=["counts"])
        self.assertEqual([process["pid"] for process in own["processes"]], [running[BOB].pid])
        self.assertEqual(self.state(ALICE, key=keys[ALICE], rows=["counts"])["processes"], [])  # It has ended.
        of_other = self.state(ALICE, key=keys[BOB], rows=["counts"])
        self.assertEqual(set(of_other) & {"processes", "files", "peers"}, set())
        self.assertEqual([process["pid"] for process in self.state(0, key=keys[BOB])["processes"]], [running[BOB].pid])

    def test_a_process_of_another_user_in_a_task_is_not_in_its_rows(self):
        """As after `sudo -u`: it is Bob's, without Alice's names, and root sees it in her task."""
        self.serve()
        words = ("setpriv", "--reuid", str(BOB), "--regid", str(BOB), "--clear-groups", "cat")
        process = self.start("sh", "-c", 'read line; "$@" & wait; read line', "sh", *words, stdin=subprocess.PIPE)
        context = {"run": "roots-run", "task": "roots-task"}
        self.assertTrue(self.client().ask("attach", pid=process.pid, context=context)["ok"])
        stream = self.subscribe(BOB)
        process.stdin.write("\n")
        process.stdin.flush()
        self.read_until(stream, lambda events: of_kind(events, "process_exec"), "it is Bob's")
        state = self.state(BOB)
        self.assertNotIn("roots", json.dumps(state))
        self.assertEqual(self.names(state), [])
        self.assertIn("roots-task", self.names(self.state(0)))

    def test_what_is_shared_is_there(self):
        config = self.path("tracerd.toml")
        with open(config, "w", encoding="utf-8") as text:
            # Those who are in the group of Alice's and Bob's see hers; he shares nothing.
            text.write(f'schema = 1\n[[share]]\nowner = "{ALICE}"\ngroup = "20019"\n')
        self.serve("--config", config)
        for uid, name in ((ALICE, "alices"), (BOB, "bobs")):
            self.run_task(uid, name, "cat")
        self.assertEqual(self.names(self.state_with(BOB, "alices-task", "bobs-task")), ["alices-task", "bobs-task"])
        self.assertEqual(self.names(self.state(ALICE)), ["alices-task"])

    def test_mistakes_are_refused(self):
        self.serve()
        alice = self.client(ALICE)
        for query in ({"rows": ["tools"]}, {"fields": ["cpu"]}, {"key": "no key"}, {"key": "0" * 17}):
            with self.subTest(query=query):
                self.refused(alice.ask("state", **query), "TRC101")
        for query in ({"rows": "tasks"}, {"fields": [1]}, {"since": 7}, {"key": {}}, {"rows": ["ta\0sks"]}):
            with self.subTest(query=query):
                self.refused(alice.ask("state", **query), "TRC142")
        self.refused(alice.ask("state", fields=["x" * 200_000]), "TRC101")
        self.assertTrue(alice.ask("state", fields=["cpu_ns"] * 20_000)["ok"])
        self.assertTrue(alice.ask("state", since="x" * 200_000)["ok"])
        self.service.send_signal(signal.SIGTERM)
        self.assertEqual(self.service.wait(DEADLINE_SECONDS), 0)


if __name__ == "__main__":
    support.main()
