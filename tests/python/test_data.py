# SPDX-License-Identifier: Apache-2.0
"""The one loader of recordings, its views, and rules that both the library and the Python package have."""

from __future__ import annotations

import json
import os
import subprocess
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from support import TRACERD, TempDir, needs_tracing, run_python

try:
    import duckdb
except ImportError:
    duckdb = None  # type: ignore[assignment]

import tracer
from tracer import BillError, RecordingError, WhatIfError
from tracer._data import VIEWS, connect, opened, recordings_of, table_of, view_of
from tracer._report import report_of_path
from tracer._tables import NAMES
from tracer.tune._observe import LEDGER
from tracer.tune._steps import _bound
from tracer.whatif import _read

RECORDINGS = Path(__file__).resolve().parent.parent / "data/recordings"


def recordings() -> Iterator[str]:
    return map(str, sorted(RECORDINGS.glob("*.tracer")))


@unittest.skipIf(duckdb is None, "needs duckdb")
class Opened(unittest.TestCase):
    def setUp(self) -> None:
        self.connection = self.enterContext(connect())

    def test_all_tables_and_views(self) -> None:
        path = str(RECORDINGS / "retries.tracer")
        for source in (path, tracer.read(path)):
            with opened(self.connection, source, *NAMES, *VIEWS) as recording:
                self.assertEqual(recording.host.host_name, tracer.read(path).host.host_name)
                for name in (*NAMES, *VIEWS):
                    self.connection.execute(f"SELECT count(*) FROM recorded_{name}").fetchall()
                self.assertEqual(table_of(self.connection, "SELECT count(*) AS n FROM recorded_tasks_last"),
                                 [{"n": tracer.read(path).tasks.count_rows()}])
                begun = table_of(self.connection, "SELECT recorded_us(min(start_ns)) AS us FROM recorded_processes")[0]["us"]
                first = min(row["start_ns"] for row in tracer.read(path).processes.rows())
                self.assertEqual(begun, (first + recording.host.wall_offset_ns) // 1000)
            # Nothing is left, so that the next one finds its names free.
            self.assertEqual(self.connection.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall(), [])
            self.assertEqual(self.connection.execute("SHOW TABLES").fetchall(), [])

    def test_only_what_is_asked_for(self) -> None:
        with opened(self.connection, str(RECORDINGS / "retries.tracer"), "runs_last", prefix=""):
            self.assertEqual(sorted(name for name, in self.connection.execute("SHOW TABLES").fetchall()), ["runs", "runs_last"])

    def test_what_is_no_recording(self) -> None:
        with self.assertRaises(RecordingError), opened(self.connection, __file__, "tasks"):
            self.fail("it was opened")

    def view(self, name: str) -> list[dict[str, Any]]:
        return table_of(self.connection, f"SELECT * FROM ({view_of(name, '')}) ORDER BY ALL")

    def test_the_last_row_counts(self) -> None:
        for table, key in (("tasks", "task_key"), ("runs", "run_key"), ("findings", "finding_key")):
            self.connection.execute(f"""CREATE TABLE {table} ({key} VARCHAR, time_ns BIGINT, state VARCHAR);
                INSERT INTO {table} VALUES ('a', 1, 'old'), ('a', 3, 'new'), ('b', 2, 'only'), (NULL, 1, 'x'), (NULL, 2, 'y')""")
            self.assertEqual([row["state"] for row in self.view(f"{table}_last")], ["new", "only", "x", "y"])

    def test_the_tool_with_most_time_in_all(self) -> None:
        self.connection.execute("""CREATE TABLE tasks_last (task_key VARCHAR, step VARCHAR, task VARCHAR);
            INSERT INTO tasks_last VALUES ('a', 's', 't'), ('b', NULL, NULL);
            CREATE TABLE programs (task_key VARCHAR, tool VARCHAR, cpu_ns UBIGINT);
            INSERT INTO programs VALUES ('a', 'sort', 5), ('a', 'gzip', 3), ('a', 'gzip', 3), ('a', NULL, 9), (NULL, 'sh', 9)""")
        self.assertEqual([(row["task_key"], row["tool"]) for row in self.view("task_names")], [("a", "gzip"), ("b", None)])


class Folders(TempDir):
    def test_a_folder_stands_for_its_recordings(self) -> None:
        (self.folder / "lake").mkdir()
        with self.assertRaisesRegex(BillError, "TRC137: no recording"):
            recordings_of(str(self.folder), "TRC137")
        for name in ("b.tracer", "a.tracer", "a.tracer.1", "notes.txt"):
            (self.folder / "lake" / name).write_text("")
        self.assertEqual([os.path.basename(path) for path in recordings_of(str(self.folder), "TRC137")], ["a.tracer.1", "a.tracer", "b.tracer"])
        self.assertEqual(recordings_of("x.tracer", "TRC137"), ["x.tracer"])


@needs_tracing
@unittest.skipIf(duckdb is None, "needs duckdb")
class Live(unittest.TestCase):
    def test_a_session(self) -> None:
        done = run_python("""
            import tracer
            from tracer._data import connect, opened
            with tracer.session() as session:
                with session.task("mine"):
                    session.run(["true"])
                session.flush()
                with connect() as connection, opened(connection, session, "tasks_last"):
                    print(connection.execute("SELECT task::VARCHAR FROM recorded_tasks_last").fetchall())
        """)
        self.assertEqual(done.stdout, "[('mine',)]\n", done.stderr)


@unittest.skipIf(duckdb is None, "needs duckdb")
class Twins(unittest.TestCase):
    """Rules of the library that Python can't take rows of: both have the same answer for all recordings."""

    def test_bound_by(self) -> None:
        """Steps of tune are sums over recordings, which no report has; a task is a step of one."""
        columns = ", ".join(f"task_ledger_{name}_ns::BIGINT AS {name}_ns" for name in LEDGER)
        compared = 0
        for path in recordings():
            with connect() as connection, opened(connection, path, "tasks_last", "bound_by"):
                for row in table_of(connection, f"""SELECT b.bound_by, b.bound_share, {columns} FROM recorded_tasks_last AS t
                        JOIN recorded_bound_by AS b ON b.task_key = t.task_key::VARCHAR WHERE task_ledger_wall_ns > 0"""):
                    bound, share = _bound(row)
                    self.assertEqual(bound, row["bound_by"], path)
                    self.assertAlmostEqual(share or 0, row["bound_share"] or 0, 3, path)
                    compared += 1
        self.assertGreater(compared, 150)

    @unittest.skipUnless(os.path.exists(TRACERD), "needs tracerd")
    def test_inputs(self) -> None:
        compared = 0
        for path in recordings():
            done = subprocess.run([TRACERD, "lineage", "--json", path], capture_output=True, text=True, check=False)
            graph = json.loads(done.stdout) if done.returncode == 0 else {"edges": [], "files": []}
            expected: dict[str, int] = {}
            maybe: dict[str, int] = {}
            for edge in graph["edges"]:
                if edge["mode"] == "read" and edge.get("task_key"):
                    sums = expected if edge["certain"] else maybe
                    sums[edge["task_key"]] = sums.get(edge["task_key"], 0) + graph["files"][edge["file"]]["size_bytes"]
            with connect() as connection, opened(connection, path, "task_inputs"):
                found = {row["task_key"]: row["bytes"] for row in table_of(connection, "FROM recorded_task_inputs")}
            for key in found.keys() | expected.keys() | maybe.keys():
                least, most = expected.get(key, 0), expected.get(key, 0) + maybe.get(key, 0)
                # A container engine gives inodes again at once: only the library tells such files apart.
                if "podman" in path:
                    self.assertLessEqual(found.get(key) or 0, 1.005 * most, f"{path}: {key}")
                else:
                    self.assertTrue(least <= (found.get(key) or 0) <= most, f"{path}: {key}")
            compared += len(found)
        self.assertGreater(compared, 100)

    def test_critical_path(self) -> None:
        """What a task needed by the report, it waits for in a replay."""
        compared = 0
        for path in recordings():
            runs = [run["critical_path"] for run in json.loads(report_of_path(path).to_json())["runs"] if "critical_path" in run]
            if not any(each["basis"] == "files" for each in runs) or "podman" in path:
                continue
            try:
                work = _read.read_workload(path, every=True)
            except WhatIfError:
                continue
            numbers = {task.key: number for number, task in enumerate(work.tasks)}
            for each in runs:
                places = [numbers[task["task_key"]] for task in each["tasks"]]
                for before, after in zip(places, places[1:]):
                    self.assertIn(before, work.tasks[after].after, path)
                    compared += 1
        self.assertGreater(compared, 10)


if __name__ == "__main__":
    unittest.main()
