# SPDX-License-Identifier: Apache-2.0
"""tracer.lake(): tables and canonical views of all hosts, and the views, against figures that were reckoned by hand."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import subprocess
import sys
import unittest
from datetime import date, datetime, timedelta, timezone
from typing import Any

from test_lake_tables import BOOT, HAS_LAKE, LakeCase

if HAS_LAKE:
    import duckdb
    import polars
    import pyarrow
    from lakes import RECORDINGS, on_host, put, recording

    import tracer
    from tracer.lake._delta import append, make
    from tracer.lake._rows import TABLES, schema_of

SECOND = 1_000_000_000
MONDAY = datetime(2026, 11, 23, tzinfo=timezone.utc)


class Made(LakeCase):
    """Tables with rows that the test has thought of."""

    def make(self, name: str, rows: list[dict[str, Any]]) -> None:
        schema = schema_of(name)
        full = []
        for row in rows:
            end = row.get("end_time", MONDAY)
            full.append({"date": end.date(), "host_name": "n1", "boot_id": "b1", "session_id": "s", "part": 1, "end_time": end,
                         "time_ns": 5, **row})
        table = make(str(self.lake), name, schema)
        append(table, pyarrow.Table.from_pylist(full, schema), {"s/all": table.version() + 1})

    def ask(self, query: str) -> list[tuple[Any, ...]]:
        return list(tracer.lake(str(self.lake)).sql(query).fetchall())


class Views(Made):
    def test_a_run_over_two_hosts_is_one(self) -> None:
        def run(host: str, seconds: int, **more: Any) -> dict[str, Any]:
            begin = MONDAY + timedelta(seconds=seconds)
            return {"host_name": host, "boot_id": f"b-{host}", "pipeline": "rnaseq", "run": "r1", "engine": "nextflow", "run_id": "u1", "user": "alice",
                    "owner_uid": {"n1": 1000, "n2": 5000}[host], "run_key": host, "start_time": begin, "end_time": begin + timedelta(seconds=10),
                    "cpu_ns": 3 * SECOND, "tasks": 2, "failed_tasks": 0, "exit_code": 0, **more}

        self.make("runs", [
            run("n1", 0), run("n2", 5, failed_tasks=1, cpu_ns=4 * SECOND),
            # An earlier row of the same run: the last one counts.
            run("n1", 0, time_ns=1, cpu_ns=100 * SECOND),
            run("n1", 60, run_id="u2", run="r2", run_key="k2", exit_code=1), run("n1", 0, user="bob", run_key="k3"),
            run("n1", 0, pipeline="other", run_key="k4"),
        ])
        found = self.ask("SELECT run, \"user\", hosts, start_time, wall_ns, cpu_ns, tasks, failed_tasks, failed FROM runs_over_time('rnaseq') "
                         "ORDER BY start_time, \"user\"")
        self.assertEqual([(*row[:3], row[3].timestamp() - MONDAY.timestamp(), *row[4:]) for row in found], [
            ("r1", "alice", 2, 0, 15 * SECOND, 7 * SECOND, 4, 1, False), ("r1", "bob", 1, 0, 10 * SECOND, 3 * SECOND, 2, 0, False),
            ("r2", "alice", 1, 60, 10 * SECOND, 3 * SECOND, 2, 0, True)])

    def over_hosts(self) -> None:
        """A run whose engine is on one host, with a task of its own, and two tasks on others, of which one host knows no run."""
        head = {"host_name": "head", "boot_id": "b-head", "pipeline": "rnaseq", "run": "r1", "engine": "nextflow", "run_id": "u1", "run_key": "k", "user": "alice"}
        ids = [f"ab/{at:030}" for at in range(3)]
        self.make("runs", [{**head, "cpu_ns": 5, "tasks": 1, "failed_tasks": 0, "start_time": MONDAY, "exit_code": 0},
                           {**head, "host_name": "n2", "boot_id": "b-n2", "run_key": "k2", "cpu_ns": 7, "tasks": 1, "failed_tasks": 1}])
        self.make("submits", [{**head, "task_id": each, "task_key": f"head-{each}", "step": "ALIGN", "sample": f"S{at}", "time_unix_ns": 1} for at, each in enumerate(ids)])
        self.make("tasks", [{**head, "task_key": "own", "cpu_ns": 5},
                            *({"host_name": host, "boot_id": f"b-{host}", "user": "alice", "task_id": each, "task_key": f"{host}-key", "cpu_ns": 11,
                               "exit_code": code} for host, each, code in (("n1", ids[0], 0), ("n1-b", ids[1], 3), ("n2", ids[2], 1))),
                            {"host_name": "n1", "boot_id": "b-n1", "user": "bob", "task_id": ids[0], "task_key": "bobs", "cpu_ns": 100}])
        self.make("processes", [{"host_name": "n1", "boot_id": "b-n1", "task_key": key, "tool": "bwa", "read_bytes": 4, "wall_ns": wall, "cpu_ns": 11, "user": user}
                                for key, wall, user in (("n1-key", 50, "alice"), ("bobs", 60, "bob"), (None, 70, "alice"))]
                  + [{**head, "tool": "bwa", "step": "ALIGN", "read_bytes": 5, "wall_ns": 40, "task_key": "own"},
                     {"host_name": "n3", "boot_id": "b-n3", "tool": "bwa", "task_key": "n1-key", "read_bytes": 4, "wall_ns": 90, "user": "alice"}])
        self.make("findings", [{"host_name": "n1", "boot_id": "b-n1", "task_key": key, "finding_key": key, "code": "x"} for key in ("n1-key", "bobs")])

    def test_a_run_has_the_tasks_of_hosts_that_know_no_run(self) -> None:
        self.over_hosts()
        self.assertEqual(self.ask("SELECT run, \"user\", hosts, cpu_ns, tasks, failed_tasks, failed FROM runs_over_time('rnaseq')"),
                         [("r1", "alice", 4, 5 + 7 + 11 + 11, 4, 2, False)])

    def test_usual_has_processes_whose_step_another_host_knows(self) -> None:
        self.over_hosts()
        self.assertEqual(self.ask("SELECT processes, median_wall_ns, p95_wall_ns FROM usual('ALIGN', 'bwa')"), [(2, 40, 50)])

    def test_forget_a_run_and_a_sample_on_all_hosts(self) -> None:
        self.over_hosts()
        self.command("forget", self.url, "--sample", "S0")
        self.assertEqual(self.ask("SELECT host_name, \"user\" FROM tasks ORDER BY ALL"), [("head", "alice"), ("n1", "bob"), ("n1-b", "alice"), ("n2", "alice")])
        self.assertEqual(self.ask("SELECT task_key FROM findings"), [("bobs",)])
        self.assertEqual(self.ask("SELECT host_name, task_key FROM processes ORDER BY ALL"), [("head", "own"), ("n1", "bobs"), ("n1", None), ("n3", "n1-key")])
        self.command("forget", self.url, "--run", "u1")
        self.assertEqual(self.ask("SELECT host_name, \"user\" FROM tasks"), [("n1", "bob")])
        self.assertEqual(self.ask("SELECT count(*) FROM submits"), [(0,)])

    def test_what_is_not_known_is_not_forgotten(self) -> None:
        self.over_hosts()
        for what, names in (("user", "alice"), ("run", "r1"), ("sample", "S1")):
            self.assertIn(f"no row has the {what} nothing", self.command("forget", self.url, f"--{what}", "nothing", status=1))
            self.assertIn(f"\n{names}\n", self.command("sql", self.url, f'SELECT DISTINCT "{what}" FROM tasks_last'))

    def test_the_name_of_a_user_that_came_later(self) -> None:
        put(self.lake, recording("retries"))
        self.compact()
        asked = tracer.lake(self.url)
        self.assertEqual(asked.sql('SELECT DISTINCT "user" FROM processes').fetchall(), [(None,)])
        self.name("node1", root=0, alice=1000)
        self.compact()
        self.assertEqual(asked.sql('SELECT DISTINCT "user" FROM processes').fetchall(), [("root",)])
        self.assertEqual(asked.sql("SELECT DISTINCT \"user\" FROM usage_by_user('2026-11')").fetchall(), [("root",)] * bool(
            asked.sql("SELECT 1 FROM processes WHERE date >= '2026-11-01' AND date < '2026-12-01'").fetchall()))
        self.assertEqual(asked.table("processes").columns, tuple(schema_of("processes").names))
        self.assertEqual({row["user"] for row in self.rows("tasks")}, {None})
        # Another's name later is not that of rows which have one.
        self.make("processes", [{"host_name": "node1", "owner_uid": 0, "user": "toor"}, {"host_name": "node2", "owner_uid": 0}, {"host_name": "node1", "uid": 1000}])
        self.assertEqual(self.ask('SELECT host_name, "user" FROM processes WHERE boot_id = \'b1\' ORDER BY ALL'),
                         [("node1", "alice"), ("node1", "toor"), ("node2", None)])
        self.command("forget", self.url, "--user", "root")
        self.assertEqual(self.ask('SELECT host_name, "user" FROM processes ORDER BY ALL'), [("node1", "alice"), ("node1", "toor"), ("node2", None)])
        self.assertEqual(self.ask("SELECT count(*) FROM tasks"), [(0,)])

    def name(self, host: str, **users: int) -> None:
        (self.lake / "users").mkdir(exist_ok=True)
        (self.lake / f"users/{host}.json").write_text(json.dumps({"schema": 1, "users": {str(uid): name for name, uid in users.items()}}))

    def test_a_task_inside_of_another_has_asked_for_nothing_more(self) -> None:
        hour = 3600 * SECOND
        asks = {"user": "alice", "wall_ns": hour, "requested_millicpus": 8000, "requested_memory_bytes": 100, "exit_code": 0}
        self.make("tasks", [{**asks, "task_key": "job", "pid": 1, "start_ns": 1, "cpu_ns": SECOND, "peak_bytes": 10},
                            {**asks, "task_key": "step", "pid": 2, "start_ns": 2, "cpu_ns": SECOND, "peak_bytes": 20},
                            {**asks, "task_key": "rule", "pid": 3, "start_ns": 3, "cpu_ns": 7 * hour, "peak_bytes": 60},
                            {**asks, "task_key": "idle", "pid": 9, "start_ns": 9, "cpu_ns": SECOND, "peak_bytes": 100, "user": "bob"}])
        self.make("processes", [{"task_key": "job", "pid": 1, "start_ns": 1}, {"task_key": "step", "pid": 2, "start_ns": 2, "parent_pid": 1, "parent_start_ns": 1},
                                {"task_key": "rule", "pid": 3, "start_ns": 3, "parent_pid": 2, "parent_start_ns": 2}])
        self.assertEqual(self.ask("FROM waste_by_user('2026-11')"), [("bob", 1, 0, 0, 8 * hour - SECOND, 0.0), ("alice", 3, 0, 0, hour - 2 * SECOND, 40 * 3600.0)])
        self.assertEqual(self.ask("SELECT task_key, cpu_ns FROM idle_tasks('2026-11-23', '2026-11-24')"), [("idle", SECOND)])

    def test_many_cpus_for_days(self) -> None:
        days = 30 * 86400 * SECOND
        self.make("tasks", [{"user": "alice", "task_key": "1", "wall_ns": days, "cpu_ns": SECOND, "requested_millicpus": 2_000_000, "exit_code": 0}])
        unused = 2000 * days - SECOND
        self.assertEqual(self.ask("SELECT unused_cpu_ns FROM waste_by_user('2026-11')"), [(unused,)])
        self.assertEqual(self.ask("SELECT idle_cpu_ns FROM idle_tasks('2026-11-23', '2026-11-24')"), [(unused,)])

    def test_usual_by_size_of_input(self) -> None:
        sizes = [0, 3, 4, 15, 16, 16, 17, 63, None]
        self.make("processes", [{"step": "align", "tool": "bwa", "read_bytes": size, "wall_ns": at, "cpu_ns": 10 * at, "peak_rss_bytes": 100}
                                for at, size in enumerate(sizes, 1)] + [{"step": "align", "tool": "sort", "read_bytes": 4}])
        found = self.ask("FROM usual('align', 'bwa')")
        # From, to, processes, median and p95 of wall and CPU time and memory: the smallest value that so many are not above.
        self.assertEqual(found, [(0, 4, 2, 1, 2, 10, 20, 100, 100), (4, 16, 2, 3, 4, 30, 40, 100, 100), (16, 64, 4, 6, 8, 60, 80, 100, 100),
                                 (None, None, 1, 9, 9, 90, 90, 100, 100)])

    def test_p95_is_a_value_that_was_measured(self) -> None:
        for count in (1, 2, 19, 20, 21, 100):
            with self.subTest(count=count):
                self.lake = self.folder / f"lake-{count}"
                self.lake.mkdir()
                self.make("processes", [{"step": "s", "tool": "t", "read_bytes": 0, "wall_ns": at} for at in range(1, count + 1)])
                self.assertEqual(self.ask("SELECT p95_wall_ns FROM usual('s', 't')"), [(math.ceil(0.95 * count),)])

    def test_usage_of_a_month(self) -> None:
        last = datetime(2026, 11, 30, 23, 59, 59, tzinfo=timezone.utc)
        self.make("processes", [
            {"user": "alice", "cpu_ns": 5, "read_bytes": 10, "end_time": last}, {"user": "alice", "cpu_ns": 7, "host_name": "n2", "written_bytes": 1},
            {"user": "alice", "cpu_ns": 100, "end_time": last + timedelta(seconds=1)}, {"user": None, "cpu_ns": 2}])
        self.make("tasks", [{"user": "alice", "task_key": "t1"}, {"user": "alice", "task_key": "t1", "time_ns": 6}, {"user": "alice", "task_key": "t2"}])
        self.assertEqual(self.ask("FROM usage_by_user('2026-11')"), [("alice", 2, 2, 2, 12, 10, 1), (None, 1, 0, 1, 2, None, None)])
        self.assertEqual(self.ask("SELECT \"user\", cpu_ns FROM usage_by_user('2026-12')"), [("alice", 100)])

    def test_waste_of_a_month(self) -> None:
        self.make("tasks", [
            {"user": "alice", "task_key": "1", "exit_code": 1, "cpu_ns": 4 * SECOND, "wall_ns": 10 * SECOND, "requested_millicpus": 2000},
            {"user": "alice", "task_key": "2", "exit_code": 0, "cpu_ns": 9 * SECOND, "wall_ns": 4 * SECOND, "requested_millicpus": 2000,
             "requested_memory_bytes": 1000, "peak_bytes": 400},
            {"user": "bob", "task_key": "3", "exit_signal": 9, "cpu_ns": 1, "wall_ns": 1}])
        self.assertEqual(self.ask("FROM waste_by_user('2026-11')"), [("alice", 2, 1, 4 * SECOND, 16 * SECOND, 2400.0), ("bob", 1, 1, 1, None, None)])

    def test_idle_hosts_of_a_day(self) -> None:
        def sample(host: str, begin: int, **more: Any) -> dict[str, Any]:
            return {"host_name": host, "since_ns": begin * SECOND, "time_ns": (begin + 10) * SECOND, "cpus": 4, **more}

        self.make("host_samples", [
            sample("n1", 0, idle_cpu_ns=30 * SECOND, task_cpu_ns=5 * SECOND, tasks=1), sample("n1", 10, idle_cpu_ns=40 * SECOND, task_cpu_ns=0, tasks=0),
            sample("n2", 0, idle_cpu_ns=None, task_cpu_ns=1, tasks=2), sample("n2", 10, idle_cpu_ns=0, task_cpu_ns=1, tasks=2),
            sample("n1", 20, idle_cpu_ns=0, end_time=MONDAY + timedelta(days=1))])
        self.assertEqual(self.ask("FROM idle_hosts('2026-11-23')"), [
            ("n1", "b1", 4, 20 * SECOND, 70 * SECOND, 5 * SECOND, 0.875, 10 * SECOND), ("n2", "b1", 4, 20 * SECOND, 0, 2, 0.0, 0)])

    def test_idle_tasks(self) -> None:
        minute = 60 * SECOND
        self.make("tasks", [
            {"task_key": "idle", "wall_ns": 2 * minute, "cpu_ns": minute // 10, "requested_millicpus": 4000},
            {"task_key": "busy", "wall_ns": 2 * minute, "cpu_ns": minute, "requested_millicpus": 4000},
            {"task_key": "short", "wall_ns": minute - 1, "cpu_ns": 0}, {"task_key": "one", "wall_ns": minute, "cpu_ns": 6 * SECOND - 1},
            {"task_key": "tenth", "wall_ns": minute, "cpu_ns": 6 * SECOND}, {"task_key": "unknown", "wall_ns": minute, "cpu_ns": None},
            {"task_key": "late", "wall_ns": minute, "cpu_ns": 0, "end_time": MONDAY + timedelta(hours=1)}])
        found = self.ask("SELECT task_key, cpu_share, idle_cpu_ns FROM idle_tasks('2026-11-23', '2026-11-23 01:00')")
        self.assertEqual([(key, round(share, 6), idle) for key, share, idle in found], [
            ("idle", 0.0125, 8 * minute - minute // 10), ("one", 0.1, 54 * SECOND + 1)])

    def test_failures_of_a_week(self) -> None:
        tool = [{"pid": 1, "tool": "bwa mem", "exit_code": 3, "exit_signal": None}]
        one = {"pipeline": "p", "step": "align", "exit_code": 3, "failures": tool, "cpu_ns": 2, "user": "alice"}
        sunday = MONDAY + timedelta(days=6, hours=23)
        self.make("tasks", [{**one, "task_key": "1"}, {**one, "task_key": "2", "end_time": sunday, "user": "bob", "host_name": "n2"},
                            {**one, "task_key": "3", "end_time": MONDAY + timedelta(days=7)}, {**one, "task_key": "4", "end_time": MONDAY - timedelta(seconds=1)},
                            {**one, "task_key": "5", "exit_code": 0}, {**one, "task_key": "6", "exit_code": None, "exit_signal": 9, "failures": []}])
        self.assertEqual(self.ask("FROM failures('2026-W48')"), [
            ("p", "align", "bwa mem", 3, None, 2, 2, 2, 4, MONDAY, sunday), ("p", "align", None, None, 9, 1, 1, 1, 2, MONDAY, MONDAY)])
        self.assertEqual(self.ask("SELECT sum(tasks) FROM failures('2026-W47')"), [(1,)])

    def test_weeks_that_are_none(self) -> None:
        for at, day in enumerate(((2025, 12, 28), (2025, 12, 29), (2026, 1, 4), (2026, 12, 28), (2027, 1, 3), (2027, 1, 4))):
            self.make("tasks", [{"task_key": str(at), "exit_code": 1, "end_time": datetime(*day, tzinfo=timezone.utc)}])
        for week, tasks in {"2025-W52": 1, "2025-W53": 0, "2026-W00": 0, "2026-W01": 2, "2026-01": 0, "2026-W1": 0, "2026-W53": 2, "2026-W54": 0, "2027-W01": 1,
                            "": 0, "next": 0}.items():
            self.assertEqual(self.ask(f"SELECT coalesce(sum(tasks), 0) FROM failures('{week}')"), [(tasks,)], week)


class Tables(LakeCase):
    def setUp(self) -> None:
        super().setUp()
        put(self.lake, recording("retries"))
        put(self.lake, on_host(recording("retries"), "node2", BOOT))
        self.compact("files")

    def test_canonical_views_are_those_of_each_recording(self) -> None:
        from tracer._data import connect, opened, table_of

        asked = tracer.lake(str(self.lake))
        with connect() as connection:
            names = [name for name in asked.tables if name.endswith("_last") or name == "task_inputs"]
            with opened(connection, str(RECORDINGS / "retries.tracer"), *names):
                for name in names:
                    wanted = table_of(connection, f"SELECT * FROM recorded_{name}")
                    self.assertTrue(wanted)
                    for host in (tracer.read(RECORDINGS / "retries.tracer").host.boot_id, BOOT):
                        found = [row for row in asked.table(name).rows() if row["boot_id"] == host]
                        mine = [{key: row[key] for key in wanted[0] if key != "owner_uid"} for row in found]
                        theirs = [{key: value for key, value in row.items() if key != "owner_uid"} for row in wanted]
                        self.assertEqual(sorted(mine, key=repr), sorted(theirs, key=repr), name)

    def test_pandas_polars_and_arrow_are_equal_row_by_row_to_delta_by_polars(self) -> None:
        asked = tracer.lake(str(self.lake))
        for name in (*TABLES, "files", "users"):
            truth = polars.scan_delta(str(self.lake / "tables" / name)).collect()
            table = asked.table(name)
            wanted = sorted(truth.rows(named=True), key=repr)
            self.assertEqual(set(table.columns), set(truth.columns))
            for found in (table.to_polars().select(truth.columns).rows(named=True), table.to_arrow().select(truth.columns).to_pylist()):
                self.assertEqual(len(found), len(wanted))
                self.assertEqual(sorted((polars.DataFrame(found, truth.schema).rows(named=True) if found else []), key=repr), wanted)
            self.assertEqual((len(table.to_pandas()), table.count_rows()), (len(wanted), len(wanted)))
        self.assertEqual(str(asked.table("processes").to_pandas().dtypes["cpu_ns"]), "Int64")

    def test_canonical_views_are_those_that_polars_makes_of_delta(self) -> None:
        put(self.lake, recording("nextflow-25"))
        self.compact("files")
        asked = tracer.lake(str(self.lake))

        def delta(name: str) -> polars.DataFrame:
            return polars.scan_delta(str(self.lake / "tables" / name)).collect()

        def last(name: str, key: str) -> polars.DataFrame:
            rows = delta(name)
            return polars.concat([rows.filter(polars.col(key).is_null()),
                                  rows.filter(polars.col(key).is_not_null()).sort("time_ns").unique(["boot_id", key], keep="last")])

        tasks = last("tasks", "task_key")
        tools = (delta("processes").filter(polars.col("task_key").is_not_null() & polars.col("tool").is_not_null())
                 .group_by("boot_id", "task_key", "tool").agg(polars.col("cpu_ns").sum()).sort("cpu_ns")
                 .unique(["boot_id", "task_key"], keep="last").drop("cpu_ns"))
        inputs = (delta("files").filter(polars.col("task_key").is_not_null() & polars.col("path").is_not_null())
                  .with_columns(polars.when(polars.col("inode").is_null()).then(polars.col("path")).alias("by_path"))
                  .group_by("boot_id", "task_key", "device", "inode", "by_path")
                  .agg(polars.col("size_bytes").max(), polars.col("opened_to_read").any(), (polars.col("opened_to_write") | polars.col("created")).any().alias("made"))
                  .filter(polars.col("opened_to_read") & ~polars.col("made")).group_by("boot_id", "task_key")
                  .agg(polars.len().cast(polars.Int64).alias("files"), polars.col("size_bytes").sum().cast(polars.Float64).alias("bytes")))
        for name, truth in {
            "tasks_last": tasks, "runs_last": last("runs", "run_key"), "findings_last": last("findings", "finding_key"), "task_inputs": inputs,
            "task_names": tasks.select("boot_id", "task_key", "step", "task").join(tools, ["boot_id", "task_key"], how="left"),
        }.items():
            found = asked.table(name).to_polars()
            self.assertGreater(len(found), 2, name)
            self.assertEqual(set(found.columns), set(truth.columns))
            mine, theirs = (sorted(frame.select(truth.columns).rows(named=True), key=repr) for frame in (found, truth))
            self.assertEqual(mine, theirs, name)

    def test_it_sees_what_came_since(self) -> None:
        asked = tracer.lake(str(self.lake))
        before = asked.table("processes").count_rows()
        put(self.lake, recording("failures"))
        self.compact()
        more = sum(1 for _ in tracer.read(RECORDINGS / "failures.tracer").table("processes", only_ended=True).rows())
        self.assertEqual(asked.table("processes").count_rows(), before + more)

    def test_files_that_lie_beside_are_not_read(self) -> None:
        file = next((self.lake / "tables/processes").rglob("*.parquet"))
        file.with_name("part-of-a-killed-one.parquet").write_bytes(file.read_bytes())
        self.assertEqual(tracer.lake(str(self.lake)).sql("SELECT count(*) FROM processes").fetchall()[0][0], len(self.rows("processes")))

    def test_commands(self) -> None:
        said = self.command("sql", str(self.lake), "SELECT host_name, count(*) AS n FROM tasks GROUP BY 1 ORDER BY 1")
        tasks = tracer.read(RECORDINGS / "retries.tracer").tasks.count_rows()
        self.assertEqual(list(csv.reader(io.StringIO(said))), [["host_name", "n"], ["node1", str(tasks)], ["node2", str(tasks)]])
        file = self.folder / "lake.duckdb"
        self.command("views", str(self.lake), str(file))
        self.assertIn("is there already", self.command("views", str(self.lake), str(file), status=2))
        with duckdb.connect(str(file), read_only=True) as connection:
            self.assertEqual(connection.sql("SELECT count(*) FROM processes").fetchall()[0][0], len(self.rows("processes")))
            self.assertTrue(connection.sql("FROM failures('2026-W48')").columns)
        self.assertIn("TRC101", self.command("sql", str(self.lake), "SELEC 1", status=2))
        self.assertIn("or mount it", self.command("sql", str(self.folder / "nothing"), "SELECT 1", status=1))
        (self.folder / "nothing").mkdir()
        self.assertIn("has no tables", self.command("sql", str(self.folder / "nothing"), "SELECT 1", status=1))
        for name in ("x.duckdb", "x.sql"):
            said = self.command("views", str(self.lake), str(self.folder / "none" / name), status=2)
            self.assertIn("No such file or directory\n  Fix: name a file in a folder", said)
            (self.folder / name).symlink_to(self.folder / "target")
            self.assertIn("is there already", self.command("views", str(self.lake), str(self.folder / name), status=2))
        self.assertFalse((self.folder / "target").exists())

    def test_both_names_of_it_are_callable(self) -> None:
        code = "import tracer.lake._layout, tracer, sys; print(tracer.lake(sys.argv[1]).table('hosts').count_rows())"
        done = subprocess.run([sys.executable, "-c", code, str(self.lake)], capture_output=True, text=True, timeout=60, check=True)
        self.assertEqual(done.stdout, "2\n")
        with self.assertRaises(tracer.InvalidArgumentError):
            tracer.lake(str(self.lake)).table("nothing")

    def test_temporary_files_have_an_end(self) -> None:
        asked = tracer.lake(str(self.lake))
        limits = asked.sql("SELECT current_setting('max_temp_directory_size'), current_setting('memory_limit')").fetchall()[0]
        self.assertEqual(limits, ("2.7 GiB", "1.3 GiB"))


if __name__ == "__main__":
    unittest.main()
