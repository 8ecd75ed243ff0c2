# SPDX-License-Identifier: Apache-2.0
"""Replays of runs whose time on other CPUs is known: tracer.whatif, tracer whatif."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import unittest
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from support import RECORDINGS, ROOT, TRACERD, TempDir, needs_tracing, run_python

try:
    import duckdb
except ImportError:
    duckdb = None  # type: ignore[assignment]

from tracer import BillError, InvalidArgumentError, RecordingError, WhatIfError
from tracer.tune import tune
from tracer.whatif import what_if
from tracer.whatif._cpus import find_cpus, list_size
from tracer.whatif._order import find_order
from tracer.whatif._phases import Piece, phases_of
from tracer.whatif._read import _attempts, _by_files
from tracer.whatif._replay import replay
from tracer.whatif._rows import rows_of
from tracer.whatif._workload import Phase, Task, Workload

SECOND = 1_000_000_000


def task(begin: float, end: float, cpu: float | None = None, runnable: float = 1.0, wait: float = 0.0, launcher: int = 0,
         **more: Any) -> Task:
    """In seconds. Its CPU time is what is left of its time, if not given."""
    cpu = end - begin - wait if cpu is None else cpu
    phases = (Phase(cpu * SECOND, runnable, wait * SECOND),)
    return Task("t", None, round(begin * SECOND), round(end * SECOND), phases, launcher, phases_serial=phases,
                slot_end_ns=round(end * SECOND), **more)


def work_of(tasks: Sequence[Task], cpus: int, wall: float | None = None, files: dict[int, list[int]] | None = None,
            **more: Any) -> Workload:
    last = max(each.end_ns for each in tasks)
    end = last if wall is None else round(wall * SECOND)
    work = Workload("made up", list(tasks), [], 1, end, end - last, cpus, "given", round(sum(each.cpu_ns for each in tasks)), **more)
    find_order(work, files or {})
    work.by_files = len(files or {})
    return work


def seconds(work: Workload, cpus: float, **more: Any) -> float:
    return round(replay(work, cpus, **more).wall_ns / SECOND, 6)


class Replays(unittest.TestCase):
    def test_slots_and_cpus(self) -> None:
        """Six tasks of a second, three at once on three CPUs."""
        work = work_of([task(n // 3, n // 3 + 1) for n in range(6)], 3)
        self.assertEqual((work.slots, work.launchers[0].slots, work.launchers[0].limited), (3, 3, True))
        self.assertEqual({cpus: seconds(work, cpus) for cpus in (1, 2, 3, 8)}, {1: 6, 2: 3, 3: 2, 8: 2})
        self.assertEqual(seconds(work, 8, slots=6), 1)
        self.assertEqual(seconds(work, 8, slots=1), 6)

    def test_from_one_cpu(self) -> None:
        """The queue for the only CPU is gone on two."""
        work = work_of([task(0, 2, cpu=1), task(0, 2, cpu=1), task(2, 4, cpu=1), task(2, 4, cpu=1)], 1)
        self.assertEqual((seconds(work, 1), seconds(work, 2), seconds(work, 4)), (4, 2, 2))

    def test_waits_stay(self) -> None:
        work = work_of([task(0, 4, cpu=1, wait=3)], 1)
        self.assertEqual([seconds(work, cpus) for cpus in (1, 2, 64)], [4, 4, 4])
        self.assertEqual(seconds(work, 1, speed=2), 3.5)

    def test_threads(self) -> None:
        """Four threads that ran one after the other on one CPU run side by side on four."""
        work = work_of([task(0, 4, cpu=4, runnable=4)], 1)
        self.assertEqual([seconds(work, cpus) for cpus in (1, 2, 4, 8)], [4, 2, 1, 1])

    def test_threads_share_cpus_by_their_number(self) -> None:
        """Of two CPUs, three of four threads get 1.5: they are done after 2 s, and the fourth has 3 of 4 s left."""
        work = work_of([task(0, 4, cpu=3, runnable=3), task(0, 4, cpu=4, runnable=1)], 2)
        self.assertEqual(seconds(work, 2), 5)

    def test_waits_of_one_let_another_compute(self) -> None:
        """Each computes half of its time: together they need one CPU for 10 s at least, and no longer than one after the other."""
        work = work_of([task(0, 10, cpu=5, wait=5), task(0, 10, cpu=5, wait=5)], 2)
        self.assertEqual(seconds(work, 2), 10)
        self.assertTrue(10 < seconds(work, 1) < 14, seconds(work, 1))
        self.assertEqual(seconds(work, 1), seconds(work, 1))
        self.assertNotEqual(seconds(work, 1), seconds(work, 1, seed=2))

    def test_delays_and_tail(self) -> None:
        work = work_of([task(0.5, 1.5), task(1.6, 2.6)], 1, wall=3)
        self.assertEqual([each.delay_ns for each in work.tasks], [SECOND // 2, SECOND // 10])
        self.assertEqual(seconds(work, 1), 3)

    def test_an_engine_competes(self) -> None:
        work = work_of([task(0, 10)], 2, other_cpu_ns=10.0 * SECOND)
        self.assertEqual(seconds(work, 2), 10)
        self.assertEqual(seconds(work, 1), 20)

    def test_memory_at_once(self) -> None:
        work = work_of([task(0, 2, cpu=1, peak_bytes=5), task(0, 2, cpu=1, peak_bytes=7), task(2, 3, peak_bytes=1)], 1)
        self.assertEqual(replay(work, 1).most_bytes, 12)
        work.tasks[0].peak_bytes = None
        self.assertIsNone(replay(work, 1).most_bytes)

    def test_bounds_that_always_hold(self) -> None:
        """No run is shorter than its work on all CPUs, or than its longest task; none is longer than one after the other."""
        for seed in range(30):
            generator = random.Random(seed)
            tasks, at = [], 0.0
            for _ in range(generator.randrange(1, 40)):
                cpu, wait = generator.uniform(0.01, 3), generator.choice([0, generator.uniform(0, 2)])
                at += generator.uniform(0, 1)
                tasks.append(task(at, at + cpu + wait, cpu=cpu, wait=wait, runnable=generator.choice([1, 1, 2, 3.5])))
            work = work_of(tasks, 4)
            delays = sum(each.delay_ns for each in work.tasks) / SECOND
            cpu, longest = sum(each.cpu_ns for each in tasks) / SECOND, max(
                sum(phase.cpu_ns / phase.runnable + phase.wait_ns for phase in each.phases) for each in tasks) / SECOND
            for cpus in (1, 2, 3, 16):
                found = replay(work, cpus, seed=seed)
                self.assertGreaterEqual(found.wall_ns / SECOND, max(cpu / cpus, longest) - 1e-6)
                self.assertLessEqual(found.wall_ns / SECOND, cpu + sum(each.wait_ns for each in tasks) / SECOND + delays + 1e-6)
                self.assertLessEqual(found.cpu_share, 1)

    def test_no_tasks_of_no_length(self) -> None:
        work = work_of([task(0, 0), task(0, 0), task(0, 0)], 1)
        self.assertEqual(seconds(work, 1), 0)


class Orders(unittest.TestCase):
    def test_by_files(self) -> None:
        """A chain of each sample: no order is seen, as two slots were always taken."""
        tasks = [task(0, 1), task(0, 1), task(1, 2), task(1, 2)]
        work = work_of(tasks, 2, files={2: [0], 3: [1]})
        self.assertEqual([each.after for each in work.tasks], [[], [], [0], [1]])
        self.assertEqual((seconds(work, 2), seconds(work, 4, slots=4)), (2, 2))
        self.assertEqual(seconds(work_of(tasks, 2), 4, slots=4), 1)

    def test_a_barrier_is_seen(self) -> None:
        """The last begins when all others have ended, though a slot was free before."""
        work = work_of([task(0, 1), task(0, 3), task(0, 2), task(3.01, 4)], 3)
        self.assertEqual(sorted(work.tasks[3].after), [0, 1, 2])
        self.assertEqual(work.tasks[3].after_early, [1])
        self.assertEqual((work.by_order, work.tasks[3].delay_ns), (1, SECOND // 100))
        self.assertAlmostEqual(seconds(work, 1), 7, places=6)

    def test_a_pause_is_no_dependency(self) -> None:
        """The launcher itself took its time: nobody ended."""
        work = work_of([task(0, 9), task(1, 2)], 2)
        self.assertEqual([each.after for each in work.tasks], [[], []])
        self.assertEqual(work.tasks[1].delay_ns, SECOND)

    def test_launchers_one_after_another(self) -> None:
        work = work_of([task(0, 1), task(0, 1), task(1.2, 2.2, launcher=1), task(1.2, 2.2, launcher=1)], 2)
        self.assertEqual([launcher.slots for launcher in work.launchers], [2, 2])
        self.assertEqual(sorted(work.tasks[2].after), [0, 1])
        self.assertEqual((seconds(work, 2), seconds(work, 1)), (2.2, 4.2))

    def test_launchers_that_share_slots(self) -> None:
        """Two makes side by side never had more than two tasks together."""
        tasks = [task(0, 1), task(0, 1, launcher=1), task(1, 2), task(1, 2, launcher=1), task(2, 3), task(2, 3)]
        work = work_of(tasks, 2)
        self.assertEqual((work.slots, seconds(work, 2), seconds(work, 8)), (2, 3, 3))

    def test_a_file_of_a_task_that_still_ran(self) -> None:
        work = work_of([task(0, 2), task(1, 2)], 2, files={1: [0]})
        self.assertEqual(work.tasks[1].after, [])

    def test_what_did_not_take_a_free_slot_was_not_ready(self) -> None:
        """The third begins when the first has ended, whose file it reads; the fourth right after it, though a slot was free
        for long: it may not begin at once on other CPUs."""
        work = work_of([task(0, 5), task(0, 1), task(5, 6), task(5.001, 7)], 2, files={2: [0]})
        self.assertEqual([each.after_begin for each in work.tasks], [None, None, None, 2])
        self.assertAlmostEqual(seconds(work, 64), 7, places=3)

    def test_chains_side_by_side_don_t_wait_for_each_other(self) -> None:
        """The second steps of two samples begin when each first one has ended."""
        work = work_of([task(0, 1, cpu=4, runnable=4), task(0, 2), task(1, 3), task(2, 3)], 8, files={2: [0], 3: [1]})
        self.assertEqual([each.after_begin for each in work.tasks], [None] * 4)
        self.assertEqual((seconds(work, 8), seconds(work, 1)), (3, 9))


class Phases(unittest.TestCase):
    def test_sequence(self) -> None:
        """One thread for 2 s, four threads that need 4 s of CPU on one, a sleep of 3 s."""
        pieces = [Piece(0, 2 * SECOND, 2.0 * SECOND, 0.0, 1.0), Piece(2 * SECOND, 6 * SECOND, 4.0 * SECOND, 12.0 * SECOND, 1.0),
                  Piece(6 * SECOND, 9 * SECOND, 1.0, 0.0, 0.0)]
        phases = phases_of(0, 9 * SECOND, pieces, 6.0 * SECOND, 12.0 * SECOND, 6.0 * SECOND)
        self.assertEqual([(round(each.cpu_ns / SECOND, 3), round(each.runnable, 3), round(each.wait_ns / SECOND, 3)) for each in phases],
                         [(2, 1, 0), (4, 4, 0), (0, 1, 3)])
        work = work_of([Task("t", None, 0, 9 * SECOND, phases, 0, slot_end_ns=9 * SECOND)], 1)
        self.assertEqual([seconds(work, cpus) for cpus in (1, 2, 4)], [9, 7, 6])

    def test_side_by_side(self) -> None:
        """Two processes that compute half of the time: at once, or in turns, as the ledger of the task says."""
        pieces = [Piece(0, 4 * SECOND, 2.0 * SECOND, 0.0, 0.5)] * 2
        together = phases_of(0, 4 * SECOND, [Piece(*[getattr(piece, name) for name in Piece.__slots__]) for piece in pieces],
                             4.0 * SECOND, 0.0, 2.0 * SECOND)
        self.assertEqual([(each.runnable, each.wait_ns / SECOND) for each in together], [(2, 2)])
        turns = phases_of(0, 4 * SECOND, [Piece(0, 4 * SECOND, 2.0 * SECOND, 0.0, 0.5), Piece(0, 4 * SECOND, 2.0 * SECOND, 0.0, 0.5)],
                          4.0 * SECOND, 0.0, 4.0 * SECOND)
        self.assertEqual([(each.runnable, each.wait_ns) for each in turns], [(1, 0)])

    def test_nothing_is_lost(self) -> None:
        for seed in range(40):
            generator = random.Random(seed)
            pieces = []
            for _ in range(generator.randrange(0, 60)):
                begin = generator.randrange(-SECOND, 9 * SECOND)
                end = begin + generator.randrange(1, 3 * SECOND)
                pieces.append(Piece(begin, end, generator.random() * SECOND, generator.random() * SECOND, generator.random()))
            active = generator.uniform(0, 12) * SECOND
            phases = phases_of(0, 10 * SECOND, pieces, 5.0 * SECOND, 1.0 * SECOND, active)
            self.assertAlmostEqual(sum(each.cpu_ns for each in phases) / SECOND, 5)
            self.assertAlmostEqual(sum(each.wait_ns for each in phases) / SECOND, max(10 - active / SECOND, 0))
            self.assertGreaterEqual(min(each.runnable for each in phases), 1)
            self.assertLessEqual(len(phases), 49)

    def test_no_more_threads_than_there_were(self) -> None:
        """A queue of others' making, in the moment that it computed."""
        pieces = [Piece(0, 10 * SECOND, 0.1 * SECOND, 5.0 * SECOND, 0.01, 2.0)]
        [phase] = phases_of(0, 10 * SECOND, pieces, 0.1 * SECOND, 5.0 * SECOND, 0.1 * SECOND)
        self.assertEqual((phase.runnable, round(phase.wait_ns / SECOND, 3)), (2, 9.9))

    def test_without_processes(self) -> None:
        [phase] = phases_of(0, 10 * SECOND, [], 4.0 * SECOND, 4.0 * SECOND, 2.0 * SECOND)
        self.assertEqual((phase.runnable, phase.wait_ns), (4, 8.0 * SECOND))


class Pins(unittest.TestCase):
    def test_lists_and_masks(self) -> None:
        for words, count in (("-c 0 make", 1), ("-c 0,2-3 make", 3), ("-c 0-7:2 make", 4), ("--cpu-list 1 make", 1), ("0x3 make", 2),
                             ("ff make", 8), ("-ac 0,1 make", 2), ("-p 12", None), ("-cp 0 12", None), ("-c x make", None), ("", None),
                             ("zz make", None)):
            self.assertEqual(list_size(["taskset", *words.split()]), count, words)


class Rows(unittest.TestCase):
    def test_ranges(self) -> None:
        """The replay of the recorded CPUs is 20 % shorter than the run: the range reaches as far."""
        work = work_of([task(0, 2, cpu=1), task(0, 2, cpu=1)], 1, wall=2.5)
        work.tail_ns = 0
        result = rows_of(work, [1, 2], [], None, None)
        one, two = result.rows
        self.assertEqual((one["wall_ns"], one["wall_high_ns"], one["wall_low_ns"]), (2 * SECOND, 2.5 * SECOND, 1.9 * SECOND))
        self.assertEqual((two["wall_ns"], two["wall_high_ns"], two["wall_low_ns"]), (SECOND, 1.25 * SECOND, 0.85 * SECOND))
        self.assertIn("other work on the machine", result.text())
        self.assertEqual((one["cpu_share"], one["on_demand_usd"], one["fits"]), (1, None, None))

    def test_by_doubling(self) -> None:
        result = rows_of(work_of([task(0, 3) for _ in range(3)], 3), [], [], None, None)
        self.assertEqual([(row["cpus"], row["wall_ns"] / SECOND) for row in result.rows], [(1, 9), (2, 4.5), (3, 3), (4, 3), (8, 3)])

    def test_slots_by_cpus(self) -> None:
        result = rows_of(work_of([task(n, n + 1) for n in range(4)], 1), [1, 2, 4], [], "cpus", None)
        self.assertEqual([row["wall_ns"] / SECOND for row in result.rows], [4, 2, 1])
        kept = rows_of(work_of([task(n, n + 1) for n in range(4)], 1), [1, 2, 4], [], None, None)
        self.assertEqual([row["wall_ns"] / SECOND for row in kept.rows], [4, 4, 4])
        self.assertIn("--slots cpus", kept.notes[0])

    def test_shortest(self) -> None:
        result = rows_of(work_of([task(0, 1), task(1, 2), task(2, 3)], 1, files={2: [0]}), [1], [], None, None)
        self.assertEqual(result.shortest_wall_ns, 2 * SECOND)


@unittest.skipIf(duckdb is None, "needs duckdb")
class Tables(unittest.TestCase):
    """Of a recording, made up."""

    def setUp(self) -> None:
        self.tables = duckdb.connect(":memory:")
        self.addCleanup(self.tables.close)
        self.work = work_of([task(n, n + 1) for n in range(4)], 4)
        self.rows = [{"key": f"k{n}", "pid": 10 + n, "start_ns": 1, "run_key": "r", "task_id": None} for n in range(4)]

    def files(self, *uses: tuple[int, str, bool, bool, bool]) -> dict[int, list[int]]:
        """(inode, task, written, read, created)"""
        self.tables.execute("""CREATE OR REPLACE TABLE files (device BIGINT, inode BIGINT, task_key VARCHAR, opened_to_write BOOL,
            opened_to_read BOOL, created BOOL)""")
        for inode, key, wrote, was_read, created in uses:
            self.tables.execute("INSERT INTO files VALUES (1, ?, ?, ?, ?, ?)", [inode, key, wrote, was_read, created])
        return _by_files(self.tables, self.work, self.rows)

    def test_files(self) -> None:
        new, read, append = (True, False, True), (False, True, False), (True, False, False)
        self.assertEqual(self.files((7, "k0", *new), (7, "k2", *read)), {2: [0]})
        self.assertTrue(self.work.has_files)
        # Of two writers, the last before it; not one that came after.
        self.assertEqual(self.files((7, "k0", *new), (7, "k1", *append), (7, "k2", *read), (7, "k3", *append)), {2: [1]})
        # A log that all write to.
        self.assertEqual(self.files(*((7, f"k{n}", *append) for n in range(4))), {})
        # A file of each, on the inode of one that is gone.
        self.assertEqual(self.files(*((7, f"k{n}", True, True, True) for n in range(4))), {})
        # Nobody wrote it; a task that is not known did.
        self.assertEqual(self.files((7, "k0", *read), (7, "k1", *read)), {})
        self.assertEqual(self.files((7, "other", *new), (7, "k1", *read)), {})
        self.assertEqual(self.files(), {})
        self.assertFalse(self.work.has_files)

    def test_attempts(self) -> None:
        for row, name in zip(self.rows, ("a", "b", "a", "a")):
            row["task_id"] = name
        found: dict[int, list[int]] = {}
        _attempts(self.work, self.rows, found)
        self.assertEqual(found, {2: [0], 3: [2]})

    def cpus(self, programs: Sequence[tuple[int, str]] = (), cgroups: Sequence[str] = ("/a",) * 4, limits: Sequence[tuple[str, int]] = (),
             given: int | None = None, online: int = 8) -> tuple[int, str, bool]:
        """The leaders are children of process 5, and that of process 4."""
        self.tables.execute("""CREATE OR REPLACE TABLE processes (pid BIGINT, start_ns BIGINT, parent_pid BIGINT, parent_start_ns BIGINT,
            cgroup VARCHAR); INSERT INTO processes VALUES (5, 1, 4, 1, '/a'), (4, 1, 3, 1, '/a')""")
        for row, cgroup in zip(self.rows, cgroups):
            self.tables.execute("INSERT INTO processes VALUES (?, 1, 5, 1, ?)", [row["pid"], cgroup])
        self.tables.execute("""CREATE OR REPLACE TABLE programs (pid BIGINT, start_ns BIGINT, exe VARCHAR, argv VARCHAR[],
            program_start_ns BIGINT)""")
        for pid, words in programs:
            self.tables.execute("INSERT INTO programs VALUES (?, 1, '/usr/bin/taskset', ?, 1)", [pid, words.split()])
        self.tables.execute("CREATE OR REPLACE TABLE samples (kind VARCHAR, cgroup VARCHAR, cpu_limit_millicpus BIGINT)")
        for cgroup, limit in limits:
            self.tables.execute("INSERT INTO samples VALUES ('cgroup_sample', ?, ?)", [cgroup, limit])
        find_cpus(self.tables, self.work, self.rows, online, given)
        return self.work.cpus, self.work.cpus_basis.partition(",")[0], self.work.limited

    def test_cpus(self) -> None:
        self.assertEqual(self.cpus(), (8, "CPUs of the host", False))
        self.assertEqual(self.cpus(given=2), (2, "as given", True))
        self.assertEqual(self.cpus([(4, "taskset -c 0-2 make")]), (3, "taskset", False))
        # Of one task only; of a process that is above none.
        self.assertEqual(self.cpus([(10, "taskset -c 0 sort")])[0], 8)
        self.assertEqual(self.cpus([(77, "taskset -c 0 make")])[0], 8)
        limit = (2, "CPU limit of the cgroup that all tasks are in", True)
        self.assertEqual(self.cpus(limits=[("/a", 2000)]), limit)
        self.assertEqual(self.cpus(limits=[("/b", 2000)])[0], 8)
        # A container for each task: that is no limit of the run.
        self.assertEqual(self.cpus(cgroups=["/a", "/b", "/c", "/d"], limits=[("/a", 2000), ("/b", 2000)])[0], 8)

    def test_more_cpus_than_it_had(self) -> None:
        self.work.cpu_ns = 3 * self.work.wall_ns
        self.assertEqual(self.cpus([(4, "taskset -c 0 make")]), (8, "CPUs of the host", False))
        with self.assertRaises(InvalidArgumentError) as caught:
            self.cpus(given=2)
        self.assertIn("the run used 3.0 CPUs, more than 2", str(caught.exception))


@unittest.skipIf(duckdb is None, "needs duckdb")
@unittest.skipIf(duckdb is None, "needs duckdb")
class Saved(unittest.TestCase):
    def test_memory_of_the_engine_counts(self) -> None:
        """Its java alone holds 257 MiB; the report has 281.5 MiB at least for the run."""
        [row] = what_if(RECORDINGS / "nextflow-24.tracer", cpus=[2]).rows
        self.assertGreater(row["peak_bytes"], 295_219_200)

    def test_a_job_of_slurm_that_is_a_task_of_nextflow_counts_once(self) -> None:
        self.assertEqual(what_if(RECORDINGS / "nextflow-slurm.tracer", cpus=[2]).tasks, 17)


class Commands(TempDir):
    PRICES = ("cloud,region,instance_type,vcpus,memory_gib,on_demand_usd_h,spot_usd_h,price_basis\n"
              "aws,eu-west-1,big.large,4,8,3.6,1.2,listed\naws,us-east-1,big.large,4,8,3.0,,listed\naws,us-east-1,odd.large,,,1,,listed\n")

    def run_tracer(self, *words: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-m", "tracer", *map(str, words)], capture_output=True, text=True, timeout=60)

    def prices(self) -> str:
        path = self.folder / "prices.csv"
        path.write_text(self.PRICES)
        return str(path)

    def refused(self, kind: type[Exception], *words: str, **options: Any) -> None:
        with self.assertRaises(kind) as caught:
            what_if(**options)
        for word in words:
            self.assertIn(word, str(caught.exception))

    def test_bad_arguments(self) -> None:
        self.refused(InvalidArgumentError, "TRC101", "cpus is 0", recording="x", cpus=[0])
        self.refused(InvalidArgumentError, "slots is -1", recording="x", slots=-1)
        self.refused(InvalidArgumentError, "slots is 'all'", recording="x", slots="all")
        self.refused(InvalidArgumentError, "speed is 0", recording="x", speed=0.0, instances=["a"])
        self.refused(InvalidArgumentError, "of instances", recording="x", speed=1.0)
        self.refused(WhatIfError, "TRC136", "no.large", recording="x", instances=["no.large"], prices=self.prices())
        self.refused(WhatIfError, "TRC136", "eu-west-9", "eu-west-1, us-east-1", recording="x", instances=["big.large"],
                     region="eu-west-9", prices=self.prices())
        self.refused(WhatIfError, "TRC136", "odd.large", recording="x", instances=["odd.large"], prices=self.prices())
        self.refused(RecordingError, "TRC110", recording=str(self.folder / "none.tracer"))
        (self.folder / "bad.csv").write_text("a,b\n1,2\n")
        self.refused(BillError, "TRC132", recording="x", instances=["a"], prices=self.folder / "bad.csv")

    def test_command_line(self) -> None:
        for words, status, text in ((["x", "--cpus", "two"], 2, "TRC101"), (["x", "--cpus", "-1"], 2, "TRC101"), (["x"], 1, "TRC110"),
                                    ([], 2, "RECORDING"), (["x", "--slots", "1.5"], 2, "TRC101")):
            done = self.run_tracer("whatif", *words)
            self.assertEqual((done.returncode, text in done.stderr, done.stdout), (status, True, ""), done.stderr)

    def test_without_duckdb(self) -> None:
        done = run_python("""
            import sys
            sys.modules["duckdb"] = None
            from tracer import MissingPackageError
            from tracer.whatif._read import connect
            try:
                connect().__enter__()
            except MissingPackageError as error:
                print("duckdb" in str(error))
        """)
        self.assertEqual(done.stdout, "True\n", done.stderr)


MAKEFILE = """
all: sum.txt
a.txt b.txt:
\tsleep 0.2; seq 1 30000 | sort -R > $@; echo $@ >> log
%.sorted: %.txt
\tsort $< > $@; echo $@ >> log
sum.txt: a.sorted b.sorted
\tcat $^ > $@
"""


@needs_tracing
@unittest.skipIf(duckdb is None, "needs duckdb")
class Recordings(TempDir):
    def record(self, *words: str) -> str:
        path = self.folder / "run.tracer"
        subprocess.run([TRACERD, "run", "--no-history", "--no-live", "--record", path, "--", *words], cwd=self.folder, check=True,
                       capture_output=True, timeout=60)
        return str(path)

    def test_make(self) -> None:
        (self.folder / "Makefile").write_text(MAKEFILE)
        path = self.record("taskset", "-c", "0", "make", "-s", "-j2")
        (self.folder / "prices.csv").write_text(Commands.PRICES)
        result = what_if(path, cpus=[1, 2], instances=["big.large"], prices=self.folder / "prices.csv")
        self.assertEqual((result.run, result.tasks, result.recorded_cpus, result.slots), ("make", 5, 1, 2))
        self.assertIn("taskset", result.recorded_cpus_basis)
        # All of them write to the log: that makes none wait.
        self.assertIn("3 tasks begin after those that wrote their files", result.assumptions[2])
        one, two, machine = result.rows
        # It sleeps, computes, and has a chain: no CPU makes it shorter than that.
        for row in result.rows:
            self.assertGreater(row["wall_ns"], 200_000_000)
            self.assertTrue(0 < row["wall_low_ns"] <= row["wall_ns"] <= row["wall_high_ns"])
            self.assertTrue(0 < row["cpu_share"] <= 1)
        self.assertLessEqual(two["wall_ns"], one["wall_ns"])
        self.assertEqual((machine["cpus"], machine["region"], machine["fits"], machine["price_basis"]), (4, "us-east-1", True, "listed, undated"))
        # A minute at least, of 3.00 an hour; no spot price is known there.
        self.assertEqual((machine["on_demand_usd"], machine["spot_usd"]), ("0.050000", None))
        text = result.text()
        for word in ("big.large", "not what you will be billed", "nothing else runs", "± 40 %"):
            self.assertIn(word, text)
        self.assertEqual(json.loads(json.dumps(result.to_json()))["rows"], result.rows)

    def test_no_tasks(self) -> None:
        path = self.record(sys.executable, "-c", "sum(range(3_000_000))")
        result = what_if(path, cpus=[1, 8])
        self.assertEqual(result.tasks, 1)
        self.assertIn("the run has no tasks: it is replayed as one", result.notes)
        done = subprocess.run([sys.executable, "-m", "tracer", "whatif", path, "--cpus", "1,8", "--json"], capture_output=True, text=True)
        self.assertEqual([row["cpus"] for row in json.loads(done.stdout)["rows"]], [1, 8], done.stderr)

    def test_scripts_that_speak_for_nothing(self) -> None:
        (self.folder / "qc.sh").write_text("true | cat\n")
        (self.folder / "all.sh").write_text("bash qc.sh; sleep 0.5\n")
        self.assertIn("the run has no tasks: it is replayed as one", what_if(self.record("bash", "all.sh"), cpus=[1]).notes)
        (self.folder / "qc.sh").write_text("sleep 0.5\n")
        self.assertEqual(what_if(self.record("bash", "all.sh"), cpus=[1]).notes, [])

    def test_runs_and_wrong_facts(self) -> None:
        (self.folder / "Makefile").write_text(MAKEFILE)
        path = self.record("make", "-s", "-j2")
        with self.assertRaises(WhatIfError) as caught:
            what_if(path, run="nothing")
        self.assertIn("make (", str(caught.exception))
        self.assertEqual(what_if(path, run="make", cpus=[1]).tasks, 5)
        self.assertEqual(what_if(path, cpus=[1], recorded_cpus=1).recorded_cpus_basis, "as given")


CUT = Path(TRACERD).parent / "tests/cli/cut_recording"


def rounded(value: object) -> object:
    """Sums of fractions depend on their order, in the last digits."""
    if isinstance(value, float):
        return round(value, 9)
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    return [rounded(each) for each in value] if isinstance(value, list) else value


@unittest.skipIf(duckdb is None, "needs duckdb")
class CutRecordings(TempDir):
    """A recording that was cut into files is replayed and tuned as the whole."""

    def test_replays_and_sizes(self) -> None:
        replayed = 0
        for name, seconds in (("launcher-make", 0.2), ("nextflow-25", 1), ("nextflow-24", 1)):
            whole = RECORDINGS / f"{name}.tracer"
            place = self.folder / name
            place.mkdir()
            subprocess.run([CUT, whole, place, str(seconds), "living"], check=True, timeout=60)
            parts = sorted(place.iterdir())
            self.assertGreater(len(parts), 1)
            for part in parts:
                part.rename(place / f"host.tracer.{part.name.rpartition('.')[2]}")
            with self.subTest(name=name):
                replays = [what_if(path, cpus=[1, 2, 8]).to_json() for path in (whole, place)]
                self.assertEqual(*replays)
                replayed += replays[0]["tasks"]
                sizes = [tune(paths) for paths in ([whole], [place], sorted(place.iterdir()))]
                for cut in sizes[1:]:
                    self.assertEqual((cut.attempts, rounded(cut.rows)), (sizes[0].attempts, rounded(sizes[0].rows)))
        self.assertGreater(replayed, 10)


if __name__ == "__main__":
    unittest.main()
