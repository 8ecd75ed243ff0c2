# SPDX-License-Identifier: Apache-2.0
"""Machines for steps whose needs are known, from price lists that are made up: tracer.recommend, tracer recommend."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import unittest
from typing import Any

from support import TRACERD, TempDir, needs_tracing, run_python

try:
    import duckdb
except ImportError:
    duckdb = None  # type: ignore[assignment]

from tracer import BillError, InvalidArgumentError, RecordingError, WhatIfError
from tracer.cost._prices import Price, read_prices
from tracer.recommend import recommend
from tracer.recommend._choose import arches_of, candidates_of, memory_of, recommend_step
from tracer.recommend._evidence import Step
from tracer.recommend._families import facts_of, read_families
from tracer.recommend._images import platforms_of
from tracer.tune._memory import Evidence, allocation
from tracer.whatif._workload import Phase

SECOND, GIB = 1_000_000_000, 1 << 30


def price(kind: str, vcpus: float, gib: float, hourly: float, spot: float | None = None, region: str = "eu-west-1", **more: str) -> Price:
    return Price("aws", region, kind, str(vcpus), str(gib), str(hourly), "" if spot is None else str(spot), "listed",
                 "2026-10-01", **more)


# At 0.04 USD for each vCPU, and 0.005 for each GiB; those with a disk or a network cost more.
LIST = [price("c6i.large", 2, 4, 0.10), price("c6i.2xlarge", 8, 16, 0.40), price("m6i.large", 2, 8, 0.12),
        price("m6i.2xlarge", 8, 32, 0.48), price("r6i.large", 2, 16, 0.16), price("r6i.2xlarge", 8, 64, 0.64), price("c6id.2xlarge", 8, 16, 0.48),
        price("c6in.2xlarge", 8, 16, 0.52), price("c7g.large", 2, 4, 0.05), price("t3.large", 2, 8, 0.01),
        price("g5.xlarge", 4, 16, 0.01)]


def step(cpu: float = 60, runnable: float = 1, wait: float = 0, n: int = 8, peak: float = 1, **more: Any) -> Step:
    """Of n tasks, in seconds and GiB."""
    found = Step("p", "ALIGN", [(Phase(cpu * SECOND, runnable, wait * SECOND),)] * n, [round((cpu + wait) * SECOND)] * n,
                 [round(peak * GIB)] * n, binaries={"x86_64": {"bwa"}}, without_image=n)
    for name, value in more.items():
        setattr(found, name, value)
    return found


class Choices(unittest.TestCase):
    def row(self, of: Step, prices: list[Price] | None = None, images: dict[str, set[str]] | None = None) -> dict[str, Any]:
        return recommend_step(of, candidates_of(LIST if prices is None else prices, None, None), images or {})

    def test_one_thread(self) -> None:
        """The smallest: a second CPU would be idle. Neither CPU credits nor Arm nor a GPU, however cheap."""
        row = self.row(step())
        self.assertEqual((row["instance_type"], row["tasks_at_once"], row["family"], row["purchase"]),
                         ("c6i.large", 1, "compute", "on_demand"))
        self.assertEqual((row["expected_wall_ns"], row["usd_per_task"]), (60 * SECOND, f"{0.10 / 60:.6f}"))
        self.assertEqual((row["price_date"], row["price_basis"], row["cpus"]), ("2026-10-01", "listed", 2))

    def test_two_at_once_share_a_machine(self) -> None:
        row = self.row(step(at_once=2))
        self.assertEqual((row["instance_type"], row["tasks_at_once"], row["usd_per_task"]), ("c6i.large", 2, f"{0.05 / 60:.6f}"))

    def test_threads(self) -> None:
        """Eight threads are done in an eighth of the time on eight CPUs, for the same money as in a quarter of it on two."""
        row = self.row(step(runnable=8))
        self.assertEqual((row["instance_type"], row["expected_wall_ns"], row["threads"]), ("c6i.2xlarge", 7.5 * SECOND, 8))

    def test_waits_are_not_paid_for_on_many_cpus(self) -> None:
        row = self.row(step(runnable=8, wait=300))
        self.assertEqual(row["instance_type"], "c6i.large")

    def test_memory_decides(self) -> None:
        row = self.row(step(peak=12))
        self.assertEqual((row["instance_type"], row["family"]), ("r6i.large", "memory"))
        self.assertIn("memory decides the size", row["reasons"][0])
        # 15.3 GiB and the margin are more than a machine of 16 GiB has beside the system.
        self.assertEqual(self.row(step(peak=15.3))["instance_type"], "m6i.2xlarge")
        none = self.row(step(peak=100))
        self.assertIsNone(none["instance_type"])
        self.assertIn("no machine", none["reasons"][0])

    def test_bound_by_disk_and_network(self) -> None:
        for bound, kind, words in (("disk", "c6id.2xlarge", "local disks"), ("network", "c6in.2xlarge", "much network"),
                                   ("compute", "c6i.large", None)):
            row = self.row(step(bounds={bound: 8.0}, shares={bound: 6.0}))
            self.assertEqual((row["instance_type"], row["bound_by"], row["bound_share"]), (kind, bound, 0.75))
            self.assertEqual(any(words and words in reason for reason in row["reasons"]), words is not None)
        row = self.row(step(bounds={"disk": 8.0}, shares={"disk": 6.0}), LIST[:2])
        self.assertEqual(row["instance_type"], "c6i.large")
        self.assertIn("no machine with local disks is known", row["reasons"][0])

    def test_too_little_network(self) -> None:
        slow = price("a.small", 2, 8, 0.1, arch="x86_64", network_gbps="1")
        fast = price("b.small", 2, 8, 0.2, arch="x86_64", network_gbps="10")
        self.assertEqual(self.row(step(network_bytes_per_s=2e8), [slow, fast])["instance_type"], "b.small")
        self.assertEqual(self.row(step(network_bytes_per_s=2e7), [slow, fast])["instance_type"], "a.small")

    def test_short_of_memory(self) -> None:
        row = self.row(step(peak=6, bounds={"memory": 8.0}, shares={"memory": 8.0}))
        # What ran short of memory has a fifth more.
        self.assertEqual(row["memory_bytes"], round(round(6 * GIB * 1.0625) * 1.2))
        self.assertIn("ran short of memory", row["risks"][0])

    def test_regions(self) -> None:
        prices = [price("c6i.large", 2, 4, 0.10), price("c6i.large", 2, 4, 0.08, region="us-east-1")]
        self.assertEqual(self.row(step(), prices)["region"], "us-east-1")
        self.assertEqual(len(candidates_of(prices, "eu-west-1", None)), 1)
        self.assertEqual(candidates_of(prices, None, "gcp"), [])

    def test_nothing_is_known(self) -> None:
        self.assertIn("none of its tasks succeeded", self.row(Step("p", "ALIGN", failed=3))["reasons"][0])
        row = self.row(step(peaks_bytes=[]))
        self.assertEqual((row["instance_type"], row["memory_bytes"]), (None, None))
        self.assertIn("its peak is not known", row["reasons"][0])


class Spot(unittest.TestCase):
    def row(self, interruption: str, hours: float = 1, spot: float | None = 0.04) -> dict[str, Any]:
        prices = [price("c6i.large", 2, 4, 0.10, spot, spot_interruption=interruption)]
        return recommend_step(step(cpu=hours * 3600), candidates_of(prices, None, None), {})

    def test_only_with_a_risk(self) -> None:
        row = self.row("")
        self.assertEqual((row["purchase"], row["spot_usd_per_hour"], row["spot_interruption"]), ("on_demand", "0.04", None))
        self.assertIn("on demand: the price list does not say how often spot machines are taken back", row["reasons"])
        self.assertIn("on demand: no spot price is known", self.row("0.05", spot=None)["reasons"])
        self.assertIn("on demand: no limit is known to how often spot machines are taken back", self.row("1")["reasons"])

    def test_cheaper(self) -> None:
        row = self.row("0.05")
        self.assertEqual((row["purchase"], row["usd_per_hour"]), ("spot", "0.04"))
        self.assertAlmostEqual(float(row["usd_per_task"]), 0.04, places=5)
        self.assertIn("5% of such machines are taken back in a month", row["risks"][0])

    def test_too_long(self) -> None:
        """A month of work is taken back too often: half of it runs again."""
        self.assertEqual(self.row("0.9", hours=730)["purchase"], "on_demand")


class Memory(unittest.TestCase):
    def test_margin_shrinks(self) -> None:
        """By the rule of `tracer tune`."""
        needs = [memory_of(step(n=n, peak=10))[0] or 0 for n in (1, 5, 10, 100)]
        self.assertEqual(needs[0], round(10 * GIB * 1.5))
        self.assertEqual(needs, sorted(needs, reverse=True))
        self.assertEqual(needs[2], round(allocation(Evidence.of([10 * GIB] * 10), None) or 0))
        self.assertEqual(needs[3], round(10 * GIB * 1.03))
        self.assertEqual(memory_of(step(n=10, peak=0.01))[1], "at least 500 MB (the largest of 10 peaks: 10 MiB)")
        self.assertEqual(memory_of(step(n=1, peak=0.01))[1], "at least 500 MB (the only peak: 10 MiB)")
        self.assertEqual(memory_of(step(n=1, peak=10))[1], "50% more than the only peak")

    def test_few_keep_the_request(self) -> None:
        self.assertEqual(memory_of(step(n=4, requested_bytes=8 * GIB))[0], 8 * GIB)
        self.assertLess(memory_of(step(n=5, requested_bytes=8 * GIB))[0] or 0, 2 * GIB)
        # A request that is too small is none.
        self.assertEqual(memory_of(step(n=4, peak=9, requested_bytes=8 * GIB))[0], round(9 * GIB * 1.125))
        self.assertEqual(memory_of(step(peaks_bytes=[], requested_bytes=8 * GIB))[0], 8 * GIB)

    def test_a_kill_raises_it(self) -> None:
        calm, killed = step(n=10, peak=4), step(n=10, peak=4, at_least_bytes=6 * GIB, short_of_memory=1)
        self.assertGreater(memory_of(killed)[0] or 0, 6 * GIB)
        self.assertLess(memory_of(calm)[0] or 0, 5 * GIB)
        self.assertIn("1 task had too little", memory_of(killed)[1])
        self.assertIn("ran short of memory", recommend_step(killed, candidates_of(LIST, None, None), {})["risks"][0])
        # A peak that is known from below only is no kill.
        seen = step(n=10, peak=4, at_least_bytes=6 * GIB)
        self.assertGreater(memory_of(seen)[0] or 0, 6 * GIB)
        self.assertFalse(any("short" in risk for risk in recommend_step(seen, candidates_of(LIST, None, None), {})["risks"]))

    def test_killed_and_nobody_knows_why(self) -> None:
        self.assertEqual(memory_of(step(n=10, peak=1, requested_bytes=8 * GIB, lost=2)),
                         (8 * GIB, "as requested: 2 tasks were killed, neither peak nor limit known"))
        # A request that is too small is none.
        self.assertGreater(memory_of(step(n=10, peak=9, requested_bytes=8 * GIB, lost=2))[0] or 0, 9 * GIB)


class Arm(unittest.TestCase):
    def test_seen_there(self) -> None:
        both = step(binaries={"x86_64": {"bwa", "samtools"}, "arm64": {"bwa", "samtools"}})
        self.assertEqual(arches_of(both, {})[0], {"x86_64", "arm64"})
        self.assertEqual(recommend_step(both, candidates_of(LIST, None, None), {})["instance_type"], "c7g.large")
        part = step(binaries={"x86_64": {"bwa", "samtools"}, "arm64": {"bwa"}})
        arches, why = arches_of(part, {})
        self.assertEqual((arches, "samtools" in why, "bwa" in why), ({"x86_64"}, True, False))
        # On each, another program: neither is complete, and Arm needs all.
        self.assertEqual(arches_of(step(binaries={"x86_64": {"bwa"}, "arm64": {"bwa2"}}), {})[0], {"x86_64"})
        self.assertEqual(recommend_step(part, candidates_of(LIST, None, None), {})["instance_type"], "c6i.large")

    def test_only_there(self) -> None:
        arches, why = arches_of(step(binaries={"arm64": {"bwa"}}), {})
        self.assertEqual((arches, "not on x86-64" in why), ({"arm64"}, True))

    def test_images(self) -> None:
        of = step(images={"star:2"}, without_image=0)
        self.assertEqual(arches_of(of, {"star:2": {"x86_64", "arm64"}})[0], {"x86_64", "arm64"})
        arches, why = arches_of(of, {"star:2": {"x86_64"}})
        self.assertEqual((arches, "its image is for x86_64 only" in why), ({"x86_64"}, True))
        self.assertIn("--image", arches_of(of, {})[1])
        # A task without an image may run anything.
        self.assertEqual(arches_of(step(images={"star:2"}, without_image=1), {"star:2": {"x86_64", "arm64"}})[0], {"x86_64"})


class Files(TempDir):
    def table(self, rows: list[dict[str, str]]) -> str:
        path = self.folder / "prices.csv"
        with open(path, "w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        return str(path)

    def test_more_columns_of_prices(self) -> None:
        row = {"cloud": "aws", "region": "eu-west-1", "instance_type": "m6gd.large", "vcpus": "2", "memory_gib": "8",
               "on_demand_usd_h": "0.1", "spot_usd_h": "0.04", "arch": "aarch64", "gpu_count": "0", "local_disk_gb": "118", "network_gbps": "10"}
        for text, share in (("<5%", "0.05"), ("5-10%", "0.1"), (">20%", "1"), ("0.07", "0.07"), ("15 %", "0.15"), ("", "")):
            [found] = read_prices(self.table([row | {"spot_interruption": text}]))
            self.assertEqual((found.arch, found.gpus, found.local_disk_gb, found.network_gbps, found.spot_interruption),
                             ("arm64", "0", "118", "10", share), text)
        for name, value in (("spot_interruption", "often"), ("spot_interruption", "7"), ("local_disk_gb", "large")):
            with self.assertRaises(BillError) as caught:
                read_prices(self.table([row | {name: value}]))
            self.assertIn("row 1", str(caught.exception))

    def test_aws_list(self) -> None:
        facts = {"operatingSystem": "Linux", "tenancy": "Shared", "capacitystatus": "Used", "preInstalledSw": "NA",
                 "regionCode": "eu-west-1", "instanceType": "c7gd.xlarge", "vcpu": "4", "memory": "8 GiB", "physicalProcessor": "AWS Graviton3 Processor",
                 "storage": "1 x 237 NVMe SSD", "networkPerformance": "Up to 12.5 Gigabit"}
        content = {"publicationDate": "2026-09-01T00:00:00Z", "products": {"A": {"attributes": facts}}, "terms": {"OnDemand": {"A": {
            "A.1": {"priceDimensions": {"A.1.1": {"unit": "Hrs", "pricePerUnit": {"USD": "0.18"}}}}}}}}
        path = self.folder / "list.json"
        path.write_text(json.dumps(content))
        [found] = read_prices(path)
        self.assertEqual((found.arch, found.local_disk_gb, found.network_gbps, found.date), ("arm64", "237", "12.5", "2026-09-01"))

    def test_names_of_machines(self) -> None:
        self.assertGreater(len(read_families()), 3)
        for kind, arch, disk, network, burstable in (
                ("m7gd.large", "arm64", True, False, False), ("c6in.xlarge", "x86_64", False, True, False),
                ("t4g.large", "arm64", False, False, True),
                ("g4dn.xlarge", "x86_64", True, True, False), ("i4i.large", "x86_64", True, False, False)):
            facts = facts_of(price(kind, 2, 8, 1))
            assert facts is not None
            self.assertEqual((facts.arch, facts.local_disk, facts.network, facts.burstable), (arch, disk, network, burstable), kind)
        # The list knows better.
        facts = facts_of(price("m7gd.large", 2, 8, 1, arch="x86_64", local_disk_gb="0"))
        assert facts is not None
        self.assertEqual((facts.arch, facts.local_disk), ("x86_64", False))

    def test_manifests(self) -> None:
        index = {"manifests": [{"platform": {"architecture": "amd64"}}, {"platform": {"architecture": "arm64"}},
                               {"platform": {"architecture": "unknown"}}]}
        verbose = [{"Ref": "x", "Descriptor": {"platform": {"architecture": "amd64"}}}]
        for content, found in ((index, {"x86_64", "arm64"}), (verbose, {"x86_64"}), ({"Architecture": "arm64"}, {"arm64"})):
            path = self.folder / "manifest.json"
            path.write_text(json.dumps(content))
            self.assertEqual(platforms_of(str(path)), found)
        for text in ("", "{", "[]", "{}", "3", '{"manifests": 7}', '[{"Descriptor": 3}]', '{"manifests": [{"platform": []}]}'):
            path.write_text(text)
            with self.assertRaises(WhatIfError) as caught:
                platforms_of(str(path))
            self.assertEqual(caught.exception.code, "TRC135")
        with self.assertRaises(RecordingError):
            platforms_of(str(self.folder / "none.json"))


# Five hold 100 MiB. A sixth holds all that it has asked for, and says itself that it gets no more.
_AT_ITS_LIMIT = """
import os, subprocess, sys
import tracer
HOLD = 'import sys; held = bytearray(b"x") * (int(sys.argv[1]) << 20); sys.exit(int(sys.argv[2]))'
with tracer.session(record=os.path.join(sys.argv[1], "run.tracer")) as session:
    for n in range(6):
        work = os.path.join(sys.argv[1], f"t{n}")
        os.mkdir(work)
        session.announce(work_dir=work, context={"pipeline": "p", "run": "r", "step": "hold", "task": f"hold {n}", "task_id": f"t{n}"},
                         requested={"memory_bytes": 1000 << 20})
        subprocess.run([sys.executable, "-c", HOLD, *(("990", "1") if n == 5 else ("100", "0"))], cwd=work)
"""


@unittest.skipIf(duckdb is None, "needs duckdb")
class Commands(Files):
    def prices(self) -> str:
        return self.table([{"cloud": each.cloud, "region": each.region, "instance_type": each.instance_type, "vcpus": each.vcpus,
                            "memory_gib": each.memory_gib, "on_demand_usd_h": each.on_demand, "spot_usd_h": each.spot} for each in LIST])

    def test_bad_arguments(self) -> None:
        with self.assertRaises(InvalidArgumentError):
            recommend([])
        with self.assertRaises(RecordingError):
            recommend([self.folder / "none.tracer"], prices=self.prices())
        with self.assertRaises(WhatIfError) as caught:
            recommend(["x"], region="mars-1", prices=self.prices())
        self.assertEqual(caught.exception.code, "TRC136")
        self.assertIn("eu-west-1", str(caught.exception))
        for words, status in ((["x", "--image", "a"], 2), (["x", "--rows", "0"], 2), ([], 2), (["x", "--prices", "none.csv"], 1)):
            done = subprocess.run([sys.executable, "-m", "tracer", "recommend", *words], capture_output=True, text=True, timeout=60)
            self.assertEqual((done.returncode, done.stdout), (status, ""), done.stderr)

    @needs_tracing
    def test_a_recording(self) -> None:
        path = self.folder / "run.tracer"
        script = "for i in 1 2 3 4 5 6; do echo $i; done | xargs -P 2 -I{} sh -c 'seq 1 30000 | sort -R > /dev/null'"
        subprocess.run([TRACERD, "run", "--no-history", "--no-live", "--record", path, "--", "sh", "-c", script], check=True,
                       capture_output=True, timeout=60)
        result = recommend([path], prices=self.prices())
        [row] = result.rows
        self.assertEqual((row["tasks"], row["failed"], row["arch"], row["purchase"]), (6, 0, "x86_64", "on_demand"))
        self.assertEqual(row["instance_type"], "c6i.large")
        self.assertGreater(row["peak_bytes"], 1 << 20)
        # xargs itself is no program of the task, though a fork of it began each.
        why = next(reason for reason in row["reasons"] if "not on Arm" in reason)
        self.assertTrue("sort" in why and "seq" in why and "xargs" not in why, why)
        with self.assertRaises(InvalidArgumentError) as caught:
            recommend([path], step="none", prices=self.prices())
        self.assertIn(row["step"], str(caught.exception))
        done = subprocess.run([sys.executable, "-m", "tracer", "recommend", path, "--prices", self.prices(), "--step", row["step"]],
                              capture_output=True, text=True, timeout=60)
        for word in ("c6i.large", "not what you will be billed", "2026-", "no spot price is known", "assumed:"):
            self.assertIn(word, done.stdout, done.stderr)

    @needs_tracing
    def test_what_failed_at_its_limit(self) -> None:
        """Advice is never below what was too little, as with tracer tune, though no kernel has killed it."""
        done = run_python(_AT_ITS_LIMIT, str(self.folder), timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        [row] = recommend([self.folder / "run.tracer"], prices=self.prices()).rows
        self.assertEqual((row["tasks"], row["failed"]), (5, 1))
        self.assertLess(row["peak_bytes"], 200 << 20)
        self.assertGreaterEqual(row["memory_bytes"], 1000 << 20)
        self.assertIn("1 task had too little", row["memory_basis"])
        self.assertIn("ran short of memory", row["risks"][0])


if __name__ == "__main__":
    unittest.main()
