# SPDX-License-Identifier: Apache-2.0
"""Costs by bills whose answers are known, and by list prices: tracer.cost, tracer prices."""

from __future__ import annotations

import contextlib
import csv
import datetime
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest import mock

from support import RECORDINGS, TRACERD, TempDir, needs_tracing, run_python, wait_until

try:
    import duckdb
except ImportError:
    duckdb = None  # type: ignore[assignment]

import tracer
from tracer import BillError, InvalidArgumentError, RulesError
from tracer.cost import Costs, _tasks, costs
from tracer.cost._database import connect
from tracer.cost._prices import import_prices
from tracer.cost._shares import amount_of, shares_of, units_of
from tracer.cost._tasks import recordings_in
from tracer.cost._terms import TERMS
from tracer.recommend import recommend
from tracer.tune import tune
from tracer.whatif import what_if

ARN = "arn:aws:ecs:eu-west-1:111122223333:task/cluster/"
ECS = [f"{n:032x}" for n in range(16)]
HOUR = "2026-03-01T{:02}:00:00Z"


def split_line(ecs: str, used: str, unused: str, run: str | None = "r1", task: str = "ab12cd34ffff", **more: str) -> dict[str, str]:
    tags = {} if run is None else {"user_unique_run_id": run, "user_task_hash": task}
    return {"line_item_line_item_type": "Usage", "line_item_product_code": "AmazonECS", "line_item_resource_id": ARN + ecs,
            "line_item_usage_start_date": HOUR.format(10), "line_item_usage_end_date": HOUR.format(11),
            "line_item_unblended_cost": "0.0", "split_line_item_split_cost": used, "split_line_item_unused_cost": unused,
            "line_item_currency_code": "USD", "bill_invoice_id": "INV1", "resource_tags": json.dumps(tags)} | more


def machine_line(cost: str, hour: int = 10, instance: str = "i-0abc", **more: str) -> dict[str, str]:
    return {"line_item_line_item_type": "Usage", "line_item_product_code": "AmazonEC2", "line_item_resource_id": instance,
            "line_item_usage_start_date": HOUR.format(hour), "line_item_usage_end_date": HOUR.format(hour + 1),
            "line_item_usage_type": "EU-BoxUsage:m6i.xlarge", "line_item_usage_amount": "1", "product_vcpu": "4",
            "product_memory": "16 GiB", "line_item_unblended_cost": cost, "line_item_currency_code": "USD",
            "bill_invoice_id": "INV1"} | more


def task(start: str, complete: str, hash: str = "ab/12cd34", run: str = "r1", **more: str) -> dict[str, str]:
    return {"run_id": run, "hash": hash, "process": "ALIGN", "tag": "S1", "pipeline": "rnaseq", "status": "COMPLETED", "cpus": "2",
            "memory": str(8 << 30), "start": f"2026-03-01T{start}Z", "complete": f"2026-03-01T{complete}Z",
            "instance": "i-0abc", "user": "ann"} | more


HOST = {"instance": "i-0abc", "vcpus": "4", "memory_gib": "16", "observed_from": "2026-03-01T10:00:00Z",
        "observed_to": "2026-03-01T12:00:00Z"}


@unittest.skipIf(duckdb is None, "needs duckdb")
class CostCase(TempDir):
    def table(self, name: str, rows: Sequence[dict[str, str]]) -> str:
        names = list(dict.fromkeys(key for row in rows for key in row))
        path = self.folder / name
        with open(path, "w", newline="") as file:
            writer = csv.DictWriter(file, names, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        return str(path)

    def costs(self, bill: Sequence[dict[str, str]], tasks: Sequence[dict[str, str]] = (), hosts: Sequence[dict[str, str]] = (),
              **options: Any) -> Costs:
        result = costs([self.table("bill.csv", bill)], [self.table("tasks.csv", tasks)] if tasks else [],
                       hosts=self.table("hosts.csv", hosts) if hosts else None, **options)
        self.exact(result)
        return result

    def exact(self, result: Costs) -> None:
        """In each row, and for each line of the bill."""
        self.assertEqual(result.lines_off, 0)
        self.assertEqual(Decimal(result.difference), 0)
        for row in result.rows:
            if row["state"] != "estimate":
                self.assertEqual(sum(Decimal(row[term]) for term in TERMS), Decimal(row["billed"]))
        for currency, sums in result.totals.items():
            billed = sum((Decimal(row["billed"]) for row in result.rows
                          if (row["currency"] or "") == currency and row["state"] != "estimate"), Decimal(0))
            self.assertEqual(billed, Decimal(sums[result.basis]))

    def sums(self, result: Costs) -> dict[str, Decimal]:
        found = {term: sum((Decimal(row[term]) for row in result.rows), Decimal(0)) for term in TERMS}
        return {term: value for term, value in found.items() if value}

    def refused(self, code: str, *words: str, **options: Any) -> BillError:
        with self.assertRaises(BillError) as caught:
            costs(**options)
        self.assertEqual(caught.exception.code, code)
        for word in words:
            self.assertIn(word, str(caught.exception))
        return caught.exception


class Shares(unittest.TestCase):
    def test_nothing_is_lost(self) -> None:
        self.assertEqual(shares_of(100, [1, 1, 1]), [34, 33, 33])
        self.assertEqual(shares_of(-100, [1, 1, 1]), [-34, -33, -33])
        self.assertEqual(shares_of(1, [1, 2, 2]), [0, 1, 0])
        for units in (0, 1, 7, 10**30 + 1):
            for weights in ([1], [3, 0, 5], [10**18, 1, 7]):
                parts = shares_of(units, weights)
                self.assertEqual(sum(parts), units)
                for part, weight in zip(parts, weights):
                    self.assertLess(abs(part * sum(weights) - units * weight), sum(weights))

    def test_decimal_strings(self) -> None:
        for text in ("0.000000000000001", "-12.500000000000000", "99999999999999.999999999999999"):
            self.assertEqual(amount_of(units_of(Decimal(text), 15), 15), text)


class Splits(CostCase):
    def test_used_and_unused_of_a_task(self) -> None:
        result = self.costs([split_line(ECS[1], "0.100000000000001", "0.2"), split_line(ECS[1], "0.05", "0.1")],
                            [task("10:05:00", "10:50:00", realtime="1350000")])
        [row] = result.rows
        self.assertEqual((row["run"], row["allocated"], row["idle"], row["billed"]),
                         ("r1", "0.150000000000001", "0.300000000000000", "0.450000000000001"))
        self.assertEqual((row["state"], row["currency"], row["basis"]), ("final", "USD", "billed"))
        # Half of the container's time.
        self.assertEqual(row["staging"], "0.075000000000")

    def test_two_runs_two_users(self) -> None:
        result = self.costs([split_line(ECS[1], "0.1", "0"), split_line(ECS[2], "0.3", "0", run="r2", task="cc00cc00aa")],
                            [task("10:00:00", "10:30:00"), task("10:00:00", "10:30:00", "cc/00cc00", "r2", user="bob")], by=["user"])
        self.assertEqual({row["user"]: Decimal(row["billed"]) for row in result.rows}, {"ann": Decimal("0.1"), "bob": Decimal("0.3")})

    def test_hidden_attempts(self) -> None:
        """The one whose window ends last is the one that the engine saw."""
        lines = [split_line(ECS[1], "0.1", "0"),
                 split_line(ECS[2], "0.2", "0", line_item_usage_start_date=HOUR.format(11), line_item_usage_end_date=HOUR.format(12))]
        result = self.costs(lines, [task("10:05:00", "11:50:00")])
        [row] = result.rows
        self.assertEqual((row["allocated"], row["hidden_attempts"]), ("0.300000000000", "0.100000000000"))
        self.assertEqual((result.hidden_attempts, result.tasks_joined), (1, 1))

    def test_lost_attempt_and_its_retry(self) -> None:
        result = self.costs([split_line(ECS[1], "0.1", "0"), split_line(ECS[2], "0.2", "0", task="ee00ee00")],
                            [task("10:00:00", "10:10:00", status="FAILED", attempt="1"),
                             task("10:10:00", "10:40:00", "ee/00ee00", attempt="2")])
        [row] = result.rows
        self.assertEqual((row["allocated"], row["lost_attempts"]), ("0.300000000000", "0.100000000000"))

    def test_free_in_its_first_hour(self) -> None:
        result = self.costs([split_line(ECS[1], "0.0", "0.0")], [task("10:00:00", "10:20:00"), task("10:00:00", "10:20:00", "ff/00ff00")])
        self.assertEqual(result.free_attempts, 1)
        self.assertTrue(any("1 task has no line" in note for note in result.notes), result.notes)
        self.assertEqual(Decimal(result.rows[0]["billed"]), 0)

    def test_by_ecs_id_without_tags(self) -> None:
        result = self.costs([split_line(ECS[3], "0.1", "0.1", run=None)], [task("10:00:00", "10:30:00", ecs_id=ARN + ECS[3])])
        self.assertEqual((result.tasks_joined, result.rows[0]["run"]), (1, "r1"))

    def test_a_run_that_nobody_had(self) -> None:
        result = self.costs([split_line(ECS[1], "0.1", "0"), split_line(ECS[2], "0.2", "0.3", run="made-up")],
                            [task("10:00:00", "10:30:00")])
        self.assertEqual(self.sums(result), {"allocated": Decimal("0.1"), "not_attributable": Decimal("0.5")})
        self.assertEqual({row["run"] for row in result.rows}, {"r1", None})

    def test_cached_tasks_cost_nothing(self) -> None:
        result = self.costs([split_line(ECS[1], "0.1", "0")], [task("10:00:00", "10:30:00", status="CACHED")])
        self.assertEqual(result.tasks_joined, 0)

    def test_several_hours_and_midnight(self) -> None:
        result = self.costs([split_line(ECS[1], "1.5", "0.5", line_item_usage_start_date="2026-02-28T20:00:00Z",
                                        line_item_usage_end_date="2026-03-01T05:00:00Z")],
                            [task("00:00:00", "04:00:00") | {"start": "2026-02-28T20:10:00Z"}])
        self.assertEqual(self.sums(result), {"allocated": Decimal("1.5"), "idle": Decimal("0.5")})

    def test_keep_and_spread(self) -> None:
        lines = [split_line(ECS[1], "0.1", "0.3"), split_line(ECS[2], "0.3", "0.8", task="ee00ee00")]
        tasks = [task("10:00:00", "10:30:00"), task("10:00:00", "10:30:00", "ee/00ee00", process="SORT")]
        for idle, expected in (("keep", ("0.1", "0.3")), ("spread", ("0.4", "1.1"))):
            result = self.costs(lines, tasks, idle=idle, by=["step"])
            found = {row["step"]: Decimal(row["allocated"]) for row in result.rows}
            self.assertEqual((found["ALIGN"], found["SORT"]), tuple(map(Decimal, expected)), idle)

    def test_machine_in_the_bill_beside_its_split_lines(self) -> None:
        """Counted once; what the provider did not split is idle."""
        lines = [machine_line("1.00"), split_line(ECS[1], "0.5", "0.2", split_line_item_parent_resource_id="i-0abc")]
        result = self.costs(lines, [task("10:00:00", "10:30:00")])
        self.assertEqual(self.sums(result), {"allocated": Decimal("0.5"), "idle": Decimal("0.5")})
        # The provider writes an id in the one place and an ARN in the other.
        arn = "arn:aws:ec2:eu-west-1:111122223333:instance/i-0abc"
        for own, parent in ((arn, "i-0abc"), ("i-0abc", arn), (arn, arn)):
            lines = [machine_line("1.00", instance=own), split_line(ECS[1], "0.5", "0.2", split_line_item_parent_resource_id=parent)]
            result = self.costs(lines, [task("10:00:00", "10:30:00")])
            self.assertEqual(self.sums(result), {"allocated": Decimal("0.5"), "idle": Decimal("0.5")}, (own, parent))
        result = self.costs([machine_line("0.35"), lines[1]], [task("10:00:00", "10:30:00")])
        self.assertEqual(self.sums(result), {"allocated": Decimal("0.25"), "idle": Decimal("0.1")})

    def test_split_lines_of_a_machine_under_a_savings_plan(self) -> None:
        """The line has the price on demand, the split ones that of the plan: what they differ by is no idle capacity."""
        covered = machine_line("1.00", line_item_line_item_type="SavingsPlanCoveredUsage", savings_plan_savings_plan_effective_cost="0.60")
        negation = machine_line("-1.00", instance="", line_item_line_item_type="SavingsPlanNegation", line_item_usage_type="x")
        split = split_line(ECS[1], "0.36", "0.24", split_line_item_parent_resource_id="i-0abc")
        for basis, expected in (("billed", {"allocated": "0.60", "idle": "0.40", "not_attributable": "-1"}),
                                ("effective", {"allocated": "0.36", "idle": "0.24"})):
            result = self.costs([covered, negation, split], [task("10:00:00", "10:30:00")], basis=basis)
            self.assertEqual(self.sums(result), {term: Decimal(value) for term, value in expected.items()}, basis)

    def test_idle_of_a_machine_beside_its_split_lines_goes_to_its_containers(self) -> None:
        """Also what the provider did not split; a run that is not among the tasks gets its part."""
        parent = {"split_line_item_parent_resource_id": "i-0abc"}
        lines = [machine_line("2.00"), split_line(ECS[1], "0.1", "0.3", **parent), split_line(ECS[2], "0.3", "0.8", task="ee00ee00", **parent)]
        tasks = [task("10:00:00", "10:30:00"), task("10:00:00", "10:30:00", "ee/00ee00", process="SORT")]
        part = Decimal("0.5") / Decimal("1.5")
        for idle, expected in (("keep", ("0.1", "0.3")), ("spread", (Decimal("0.4") + part * Decimal("0.4"), Decimal("1.1") + part * Decimal("1.1")))):
            result = self.costs(lines, tasks, idle=idle, by=["step"])
            found = {row["step"]: Decimal(row["allocated"]) for row in result.rows}
            for step, value in zip(("ALIGN", "SORT"), map(Decimal, expected)):
                self.assertAlmostEqual(found[step], value, 11, idle)
        lines = [*lines[:2], split_line(ECS[2], "0.3", "0.8", "other", **parent)]
        self.assertEqual(self.sums(self.costs([lines[0] | {"line_item_unblended_cost": "1.50"}, *lines[1:]], tasks, idle="spread")),
                         {"allocated": Decimal("0.4"), "not_attributable": Decimal("1.1")})
        lines = [machine_line("2.00"), split_line(ECS[1], "0", "0", **parent)]
        self.assertEqual(self.sums(self.costs(lines, tasks, idle="spread")), {"idle": Decimal(2)})

    def test_the_machine_of_a_split_line(self) -> None:
        line = split_line(ECS[1], "0.5", "0.2", split_line_item_parent_resource_id="arn:aws:ec2:eu-west-1:111122223333:instance/i-0abc")
        [row] = self.costs([line], [task("10:00:00", "10:30:00", instance="")], by=["instance"]).rows
        self.assertEqual((row["instance"], Decimal(row["allocated"]), Decimal(row["idle"])), ("i-0abc", Decimal("0.5"), Decimal("0.2")))

    def test_a_task_that_is_longer_than_the_bill(self) -> None:
        for begin, end, said in (("10:00:00", "10:59:00", False), ("10:00:00", "11:30:00", True), ("09:30:00", "10:30:00", True)):
            result = self.costs([split_line(ECS[1], "0.5", "0.2")], [task(begin, end)])
            self.assertEqual(any("only a part of the cost" in note for note in result.notes), said, (begin, end))

    def test_fargate(self) -> None:
        line = split_line(ECS[1], "", "", line_item_unblended_cost="0.25", line_item_usage_type="EU-Fargate-vCPU-Hours:perCPU")
        self.assertEqual(self.sums(self.costs([line], [task("10:00:00", "10:30:00")])), {"allocated": Decimal("0.25")})


class Machines(CostCase):
    """A machine of 4 CPUs and 16 GiB: weight 52. A task of 2 CPUs and 8 GiB is half of it."""

    def test_before_between_after_are_idle(self) -> None:
        result = self.costs([machine_line("1.00")], [task("10:15:00", "10:45:00")], [HOST])
        self.assertEqual(self.sums(result), {"allocated": Decimal("0.25"), "idle": Decimal("0.75")})
        self.assertEqual({row["run"] for row in result.rows}, {"r1"})

    def test_local_times_of_a_trace(self) -> None:
        """An hour ahead of the bill; those that have a zone, or are numbers, are what they say."""
        for start, complete in (("2026-03-01 11:15:00.000", "2026-03-01 11:45:00.000"), ("2026-03-01T10:15:00Z", "2026-03-01T11:45:00+01:00"),
                                ("1772360100000", "1772361900000")):
            trace = [task("", "") | {"start": start, "complete": complete}]
            result = self.costs([machine_line("1.00")], trace, [HOST], timezone="Europe/Berlin")
            self.assertEqual(self.sums(result), {"allocated": Decimal("0.25"), "idle": Decimal("0.75")}, start)
            result = self.costs([machine_line("1.00")], trace, [HOST])
            self.assertEqual(any("--timezone" in note for note in result.notes), " " in start, result.notes)
        with self.assertRaises(InvalidArgumentError):
            self.costs([machine_line("1.00")], trace, timezone="Mars/Phobos")

    def test_shared_by_two_runs(self) -> None:
        result = self.costs([machine_line("1.00")], [task("10:00:00", "11:00:00"), task("10:00:00", "10:30:00", "cc/00cc00", "r2")],
                            [HOST])
        found = {row["run"]: row for row in result.rows}
        self.assertEqual([Decimal(found[run]["allocated"]) for run in ("r1", "r2")], [Decimal("0.5"), Decimal("0.25")])
        self.assertEqual(Decimal(found[None]["idle"]), Decimal("0.25"))

    def test_used_more_than_reserved(self) -> None:
        result = self.costs([machine_line("1.04")], [task("10:00:00", "11:00:00", cpus="1", pcpu="200", realtime="3600000")], [HOST])
        self.assertEqual(self.sums(result)["allocated"], Decimal("0.52"))

    def test_overcommitted(self) -> None:
        tasks = [task("10:00:00", "11:00:00", f"{n}a/00cc00", cpus="4") for n in range(3)]
        self.assertEqual(self.sums(self.costs([machine_line("1.00")], tasks, [HOST])), {"allocated": Decimal("1")})

    def test_daemon_late(self) -> None:
        result = self.costs([machine_line("1.00")], [task("10:30:00", "11:00:00")], [HOST | {"observed_from": "2026-03-01T10:30:00Z"}])
        self.assertEqual(self.sums(result), {"allocated": Decimal("0.25"), "idle": Decimal("0.25"), "unobserved": Decimal("0.5")})

    def test_daemon_died(self) -> None:
        result = self.costs([machine_line("1.00")], [task("10:00:00", "10:15:00")], [HOST | {"observed_to": "2026-03-01T10:15:00Z"}])
        self.assertEqual(self.sums(result), {"allocated": Decimal("0.125"), "idle": Decimal("0.125"), "unobserved": Decimal("0.75")})

    def test_no_daemon_is_never_idle(self) -> None:
        result = self.costs([machine_line("1.00", instance="i-0def")], [task("10:00:00", "10:15:00")], [HOST])
        self.assertEqual(self.sums(result), {"unobserved": Decimal("1")})
        result = self.costs([machine_line("1.00")], [task("10:00:00", "10:30:00")])
        self.assertEqual(self.sums(result), {"allocated": Decimal("0.25"), "unobserved": Decimal("0.75")})

    def test_system(self) -> None:
        result = self.costs([machine_line("0.52")], [task("10:00:00", "11:00:00")],
                            [HOST | {"system_cpus": "1", "system_memory_gib": "1"}])
        self.assertEqual(self.sums(result), {"allocated": Decimal("0.26"), "idle": Decimal("0.16"), "system": Decimal("0.10")})

    def sampled(self, bill: Sequence[dict[str, str]], tasks: Sequence[dict[str, str]], samples: Sequence[tuple[str, str, float, float]],
                hosts: Sequence[dict[str, str]] = ()) -> Costs:
        """As if a recording of the whole machine had these samples: from, to, CPUs and GiB that others used."""
        read = _tasks.read_tasks

        def with_samples(connection: Any, paths: Sequence[str], notes: list[str]) -> int:
            for begin, end, cpus, gib in samples:
                connection.execute(f"""INSERT INTO hosts SELECT 'i-0abc', 'h', NULL, 4, 16, epoch_us(TIMESTAMP '2026-03-01 {begin}'),
                    epoch_us(TIMESTAMP '2026-03-01 {end}'), {cpus}, {gib}, NULL, true, NULL""")
            return read(connection, paths, notes)

        with mock.patch.object(_tasks, "read_tasks", with_samples):
            return self.costs(bill, tasks, hosts)

    def test_system_by_samples_of_the_host(self) -> None:
        """In one half hour others used 2 CPUs and 8 GiB, in the other nothing: each slice has its own."""
        samples = [("10:00:00", "10:30:00", 2, 8), ("10:30:00", "11:00:00", 0, 0)]
        result = self.sampled([machine_line("1.00")], [task("10:15:00", "10:45:00")], samples)
        self.assertEqual(self.sums(result), {"allocated": Decimal("0.25"), "system": Decimal("0.25"), "idle": Decimal("0.5")})
        # Beside a task that has requested all, they share the machine.
        result = self.sampled([machine_line("0.60")], [task("10:00:00", "11:00:00", cpus="4", memory=str(16 << 30))], samples[:1])
        self.assertEqual(self.sums(result), {"allocated": Decimal("0.5"), "system": Decimal("0.1")})

    def test_time_without_samples_is_not_observed(self) -> None:
        """A gap between two recordings, and before and after them, whatever a task held."""
        samples = [("10:10:00", "10:20:00", 0, 0), ("10:40:00", "10:50:00", 4, 16)]
        result = self.sampled([machine_line("0.60")], [task("10:00:00", "10:30:00")], samples)
        self.assertEqual(self.sums(result), {"allocated": Decimal("0.15"), "idle": Decimal("0.05"), "system": Decimal("0.1"),
                                             "unobserved": Decimal("0.3")})

    def test_samples_that_overlap_count_once(self) -> None:
        samples = [("10:00:00", "10:30:00", 2, 8), ("10:15:00", "10:45:00", 2, 8), ("10:45:00", "11:00:00", 0, 0)]
        result = self.sampled([machine_line("1.00")], [task("10:00:00", "10:00:01", cpus="0", memory="0")], samples)
        self.assertEqual(self.sums(result), {"system": Decimal("0.375"), "idle": Decimal("0.625")})
        # What was sampled is better than what is told; the rest is as told.
        result = self.sampled([machine_line("1.00")], [task("10:00:00", "10:00:01", cpus="0", memory="0")],
                              [("10:15:00", "10:45:00", 2, 8)], [HOST | {"system_cpus": "4", "system_memory_gib": "16"}])
        self.assertEqual(self.sums(result), {"system": Decimal("0.75"), "idle": Decimal("0.25")})

    def test_many_samples(self) -> None:
        """A day of samples, every 10 s: in each second minute others used half of the machine."""
        samples = [(f"{n // 360:02}:{n // 6 % 60:02}:{n % 6 * 10:02}", f"{(n + 1) // 360:02}:{(n + 1) // 6 % 60:02}:{(n + 1) % 6 * 10:02}",
                    2 * (n // 6 % 2), 8 * (n // 6 % 2)) for n in range(23 * 360)]
        lines = [machine_line("1.20", hour) for hour in range(22)]
        result = self.sampled(lines, [task("00:00:00", "22:00:00")], samples)
        # Each of 8,640 slices is rounded to twelve places.
        for term, amount in (("allocated", 13.2), ("system", 6.6), ("idle", 6.6)):
            self.assertAlmostEqual(float(self.sums(result)[term]), amount, places=7)

    def test_started_before_the_run_and_killed_in_it(self) -> None:
        """Half an hour billed in the second hour: it is the first half, as the machine ran in the hour before."""
        lines = [machine_line("1.00"), machine_line("0.50", 11, line_item_usage_amount="0.5")]
        result = self.costs(lines, [task("10:30:00", "11:30:00")], [HOST])
        self.assertEqual(self.sums(result), {"allocated": Decimal("0.5"), "idle": Decimal("1")})

    def test_less_than_a_minute(self) -> None:
        """60 s are billed for 12 s: start and minimum belong to the line."""
        result = self.costs([machine_line("0.60", line_item_usage_amount="0.016666666666666666")],
                            [task("10:20:00", "10:20:12")], [HOST | {"observed_from": "2026-03-01T10:20:00Z",
                                                                     "observed_to": "2026-03-01T10:20:12Z"}])
        self.assertEqual(self.sums(result), {"allocated": Decimal("0.06"), "idle": Decimal("0.06"), "unobserved": Decimal("0.48")})

    def test_over_an_hour(self) -> None:
        result = self.costs([machine_line("1.00"), machine_line("3.00", 11)], [task("10:30:00", "11:30:00")], [HOST])
        self.assertEqual(self.sums(result)["allocated"], Decimal("0.25") + Decimal("0.75"))

    def test_clock_is_apart(self) -> None:
        result = self.costs([machine_line("1.00")], [task("09:59:57", "10:30:00")], [HOST])
        self.assertEqual(self.sums(result)["allocated"], Decimal("0.25"))
        self.assertTrue(any("cut off" in note for note in result.notes), result.notes)

    def test_size_not_known(self) -> None:
        result = self.costs([machine_line("1.00", product_vcpu="", product_memory="")], [task("10:00:00", "10:30:00")])
        self.assertEqual(self.sums(result), {"unobserved": Decimal("1")})

    def test_credits_of_its_cpus_are_no_time(self) -> None:
        """A minute of one CPU beyond its baseline: paid by those who ran in the hour."""
        line = machine_line("0.10", line_item_usage_type="EU-CPUCredits:t3", line_item_usage_amount="0.0166")
        result = self.costs([machine_line("1"), line], [task("10:00:00", "10:30:00")], [HOST])
        self.assertEqual(self.sums(result), {"allocated": Decimal("0.275"), "idle": Decimal("0.825")})

    def test_negative_line(self) -> None:
        result = self.costs([machine_line("1.00"), machine_line("-0.10")], [task("10:00:00", "11:00:00")], [HOST])
        self.assertEqual(self.sums(result), {"allocated": Decimal("0.45"), "idle": Decimal("0.45")})
        self.assertTrue(any("negative" in note for note in result.notes), result.notes)

    def test_volumes(self) -> None:
        volume = machine_line("0.40", instance="vol-0123", line_item_usage_type="EU-EBS:VolumeUsage.gp3")
        result = self.costs([volume], [task("10:00:00", "11:00:00")], [HOST | {"volumes": "vol-0123 vol-4567"}])
        self.assertEqual(self.sums(result), {"allocated": Decimal("0.2"), "idle": Decimal("0.2")})
        result = self.costs([volume], [task("10:00:00", "11:00:00")], [HOST], by=["kind"])
        self.assertEqual((self.sums(result), result.rows[0]["kind"]),
                         ({"not_attributable": Decimal("0.4")}, "volume of no known machine"))

    def test_transfer(self) -> None:
        line = machine_line("0.40", line_item_usage_type="EU-DataTransfer-Out-Bytes", line_item_usage_amount="12")
        tasks = [task("10:00:00", "11:00:00", network_sent_bytes="300"),
                 task("10:00:00", "10:20:00", "cc/00cc00", "r2", network_sent_bytes="100")]
        found = {row["run"]: Decimal(row["allocated"]) for row in self.costs([line], tasks, [HOST]).rows}
        self.assertEqual(found, {"r1": Decimal("0.3"), "r2": Decimal("0.1")})
        tasks[1]["network_sent_bytes"] = ""
        result = self.costs([line], tasks, [HOST], by=["run", "kind"])
        self.assertEqual({(row["run"], row["kind"]): Decimal(row["allocated"]) for row in result.rows},
                         {("r1", "transfer by time"): Decimal("0.3"), ("r2", "transfer by time"): Decimal("0.1")})

    def test_idle_to_tasks(self) -> None:
        tasks = [task("10:00:00", "11:00:00", cpus="1", memory=str(4 << 30)), task("10:00:00", "10:30:00", "cc/00cc00", "r2")]
        found = {row["run"]: Decimal(row["allocated"]) for row in self.costs([machine_line("1.00")], tasks, [HOST], idle="spread").rows}
        self.assertEqual((found["r1"], found["r2"]), (Decimal("0.5"), Decimal("0.5")))


    def test_machines_that_share_a_name(self) -> None:
        """What a recording says of itself counts; a name that leads to two machines leads to none."""
        connection = self.enterContext(connect())
        _tasks.create(connection)
        for instance, name in (("i-1", "a"), ("i-2", "shared"), ("i-3", "shared")):
            connection.execute(f"INSERT INTO hosts (instance, host_name, instance_type, sampled) VALUES ('{instance}', '{name}', 'm6i.large', true)")
        connection.execute("INSERT INTO hosts (instance, host_name, region, sampled) VALUES ('i-9', 'told', 'eu-west-1', false)")
        for task, (source, name, own) in enumerate((("1", "a", None), ("2", "shared", "i-2"), ("3", "shared", None), ("4", "told", None),
                                                    ("5", "told", "i-1"))):
            connection.execute("INSERT INTO recordings VALUES (?, ?, ?)", [source, name, own])
            connection.execute("INSERT INTO tasks (task, source) VALUES (?, ?)", [task, source])
        _tasks.read_tasks(connection, [], [])
        self.assertEqual(connection.execute("SELECT instance, instance_type, region FROM tasks ORDER BY task").fetchall(), [
            ("i-1", "m6i.large", None), ("i-2", "m6i.large", None), (None, None, None), ("i-9", None, "eu-west-1"), ("i-1", "m6i.large", None)])


class OtherLines(CostCase):
    def kinds(self, lines: Sequence[dict[str, str]], **options: Any) -> dict[str, tuple[str, Decimal]]:
        result = self.costs(lines, by=["kind"], **options)
        return {row["kind"]: next((term, Decimal(row[term])) for term in TERMS if Decimal(row[term])) for row in result.rows}

    def line(self, kind: str, cost: str, **more: str) -> dict[str, str]:
        return machine_line(cost, instance="", line_item_line_item_type=kind, line_item_usage_type="x") | more

    def test_tax_credit_refund_and_what_is_new(self) -> None:
        found = self.kinds([self.line("Tax", "1.5"), self.line("Credit", "-3"), self.line("Refund", "-0.5"), self.line("EdpDiscount", "-1"),
                            self.line("Whatever", "0.25")])
        self.assertEqual(found, {kind: ("not_attributable", Decimal(cost)) for kind, cost in (
            ("tax", "1.5"), ("credit", "-3"), ("refund", "-0.5"), ("discount", "-1"), ("unclassified: Whatever", "0.25"))})

    def test_savings_plan(self) -> None:
        lines = [machine_line("10", line_item_line_item_type="SavingsPlanCoveredUsage", savings_plan_savings_plan_effective_cost="7"),
                 self.line("SavingsPlanNegation", "-10"),
                 self.line("SavingsPlanRecurringFee", "8", savings_plan_total_commitment_to_date="8", savings_plan_used_commitment="7")]
        billed = self.costs(lines)
        self.assertEqual(self.sums(billed), {"unobserved": Decimal(10), "unused_commitment": Decimal(1), "not_attributable": Decimal(-3)})
        effective = self.costs(lines, basis="effective")
        self.assertEqual(self.sums(effective), {"unobserved": Decimal(7), "unused_commitment": Decimal(1)})
        self.assertEqual(effective.totals["USD"]["billed"], effective.totals["USD"]["effective"])

    def test_reservation(self) -> None:
        lines = [machine_line("0", line_item_line_item_type="DiscountedUsage", reservation_effective_cost="0.6"),
                 self.line("RIFee", "1.0", reservation_unused_recurring_fee="0.4",
                           reservation_unused_amortized_upfront_fee_for_billing_period="0")]
        self.assertEqual(self.sums(self.costs(lines)), {"unused_commitment": Decimal("0.4"), "not_attributable": Decimal("0.6")})
        self.assertEqual(self.sums(self.costs(lines, basis="effective")),
                         {"unobserved": Decimal("0.6"), "unused_commitment": Decimal("0.4")})

    def test_list_prices_of_commitments(self) -> None:
        """The list price of what a fee covers is that of the usage: once."""
        price = {"pricing_public_on_demand_cost": "1.00"}
        lines = [machine_line("1.00", line_item_line_item_type="SavingsPlanCoveredUsage", **price),
                 self.line("SavingsPlanNegation", "-1.00"), self.line("SavingsPlanRecurringFee", "0.60", **price),
                 self.line("RIFee", "0.30", **price)]
        self.assertEqual(Decimal(self.costs(lines, basis="list").totals["USD"]["list"]), 1)

    def test_list_prices(self) -> None:
        lines = [machine_line("1", pricing_public_on_demand_cost="2"), self.line("Tax", "0.1")]
        result = self.costs(lines, basis="list")
        self.assertEqual(sum(self.sums(result).values()), Decimal("2.1"))
        self.assertTrue(any("no list price" in note for note in result.notes), result.notes)

    def test_currencies_are_not_added(self) -> None:
        result = self.costs([machine_line("1"), machine_line("2", line_item_currency_code="EUR")])
        self.assertEqual({row["currency"]: Decimal(row["billed"]) for row in result.rows}, {"USD": Decimal(1), "EUR": Decimal(2)})
        self.assertEqual(result.text().count("total"), 2)

    def test_open_and_final(self) -> None:
        result = self.costs([machine_line("1"), machine_line("2", instance="i-0def", bill_invoice_id="")], by=["instance"])
        self.assertEqual({row["instance"]: row["state"] for row in result.rows}, {"i-0abc": "final", "i-0def": "open"})


class Formats(CostCase):
    def test_legacy_cur_and_its_tags(self) -> None:
        line = {"lineItem/LineItemType": "Usage", "lineItem/UsageStartDate": "2026-03-01 10:00:00+00:00",
                "lineItem/UsageEndDate": "2026-03-01 11:00:00+00:00", "lineItem/UnblendedCost": "1.25e-05", "lineItem/ProductCode": "EC2",
                "lineItem/ResourceId": "arn:thing", "resourceTags/user:uniqueRunId": "r1", "resourceTags/user:taskHash": "ab12cd34",
                "reservation/EffectiveCost": "None"}
        result = self.costs([line], [task("10:00:00", "10:30:00")])
        self.assertEqual((result.rows[0]["run"], result.rows[0]["allocated"]), ("r1", "0.000012500000"))

    def test_times_with_a_zone(self) -> None:
        """Whatever zone the reader is in: as text, and as Parquet has them."""
        code = """if True:
            import os, sys, time
            os.environ["TZ"] = "Europe/Berlin"
            time.tzset()
            from tracer.cost import costs
            for row in costs([sys.argv[1]], [sys.argv[2]], hosts=sys.argv[3]).rows:
                print(row["allocated"], row["idle"])
            """
        tasks, hosts = self.table("tasks.csv", [task("10:00:00", "10:30:00")]), self.table("hosts.csv", [HOST])
        line = machine_line("1.00", line_item_usage_start_date="2026-03-01T12:00:00+02:00", line_item_usage_end_date="2026-03-01T13:00:00+02:00")
        path = str(self.folder / "cur.parquet")
        duckdb.sql(f"""COPY (SELECT * REPLACE (line_item_usage_start_date::TIMESTAMPTZ AS line_item_usage_start_date,
            line_item_usage_end_date::TIMESTAMPTZ AS line_item_usage_end_date)
            FROM read_csv('{self.table("bill.csv", [line])}', all_varchar = true)) TO '{path}' (FORMAT parquet)""")
        for bill in (str(self.folder / "bill.csv"), path):
            done = run_python(code, bill, tasks, hosts)
            self.assertEqual((done.stdout.split(), done.stderr), (["0.250000000000", "0.750000000000"], ""), bill)

    def test_parquet_with_a_list_of_pairs_and_doubles(self) -> None:
        path = str(self.folder / "cur.parquet")
        duckdb.sql(f"""COPY (SELECT 'Usage' AS line_item_line_item_type, 'AmazonECS' AS line_item_product_code,
            '{ARN + ECS[1]}' AS line_item_resource_id, TIMESTAMP '2026-03-01 10:00:00' AS line_item_usage_start_date,
            TIMESTAMP '2026-03-01 11:00:00' AS line_item_usage_end_date, 0.0::DOUBLE AS line_item_unblended_cost,
            0.1::DOUBLE + 0.2::DOUBLE AS split_line_item_split_cost, 'nan'::DOUBLE AS split_line_item_unused_cost, NULL AS nothing,
            [['user_unique_run_id', 'r1'], ['user_task_hash', 'ab12cd34']] AS resource_tags) TO '{path}' (FORMAT parquet)""")
        result = costs([path], [self.table("tasks.csv", [task("10:00:00", "10:30:00")])])
        self.exact(result)
        self.assertEqual((result.rows[0]["run"], result.rows[0]["allocated"]), ("r1", "0.30000000000000004"))

    def test_gzip(self) -> None:
        path = Path(self.table("bill.csv", [machine_line("1.5")]))
        (self.folder / "bill.csv.gz").write_bytes(gzip.compress(path.read_bytes()))
        self.assertEqual(costs([self.folder / "bill.csv.gz"]).totals["USD"]["billed"], "1.500000000000")

    def focus(self, cost: str, **more: str) -> dict[str, str]:
        return {"BilledCost": cost, "EffectiveCost": cost, "ListCost": cost, "BillingCurrency": "USD", "ChargeCategory": "Usage",
                "ChargeClass": "NULL", "ChargePeriodStart": "2026-03-01 10:00:00", "ChargePeriodEnd": "2026-03-01 11:00:00",
                "ServiceCategory": "Compute", "ServiceName": "EC2", "ResourceId": "NULL", "PricingQuantity": "3", "ListUnitPrice": "7",
                "CommitmentDiscountStatus": "NULL", "Tags": "NULL", "x_More": "1"} | more

    def test_focus(self) -> None:
        lines = [self.focus("1", ResourceId="arn:aws:ec2:eu-west-1:1:instance/i-0abc", InvoiceId="I",
                            SkuPriceDetails='{"CoreCount": 4, "MemorySize": 16}'),
                 self.focus("0", EffectiveCost="0.7", CommitmentDiscountStatus="Unused"), self.focus("2", ChargeCategory="Tax"),
                 self.focus("-4", ChargeClass="Correction"),
                 self.focus("3", ChargeCategory="Purchase", EffectiveCost="0"), self.focus("-0.5", Tags='{"unique_run_id": "r1"}')]
        result = self.costs(lines, [task("10:00:00", "11:00:00")], [HOST])
        self.assertEqual(self.sums(result), {"idle": Decimal("0.5"), "not_attributable": Decimal("1")})
        effective = self.costs(lines, [task("10:00:00", "11:00:00")], [HOST], basis="effective")
        self.assertEqual(self.sums(effective)["unused_commitment"], Decimal("0.7"))

    def test_focus_that_a_provider_has_split(self) -> None:
        """1.3: all of a machine's row belongs to the container that it names, not to whatever ran on the machine."""
        tags = {"unique_run_id": "r1", "task_hash": "ab12cd34ffff"}
        row = {"BilledCost": "1", "EffectiveCost": "1", "ListCost": "1", "BillingCurrency": "USD", "ChargeCategory": "Usage", "ServiceCategory": "Compute",
               "ChargePeriodStart": HOUR.format(10), "ChargePeriodEnd": HOUR.format(11), "ResourceId": "i-0abc", "Tags": "{}"}
        tasks = [task("10:15:00", "10:30:00"), task("10:15:00", "10:45:00", "cc/00cc00", "r2")]
        for allocated, expected in (({"AllocatedResourceId": "pod-1", "AllocatedTags": json.dumps(tags)}, {"r1": Decimal(1)}),
                                    ({"AllocatedResourceId": ARN + ECS[1], "AllocatedTags": "{}"}, {"r2": Decimal(1)})):
            result = self.costs([row | allocated], [tasks[0], tasks[1] | {"ecs_id": ARN + ECS[1]}], [HOST])
            self.assertEqual({each["run"]: Decimal(each["allocated"]) for each in result.rows}, expected)

    def test_no_cost_is_made_of_quantity_and_price(self) -> None:
        self.assertEqual(sum(self.sums(self.costs([self.focus("0.00000080000")])).values()), Decimal("0.0000008"))

    def test_google_cloud(self) -> None:
        def row(sku: str, unit: str, cost: float, credits: list[float], kind: str = "regular") -> str:
            name = "//compute.googleapis.com/projects/p/zones/z/instances/vm-1"
            return json.dumps({
                "billing_account_id": "A", "cost_type": kind, "invoice": {"month": "202603"},
                "usage_start_time": "2026-03-01 10:00:00 UTC", "usage_end_time": "2026-03-01 11:00:00 UTC",
                "service": {"id": "6F81", "description": "Compute Engine"}, "sku": {"id": "s", "description": sku},
                "project": {"id": "p"}, "resource": {"name": "vm-1", "global_name": name if sku else None},
                "cost": cost, "currency": "USD", "usage": {"unit": "seconds", "pricing_unit": unit},
                "credits": [{"name": "n", "amount": each} for each in credits], "labels": [{"key": "team", "value": "x"}],
                "system_labels": [{"key": "compute.googleapis.com/cores", "value": "4"},
                                  {"key": "compute.googleapis.com/memory", "value": "16384"}], "cost_at_list": cost})

        path = self.folder / "gcp.jsonl"
        path.write_text("\n".join([row("N2 Instance Core running", "hour", 1.0, [-0.1, -0.1]),
                                   row("N2 Instance Ram running", "gibibyte hour", 0.4, []),
                                   row("", "hour", 0.000001, [], "rounding_error")]) + "\n")
        tasks = [task("10:00:00", "11:00:00", instance="vm-1", cpus="1", memory=str(8 << 30))]
        result = costs([path], [self.table("tasks.csv", tasks)], hosts=self.table("hosts.csv", [HOST | {"instance": "vm-1"}]))
        self.exact(result)
        # A quarter of the cores, half of the memory.
        self.assertEqual(self.sums(result), {"allocated": Decimal("0.4"), "idle": Decimal("0.8"), "not_attributable": Decimal("0.000001")})


class BadBills(CostCase):
    def test_missing_columns(self) -> None:
        line = machine_line("1")
        del line["line_item_unblended_cost"]
        self.refused("TRC130", "bill.csv, row 0", "line_item_unblended_cost", bills=[self.table("bill.csv", [line])])
        self.refused("TRC130", "is no bill", bills=[self.table("other.csv", [{"a": "1", "b": "2"}])])

    def test_all_problems_at_once(self) -> None:
        error = self.refused("TRC130", bills=[self.table("a.csv", [{"a": "1"}]), self.table("b.csv", [{"b": "1"}])])
        self.assertEqual(len(error.problems), 2)

    def test_not_a_number_not_a_time(self) -> None:
        bill = self.table("bill.csv", [machine_line("1"), machine_line("12,5")])
        self.refused("TRC130", "bill.csv, row 2", "12,5", bills=[bill])
        self.refused("TRC130", "row 1", "1e20", bills=[self.table("bill.csv", [machine_line("1e20")])])
        self.refused("TRC130", "row 1", "no cost", bills=[self.table("bill.csv", [machine_line("")])])
        self.refused("TRC130", "row 1", "no time", bills=[self.table("bill.csv", [machine_line("1", line_item_usage_start_date="soon")])])

    def test_the_same_file_twice(self) -> None:
        bill = self.table("bill.csv", [machine_line("1")])
        self.refused("TRC131", "once more", bills=[bill, bill])
        copy = self.table("copy.csv", [machine_line("1")])
        self.refused("TRC131", "copy.csv", "bill.csv", bills=[bill, copy])

    def test_the_same_line_in_two_files(self) -> None:
        bills = [self.table("a.csv", [machine_line("1"), machine_line("2", 11)]), self.table("b.csv", [machine_line("2", 11)])]
        self.refused("TRC131", "b.csv, row 1", "a.csv, row 2", bills=bills)
        for repeated, total in (("once", "3"), ("all", "5")):
            self.assertEqual(Decimal(costs(bills, repeated=repeated).totals["USD"]["billed"]), Decimal(total))

    def test_a_delivery_as_csv_and_as_parquet(self) -> None:
        """They write times, numbers and tags differently."""
        lines = [split_line(ECS[1], "0.00001", "0.25", sort="z"), machine_line("1.50")]
        with_id = [line | {"identity_line_item_id": f"x{number}"} for number, line in enumerate(lines)]
        for name, rows in (("a", lines), ("b", with_id)):
            bill = self.table(f"{name}.csv", rows)
            stored = self.folder / f"{name}.parquet"
            duckdb.sql(f"""COPY (SELECT * REPLACE (line_item_usage_start_date::TIMESTAMP AS line_item_usage_start_date,
                line_item_usage_end_date::TIMESTAMP AS line_item_usage_end_date, line_item_unblended_cost::DOUBLE AS line_item_unblended_cost,
                split_line_item_split_cost::DOUBLE AS split_line_item_split_cost, split_line_item_unused_cost::DOUBLE AS
                split_line_item_unused_cost, line_item_usage_amount::DOUBLE AS line_item_usage_amount,
                list_reverse([[k, json_extract_string(resource_tags, '$.' || k)] FOR k IN json_keys(resource_tags)]) AS resource_tags)
                FROM read_csv('{bill}', all_varchar=true)) TO '{stored}'""")
            self.refused("TRC131", f"{name}.parquet, row 1 is", f"{name}.csv, row 1 once more; 2 such rows", bills=[bill, stored])
            self.assertEqual(costs([bill, stored], repeated="once").totals["USD"]["billed"], "1.750010000000")

    def test_the_same_line_twice_in_one_file(self) -> None:
        """Without an id, it may be two: a note counts them."""
        result = costs([self.table("bill.csv", [machine_line("1"), machine_line("1"), machine_line("0", 12), machine_line("0", 12)])])
        self.assertEqual(Decimal(result.totals["USD"]["billed"]), 2)
        self.assertTrue(any(note.startswith("1 line is like another of the same file") for note in result.notes), result.notes)

    def test_a_cut_line_has_its_reason(self) -> None:
        path = self.folder / "bill.csv"
        path.write_text(Path(self.table("whole.csv", [split_line(ECS[1], "1", "0")])).read_text() + 'Usage,"cut')
        self.refused("TRC130", "bill.csv, row 2", "quote", bills=[path])
        path.write_text(path.read_text().replace('Usage,"cut', "Usage,cut"))
        self.assertNotIn("ignore", str(self.refused("TRC130", "bill.csv, row 2", "Expected Number of Columns: 11 Found: 2", bills=[path])))

    def test_machines_whose_sizes_and_times_are_none(self) -> None:
        bill = self.table("bill.csv", [machine_line("1")])
        for name, value in (("vcpus", "four"), ("memory_gib", "-16"), ("observed_to", "noon"), ("system_cpus", "nan%")):
            hosts = self.table("hosts.csv", [HOST, HOST | {name: value}])
            self.refused("TRC130", "hosts.csv, row 2", name, value, bills=[bill], hosts=hosts)

    def test_a_task_without_an_end(self) -> None:
        result = self.costs([machine_line("1")], [task("10:00:00", "10:30:00") | {"complete": "-"}], [HOST])
        self.assertEqual(self.sums(result), {"idle": Decimal(1)})
        self.assertTrue(any("1 task has no times" in note for note in result.notes), result.notes)

    def test_lines_that_differ_in_a_column_that_is_not_read(self) -> None:
        """Two parts of one export: usage of one hour at two prices of the same unit."""
        line = {"BilledCost": "1", "EffectiveCost": "1", "ListCost": "1", "BillingCurrency": "USD", "ChargeCategory": "Usage",
                "ChargePeriodStart": "2026-03-01 10:00:00", "ChargePeriodEnd": "2026-03-01 11:00:00", "ServiceCategory": "Compute",
                "ResourceId": "x", "SkuPriceId": "A"}
        parts = [self.table("part-1.csv", [line]), self.table("part-2.csv", [line | {"SkuPriceId": "B"}])]
        for repeated in ("error", "once", "all"):
            self.assertEqual(Decimal(costs(parts, repeated=repeated).totals["USD"]["billed"]), 2)
        self.refused("TRC131", bills=[parts[0], self.table("part-3.csv", [line, line | {"SkuPriceId": "C"}])])
        # Another order of columns is no other line; of files with other columns, what is read counts.
        self.refused("TRC131", bills=[parts[0], self.table("part-4.csv", [dict(reversed(line.items()))])])
        self.refused("TRC131", bills=[parts[0], self.table("part-5.csv", [line | {"x_New": "1"}])])

    def test_an_older_delivery(self) -> None:
        """The same id of a line, at another cost."""
        period = {"bill_billing_period_start_date": "2026-03-01T00:00:00Z", "bill_payer_account_id": "1", "identity_line_item_id": "x"}
        bills = [self.table("old.csv", [machine_line("1", **period)]), self.table("new.csv", [machine_line("2", **period)])]
        self.refused("TRC131", "new.csv, row 1", bills=bills)
        result = costs(bills, repeated="newest")
        self.assertEqual(Decimal(result.totals["USD"]["billed"]), 2)
        self.assertTrue(any("gave way" in note for note in result.notes))

    def test_two_deliveries_of_one_month(self) -> None:
        """The open one and the final one: other ids and invoices, also if one was written in another way; by --repeated newest, the
        parts of the newer one."""
        month = {"bill_billing_period_start_date": "2026-03-01T00:00:00Z", "bill_payer_account_id": "1"}
        lines = [machine_line(f"{hour}.50", hour, **month) for hour in range(4, 12)]
        focus = [{"BilledCost": f"{n}.50", "EffectiveCost": "1", "ListCost": "1", "BillingCurrency": "USD", "ChargeCategory": "Usage",
                  "ChargePeriodStart": HOUR.format(n), "ChargePeriodEnd": HOUR.format(n + 1), "ResourceId": "x", "BillingPeriodStart": HOUR.format(0),
                  "ServiceCategory": "Compute"} for n in range(4, 12)]
        cases = {"cur": ([row | {"identity_line_item_id": f"a{n}", "bill_invoice_id": ""} for n, row in enumerate(lines)],
                         [row | {"identity_line_item_id": f"b{n}"} for n, row in enumerate(lines)]),
                 "written anew": (lines, [row | {"line_item_unblended_cost": row["line_item_unblended_cost"].rstrip("0"), "line_item_usage_amount": "1.0",
                                                 "line_item_usage_start_date": row["line_item_usage_start_date"].replace("T", " ").replace("Z", "+00")}
                                          for row in lines]),
                 "focus": ([row | {"InvoiceId": ""} for row in focus], [row | {"InvoiceId": "INV1"} for row in focus])}
        for name, (old, new) in cases.items():
            with self.subTest(name):
                new = [*new, new[0] | {"line_item_usage_start_date": HOUR.format(15), "line_item_usage_end_date": HOUR.format(16), "ChargePeriodStart": HOUR.format(15)}]
                new = [{key: row[key] for key in new[0]} for row in new]
                parts = [self.table(f"{each}.csv", rows) for each, rows in (("old-1", old[:5]), ("old-2", old[5:]), ("new-1", new[:3]), ("new-2", new[3:]))]
                for repeated in ("error", "once"):
                    self.refused("TRC131", "deliveries of one month", "--repeated newest", bills=parts, repeated=repeated)
                self.assertEqual(Decimal(costs(parts[2:]).totals["USD"]["billed"]), Decimal("68.5"))
                for order in (parts, [parts[0], parts[2], parts[1], parts[3]]):
                    self.assertEqual(Decimal(costs(order, repeated="newest").totals["USD"]["billed"]), Decimal("68.5"))
                self.assertEqual(Decimal(costs(parts, repeated="all").totals["USD"]["billed"]), Decimal("132.5"))
                # Parts of one month stay.
                self.assertEqual(Decimal(costs(parts[2:], repeated="newest").totals["USD"]["billed"]), Decimal("68.5"))
        # An older delivery that is named last would replace a part only.
        self.refused("TRC131", "deliveries of one month", bills=[self.table("new.csv", new), self.table("early.csv", old[:2])], repeated="newest")

    def test_own_exports_of_others_are_refused_with_how_to_get_focus(self) -> None:
        for name, columns in (("azure", ("BillingAccountId", "MeterCategory", "CostInBillingCurrency", "ResourceId", "Date")),
                              ("oci", ("lineItem/referenceNo", "lineItem/tenantId", "product/service", "cost/myCost"))):
            self.refused("TRC130", "is no bill", "FOCUS", "own", bills=[self.table(f"{name}.csv", [dict.fromkeys(columns, "1")])])

    def test_odd_bills(self) -> None:
        """A list price that is none matters only by list prices; tags are enough; sums and columns that are ambiguous are refused."""
        line = split_line(ECS[1], "1", "0.5", pricing_public_on_demand_cost="convertible")
        result = self.costs([line], [task("10:00:00", "10:30:00")])
        self.assertEqual(self.sums(result), {"allocated": Decimal(1), "idle": Decimal("0.5")})
        line = machine_line("1", pricing_public_on_demand_cost="convertible")
        self.assertTrue(any("convertible" in note for note in self.costs([line]).notes))
        self.refused("TRC130", "convertible", bills=[self.table("bill.csv", [line])], basis="list")
        line = split_line(ECS[1], "1", "0.5")
        del line["line_item_resource_id"]
        self.assertEqual(self.sums(self.costs([line], [task("10:00:00", "10:30:00")])), {"allocated": Decimal(1), "idle": Decimal("0.5")})
        self.refused("TRC130", "sums to 1.8e+14", bills=[self.table("bill.csv", [machine_line("9e13"), machine_line("9e13", 11)])])
        self.refused("TRC130", "come twice: line_item_unblended_cost", bills=[self.table("bill.csv", [machine_line("1", lineItem_UnblendedCost="2")])])

    def test_half_of_it(self) -> None:
        path = Path(self.table("bill.csv", [machine_line("1.25", hour) for hour in range(20)]))
        whole = path.read_bytes()
        path.write_bytes(whole[:len(whole) // 2])
        self.refused("TRC130", "bill.csv, row", bills=[path])
        packed = gzip.compress(os.urandom(20000).hex().encode() + whole)
        (self.folder / "cut.csv.gz").write_bytes(packed[:len(packed) // 2])
        self.refused("TRC130", "cut.csv.gz", bills=[self.folder / "cut.csv.gz"])
        (self.folder / "cut.parquet").write_bytes(b"PAR1" + bytes(100))
        self.refused("TRC130", "cut.parquet", bills=[self.folder / "cut.parquet"])

    def test_a_resource_in_no_region_or_of_no_name(self) -> None:
        """Its cost is in the total, in a row that says why it is nobody's."""
        lines = [machine_line("1.00", instance="i-0def", product_region_code=""), machine_line("2.00", instance=""),
                 machine_line("0.25", instance="arn:aws:s3:::bucket", line_item_product_code="AmazonS3", line_item_usage_type="Requests-Tier1")]
        result = self.costs(lines, [task("10:00:00", "10:15:00")], [HOST], by=["kind"])
        self.assertEqual(Decimal(result.totals["USD"]["billed"]), Decimal("3.25"))
        found = {row["kind"]: (Decimal(row["unobserved"]), Decimal(row["not_attributable"])) for row in result.rows}
        self.assertEqual(found.pop("machine that nobody watched"), (Decimal(1), Decimal(0)))
        self.assertEqual(sum(apart for _, apart in found.values()), Decimal("2.25"))
        self.assertTrue(all(found), found)

    def test_negative_split_lines(self) -> None:
        """A correction of what a task has cost is that task's."""
        more = {"line_item_usage_start_date": HOUR.format(11), "line_item_usage_end_date": HOUR.format(12)}
        result = self.costs([split_line(ECS[1], "0.50", "0.20"), split_line(ECS[1], "-0.10", "-0.05", **more)], [task("10:00:00", "11:30:00")])
        self.assertEqual(self.sums(result), {"allocated": Decimal("0.40"), "idle": Decimal("0.15")})
        self.assertEqual({row["run"] for row in result.rows}, {"r1"})

    def test_another_currency_than_that_of_prices(self) -> None:
        """A bill in EUR, and a task after it, which is estimated in USD: two rows, and no sum of both."""
        machine = {"machineType": "m6i.xlarge", "cloudZone": "eu-west-1a", "instance": ""}
        tasks = [task("10:00:00", "10:30:00"), task("14:00:00", "15:00:00", "cc/00cc00", **machine)]
        result = costs([self.table("bill.csv", [split_line(ECS[1], "0.1", "0", line_item_currency_code="EUR")])],
                       [self.table("tasks.csv", tasks)], prices=self.table("prices.csv", Prices.LIST), by=["run"])
        self.exact(result)
        self.assertEqual({(row["currency"], row["state"]): Decimal(row["allocated"]) for row in result.rows},
                         {("EUR", "final"): Decimal("0.1"), ("USD", "estimate"): Decimal("0.52")})
        self.assertEqual(result.text().count("total"), 2)

    def test_prices_of_last_year(self) -> None:
        """The estimate has their date, and a note has their age."""
        store = self.folder / "data" / "libtracer"
        with mock.patch.dict(os.environ, {"XDG_DATA_HOME": str(self.folder / "data")}):
            import_prices(self.table("prices.csv", Prices.LIST), (datetime.date.today() - datetime.timedelta(days=365)).isoformat())
            result = costs([], [self.table("tasks.csv", [task("10:00:00", "11:00:00", machineType="m6i.xlarge", cloudZone="eu-west-1a")])])
        self.assertTrue((store / "prices.csv").exists())
        self.assertEqual([row["price_date"] for row in result.rows], [(datetime.date.today() - datetime.timedelta(days=365)).isoformat()])
        self.assertTrue(any("365 days old: import newer ones" in note for note in result.notes), result.notes)

    def test_other_input(self) -> None:
        with self.assertRaises(InvalidArgumentError):
            costs()
        with self.assertRaises(InvalidArgumentError):
            costs([self.table("bill.csv", [machine_line("1")])], by=["moon"])
        with self.assertRaises(InvalidArgumentError):
            costs([self.table("bill.csv", [machine_line("1")])], currency="dollars")
        self.refused("TRC130", "hash", bills=[self.table("bill.csv", [machine_line("1")])],
                     tasks=[self.table("tasks.csv", [{"name": "x"}])])


class CostCenters(CostCase):
    def rules(self, text: str) -> str:
        path = self.folder / "centers.toml"
        path.write_text(text)
        return str(path)

    GOOD = """schema = 1
[[center]]
name = "genomics"
pipelines = ["rna*"]
users = ["ann"]
test = { match = [{ pipeline = "rnaseq", user = "ann" }], other = [{ pipeline = "rnaseq", user = "bob" }] }
[[center]]
name = "tagged"
tags = { team = "x*" }
"""

    def test_first_that_fits(self) -> None:
        lines = [split_line(ECS[1], "0.1", "0"), split_line(ECS[2], "0.2", "0", run="r2", task="cc00cc00"),
                 machine_line("1", instance="z", line_item_usage_type="S3", resource_tags='{"team": "xy"}')]
        tasks = [task("10:00:00", "10:30:00"), task("10:00:00", "10:30:00", "cc/00cc00", "r2", user="bob")]
        result = self.costs(lines, tasks, by=["cost_center"], centers=self.rules(self.GOOD))
        self.assertEqual({row["cost_center"]: Decimal(row["billed"]) for row in result.rows},
                         {"genomics": Decimal("0.1"), "none": Decimal("0.2"), "tagged": Decimal("1")})

    def test_mistakes(self) -> None:
        bill = self.table("bill.csv", [machine_line("1")])
        for text, word in (("schema = 2", "schema"), ("schema = 1", "no [[center]]"), ("schema = 1\n[center]\nname = 'x'", "no [[center]]"),
                           ("schema = 1\ncenter = ['x']", "no [[center]]"),
                           ("schema = 1\n[[center]]\nname = 'x'\nusers = ['x']\ntest = { match = ['x'] }", "tables"), ("schema = 1\n[[center]]\nnam = 'x'", "nam"), ("schema = 1\n[[center]]\nname = 'x'", "no condition"),
                           (self.GOOD.replace('other = [{ pipeline = "rnaseq", user = "bob" }]', 'other = [{ pipeline = "rna", user = "ann" }]'), "example"),
                           ("schema = ", "centers.toml")):
            with self.assertRaises(RulesError) as caught:
                costs([bill], by=["cost_center"], centers=self.rules(text))
            self.assertIn(word, str(caught.exception))


class Database(TempDir):
    def test_its_folder_is_nobody_elses_and_ends_with_it(self) -> None:
        """Also where an error ends it. Another user can't have made it before: its name can't be guessed."""
        with mock.patch.object(tempfile, "tempdir", str(self.folder)):
            names = set()
            for fails in (False, True):
                with contextlib.suppress(ZeroDivisionError), connect() as connection:
                    connection.execute("SET memory_limit = '60MB'; SET threads = 1")
                    connection.execute("CREATE TABLE t AS SELECT range AS a, repeat('x', 40) || hash(range) AS b FROM range(3000000)")
                    [folder] = self.folder.iterdir()
                    self.assertEqual(folder.stat().st_mode & 0o7777, 0o700)
                    self.assertEqual(connection.execute("SELECT current_setting('temp_directory')").fetchone(), (str(folder),))
                    self.assertTrue(list(folder.iterdir()), "nothing was spilled")
                    names.add(folder.name)
                    if fails:
                        raise ZeroDivisionError
                self.assertEqual(list(self.folder.iterdir()), [])
        self.assertEqual(len(names), 2)


class CommandCase(CostCase):
    def tracer(self, *words: str, status: int = 0) -> subprocess.CompletedProcess[str]:
        result = subprocess.run([sys.executable, "-m", "tracer", *words], capture_output=True, text=True, timeout=120,
                                env=os.environ | {"XDG_DATA_HOME": str(self.folder / "data")})
        self.assertEqual(result.returncode, status, result.stderr)
        return result


class Prices(CommandCase):
    LIST = [{"cloud": "aws", "region": "eu-west-1", "instance_type": "m6i.xlarge", "vcpus": "4", "memory_gib": "16",
             "on_demand_usd_h": "1.04", "spot_usd_h": "0.52", "price_basis": "listed"}]

    def estimated(self, *tasks: dict[str, str], **options: Any) -> Costs:
        return costs([], [self.table("tasks.csv", tasks)], prices=self.table("prices.csv", self.LIST), **options)

    def test_an_estimate_is_no_price(self) -> None:
        machine = {"machineType": "m6i.xlarge", "cloudZone": "eu-west-1a", "priceModel": "spot"}
        result = self.estimated(task("10:00:00", "11:00:00", **machine))
        [row] = result.rows
        self.assertEqual((row["allocated"], row["state"], row["basis"]), ("0.260000000000", "estimate", "list price"))
        self.assertIsNone(row["billed"])
        self.assertIsNone(row["idle"])
        self.assertRegex(row["price_date"], r"^\d{4}-\d\d-\d\d$")
        # The first line says what is not in it; a bill's figures need no such line.
        self.assertIn("Capacity that no task held is not in it", result.text().splitlines()[0])
        self.assertIn("Capacity that no task held is not in it", result.to_json()["notes"][0])
        self.assertIn("Capacity that no task held is not in it", result.html())
        self.assertNotIn("Capacity", self.costs([machine_line("1")]).text())

    def test_older_parts_of_a_recording_come_first(self) -> None:
        names = ("b.tracer", "a.tracer", "host.tracer", "host.tracer.1", "host.tracer.10", "host.tracer.2", "x/host.tracer.1")
        (self.folder / "lake/x").mkdir(parents=True)
        for name in (*names, "host.tracer.0", "host.tracer.old", "host.tracer.html", "tracer.1"):
            (self.folder / "lake" / name).touch()
        self.assertEqual([os.path.relpath(path, self.folder / "lake") for path in recordings_in(str(self.folder / "lake"))],
                         ["a.tracer", "b.tracer", "host.tracer.10", "host.tracer.2", "host.tracer.1", "host.tracer", "x/host.tracer.1"])

    def test_a_task_in_two_files_counts_once(self) -> None:
        machine = {"machineType": "m6i.xlarge", "cloudZone": "eu-west-1a"}
        first = self.table("tasks.csv", [task("10:00:00", "11:00:00", **machine), task("10:00:00", "11:00:00", "cc/00cc00", **machine)])
        second = self.table("copy.csv", [task("10:00:00", "11:00:00", **machine, note="again")])
        prices = self.table("prices.csv", self.LIST)
        result = costs([], [first, second], prices=prices)
        self.assertEqual((result.tasks, Decimal(result.rows[0]["allocated"])), (2, Decimal("1.04")))
        self.assertIn("1 attempt is in several files: counted once", " ".join(result.notes))
        self.refused("TRC131", "named twice", tasks=[first, first], prices=prices)
        # Nor does it weigh twice in a bill.
        lines = self.table("bill.csv", [machine_line("1.00")])
        both = self.table("both.csv", [task("10:00:00", "11:00:00"), task("10:00:00", "11:00:00", "cc/00cc00", process="SORT")])
        once = self.table("once.csv", [task("10:00:00", "11:00:00")])
        found = costs([lines], [both, once], by=["step"], hosts=self.table("hosts.csv", [HOST]))
        self.assertEqual({row["step"]: Decimal(row["allocated"]) for row in found.rows}, {"ALIGN": Decimal("0.5"), "SORT": Decimal("0.5")})

    def test_no_price_no_region(self) -> None:
        result = self.estimated(task("10:00:00", "11:00:00", machineType="m6i.xlarge"), task("10:00:00", "11:00:00", "cc/00cc00"))
        self.assertEqual(result.rows, [])
        self.assertTrue(any("region is not known" in note for note in result.notes), result.notes)

    def test_no_size(self) -> None:
        machine = {"machineType": "m6i.xlarge", "cloudZone": "eu-west-1a"}
        result = self.estimated(task("10:00:00", "11:00:00", cpus="", memory="0", **machine))
        self.assertEqual(result.rows, [])
        self.assertIn("1 task has no estimate: its size is not known", result.notes)
        result = self.estimated(task("10:00:00", "11:00:00", memory="", **machine))
        self.assertEqual(Decimal(result.rows[0]["allocated"]), Decimal("0.36"))
        self.assertTrue(any("too low" in note for note in result.notes), result.notes)

    def test_time_that_no_command_used(self) -> None:
        """Seven tasks whose staging takes 1 to 7 s, and one that was repeated for an hour."""
        machine = {"machineType": "m6i.xlarge", "cloudZone": "eu-west-1a"}
        tasks = [task("10:00:00", f"10:10:{n:02}", f"{n}a/00cc00", realtime="600000", **machine) for n in range(1, 9)]
        tasks.append(task("10:00:00", "11:10:00", "aa/00aa00", realtime="600000", process="LONG", **machine))
        result = self.estimated(*tasks, by=["step"])
        long = next(Decimal(row["allocated"]) for row in result.rows if row["step"] == "LONG")
        self.assertLess(long, Decimal("0.52") * 660 / 3600)
        self.assertTrue(any("1 task took far longer" in note for note in result.notes), result.notes)

    def test_after_the_bill(self) -> None:
        """Two states, never one sum."""
        machine = {"machineType": "m6i.xlarge", "cloudZone": "eu-west-1a", "instance": ""}
        tasks = [task("10:00:00", "10:30:00"), task("14:00:00", "15:00:00", "cc/00cc00", **machine)]
        result = costs([self.table("bill.csv", [split_line(ECS[1], "0.1", "0")])], [self.table("tasks.csv", tasks)],
                       prices=self.table("prices.csv", self.LIST))
        self.exact(result)
        self.assertEqual({row["state"]: Decimal(row["allocated"]) for row in result.rows},
                         {"final": Decimal("0.1"), "estimate": Decimal("0.52")})
        # Lines of a whole month say nothing of how far the bill goes.
        month = {"line_item_usage_start_date": "2026-03-01T00:00:00Z", "line_item_usage_end_date": "2026-04-01T00:00:00Z"}
        lines = [split_line(ECS[1], "0.1", "0"), machine_line("3", instance="", line_item_line_item_type="Tax", **month),
                 machine_line("4", instance="i-0fff", line_item_line_item_type="RIFee", line_item_usage_type="x", **month),
                 machine_line("5", instance="vol-0123", line_item_usage_type="EU-EBS:VolumeUsage.gp3", **month)]
        result = costs([self.table("bill.csv", lines)], [self.table("tasks.csv", tasks)], prices=self.table("prices.csv", self.LIST))
        self.exact(result)
        self.assertEqual([Decimal(row["allocated"]) for row in result.rows if row["state"] == "estimate"], [Decimal("0.52")])

    def test_import_show_age(self) -> None:
        path = self.table("prices.csv", self.LIST)
        self.tracer("prices", "show", "m6i.xlarge", status=1)
        self.assertIn("the file's own date", self.tracer("prices", "import", path).stdout)
        old = self.table("tasks.csv", [task("10:00:00", "11:00:00", machineType="m6i.xlarge", cloudZone="eu-west-1a")])
        self.assertIn("the price list has no date", self.tracer("cost", old).stdout)
        (self.folder / "data/libtracer/prices.csv").unlink()
        self.assertIn("1 price of 2020-01-02, in", self.tracer("prices", "import", path, "--date", "2020-01-02").stdout)
        self.assertIn("import newer ones", self.tracer("prices", "age").stdout)
        self.assertIn("2020-01-02, listed", self.tracer("prices", "show", "m6i.xlarge", "--region", "eu-west-1").stdout)
        tasks = self.table("tasks.csv", [task("10:00:00", "11:00:00", machineType="m6i.xlarge", cloudZone="eu-west-1a")])
        shown = self.tracer("cost", tasks).stdout
        self.assertIn("not what you will be billed", shown)
        self.assertIn("days old", shown)

    def test_aws_price_list(self) -> None:
        def product(system: str) -> dict[str, Any]:
            return {"attributes": {"instanceType": "c7g.large", "regionCode": "eu-west-1", "operatingSystem": system, "tenancy": "Shared",
                                   "capacitystatus": "Used", "preInstalledSw": "NA", "vcpu": "2", "memory": "4 GiB"}}

        path = self.folder / "offer.json"
        path.write_text(json.dumps({"publicationDate": "2026-10-01T00:00:00Z", "products": {"A": product("Linux"), "B": product("Windows")},
                                    "terms": {"OnDemand": {"A": {"A.x": {"priceDimensions": {"y": {
                                        "unit": "Hrs", "pricePerUnit": {"USD": "0.0773"}}}}}}}}))
        self.assertIn("1 price of 2026-10-01", self.tracer("prices", "import", str(path)).stdout)
        self.assertIn("0.0773", self.tracer("prices", "show", "c7g.large").stdout)

    def test_aws_price_list_with_sizes_that_are_none(self) -> None:
        """AWS writes NA for some; what is no number at all is an error with its product."""
        def offer(memory: str, vcpu: str = "2", usd: str = "0.0773") -> str:
            path = self.folder / "offer.json"
            facts = {"instanceType": "u-x.metal", "regionCode": "eu-west-1", "operatingSystem": "Linux", "tenancy": "Shared",
                     "capacitystatus": "Used", "preInstalledSw": "NA", "vcpu": vcpu, "memory": memory}
            path.write_text(json.dumps({"publicationDate": "2026-10-01T00:00:00Z", "products": {"SKU1": {"attributes": facts}}, "terms": {
                "OnDemand": {"SKU1": {"x": {"priceDimensions": {"y": {"unit": "Hrs", "pricePerUnit": {"USD": usd}}}}}}}}))
            return str(path)

        machine = {"machineType": "u-x.metal", "cloudZone": "eu-west-1a"}
        tasks = self.table("tasks.csv", [task("10:00:00", "11:00:00", **machine)])
        for given in (("NA",), ("4 GiB", "NA")):
            result = costs([], [tasks], prices=offer(*given))
            self.assertEqual(result.rows, [])
            self.assertIn("1 task has no estimate: no price of u-x.metal in eu-west-1", result.notes)
        self.assertEqual(len(costs([], [tasks], prices=offer("1,952 GiB")).rows), 1)
        for given in (("many",), ("4 GiB", "two"), ("4 GiB", "2", "cheap"), ("4 GiB", "-2"), ("nan GiB",)):
            self.assertIn("product SKU1", self.tracer("prices", "import", offer(*given), status=1).stderr)
        # Nor from the store of prices, if somebody has changed it.
        self.tracer("prices", "import", offer("4 GiB"))
        store = self.folder / "data/libtracer/prices.csv"
        store.write_text(store.read_text().replace(",4,", ",NA,"))
        self.refused("TRC132", "row 1", "memory_gib", tasks=[tasks], prices=store)

    def test_bad_lists(self) -> None:
        for name, text, word in (("a.csv", "x,y\n1,2\n", "columns are missing"),
                                 ("b.csv", "cloud,region,instance_type,on_demand_usd_h\naws,eu,m,cheap\n", "row 1"),
                                 ("c.json", "{", "cut"), ("d.json", '{"publicationDate": "2026-10-01", "products": {"A": {"attributes": []}}, "terms": {}}', "AWS writes"),
                                 ("e.csv", "cloud,region,instance_type,on_demand_usd_h\naws,eu,m,1e400\n", "row 1"),
                                 ("f.csv", "cloud,region,instance_type,on_demand_usd_h\naws,eu,m," + "1" * 200_000, "cut or damaged")):
            (self.folder / name).write_text(text)
            self.assertIn(word, self.tracer("prices", "import", str(self.folder / name), status=1).stderr)

    def test_a_machine_of_no_size_has_no_estimate(self) -> None:
        """A list that has passed through a spreadsheet begins with a mark of its encoding."""
        path = self.table("prices.csv", [self.LIST[0] | {"vcpus": "0", "memory_gib": "0"}])
        Path(path).write_text("\ufeff" + Path(path).read_text())
        tasks = self.table("tasks.csv", [task("10:00:00", "11:00:00", machineType="m6i.xlarge", cloudZone="eu-west-1a")])
        result = costs([], [tasks], prices=path)
        self.assertEqual(result.rows, [])
        self.assertIn("1 task has no estimate: no price of m6i.xlarge in eu-west-1", result.notes)


_IN_CGROUPS = """
root=$1; shift
for path in "$@"; do
  mkdir -p "$root/$path"
  sh -c 'echo $$ > "$1/cgroup.procs"; exec sh -c "sleep 0.2; sort /etc/passwd | md5sum"' - "$root/$path" &
done
wait
"""


_ANNOUNCED = """
import os, subprocess, sys
import tracer
work = os.path.join(sys.argv[1], "work")
os.mkdir(work)
with tracer.session(record=sys.argv[2]) as session:
    session.announce(work_dir=work, context={"pipeline": "p", "run": "own", "step": "ALIGN", "task": "ALIGN (S1)", "task_id": "ab/12cd34"})
    subprocess.run(["sh", "-c", "sleep 0.2; md5sum /etc/passwd"], cwd=work, check=True, stdout=subprocess.DEVNULL)
"""


@unittest.skipUnless(os.path.exists(TRACERD), "needs tracerd")
@needs_tracing
class Recordings(CostCase):
    """Real programs in cgroups as the agent of ECS makes them."""

    def recorded(self, ids: Sequence[str]) -> str:
        mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
        points = [each[1] for each in mounts if each[2] == "cgroup" and "memory" in each[3].split(",")]
        points += [each[1] for each in mounts if each[2] == "cgroup2"]
        if not points or not os.access(points[0], os.W_OK):
            self.skipTest("no cgroup can be made")
        path = str(self.folder / "ecs.tracer")
        places = [f"ecs/{each}/{each}{each}" for each in ids]

        def clean() -> None:
            for place in places:
                os.rmdir(f"{points[0]}/{place}")
                os.rmdir(os.path.dirname(f"{points[0]}/{place}"))
            if not any(each.is_dir() for each in Path(points[0], "ecs").iterdir()):
                os.rmdir(f"{points[0]}/ecs")

        self.addCleanup(clean)
        done = subprocess.run([TRACERD, "run", "--record", path, "--", "sh", "-c", _IN_CGROUPS, "sh", points[0], *places],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return path

    def test_a_recording_and_its_engines_table_have_one_task(self) -> None:
        """The bill has the table's run; a copy, and an older part of a continued recording are read from a folder."""
        lake = self.folder / "lake"
        lake.mkdir()
        done = run_python(_ANNOUNCED, str(self.folder), str(lake / "host.tracer.1"))
        self.assertEqual(done.returncode, 0, done.stderr)
        shutil.copy(lake / "host.tracer.1", lake / "copy.tracer")
        trace = self.table("trace.csv", [task("10:00:00", "10:30:00")])
        bill = self.table("bill.csv", [split_line(ECS[1], "0.1", "0")])
        result = costs([bill], [str(lake), trace], by=["run", "step"])
        self.exact(result)
        self.assertEqual((result.tasks, result.tasks_joined), (1, 1), result.notes)
        self.assertEqual([(row["run"], row["step"], Decimal(row["allocated"])) for row in result.rows], [("r1", "ALIGN", Decimal("0.1"))])
        os.unlink(lake / "copy.tracer")
        self.assertEqual(costs([bill], [str(lake)]).tasks, 1)

    def test_by_cgroup_and_arn(self) -> None:
        recording = self.recorded(ECS[10:13])
        day = {"line_item_usage_start_date": "2020-01-01T00:00:00Z", "line_item_usage_end_date": "2099-01-01T00:00:00Z"}
        bill = self.table("bill.csv", [split_line(ECS[n], f"0.{n}", "0.01", run=None, **day) for n in range(10, 14)])
        result = costs([bill], [recording], by=["run"])
        self.exact(result)
        self.assertEqual((result.tasks, result.tasks_joined), (3, 3))
        self.assertEqual(self.sums(result), {"allocated": Decimal("0.33"), "idle": Decimal("0.03"), "not_attributable": Decimal("0.14")})
        result = costs([bill], [str(self.folder)], by=["tool"])
        self.exact(result)
        self.assertLessEqual({"sort", "md5sum", "sleep"}, {row["tool"] for row in result.rows})
        self.assertEqual(self.sums(result)["allocated"], Decimal("0.33"))


_BUSY = "import time\nwhile time.process_time() < 2: pass"


@unittest.skipUnless(os.path.exists(TRACERD), "needs tracerd")
@needs_tracing
class Hosts(CostCase):
    """The watch of this host, and its machine on a bill."""

    def recorded(self, *words: str) -> str:
        path, events = self.folder / "host.tracer", self.folder / "host.json"
        with subprocess.Popen([TRACERD, *words, "--record", path, "--json", events], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as watch:
            # What the CPUs did before its first look at them is nobody's.
            wait_until(lambda: events.exists() and '"snapshot_end"' in events.read_text(errors="replace"), "its first snapshot")
            subprocess.run([sys.executable, "-c", _BUSY], check=True)
            watch.terminate()
        return str(path)

    def bill(self, path: str) -> tuple[str, str, Any]:
        """Two hours around the recording, at 1 USD each; the machine has the id i-0abc and this host's name."""
        host = tracer.read(path).host
        now = datetime.datetime.fromtimestamp(time.time(), datetime.timezone.utc).replace(minute=0, second=0, microsecond=0)
        lines = [machine_line("1.00", product_vcpu="", product_memory="") | {
            "line_item_usage_start_date": (now + datetime.timedelta(hours=n)).isoformat(),
            "line_item_usage_end_date": (now + datetime.timedelta(hours=n + 1)).isoformat()} for n in (-1, 0)]
        return self.table("bill.csv", lines), self.table("hosts.csv", [{"instance": "i-0abc", "host_name": host.host_name}]), host

    def test_a_process_in_no_run_is_system_and_the_rest_of_the_hour_is_not_observed(self) -> None:
        path = self.recorded("watch", "--host")
        bill, hosts, host = self.bill(path)
        result = costs([bill], [path], by=["kind"], hosts=hosts)
        self.exact(result)
        sums = self.sums(result)
        # Where others are not known, it is not observed.
        samples = [row for row in tracer.read(path).host_samples.to_dicts()
                   if row["system_cpu_ns"] is not None and row["system_memory_bytes"] is not None]
        seconds = sum(row["time_ns"] - row["since_ns"] for row in samples) / 1e9
        self.assertGreater(seconds, 1)
        watched = float(sums.get("idle", 0) + sums.get("system", 0))
        self.assertAlmostEqual(watched, seconds / 3600, places=6)
        self.assertAlmostEqual(float(sums["unobserved"]), 2 - seconds / 3600, places=6)
        # At least the two seconds of CPU of the process, and at most what the kernel says of others.
        gib = host.memory_bytes / (1 << 30)
        used = float(sums["system"]) * 3600 * (9 * host.cpu_count + gib)
        cpu = sum(row["system_cpu_ns"] for row in samples) / 1e9
        self.assertGreaterEqual(cpu, 1.8)
        held = max(row["system_memory_bytes"] for row in samples) / (1 << 30) * seconds
        self.assertGreaterEqual(used, 9 * 1.8)
        self.assertLessEqual(used, (9 * cpu + held) * 1.01)

    def test_the_type_and_region_of_a_host_give_an_estimate(self) -> None:
        path = str(self.folder / "run.tracer")
        subprocess.run([TRACERD, "run", "--record", path, "--step", "s", "--", "sleep", "0.5"], check=True, stderr=subprocess.DEVNULL)
        hosts = self.table("hosts.csv", [{"instance": "i-0abc", "host_name": tracer.read(path).host.host_name,
                                          "instance_type": "m6i.xlarge", "region": "eu-west-1"}])
        prices = self.table("prices.csv", Prices.LIST)
        [row] = costs([], [path], hosts=hosts, prices=prices, by=["step"]).rows
        # It has requested nothing: a CPU's part of what it used, and its memory.
        self.assertEqual((row["step"], row["state"], row["basis"]), ("s", "estimate", "list price"))
        self.assertGreater(Decimal(row["allocated"]), 0)
        self.assertLess(Decimal(row["allocated"]), Decimal("1.04") * 60 / 3600)
        self.assertEqual(costs([], [path], prices=prices, by=["step"]).rows, [])

    def test_a_task_in_a_task_counts_once(self) -> None:
        """Also one in make's shell, which is a task, too."""
        busy = f"{sys.executable} -S -c 'import time\nheld = b\"x\" * (50 << 20)\nwhile time.process_time() < 0.4: pass'"
        inner = f"{TRACERD} task --step inner -- {busy}"
        script = self.folder / "inner.sh"
        script.write_text(f"{inner}\n")
        (self.folder / "Makefile").write_text(f"out:\n\tsh {script} > out\n")
        for name, words in (("task", [TRACERD, "task", "--step", "outer", "--", "sh", "-c", f"sh {script}; true"]),
                            ("make", ["make", "-f", str(self.folder / "Makefile")])):
            with self.subTest(name):
                path = str(self.folder / f"{name}.tracer")
                subprocess.run([TRACERD, "run", "--no-history", "--record", path, "--", *words], check=True, cwd=self.folder,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                read = tracer.read(path)
                outer, within = sorted(read.tasks.to_dicts(), key=lambda each: -(each["end_ns"] - each["begin_ns"]))
                hosts = self.table("hosts.csv", [{"instance": "i-0abc", "host_name": read.host.host_name, "instance_type": "m6i.xlarge",
                                                  "region": "eu-west-1"}])
                prices = self.table("prices.csv", Prices.LIST)
                rows = {row["step"]: Decimal(row["allocated"]) for row in costs([], [path], hosts=hosts, prices=prices, by=["step"]).rows}
                # 36 of its 52 weigh its CPUs.
                seconds = (outer["end_ns"] - outer["begin_ns"]) / 1e9
                peak = (outer["peak_bytes"] or outer["peak_at_least_bytes"]) / (1 << 30)
                whole = 1.04 / 3600 * (9 * outer["cpu_ns"] / 1e9 + peak * seconds) / 52
                self.assertAlmostEqual(float(sum(rows.values())) / whole, 1, delta=0.01)
                self.assertGreater(rows["inner"], rows["outer" if name == "task" else None])
                self.assertEqual([row["step"] for row in tune([path]).rows], ["inner"])
                self.assertEqual([row["step"] for row in recommend([path], prices=prices).rows], ["inner"])
                replayed = what_if(path, cpus=[1])
                self.assertEqual(replayed.tasks, 1)
                self.assertLess(replayed.rows[0]["cpu_share"] * replayed.rows[0]["wall_ns"], 1.05 * outer["cpu_ns"])
                # The one that an engine asked for counts, with all that is inside.
                trace = self.table("trace.csv", [{"hash": outer["task_id"], "process": outer["step"] or "", "cpus": "2", "memory": str(4 << 30), "status": "COMPLETED"}])
                self.assertEqual([row["attempts"] for row in tune([path, trace]).rows], [1])
                self.assertEqual(tune([path, trace]).rows[0]["memory_requested_bytes"], 4 << 30)

    def test_a_recording_of_a_part_of_its_host_says_nothing_of_the_rest(self) -> None:
        path = str(self.folder / "run.tracer")
        subprocess.run([TRACERD, "run", "--record", path, "--", "true"], check=True, stderr=subprocess.DEVNULL)
        bill, hosts, _ = self.bill(path)
        result = costs([bill], [path], hosts=hosts)
        self.exact(result)
        self.assertEqual(self.sums(result), {"unobserved": Decimal(2)})


class Commands(CommandCase):
    def test_table_json_csv(self) -> None:
        bill = self.table("bill.csv", [split_line(ECS[1], "0.100000000000001", "0.2")])
        tasks = self.table("tasks.csv", [task("10:00:00", "10:30:00")])
        table = self.tracer("cost", "--bill", bill, tasks, "--by", "run,step").stdout
        self.assertLessEqual(table.count("\n"), 25)
        self.assertIn("difference to the bill: 0.000000000000000 over 1 line,", table)
        content = json.loads(self.tracer("cost", "--bill", bill, tasks, "--json").stdout)
        [row] = content["rows"]
        self.assertEqual((row["allocated"], row["idle"], row["billed"]), ("0.100000000000001", "0.200000000000000", "0.300000000000001"))
        [line] = csv.DictReader(self.tracer("cost", "--bill", bill, tasks, "--csv").stdout.splitlines())
        self.assertEqual(line["billed"], "0.300000000000001")

    def test_what_the_table_says_of_itself(self) -> None:
        """Idle capacity first; what its words mean; names that differ at their end."""
        step = "NFCORE_SAREK:SAREK:BAM_VARIANT_CALLING_GERMLINE_ALL:"
        bill = self.table("bill.csv", [split_line(ECS[n], "0.25", "0.75", task=f"{n}b12cd34ffff", **{"bill_invoice_id": ""}) for n in (1, 2)])
        tasks = self.table("tasks.csv", [task("10:00:00", "10:30:00", f"{n}b/12cd34", process=step + name, realtime="1200000")
                                         for n, name in ((1, "HAPLOTYPECALLER"), (2, "DEEPVARIANT"))])
        table = self.tracer("cost", "--bill", bill, tasks, "--by", "step").stdout
        self.assertIn("75 % of this bill (1.50 of 2.00 USD) paid for capacity that stood idle\n", table)
        for word in ("GERMLINE_ALL:HAPLOTYPECALLER ", "GERMLINE_ALL:DEEPVARIANT ", "of it staging: while a task's container ran",
                     "open: a line has no invoice yet, and may change", "over 2 lines,"):
            self.assertIn(word, table)
        # Without idle capacity, no word of it.
        self.assertNotIn("stood idle", self.tracer("cost", "--bill", bill, tasks, "--idle", "spread").stdout)

    def test_saved_recordings(self) -> None:
        """A job of Slurm that is a task of Nextflow counts once; a run goes by its name."""
        prices = self.table("prices.csv", [{"cloud": "aws", "region": "r", "instance_type": "m", "vcpus": "2", "memory_gib": "8", "on_demand_usd_h": "1"}])
        hosts = self.table("hosts.csv", [{"instance": "i-1", "host_name": "node1", "instance_type": "m", "region": "r"}])
        for name, count, run in (("nextflow-slurm", 17, "slurm.py"), ("nextflow-24", 17, "first_run")):
            path = str(RECORDINGS / f"{name}.tracer")
            content = json.loads(self.tracer("cost", path, "--hosts", hosts, "--prices", prices, "--json").stdout)
            self.assertEqual((content["tasks"], len(content["rows"]), content["notes"][1:-1]), (count, 1, []))
            self.assertRegex(self.tracer("cost", path, "--hosts", hosts, "--prices", prices).stdout, rf"(?m)^{run} +0\.")
            self.assertIn("17 tasks have no estimate: the machine's type is not known; name it with --hosts hosts.csv",
                          self.tracer("cost", path, "--prices", prices).stdout)

    def test_another_total(self) -> None:
        bill = self.table("bill.csv", [machine_line("1.5")])
        self.tracer("cost", "--bill", bill, "--total", "1.50")
        self.assertIn("not to 1.51", self.tracer("cost", "--bill", bill, "--total", "1.51", status=1).stderr)
        # An invoice is in cents.
        bill = self.table("bill.csv", [machine_line("218.472804")])
        for total, status in (("218.47", 0), ("218.472804", 0), ("218.48", 1), ("218.4728", 0), ("218.47281", 1), ("218", 1), ("nan", 2)):
            self.tracer("cost", "--bill", bill, "--total", total, status=status)

    def test_errors(self) -> None:
        self.assertIn("TRC130", self.tracer("cost", "--bill", self.table("x.csv", [{"a": "1"}]), status=1).stderr)
        self.assertIn("TRC110", self.tracer("cost", "--bill", str(self.folder / "none.csv"), status=1).stderr)
        self.assertIn("TRC101", self.tracer("cost", status=2).stderr)
        self.assertIn("TRC110", self.tracer("cost", str(self.folder / "none.tracer"), status=1).stderr)
        for words, said in ((["repot", "x"], "there is no 'repot': did you mean 'report'?"), (["table", "x"], "there is no 'table'\n"),
                            (["cost", "--basis", "moon"], "there is no 'moon': one of billed, effective, list")):
            error = self.tracer(*words, status=2).stderr
            self.assertIn(said, error)
            self.assertNotIn("choose from", error)
        self.assertIn("TRC101", self.tracer("cost", "--by", "moon", self.table("x.csv", [{"a": "1"}]), status=2).stderr)

    def test_many_rows_stay_short(self) -> None:
        bill = self.table("bill.csv", [machine_line("1", instance=f"i-{n:04x}") for n in range(100)])
        shown = self.tracer("cost", "--bill", bill, "--by", "instance").stdout
        self.assertLessEqual(shown.count("\n"), 25)
        self.assertIn("(88 more)", shown)

    def test_nothing_heavy_at_import(self) -> None:
        code = "import sys, tracer, tracer.cost; print('duckdb' in sys.modules)"
        self.assertEqual(run_python(code).stdout.strip(), "False")


if __name__ == "__main__":
    unittest.main()
