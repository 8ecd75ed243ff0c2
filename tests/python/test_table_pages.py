# SPDX-License-Identifier: Apache-2.0
"""Pages of cost, tune and sweep: whole by themselves, readable at the width of a phone and in the dark, whatever names say."""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import os
import re
import subprocess
import sys
import unittest
from html.parser import HTMLParser
from typing import Any

from browser import CHROMIUM, Browser
from support import ROOT, TempDir
from tracer._table_page import STYLE, page_of, table_html

try:
    import duckdb
except ImportError:
    duckdb = None  # type: ignore[assignment]

HOSTILE = "<img src=x onerror=\"document.title='evil'\">&amp;\u202eright"
LONG = "NFCORE_RNASEQ:RNASEQ:PREPARE_GENOME:" + "A_VERY_LONG_NAME" * 6


class Cells(HTMLParser):
    """The texts of a table's cells, and the names of all elements."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.elements: set[str] = set()
        self._in_cell = False

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.elements.add(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("th", "td"):
            self._in_cell = True
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        self._in_cell = self._in_cell and tag not in ("th", "td")

    def handle_data(self, data: str) -> None:
        if self._in_cell:
            self.rows[-1][-1] += data


class Pages(unittest.TestCase):
    def test_colors_are_those_of_reports(self) -> None:
        theirs = (ROOT / "views/src/style.css").read_text(encoding="utf-8")
        for block, start in (("light", ":root {"), ("dark", "prefers-color-scheme: dark) {")):
            ours, reports = (dict(re.findall(r"(--[a-z]+): (#\w+)", style[style.index(start):].split("}")[0])) for style in (STYLE, theirs))
            self.assertTrue(ours)
            self.assertEqual({name: reports[name] for name in ours}, ours, block)

    def test_names_stay_texts_and_only_the_own_style_counts(self) -> None:
        page = page_of(HOSTILE, [(HOSTILE, table_html((HOSTILE, "n"), [(HOSTILE, "1")], {1}))])
        parser = Cells()
        parser.feed(page)
        shown = HOSTILE.replace("\u202e", "\\u202e")
        self.assertEqual(parser.rows, [[shown, "n"], [shown, "1"]])
        self.assertFalse({"img", "script", "link", "iframe"} & parser.elements)
        digest = re.search(r"style-src 'sha256-([^']+)'", page)
        style = re.search(r"<style>(.*)</style>", page, re.DOTALL)
        assert digest and style
        self.assertEqual(base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode(), digest[1])


@unittest.skipIf(duckdb is None, "needs duckdb")
class CommandPages(TempDir):
    def table(self, name: str, rows: list[dict[str, Any]]) -> str:
        path = self.folder / name
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        return str(path)

    def page(self, *words: str, status: int = 0) -> str:
        result = subprocess.run([sys.executable, "-m", "tracer", *words, "--html"], capture_output=True, text=True, timeout=120,
                                env=os.environ | {"XDG_DATA_HOME": str(self.folder / "data")}, encoding="utf-8")
        self.assertEqual(result.returncode, status, result.stderr)
        return result.stdout

    def pages(self) -> dict[str, str]:
        tasks = [{"run_id": "r1", "pipeline": "rnaseq", "hash": f"{n:02x}/{n:06x}", "process": step, "tag": f"S{n % 9}", "status": "COMPLETED",
                  "exit": 0, "start": "2026-03-01T10:00:00Z", "complete": "2026-03-01T11:00:00Z", "realtime": 3600000, "cpus": 2,
                  "memory": 8 << 30, "time": 14400000, "%cpu": 50, "peak_rss": (1 << 30) + n * (1 << 24), "machineType": "m6i.xlarge",
                  "cloudZone": "eu-west-1a"} for step_number, step in enumerate((LONG, HOSTILE, "SORT")) for n in range(step_number * 20, step_number * 20 + 8)]
        prices = self.table("prices.csv", [{"cloud": "aws", "region": "eu-west-1", "instance_type": "m6i.xlarge", "vcpus": "4", "memory_gib": "16",
                                            "on_demand_usd_h": "1.04", "spot_usd_h": "0.52", "price_basis": "listed"}])
        trace = self.table("tasks.csv", tasks)
        volumes = self.folder / "volumes.json"
        volumes.write_text(json.dumps({"Volumes": [
            {"VolumeId": f"vol-{n}", "State": "available", "CreateTime": "2026-03-01T10:00:00+00:00", "Size": 500,
             "AvailabilityZone": "eu-west-1b", "Tags": [{"Key": "Owner", "Value": HOSTILE}]} for n in range(3)]}))
        return {"cost": self.page("cost", trace, "--prices", prices, "--by", "pipeline,step,sample"),
                "tune": self.page("tune", trace, "--prices", prices), "sweep": self.page("sweep", "--inventory", str(volumes), status=3)}

    def test_each_has_its_rows(self) -> None:
        pages = self.pages()
        shown = HOSTILE.replace("\u202e", "\\u202e")
        found = {}
        for name, page in pages.items():
            parser = Cells()
            parser.feed(page)
            self.assertFalse({"img", "script"} & parser.elements)
            found[name] = parser.rows
        self.assertEqual([row[0] for row in found["sweep"]], ["finding", "unattached", "unattached", "unattached"])
        self.assertEqual({row[0] for row in found["tune"][1:]}, {LONG, shown, "SORT"})
        self.assertEqual(len(found["cost"]), 26)
        self.assertEqual(found["cost"][-1][:4], ["total", "", "", "12.48"])
        self.assertIn("they are no prices", pages["cost"])
        self.assertIn("GiB hours reserved", pages["tune"])
        self.assertIn("delete it, or keep a snapshot", pages["sweep"])

    def test_nothing_is_wasted(self) -> None:
        (self.folder / "v.json").write_text('{"Volumes": []}')
        self.assertIn("nothing is wasted", self.page("sweep", "--inventory", str(self.folder / "v.json")))

    @unittest.skipUnless(CHROMIUM, "there is no chromium")
    def test_in_a_browser(self) -> None:
        browser = Browser()
        self.addCleanup(browser.close)
        for name, page in self.pages().items():
            path = self.folder / f"{name}.html"
            path.write_text(page, encoding="utf-8")
            light = 0.0
            for width, scheme in ((1200, "light"), (1200, "dark"), (390, "light"), (390, "dark")):
                with self.subTest(name, width=width, scheme=scheme):
                    browser.send("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=False)
                    browser.scheme(scheme)
                    browser.open(str(path), ready="true")
                    self.assertEqual(browser.complaints(), [])
                    self.assertEqual(len(browser.requests()), 1)
                    self.assertEqual(browser.run("document.title"), name.capitalize())
                    # Nothing is cut off or beside the screen; a wide table scrolls by itself, but not on a phone.
                    self.assertLessEqual(browser.run("document.documentElement.scrollWidth"), width)
                    if width < 720:
                        self.assertTrue(browser.run("[...document.querySelectorAll('.wide')].every((each) => each.scrollWidth <= each.clientWidth)"))
                        self.assertNotIn(browser.run("getComputedStyle(document.querySelector('td'), '::before').content"), ("none", "normal"))
                    _, _, rows = browser.picture()
                    bright = sum(sum(pixel) for row in rows for pixel in row) / (765 * len(rows) * len(rows[0]))
                    if scheme == "light":
                        light = bright
                        self.assertGreater(bright, 0.7)
                    else:
                        self.assertLess(bright, light / 2)


if __name__ == "__main__":
    unittest.main()
