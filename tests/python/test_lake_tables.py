# SPDX-License-Identifier: Apache-2.0
"""`tracer lake compact` and `forget`: each row of the recordings once in the tables, whatever happens."""

from __future__ import annotations

import importlib.util
import json
import os
import random
import signal
import subprocess
import sys
import time
import unittest
from collections import Counter
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from unittest import mock

from lake_doubles import Gateway, environment, start_moto, versitygw
from support import TRACERD, TempDir, needs_tracing, wait_until

HAS_LAKE = all(importlib.util.find_spec(name) is not None for name in ("deltalake", "duckdb", "obstore", "pyarrow"))
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
BOOT = "00000000-0000-4000-8000-000000000002"
if HAS_LAKE:
    import pyarrow
    from deltalake import DeltaTable
    from lakes import RECORDINGS, numbered, on_host, put, recording

    import tracer
    from tracer.lake import _retain
    from tracer.lake._compact import _ONCE, Compaction, _once, _Step, compact
    from tracer.lake._delta import append, make
    from tracer.lake._rows import TABLES, schema_of
    from tracer.lake._store import open_store


@unittest.skipUnless(HAS_LAKE, "needs libtracer[lake]")
class LakeCase(TempDir):
    def setUp(self) -> None:
        super().setUp()
        self.lake = self.folder / "lake"
        self.lake.mkdir()
        self.url = str(self.lake)

    def compact(self, *more: str) -> Compaction:
        return compact(self.url, more)

    def delta(self, name: str) -> Any:
        return DeltaTable(str(self.lake / "tables" / name))

    def rows(self, name: str) -> list[dict[str, Any]]:
        return self.delta(name).to_pyarrow_table().to_pylist()

    def processes(self) -> Counter[tuple[str, int, int]]:
        return Counter((row["boot_id"], row["pid"], row["start_ns"]) for row in self.rows("processes"))

    def minutes(self) -> dict[str, list[dict[str, Any]]]:
        """By task, in the order of time."""
        found: dict[str, list[dict[str, Any]]] = {}
        for row in sorted(self.rows("task_minutes"), key=lambda row: (row["start_time"], row["part"])):
            self.assertEqual((row["start_time"].second, row["start_time"].microsecond, row["end_time"] - row["start_time"]),
                             (0, 0, timedelta(minutes=1)))
            self.assertEqual(row["date"], row["start_time"].date())
            found.setdefault(row["task_key"], []).append(row)
        return found

    def command(self, *words: str, status: int = 0) -> str:
        done = subprocess.run([sys.executable, "-m", "tracer", "lake", *words], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout + done.stderr


def ended(data: Path | list[str]) -> Counter[tuple[str, int, int]]:
    """The truth: what the recording says by itself."""
    read = tracer.read(data)
    return Counter((read.host.boot_id, row["pid"], row["start_ns"]) for row in read.table("processes", only_ended=True).rows())


class Rows(LakeCase):
    def test_rows_of_two_hosts_are_those_of_their_recordings(self) -> None:
        (self.lake / "users").mkdir()
        (self.lake / "users/node2.json").write_text(json.dumps({"schema": 1, "users": {"0": "root", "1000": "alice"}}))
        put(self.lake, recording("retries"))
        put(self.lake, on_host(recording("retries"), "node2", BOOT))
        done = self.compact()
        self.assertEqual((done.parts, done.waiting, done.problems), (2, {}, []))
        read = tracer.read(RECORDINGS / "retries.tracer")
        host = read.host
        for name in ("processes", "tasks", "runs", "findings", "losses"):
            wanted = list(read.table(name, only_ended=name == "processes").rows())
            found = self.rows(name)
            self.assertEqual(len(found), 2 * len(wanted))
            for boot in (host.boot_id, BOOT):
                mine = [{key: row[key] for key in wanted[0] if key not in ("owner_uid",)} for row in found if row["boot_id"] == boot]
                theirs = [{key: value for key, value in row.items() if key not in ("owner_uid",)} for row in wanted]
                self.assertEqual(sorted(mine, key=repr), sorted(theirs, key=repr))
        for row in self.rows("processes"):
            self.assertEqual((row["end_time"] - EPOCH) // timedelta(microseconds=1), row["time_unix_ns"] // 1000)
            self.assertEqual(row["date"], row["end_time"].date())
            self.assertAlmostEqual((row["end_time"] - row["start_time"]).total_seconds() * 1e9, row["wall_ns"], delta=2000)
            self.assertEqual(row["user"], {"node1": None, "node2": "root"}[row["host_name"]])
            self.assertEqual((row["session_id"], row["part"]), (host.session_id, 1))
        self.assertEqual(self.rows("users"), [{"host_name": "node2", "uid": 0, "user": "root"}, {"host_name": "node2", "uid": 1000, "user": "alice"}])
        self.assertEqual(sorted(row["host_name"] for row in self.rows("hosts")), ["node1", "node2"])

    def test_again_changes_nothing(self) -> None:
        put(self.lake, recording("failures"))
        self.compact()
        before = {name: self.delta(name).version() for name in TABLES}
        done = self.compact()
        self.assertEqual((done.parts, done.rows), (0, {}))
        self.assertEqual({name: self.delta(name).version() for name in TABLES}, before)

    def test_parts_are_taken_in_their_order_and_a_hole_waits(self) -> None:
        first, second = RECORDINGS / "parts.tracer.1", RECORDINGS / "parts.tracer"
        put(self.lake, numbered(second.read_bytes(), 2), 2)
        done = self.compact()
        self.assertEqual(list(done.waiting.values()), ["part 1 is not there"])
        self.assertEqual(self.rows("processes"), [])
        put(self.lake, numbered(first.read_bytes(), 1), 1)
        self.assertEqual(self.compact().waiting, {})
        self.assertEqual(self.processes(), ended([str(first), str(second)]))
        self.assertEqual({row["part"] for row in self.rows("processes")}, {1, 2})
        self.assertEqual(len(self.rows("hosts")), 1)

    def test_a_gap_bridges_a_hole_and_is_a_loss(self) -> None:
        second = RECORDINGS / "parts.tracer"
        path = put(self.lake, second.read_bytes(), 4)
        said = {"schema": 1, "session_id": tracer.read(second).host.session_id, "owner_uid": None, "host": "node1", "boot_id": "x", "first": 1,
                "last": 3, "cause": "outbox_full", "first_unix_ns": 1_795_000_000_000_000_000, "last_unix_ns": 1_795_000_100_000_000_000}
        gap = path.with_name(path.name.replace("00000004.tracer", "00000003.gap"))
        gap.write_text(json.dumps(said | {"first": 2}))
        self.assertEqual(list(self.compact().waiting.values()), ["part 1 is not there"])
        gap.write_text(json.dumps(said))
        self.assertEqual(self.compact().waiting, {})
        self.assertEqual(self.processes(), ended(second))
        loss, = self.rows("losses")
        self.assertEqual((loss["cause"], loss["count"], loss["part"], loss["start_time"].timestamp(), loss["end_time"].timestamp()),
                         ("outbox_full", 3, 3, 1_795_000_000, 1_795_000_100))
        self.assertEqual(len(self.rows("hosts")), 1)

    def gap(self, first: int, last: int) -> None:
        """Of the session of parts.tracer."""
        host = tracer.read(RECORDINGS / "parts.tracer").host
        path = self.lake / "raw/v2" / host.host_name / host.boot_id / "all" / f"{host.session_id}-{last:08}.gap"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"schema": 1, "session_id": host.session_id, "first": first, "last": last, "cause": "outbox_full",
                                    "first_unix_ns": 1, "last_unix_ns": 2}))

    def dropped(self) -> int:
        return sum(row["count"] for row in self.rows("losses") if row["cause"] == "outbox_full")

    def test_a_gap_ends_where_a_part_lies(self) -> None:
        second = RECORDINGS / "parts.tracer"
        put(self.lake, numbered(second.read_bytes(), 2), 2)
        self.gap(1, 2)
        self.assertEqual(self.compact().waiting, {})
        self.assertEqual((self.processes(), self.dropped(), len(self.rows("hosts"))), (ended(second), 1, 1))
        self.assertEqual(self.compact().rows, {})

    def test_a_gap_that_grows_is_counted_once(self) -> None:
        for last in (3, 5):
            self.gap(1, last)
            self.compact()
        self.assertEqual((self.dropped(), len(self.rows("losses"))), (5, 2))
        for last in (6, 7):
            self.gap(1, last)
        self.compact()
        self.assertEqual(self.dropped(), 7)

    def test_what_comes_behind_a_gap_that_is_too_long_is_taken(self) -> None:
        first, second = RECORDINGS / "parts.tracer.1", RECORDINGS / "parts.tracer"
        put(self.lake, numbered(first.read_bytes(), 1), 1)
        self.gap(1, 99_999_999)
        self.compact()
        put(self.lake, numbered(second.read_bytes(), 2), 2)
        self.compact()
        self.assertEqual(self.processes(), ended([str(first), str(second)]))

    def test_what_the_recordings_of_all_owners_have_is_there_once(self) -> None:
        data = recording("retries")
        put(self.lake, numbered(data, 1, owner=1000), 1, owner=1000)
        self.compact()
        for owner in (1001, 1002):
            put(self.lake, numbered(data, 1, owner=owner), 1, owner=owner)
        self.compact()
        self.assertEqual((set(self.processes().values()), len(self.rows("hosts"))), ({3}, 1))
        # Losses of everybody; one's own; and gaps, which are of one recording each.
        row = {"boot_id": "b", "session_id": "s", "time_ns": 5, "cause": "ring_full_file_use", "count": 7, "first_ns": 1, "uid": None, "owner_uid": 1000}
        rows = [row, row | {"owner_uid": 1001, "part": 9}, row | {"uid": 1001}, row | {"session_id": "t"}, row | {"time_ns": 6}]
        gaps = [row | {"time_ns": None, "first_ns": None, "owner_uid": owner} for owner in (1000, 1001)]
        schema = schema_of("losses")
        table = make(self.url, "losses", schema)
        kept = _once(pyarrow.Table.from_pylist(rows + gaps, schema), _ONCE["losses"], table)
        self.assertEqual([each["owner_uid"] for each in kept.to_pylist()], [1000, 1000, 1000, 1000, 1000, 1001])
        self.assertTrue(append(table, kept, {"x/all": 1}))
        again = _once(pyarrow.Table.from_pylist([*rows, row | {"time_ns": 8}], schema), _ONCE["losses"], make(self.url, "losses", schema))
        self.assertEqual([each["time_ns"] for each in again.to_pylist()], [8])

    def test_a_table_that_was_moved_away_is_made_anew_of_what_lies_there(self) -> None:
        first, second = RECORDINGS / "parts.tracer.1", RECORDINGS / "parts.tracer"
        path = put(self.lake, numbered(first.read_bytes(), 1), 1)
        put(self.lake, recording("retries"))
        self.assertNotIn("is new", self.command("compact", self.url))
        path.unlink()
        put(self.lake, numbered(second.read_bytes(), 2), 2)
        self.compact()
        tasks, hosts = self.rows("tasks"), self.rows("hosts")
        self.assertTrue(tasks)
        for name in ("tasks", "processes", "hosts"):
            (self.lake / "tables" / name).rename(self.folder / name)
        # One that is killed leaves the rest to the next one.
        with mock.patch("tracer.lake._compact.append", side_effect=lambda table, *more: "processes" not in str(table.table_uri) and append(table, *more)), \
                mock.patch("tracer.lake._compact._MOST_REFUSALS", 1), self.assertRaises(tracer.LakeError):
            self.compact()
        said = self.command("compact", self.url)
        self.assertIn("processes is new: it has what lies in raw", said)
        self.assertEqual(sorted(self.rows("tasks"), key=repr), sorted(tasks, key=repr))
        self.assertEqual(len(self.rows("hosts")), len(hosts))
        self.assertEqual(self.processes(), ended(second) + ended(RECORDINGS / "retries.tracer"))
        self.assertNotIn("is new", self.command("compact", self.url))
        self.assertEqual(self.compact().rows, {})

    def test_foreign_cut_and_forged_objects_are_refused_and_others_go_on(self) -> None:
        good = put(self.lake, recording("failures"))
        data = recording("retries")
        host = tracer.read(RECORDINGS / "retries.tracer").host
        wrong = {
            "0000000000000001": b"no recording at all",
            "0000000000000002": data[:60],
            # The bytes of another session, boot, host, number and owner.
            "0000000000000003": data,
        }
        for session, content in wrong.items():
            good.with_name(f"{session}-00000001.tracer").write_bytes(content)
        put(self.lake, numbered(data, 2), 1)
        put(self.lake, numbered(data, 1, owner=1000), 1, owner=1001)
        elsewhere = self.lake / "raw/v2/node9" / host.boot_id / "all" / f"{host.session_id}-00000001.tracer"
        elsewhere.parent.mkdir(parents=True)
        elsewhere.write_bytes(data)
        good.with_name("0000000000000004-00000003.gap").write_text('{"schema": 1}')
        good.with_name("notes.txt").write_text("not ours")
        good.with_name(".half-00000001.tracer").write_text("not finished")
        done = self.compact()
        self.assertEqual([problem.code for problem in done.problems], ["TRC154"] * 7)
        self.assertEqual(len(done.waiting), 7)
        self.assertEqual(self.processes(), ended(RECORDINGS / "failures.tracer"))
        self.assertIn("TRC154", self.command("compact", str(self.lake), status=1))

    def test_forged_objects_of_one_host_hold_up_no_other(self) -> None:
        good = put(self.lake, recording("failures"))
        users = self.lake / "users/node9.json"
        users.parent.mkdir()
        for said in ("[" * 200_000, json.dumps({"schema": 1, "users": {"9" * 25: "x"}}), json.dumps({"schema": 1, "users": {"1": "\ud800"}})):
            users.write_text(said)
            self.assertEqual([problem.code for problem in self.compact().problems], ["TRC154"])
        self.assertEqual(self.processes(), ended(RECORDINGS / "failures.tracer"))
        users.unlink()
        name = good.name[:-len("00000001.tracer")]
        (good.parent / f"{name}00000003.gap").write_text("[" * 200_000)
        (good.parent / f"{name}0000000\u0662.tracer").write_bytes(b"x")
        os.mkfifo(good.parent / f"{name}00000002.tracer")
        put(self.lake, on_host(recording("retries"), "node2", BOOT))
        done = self.compact()
        self.assertEqual(([problem.code for problem in done.problems], done.parts), (["TRC154"], 1))

    def test_a_forged_look_at_what_lives_makes_its_series_wait(self) -> None:
        for number, name in ((1, "parts.tracer.1"), (2, "parts.tracer")):
            put(self.lake, numbered((RECORDINGS / name).read_bytes(), number), number)
            if number == 1:
                self.compact()
                look, = (self.lake / "looks").rglob("*.json")
                right = look.read_text()
                put(self.lake, on_host(recording("retries"), "node2", BOOT))
        for said in ("[" * 200_000, "[]", '{"schema": 1, "looks": [[1, 2, 3, [null], ["x"]]]}'):
            look.write_text(said)
            self.assertEqual([problem.code for problem in self.compact().problems], ["TRC154"])
        of_one, of_other = ended(RECORDINGS / "parts.tracer.1"), ended(RECORDINGS / "retries.tracer")
        self.assertEqual(self.processes(), of_one + Counter({(BOOT, *of[1:]): 1 for of in of_other}))
        look.write_text(right)
        self.assertEqual(self.compact().waiting, {})

    def test_a_part_that_another_compaction_takes_and_removes_meanwhile(self) -> None:
        old = put(self.lake, recording("failures"))
        os.utime(old, (1, 1))
        fill, done = _Step.fill, []

        def racing(step: _Step, *given: object) -> bool:
            if not done:
                done.append(0)
                compact(str(self.lake))
                done.append(_retain.keep_raw(str(self.lake), 1))
            return fill(step, *given)

        with mock.patch.object(_Step, "fill", racing):
            said = self.compact()
        self.assertEqual((done[1], said.parts, said.waiting, said.problems), (1, 0, {}, []))
        self.assertEqual(self.processes(), ended(RECORDINGS / "failures.tracer"))

    def test_wrong_places_and_missing_rights(self) -> None:
        for place in (str(self.folder / "typo"), "/etc/passwd"):
            for words in (("compact", place), ("forget", place, "--user", "alice"), ("sql", place, "SELECT 1")):
                self.assertIn(f"TRC151: {place}: No", self.command(*words, status=1))
        self.assertFalse((self.folder / "typo").exists())

    @unittest.skipUnless(os.geteuid() == 0, "needs root: it mounts a small file system, and gives up its rights")
    def test_full_and_closed_tables(self) -> None:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", self.lake], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", self.lake], check=True)
        put(self.lake, recording("failures"))
        self.compact()
        put(self.lake, recording("retries"))
        ballast = self.lake / "ballast"
        with self.assertRaisesRegex(OSError, "No space"), ballast.open("wb", 0) as file:
            while True:
                file.write(bytes(4096))
        self.assertRegex(self.command("compact", self.url, status=1), r"(?m)^tracer: TRC151: .*No space left on device.*\n  Fix: free some space\n$")
        ballast.unlink()
        subprocess.run(["chown", "-R", "nobody", self.lake / "tables"], check=True)
        done = subprocess.run(["setpriv", "--bounding-set=-all", "--inh-caps=-all", sys.executable, "-m", "tracer", "lake", "compact", self.lake],
                              capture_output=True, text=True)
        self.assertEqual((done.returncode, "\ntracer: TRC150: " in done.stderr, "Traceback" in done.stderr), (1, True, False), done.stderr)
        self.assertEqual(self.compact().problems, [])
        self.assertEqual(self.processes(), ended(RECORDINGS / "failures.tracer") + ended(RECORDINGS / "retries.tracer"))

    def test_what_is_whole_of_a_torn_part_is_taken_and_the_rest_is_a_loss(self) -> None:
        data = recording("launcher-parallel")
        torn = self.folder / "torn.tracer"
        torn.write_bytes(data[:len(data) - 1000])
        put(self.lake, torn.read_bytes())
        self.assertEqual(self.compact().problems, [])
        self.assertEqual(self.processes(), ended(torn))
        self.assertEqual([row["cause"] for row in self.rows("losses")], ["damaged_part"])

    def test_a_new_column_is_null_in_older_rows_and_another_type_is_refused(self) -> None:
        schema = schema_of("processes")
        older = pyarrow.schema([field for field in schema if field.name != "disk_wait_device_ns"])
        make(str(self.lake), "processes", older)
        put(self.lake, recording("slow-storage"))
        self.compact()
        self.assertEqual(set(self.rows("processes")[0]), set(schema.names))
        other = self.folder / "other"
        other.mkdir()
        at = schema.get_field_index("cpu_ns")
        make(str(other), "processes", schema.set(at, pyarrow.field("cpu_ns", pyarrow.string())))
        put(other, recording("slow-storage"))
        with self.assertRaises(tracer.LakeError) as caught:
            compact(str(other))
        self.assertEqual(caught.exception.code, "TRC155")
        self.assertEqual(DeltaTable(str(other / "tables/processes")).version(), 0)

    def test_a_column_of_a_newer_libtracer_stays(self) -> None:
        newer = schema_of("tasks").append(pyarrow.field("of_tomorrow", pyarrow.int64()))
        table = make(str(self.lake), "tasks", newer)
        append(table, newer.empty_table(), {"x/all": 1})
        put(self.lake, recording("retries"))
        self.compact()
        self.assertEqual({row["of_tomorrow"] for row in self.rows("tasks")}, {None})

    def test_minutes_of_tasks_have_what_their_processes_used(self) -> None:
        """In recordings with attached, exec'ing, short and long processes, over several minutes, and without samples."""
        for name in ("attached", "retries", "slow-pieces", "standing-still", "snakemake", "nextflow-24", "few-families", "proc"):
            put(self.lake, recording(name))
            self.compact()
            sums: dict[str, list[int | None]] = {}
            for row in tracer.read(RECORDINGS / f"{name}.tracer").table("processes", only_ended=True).rows():
                if row["task_key"]:
                    before = sums.get(row["task_key"], [0, 0, 0])
                    now = [row["cpu_ns"], row["read_bytes"], row["written_bytes"]]
                    sums[row["task_key"]] = [None if None in pair else sum(pair) for pair in zip(before, now)]  # type: ignore[arg-type]
            self.assertTrue(sums, name)
            found = self.minutes()
            for task, whole in sums.items():
                for wanted, column in zip(whole, ("cpu_ns", "read_bytes", "written_bytes")):
                    values = [row[column] for row in found[task]]
                    if wanted is None:
                        self.assertIn(None, values)
                    else:
                        self.assertEqual(sum(values), wanted, (name, task, column))
        for row in (row for rows in found.values() for row in rows):
            self.assertNotEqual(row["processes"], 0)
        of_pieces = {row["session_id"] for row in self.rows("task_minutes") if row["processes"] is None}
        self.assertIn(tracer.read(RECORDINGS / "few-families.tracer").host.session_id, of_pieces)
        for row in self.rows("tasks"):
            peak = max((each["memory_bytes"] or 0 for each in found.get(row["task_key"], [])), default=0)
            known = row["peak_bytes"] or row["peak_at_least_bytes"]
            if known:
                self.assertLessEqual(peak, known, row["task"])

    def test_files_by_option_begin_with_what_comes_then(self) -> None:
        first, second = RECORDINGS / "parts.tracer.1", RECORDINGS / "parts.tracer"
        path = put(self.lake, numbered(first.read_bytes(), 1), 1)
        self.compact()
        path.unlink()
        put(self.lake, numbered(second.read_bytes(), 2), 2)
        self.assertEqual(self.compact("files").waiting, {})
        self.assertEqual(len(self.rows("files")), sum(1 for _ in tracer.read(second).files.rows()))
        self.assertEqual(self.processes(), ended([str(first), str(second)]))
        # From then on always.
        put(self.lake, recording("retries"))
        self.compact()
        self.assertEqual(len(self.rows("files")), sum(tracer.read(path).files.count_rows() for path in (second, RECORDINGS / "retries.tracer")))


COMPACT_FOR_EVER = """
import random, sys, time
from tracer.lake._compact import compact
from tracer.lake import _retain
random.seed()
print("begun", flush=True)
while True:
    try:
        compact(sys.argv[1])
        if random.random() < 0.2:
            _retain.merge(sys.argv[1], "processes", time.time() + 86400)
    except Exception as error:
        print(type(error).__name__, error, file=sys.stderr)
    time.sleep(0.05)
"""


class Kills(LakeCase):
    kills, longest_s = 20, 2.5

    def test_two_compactors_that_are_killed_again_and_again(self) -> None:
        """Each process once, while parts of 12 hosts come and days are merged."""
        sources = [recording(name) for name in ("launcher-parallel", "slurm", "snakemake-submitted", "cwltool")]
        coming = [on_host(data, f"node{host}", f"00000000-0000-4000-8000-{host:012}") for host in range(12) for data in sources]
        log = open(self.folder / "log", "w+")
        self.addCleanup(log.close)

        def start() -> subprocess.Popen[bytes]:
            child = subprocess.Popen([sys.executable, "-c", COMPACT_FOR_EVER, self.url], stdout=subprocess.PIPE, stderr=log)
            assert child.stdout is not None
            self.assertEqual(child.stdout.readline(), b"begun\n")
            child.stdout.close()
            return child

        running = [start(), start()]
        try:
            for _ in range(self.kills):
                for _ in range(60 // self.kills):
                    if coming:
                        put(self.lake, coming.pop())
                time.sleep(random.uniform(0.05, self.longest_s))
                at = random.randrange(2)
                running[at].send_signal(signal.SIGKILL)
                running[at].wait()
                running[at] = start()
        finally:
            for each in running:
                each.kill()
                each.wait()
        # They have done most of it, and have left files that no table has.
        self.assertGreater(self.delta("processes").version(), 3)
        for data in coming:
            put(self.lake, data)
        self.compact()
        truth: Counter[tuple[str, int, int]] = Counter()
        for path in (self.lake / "raw").rglob("*.tracer"):
            truth += ended(path)
        self.assertEqual(self.processes(), truth)
        self.assertEqual(len(self.rows("hosts")), 48)
        log.seek(0)
        self.assertEqual(log.read(), "")

    def test_a_refused_commit_takes_nothing(self) -> None:
        """What was decided by an older look is not written."""
        put(self.lake, recording("failures"))
        self.compact()
        table = self.delta("processes")
        rows = table.to_pyarrow_table()
        put(self.lake, recording("retries"))
        self.compact()
        host = tracer.read(RECORDINGS / "retries.tracer").host
        series = f"node1/{host.boot_id}/all/{host.session_id}"
        self.assertFalse(append(table, rows, {series: 1}))
        self.assertEqual(max(self.processes().values()), 1)


@unittest.skipUnless(versitygw(), "needs versitygw")
class InS3(Kills):
    """A real server, with TLS by a CA of our own; its folder shows what is there."""

    kills, longest_s = 10, 12.0

    def setUp(self) -> None:
        super().setUp()
        gateway = Gateway(self.folder)
        gateway.start()
        self.addCleanup(gateway.stop)
        patch = mock.patch.dict(os.environ, environment(gateway.url, gateway.ca))
        patch.start()
        self.addCleanup(patch.stop)
        self.lake, self.url = gateway.objects / "x", "s3://lake/x"

    def test_asked_and_forgotten(self) -> None:
        for name in ("retries", "cwltool"):
            put(self.lake, recording(name))
            self.assertEqual(self.compact().problems, [])
        self.assertEqual(self.processes(), ended(RECORDINGS / "retries.tracer") + ended(RECORDINGS / "cwltool.tracer"))
        asked = tracer.lake(self.url)
        tasks = {name: tracer.read(RECORDINGS / f"{name}.tracer").tasks.count_rows() for name in ("retries", "cwltool")}
        self.assertEqual(asked.table("tasks").count_rows(), sum(tasks.values()))
        self.assertTrue(asked.sql("FROM failures('2026-W48')").fetchall())
        self.assertGreater(_retain.merge(self.url, "processes", time.time() + 86400), 0)
        key = next(row["run_key"] for row in self.rows("tasks") if row["run_key"])
        self.command("forget", self.url, "--run", key)
        self.assertNotIn(key, {row["run_key"] for row in self.rows("processes")})
        self.assertEqual(_retain.keep_raw(self.url, 1), 0)
        old = next((self.lake / "raw").rglob("*.tracer"))
        os.utime(old, (time.time() - 3 * 86400,) * 2)
        self.assertEqual(_retain.keep_raw(self.url, 1), 1)
        self.assertFalse(old.exists())


class InMoto(LakeCase):
    """Without TLS, and with the keys of a profile."""

    def test_compacted_and_asked(self) -> None:
        import boto3  # noqa: F401
        import urllib.request

        url = start_moto(self.addCleanup)
        urllib.request.urlopen(urllib.request.Request(f"{url}/lake", method="PUT")).close()
        (self.folder / ".aws").mkdir()
        (self.folder / ".aws/credentials").write_text("[lab]\naws_access_key_id = of-lab\naws_secret_access_key = secret\n")
        known = {name: value for name, value in environment(url).items() if name not in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")}
        with mock.patch.dict(os.environ, known | {"HOME": str(self.folder), "AWS_PROFILE": "lab"}, clear=True):
            self.url = "s3://lake/x"
            made = put(self.folder / "made", recording("retries"))
            open_store(self.url).put_new(str(made.relative_to(self.folder / "made")), made)
            self.assertEqual(self.compact().problems, [])
            tasks = tracer.read(RECORDINGS / "retries.tracer").tasks.count_rows()
            self.assertEqual(self.command("sql", self.url, "SELECT count(*) AS n FROM tasks"), f"n\n{tasks}\n")
            self.command("views", self.url, str(self.folder / "views.sql"))
            for words in (("sql", "s3://none/x", "SELECT 1"), ("compact", "s3://none/x"), ("runs", "s3://none/x")):
                self.assertIn("TRC150: can't list s3://none/x/", said := self.command(*words, status=1))
                self.assertIn("make the bucket, or name another", said)
        with mock.patch.dict(os.environ, environment("http://127.0.0.1:1")):
            self.assertIn("TRC151", self.command("sql", self.url, "SELECT 1", status=1))


class Kept(LakeCase):
    def test_small_files_of_a_day_become_one_and_vacuum_takes_the_others(self) -> None:
        for name in ("failures", "retries", "cwltool"):
            put(self.lake, recording(name))
            self.compact()
        before = self.delta("processes").to_pyarrow_table().to_pylist()
        self.assertEqual(_retain.merge(str(self.lake), "processes"), 0)
        days = len({row["date"] for row in before})
        self.assertEqual(_retain.merge(str(self.lake), "processes", time.time() + 86400), days)
        self.assertEqual(len(self.delta("processes").file_uris()), days)
        after = self.delta("processes").to_pyarrow_table().to_pylist()
        self.assertEqual(sorted(after, key=repr), sorted(before, key=repr))
        keys = [tuple((row[name] is None, row[name]) for name in ("date", "run", "step", "tool", "start_time")) for row in after]
        self.assertEqual(keys, sorted(keys))
        self.assertEqual(_retain.tidy(self.delta("processes")), 0)
        self.assertGreaterEqual(_retain.tidy(self.delta("processes"), 0), 3)
        self.assertEqual(len(list((self.lake / "tables/processes").rglob("*.parquet"))), days + len(list((self.lake / "tables/processes").rglob("*checkpoint*.parquet"))))

    def test_forget_leaves_no_row_and_after_vacuum_no_byte(self) -> None:
        (self.lake / "users").mkdir()
        (self.lake / "users/node2.json").write_text(json.dumps({"schema": 1, "users": {"0": "mallory-the-user"}}))
        put(self.lake, recording("failures"))
        put(self.lake, on_host(recording("retries"), "node2", BOOT))
        self.compact()
        others = ended(RECORDINGS / "failures.tracer")
        # What lies there and is not in the tables yet is forgotten as well.
        put(self.lake, on_host(recording("cwltool"), "node2", BOOT))
        said = self.command("forget", str(self.lake), "--user", "mallory-the-user")
        self.assertIn("forgotten: ", said)
        self.assertIn("2 raw objects may have more of it", said)
        self.assertEqual(self.processes(), others)
        for name in TABLES:
            self.assertEqual([row for row in self.rows(name) if row["user"] == "mallory-the-user"], [])
        self.assertEqual(self.compact().parts, 0)
        for name in TABLES:
            _retain.tidy(self.delta(name), 0)
        for path in (self.lake / "tables").rglob("*.parquet"):
            if "_delta_log" not in str(path) and path.parts[-2] != "users":
                self.assertNotIn(b"mallory-the-user", path.read_bytes(), path)

    def test_forget_a_run_and_a_sample(self) -> None:
        for name in ("nextflow-25", "snakemake"):
            put(self.lake, recording(name))
        self.compact()
        rows = self.rows("tasks")
        sample = next(row["sample"] for row in rows if row["sample"])
        run = next(row["run_key"] for row in self.rows("runs") if row["engine"] == "snakemake")
        self.command("forget", str(self.lake), "--sample", sample)
        self.command("forget", str(self.lake), "--run", run)
        for name in ("processes", "tasks", "runs", "findings"):
            self.assertEqual([row for row in self.rows(name) if row["sample"] == sample or row["run_key"] == run], [], name)
        self.assertTrue(self.rows("tasks"))
        self.assertIn("forget needs one", self.command("forget", str(self.lake), status=2))

    def test_raw_goes_when_it_is_old_and_in_all_tables(self) -> None:
        old, young = put(self.lake, recording("failures")), put(self.lake, recording("retries"))
        hour = self.lake / "index/node1/2026-11-28T10.json"
        hour.parent.mkdir(parents=True)
        hour.write_text("{}")
        for path in (old, hour):
            os.utime(path, (time.time() - 3 * 86400,) * 2)
        self.assertEqual(_retain.keep_raw(self.url, 2) if self.compact("files").parts else None, 1)
        self.assertEqual([path.exists() for path in (old, young, hour)], [False, True, False])
        late = put(self.lake, recording("cwltool"))
        os.utime(late, (time.time() - 3 * 86400,) * 2)
        self.assertEqual(_retain.keep_raw(self.url, 2), 0)
        self.assertIn("1 raw objects are removed", self.command("compact", str(self.lake), "--keep-raw", "2"))
        self.assertEqual(self.compact().waiting, {})
        # The table of files has it, though nobody has asked for it again.
        self.assertEqual(len(self.rows("files")), sum(tracer.read(RECORDINGS / f"{name}.tracer").files.count_rows() for name in ("failures", "retries", "cwltool")))

    def test_days_of_tables_go_by_whole_files(self) -> None:
        put(self.lake, recording("failures"))
        self.compact()
        self.command("compact", str(self.lake), "--keep-tables", "100000")
        self.assertTrue(self.rows("processes"))
        day = max(row["date"] for row in self.rows("processes"))
        days = (time.time() - time.mktime(day.timetuple())) // 86400
        if days >= 2:
            self.command("compact", str(self.lake), "--keep-tables", "1")
            self.assertEqual(self.rows("processes"), [])
        self.assertIn("1 or more", self.command("compact", str(self.lake), "--keep-tables", "0", status=2))
        self.command("compact", str(self.lake), "--keep-tables", "100000000000", "--keep-raw", "100000000000")


@needs_tracing
@unittest.skipUnless(os.geteuid() == 0, "needs root")
class OfAService(LakeCase):
    def test_processes_that_live_over_many_parts_are_once_there_with_whole_figures(self) -> None:
        folder = self.folder / "recordings"
        folder.mkdir()
        (self.folder / "tracerd.toml").write_text(f'schema = 1\n[recordings]\nfolder = "{folder}"\nseal_s = 1\nfiles = 200\nby_owner = true\n')
        service = subprocess.Popen([TRACERD, "serve", "--config", str(self.folder / "tracerd.toml"), "--socket", str(self.folder / "socket")],
                                   stderr=subprocess.DEVNULL)
        self.addCleanup(service.kill)
        wait_until((self.folder / "socket").exists, "the service")
        work = "import subprocess, time\ne = time.time() + 9\nwhile time.time() < e: subprocess.run(['true'])"
        subprocess.run([sys.executable, "-c", work], timeout=60, check=True)

        def some_more() -> bool:
            subprocess.run(["true"])
            return (folder / "0/host.tracer.5").exists()

        wait_until(some_more, "some parts")
        service.terminate()
        self.assertEqual(service.wait(30), 0)
        files = sorted(folder.glob("0/*"), key=lambda path: -int(path.suffix[1:]) if path.suffix[1:].isdigit() else 0)
        for number, path in enumerate(files, 1):
            put(self.lake, path.read_bytes(), number, 0)
        self.assertEqual((done := self.compact()).problems, [], done)
        self.assertEqual(self.processes(), ended([str(path) for path in files]))
        parent, = [row for row in self.rows("processes") if row["argv"] and "e = time.time() + 9" in row["argv"][-1]]
        whole, = [row for row in tracer.read([str(path) for path in files]).processes.rows() if row["pid"] == parent["pid"]]
        self.assertEqual({name: parent[name] for name in whole if name != "owner_uid"}, {name: whole[name] for name in whole if name != "owner_uid"})
        self.assertGreater(parent["part"], 1)
        self.assertGreater((parent["end_time"] - parent["start_time"]).total_seconds(), 9)
        self.assertEqual({row["owner_uid"] for row in self.rows("processes")}, {0})

    def test_minutes_over_many_parts_are_those_of_the_task_as_a_whole(self) -> None:
        """Each cut goes through processes that were looked at, that have just begun, and that execute another program."""
        folder = self.folder / "recordings"
        folder.mkdir()
        (self.folder / "tracerd.toml").write_text(f'schema = 1\n[recordings]\nfolder = "{folder}"\nseal_s = 1\nfiles = 200\n')
        service = subprocess.Popen([TRACERD, "serve", "--config", str(self.folder / "tracerd.toml"), "--socket", str(self.folder / "socket")],
                                   stderr=subprocess.DEVNULL)
        self.addCleanup(service.kill)
        wait_until((self.folder / "socket").exists, "the service")
        busy = "import time\ne = time.time() + 2.5\nwhile time.time() < e: pass"
        work = ("import os, subprocess, sys, time\ne = time.time() + 10\n"
                f"long = subprocess.Popen([sys.executable, '-c', {busy.replace('2.5', '9')!r}])\n"
                "while time.time() < e:\n"
                f"    subprocess.run(['sh', '-c', 'i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; exec \"$0\" -c \"$1\"', sys.executable, {busy!r}])\n"
                "    subprocess.run(['true'])\nlong.wait()")
        session = ("import subprocess, sys, tracer\nwith tracer.connect() as session, session.task('minutes'):\n"
                   "    subprocess.run([sys.executable, '-c', sys.argv[1]], check=True)")
        subprocess.run([sys.executable, "-c", session, work], env=os.environ | {"TRACER_SOCKET": str(self.folder / "socket")}, timeout=120, check=True)

        def some_more() -> bool:
            subprocess.run(["true"])
            return (folder / "host.tracer.5").exists()

        wait_until(some_more, "some parts")
        service.terminate()
        self.assertEqual(service.wait(30), 0)
        files = sorted(folder.glob("*"), key=lambda path: -int(path.suffix[1:]) if path.suffix[1:].isdigit() else 0)
        for number, path in enumerate(files, 1):
            put(self.lake, path.read_bytes(), number)
            # Each time by another compaction: what lives is known from the one before.
            self.assertEqual((done := self.compact()).problems, [], done)
        self.assertGreater(len(files), 4)
        task, = [row for row in self.rows("tasks") if row["task"] == "minutes"]
        rows = self.minutes()[task["task_key"]]
        self.assertGreater(len({row["part"] for row in rows}), 2)
        for column in ("cpu_ns", "read_bytes", "written_bytes"):
            self.assertEqual(sum(row[column] for row in rows), task[column] - (task["own_cpu_ns"] if column == "cpu_ns" else 0), column)
        self.assertGreater(max(row["processes"] or 0 for row in rows), 1)
        self.assertEqual({row["task"] for row in rows}, {"minutes"})
        self.assertEqual(list((self.lake / "looks").rglob("*.json")), [])


if __name__ == "__main__":
    unittest.main()
