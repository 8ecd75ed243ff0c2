# SPDX-License-Identifier: Apache-2.0
"""The present state: of recordings, sessions, and what a service shows."""

import json
import os
import subprocess
import unittest

import tracer
from recordings import TestCase
from support import TempDir, needs_tracing, wait_until


def whole(source, since=None, **query):
    """All parts of a state that has `more`: its rows by their lists."""
    rows = {}
    while True:
        state = source.state(since=since, **query)
        for name, each in state.items():
            if isinstance(each, list):
                rows.setdefault(name, []).extend(each)
        since = state["since"]
        if not state["more"]:
            return rows, state


RECORDING = os.path.join(os.path.dirname(__file__), "../data/recordings/nextflow-24.tracer")
FIGURES = ("processes", "living", "cpu_ns", "read_bytes", "written_bytes", "wall_ns", "memory_bytes", "bound_by", "failed")


class OfARecording(TestCase):
    def test_it_has_the_figures_of_the_report(self):
        recording = tracer.read(RECORDING)
        report = json.loads(recording.report.to_json())
        rows, state = whole(recording)
        for name, key in (("runs", "run_key"), ("tasks", "task_key")):
            figures = {row[key]: row for row in report[name] if key in row}
            self.assertEqual(sorted(row[key] for row in rows[name]), sorted(figures))
            for row in rows[name]:
                with self.subTest(row=row["name"]):
                    expected = figures[row[key]]
                    self.assertEqual([row.get(each) for each in FIGURES], [expected.get(each) for each in FIGURES])
        self.assertEqual(state["counts"]["processes"], report["totals"]["processes"])
        self.assertEqual((state["counts"]["living"], state["counts"]["dropped"]), (0, 0))

    def test_nothing_has_changed_since_its_end(self):
        recording = tracer.read(RECORDING)
        rows, state = whole(recording)
        later = recording.state(since=state["since"])
        self.assertEqual((later["runs"], later["steps"], later["tasks"], later["more"]), ([], [], [], False))
        # Another's.
        for source, since in ((tracer.read(RECORDING), state["since"]), (recording, "of nobody")):
            self.assertEqual(len(whole(source, since=since)[0]["tasks"]), len(rows["tasks"]))

    def test_only_what_was_asked_for(self):
        recording = tracer.read(RECORDING)
        state = recording.state(rows=["tasks"], fields=["task_key", "lives_ns"])
        self.assertEqual(set(state), {"since", "all", "more", "tasks"})
        for row in state["tasks"]:
            self.assertEqual(set(row), {"id", "task_key", "lives_ns"})
        of_task = recording.state(rows=["counts"], key=state["tasks"][0]["task_key"])
        self.assertEqual(of_task["processes"], [])  # All have ended.
        self.assertTrue(of_task["files"])
        self.assertNotIn("processes", recording.state(rows=["counts"], key="0123456789abcdef"))

    def test_mistakes(self):
        recording = tracer.read(self.made_up(10))
        for query in ({"rows": ["tools"]}, {"fields": ["cpu"]}, {"key": "no key"}, {"key": ""}, {"rows": [""]}):
            with self.subTest(query=query), self.assertRaises(tracer.InvalidArgumentError):
                recording.state(**query)
        for query in ({"rows": "tasks"}, {"fields": 1}, {"since": 1}, {"key": b"0"}, {"row": []}):
            with self.subTest(query=query), self.assertRaises(tracer.InvalidTypeError):
                recording.state(**query)


@needs_tracing
class OfASession(TempDir):
    def test_tasks_run_and_finish_and_are_there_when_it_is_closed(self):
        with tracer.session(run="r1") as s:
            with s.task("align", sample="S1"):
                child = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
                s.flush()
                running = s.state(rows=["tasks"])
                child.communicate(b"")
            s.flush()
            finished = s.state(since=running["since"], rows=["tasks"], fields=["task_key", "state", "processes"])
            unchanged = s.state(since=finished["since"], rows=["tasks"])
        (row,) = running["tasks"]
        self.assertEqual((row["name"], row["state"]), ("align", "running"))
        (after,) = finished["tasks"]
        self.assertEqual((after["task_key"], after["state"], after["processes"]), (row["task_key"], "finished", 1))
        self.assertEqual(unchanged["tasks"], [])
        (closed,) = s.state(rows=["tasks"])["tasks"]
        self.assertEqual((closed["task_key"], closed["state"]), (row["task_key"], "finished"))
        self.assertEqual(s.state(rows=["tasks"])["tasks"], [closed])

    def test_in_a_callback_and_in_a_child(self):
        seen = []
        with tracer.session() as s:
            s.on("process_exit", lambda event: seen.append(s.state(rows=["counts"])["counts"]["processes"]))
            subprocess.run(["true"], check=True)
            s.flush()
            self.assertEqual(seen, [1])
            child = os.fork()
            if child == 0:
                try:
                    s.state()
                except tracer.SessionClosedError:
                    os._exit(0)
                finally:
                    os._exit(1)
            self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_of_a_replay(self):
        with tracer.session(source=RECORDING) as s:
            s.flush()
            wait_until(lambda: s.finished, "its end")
            rows, _ = whole(s)
        self.assertEqual(sorted(row["task_key"] for row in rows["tasks"]),
                         sorted(row["task_key"] for row in whole(tracer.read(RECORDING))[0]["tasks"]))


if __name__ == "__main__":
    unittest.main()
