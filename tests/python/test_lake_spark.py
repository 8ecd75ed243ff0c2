# SPDX-License-Identifier: Apache-2.0
"""The views of a lake by Spark, on a standalone cluster with two workers: each row is the one that DuckDB has.

Needs pyspark in an environment of its own, and Delta's jars, in $TRACER_SPARK, by default ~/.cache/libtracer-tests/spark:

    python3 -m venv env && env/bin/pip install 'pyspark==4.0.*'
    mkdir jars         # delta-spark_2.13-4.0.0.jar and delta-storage-4.0.0.jar of io.delta, from Maven Central
"""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import unittest
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

from lake_doubles import free_port, is_open
from support import wait_until
from test_lake_ask import MONDAY, SECOND, Made
from test_lake_tables import BOOT, HAS_LAKE

if HAS_LAKE:
    from lakes import on_host, put, recording

    import tracer

SPARK = Path(os.environ.get("TRACER_SPARK") or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "libtracer-tests/spark")
PYTHON = SPARK / "env/bin/python"
JARS = sorted((SPARK / "jars").glob("delta-*.jar"))
_ASKED = Path(__file__).with_name("spark_asked.py")
_RECORDINGS = ("retries", "failures", "nextflow-25", "snakemake", "slurm", "service-host")


def pyspark_of(python: Path) -> Path:
    return next((python.parent.parent / "lib").glob("python3*/site-packages/pyspark"))


def plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return round(value.timestamp() * 1e6)
    return str(value) if isinstance(value, date) else value


@unittest.skipUnless(HAS_LAKE, "needs libtracer[lake]")
@unittest.skipUnless(shutil.which("java"), "needs a Java runtime")
@unittest.skipUnless(PYTHON.exists() and len(JARS) >= 2, f"needs pyspark and Delta's jars in {SPARK}")
class OfSpark(Made):
    def spark_class(self, *words: str) -> None:
        """A daemon of Spark, until the end of the test."""
        home = pyspark_of(PYTHON)
        log = open(self.folder / f"{words[0].rsplit('.')[-1]}.log", "a")
        self.addCleanup(log.close)
        child = subprocess.Popen([str(home / "bin/spark-class"), *words], stdout=log, stderr=log, env=os.environ | {
            "SPARK_HOME": str(home), "SPARK_DAEMON_MEMORY": "256m", "SPARK_NO_DAEMONIZE": "1", "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"})
        # A worker ends its executors itself, if it is asked to end.
        self.addCleanup(child.wait)
        self.addCleanup(child.terminate)

    def cluster(self) -> str:
        port = free_port()
        self.spark_class("org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", str(free_port()))
        wait_until(lambda: is_open(port), "Spark's master", 240)
        for number in range(2):
            self.spark_class("org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1", "--cores", "1", "--memory", "600m", "--webui-port",
                             str(free_port()), "--work-dir", str(self.folder / f"worker-{number}"), f"spark://127.0.0.1:{port}")
        return f"spark://127.0.0.1:{port}"

    def fill(self) -> None:
        """Real rows, and such with all kinds of unknown and equal values."""
        (self.lake / "users").mkdir()
        (self.lake / "users/node2.json").write_text(json.dumps({"schema": 1, "users": {"0": "root", "1000": "alice"}}))
        for name in _RECORDINGS:
            put(self.lake, recording(name))
        put(self.lake, on_host(recording("retries"), "node2", BOOT))
        self.assertEqual(self.compact().problems, [])
        sizes = [None, 0, 1, 3, 4, 15, 16, 17, 1 << 40, (1 << 62) + 1, (1 << 63) - 1]
        self.make("processes", [{"step": "made", "tool": "t", "read_bytes": sizes[at % 9 if at > 10 else at], "wall_ns": at % 7 and at * 7919 % 1000, "user": f"u{at}" if at < 11 else "alice",
                                 "cpu_ns": None if at % 5 == 0 else at, "peak_rss_bytes": at * 31 % 17, "host_name": f"n{at % 3}"} for at in range(700)])
        users = ["alice", "bob", None]
        failure = [{"pid": 1, "tool": "bwa mem", "exit_code": 3, "exit_signal": None}]
        self.make("tasks", [{"task_key": f"k{at % 150}" if at % 10 else None, "time_ns": at, "pipeline": "made", "step": f"s{at % 3}", "user": users[at % 3],
                             "wall_ns": at * SECOND, "cpu_ns": None if at % 11 == 0 else at * SECOND * (at % 4) // 7, "exit_code": [0, 0, 3, None][at % 4],
                             "requested_millicpus": [None, 500, 4000][at % 3], "exit_signal": 9 if at % 4 == 3 else None, "failures": failure if at % 8 == 2 else [],
                             "requested_memory_bytes": 1 << 30, "peak_bytes": at << 24, "end_time": MONDAY + timedelta(hours=at), "host_name": f"n{at % 2}",
                             "task_id": f"ab/{'0' * 28}{at % 100:02}"} for at in range(300)])
        self.make("submits", [{"task_id": f"ab/{'0' * 28}{at:02}", "user": users[at % 3], "run_key": "head", "run": "joined", "task_key": f"head-{at}",
                               "time_unix_ns": again, "outcome": "cached" if at % 7 == 0 else None, "pipeline": "made"} for at in range(50) for again in (1, 2)])
        self.make("runs", [{"pipeline": "made", "run": f"r{at % 20}", "run_id": f"u{at % 20}" if at % 3 else None, "engine": "nextflow", "user": users[at % 3],
                            "run_key": f"k{at}" if at % 4 else None, "pid": at, "start_ns": at, "start_time": MONDAY + timedelta(seconds=at % 20),
                            "end_time": MONDAY + timedelta(seconds=at + 30), "cpu_ns": at or None, "tasks": 2, "failed_tasks": 0, "host_name": f"n{at % 2}",
                            "exit_code": [0, 1, None][at % 3]} for at in range(60)])
        self.make("host_samples", [{"host_name": f"n{at % 3}", "since_ns": at * 10 * SECOND, "time_ns": (at + 1) * 10 * SECOND, "cpus": 4, "tasks": at % 4,
                                    "idle_cpu_ns": at * SECOND if at % 3 else None, "task_cpu_ns": 5} for at in range(90)])

    def questions(self, asked: Any) -> list[str]:
        def some(query: str) -> list[tuple[Any, ...]]:
            return list(asked.sql(query).fetchall())

        found = [f"FROM runs_over_time('{each}')" for each, in some("SELECT DISTINCT pipeline FROM runs WHERE pipeline IS NOT NULL ORDER BY 1")]
        found += [f"FROM usual('{step}', '{tool}')" for step, tool in some(
            "SELECT step, tool FROM processes WHERE step IS NOT NULL AND tool IS NOT NULL GROUP BY ALL ORDER BY count(*) DESC, 1, 2 LIMIT 4")]
        months = [each for each, in some("SELECT DISTINCT strftime(date, '%Y-%m') FROM tasks ORDER BY 1")]
        found += [f"FROM {view}('{month}')" for month in months for view in ("usage_by_user", "waste_by_user")]
        found += [f"FROM idle_hosts('{day}')" for day, in some("SELECT DISTINCT date FROM host_samples ORDER BY 1")]
        found += ["FROM idle_tasks('2026-11-23', '2026-11-30 12:30')"]
        return found + [f"FROM failures('{week}')" for week, in some("SELECT DISTINCT strftime(date, '%G-W%V') FROM tasks ORDER BY 1")] + [
            # Of years whose first week begins in the year before, or has 53.
            *(f"FROM failures('{week}')" for week in ("2026-W53", "2025-W01")),
            "SELECT boot_id, time_ns, pipeline, run, run_key, step, task, task_key, task_id, pid, end_time FROM tasks_last",
            "SELECT boot_id, time_ns, run_key, pid, start_time, cpu_ns FROM runs_last", "SELECT boot_id, task_key, step, task FROM task_names"]

    def test_each_view_has_the_rows_that_it_has_in_duckdb(self) -> None:
        self.fill()
        asked = tracer.lake(self.url)
        questions = self.questions(asked)
        views = self.folder / "lake.sql"
        self.command("views", self.url, str(views))
        master = os.environ.get("TRACER_SPARK_MASTER") or self.cluster()
        done = subprocess.run([str(PYTHON), str(_ASKED), master, ",".join(map(str, JARS)), str(views), json.dumps(questions)], capture_output=True,
                              text=True, timeout=1200, env=os.environ | {"TZ": "UTC", "SPARK_LOCAL_IP": "127.0.0.1"})
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])
        said = json.loads(done.stdout.splitlines()[-1])
        if master.startswith("spark:"):
            self.assertEqual(said["executors"], 2)
        rows = 0
        for question, (columns, found) in zip(questions, said["answers"], strict=True):
            with self.subTest(question):
                relation = asked.sql(question)
                wanted = [[plain(value) for value in row] for row in relation.fetchall()]
                self.assertEqual(columns, relation.columns)
                self.assertEqual(len(found), len(wanted))
                rows += len(found)
                for mine, theirs in zip(sorted(found, key=order), sorted(wanted, key=order)):
                    self.assertTrue(all(map(same, mine, theirs)), f"{mine}\n{theirs}")
        self.assertGreater(rows, 500)


def order(row: list[Any]) -> list[tuple[str, str]]:
    # A sum of fractions depends on their order.
    return [("" if value is None else "x", f"{value:.6g}" if isinstance(value, float) else str(value)) for value in row]


def same(mine: Any, theirs: Any) -> bool:
    if isinstance(mine, float) or isinstance(theirs, float):
        return mine is not None and theirs is not None and math.isclose(mine, theirs, rel_tol=1e-12, abs_tol=1e-9)
    return type(mine) is type(theirs) and mine == theirs


if __name__ == "__main__":
    unittest.main()
