# SPDX-License-Identifier: Apache-2.0
"""Of one recording each figure of each task is the same in JSON, Python, text, tables, `tracer top`, the page, and what is exported of it."""

import json
import os
import re
import subprocess
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory

import pages
import tracer
from browser import CHROMIUM, Browser
from recordings import DEADLINE_SECONDS, TRACERD
from support import TempDir
from tracer.view._documents import Shown
from tracer.view._model import View
from tracer.view._screen import About, Choices, frame_of, nodes_of
from tracer.view._texts import UTF8, figure_text

RECORDINGS = ("nextflow-25", "snakemake", "slurm")
FIGURES = {"wall_ns": "wall", "cpu_ns": "CPU", "cpu_utilization": "CPU/wall", "memory_bytes": "memory", "read_bytes": "read", "written_bytes": "written"}
TILES = {"wall_ns": "wall time", "cpu_ns": "CPU time", "cpu_utilization": "of one CPU", "memory_bytes": "memory", "read_bytes": "read", "written_bytes": "written"}
MOST_BEFORE_EXEC_NS = 5_000_000
BOUNDS = {"exact": "", "at least": "_at_least", "at most": "_at_most"}


@unittest.skipUnless(CHROMIUM, "there is no chromium")
class EqualFigures(TempDir):
    @classmethod
    def setUpClass(cls):
        cls.browser = Browser(1440, 900)

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()

    def lines_of_top(self, recording):
        """By task_key."""
        view, choices = View(recording), Choices(toggled={})
        view.refresh()
        for _ in range(4):  # All are opened, level by level.
            choices.toggled |= {node.id: True for node in nodes_of(view, choices)}
        frame = frame_of(view, choices, About("recording", UTF8), 220, 600)
        lines = ["".join(text for text, _ in line) for line in frame.lines]
        head = next(number for number, line in enumerate(lines) if "elapsed" in line and "memory" in line)
        return {node.row["task_key"]: line for node, line in zip(frame.nodes, lines[head + 1:]) if node.level == "task"}

    def nodes_of(self, nodes):
        for node in nodes:
            yield node
            yield from self.nodes_of(node.below)

    def tiles_of(self, task):
        self.browser.run(f"location.hash = '#/run/{task['run_key']}/task/{task['task_key']}'")
        self.browser.frames(3)
        return dict(self.browser.run("[...document.querySelectorAll('.tile')].map((tile) => [...tile.children].map((node) => node.innerText.trim()))"))

    def test_of_each_task(self):
        for name in RECORDINGS:
            path = pages.RECORDINGS / f"{name}.tracer"
            recording = tracer.read(path)
            made = json.loads(recording.report.to_json())
            self.assertEqual(json.loads(subprocess.run([TRACERD, "report", "--json", path], capture_output=True, check=True,
                                                       timeout=DEADLINE_SECONDS).stdout), made)
            printed = subprocess.run([TRACERD, "report", "--by", "task", path], capture_output=True, text=True, check=True,
                                     env=os.environ | {"LC_ALL": "C.UTF-8"}, timeout=DEADLINE_SECONDS).stdout.splitlines()
            python = {node.row.context.task_key: node.row for node in self.nodes_of(recording.report.tree) if node.level == "task"}
            table = {row["task_key"]: row for row in recording.tasks.to_dicts()}
            top = self.lines_of_top(recording)
            exported = {task["task_key"]: task for task in json.loads(Shown(0, recording, name).exported())["tasks"]}
            page = self.folder / "page.html"
            page.write_text(recording.report.html(), "utf-8")
            self.browser.open(str(page))
            self.assertGreater(len(made["tasks"]), 3)
            for task in made["tasks"]:
                key = task["task_key"]
                tiles = self.tiles_of(task)
                line = next(each for each in printed if re.match(rf" *{re.escape(task['name'])} +\d+ ", each))
                for figure in FIGURES:
                    with self.subTest(recording=name, task=task["name"], figure=figure):
                        known = {figure + end: task[figure + end] for end in BOUNDS.values() if figure + end in task}
                        text = figure_text(task, figure, UTF8)
                        self.assertEqual(tiles[TILES[figure]], re.sub(r"^(\d+ %).*", r"\1", text) if figure == "cpu_utilization" else text)
                        self.assertIn(f" {figure_text(task, figure, UTF8, at_most=False)} ", line + " ")
                        if figure != "cpu_ns":
                            self.assertIn(figure_text(task, figure, UTF8, at_most=False), top[key])
                        self.assertEqual({end: exported[key][end] for end in known}, known)
                        row = getattr(python[key], figure)
                        if isinstance(row, tracer.Figure):
                            self.assertEqual(known.get(figure + BOUNDS[row.bound]), row.value)
                        elif row is not None:
                            self.assertEqual(known, {figure: row})
                        # Tables count processes, reports programs: what one does before its first exec may count elsewhere.
                        if figure in ("wall_ns", "cpu_ns", "written_bytes") and None not in (table[key][figure], known.get(figure)):
                            self.assertAlmostEqual(table[key][figure], known[figure], delta=MOST_BEFORE_EXEC_NS)


class EqualInState(unittest.TestCase):
    # Work that was announced once more, in another run: a report leaves behind what it had done in the first.
    ANNOUNCED_AGAIN = {"service-alice", "service-bob", "service-host"}

    def rows_of(self, made):
        """Each run, step and task once, with its figures; what is in no run has no rows in the state."""
        rows = {}
        for table, name_of in (("runs", lambda row: None), ("steps", lambda row: row.get("step", row["name"])), ("tasks", lambda row: row["task_key"])):
            for row in made[table]:
                if "run_key" not in row:
                    continue
                key = table, row["run_key"], name_of(row)
                self.assertNotIn(key, rows)
                rows[key] = {figure + end: row[figure + end] for figure in (*FIGURES, "processes", "failed", "tasks")
                             for end in BOUNDS.values() if figure + end in row}
        return rows

    def compare(self, path):
        recording = tracer.read(path)
        report, state = self.rows_of(json.loads(recording.report.to_json())), self.rows_of(recording.state())
        self.assertEqual(sorted(report, key=str), sorted(state, key=str))
        for key, figures in report.items():
            self.assertEqual(figures, state[key], key)
        return report

    def test_of_each_run_step_and_task(self):
        for path in sorted(pages.RECORDINGS.glob("*.tracer")):
            if path.stem not in self.ANNOUNCED_AGAIN:
                with self.subTest(path.stem):
                    self.compare(path)

    def test_tasks_that_do_not_count(self):
        with TemporaryDirectory() as folder:
            script = Path(folder) / "inner.sh"
            script.write_text("#!/bin/sh\nsleep 0.1\n", "utf-8")
            script.chmod(0o755)
            outer = Path(folder) / "outer.sh"
            for seconds, tasks in ((2, 0), (0, 2)):
                outer.write_text(f"#!/bin/sh\n{script}\nsleep {seconds}\n{script}\n", "utf-8")
                outer.chmod(0o755)
                subprocess.run([TRACERD, "run", "--no-live", "--record", f"{folder}/{tasks}", "--", outer], check=True, capture_output=True,
                               timeout=DEADLINE_SECONDS)
                rows = self.compare(f"{folder}/{tasks}")
                self.assertEqual(sum(table == "runs" for table, *_ in rows), 1)
                self.assertEqual(sum(table == "tasks" for table, *_ in rows), tasks)


if __name__ == "__main__":
    unittest.main()
