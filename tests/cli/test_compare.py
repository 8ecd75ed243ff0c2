# SPDX-License-Identifier: Apache-2.0
"""tracerd compare: what changed between two recordings, or two runs of the history."""

import json
import unittest

import support


class Compares(support.TestCase):
    def record(self, name, seconds, tasks=5):
        path = self.path(name)
        command = f"for i in $(seq {tasks}); do {support.TRACERD} task --step nap --name n$i -- sleep {seconds}; done; seq 10"
        result = self.tracerd("run", "--no-history", "--record", path, "--", "bash", "-c", command)
        self.assertEqual(result.returncode, 0, result.stderr)
        return path

    def compare(self, a, b):
        result = self.tracerd("compare", "--json", a, b)
        self.assertEqual(result.returncode, 0, result.stderr)
        return {kind: {row["name"]: row for row in rows} for kind, rows in json.loads(result.stdout).items()}

    def test_a_change_and_what_is_the_same(self):
        a, b = self.record("a", 0.2), self.record("b", 0.6)
        found = self.compare(a, b)
        step = found["steps"]["nap"]["wall_ns"]
        self.assertEqual((step["n_a"], step["n_b"], step["verdict"]), (5, 5, "more"))
        self.assertAlmostEqual(step["change"], 2, delta=0.5)
        self.assertEqual(found["tools"]["sleep"]["wall_ns"]["verdict"], "more")
        self.assertTrue(found["tools"]["seq"]["wall_ns"]["may_be_noise"])
        table = self.tracerd("compare", a, b).stdout
        self.assertRegex(table, r"nap +5, 5 .* slower")
        self.assertRegex(self.tracerd("compare", b, a).stdout, r"nap +5, 5 .* faster")
        self.assertEqual(self.compare(a, a)["steps"]["nap"]["wall_ns"]["verdict"], "same")

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
            made = self.tracerd("compare", "--history", history, "--json", "run:" + runs[-1], "run:" + run)
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
