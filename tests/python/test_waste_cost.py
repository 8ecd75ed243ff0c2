# SPDX-License-Identifier: Apache-2.0
"""The waste of a run has a cost where a price is known, in its table, page and notebook; else it has none."""

from __future__ import annotations

import dataclasses
import datetime
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from decimal import Decimal
from unittest import mock

from recordings import PRINT_REPORT
from support import TRACERD, TempDir, needs_tracing, wait_until

import tracer
from tracer import InvalidArgumentError, Report
from tracer._report import report_of_path, report_of_paths
from tracer.cost._prices import import_prices

# Two tasks of half a second request two CPUs and 8 GiB, and use next to nothing.
_TASKS = """
import os, subprocess, sys, tracer
with tracer.session(record=sys.argv[1]) as session:
    for n in range(2):
        work = f"{sys.argv[1]}.{n}"
        os.mkdir(work)
        session.announce(work_dir=work, context={"pipeline": "p", "run": "r", "step": "s", "task": f"s {n}", "task_id": f"t{n}"},
                         requested=REQUESTED)
        subprocess.run(["sleep", "0.5"], cwd=work, check=True)
"""
_BOTH = '{"millicpus": 2000, "memory_bytes": 8 << 30}'
_LIST = "cloud,region,instance_type,vcpus,memory_gib,on_demand_usd_h,spot_usd_h,price_basis"


def record(path: str, requested: str = _BOTH) -> str:
    subprocess.run([sys.executable, "-B", "-c", _TASKS.replace("REQUESTED", requested), path], check=True, timeout=60)
    return path


def lines_of(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("waste: ")]


@needs_tracing
class OfOneRecording(TempDir):
    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.mkdtemp(prefix="tracer-waste-cost-")
        cls.addClassCleanup(shutil.rmtree, folder, True)
        cls.recording = record(os.path.join(folder, "both.tracer"))

    def setUp(self) -> None:
        super().setUp()
        patch = mock.patch.dict(os.environ, {"XDG_DATA_HOME": str(self.folder / "data")})
        patch.start()
        self.addCleanup(patch.stop)

    def on(self, report: Report, *types: str) -> Report:
        """As if its machines had said that they are of these types: this one does not."""
        return dataclasses.replace(report, instance_types=types)

    def import_list(self, *rows: str) -> None:
        path = self.folder / "prices.csv"
        path.write_text("\n".join([_LIST, *rows]) + "\n")
        import_prices(str(path), "2026-10-01")


class WasteCost(OfOneRecording):
    def test_a_price_that_is_given(self) -> None:
        report = report_of_path(self.recording).with_price("360", date="2026-11-01")
        waste = json.loads(report.to_json())["waste"]
        self.assertEqual((waste["cpu_tasks"], waste["memory_tasks"]), (2, 2))
        # A second in which two CPUs and 8 GiB were held: 26 of what the machine weighs.
        whole = 9 * report.host.cpu_count + report.host.memory_bytes / 2**30
        cost = report.waste_cost
        self.assertTrue(360 / 3600 * 26 / whole * 0.95 < float(cost.amount) < 360 / 3600 * 26 / whole * 1.5, cost)
        unused = 9 * waste["unused_cpu_hours"] + waste["unused_memory_gib_hours"]
        self.assertAlmostEqual(float(cost.amount), 360 * unused / whole, places=5)
        self.assertEqual((cost.currency, cost.basis, cost.price_date), ("USD", "given", "2026-11-01"))
        self.assertIn("about ", cost.text)
        self.assertIn("an estimate by the given price, 360 USD an hour, of 2026-11-01", cost.text)
        for text in (repr(report), report.text("task"), report._repr_mimebundle_()["text/plain"]):
            line, = lines_of(text)
            self.assertTrue(line.endswith(f"; {cost.text}"), line)
        self.assertEqual(report.html().count(cost.text), 2)  # the page and its text
        # The report itself has none, and its figures do not change.
        plain = report_of_path(self.recording)
        self.assertIsNone(plain.waste_cost)
        self.assertNotIn("USD", repr(plain) + plain.html() + plain.to_json())
        figures = json.loads(report.to_json())
        del figures["waste_cost"]
        self.assertEqual(json.loads(plain.to_json()), figures)

    def test_rich(self) -> None:
        try:
            from rich.console import Console
        except ImportError:
            self.skipTest("needs rich")
        report = report_of_path(self.recording).with_price(10)
        shown = io.StringIO()
        Console(file=shown, width=400).print(report)
        self.assertIn(f"; {report.waste_cost.text}", shown.getvalue())
        self.assertIn(datetime.date.today().isoformat(), report.waste_cost.text)

    def test_an_imported_price_of_a_type_that_is_known(self) -> None:
        report = self.on(report_of_path(self.recording), "m6i.large")
        self.assertIsNone(report.waste_cost)
        self.import_list("aws,eu-west-1,m6i.large,2,8,0.107,0.05,listed", "aws,us-east-1,c6i.large,2,4,0.085,0.03,listed")
        cost = report.waste_cost
        waste = json.loads(report.to_json())["waste"]
        self.assertAlmostEqual(float(cost.amount), 0.107 * (9 * waste["unused_cpu_hours"] + waste["unused_memory_gib_hours"]) / 26,
                               places=5)
        self.assertGreater(Decimal(cost.amount), 0)
        self.assertEqual((cost.basis, cost.price_date), ("listed", "2026-10-01"))
        self.assertIn("by the list price of m6i.large in eu-west-1 on demand, 0.107 USD an hour, of 2026-10-01", repr(report))
        # A given price is the nearer one.
        self.assertEqual(report.with_price(1).waste_cost.basis, "given")

    def test_what_is_not_known_has_no_cost(self) -> None:
        report = report_of_path(self.recording)
        self.import_list("aws,eu-west-1,m6i.large,2,8,0.107,0.05,listed", "aws,us-east-1,m6i.large,2,8,0.096,0.04,listed",
                         "aws,us-east-1,c6i.large,,,0.085,0.03,listed", "aws,us-east-1,m5.large,2,8,,0.03,listed")
        # No type, another type, two types, two regions, no size, no price.
        for types in ((), ("m7i.large",), ("m6i.large", "m6a.large"), ("m6i.large",), ("c6i.large",), ("m5.large",)):
            with self.subTest(types):
                self.assertIsNone(self.on(report, *types).waste_cost)
                self.assertNotIn("USD", repr(self.on(report, *types)))
        self.assertIn("us-east-1", self.on(report, "m6i.large").with_price(region="us-east-1").waste_cost.text)
        self.assertIsNone(self.on(report, "m6i.large").with_price(region="eu-north-1").waste_cost)
        # Nothing is wasted where nothing was requested.
        plain = str(self.folder / "plain.tracer")
        subprocess.run([sys.executable, "-B", "-c", f"import tracer, subprocess\nwith tracer.session(record={plain!r}): subprocess.run(['true'])"],
                       check=True, timeout=60)
        self.assertIsNone(report_of_path(plain).with_price(10).waste_cost)
        self.assertNotIn("USD", repr(report_of_path(plain).with_price(10)))

    def test_a_part_that_is_not_known_is_a_lower_bound(self) -> None:
        report = report_of_path(record(str(self.folder / "cpus.tracer"), '{"millicpus": 2000}')).with_price(360)
        self.assertTrue(report.waste_cost.text.startswith("at least "), report.waste_cost)

    def test_old_and_estimated_prices_say_so(self) -> None:
        report = self.on(report_of_path(self.recording), "m6i.large")
        self.import_list("aws,eu-west-1,m6i.large,2,8,0.107,0.05,estimated")
        self.assertIn("of 2026-10-01 (estimated)", report.waste_cost.text)
        self.assertIn("days old", report.with_price(1, date="2020-01-01").waste_cost.text)

    def test_names_in_a_list_can_not_change_a_page(self) -> None:
        report = self.on(report_of_path(self.recording), 'x</script>"\\')
        self.import_list('aws,"<b>""\\","x</script>""\\",2,8,0.107,0.05,listed')
        cost = report.waste_cost
        for sign in '<>"\\/':
            self.assertNotIn(sign, cost.text)
        self.assertEqual(report.html().count("</script>"), report_of_path(self.recording).html().count("</script>"))

    def test_bad_prices(self) -> None:
        report = report_of_path(self.recording)
        for price in (0, -1, "x", "", float("nan"), float("inf"), [], 10**9):
            with self.subTest(price), self.assertRaises(InvalidArgumentError):
                report.with_price(price)  # type: ignore[arg-type]
        with self.assertRaises(InvalidArgumentError):
            report.with_price(1, date="yesterday")

    def test_the_type_that_a_recording_of_a_host_says(self) -> None:
        """What the machine says in its samples, which is nothing here or one type, is what counts."""
        path, events = self.folder / "host.tracer", self.folder / "host.json"
        with subprocess.Popen([TRACERD, "watch", "--host", "--record", path, "--json", events], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as watch:
            wait_until(lambda: events.exists() and '"snapshot_end"' in events.read_text(errors="replace"), "a snapshot")
            watch.terminate()
        samples = tracer.read(path).host_samples.to_dicts()
        self.assertTrue(samples)
        types = {row["instance_type"] for row in samples} - {None}
        for report in (report_of_path(path), report_of_paths([str(path), self.recording]), tracer.read(path).report):
            self.assertEqual(set(report.instance_types), types)

    def test_the_command(self) -> None:
        path = self.recording

        def run(*words: str, status: int = 0) -> str:
            done = subprocess.run([sys.executable, "-m", "tracer", "report", path, *words], capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, status, done.stderr)
            return done.stdout + done.stderr

        self.assertNotIn("USD", run("--text"))
        self.assertIn("by the given price, 0.5 USD an hour, of 2026-11-01", run("--text", "--price", "0.5", "--price-date", "2026-11-01"))
        self.assertIn("by the given price", run("--price", "0.5", "-o", "-"))
        self.assertEqual(json.loads(run("--json", "--price", "0.5"))["waste_cost"]["usd_per_hour"], "0.5")
        for words in (("--text", "--price", "x"), ("--text", "--price-date", "2026-11-01"),
                      ("--text", "--price", "1", "--price-date", "1")):
            self.assertIn("TRC101", run(*words, status=2))


class ChosenPrice(OfOneRecording):
    """tracer prices use: what tracerd, C and Python show of one recording is the same."""

    def tracer(self, *words: str, status: int = 0) -> str:
        done = subprocess.run([sys.executable, "-m", "tracer", *words], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout + done.stderr

    def tracerd(self, *words: str) -> str:
        done = subprocess.run([TRACERD, "report", *words, self.recording], capture_output=True, text=True, timeout=60,
                              env=os.environ | {"LC_ALL": "C.UTF-8"})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout + done.stderr

    def choose(self) -> None:
        self.import_list("aws,eu-west-1,m6i.large,2,8,0.107,0.05,listed", "aws,us-east-1,m6i.large,2,8,0.096,,listed",
                         "aws,us-east-1,c6i.large,2,4,0.085,0.03,estimated")
        self.tracer("prices", "use", "m6i.large", "--region", "eu-west-1")

    def test_all_show_the_same_cost(self) -> None:
        self.choose()
        report = report_of_path(self.recording)
        text = self.tracerd("--json")
        self.assertEqual(text, report.to_json() + "\n")
        self.assertEqual(text, self.tracer("report", "--json", self.recording))
        price = str(self.folder / "data" / "libtracer" / "price.json")
        printed = subprocess.run([PRINT_REPORT, self.recording, price], capture_output=True, text=True, timeout=60, check=True)
        self.assertEqual(text, printed.stdout)
        made, cost = json.loads(text), report.waste_cost
        self.assertEqual(made["waste_cost"], {
            "amount": cost.amount, "currency": "USD", "state": "estimate", "basis": "listed", "price_date": "2026-10-01",
            "instance_type": "m6i.large", "region": "eu-west-1", "model": "on-demand", "usd_per_hour": "0.107",
            "usd_per_cpu_hour": "0.037038461538", "usd_per_gib_hour": "0.004115384615", "text": cost.text})
        for name in made["waste_cost"]:
            self.assertEqual(made["waste_cost"][name], getattr(cost, name), name)
        # In exact decimals, from the hours that are shown.
        exact = sum(Decimal(made["waste_cost"][f"usd_per_{part}_hour"]) * Decimal(repr(made["waste"][f"unused_{name}_hours"]))
                    for part, name in (("cpu", "cpu"), ("gib", "memory_gib")))
        self.assertLessEqual(abs(exact - Decimal(cost.amount)), Decimal("0.0000005000001"))
        line, = lines_of(self.tracerd())
        self.assertTrue(line.endswith(f"; {cost.text}"), line)
        self.assertIn("by the list price of m6i.large in eu-west-1 on demand, 0.107 USD an hour, of 2026-10-01", line)
        self.assertEqual([line], lines_of(repr(report)))
        for page in (report.html(), self.tracerd("--html")):
            self.assertEqual(page.count(cost.text), 2)

    def test_the_order_of_prices(self) -> None:
        self.choose()
        report = report_of_path(self.recording)
        self.assertEqual(report.waste_cost.instance_type, "m6i.large")
        # A given price is the nearest; then that of the type that the recording says; then the chosen one.
        self.assertEqual(report.with_price(1).waste_cost.basis, "given")
        self.assertEqual(self.on(report, "c6i.large").waste_cost.instance_type, "c6i.large")
        self.assertIsNone(report.with_price(region="eu-north-1").waste_cost)

    def test_what_can_be_chosen(self) -> None:
        self.choose()
        self.assertIn("m6i.large in eu-west-1, spot: 0.05 USD an hour, of 2026-10-01, listed; in ",
                      self.tracer("prices", "use", "m6i.large", "--region", "eu-west-1", "--model", "spot"))
        self.assertIn("eu-west-1 as spot, 0.05 USD", self.tracerd())
        for words in (("m6i.large",), ("m7i.large",), ("m6i.large", "--region", "us-east-1", "--model", "spot"),
                      ("c6i.large", "--region", "eu-west-1")):
            with self.subTest(words):
                self.assertIn("TRC101", self.tracer("prices", "use", *words, status=2))
        # What was chosen before stays.
        self.assertIn("eu-west-1 as spot, 0.05 USD", self.tracerd())

    def test_a_damaged_file_is_said_once_and_changes_nothing_else(self) -> None:
        plain = self.tracerd()
        self.choose()
        path = self.folder / "data" / "libtracer" / "price.json"
        whole = path.read_text()
        for damaged in ("", "{}", whole[:-5], whole.replace("0.037038461538", "x"), whole.replace("USD", "EUR")):
            with self.subTest(damaged[:20]):
                path.write_text(damaged)
                text = self.tracerd()
                self.assertEqual(text.count("tracerd: the waste has no cost: "), 1)
                self.assertEqual([line for line in text.splitlines() if not line.startswith("tracerd: the waste")], plain.splitlines())
                text = self.tracer("report", "--text", self.recording)
                self.assertEqual(text.count("TRC110"), 1)
                self.assertEqual(lines_of(text), lines_of(plain))
                self.assertEqual(self.tracer("report", "-o", "-", self.recording).count("TRC110"), 1)
                with self.assertWarns(RuntimeWarning):
                    self.assertIsNone(report_of_path(self.recording).waste_cost)
        path.unlink()
        self.assertEqual(self.tracerd(), plain)


if __name__ == "__main__":
    unittest.main()
