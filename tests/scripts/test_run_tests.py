# SPDX-License-Identifier: Apache-2.0
import contextlib
import io
import os
import unittest
import unittest.mock

import support
import run_tests
from flakes import Flakes
from report import Outcome, Report
from stamps import Stamps

KERNELS = ["5.10", "sid", "6.1", "6.12"]
QUARTERS = range(1, 5)
SOURCES = sorted(path.name for path in (run_tests.ROOT / "tests/kernel").glob("*_test.cpp"))


def quarter_with(sources):
    """Its number, by its first source."""
    return SOURCES.index(sources.removeprefix("-sf=*/").split(",")[0]) + 1


class EmulatedKernels(support.TestCase):
    """Which kernels are started, after what has changed."""

    def setUp(self):
        super().setUp()
        self.objects = {"source/decoder.cpp.o": "1"}
        self.whole = {"kernel_tests": "1"}
        self.packages = {kernel: f"{kernel}-1" for kernel in KERNELS}
        self.outcome = Outcome(passed=3)
        self.minutes = 600
        self.commits = 0

    def started(self, everything=False):
        test_run = run_tests.TestRun.__new__(run_tests.TestRun)
        test_run.stamps = Stamps(self.folder, ignore=everything)
        test_run.report = Report(self.folder, Flakes(self.folder))
        calls = []

        def run_twice(_report, _name, command):
            if command[3] == run_tests.NOT_NATIVE:
                calls.append((command[1], quarter_with(command[4])))
            else:
                calls.append((command[1], "essential" if command[3] == run_tests.ESSENTIAL else command[3]))
            return self.outcome

        with (unittest.mock.patch.object(run_tests, "KERNELS", KERNELS),
              unittest.mock.patch.object(run_tests, "MINUTES", self.minutes),
              unittest.mock.patch.object(run_tests, "commits", lambda: self.commits),
              unittest.mock.patch.object(run_tests, "run_twice", run_twice),
              unittest.mock.patch.multiple(run_tests.artifacts, of_any_kernel=lambda _: dict(self.objects),
                                           of_whole_kernel_tests=lambda _: dict(self.whole),
                                           kernel_package=lambda _, kernel: self.packages[kernel]),
              contextlib.redirect_stdout(io.StringIO())):
            test_run.emulated_kernels()
        return calls

    ALL = [(kernel, quarter) for quarter in QUARTERS for kernel in KERNELS]

    def test_each_source_is_in_one_quarter(self):
        chosen = [each for number in range(4) for each in run_tests.quarter_of(
            (run_tests.ROOT / "tests/kernel").glob("*_test.cpp"), number).removeprefix("-sf=").split(",")]
        self.assertEqual(sorted(chosen), [f"*/{name}" for name in SOURCES])

    def test_on_a_new_machine_all_run_and_then_none(self):
        self.assertEqual(self.started(), self.ALL)
        self.assertEqual(self.started(), [])
        self.assertEqual(self.started(everything=True), self.ALL)

    def test_all_run_when_what_depends_on_kernels_differs(self):
        self.started()
        self.objects["source/decoder.cpp.o"] = "2"
        self.whole["kernel_tests"] = "2"
        self.assertEqual(self.started(), self.ALL)
        self.assertEqual(self.started(), [])

    def test_a_new_package_runs_its_kernel(self):
        self.started()
        self.packages["sid"] = "sid-2"
        self.assertEqual(self.started(), [("sid", quarter) for quarter in QUARTERS])

    def test_any_other_change_runs_the_essential_cases_on_the_next_kernel(self):
        self.started()
        for number, kernel in enumerate([*KERNELS, KERNELS[0]]):
            self.whole["kernel_tests"] = f"changed {number}"
            self.assertEqual(self.started(), [(kernel, "essential")])
            self.assertEqual(self.started(), [])

    def test_only_what_needed_a_second_try_runs_again(self):
        self.outcome = Outcome(passed=3, again=["a case"])
        self.assertEqual(self.started(), self.ALL)
        self.assertEqual(self.started(), [(kernel, "-tc=a?case") for kernel in KERNELS] * 4)
        self.outcome = Outcome(passed=1)
        self.assertEqual(self.started(), [(kernel, "-tc=a?case") for kernel in KERNELS] * 4)
        self.assertEqual(self.started(), [])

    def test_a_machine_that_died_runs_all_again(self):
        self.outcome = Outcome(passed=3, again=["the emulated machine died or hung (124)"])
        self.assertEqual(self.started(), self.ALL)
        self.outcome = Outcome(passed=3)
        self.assertEqual(self.started(), self.ALL)

    def test_without_stamps_the_number_of_commits_says_which_is_first(self):
        self.commits = 16 * 100 + 2
        self.assertEqual(self.started(), self.ALL[2:] + self.ALL[:2])

    def test_what_does_not_fit_into_the_time_is_not_begun(self):
        self.commits = 3
        self.minutes = run_tests.EMULATED_MINUTES - 1
        self.assertEqual(self.started(), [("6.12", "essential")])
        self.minutes = 0
        self.whole["kernel_tests"] = "2"
        self.assertEqual(self.started(), [])

    def test_what_failed_runs_all_again(self):
        self.outcome = Outcome(passed=2, failed=1, again=["a case"])
        self.assertEqual(self.started(), self.ALL)
        self.assertEqual(self.started(), self.ALL)

    def test_a_kernel_whose_package_nobody_knows_always_runs(self):
        self.packages["6.1"] = None
        self.started()
        self.assertEqual(self.started(), [("6.1", quarter) for quarter in QUARTERS])


class Turns(support.TestCase):
    """Which of the slow steps run where the time is limited."""

    def setUp(self):
        super().setUp()
        self.clock = 0.0
        self.takes = {"a": 3, "b": 3, "c": 3, "d": 3}
        self.parts = {name: {"object": "1"} for name in self.takes}

    def run_with(self, minutes, commits=0, everything=False):
        """What was begun, and what the report says was left out."""
        test_run = run_tests.TestRun.__new__(run_tests.TestRun)
        test_run.stamps = Stamps(self.folder, ignore=everything)
        test_run.report = Report(self.folder, Flakes(self.folder))
        self.clock = 0.0
        test_run.report.minutes = lambda: self.clock
        begun = []

        def step(name):
            def run(parts):
                begun.append(name)
                self.clock += self.takes[name]
                test_run.stamped(name, parts, [Outcome(passed=1)])
            return run

        with (unittest.mock.patch.multiple(run_tests, MINUTES=minutes, TYPICAL_MINUTES=dict.fromkeys(self.takes, 3),
                                           commits=lambda: commits),
              contextlib.redirect_stdout(io.StringIO())):
            test_run.take_turns({name: step(name) for name in self.takes}, self.parts)
        return begun, [line.split(": ")[1] for line in test_run.report.left_out]

    def test_as_many_as_fit_and_the_others_next_time(self):
        self.assertEqual(self.run_with(7), (["a", "b"], ["c", "d"]))
        self.assertEqual(self.run_with(7), (["c", "d"], []))
        self.assertEqual(self.run_with(7), ([], []))

    def test_after_a_change_the_one_that_ran_longest_ago_is_first(self):
        self.run_with(13)
        for number, name in enumerate("cadb"):
            os.utime(self.folder / "runs" / name, (1000 + number, 1000 + number))
        self.parts = {name: {"object": "2"} for name in self.takes}
        self.assertEqual(self.run_with(7), (["c", "a"], ["d", "b"]))

    def test_without_stamps_each_commit_moves_on(self):
        firsts = []
        for commits in range(5):
            self.folder = self.folder / "new"
            self.folder.mkdir()
            firsts.append(self.run_with(4, commits)[0])
        self.assertEqual(firsts, [["a"], ["b"], ["c"], ["d"], ["a"]])

    def test_how_long_it_took_decides_whether_it_fits(self):
        self.takes["a"] = 9
        self.run_with(4)
        self.parts["a"] = {"object": "2"}
        for name in "bcd":
            self.parts[name] = {"object": "1"}
        begun, left_out = self.run_with(8)
        self.assertEqual((begun, left_out), (["b", "c"], ["d", "a"]))

    def test_all_are_run_when_all_are_asked_for(self):
        self.run_with(600)
        self.assertEqual(self.run_with(600, everything=True)[0], ["a", "b", "c", "d"])

    def test_what_was_left_out_is_said_before_the_last_line_and_has_not_passed(self):
        report = Report(self.folder, Flakes(self.folder))
        report.leave_out("engines", "it takes 8 minutes, 2 of 6 are left")
        with self.assertRaises(SystemExit), contextlib.redirect_stdout(io.StringIO()) as output:
            report.end()
        self.assertEqual(output.getvalue().strip().split("\n"),
                         ["left out this time: engines: it takes 8 minutes, 2 of 6 are left", "0 passed, 0 failed, 0 skipped"])


class Arguments(unittest.TestCase):
    def test_an_unknown_word_is_refused(self):
        with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()):
            with unittest.mock.patch("sys.argv", ["scripts/test", "fast"]):
                run_tests.main()


if __name__ == "__main__":
    unittest.main()
