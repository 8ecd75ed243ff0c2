# SPDX-License-Identifier: Apache-2.0
"""One text for each figure: C++'s, which the package has, and the terminal's. The page runs the same cases in test_page.py."""

import json
import statistics
import unittest

from pages import ROOT
from tracer import _core
from tracer.view._texts import UTF8, figure_text

CASES = json.loads((ROOT / "tests/data/figures.json").read_text("utf-8"))["cases"]


class Figures(unittest.TestCase):
    def test_cases(self):
        texts = {"duration": _core.format_duration, "bytes": _core.format_bytes, "share": _core.format_share,
                 "median": lambda walls: _core.format_duration(int(statistics.median(walls)))}
        for case in CASES:
            kind, value, text = case["kind"], case["value"], case["text"]
            if kind == "figure":
                name = {"ns": "wall_ns", "bytes": "read_bytes", "share": "cpu_utilization", "count": "processes"}[case["unit"]]
                got = figure_text({name + key.removeprefix("x"): each for key, each in value.items()}, name, UTF8)
            else:
                got = texts[kind](value)
            self.assertEqual(got, text, case)


if __name__ == "__main__":
    unittest.main()
