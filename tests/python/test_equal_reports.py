# SPDX-License-Identifier: Apache-2.0
"""Text, JSON, C, Python and page show the same figures of a recording."""

import dataclasses
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

import recordings
import tracer
from recordings import DEADLINE_SECONDS, PRINT_REPORT, TRACERD, TestCase
from tracer import _core, _report

HEADS = {"procs": "processes", "wall": "wall_ns", "CPU": "cpu_ns", "CPU/wall": "cpu_utilization", "memory": "memory_bytes",
         "read": "read_bytes", "written": "written_bytes", "failed": "failed"}


def output_of(*words):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
                          timeout=DEADLINE_SECONDS, env=os.environ | {"LC_ALL": "C.UTF-8"})
    if done.returncode != 0:
        raise AssertionError(f"{words}: {done.stderr}")
    return done.stdout


def text_of(row, name):
    """What a table says of a figure in JSON."""
    form = _core.format_duration if name.endswith("_ns") else _core.format_bytes if name.endswith("_bytes") else \
        _core.format_share if name == "cpu_utilization" else str
    parts = [sign + form(row[name + end]) for sign, end in (("", ""), ("≥ ", "_at_least"), ("≤ ", "_at_most")) if name + end in row]
    if name == "failed" and parts in (["0"], ["≥ 0"]):
        return ""
    if name == "processes" and parts in (["0"], ["≥ 0"]):
        return "-"
    return " ".join(parts) or "-"


# The bounds of plain numbers.
COUNTS = {"processes": "processes_bound", "lives_ns": "processes_bound", "wall_ns": "wall_bound"}
BOUNDS = {"exact": "", "at least": "_at_least", "at most": "_at_most"}

# Attributes whose names differ from those of JSON.
NAMES = {"pipes": "pipelines", "totals": "total"}


def plain(python):
    """What Python has, by the rules of JSON: what is not known is absent, and a figure has its bound in its name."""
    if dataclasses.is_dataclass(python):
        made = {}
        for name in (each.name for each in dataclasses.fields(python)):
            value = getattr(python, name)
            if name == "context":
                made |= {} if value is None else context_of(value)
            elif isinstance(value, _report.Figure):
                made[name + BOUNDS[value.bound]] = value.value
            elif value is not None and value != () and name not in ONLY_IN_PYTHON:
                made[name] = plain(value)
        return made
    if hasattr(python, "items"):
        return {name: plain(value) for name, value in python.items()}
    if isinstance(python, (list, tuple)):
        return [plain(each) for each in python]
    return python


ONLY_IN_PYTHON = {"status", "outcome", "cannot_tell", "text"}
LABELS = ("pipeline", "run", "step", "sample", "task", "task_id", "attempt", "engine")


def context_of(context):
    names = ("run_key", "task_key", "run_id", *LABELS)
    made = {name: getattr(context, name) for name in names if getattr(context, name) is not None}
    return made | ({"labels": {each.name: each.value for each in context.labels}} if context.labels else {})


class Equal(TestCase):
    def page_data(self, page):
        return json.loads(re.search(r'id="data">(.*?)</script>', page, re.S).group(1))

    def check_python(self, row, python):
        for field in dataclasses.fields(_report.ReportRow):
            name, value = field.name, getattr(python, field.name)
            if name in ("name", "context", "pid", "argv", "time", "task_ledger", "waits_for", "requested",
                        "requested_use", "memory_at_most_bytes", "processes_bound", "wall_bound"):
                continue
            with self.subTest(row=row["name"], figure=name):
                known = {name + end: row[name + end] for end in BOUNDS.values() if name + end in row}
                if name == "memory_bytes" and python.memory_at_most_bytes is not None:
                    self.assertEqual(known.pop("memory_bytes_at_most"), python.memory_at_most_bytes)
                if isinstance(value, _report.Figure):
                    self.assertEqual(known, {name + BOUNDS[value.bound]: value.value})
                elif value is None:
                    self.assertEqual(known, {})
                elif name in COUNTS:
                    self.assertEqual(known, {name + BOUNDS[getattr(python, COUNTS[name])]: value})
                else:
                    self.assertEqual(list(known.values()), [value])
        self.assertEqual(row.get("time", []), [dataclasses.asdict(each) for each in python.time])
        self.assertEqual(row.get("requested_use"), python.requested_use and plain(python.requested_use))
        ledger = python.task_ledger
        self.assertEqual(row.get("task_ledger"), ledger and {name: getattr(ledger, name) for name in ledger.__slots__})
        self.assertEqual(row.get("waits_for", []), [{name: getattr(each, name) for name in each.__slots__}
                                                    for each in python.waits_for])

    def check_findings(self, made, report, text):
        """JSON, Python, table and page have the same ones, in the same order."""
        names = ("code", "severity", "confidence", "subject", "state", "pid", "tool", "first_ns", "last_ns", "count", "text")
        self.assertEqual([{name: one.get(name) for name in names} for one in made["findings"]],
                         [{name: getattr(one, name) for name in names} for one in report.findings])
        self.assertEqual([one.get("advice", "") for one in made["findings"]], [one.advice for one in report.findings])
        for one, python in zip(made["findings"], report.findings):
            self.assertEqual([tuple(each.get(name) for name in ("name", "value", "unit", "text")) for each in one["evidence"]],
                             [(each.name, each.value, each.unit, each.text) for each in python.evidence])
        ranks = [("error", "warning", "note").index(one["severity"]) for one in made["findings"]]
        self.assertEqual(ranks, sorted(ranks))
        if made["findings"]:
            self.assertIn(f"\n{made['findings'][0]['severity']}: {made['findings'][0]['text']}\n", text)

    def check_lists(self, made, report):
        """Each key of JSON is an attribute in Python with the same value, and the other way round."""
        for name in ("failures", "survivors", "pipes", "cgroups", "files", "file_systems", "peers", "devices", "gpus", "cost", "certificate",
                     "excused"):
            with self.subTest(name):
                python = plain(getattr(report, NAMES.get(name, name)))
                expected = made[name]
                if name == "certificate":
                    python.setdefault("missing", [])
                self.assertEqual(python, expected)
        self.assertEqual(made.get("waste"), None if report.waste is None else plain(report.waste))
        for name in ("failures_seen", "answers"):
            self.assertEqual(made[name], getattr(report, name))
        self.assertEqual(made.get("instance_types", []), list(report.instance_types))
        known = {"schema", "certificate", "findings", "waste", "instance_types"}
        for name in made.keys() - known:
            self.assertTrue(hasattr(report, NAMES.get(name, name)), name)
        for row in (one for name in ("totals", "tools") for one in (made[name] if name == "tools" else [made[name]])):
            for key in row.keys() - {"run_key", "task_key", "run_id", "labels", *LABELS}:
                field = key.removesuffix("_at_least").removesuffix("_at_most")
                self.assertIn(field, _report.ReportRow.__dataclass_fields__)

    def check_cells(self, row, cells):
        """cells: by the heads of columns."""
        for head, name in HEADS.items():
            if head in cells:
                self.assertEqual(cells[head], text_of(row, name), (row["name"], head))

    def json_of(self, path):
        """Two of its attributes are keys of the run's row."""
        return {name: value for name, value in plain(path).items() if name not in ("run_key", "without_task_ns")}

    def check(self, path, tables=("tool", "tree", None)):
        report = tracer.read(path).report
        text = output_of(TRACERD, "report", "--json", path)
        self.assertEqual(output_of(PRINT_REPORT, path), text)
        self.assertEqual(report.to_json() + "\n", text)
        self.assertEqual(output_of(sys.executable, "-m", "tracer", "report", "--json", path), text)
        made = json.loads(text)

        self.check_python(made["totals"], report.total)
        self.assertEqual(len(made["tools"]), len(report.tools))
        for row, python in zip(made["tools"], report.tools):
            self.assertEqual(row["name"], python.name)
            self.check_python(row, python)
        below = {"run": made["runs"], "step": made["steps"], "task": made["tasks"]}
        seen = {level: 0 for level in below}

        def walk(nodes):
            for node in nodes:
                if node.level in below:
                    self.check_python(below[node.level][seen[node.level]], node.row)
                    seen[node.level] += 1
                walk(node.below)

        walk(report.tree)
        self.assertEqual(seen, {level: len(rows) for level, rows in below.items()})
        self.assertEqual(len(made["runs"]), len(report.runs))
        for row, python in zip(made["runs"], report.runs):
            self.check_python(row, python)
        self.check_lists(made, report)
        paths = {row["run_key"]: (row["critical_path"], row.get("without_task_ns")) for row in made["runs"]
                 if "critical_path" in row}
        self.assertEqual(paths, {path.run_key: (self.json_of(path), path.without_task_ns) for path in report.critical_paths})

        for by in tables:
            words = () if by is None else ("--by", by)
            lines = output_of(TRACERD, "report", *words, path).split("\n", 1)[1]
            self.assertEqual(report.text(by).lstrip("\n").split("\n", 1)[1], lines)
        rows, _, _ = report._native.table("tool", None, True)
        heads, shown = rows[0], rows[1:]
        by_name = {row["name"]: row for row in [*made["tools"], made["totals"]]}
        for cells in shown:
            if len(cells) == len(heads) and cells[0] in by_name:
                self.check_cells(by_name[cells[0]], dict(zip(heads, cells)))
        self.assertEqual(shown[-1][0], "total")

        data = self.page_data(report.html())
        of_tracerd = self.page_data(output_of(TRACERD, "report", "--html", path))
        for page in (data, of_tracerd):
            self.assertEqual({name: page.get(name) for name in made}, made)
        # Python lists 2,000 processes at most.
        self.assertEqual(data | {"title": "", "held": {}}, of_tracerd | {"title": "", "held": {}})
        self.check_findings(made, report, output_of(TRACERD, "report", path))

    def test_made_up_recordings(self):
        for i, words in enumerate(((100, 10), (50, 0), (1000, 3), (3, 1))):
            with self.subTest(words):
                self.check(self.made_up(*words, name=f"{i}.tracer", extreme=words == (3, 1)))

    def test_damaged_ones(self):
        data = bytearray(pathlib.Path(self.made_up(20_000, 10)).read_bytes())
        frames = [match.start() for match in re.finditer(b"TRF2", data)]
        self.assertGreater(len(frames), 3)
        flipped = bytearray(data)
        flipped[frames[1] + 200] ^= 0xFF
        for name, made in (("flipped", flipped), ("cut", data[:frames[-1]]), ("empty", data[:frames[1]])):
            with self.subTest(name):
                path = self.path(f"{name}.tracer")
                pathlib.Path(path).write_bytes(made)
                self.check(path)
                report = tracer.read(path).report
                self.assertLessEqual(len(report._native.table(None, None, True)[0]), 25)
                self.assertFalse(report.certificate.rows_are_whole)
                self.assertEqual(report.certificate.ended is None, name != "flipped")
                for row in (report.total, *report.tools, *report.tasks):
                    for figure in (row.cpu_ns, row.memory_bytes, row.read_bytes, row.written_bytes, row.failed):
                        self.assertTrue(figure is None or figure.bound == "at least", (row.name, figure))
                    self.assertEqual((row.processes_bound, row.wall_bound), ("at least", "at least"))
                    self.assertEqual((row.cpu_utilization, row.parallelism), (None, None))
                self.assertEqual(name == "empty", report.total.cpu_ns is None)

    @unittest.skipIf(recordings.why_no_tracing(), recordings.why_no_tracing())
    def test_real_ones(self):
        script = (f'for s in S1 S2; do {TRACERD} task --step sort --sample $s -- sh -c "seq 20000 | sort -n > /dev/null; exit 3"; done; '
                  f'{sys.executable} -c "import time; held = bytearray(80 << 20); time.sleep(1.2)" & sleep 0.3; wait; true')
        path, _ = self.traced("sh", "-c", script, options=("--pipeline", "p", "--run", "r"))
        self.check(path)
        made = json.loads(output_of(TRACERD, "report", "--json", path))
        self.assertEqual([row["tasks"] for row in made["runs"]], [2])
        self.assertEqual(len({row["task_key"] for row in made["tasks"]}), 2)
        self.assertEqual(len({row["run_key"] for name in ("runs", "steps", "tasks") for row in made[name]}), 1)
        self.assertTrue(any("memory_bytes_at_least" in row for row in made["tools"]))
        self.assertEqual(sum(one["count"] for one in made["failures"]), 2)
        self.assertIn("first_failure", {one["code"] for one in made["findings"]})
        self.assertTrue(all("task_ledger" in row and row["bound_by"] for row in made["tasks"]))


if __name__ == "__main__":
    unittest.main()
