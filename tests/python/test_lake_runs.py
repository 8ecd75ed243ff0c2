# SPDX-License-Identifier: Apache-2.0
"""tracer lake runs, tracer lake fetch, over a lake in a folder: which runs are one, and what a folder that was fetched has."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import unittest
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from unittest import mock

from lakes import on_host, put, recording
from support import ROOT, TempDir

import pyarrow

import tracer
from tracer.lake._index import entries, entry_of, note_shipped
from tracer.lake._layout import Part, name_in_path, part_of
from tracer.lake._over_hosts import runs_of
from tracer.lake._store import _Folder, open_store

HASH = "ab/0123456789abcdef0123456789abcd"
RECORDINGS = ROOT / "tests/data/recordings"


def part_for(recording: tracer.Recording, number: int = 1) -> Part:
    host = recording.host
    owner = "all" if recording.owner_uid is None else str(recording.owner_uid)
    return Part(host.host_name, host.boot_id, owner, host.session_id, recording.number or number, "tracer")


class Lake(TempDir):
    def setUp(self) -> None:
        super().setUp()
        self.lake = self.folder / "lake"
        self.lake.mkdir()

    def put(self, name: str, indexed: bool = True) -> Part:
        part = part_for(tracer.read(RECORDINGS / name))
        path = self.lake / "raw/v2" / part.path
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(RECORDINGS / name, path)
        if indexed:
            note_shipped(open_store(str(self.lake)), part.host, [entry_of(part, str(path))[0]])
        return part

    def tracer(self, *words: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-m", "tracer", "lake", *map(str, words)], capture_output=True, text=True)


class Runs(Lake):
    def test_of_real_recordings_by_the_index_and_without_one(self) -> None:
        """The recording's own table of runs is the truth."""
        for indexed in (True, False):
            with self.subTest(indexed=indexed):
                self.put("nextflow-25.tracer", indexed)
                runs = json.loads(self.tracer("runs", self.lake, "--json").stdout)
                recording = tracer.read(RECORDINGS / "nextflow-25.tracer")
                truth = {event.context.run_key: event for event in recording.select({"run_finish"})}
                self.assertEqual({run["run_key"] for run in runs}, set(truth))
                for run in runs:
                    end = truth[run["run_key"]]
                    self.assertEqual(run["end_unix_ns"] - run["begin_unix_ns"], end.end_ns - end.start_ns)
                    self.assertEqual(run["status"], "failed" if end.exit_code or end.exit_signal else "succeeded")
                    tasks = {event.context.task_key: event for event in recording.select({"task_finish"})
                             if event.context.run_key == run["run_key"]}
                    self.assertEqual(run["tasks_ended"], len(tasks))
                    self.assertEqual(run["tasks_failed"], sum(bool(task.exit_code or task.exit_signal) for task in tasks.values()))
                shutil.rmtree(self.lake)
                self.lake.mkdir()

    def test_what_is_no_recording_is_said_and_the_others_are_listed(self) -> None:
        self.put("nextflow-25.tracer")
        wrong = self.lake / "raw/v2/node/0-1/0/0123456789abcdef-00000001.tracer"
        wrong.parent.mkdir(parents=True)
        wrong.write_bytes(b"nothing")
        forged = self.lake / "raw/v2/node/0-1/0/0123456789abcdef-00000002.tracer"
        shutil.copy(RECORDINGS / "demo.tracer", forged)
        done = self.tracer("runs", self.lake)
        self.assertEqual(done.returncode, 0)
        self.assertIn("2 objects can't be read: ", done.stderr)
        self.assertNotIn("demo", done.stdout)
        self.assertIn("main.nf" if "main.nf" in done.stdout else "nextflow", done.stdout)

    def test_an_empty_lake_and_none(self) -> None:
        self.assertIn("no run has come in the last 7 days", self.tracer("runs", self.lake).stdout)
        for days in ("0", "-1", "nan", "inf", "1e12"):
            done = self.tracer("runs", self.lake, f"--days={days}")
            self.assertEqual((done.returncode, done.stderr.count("TRC101")), (2, 1), done.stderr)
        for place in (self.folder / "none", Path("/etc/passwd")):
            for words in (("runs", place), ("fetch", place, "x", self.folder / "x")):
                done = self.tracer(*words)
                self.assertEqual((done.returncode, done.stdout, f"TRC151: {place}: No" in done.stderr), (1, "", True), done.stderr)
        done = self.tracer("fetch", self.lake, "monday", self.folder / "x")
        self.assertEqual((done.returncode, "'tracer lake runs' lists" in done.stderr), (2, True))


    def test_days_hold_for_what_no_index_has_and_older_hours_are_not_read(self) -> None:
        part = self.put("nextflow-25.tracer", indexed=False)
        old = time.time() - 10 * 86400
        os.utime(self.lake / "raw/v2" / part.path, (old, old))
        folder = self.lake / f"index/{part.host}"
        folder.mkdir(parents=True)
        for hour in range(100):
            (folder / f"{datetime.fromtimestamp(old - hour * 3600, timezone.utc):%Y-%m-%dT%H}.json").write_text('{"schema": 1, "parts": []}')
        read: list[str] = []
        get = _Folder._read
        with mock.patch.object(_Folder, "_read", lambda store, key: read.append(key) or get(store, key)):
            store = open_store(str(self.lake))
            self.assertEqual(list(entries(store, datetime.fromtimestamp(old + 86400, timezone.utc))), [])
            self.assertEqual(read, [])
            self.assertEqual([of for of, _ in entries(store, datetime.fromtimestamp(old - 86400, timezone.utc))], [part])
            self.assertLess(len(read), 30)
        self.assertIn("no run has come", self.tracer("runs", self.lake).stdout)
        self.assertNotIn("no run has come", self.tracer("runs", self.lake, "--days", "11").stdout)

    def test_forged_objects_end_nothing(self) -> None:
        part = self.put("nextflow-25.tracer", indexed=False)
        truth = self.tracer("runs", self.lake).stdout
        self.assertEqual(len(truth.splitlines()), 2)
        index, users = self.lake / "index/n/2026-11-29T10.json", self.lake / "users/n.json"
        run = entry_of(part, str(self.lake / "raw/v2" / part.path))[0]["runs"][0]
        other = Part("n", "0", "all", "a", 1, "tracer").path
        for said in ("[" * 200_000, "{}", "[]", '"x"', {"parts": [{"part": other, "runs": [{}]}]}, {"parts": 1}, {"parts": [1]},
                     # Only n's own folder may say what parts of n have.
                     {"parts": [{"part": part.path, "runs": []}]}, {"parts": [{"part": "../../x", "runs": [run]}]},
                     {"parts": [{"part": other.replace("1.", "\u0662."), "runs": [run]}]},
                     *({"parts": [{"part": other, "runs": [run | wrong]}]} for wrong in (
                         {"tasks": [1]}, {"tasks": {"x": "y"}}, {"begin_unix_ns": 10**30}, {"last_unix_ns": None}, {"run": 7}, {"engine": "\ud800"},
                         {"owner_uid": "0"}))):
            with self.subTest(said):
                index.parent.mkdir(parents=True, exist_ok=True)
                index.write_text(said if isinstance(said, str) else json.dumps({"schema": 1, **said}))
                done = self.tracer("runs", self.lake)
                self.assertEqual((done.returncode, done.stdout, done.stderr), (0, truth, ""))
        users.parent.mkdir()
        for said in ("[" * 200_000, {"users": {"9" * 25: "x"}}, {"users": {str(2**32): "x"}}, {"users": {"\u0662": "x"}}, {"users": {"1": 2}},
                     {"users": {"1": "\udc80"}}, {"users": []}):
            with self.subTest(said):
                users.write_text(said if isinstance(said, str) else json.dumps({"schema": 1, **said}))
                done = self.tracer("runs", self.lake)
                self.assertEqual((done.returncode, done.stdout), (0, truth))
                self.assertIn("1 object can't be read: users/n.json", done.stderr)

    def test_pipes_and_links_are_no_objects(self) -> None:
        part = self.put("nextflow-25.tracer")
        raw = (self.lake / "raw/v2" / part.path).parent
        os.mkfifo(raw / f"{part.session}-00000002.tracer")
        (raw / f"{part.session}-00000003.tracer").symlink_to("/etc/passwd")
        self.assertEqual([key for key, _ in open_store(str(self.lake)).list("raw/")], [f"raw/v2/{part.path}"])
        with self.assertRaises(KeyError):
            open_store(str(self.lake)).get(f"raw/v2/{part.path.replace('01.tracer', '02.tracer')}")
        done = self.tracer("runs", self.lake)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    @unittest.skipUnless(os.geteuid() == 0, "needs root: it gives up its rights")
    def test_a_folder_that_may_not_be_read_is_said(self) -> None:
        self.put("nextflow-25.tracer", indexed=False)
        closed = put(self.lake, on_host(recording("retries"), "node2", "00000000-0000-4000-8000-000000000002")).parent
        for path in (self.folder, self.lake):
            path.chmod(0o755)
        runs = len(json.loads(self.tracer("runs", self.lake, "--json").stdout))
        closed.chmod(0)

        def powerless(*words: object) -> subprocess.CompletedProcess[str]:
            return subprocess.run(["setpriv", "--bounding-set=-all", "--inh-caps=-all", sys.executable, "-m", "tracer", "lake", *map(str, words)],
                                  text=True, capture_output=True)

        done = powerless("runs", self.lake, "--json")
        self.assertEqual((done.returncode, len(json.loads(done.stdout))), (0, runs - 1))
        self.assertIn(f"1 object can't be read: {closed}: Permission denied", done.stderr)
        self.assertIn(f"1 objects can't be read: {closed}", powerless("fetch", self.lake, "none", self.folder / "x").stderr)
        done = powerless("compact", self.lake)
        self.assertEqual((done.returncode, f"TRC150: {closed}: Permission denied" in done.stdout), (1, True), done.stdout + done.stderr)
        self.assertIn("1 parts: ", done.stdout)
        (self.lake / "raw").chmod(0)
        shutil.rmtree(self.lake / "index", ignore_errors=True)
        self.assertEqual(powerless("runs", self.lake).returncode, 1)


class OtherCommands(Lake):
    def test_a_lake_in_a_folder_is_a_folder_of_recordings(self) -> None:
        for name in ("nextflow-25.tracer", "retries.tracer"):
            self.put(name)
        of_files = self.folder / "files"
        of_files.mkdir()
        for name in ("nextflow-25.tracer", "retries.tracer"):
            shutil.copy(RECORDINGS / name, of_files)
        for words in (("tune", "--json"), ("sweep", "--json")):
            said = [subprocess.run([sys.executable, "-m", "tracer", *words, place], capture_output=True, text=True)
                    for place in (self.lake, of_files)]
            self.assertEqual(said[0].returncode, said[1].returncode, said[0].stderr)
            self.assertGreater(len(said[0].stdout), 100)
            ours, theirs = (json.loads(each.stdout) for each in said)
            self.assertEqual(ours.get("steps"), theirs.get("steps"))
            self.assertEqual(ours.get("findings"), theirs.get("findings"))


class OverHosts(Lake):
    """By what an index says, written by hand."""

    def setUp(self) -> None:
        super().setUp()
        self.index: dict[str, list[dict[str, Any]]] = {}

    def note(self, host: str, uid: int, number: int = 1, **run: Any) -> None:
        known = {"run_key": None, "engine": "nextflow", "run": None, "pipeline": None, "run_id": None, "owner_uid": uid,
                 "first_unix_ns": 10, "last_unix_ns": 20, "begin_unix_ns": None, "end_unix_ns": None, "outcome": None, "tasks": {}}
        part = Part(host, "b0", str(uid), "0123456789abcdef", number, "tracer")
        self.index.setdefault(host, []).append({"part": part.path, "bytes": 1, "runs": [known | run]})

    def runs(self, users: dict[str, dict[int, str]]) -> list[Any]:
        for host, parts in self.index.items():
            for key, said in ((f"index/{host}/2026-11-29T14.json", {"parts": parts}), (f"users/{host}.json", {"users": users.get(host, {})})):
                path = self.lake / key
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(json.dumps({"schema": 1, **said}))
        return runs_of(open_store(str(self.lake)))

    SAME = {"head": {1: "alice"}, "node": {2: "alice"}}

    def head(self, **run: Any) -> None:
        self.note("head", 1, **({"run_key": "a" * 16, "run": "monday", "begin_unix_ns": 5, "tasks": {HASH: 0}} | run))

    def test_by_a_tasks_hash(self) -> None:
        self.head()
        self.note("node", 2, tasks={HASH: 2})
        [run] = self.runs(self.SAME)
        self.assertEqual((run.run, run.hosts, run.user, run.tasks_ended, run.tasks_failed), ("monday", ["head", "node"], "alice", 1, 1))
        self.assertEqual([part.host for part in run.parts], ["head", "node"])

    def test_by_the_engines_id_of_the_run(self) -> None:
        self.head(run_id="5d0e", tasks={})
        self.note("node", 2, run_key="b" * 16, run_id="5d0e")
        self.assertEqual(len(self.runs(self.SAME)), 1)

    def test_not_by_a_number(self) -> None:
        self.head(tasks={"4711": 0})
        self.note("node", 2, run_key="b" * 16, tasks={"4711": 1})
        self.assertEqual(len(self.runs(self.SAME)), 2)

    def test_not_of_users_of_other_names_though_uids_are_the_same(self) -> None:
        self.head()
        self.note("node", 1, tasks={HASH: 1})
        self.assertEqual(len(self.runs({"head": {1: "alice"}, "node": {1: "bob"}})), 2)

    def test_all_parts_between_the_first_and_the_last(self) -> None:
        self.head()
        for number in (3, 7):
            self.note("node", 2, number, tasks={HASH: int(number == 7)})
        for number in (2, 5, 8):
            part = Part("node", "b0", "2", "0123456789abcdef", number, "tracer")
            self.index["node"].append({"part": part.path, "bytes": 1, "runs": []})
        [run] = self.runs(self.SAME)
        self.assertEqual([part.number for part in run.parts if part.host == "node"], [3, 5, 7])


class Fetch(Lake):
    def test_each_figure_is_that_of_the_recording(self) -> None:
        """Of two runs in it, each by itself; the times of its events stay, too."""
        part = self.put("nextflow-slurm.tracer")
        whole = tracer.read(RECORDINGS / "nextflow-slurm.tracer")
        times = {event.time_ns: unix_ns for event, unix_ns in zip(whole, pyarrow.table(whole.events)["time_unix_ns"].to_pylist())}
        of_whole = json.loads(whole.report.to_json())
        self.assertGreater(len(of_whole["runs"]), 1)
        for run in of_whole["runs"]:
            with self.subTest(run["name"]):
                folder = self.folder / run["run_key"]
                for _ in range(2):
                    done = self.tracer("fetch", self.lake, run["run_key"], folder)
                    self.assertEqual(done.returncode, 0, done.stderr)
                [file] = folder.iterdir()
                self.assertEqual(file.name, f"{part.host}-all-{part.session}.tracer")
                fetched = tracer.read(file)
                report = json.loads(fetched.report.to_json())
                self.assertEqual([row for row in report["runs"] if row["run_key"] == run["run_key"]], [run])
                of_run = [task for task in of_whole["tasks"] if task["run_key"] == run["run_key"]]
                self.assertEqual([task for task in report["tasks"] if task["run_key"] == run["run_key"]], of_run)
                unix_ns = pyarrow.table(fetched.events)["time_unix_ns"].to_pylist()
                self.assertTrue(all(times[event.time_ns] == at for event, at in zip(fetched, unix_ns) if event.time_ns in times))
                self.assertTrue(report["certificate"]["complete"], report["certificate"])
                # What tracing all of the recording cost says nothing of one run.
                self.assertEqual(report["cost"], {})
                self.assertNotIn("tracing cost", str(fetched.report))

    def test_a_part_that_is_gone(self) -> None:
        part = self.put("nextflow-25.tracer")
        (self.lake / "raw/v2" / part.path).unlink()
        name = next(iter(tracer.read(RECORDINGS / "nextflow-25.tracer").select({"run_finish"}))).context.run
        done = self.tracer("fetch", self.lake, name, self.folder / "fetched")
        self.assertEqual(done.returncode, 1)
        self.assertIn("is in the lake no more", done.stderr)
        self.assertEqual(list(Path(self.folder / "fetched").iterdir()), [])


class Names(unittest.TestCase):
    def test_a_host_is_called_as_the_service_calls_it(self) -> None:
        for name, said in (("Node-1.x_y", "node-1.x_y"), (".hidden", "-hidden"), ("a b/c", "a-b-c"), ("ü", "--"), ("", "-")):
            self.assertEqual(name_in_path(name), said)

    def test_only_what_a_service_makes_is_a_part(self) -> None:
        good = "node-1/9f617fba-75ec/60021/0123456789abcdef-00000012.tracer"
        self.assertEqual(part_of(good), Part("node-1", "9f617fba-75ec", "60021", "0123456789abcdef", 12, "tracer"))
        assert (part := part_of(good)) is not None
        self.assertEqual(part.path, good)
        for wrong in ("../" + good, "/" + good, good + ".partial", good.replace("60021", "alice"), good.replace("00000012", "12"),
                      "." + good, good.replace("node-1", "Node"), good.replace("node-1", "..")):
            self.assertIsNone(part_of(wrong), wrong)


if __name__ == "__main__":
    unittest.main()
