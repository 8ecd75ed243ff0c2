# SPDX-License-Identifier: Apache-2.0
import contextlib
import io
import unittest.mock

import support
import run_tests
from flakes import Flakes
from report import Outcome, Report
from stamps import Stamps

KERNELS = ["5.10", "sid", "6.1", "6.12"]


class EmulatedKernels(support.TestCase):
    """Which kernels are started, after what has changed."""

    def setUp(self):
        super().setUp()
        self.objects = {"source/decoder.cpp.o": "1"}
        self.whole = {"kernel_tests": "1"}
        self.packages = {kernel: f"{kernel}-1" for kernel in KERNELS}
        self.outcome = Outcome(passed=3)

    def started(self, everything=False):
        test_run = run_tests.TestRun.__new__(run_tests.TestRun)
        test_run.stamps = Stamps(self.folder, ignore=everything)
        test_run.report = Report(self.folder, Flakes(self.folder))
        calls = []

        def run_twice(_report, _name, command):
            chosen = {run_tests.ESSENTIAL: "essential", run_tests.NOT_NATIVE: "all"}
            calls.append((command[1], chosen.get(command[3], command[3])))
            return self.outcome

        with (unittest.mock.patch.object(run_tests, "KERNELS", KERNELS),
              unittest.mock.patch.object(run_tests, "MINUTES", 600),
              unittest.mock.patch.object(run_tests, "run_twice", run_twice),
              unittest.mock.patch.multiple(run_tests.artifacts, of_any_kernel=lambda _: dict(self.objects),
                                           of_whole_kernel_tests=lambda _: dict(self.whole),
                                           kernel_package=lambda _, kernel: self.packages[kernel]),
              contextlib.redirect_stdout(io.StringIO())):
            test_run.emulated_kernels()
        return calls

    ALL = [(kernel, "all") for kernel in KERNELS]

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
        self.assertEqual(self.started(), [("sid", "all")])

    def test_any_other_change_runs_the_essential_cases_on_the_next_kernel(self):
        self.started()
        for number, kernel in enumerate([*KERNELS, KERNELS[0]]):
            self.whole["kernel_tests"] = f"changed {number}"
            self.assertEqual(self.started(), [(kernel, "essential")])
            self.assertEqual(self.started(), [])

    def test_only_what_needed_a_second_try_runs_again(self):
        self.outcome = Outcome(passed=3, again=["a case"])
        self.assertEqual(self.started(), self.ALL)
        self.assertEqual(self.started(), [(kernel, "-tc=a?case") for kernel in KERNELS])
        self.outcome = Outcome(passed=1)
        self.assertEqual(self.started(), [(kernel, "-tc=a?case") for kernel in KERNELS])
        self.assertEqual(self.started(), [])

    def test_a_machine_that_died_runs_all_again(self):
        self.outcome = Outcome(passed=3, again=["the emulated machine died or hung (124)"])
        self.assertEqual(self.started(), self.ALL)
        self.outcome = Outcome(passed=3)
        self.assertEqual(self.started(), self.ALL)

    def test_what_failed_runs_all_again(self):
        self.outcome = Outcome(passed=2, failed=1, again=["a case"])
        self.assertEqual(self.started(), self.ALL)
        self.assertEqual(self.started(), self.ALL)

    def test_a_kernel_whose_package_nobody_knows_always_runs(self):
        self.packages["6.1"] = None
        self.started()
        self.assertEqual(self.started(), [("6.1", "all")])


class Arguments(unittest.TestCase):
    def test_an_unknown_word_is_refused(self):
        with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()):
            with unittest.mock.patch("sys.argv", ["scripts/test", "fast"]):
                run_tests.main()


if __name__ == "__main__":
    unittest.main()
