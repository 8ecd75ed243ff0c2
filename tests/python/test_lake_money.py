# SPDX-License-Identifier: Apache-2.0
"""cost, tune and sweep of a lake: what its tables say is what its recordings say."""

from __future__ import annotations

import os
import shutil
import unittest
from typing import Any
from unittest import mock

from lake_doubles import Gateway, environment, versitygw
from test_lake_tables import BOOT, HAS_LAKE, LakeCase

if HAS_LAKE:
    from lakes import on_host, put, recording

    from tracer._data import connect, table_of
    from tracer.cost import costs
    from tracer.cost._tasks import create, read_tasks
    from tracer.sweep import sweep
    from tracer.tune import tune

RUNS = ("retries", "nextflow-25", "nextflow-slurm", "snakemake", "service-alice")
# Clocks: in tables, by the offset at the end of a row; in a recording, by that of its begin.
_CLOCK_US = 50_000


def tasks_of(path: str) -> list[dict[str, Any]]:
    with connect() as connection:
        create(connection)
        read_tasks(connection, [path], [])
        rows = table_of(connection, """SELECT * EXCLUDE (task, source, "user"), t1 - t0 AS life_us FROM tasks ORDER BY key, t0""")
        hosts = table_of(connection, "SELECT DISTINCT host_name, vcpus, memory_gib, sampled FROM hosts ORDER BY ALL")
        rows += [{"t0": 0, "t1": 0, **host} for host in hosts]
        rows += [{"t0": 0, "t1": 0, **row} for row in table_of(connection, "SELECT DISTINCT host_name, instance FROM recordings ORDER BY ALL")]
        return rows


class Money(LakeCase):
    def setUp(self) -> None:
        super().setUp()
        for name in RUNS:
            put(self.lake, recording(name))
        put(self.lake, on_host(recording("failures"), "node2", BOOT))

    def raw(self) -> str:
        """The recordings alone: no lake."""
        return str(shutil.copytree(self.lake / "raw", self.folder / "raw"))

    def check_tasks(self, found: list[dict[str, Any]], wanted: list[dict[str, Any]]) -> None:
        self.assertEqual(len(found), len(wanted))
        for mine, theirs in zip(found, wanted):
            for time in ("t0", "t1"):
                self.assertLess(abs(mine.pop(time) - theirs.pop(time)), _CLOCK_US)
            # Both ends are rounded to the microsecond.
            self.assertAlmostEqual(mine.pop("life_us", 0), theirs.pop("life_us", 0), delta=1)
            self.assertAlmostEqual(mine.pop("used_cpus", None) or 0, theirs.pop("used_cpus", None) or 0, places=2)
            self.assertEqual(mine, theirs)

    def test_tasks_and_machines(self) -> None:
        self.compact("files")
        wanted = tasks_of(self.raw())
        self.assertGreater(len(wanted), 60)
        self.check_tasks(tasks_of(self.url), wanted)

    def test_tune(self) -> None:
        raw = self.raw()
        self.compact("files")

        def rows(path: str) -> list[dict[str, Any]]:
            # Only samples say how many CPUs a task wanted at a time.
            return sorted(({key: value for key, value in row.items() if "advised" not in key and key not in ("cpus_wanted", "reasons", "tool")}
                           for row in tune([path]).rows), key=lambda row: repr((row["pipeline"], row["step"])))

        for mine, theirs in zip(rows(self.url), rows(raw), strict=True):
            for key, value in theirs.items():
                if isinstance(value, float):
                    # Times to the microsecond, both ends rounded.
                    self.assertAlmostEqual(mine[key], value, delta=max(2e-6, 1e-3 * value), msg=key)
                else:
                    self.assertEqual(mine[key], value, key)
        self.assertEqual({(row["cpus_wanted"], row["advised_cpus"]) for row in tune([self.url]).rows}, {(None, None)})

    def test_cost(self) -> None:
        self.compact()
        (self.folder / "prices.csv").write_text(
            "cloud,region,instance_type,vcpus,memory_gib,on_demand_usd_h,spot_usd_h,price_basis\naws,eu-west-1,m6i.xlarge,4,16,1.04,0.52,listed\n")
        (self.folder / "hosts.csv").write_text("instance,host_name,instance_type,region\ni-1,node1,m6i.xlarge,eu-west-1\n")

        def rows(path: str) -> list[dict[str, Any]]:
            result = costs([], [path], by=["pipeline", "run", "step"], prices=self.folder / "prices.csv", hosts=self.folder / "hosts.csv")
            return sorted(({key: row[key] for key in ("pipeline", "run", "step", "allocated")} for row in result.rows),
                          key=lambda row: repr((row["pipeline"], row["run"], row["step"])))

        found, wanted = rows(self.url), rows(self.raw())
        self.assertGreater(sum(float(row["allocated"] or 0) for row in wanted), 0.0001)
        for mine, theirs in zip(found, wanted, strict=True):
            # A task's life is that of its clock: to the microsecond, both ends rounded.
            self.assertAlmostEqual(float(mine.pop("allocated") or 0), float(theirs.pop("allocated") or 0), places=7)
            self.assertEqual(mine, theirs)
        notes = costs([], [self.url], prices=self.folder / "prices.csv").notes
        self.assertIn("its tables go up to", " ".join(notes))

    def test_without_tables_the_recordings_are_read(self) -> None:
        self.check_tasks(tasks_of(self.url), tasks_of(self.raw()))


@unittest.skipUnless(versitygw(), "needs versitygw: go install github.com/versity/versitygw/cmd/versitygw@latest")
class Bucket(LakeCase):
    def setUp(self) -> None:
        super().setUp()
        gateway = Gateway(self.folder)
        gateway.start()
        self.addCleanup(gateway.stop)
        patch = mock.patch.dict(os.environ, environment(gateway.url, gateway.ca))
        patch.start()
        self.addCleanup(patch.stop)
        self.lake, self.url = gateway.objects / "x", "s3://lake/x"
        for name in ("retries", "standing-still", "service-host"):
            put(self.lake, recording(name))

    def test_cost_and_tune_and_sweep(self) -> None:
        wanted = sweep([shutil.copytree(self.lake / "raw", self.folder / "raw")])
        found = sweep([self.url])
        self.assertEqual((found.machines, [each.text for each in found.findings]), (wanted.machines, [each.text for each in wanted.findings]))
        self.compact()
        self.assertEqual(len(tasks_of(self.url)), len(tasks_of(str(self.folder / "raw"))))
        self.assertTrue(tune([self.url]).rows)


if __name__ == "__main__":
    unittest.main()
