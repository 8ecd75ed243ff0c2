# SPDX-License-Identifier: Apache-2.0
"""One program of known truth, seen by each source of events: what all of them owe."""

from __future__ import annotations

import os
import resource
import subprocess
import tempfile
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import tracer
from support import begin_service, needs_tracing

# Long enough that a source that only looks from time to time sees each of its processes.
LOOP = "i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done"
FAILS = ["sh", "-c", "sleep 0.6; exit 7"]
KILLED = ["sh", "-c", "sleep 0.6 & wait $!; kill -TERM $$"]
COMPUTES = ["sh", "-c", LOOP]
EXACT = ("kernel", "service")


def children_cpu_ns() -> int:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return round((usage.ru_utime + usage.ru_stime) * 1e9)


class Seen:
    """The story, as a source shows it."""

    def __init__(self, source: str, recording: Path) -> None:
        self.recording = recording
        before = children_cpu_ns()
        with tracer.session(source=source, record=recording, pipeline="p") as s:
            self.tier = s.tier
            with s.task("fails", task_id="1"):
                self.failed = subprocess.Popen(FAILS)
            with s.task("computes", task_id="2"):
                self.computed = subprocess.Popen(COMPUTES)
            self.killed = subprocess.Popen(KILLED)
            self.lives = subprocess.Popen(["sleep", "100"])
            for child in (self.failed, self.computed, self.killed):
                child.wait()
            self.cpu_ns = children_cpu_ns() - before
            s.flush()
            self.living = {each.pid for each in s.living}
            self.families = s.families
            self.statistics = s.statistics
        self.lives.kill()
        self.lives.wait()
        self.certificate = s.report.certificate
        self.total = s.report.total
        self.events = list(tracer.read(recording))

    def of(self, kind: str, pid: int) -> Any:
        found = [event for event in self.events if event.kind == kind and event.pid == pid]
        assert len(found) == 1, f"{len(found)} {kind} of {pid}"
        return found[0]


class Owed:
    """The class that has it is a TestCase, and names its source."""

    seen: Seen
    tier: str

    def test_the_session_and_its_report_name_the_source(self: Any) -> None:
        self.assertEqual(self.seen.tier, self.tier)
        self.assertEqual(self.seen.certificate.tier, self.tier)

    def test_each_process_begins_and_ends_once_and_in_this_order(self: Any) -> None:
        for child in (self.seen.failed, self.seen.computed, self.seen.killed):
            start, end = self.seen.of("process_start", child.pid), self.seen.of("process_exit", child.pid)
            self.assertEqual(start.start_ns, end.start_ns)
            self.assertLessEqual(start.start_ns, end.time_ns)
            self.assertLess(self.seen.events.index(start), self.seen.events.index(end))
            self.assertEqual(start.parent_pid, os.getpid())
        self.assertEqual([event.kind for event in self.seen.events].count("session_end"), 1)
        self.assertEqual(self.seen.events[-1].kind, "session_end")

    def test_descendants_are_linked_to_their_parents(self: Any) -> None:
        sleeps = [event for event in self.seen.events
                  if event.kind == "process_exit" and event.parent_pid == self.seen.failed.pid]
        self.assertEqual([event.tool for event in sleeps], ["sleep"])

    def test_how_they_ended(self: Any) -> None:
        failed, killed = self.seen.of("process_exit", self.seen.failed.pid), self.seen.of("process_exit", self.seen.killed.pid)
        self.assertEqual((failed.exit_code, failed.exit_signal), (7, None))
        self.assertEqual((killed.exit_code, killed.exit_signal), (None, 15))

    def test_labels_of_threads(self: Any) -> None:
        for child, name, task in ((self.seen.failed, "fails", "1"), (self.seen.computed, "computes", "2")):
            end = self.seen.of("process_exit", child.pid)
            self.assertEqual((end.context.pipeline, end.context.task, end.context.task_id), ("p", name, task))
        self.assertIsNone(self.seen.of("process_exit", self.seen.killed.pid).context.task_id)
        finished = {event.context.task_id: event for event in self.seen.events if event.kind == "task_finish"}
        self.assertEqual(sorted(finished), ["1", "2"])

    def test_cpu_time_is_the_truth_or_a_lower_bound_that_says_so(self: Any) -> None:
        total = self.seen.total
        if self.tier in EXACT:
            known = sum(event.cpu_ns for event in self.seen.events if event.kind == "process_exit"
                        and event.pid != self.seen.lives.pid)
            # wait4 rounds to microseconds, process by process; what lives is in no sum of exits.
            self.assertAlmostEqual(known, self.seen.cpu_ns, delta=8 * 2000 + 20e6)
            self.assertIsNone(self.seen.certificate.missed_at_most)
        else:
            end = self.seen.of("process_exit", self.seen.computed.pid)
            known = end.cpu_ns if end.cpu_ns is not None else end.cpu_at_least_ns
            self.assertIsNotNone(known)
            self.assertLessEqual(known, self.seen.cpu_ns)
            self.assertGreater(known, 0)
            self.assertIsNotNone(self.seen.certificate.missed_at_most)
        self.assertIsNotNone(total)

    def test_unknown_is_absent(self: Any) -> None:
        end = self.seen.of("process_exit", self.seen.computed.pid)
        if self.tier in EXACT:
            self.assertIsNotNone(end.ledger)
            self.assertIsNotNone(end.peak_rss_bytes)
            self.assertIsNone(end.cpu_at_least_ns)
        else:
            self.assertIsNone(end.ledger)
            self.assertIsNone(end.peak_rss_bytes)
            self.assertIsNone(end.broken_pipe_ns)

    def test_what_lives_is_known_after_a_flush(self: Any) -> None:
        self.assertIn(self.seen.lives.pid, self.seen.living)
        self.assertNotIn(self.seen.failed.pid, self.seen.living)

    def test_nothing_is_lost_and_families_have_reasons(self: Any) -> None:
        self.assertEqual(self.seen.statistics.losses, {})
        for family in self.seen.families:
            self.assertTrue(family.active or family.problem is not None, family)

    def test_its_recording_is_a_source_of_the_same_events(self: Any) -> None:
        again = self.seen.recording.with_suffix(".again")
        with tracer.session(source=self.seen.recording, record=again) as replay:
            self.assertEqual(replay.tier, "recording")
        before = [(event.kind, event.as_dict()) for event in self.seen.events]
        after = [(event.kind, event.as_dict()) for event in tracer.read(again)]
        self.assertEqual([kind for kind, _ in after], [kind for kind, _ in before])
        self.assertEqual(after, before)


class OfASource(unittest.TestCase):
    folder: Path
    seen: Seen
    tier: str

    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory(prefix="tracer-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.see()

    @classmethod
    def see(cls) -> None:
        cls.seen = Seen(cls.tier, cls.folder / "a.trc")


@needs_tracing
class Kernel(Owed, OfASource):
    tier = "kernel"


class Proc(Owed, OfASource):
    tier = "proc"


@needs_tracing
@unittest.skipUnless(os.geteuid() == 0, "needs root for a service")
class Service(Owed, OfASource):
    tier = "service"

    @classmethod
    def see(cls) -> None:
        place = begin_service(cls.folder, cls.addClassCleanup)
        with mock.patch.dict(os.environ, TRACER_SOCKET=place):
            super().see()


@needs_tracing
@unittest.skipUnless(os.geteuid() == 0, "needs root for a service")
class Filtered(unittest.TestCase):
    """Two commands at the same time and one filter: by the kernel and by a service, the tables are the same."""

    SCRIPT = "read line; head -c 1000000 /dev/zero | cat > /dev/null; (exit 3); tail -n 1 /dev/null; exit 0"
    # What the kernel itself counts. Ends and waits are measured by each session, and contexts have keys of its own.
    COLUMNS = ("pid", "start_ns", "parent_pid", "parent_start_ns", "uid", "comm", "exe", "argv", "cwd", "tool", "begin_ns",
               "exit_code", "exit_signal", "threads", "cpu_ns", "peak_rss_bytes", "minor_faults", "read_bytes",
               "written_bytes")

    def tables(self, place: str, filter_of: Callable[[list[int]], dict[str, Any]]) -> list[tuple[str, int]]:
        """Of a filtered session by each source, which must be equal: tool and exit code of each process."""
        shells = [subprocess.Popen(["sh", "-c", self.SCRIPT], stdin=subprocess.PIPE) for _ in range(2)]
        pids = [shell.pid for shell in shells]
        filters = filter_of(pids)
        with mock.patch.dict(os.environ, TRACER_SOCKET=place):
            sessions = {"kernel": tracer.session(source="kernel", **filters),
                        "service": tracer.session(source="service", **filters), "connect": tracer.connect(**filters)}
        for shell in shells:
            shell.communicate(b"go\n")
        found = {}
        for name, session in sessions.items():
            session.flush()
            self.assertEqual(session.statistics.losses, {}, name)
            session.close()
            rows = [{column: row[column] for column in self.COLUMNS} for row in session.processes.to_dicts()]
            for row in rows:
                # What the shells have read before, only a service that has seen them begin knows.
                if row["pid"] in pids:
                    row["read_bytes"] = row["written_bytes"] = None
            found[name] = sorted(rows, key=lambda row: (row["pid"], row["start_ns"]))
        self.assertEqual(found["service"], found["kernel"])
        self.assertEqual(found["connect"], found["kernel"])
        return sorted((row["tool"], row["exit_code"]) for row in found["kernel"])

    def test_tables_are_those_of_the_kernel(self) -> None:
        with tempfile.TemporaryDirectory(prefix="tracer-test-") as name:
            place = begin_service(Path(name), self.addCleanup)
            # The shell and its copy, and three programs.
            self.assertEqual(self.tables(place, lambda pids: {"pid": pids[0]}),
                             [("cat", 0), ("head", 0), ("sh -c", 0), ("sh -c", 3), ("tail", 0)])
            self.assertEqual(self.tables(place, lambda pids: {"pid": pids, "exclude_exe": "cat"}),
                             2 * [("head", 0)] + 2 * [("sh -c", 0)] + 2 * [("sh -c", 3)] + 2 * [("tail", 0)])
            self.assertEqual(self.tables(place, lambda pids: {"exe": "head", "exclude_argument": "-x"}),
                             2 * [("head", 0)])


if __name__ == "__main__":
    unittest.main()
