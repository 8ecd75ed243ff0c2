# SPDX-License-Identifier: Apache-2.0
"""CSV with names that others chose: no cell is a formula, none steers a terminal, numbers stay numbers."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
import unittest
from decimal import Decimal
from typing import Any

from support import TempDir
from tracer._csv import csv_of
from tracer.cost import costs

try:
    import duckdb
except ImportError:
    duckdb = None  # type: ignore[assignment]

FORMULAS = ("=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "-x", "-", "-1 2", "+1")
STEERS = "a\x1b[31m\x9b\u202eb\nc\u200b=1"
SHOWN = "a\\x1b[31m\\x9b\\u202eb\\x0ac\\u200b=1"


class Cells(unittest.TestCase):
    def cells(self, *values: object) -> list[str]:
        header, *rows = csv.reader(io.StringIO(csv_of(["value", "end"], [{"value": value, "end": "."} for value in values])))
        self.assertEqual(header, ["value", "end"])
        return [value for value, _ in rows]

    def test_formulas_are_texts(self) -> None:
        self.assertEqual(self.cells(*FORMULAS), ["'" + name.replace("\t", "\\x09").replace("\r", "\\x0d") for name in FORMULAS])

    def test_what_hides_or_steers_is_written_out(self) -> None:
        self.assertEqual(self.cells(STEERS, "\ud800"), [SHOWN, "\\ud800"])

    def test_numbers_and_plain_names_stay(self) -> None:
        values = (-3, -0.5, 1e-300, Decimal("-1.50"), "-1.50", "-12", "-1E-7", "", True, "SORT", "a=b", "a-b", "für 10 µs", 'x, "y"')
        self.assertEqual(self.cells(*values), [str(value) for value in values])
        self.assertEqual(self.cells(None), [""])


@unittest.skipIf(duckdb is None, "needs duckdb")
class Commands(TempDir):
    def table(self, name: str, rows: list[dict[str, Any]]) -> str:
        path = self.folder / name
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        return str(path)

    def rows(self, *words: str, status: int = 0) -> list[dict[str, str]]:
        result = subprocess.run([sys.executable, "-m", "tracer", *words, "--csv"], capture_output=True, timeout=120,
                                env=os.environ | {"XDG_DATA_HOME": str(self.folder / "data")})
        self.assertEqual(result.returncode, status, result.stderr)
        text = result.stdout.decode()
        self.assertFalse([c for c in text if (c < " " or "\x7f" <= c <= "\x9f" or c in "\u200b\u202e") and c != "\n"])
        return list(csv.DictReader(io.StringIO(text, newline="")))

    def tasks(self) -> str:
        return self.table("tasks.csv", [
            {"run_id": "r1", "pipeline": "=1+1", "hash": f"{n:02x}/{n:06x}", "process": step, "tag": "@x", "status": "COMPLETED", "exit": 0,
             "start": "2026-03-01T10:00:00Z", "complete": "2026-03-01T11:00:00Z", "realtime": 3600000, "cpus": 2, "memory": 8 << 30,
             "%cpu": 50, "peak_rss": 1 << 30, "machineType": "m6i.xlarge", "cloudZone": "eu-west-1a"}
            for n, step in enumerate(("=cmd|x", STEERS) * 6)])

    def test_tune(self) -> None:
        rows = self.rows("tune", self.tasks())
        self.assertEqual({row["step"] for row in rows}, {"'=cmd|x", SHOWN})
        self.assertEqual({row["pipeline"] for row in rows}, {"'=1+1"})
        self.assertEqual({row["cpus_requested"] for row in rows}, {"2.0"})

    def test_cost(self) -> None:
        prices = self.table("prices.csv", [{"cloud": "aws", "region": "eu-west-1", "instance_type": "m6i.xlarge", "vcpus": "4",
                                            "memory_gib": "16", "on_demand_usd_h": "1.04", "spot_usd_h": "0.52", "price_basis": "listed"}])
        rows = self.rows("cost", self.tasks(), "--prices", prices, "--by", "pipeline,step,sample")
        self.assertEqual({(row["pipeline"], row["step"], row["sample"]) for row in rows},
                         {("'=1+1", "'=cmd|x", "'@x"), ("'=1+1", SHOWN, "'@x")})

    def test_credits_of_a_bill_stay_numbers(self) -> None:
        bill = self.table("bill.csv", [{
            "line_item_line_item_type": "Credit", "line_item_product_code": "AmazonEC2", "line_item_resource_id": "i-1",
            "line_item_usage_start_date": "2026-03-01T10:00:00Z", "line_item_usage_end_date": "2026-03-01T11:00:00Z",
            "line_item_unblended_cost": "-2.5", "line_item_currency_code": "USD", "bill_invoice_id": "INV1"}])
        [row] = self.rows("cost", "--bill", bill)
        self.assertEqual(Decimal(row["billed"]), Decimal("-2.5"))

    def test_currencies(self) -> None:
        """A bill's, in its table, facts and notes, too."""
        lines = [{"line_item_line_item_type": "Usage", "line_item_product_code": "AmazonEC2", "line_item_resource_id": "i-1",
                  "line_item_usage_start_date": "2026-03-01T10:00:00Z", "line_item_usage_end_date": "2026-03-01T11:00:00Z",
                  "line_item_unblended_cost": "2.5", "line_item_currency_code": code, "bill_invoice_id": "INV1"}
                 for code in (STEERS, "=1")]
        bill = self.table("bill.csv", lines)
        self.assertEqual({row["currency"] for row in self.rows("cost", "--bill", bill)}, {SHOWN, "'=1"})
        text = costs([bill]).text()
        self.assertIn(SHOWN, text)
        for hidden in "\x1b\x9b\u202e\u200b":
            self.assertNotIn(hidden, text)

    def test_sweep(self) -> None:
        volumes = self.folder / "volumes.json"
        volumes.write_text(json.dumps({"Volumes": [
            {"VolumeId": name, "State": "available", "CreateTime": "2026-03-01T10:00:00+00:00", "Size": 500, "AvailabilityZone": "eu-west-1b",
             "Tags": [{"Key": "Owner", "Value": "\x9b\u202e"}]} for name in ("=cmd|x", "@SUM(A1)")]}))
        rows = self.rows("sweep", "--inventory", str(volumes), status=3)
        self.assertEqual({row["machine"] for row in rows}, {"'=cmd|x", "'@SUM(A1)"})
        for row in rows:
            json.loads(row["evidence"])


if __name__ == "__main__":
    unittest.main()
