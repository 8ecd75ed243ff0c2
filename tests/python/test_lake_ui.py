# SPDX-License-Identifier: Apache-2.0
"""`tracer ui LAKE`: runs by the tables and the index, runs that are opened, hosts over months."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import socket
import subprocess
import sys
import threading
import unittest
from datetime import timedelta
from typing import Any
from unittest import mock

from browser import CHROMIUM, Browser
from lake_doubles import Gateway, environment, versitygw
from support import wait_until
from test_lake_ask import MONDAY, SECOND, Made
from test_lake_tables import HAS_LAKE, LakeCase

import tracer
from tracer.view import _documents

try:
    import uvicorn
except ModuleNotFoundError:
    uvicorn = None  # type: ignore[assignment]

if HAS_LAKE:
    from lakes import RECORDINGS, put, recording

    from tracer.lake._listed import host_months, listed_runs
    from tracer.lake._over_hosts import runs_of
    from tracer.lake._store import open_store
    from tracer.view._lake import ShownLake
    from tracer.view._runs import Runs, _rows

NAMES = ("nextflow-25", "snakemake", "retries", "failures", "nextflow-slurm", "cwltool", "nextflow-podman")


def of_file(name: str) -> _documents.Shown:
    [shown] = _documents.shown_of([str(RECORDINGS / f"{name}.tracer")])
    assert isinstance(shown, _documents.Shown)
    return shown


class UiCase(LakeCase):
    def shown(self) -> ShownLake:
        [shown] = _documents.shown_of([self.url])
        assert isinstance(shown, ShownLake)
        return shown

    def listed(self) -> dict[str, dict[str, Any]]:
        rows, _, _ = listed_runs(self.url, open_store(self.url), 1000)
        self.assertEqual(len({row["run_key"] for row in rows}), len(rows))
        return {row["run_key"]: row for row in rows}

    def commanded(self) -> dict[str, dict[str, Any]]:
        return {run["run_key"]: run for run in json.loads(self.command("runs", self.url, "--days", "9999", "--json")) if run["run_key"]}


class Listed(UiCase):
    def test_before_compaction_by_the_index_and_after_by_the_tables(self) -> None:
        """The same runs as `tracer lake runs`, and after compaction the figures that the page has of the recordings."""
        for name in NAMES:
            put(self.lake, recording(name))
        commanded = self.commanded()
        by_index = self.listed()
        self.assertEqual(set(by_index), set(commanded))
        for key, row in by_index.items():
            said = commanded[key]
            self.assertEqual((row.get("pipeline"), row.get("run"), row["start_unix_ns"]), (said["pipeline"], said["run"], said["begin_unix_ns"]))
            self.assertEqual(row.get("wall_ns"), said["end_unix_ns"] and said["end_unix_ns"] - said["begin_unix_ns"])
            self.assertEqual(row.get("tasks", row.get("tasks_at_least")), said["tasks_ended"])
            self.assertEqual((row["findings"], row["steps"], "cpu_ns" in row, "memory_bytes" in row), ({}, [], False, False))
        self.compact()
        by_tables = self.listed()
        self.assertEqual(set(by_tables), set(commanded))
        of_table = {row["run_key"]: row for row in tracer.lake(self.url).table("runs_last").rows()}
        compared = 0
        for name in NAMES:
            shown = of_file(name)
            for wanted in _rows(shown.index(), shown):
                found, key = by_tables[wanted["run_key"]], wanted["run_key"]
                if found["status"] == "running":
                    self.assertEqual((name, wanted["status"], found["tasks_at_least"]), ("cwltool", "running", wanted["tasks"]))
                    continue
                for field in ("name", "pipeline", "run", "status", "tasks", "findings"):
                    self.assertEqual(found.get(field), wanted.get(field), (name, field))
                if key in of_table:
                    for field in ("cpu_ns", "wall_ns", "failed"):
                        self.assertEqual(found.get(field), of_table[key][field])
                    self.assertEqual(found.get("memory_bytes_at_least"), None if "memory_bytes" in found else of_table[key]["peak_at_least_bytes"])
                # A run's row in a table has what a run inside of it used, and nothing of what ended after it.
                if name in ("nextflow-25", "snakemake", "retries", "failures"):
                    self.assertAlmostEqual(found["cpu_ns"] / wanted["cpu_ns"], 1, delta=0.01)
                self.assertLess(abs(found["start_unix_ns"] - wanted["start_unix_ns"]), SECOND // 1000)
                self.assertEqual([(step["name"], step["tasks"]) for step in found["steps"]], [(step["name"], step["tasks"]) for step in wanted["steps"]])
                compared += 1
        self.assertGreaterEqual(compared, len(NAMES))

    def test_what_came_since_the_compaction_is_listed_by_the_index(self) -> None:
        put(self.lake, recording("retries"))
        self.compact()
        put(self.lake, recording("nextflow-25"))
        self.assertEqual(sorted("cpu_ns" in row for row in self.listed().values()), [False, True])
        self.assertEqual(set(self.listed()), set(self.commanded()))

    def test_nothing_of_it_is_imported_for_others(self) -> None:
        code = ("import sys; from tracer.view._documents import shown_of; import tracer.view._server; shown_of(sys.argv[1:]); "
                "print(*{'duckdb', 'deltalake', 'obstore', 'pyarrow'} & set(sys.modules))")
        done = subprocess.run([sys.executable, "-c", code, str(RECORDINGS / "demo.tracer")], capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout, "\n")


class Hosts(Made, UiCase):
    def test_a_run_over_two_hosts_is_one_row(self) -> None:
        def run(host: str, seconds: int, **more: Any) -> dict[str, Any]:
            begin = MONDAY + timedelta(seconds=seconds)
            return {"host_name": host, "boot_id": f"b-{host}", "pipeline": "rnaseq", "run": "r1", "engine": "nextflow", "run_id": "u1", "user": "alice",
                    "run_key": f"key-{host}", "time_ns": (seconds + 10) * SECOND, "time_unix_ns": int(begin.timestamp() + 10) * SECOND, "start_ns": seconds * SECOND,
                    "begin_ns": seconds * SECOND, "end_ns": (seconds + 10) * SECOND, "start_time": begin, "end_time": begin + timedelta(seconds=10), "cpu_ns": 3 * SECOND,
                    "tasks": 2, "failed": 1, "peak_bytes": 100, "exit_code": 0, **more}

        self.make("runs", [run("n1", 0), run("n2", 5, cpu_ns=4 * SECOND, peak_bytes=150), run("n1", 60, run_id="u2", run="r2", run_key="k2", cpu_ns=None, cpu_at_least_ns=7)])
        task = {key: value for key, value in run("n1", 0).items() if key not in ("tasks", "exit_code", "peak_bytes")}
        self.make("tasks", [task | {"task_key": f"t{wall}", "step": "align", "wall_ns": wall * SECOND, "exit_code": 0} for wall in (1, 2, 4, 8)])
        self.make("findings", [{"boot_id": "b-n2", "run_key": "key-n2", "finding_key": str(at), "severity": severity, "code": "x"}
                               for at, severity in enumerate(("error", "warning", "warning", "note"))])
        first, second = (row for row in sorted(self.listed().values(), key=lambda row: row["start_unix_ns"]))
        self.assertEqual(first, {
            "run_key": first["run_key"], "name": "rnaseq r1", "pipeline": "rnaseq", "run": "r1", "status": "done", "start_unix_ns": int(MONDAY.timestamp()) * SECOND,
            "wall_ns": 15 * SECOND, "tasks": 4, "failed": 2, "cpu_ns": 7 * SECOND, "memory_bytes_at_least": 150, "findings": {"error": 1, "warning": 2},
            "steps": [{"name": "align", "tasks": 4, "wall_ns": 3 * SECOND}]})
        self.assertEqual((second["name"], second.get("cpu_ns"), second["cpu_ns_at_least"], second["memory_bytes"]), ("rnaseq r2", None, 7, 100))
        [over_time, _] = self.ask("SELECT wall_ns, cpu_ns, tasks FROM runs_over_time('rnaseq')")
        self.assertEqual((first["wall_ns"], first["cpu_ns"], first["tasks"]), over_time)
        # The newest ones, and how many there are besides.
        rows, left_out, _ = listed_runs(self.url, open_store(self.url), 1)
        self.assertEqual(([row["name"] for row in rows], left_out), (["rnaseq r2"], 1))

    def test_tasks_on_a_host_that_knows_no_run_are_in_it(self) -> None:
        """As where the head's plugin submits tasks whose work folders are their ids."""
        known = {"engine": "nextflow", "run_id": "u1", "run": "monday", "pipeline": "rnaseq", "run_key": "aa", "user": "alice"}
        of_task = {"task_key": "head-task", "step": "ALIGN", "task_id": "ab/0123456789abcdef0123456789abcd"}
        at = {"time_ns": 100 * SECOND, "time_unix_ns": 1100 * SECOND}
        self.make("submits", [{**known, **at, "host_name": "head", "boot_id": "h", "state": "submitted", "submitted_ns": 90 * SECOND},
                              {**known, **at, **of_task, "host_name": "head", "boot_id": "h", "state": "submitted", "submitted_ns": 91 * SECOND},
                              {**known, **at, "host_name": "head", "boot_id": "h", "state": "withdrawn", "submitted_ns": 90 * SECOND, "outcome": "succeeded"}])
        own = {"host_name": "node", "boot_id": "n", "user": "alice", "engine": "nextflow", "task_id": of_task["task_id"]}
        self.make("tasks", [{**own, **at, "task_key": "node-task", "begin_ns": 92 * SECOND, "start_ns": 92 * SECOND, "end_ns": 99 * SECOND, "wall_ns": 7 * SECOND,
                             "cpu_ns": 5, "failed": 0, "peak_bytes": 9}])
        self.make("runs", [])
        self.make("findings", [{**own, "finding_key": "f", "severity": "warning", "task_key": "node-task", "code": "first_failure"}])
        [row] = self.listed().values()
        self.assertEqual((row["run_key"], row["name"], row["status"], row["start_unix_ns"], row["wall_ns"], row["cpu_ns"], row["memory_bytes"], row["tasks"], row["steps"]),
                         ("aa", "rnaseq monday", "done", 1090 * SECOND, 7 * SECOND, 5, 9, 1, [{"name": "ALIGN", "tasks": 1, "wall_ns": 7 * SECOND}]))
        self.assertEqual(row["findings"], {"warning": 1})

    def test_a_run_of_which_only_tasks_have_ended_has_bounds(self) -> None:
        self.make("runs", [])
        self.make("tasks", [{"run_key": "aa", "task_key": "t", "run": "r", "cpu_ns": 5, "wall_ns": 3, "begin_ns": 1, "end_ns": 4, "time_unix_ns": 9}])
        [row] = self.listed().values()
        self.assertEqual((row.get("wall_ns"), row.get("tasks"), row["tasks_at_least"], row.get("cpu_ns"), row["cpu_ns_at_least"]), (None, None, 1, None, 5))

    def test_hosts_by_months(self) -> None:
        def sample(host: str, begin: int, days: int = 0, **more: Any) -> dict[str, Any]:
            return {"host_name": host, "since_ns": begin * SECOND, "time_ns": (begin + 10) * SECOND, "cpus": 4, "end_time": MONDAY + timedelta(days=days), **more}

        self.make("runs", [])
        self.make("host_samples", [
            sample("n1", 0, idle_cpu_ns=30 * SECOND, task_cpu_ns=5 * SECOND, system_cpu_ns=5 * SECOND),
            sample("n1", 10, 1, idle_cpu_ns=40 * SECOND, task_cpu_ns=0, system_cpu_ns=0),
            sample("n1", 0, 30, idle_cpu_ns=1, task_cpu_ns=None, system_cpu_ns=2), sample("n1", 10, 30, idle_cpu_ns=1, task_cpu_ns=6, system_cpu_ns=2)])
        self.make("tasks", [{"task_key": "1", "exit_code": 0}, {"task_key": "2", "exit_code": 3}, {"task_key": "3", "exit_signal": 9, "host_name": "n2"}])
        self.assertEqual(host_months(self.url), [
            {"month": "2026-12", "host": "n1", "cpus": 4, "observed_ns": 20 * SECOND, "all_cpu_ns": 80 * SECOND, "task_cpu_ns_at_least": 6, "other_cpu_ns": 4,
             "idle_cpu_ns": 2, "tasks": 0, "failed_tasks": 0},
            {"month": "2026-11", "host": "n1", "cpus": 4, "observed_ns": 20 * SECOND, "all_cpu_ns": 80 * SECOND, "task_cpu_ns": 5 * SECOND, "other_cpu_ns": 5 * SECOND,
             "idle_cpu_ns": 70 * SECOND, "tasks": 2, "failed_tasks": 1},
            {"month": "2026-11", "host": "n2", "tasks": 1, "failed_tasks": 1}])
        [idle] = self.ask("SELECT sum(idle_cpu_ns)::BIGINT FROM (FROM idle_hosts('2026-11-23') UNION ALL FROM idle_hosts('2026-11-24'))")
        self.assertEqual(idle, (70 * SECOND,))


class Opened(UiCase):
    def test_the_state_is_that_of_the_recording(self) -> None:
        put(self.lake, recording("retries"))
        lake = self.shown()
        [run] = runs_of(open_store(self.url))
        [shown] = lake.open(run.run_key or "")
        found, wanted = (json.loads(each.state("", ["runs", "steps", "tasks", "findings"], "")) for each in (shown, of_file("retries")))
        for kind in ("runs", "steps", "tasks", "findings"):
            rows = [sorted((json.dumps({name: value for name, value in row.items() if name not in ("id", "in")}, sort_keys=True) for row in said[kind])) for said in (found, wanted)]
            self.assertEqual(rows[0], rows[1], kind)
        self.assertEqual(shown.name, "run.sh")
        [again] = lake.open(run.run_key or "")
        self.assertIs(again, shown)

    def test_those_that_were_opened_last_stay_and_all_go_with_the_process(self) -> None:
        names = ("retries", "nextflow-25", "snakemake", "failures", "cwltool", "nextflow-24")
        for name in names:
            put(self.lake, recording(name))
        with mock.patch.dict(os.environ, {"TMPDIR": str(self.folder / "tmp")}), mock.patch("tempfile.tempdir", None):
            (self.folder / "tmp").mkdir()
            lake = self.shown()
            for key in self.listed():
                lake.open(key)
            folders = list((self.folder / "tmp").iterdir())
            self.assertEqual((len(lake.opened), len(folders), {each.stat().st_mode & 0o777 for each in folders}), (4, 4, {0o700}))
            del lake
            self.assertEqual(list((self.folder / "tmp").iterdir()), [])

    def test_a_run_whose_recordings_are_gone(self) -> None:
        part = put(self.lake, recording("retries"))
        [key] = self.listed()
        self.compact()
        before = self.shown()
        before.listed()
        part.unlink()
        for lake in (before, self.shown()):
            with self.assertRaisesRegex(LookupError, "in the lake no more; its figures are in the tables"):
                lake.open(key)
            with self.assertRaisesRegex(LookupError, "no such run"):
                lake.open("0123")
        self.assertEqual(list(self.listed()), [key])

    def test_what_is_no_lake(self) -> None:
        with self.assertRaisesRegex(tracer.InvalidArgumentError, "no store has addresses that begin with ftp://"):
            self.url = "ftp://x"
            self.shown()
        (self.folder / "empty/raw/v2").mkdir(parents=True)
        with self.assertRaisesRegex(tracer.LakeError, "TRC150.*is no lake"):
            self.url = str(self.folder / "empty")
            self.shown()
        put(self.lake, recording("retries"))
        done = subprocess.run([sys.executable, "-m", "tracer", "ui", "--export", "x.html", str(self.lake)], capture_output=True, text=True, cwd=self.folder)
        self.assertEqual(done.returncode, 2, done.stderr)

    def test_without_the_extra(self) -> None:
        put(self.lake, recording("retries"))
        code = "import sys; sys.modules['deltalake'] = None; from tracer.__main__ import main; sys.exit(main(['ui', sys.argv[1]]))"
        done = subprocess.run([sys.executable, "-c", code, self.url], capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, "pip install 'libtracer[lake,ui]'" in done.stderr), (2, True), done.stderr)


@unittest.skipUnless(versitygw(), "needs versitygw")
class InS3(UiCase):
    def test_listed_opened_and_what_fails(self) -> None:
        gateway = Gateway(self.folder)
        gateway.start()
        self.addCleanup(gateway.stop)
        patch = mock.patch.dict(os.environ, environment(gateway.url, gateway.ca))
        patch.start()
        self.addCleanup(patch.stop)
        self.lake, self.url = gateway.objects / "x", "s3://lake/x"
        with self.assertRaisesRegex(tracer.LakeError, "is no lake"):
            self.shown()
        put(self.lake, recording("retries"))
        [key] = self.listed()
        self.compact()
        lake = self.shown()
        self.assertEqual([(row["run_key"], row["tasks"], row["source"]) for row in lake.listed()[0]], [(key, 5, "0")])
        [shown] = lake.open(key)
        self.assertEqual(len(json.loads(shown.state("", ["tasks"], ""))["tasks"]), 5)
        self.assertEqual([row["tasks"] for row in lake.hosts()["months"]], [5])
        # What fails later is said, and what was listed stays.
        runs = Runs([lake])
        wait_until(lambda: not runs.listed()["unread"], "the list")
        gateway.stop()
        runs._kept["0"].again_s = 0
        wait_until(lambda: "problems" in runs.listed(), "why it fails")
        self.assertEqual([row["run_key"] for row in runs.listed()["runs"]], [key])


@unittest.skipUnless(uvicorn, "there is no uvicorn")
class Served(UiCase):
    def setUp(self) -> None:
        super().setUp()
        from tracer.view._server import application

        self.part = put(self.lake, recording("retries"))
        put(self.lake, recording("nextflow-25"))
        self.compact()
        listening = socket.create_server(("127.0.0.1", 0))
        self.port = listening.getsockname()[1]
        server = uvicorn.Server(uvicorn.Config(application([self.shown()], "t" * 32, "tracer-x", []), log_level="critical", lifespan="off", timeout_graceful_shutdown=1))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()

        def end() -> None:
            server.should_exit = True
            thread.join(10)
            listening.close()

        self.addCleanup(end)
        wait_until(lambda: server.started, "the server")

    def get(self, path: str) -> tuple[int, Any]:
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)) as client:
            client.request("GET", f"/api/v1/{path}", headers={"Cookie": f"tracer-x={'t' * 32}"})
            reply = client.getresponse()
            return reply.status, json.loads(reply.read())

    def test_answers(self) -> None:
        self.assertEqual(self.get("sources")[1], {"sources": [{"source": "0", "name": "lake", "kind": "lake", "hosts": [], "says": []}]})
        wait_until(lambda: not self.get("runs")[1]["unread"], "the list")
        runs = self.get("runs")[1]["runs"]
        self.assertEqual({run["name"] for run in runs}, {"run.sh", "main.nf second_run"})
        key = next(run["run_key"] for run in runs if run["name"] == "run.sh")
        [opened] = self.get(f"open/{key}")[1]["sources"]
        self.assertEqual((opened["source"], opened["kind"], opened["lake"], opened["name"]), ("0.1", "recording", "0", "run.sh"))
        self.assertEqual([each["source"] for each in self.get("sources")[1]["sources"]], ["0", "0.1"])
        self.assertEqual(len(self.get("report/all?source=0.1")[1]["tasks"]), 5)
        self.assertEqual([row["host"] for row in self.get("hosts")[1]["months"]], ["node1"])
        for path in ("state", "report/all?source=0", "open/0123", "hosts?source=0.1", "open/x?source=7"):
            self.assertEqual(self.get(path)[0], 404, path)

    @unittest.skipUnless(CHROMIUM, "there is no chromium")
    def test_in_the_browser(self) -> None:
        browser = Browser(1440, 900)
        self.addCleanup(browser.close)

        def until(words: str) -> None:
            wait_until(lambda: words in browser.run("document.querySelector('main').innerText"), words)

        def click(name: str) -> None:
            browser.run(f"[...document.querySelectorAll('.runname a')].find((link) => link.textContent === {json.dumps(name)}).click()")

        browser.open(f"http://127.0.0.1:{self.port}/?token={'t' * 32}")
        until("2 runs")
        click("main.nf second_run")
        until("main.nf second_run succeeded (status 0) in 7.4 s")
        browser.run("location.hash = '#/hosts'")
        until("not watched")
        browser.run("location.hash = '#/runs'")
        until("2 runs")
        self.part.unlink()
        click("run.sh")
        until("its recordings are in the lake no more; its figures are in the tables")
        browser.run("location.hash = '#/runs'")
        until("2 runs")
        for width in (1440, 390):
            browser.send("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
            for place in ("runs", "hosts"):
                browser.run(f"location.hash = '#/{place}'")
                browser.frames(3)
                self.assertLessEqual(browser.run("document.documentElement.scrollWidth"), width)
        # A place that was kept is found again.
        browser.open(f"http://127.0.0.1:{self.port}/#/run/988658150593c4ce")
        until("main.nf second_run succeeded (status 0) in 7.4 s")


del LakeCase, Made

if __name__ == "__main__":
    unittest.main()
