# SPDX-License-Identifier: Apache-2.0
"""tracerd compare: what changed between two recordings, or two runs of the history."""

import json
import unittest

import support


class Compares(support.TestCase):
    def record(self, name, seconds, tasks=5):
        return self.record_script(name, f"for i in $(seq {tasks}); do {support.TRACERD} task --step nap --name n$i -- "
                                        f"sleep {seconds}; done")

    def record_script(self, name, command, status=0):
        path = self.path(name)
        result = self.tracerd("run", "--no-history", "--record", path, "--", "bash", "-c", command)
        self.assertEqual(result.returncode, status, result.stderr)
        return path

    def compare(self, a, b):
        result = self.tracerd("compare", "--json", a, b)
        self.assertEqual(result.returncode, 0, result.stderr)
        found = json.loads(result.stdout)
        return found | {kind: {row["name"]: row for row in found[kind]} for kind in ("steps", "tools")}

    def test_a_change_and_what_is_the_same(self):
        a, b = self.record("a", 0.2), self.record("b", 0.6)
        found = self.compare(a, b)
        step = found["steps"]["nap"]["wall_ns"]
        self.assertEqual((step["n_a"], step["n_b"], step["verdict"]), (5, 5, "more"))
        self.assertAlmostEqual(step["change"], 2, delta=0.5)
        self.assertEqual(found["tools"]["sleep"]["wall_ns"]["verdict"], "more")
        self.assertGreater(found["b"]["wall_ns"], 5 * 0.6e9)
        self.assertEqual((found["a"]["outcome"], found["a"]["tasks"], found["a"]["failed_tasks"]), ("succeeded", 5, 0))
        self.assertEqual(found["steps"]["nap"]["cause"], "sleep")
        self.assertAlmostEqual(found["steps"]["nap"]["cause_change_ns"], 0.4e9, delta=0.1e9)
        table = self.tracerd("compare", a, b).stdout
        self.assertRegex(table, r"^B took [\d.]+ s instead of [\d.]+ s \(\+\d+ %\); nap \d+ ms more each, most of it more "
                                r"waiting \(sleep\)\n\nstep")
        self.assertRegex(table, r"nap +5, 5 .* slower")
        self.assertRegex(self.tracerd("compare", b, a).stdout, r"nap +5, 5 .* faster")
        self.assertEqual(self.compare(a, a)["steps"]["nap"]["wall_ns"]["verdict"], "same")

    def test_tasks_that_failed_early_are_not_faster(self):
        work = (f"for i in 1 2 3 4; do {support.TRACERD} task --step work --sample S$i -- bash -c "
                "'sleep $0; exit $1' {} {}; done; true")
        a, b = self.record_script("a", work.format(0.4, 0)), self.record_script("b", work.format(0.1, 1))
        text = self.tracerd("compare", a, b).stdout
        self.assertRegex(text, r"^B took [\d.]+ m?s instead of [\d.]+ s\n4 of 4 tasks failed in B: work\n\nstep")
        self.assertRegex(text, r"work +4, 4 +\d+ ms +- +- +4 of 4 failed in B")
        self.assertRegex(text, r"bash -c +\d, \d .* 4 of \d failed in B", "the tool, too")
        found = self.compare(a, b)
        self.assertEqual((found["a"]["failed_tasks"], found["b"]["failed_tasks"], found["b"]["tasks"]), (0, 4, 4))
        step = found["steps"]["work"]
        self.assertEqual((step["n_b"], step["failed_b"], step["wall_ns"]["n_b"], step["wall_ns"]["verdict"]), (4, 4, 0, "unknown"))

    def test_a_script_whose_tools_failed(self):
        work = "for i in 1 2 3; do perl -e 'select(undef, undef, undef, {}); exit {}'; done"
        a, b = self.record_script("a", work.format(0.3, 0)), self.record_script("b", work.format(0.05, 7), 7)
        text = self.tracerd("compare", a, b).stdout
        self.assertRegex(text, r"^B took [\d.]+ m?s \(failed\) instead of [\d.]+ m?s\nfailed in B: perl -e\n")
        self.assertNotIn("faster", next(line for line in text.splitlines() if line.startswith("perl")))
        self.assertEqual(self.compare(a, b)["b"]["outcome"], "failed")

    def test_sums_where_numbers_differ(self):
        a, b = self.record("a", 0.2, tasks=3), self.record("b", 0.2, tasks=9)
        wall = self.compare(a, b)["steps"]["nap"]["wall_ns"]
        self.assertEqual((wall["of_sums"], wall["verdict"], wall["n_a"], wall["n_b"]), (True, "more", 3, 9))
        self.assertGreater(wall["sum_b"], 9 * 0.2e9)
        self.assertAlmostEqual(wall["change"], wall["sum_b"] / wall["sum_a"] - 1)
        text = self.tracerd("compare", a, b).stdout
        self.assertRegex(text, r"nap [\d.]+ m?s more in all, most of it more waiting \(sleep\)\n")
        self.assertRegex(text, r"nap +3, 9 .* more in all")

    def test_no_percents_beyond_ten_times(self):
        a, b = self.record("a", 0.01), self.record("b", 0.5)
        text = self.tracerd("compare", a, b).stdout
        self.assertRegex(text, r"nap +5, 5 .* x \d+ +slower")
        self.assertNotRegex(text, r"\d{4,} %")

    def test_two_runs_of_the_history(self):
        history = self.path("history.db")
        for seconds in (0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.8):
            result = self.tracerd("run", "--history", history, "--pipeline", "demo", "--", "bash", "-c",
                                  f"{support.TRACERD} task --step nap --name n -- sleep {seconds}; true")
            self.assertEqual(result.returncode, 0, result.stderr)
        listed = self.tracerd("history", "--history", history)
        self.assertEqual(listed.stdout.count("  run:") + listed.stdout.count("\nrun:"), 7, listed.stdout)
        runs = [run["run_key"] for run in json.loads(self.tracerd("history", "--history", history, "--json").stdout)["runs"]]
        of = {}
        for run in runs:
            of_run = ["--history", history, "run:" + runs[-1], "run:" + run]
            self.assertRegex(self.tracerd("compare", *of_run).stdout, r"^B took [\d.]+ m?s instead of [\d.]+ m?s \(")
            made = self.tracerd("compare", "--json", *of_run)
            self.assertEqual(made.returncode, 0, made.stderr)
            step, = json.loads(made.stdout)["steps"]
            self.assertEqual((step["name"], step["wall_ns"]["n_a"], step["wall_ns"]["n_b"]), ("nap", 1, 1))
            of[run] = step["wall_ns"]
        slow = max(of.values(), key=lambda each: each["median_b"])
        self.assertEqual((slow["verdict"], slow["may_be_noise"]), ("more", False))
        self.assertGreater(slow["spread"], 0)
        self.assertEqual(of[runs[-1]]["verdict"], "same")
        self.assertEqual(self.tracerd("compare", "--history", history, "run:" + runs[0][:12], "run:" + runs[1]).returncode, 0)
        self.assertIn("no run", self.tracerd("compare", "--history", history, "run:none", "run:" + runs[0]).stderr)
        self.assertEqual(self.tracerd("compare", "--history", history, "run:" + runs[0], "a").returncode, 2)

    def test_what_is_wrong_is_refused(self):
        a = self.record("a", 0.1, tasks=1)
        self.assertEqual(self.tracerd("compare", a).returncode, 2)
        self.assertEqual(self.tracerd("compare", a, self.path("missing")).returncode, 1)


if __name__ == "__main__":
    unittest.main()
