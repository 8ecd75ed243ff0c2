# SPDX-License-Identifier: Apache-2.0
"""What to request, from tasks whose needs are known: tracer.tune."""

from __future__ import annotations

import csv
import json
import os
import random
import subprocess
import sys
import unittest
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from support import RECORDINGS, ROOT, TRACERD, TempDir, needs_tracing, run_python

try:
    import duckdb
except ImportError:
    duckdb = None  # type: ignore[assignment]

try:
    import yaml
except ImportError:
    yaml = None

from tracer import BillError, InvalidArgumentError, RecordingError
from tracer.tune import Tune, _memory, tune
from tracer.tune._inputs import line_of
from tracer.tune._memory import Evidence, allocation, failures_of
from tracer.tune._observe import LEDGER
from tracer.tune._steps import _bound

GIB = 1 << 30
MIB = 1 << 20


def task(number: int, peak: float, requested: float = 8, step: str = "ALIGN", **more: Any) -> dict[str, Any]:
    """It takes an hour, and half of a CPU of two. Sizes in GiB."""
    return {"run_id": "r1", "pipeline": "rnaseq", "hash": f"{number:02x}/{abs(hash(step)) % 0xffffff:06x}", "process": step, "tag": f"S{number}",
            "status": "COMPLETED", "exit": 0, "attempt": 1, "start": f"2026-03-01T{number % 24:02}:00:00Z",
            "complete": f"2026-03-01T{number % 24:02}:59:60Z".replace("59:60", "59:59"), "realtime": 3599000, "cpus": 2,
            "memory": round(requested * GIB), "time": 4 * 3600 * 1000, "%cpu": 50.0, "peak_rss": round(peak * GIB)} | more


PEAKS = [1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 2.0]


@unittest.skipIf(duckdb is None, "needs duckdb")
class TuneCase(TempDir):
    def table(self, rows: Sequence[dict[str, Any]], name: str = "tasks.csv") -> str:
        names = list(dict.fromkeys(key for row in rows for key in row))
        path = self.folder / name
        with open(path, "w", newline="") as file:
            writer = csv.DictWriter(file, names, lineterminator="\n", delimiter="\t" if name.endswith(".tsv") else ",")
            writer.writeheader()
            writer.writerows(rows)
        return str(path)

    def tune(self, rows: Sequence[dict[str, Any]], **options: Any) -> Tune:
        # What the machine has imported is not meant.
        before = os.environ.get("XDG_DATA_HOME")
        os.environ["XDG_DATA_HOME"] = str(self.folder / "data")
        try:
            return tune([self.table(rows)], **options)
        finally:
            os.environ.pop("XDG_DATA_HOME")
            if before is not None:
                os.environ["XDG_DATA_HOME"] = before

    def row(self, result: Tune, step: str = "ALIGN") -> dict[str, Any]:
        return next(row for row in result.rows if row["step"] == step)

    def tracer(self, *words: str, status: int = 0) -> subprocess.CompletedProcess[str]:
        result = subprocess.run([sys.executable, "-m", "tracer", *words], capture_output=True, text=True, timeout=120,
                                env=os.environ | {"XDG_DATA_HOME": str(self.folder / "data")})
        self.assertEqual(result.returncode, status, result.stderr)
        return result


class Rule(unittest.TestCase):
    def test_margin_shrinks_with_evidence(self) -> None:
        chance = random.Random(3)
        margins = [allocation(Evidence.of(peaks), 1e12) / max(peaks) for peaks in
                   ([chance.uniform(1e9, 1.2e9) for _ in range(n)] for n in (5, 10, 100))]
        self.assertEqual(margins, sorted(margins, reverse=True))
        self.assertAlmostEqual(margins[-1], 1.03)

    def test_memory_that_ran_out_never_lowers(self) -> None:
        chance = random.Random(4)
        for _ in range(500):
            peaks = [chance.lognormvariate(22, 0.5) for _ in range(chance.randrange(1, 40))]
            requested = chance.choice([None, chance.lognormvariate(23, 1)])
            limit = chance.lognormvariate(22, 1)
            without = allocation(Evidence.of(peaks), requested)
            after = allocation(Evidence.of(peaks, _memory.OOM_FACTOR * limit), requested)
            self.assertGreaterEqual(after, without)
            if len(peaks) >= _memory.ENOUGH:
                self.assertGreaterEqual(after, _memory.OOM_FACTOR * limit)

    def test_a_rate_buys_what_it_promises(self) -> None:
        """A lower one asks for no less; one that so many tasks can't support is that of the largest."""
        chance = random.Random(5)
        for _ in range(200):
            count = chance.randrange(5, 60)
            peaks = [chance.lognormvariate(22, 0.3) for _ in range(count)]
            sizes = [allocation(Evidence.of(peaks), None, rate) for rate in (0.5, 0.2, 0.05, 0.01, None)]
            self.assertEqual(sizes, sorted(sizes))
            for size, rate in zip(sizes, (0.5, 0.2, 0.05, 0.01)):
                self.assertLessEqual(failures_of(Evidence.of(peaks), size), max(rate, 1 / (count + 1)))

    def test_rate_that_is_promised(self) -> None:
        """Peaks of three shapes whose truth is known by drawing more, for a file that is used as it is."""
        chance = random.Random(6)
        for draw in (lambda: chance.lognormvariate(22, 0.1), lambda: chance.uniform(2e9, 3e9), lambda: 2e9 * chance.paretovariate(2)):
            for count in (5, 20, 60):
                for rate in (None, 0.05, 0.3):
                    promised = happened = 0.0
                    for _ in range(400):
                        evidence = Evidence.of([draw() for _ in range(count)])
                        size = allocation(evidence, 1e12, rate)
                        promised += failures_of(evidence, size)
                        happened += sum(draw() > size for _ in range(50)) / 50
                    self.assertLess(happened, 1.1 * promised, (count, rate))

    def test_files_of_real_runs(self) -> None:
        """Learned from the first tasks of a step, and used as it is for those that came later, as an engine does."""
        kinds: defaultdict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
        with open(ROOT / "tests/data/tune/batch_tasks.csv") as file:
            for row in csv.DictReader(line for line in file if not line.startswith("#")):
                kinds[row["run_id"], row["process"]].append((float(row["memory"]), float(row["peak_rss"])))
        for first, least in ((5, 20), (10, 5)):
            expected = failed = 0.0
            for tasks in kinds.values():
                evidence = Evidence.of([peak for _, peak in tasks[:first]])
                size = allocation(evidence, tasks[0][0])
                expected += failures_of(evidence, size) * len(tasks[first:])
                failed += sum(peak > size for _, peak in tasks[first:])
            self.assertGreater(failed, least)
            self.assertLess(failed, expected)


class Inputs(unittest.TestCase):
    def test_a_line_where_memory_follows_input(self) -> None:
        chance = random.Random(8)
        sizes = [chance.uniform(1e8, 2e10) for _ in range(60)]
        line = line_of([(size, 1e9 + 0.5 * size * chance.uniform(0.97, 1.03), 60, 6e10) for size in sizes])
        self.assertAlmostEqual(line.slope, 0.5, delta=0.1)
        self.assertLess(line.wasted, 0.5 * line.wasted_by_constant)
        self.assertLessEqual(line.failed, 2)

    def test_a_constant_where_it_does_not(self) -> None:
        chance = random.Random(9)
        self.assertIsNone(line_of([(chance.uniform(1e8, 2e10), chance.uniform(4e9, 5e9), 60, 6e10) for _ in range(60)]))
        self.assertIsNone(line_of([(1e9, 4e9, 60, 6e10)] * 60))
        self.assertIsNone(line_of([(1e9 * n, 1e9 * n, 60, 6e10) for n in range(1, 6)]))

    def test_tasks_that_took_no_time(self) -> None:
        self.assertIsNone(line_of([(1e9 * n, 1e9 * n, 0, 6e10) for n in range(1, 40)]))


class Tables(TuneCase):
    def test_known_figures(self) -> None:
        row = self.row(self.tune([task(n, peak) for n, peak in enumerate(PEAKS)]))
        self.assertEqual((row["pipeline"], row["tasks"], row["attempts"]), ("rnaseq", 10, 10))
        self.assertEqual((row["memory_requested_bytes"], row["memory_peak_bytes"], row["memory_median_bytes"]),
                         (8 * GIB, 2 * GIB, round(1.4 * GIB)))
        hours = 10 * 3599 / 3600
        self.assertAlmostEqual(row["memory_gib_hours_requested"], 8 * hours, places=4)
        self.assertAlmostEqual(row["memory_gib_hours_used"], sum(PEAKS) * 3599 / 3600, places=4)
        self.assertAlmostEqual(row["cpu_hours_requested"], 2 * hours, places=4)
        self.assertAlmostEqual(row["cpu_hours_used"], 0.5 * hours, places=4)
        self.assertEqual(row["memory_rule"], "constant")
        self.assertTrue(2.06 * GIB <= row["advised_memory_bytes"] <= 2.5 * GIB, row["advised_memory_bytes"])
        self.assertEqual(row["advised_memory_bytes"] % (100 * MIB), 0)
        self.assertAlmostEqual(row["failure_rate"], 1 / 11)
        self.assertAlmostEqual(row["memory_gib_hours_saved"], (8 - row["advised_memory_bytes"] / GIB) * hours, places=4)
        # Averages say nothing of what it wants at once.
        self.assertIsNone(row["advised_cpus"])
        self.assertEqual((row["time_most_s"], row["advised_time_s"]), (3599, 3 * 3600))

    def test_too_few_keep_their_request(self) -> None:
        row = self.row(self.tune([task(n, peak) for n, peak in enumerate(PEAKS[:4])]))
        self.assertEqual((row["memory_rule"], row["advised_memory_bytes"], row["advised_cpus"], row["advised_time_s"]),
                         ("keep", None, None, None))
        self.assertIn("n = 4", " ".join(row["reasons"]))
        self.assertEqual(row["memory_gib_hours_saved"], 0)

    def test_out_of_memory(self) -> None:
        """Its peak is no value, its limit is a bound. What failed or was aborted held so much at least; what is cached is neither."""
        usual = [task(n, peak) for n, peak in enumerate(PEAKS)]
        before = self.row(self.tune(usual))
        for killed in (task(20, 1.5, 3, status="OUT_OF_MEMORY", exit=137), task(20, 2.9, 3, status="FAILED", exit=137)):
            row = self.row(self.tune([*usual, killed]))
            self.assertEqual((row["tasks"], row["out_of_memory"]), (10, 1))
            self.assertGreaterEqual(row["advised_memory_bytes"], 1.2 * 3 * GIB)
        for other in (task(20, 7.5, 8, status="FAILED", exit=1), task(20, 7.9, 8, status="CACHED"),
                      task(20, 7.5, 8, status="ABORTED", exit="")):
            row = self.row(self.tune([*usual, other]))
            self.assertEqual((row["tasks"], row["out_of_memory"]), (10, 0))
            if other["status"] == "CACHED":
                self.assertEqual(row["advised_memory_bytes"], before["advised_memory_bytes"])
            else:
                self.assertGreaterEqual(row["advised_memory_bytes"] or row["memory_requested_bytes"], 7.5 * GIB)
                self.assertIn("≥ 7.5 GiB", self.tune([*usual, other]).text())
            self.assertEqual((row["cached"], row["failed"]), (1, 0) if other["status"] == "CACHED" else (0, 1))

    def test_never_below_a_size_that_has_lost_tasks(self) -> None:
        """Killed with a peak that nobody knows or that was polled; out of memory inside of the program itself."""
        usual = [task(n, 3) for n in range(20)]
        self.assertLess(self.row(self.tune(usual))["advised_memory_bytes"], 4 * GIB)
        at_limit = "4 attempts failed at the limit of memory: the request is kept"
        killed = "4 attempts were killed, peak not known: the request is kept"
        for name, needed, why, lost in (
                ("no peak", None, killed, {"exit": 137, "peak_rss": "-"}), ("polled peak", 5 * GIB, killed, {"exit": 137, "peak_rss": 5 * GIB}),
                ("by itself", 8 * GIB, at_limit, {"exit": 1, "peak_rss": round(7.9 * GIB)}),
                ("no end", 8 * GIB, at_limit, {"exit": "", "status": "ABORTED", "peak_rss": round(7.9 * GIB)})):
            with self.subTest(name):
                result = self.tune([*usual, *(task(30 + n, 0, 8, **{"status": "FAILED"} | lost) for n in range(4))])
                row = self.row(result)
                self.assertEqual((row["memory_rule"], row["advised_memory_bytes"], row["failed"]), ("keep", None, 4))
                self.assertEqual(row["memory_needed_at_least_bytes"], needed)
                self.assertIn(why, row["reasons"])
                self.assertGreaterEqual(row["failure_rate"], 4 / 24)
                for engine in ("nextflow", "sbatch"):
                    self.assertNotRegex(result.emit(engine), r"(?m)^ *(memory = |#SBATCH --mem)")
        # Of neither peak nor limit.
        row = self.row(self.tune([*usual, task(30, 0, 0, status="FAILED", exit=137)]))
        self.assertEqual((row["memory_rule"], row["advised_memory_bytes"]), ("keep", None))
        self.assertIn("neither peak nor limit", " ".join(row["reasons"]))

    def test_attempts_that_failed_may_need_more(self) -> None:
        """Eight failed holding 8 GiB, and nobody knows what they need; one that held little is no such."""
        rows = [*(task(n, 1, 16) for n in range(8)), *(task(20 + n, 8, 16, status="FAILED", exit=1) for n in range(8))]
        result = self.tune(rows)
        row = self.row(result)
        self.assertGreater(row["advised_memory_bytes"], 8 * GIB)
        self.assertAlmostEqual(row["failure_rate"], 9 / 17)
        self.assertIn("at most 52.9 of 100 first attempts need more", result.emit("nextflow"))
        self.assertIn("8 tasks can't support a failure rate of 5.00%", " ".join(self.row(self.tune(rows, failures=0.05))["reasons"]))
        many = self.tune([*(task(n, 1, 16) for n in range(20)), *rows[8:]], failures=0.05)
        self.assertIn("attempts that failed may need more: expect 31.03%", self.row(many)["reasons"])
        little = self.tune([*(task(n, 8, 16) for n in range(8)), *(task(20 + n, 1, 16, status="FAILED", exit=1) for n in range(8))])
        self.assertAlmostEqual(self.row(little)["failure_rate"], 1 / 9)

    def test_killed_far_below_its_limit(self) -> None:
        result = self.tune([*(task(n, 1, 16) for n in range(15)), task(20, 1, 16, status="FAILED", exit=137)])
        row = self.row(result)
        self.assertEqual((row["advised_memory_bytes"], row["memory_needed_at_least_bytes"]), (None, None))
        self.assertIn("1 attempt was killed, peak not known: the request is kept", row["reasons"])
        self.assertNotIn("needs", result.why("ALIGN"))
        self.assertNotIn("≥", result.text())
        # It had twice of what the others have.
        row = self.row(self.tune([*(task(n, 1, 8) for n in range(15)), task(20, 1, 16, status="FAILED", exit=137)]))
        self.assertIn("an attempt with 16.0 GiB was killed, peak not known", row["reasons"])

    def test_a_life_of_0_is_not_known(self) -> None:
        at = {"start": "2026-03-01T10:00:00Z", "complete": "2026-03-01T10:00:00Z", "time": 3600 * 1000}
        result = self.tune([task(n, 1, realtime=0, **at) for n in range(10)])
        self.assertEqual((self.row(result)["advised_time_s"], self.row(result)["time_most_s"]), (None, None))
        self.assertNotIn("time =", result.emit("nextflow"))
        # Times of whole seconds, and a command that says more.
        self.assertEqual(self.row(self.tune([task(n, 1, realtime=300, **at) for n in range(10)]))["time_most_s"], 0.3)

    def test_requests_of_different_sizes(self) -> None:
        """8 small tasks and 4 large ones: one size for all would take more than they reserve now."""
        mixed = [*(task(n, 3, 4, cpus=2) for n in range(8)), *(task(20 + n, 50, 64, cpus=16) for n in range(4))]
        result = self.tune(mixed)
        row = self.row(result)
        self.assertEqual((row["memory_rule"], row["advised_memory_bytes"], row["failure_rate"]), ("keep", None, None))
        self.assertIn("different amounts of memory", " ".join(row["reasons"]))
        self.assertEqual(row["memory_gib_hours_saved"], 0)
        self.assertNotIn("memory =", result.emit("nextflow"))
        self.assertNotIn("too few tasks", result.text())
        # What is less than each of them is right for all.
        row = self.row(self.tune([task(n, 2, 8 if n % 2 else 64) for n in range(20)]))
        self.assertLess(row["advised_memory_bytes"], 3 * GIB)
        # From run to run they may differ: the advice of the last one was taken.
        row = self.row(self.tune([task(n, 3, 8 if n < 10 else 64, run_id="r1" if n < 10 else "r2") for n in range(20)]))
        self.assertLess(row["advised_memory_bytes"], 4 * GIB)
        # Nor is one raised for all.
        row = self.row(self.tune([*mixed, task(40, 64, 64, status="OUT_OF_MEMORY", exit=137)]))
        self.assertEqual((row["memory_rule"], row["advised_memory_bytes"]), ("keep", None))

    def test_no_line_by_input_where_a_task_was_lost(self) -> None:
        rows = [task(n, 0.5 + 0.25 * n, 40, input_bytes=n * GIB) for n in range(1, 21)]
        self.assertEqual(self.row(self.tune(rows))["memory_rule"], "input")
        row = self.row(self.tune([*rows, task(30, 20, 20, input_bytes=GIB, status="OUT_OF_MEMORY", exit=137)]))
        self.assertEqual((row["memory_rule"], row["memory_per_input"]), ("constant", None))

    def test_out_of_memory_with_few_tasks(self) -> None:
        row = self.row(self.tune([task(1, 1.0, 2), task(2, 2.0, 2, status="FAILED", exit=137)]))
        self.assertGreaterEqual(row["advised_memory_bytes"], 2.4 * GIB)

    def test_bound_by_is_that_of_the_report(self) -> None:
        """docs/findings.md, Bound by: what is unclear of the computing time may be any wait."""
        def bound(**seconds: float) -> tuple[str | None, float | None]:
            name, share = _bound({f"{cause}_ns": seconds.get(cause) for cause in LEDGER})
            return name, None if share is None else round(share, 6)

        self.assertEqual(bound(wall=100, computing=40, computing_at_most=70, disk=55), ("mixed", None))
        self.assertEqual(bound(wall=100, computing=10, computing_at_most=30, disk=85), ("disk", 0.65))
        self.assertEqual(bound(wall=100, computing=40, computing_at_most=44, disk=55), ("disk", 0.55))
        self.assertEqual(bound(wall=100, computing=55, computing_at_most=90, disk=30), ("compute", 0.55))
        self.assertEqual(bound(wall=100, computing=20, computing_at_most=20, other=60), ("mixed", None))
        self.assertEqual(bound(), (None, None))

    def test_right_as_it_is(self) -> None:
        row = self.row(self.tune([task(n, 1.95 + n / 1000, 2.05) for n in range(20)]))
        self.assertEqual((row["memory_rule"], row["advised_memory_bytes"]), ("keep", None))

    def test_a_rate(self) -> None:
        rows = [task(n, peak) for n, peak in enumerate(PEAKS)]
        usual, rare = self.row(self.tune(rows)), self.row(self.tune(rows, failures=0.2))
        self.assertLess(rare["advised_memory_bytes"], usual["advised_memory_bytes"])
        self.assertTrue(1.8 * GIB <= rare["advised_memory_bytes"] < 2 * GIB, rare["advised_memory_bytes"])
        self.assertAlmostEqual(rare["failure_rate"], 2 / 11)
        careful = self.row(self.tune(rows, failures=0.01))
        self.assertEqual(careful["advised_memory_bytes"], usual["advised_memory_bytes"])
        self.assertIn("10 tasks can't support a failure rate of 1.00%, which takes 99: expect 9.09%", careful["reasons"])

    def test_a_low_rate_is_none_of_other_inputs(self) -> None:
        """However many runs it rests on."""
        for count, is_said in ((10, False), (20, True)):
            result = self.tune([task(n, 2, run_id=f"r{n % 2}") for n in range(count)])
            self.assertEqual(self.row(result)["runs"], 2)
            for text in (result.why("ALIGN"), result.emit("nextflow")):
                self.assertEqual("up to 8 with other inputs" in text, is_said, text)
            self.assertIn("with other inputs, 8 of 100 did", result.text())

    def test_by_the_size_of_input(self) -> None:
        rows = [task(n, 0.5 + 0.25 * n, 40, input_bytes=n * GIB) for n in range(1, 21)]
        result = self.tune(rows)
        row = self.row(result)
        self.assertEqual(row["memory_rule"], "input")
        self.assertAlmostEqual(row["memory_per_input"]["per_input_byte"], 0.25, delta=0.05)
        # What is said is that of what is emitted: only Snakemake's file has the line.
        requested, hours = row["memory_gib_hours_requested"], 20 * 3599 / 3600
        constant = requested - row["advised_memory_bytes"] / GIB * hours
        self.assertAlmostEqual(row["memory_gib_hours_saved"], constant, places=6)
        line = row["memory_per_input"]
        self.assertAlmostEqual(line["memory_gib_hours_saved"], requested - sum(max(
            line["constant_bytes"] + line["per_input_byte"] * n * GIB, 5e8) for n in range(1, 21)) / GIB * 3599 / 3600, places=6)
        self.assertGreater(line["memory_gib_hours_saved"], constant)
        snakemake = self.tune([each | {"process": "align"} for each in rows]).emit("snakemake")
        self.assertIn("input.size_mb", snakemake)
        for text, saved, rate in ((result.emit("nextflow"), constant, row["failure_rate"]), (result.emit("sbatch"), constant, row["failure_rate"]),
                                  (snakemake, line["memory_gib_hours_saved"], line["failure_rate"])):
            self.assertIn(f"saves {saved:.2f} of {requested:.2f} GiB hours, risk: at most {100 * rate:.1f} of 100", text)
        # Judged by tasks that were held back, of which none failed.
        self.assertAlmostEqual(line["failure_rate"], 1 / (line["judged_tasks"] + 1))

    def test_a_trace_of_nextflow_as_it_is(self) -> None:
        """Its words for sizes and times, tabs, and a name with the tag."""
        names = ("task_id", "hash", "name", "status", "exit", "submit", "duration", "realtime", "%cpu", "peak_rss", "cpus", "memory", "time",
                 "start", "complete")
        rows = [dict(zip(names, (n, f"{n:02x}/abcdef", f"RNA:ALIGN (S{n})", "COMPLETED", 0, "2026-03-01 10:00:00.000", "1h 1m", "59m 59s", "50.0%",
                                 "1.5 GB", 2, "8 GB", "4h", "2026-03-01 10:00:00.000", "2026-03-01 10:59:59.000"))) for n in range(6)]
        result = tune([self.table(rows, "trace.tsv")])
        row = self.row(result, "RNA:ALIGN")
        self.assertEqual((row["tasks"], row["memory_requested_bytes"], row["memory_peak_bytes"], row["time_requested_s"], row["time_most_s"]),
                         (6, 8 * GIB, 3 * GIB // 2, 4 * 3600, 3599))
        self.assertAlmostEqual(row["cpus_used"], 0.5)

    def test_pipelines_and_tools_are_apart(self) -> None:
        rows = [task(n, peak, pipeline=name, tool=name) for n, peak in enumerate(PEAKS) for name in ("a", "b")]
        self.assertEqual(sorted((row["pipeline"], row["step"]) for row in self.tune(rows).rows), [("a", "ALIGN"), ("b", "ALIGN")])
        self.assertEqual(sorted(row["step"] for row in self.tune(rows, by="tool").rows), ["a", "b"])

    def test_money(self) -> None:
        """A machine of 4 CPUs and 16 GiB for 1.04 USD: 2 CPUs and 8 GiB hold half of it; 26 weigh what an hour costs 0.52."""
        machine = {"machineType": "m6i.xlarge", "cloudZone": "eu-west-1a", "complete": "", "start": ""}
        rows = [task(n, 2.0, **machine) | {"start": "2026-03-01T10:00:00Z", "complete": "2026-03-01T11:00:00Z", "realtime": 3600000}
                for n in range(10)]
        prices = self.table([{"cloud": "aws", "region": "eu-west-1", "instance_type": "m6i.xlarge", "vcpus": "4", "memory_gib": "16",
                              "on_demand_usd_h": "1.04", "spot_usd_h": "0.52", "price_basis": "listed"}], "prices.csv")
        row = self.row(self.tune(rows, prices=prices))
        self.assertAlmostEqual(float(row["money"]), 5.2)
        self.assertAlmostEqual(float(row["money_wasted"]), 5.2 * (1 - (9 * 0.5 + 2) / 26), places=5)
        self.assertAlmostEqual(float(row["money_saved"]), 5.2 * (8 - row["advised_memory_bytes"] / GIB) / 26, places=5)
        self.assertIn("estimate", self.tune(rows, prices=prices).text())

    def test_a_history_knows_longer_tasks(self) -> None:
        kinds = [{"pipeline": "rnaseq", "step": "ALIGN", "wall_ns": {"n": 9, "median": 1, "p90": 1, "most": 7200 * 10**9}}]
        (self.folder / "history.json").write_text(json.dumps({"kinds": kinds}))
        rows = [task(n, peak, time=100 * 3600 * 1000) for n, peak in enumerate(PEAKS)]
        self.assertEqual(self.row(self.tune(rows))["advised_time_s"], 3 * 3600)
        self.assertEqual(self.row(self.tune(rows, history=self.folder / "history.json"))["advised_time_s"], 6 * 3600)

    def test_time_that_was_up_is_a_lower_bound(self) -> None:
        usual = [task(n, 3, time=4 * 3600 * 1000, start="2026-03-01T10:00:00Z", complete="2026-03-01T10:10:00Z") for n in range(10)]
        self.assertEqual(self.row(self.tune(usual))["advised_time_s"], 30 * 60)
        late = {"start": "2026-03-01T10:00:00Z", "complete": "2026-03-01T13:59:00Z"}
        for name, lost in (("status", {"status": "TIMEOUT", "exit": ""}), ("exit status", {"exit": 140}), ("no start", {"exit": 140, "start": "", "realtime": ""}),
                           ("at its end", {"exit": 143})):
            with self.subTest(name):
                result = self.tune([*usual, *(task(20 + n, 3, **{"status": "FAILED"} | late | lost) for n in range(3))])
                row = self.row(result)
                self.assertIsNone(row["advised_time_s"])
                self.assertIn("3 attempts ended when time was up", " ".join(row["reasons"]))
                self.assertNotIn("#SBATCH --time", result.emit("sbatch"))
        # What fails early by itself says nothing of time.
        self.assertEqual(self.row(self.tune([*usual, task(20, 3, status="FAILED", exit=1)]))["advised_time_s"], 30 * 60)

    def test_the_same_attempts_twice(self) -> None:
        rows = [task(n, peak) for n, peak in enumerate(PEAKS)]
        first = self.table(rows)
        with self.assertRaises(BillError) as caught:
            tune([first, first])
        self.assertEqual(caught.exception.code, "TRC131")
        result = tune([first, self.table(rows, "copy.csv")])
        self.assertEqual((result.attempts, self.row(result)["tasks"]), (10, 10))
        self.assertIn("10 attempts are in several files", " ".join(result.notes))
        # Whichever is named first, a resumed run's trace hides none.
        resumed = self.table([each | {"status": "CACHED"} for each in rows], "resumed.csv")
        self.assertEqual(self.row(tune([resumed, first]))["tasks"], 10)

    def test_values_that_are_none(self) -> None:
        """Of a request of 0 and a peak of 0, nothing is known; what is no number is counted."""
        usual = [task(n, peak) for n, peak in enumerate(PEAKS)]
        odd = [task(20, 0, 0), task(21, 1, memory="much", cpus="-2", realtime="1e400", peak_rss="inf")]
        result = self.tune(usual + odd)
        self.assertEqual(self.row(result)["advised_memory_bytes"], self.row(self.tune(usual))["advised_memory_bytes"])
        self.assertIn("4 values are no number", " ".join(result.notes))

    def test_no_task(self) -> None:
        (self.folder / "empty.csv").write_text("hash,process\n")
        result = tune([self.folder / "empty.csv"])
        self.assertEqual((result.rows, result.attempts), ([], 0))
        self.assertIn("no task is in these files", result.text())
        for engine in ("nextflow", "snakemake", "sbatch"):
            result.emit(engine)

    def test_refused(self) -> None:
        for options in ({"by": "moon"}, {"failures": 0}, {"failures": 0.9}):
            with self.assertRaises(InvalidArgumentError):
                self.tune([task(1, 1)], **options)
        with self.assertRaises(InvalidArgumentError):
            tune([])
        with self.assertRaises(BillError) as caught:
            self.tune([{"a": 1}])
        self.assertEqual(caught.exception.code, "TRC130")
        with self.assertRaises(RecordingError):
            tune([self.folder / "none.csv"])
        (self.folder / "history.json").write_text("{]")
        with self.assertRaises(BillError):
            self.tune([task(1, 1)], history=self.folder / "history.json")


ODD = ("it's", 'quote"d', "back\\slash", "line\nbreak", "a: b", "#!x", "${x}", "*/", "né", "\u202eright")


class Saved(TuneCase):
    """Recordings that were kept."""

    def test_a_job_of_slurm_that_is_a_task_of_nextflow_counts_once(self) -> None:
        result = tune([RECORDINGS / "nextflow-slurm.tracer"])
        self.assertEqual({row["step"]: row["attempts"] for row in result.rows},
                         {"QC:ALIGN": 4, "QC:FLAKY": 5, "QC:ODD": 3, "COUNT": 4, "MERGE": 1})
        # Without an engine in it, each job counts.
        self.assertEqual(tune([RECORDINGS / "slurm.tracer"]).attempts, 6)

    def test_what_a_step_mostly_did(self) -> None:
        result = tune([RECORDINGS / "nextflow-24.tracer"])
        self.assertIn("waited for a CPU: ", result.text())
        self.assertRegex(result.why("COUNT"), r"mostly         waited for a CPU: \d+ %")
        self.assertEqual({row["bound_by"] for row in result.rows}, {"oversubscribed"})

    def test_a_trace_without_requests(self) -> None:
        trace = self.table([{"task_id": 1, "hash": "7a/4136ef", "name": "QC:ALIGN (S1)", "status": "COMPLETED", "%cpu": "10.0%", "peak_rss": "38 MB"}], "trace.txt")
        result = tune([RECORDINGS / "nextflow-24.tracer", trace])
        self.assertIn(f"{trace} has no cpus, memory, time: set trace.fields (docs/tune.md)", result.notes)
        self.assertNotIn("took what was requested", " ".join(result.notes))
        self.assertIn("5 steps have fewer than 5 tasks: too few to advise on", result.text())
        self.assertIn("not enough evidence (n = 4)", self.row(result, "COUNT")["reasons"])


class Emitted(TuneCase):
    def emitted(self, engine: str, *steps: str) -> str:
        return self.tune([task(n, peak, step=step) for n, peak in enumerate(PEAKS) for step in steps]).emit(engine)

    def test_nextflow(self) -> None:
        text = self.emitted("nextflow", "RNA:ALIGN")
        self.assertIn("withName: 'RNA:ALIGN'", text)
        self.assertRegex(text, r"memory = \{ \d+\.MB \* task\.attempt \}  // was 8\.0 GiB, peak 2\.0 GiB of 10 tasks, saves .* risk: ")
        # What the pipeline does with errors stays.
        self.assertNotRegex(text, r"(?m)^\s*(errorStrategy|maxRetries)")
        self.assertIn("--retry", text)
        result = self.tune([task(n, peak, step="RNA:ALIGN") for n, peak in enumerate(PEAKS)])
        self.assertRegex(result.emit("nextflow", retry=True), r"(?m)^    errorStrategy = .*\n    maxRetries = 2$")
        with self.assertRaises(InvalidArgumentError):
            result.emit("sbatch", retry=True)
        self.assertRegex(text, r"time = \{ 180\.min \* task\.attempt \}  // was 240 min")
        # Who retries already keeps what they have.
        rows = [task(n, peak, step="RNA:ALIGN") for n, peak in enumerate(PEAKS)] + [task(30, 1.0, step="RNA:ALIGN", attempt=2)]
        self.assertNotIn("errorStrategy", self.tune(rows).emit("nextflow"))

    def test_odd_names_are_comments(self) -> None:
        for engine, mark in (("nextflow", "//"), ("snakemake", "#"), ("sbatch", "#")):
            for line in self.emitted(engine, *ODD, "GOOD").splitlines():
                if any(part in line for part in ("it's", "quote", "slash", "break", "a: b", "#!x", "${x}", "right")):
                    self.assertTrue(line.lstrip().startswith(mark), line)
                    self.assertFalse(line.startswith("#SBATCH"), line)

    @unittest.skipIf(yaml is None, "needs yaml")
    def test_snakemake(self) -> None:
        profile = yaml.safe_load(self.emitted("snakemake", "align", *ODD))
        self.assertEqual(set(profile), {"restart-times", "set-resources"})
        self.assertEqual(set(profile["set-resources"]), {"align", "né"})
        value = profile["set-resources"]["align"]["mem_mb"]
        self.assertGreaterEqual(eval(value, {"attempt": 1}) * 10**6, 2.06 * GIB)
        self.assertEqual(eval(value, {"attempt": 2}), 2 * eval(value, {"attempt": 1}))
        self.assertEqual(profile["set-resources"]["align"]["runtime"], "180 * attempt")

    def test_few_tasks_are_left_out(self) -> None:
        rows = [task(n, peak) for n, peak in enumerate(PEAKS[:3])]
        for engine, word in (("nextflow", "withName"), ("snakemake", "set-resources"), ("sbatch", "#SBATCH")):
            text = self.tune(rows).emit(engine)
            self.assertNotIn(word, text)
            self.assertIn("n = 3", text)

    def test_sbatch(self) -> None:
        text = self.emitted("sbatch", "align")
        self.assertRegex(text, r"(?m)^#SBATCH --mem=\d+M$")
        self.assertRegex(text, r"(?m)^#SBATCH --time=03:00:00$")
        # Also where none is known.
        unknown = self.tune([task(n, peak, time="") for n, peak in enumerate(PEAKS)])
        self.assertIsNotNone(self.row(unknown)["advised_time_s"])
        self.assertIn("request not known, took 60 min at most", unknown.emit("sbatch"))
        self.assertIn("#SBATCH --mem", unknown.emit("sbatch"))

    def test_no_such_engine(self) -> None:
        result = self.tune([task(1, 1)])
        with self.assertRaises(InvalidArgumentError):
            result.emit("moon")
        with self.assertRaises(InvalidArgumentError):
            self.tune([task(1, 1)], by="tool").emit("nextflow")


class Commands(TuneCase):
    def test_table_json_csv_why(self) -> None:
        path = self.table([task(n, peak) for n, peak in enumerate(PEAKS)] + [task(1, 1, step="RARE")])
        shown = self.tracer("tune", path).stdout
        for word in ("8.0 GiB → 2.0 GiB", "keep: n = 1", "1 step has fewer than 5 tasks", "GiB hours reserved"):
            self.assertIn(word, shown)
        content = json.loads(self.tracer("tune", "--tasks", path, "--json").stdout)
        self.assertEqual((content["attempts"], content["failures"], {row["step"] for row in content["rows"]}), (11, None, {"ALIGN", "RARE"}))
        self.assertAlmostEqual(content["waste"]["memory_gib_hours_requested"], 88 * 3599 / 3600, places=3)
        lines = list(csv.DictReader(self.tracer("tune", path, "--csv").stdout.splitlines()))
        self.assertEqual({line["step"] for line in lines}, {"ALIGN", "RARE"})
        why = self.tracer("tune", path, "--why", "ALIGN").stdout
        for word in ("S9", "used 1.4 GiB in the median, 2.0 GiB at most", "n = 10"):
            self.assertIn(word, why)
        self.assertIn("withName", self.tracer("tune", path, "--emit", "nextflow").stdout)
        self.assertIn("maxRetries = 2\n", self.tracer("tune", path, "--emit", "nextflow", "--retry").stdout)
        self.tracer("tune", path, "--retry", status=2)

    def test_errors(self) -> None:
        path = self.table([task(1, 1)])
        self.assertIn("ALIGN", self.tracer("tune", path, "--why", "MOON", status=2).stderr)
        self.assertIn("TRC101", self.tracer("tune", status=2).stderr)
        self.assertIn("TRC101", self.tracer("tune", path, "--failures", "2", status=2).stderr)
        self.assertIn("TRC110", self.tracer("tune", str(self.folder / "none.csv"), status=1).stderr)
        self.assertIn("TRC130", self.tracer("tune", self.table([{"a": 1}], "x.csv"), status=1).stderr)

    def test_nothing_heavy_at_import(self) -> None:
        self.assertEqual(run_python("import sys, tracer, tracer.tune; print('duckdb' in sys.modules)").stdout.strip(), "False")


_TASKS = """
import os, subprocess, sys
import tracer
WORK = '''
import sys, threading, time
held = b"x" * (int(sys.argv[1]) << 20)
until = time.process_time() + 0.4
while time.process_time() < until: pass
'''
folder = sys.argv[1]
with tracer.session(record=os.path.join(folder, "run.tracer"), sample_interval=0.2) as session:
    for n in range(5):
        for step, processes in (("single", 1), ("double", 2), ("waiting", 0)):
            work = os.path.join(folder, f"{step}{n}")
            os.mkdir(work)
            session.announce(work_dir=work, context={"pipeline": "p", "run": "r", "step": step, "task": f"{step} {n}", "task_id": f"{step}{n}"},
                             requested={"millicpus": 4000, "memory_bytes": 4 << 30, "time_ns": 7200 * 10**9})
            command = " & ".join([f'"{sys.executable}" -c "$1" {200 + 10 * n}'] * processes) + "; wait" if processes else "exec sleep 0.5"
            subprocess.run(["sh", "-c", command, "sh", WORK], cwd=work, check=True)
"""

_OUT_OF_MEMORY = """
import os, subprocess, sys
import tracer
folder, group = sys.argv[1:]
HOLD = "exec " + sys.executable + " -c 'import sys; held = bytearray(b\\"x\\") * (int(sys.argv[1]) << 20)' $1"
with tracer.session(record=os.path.join(folder, "run.tracer")) as session:
    for n in range(6):
        work = os.path.join(folder, f"t{n}")
        os.mkdir(work)
        session.announce(work_dir=work, context={"pipeline": "p", "run": "r", "step": "hold", "task": f"hold {n}", "task_id": f"t{n}"},
                         requested={"memory_bytes": 4 << 30})
        join = 'echo $$ > "$2/cgroup.procs"; ' if n == 5 else ""
        done = subprocess.run(["sh", "-c", join + HOLD, "sh", str(900 if n == 5 else 390 + n), group], cwd=work)
        assert (done.returncode == 0) == (n < 5), done
"""


@needs_tracing
@unittest.skipUnless(os.path.exists(TRACERD), "needs tracerd")
class Recordings(TuneCase):
    """Real tasks whose memory and threads are known."""

    def test_memory_cpus_time(self) -> None:
        done = run_python(_TASKS, str(self.folder), timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        result = tune([self.folder / "run.tracer"])
        self.assertEqual({row["step"] for row in result.rows}, {"single", "double", "waiting"})
        waiting = self.row(result, "waiting")
        self.assertEqual((waiting["bound_by"], waiting["advised_cpus"]), ("idle", 1))
        for step, processes in (("single", 1), ("double", 2)):
            row = self.row(result, step)
            self.assertEqual((row["tasks"], row["cpus_requested"], row["memory_requested_bytes"], row["time_requested_s"]),
                             (5, 4, 4 * GIB, 7200))
            self.assertTrue(processes * 245 * MIB <= row["memory_peak_bytes"] <= processes * 290 * MIB, row["memory_peak_bytes"])
            self.assertEqual(row["advised_cpus"], processes, row["cpus_wanted"])
            self.assertEqual(row["advised_time_s"], 600)
            self.assertIn(row["bound_by"], ("compute", "oversubscribed"))  # on a machine that others use
            self.assertTrue(processes * 245 * MIB <= row["advised_memory_bytes"] <= processes * 290 * MIB + 300 * MIB)

        # An engine's table of the same tasks adds what it knows, and no attempt.
        table = self.table([{"hash": f"{step}{n}", "process": step, "pipeline": "p", "status": "COMPLETED", "cpus": 3}
                            for n in range(5) for step in ("single", "double", "waiting")])
        both = tune([self.folder / "run.tracer", table])
        self.assertEqual((both.attempts, [row["attempts"] for row in both.rows]), (15, [5, 5, 5]))
        self.assertIn("15 tasks of recordings took what was requested", " ".join(both.notes))

    def test_memory_ran_out(self) -> None:
        """Five tasks hold 400 MiB, a sixth is killed by the kernel at 600 MiB."""
        mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
        points = [each[1] for each in mounts if each[2] == "cgroup" and "memory" in each[3].split(",")]
        points += [each[1] for each in mounts if each[2] == "cgroup2"]
        group = Path(points[0], f"tracer-tune-{os.getpid()}") if points else None
        if group is None or not os.access(group.parent, os.W_OK):
            self.skipTest("no cgroup can be made")
        group.mkdir()
        self.addCleanup(group.rmdir)
        limit = next((group / name for name in ("memory.max", "memory.limit_in_bytes") if (group / name).exists()), None)
        if limit is None:
            self.skipTest("no cgroup has a limit of memory")
        limit.write_text(str(600 * MIB))
        for swap in (group / "memory.swap.max", group / "memory.memsw.limit_in_bytes"):
            if swap.exists():
                swap.write_text(str(0 if swap.name == "memory.swap.max" else 600 * MIB))
        done = run_python(_OUT_OF_MEMORY, str(self.folder), str(group), timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        result = tune([self.folder / "run.tracer"])
        row = self.row(result, "hold")
        self.assertEqual((row["tasks"], row["out_of_memory"], row["attempts"]), (5, 1, 6))
        self.assertTrue(390 * MIB <= row["memory_peak_bytes"] <= 420 * MIB, row["memory_peak_bytes"])
        # It held pages of files, too, which are charged to others.
        self.assertTrue(720 * MIB <= row["memory_needed_at_least_bytes"] <= 740 * MIB, row["memory_needed_at_least_bytes"])
        self.assertGreaterEqual(row["advised_memory_bytes"], 720 * MIB)
        self.assertRegex(result.why("hold"), r"needs ≥ 7[23]\d MiB")


if __name__ == "__main__":
    unittest.main()
