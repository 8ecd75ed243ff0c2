# SPDX-License-Identifier: Apache-2.0
"""Of one recording each figure of each task is the same in JSON, Python, text, tables, `tracer top`, the page, and what is exported of it."""

import json
import os
import re
import subprocess
import unittest

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
    def test_of_each_run_and_step(self):
        for name in (*RECORDINGS, "nextflow-24", "nextflow-podman"):
            recording = tracer.read(pages.RECORDINGS / f"{name}.tracer")
            made = json.loads(recording.report.to_json())
            state = recording.state()
            for table, name_of in (("runs", "name"), ("steps", "step")):
                rows = {(row.get("run_key"), row[name_of]): row for row in state[table]}
                self.assertTrue(made["runs"])
                for row in made[table]:
                    other = rows[row.get("run_key"), row["name"]]
                    for figure in (*FIGURES, "processes", "failed"):
                        with self.subTest(recording=name, table=table, row=row["name"], figure=figure):
                            self.assertEqual(*({end: each.get(figure + end) for end in BOUNDS.values()} for each in (row, other)))


if __name__ == "__main__":
    unittest.main()
