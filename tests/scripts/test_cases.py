# SPDX-License-Identifier: Apache-2.0
import contextlib
import io
import itertools
import json
import pathlib
import shutil
import sys
import tempfile
import unittest
import unittest.mock

import support
import cases as cases_module
from cases import Case, filter_of, longest_first, run_cases, run_twice
from flakes import Flakes
from report import Report, failed_cases, outcome_of


class Runs(support.TestCase):
    def setUp(self):
        super().setUp()
        self.flakes = Flakes(self.folder)
        self.report = Report(self.folder, self.flakes)
        self.calls = []
        # Whatever the host does meanwhile.
        nothing_stolen = unittest.mock.patch.object(cases_module, "stolen_ms", lambda: 0)
        nothing_stolen.start()
        self.addCleanup(nothing_stolen.stop)

    def case(self, name, code, beside=False):
        return Case(name, (sys.executable, "-c", code), beside)

    def run_all(self, *cases):
        with contextlib.redirect_stdout(io.StringIO()):
            return run_cases(self.report, "step", cases, lambda: self.calls.append("quiet"), lambda: self.calls.append("loud"))

    def fails_once(self):
        mark = str(self.folder / "mark")
        return f"import os, sys; known = os.path.exists({mark!r}); open({mark!r}, 'w'); sys.exit(not known)"

    def test_cases_that_wait_do_so_beside_each_other(self):
        # Each ends when the other has begun.
        folder = str(self.folder)
        meet = (f"import os, time; os.chdir({folder!r}); open('%s', 'w')\n"
                "while not os.path.exists('%s'): time.sleep(0.01)")
        outcome = self.run_all(self.case("a", meet % ("a", "b"), beside=True), self.case("b", meet % ("b", "a"), beside=True))
        self.assertEqual((outcome.passed, outcome.again), (2, []))

    def test_a_case_that_measures_begins_when_all_others_are_done(self):
        mark = str(self.folder / "done")
        waits = self.case("waits", f"import time; time.sleep(0.5); open({mark!r}, 'w')", beside=True)
        outcome = self.run_all(self.case("measures", f"open({mark!r})"), waits)
        self.assertEqual((outcome.passed, outcome.again), (2, []))
        self.assertEqual(self.calls, ["quiet", "loud"])

    def test_the_longest_of_the_last_run_begins_first(self):
        cases = [self.case("short", ""), self.case("long", "")]
        self.run_all(*cases)
        durations = self.folder / "durations-step.json"
        self.assertEqual(json.loads(durations.read_text()).keys(), {"short", "long"})
        durations.write_text('{"short": 1, "long": 2}')
        ordered, _ = longest_first([*cases, self.case("new", "")], durations)
        self.assertEqual([case.name for case in ordered], ["new", "long", "short"])

    def test_a_second_try_passes_and_is_noted(self):
        outcome = self.run_all(self.case("moody", self.fails_once()))
        self.assertEqual((outcome.passed, outcome.failed, outcome.again), (1, 0, ["moody"]))
        self.assertFalse(outcome.clean)
        self.assertIn("failed once, then passed, in step: moody", self.report.notes)
        self.assertEqual(list(self.flakes.lines()), ["  1 of   1  step: moody"])

    def test_what_fails_twice_has_failed(self):
        outcome = self.run_all(self.case("bad", "raise SystemExit(1)"), self.case("good", ""))
        self.assertEqual((outcome.passed, outcome.failed, outcome.again), (1, 1, []))
        with self.assertRaises(SystemExit) as end, contextlib.redirect_stdout(io.StringIO()) as output:
            self.report.end()
        self.assertEqual(end.exception.code, True)
        self.assertTrue(output.getvalue().endswith("1 passed, 1 failed, 0 skipped\n"))

    def test_what_a_failed_case_printed_is_shown(self):
        with contextlib.redirect_stdout(io.StringIO()) as output:
            run_cases(self.report, "step", [self.case("bad", "print('here it broke'); raise SystemExit(1)"),
                                            self.case("good", "print('all is well')")], lambda: None, lambda: None)
        self.assertIn("    here it broke\n", output.getvalue())
        self.assertNotIn("all is well", output.getvalue())
        self.assertIn("    bad", self.report.notes)

    def test_while_the_host_takes_cpu_time_the_second_try_waits_and_is_the_last(self):
        with (unittest.mock.patch.object(cases_module, "stolen_ms", itertools.count(0, 30).__next__),
              unittest.mock.patch.object(cases_module, "wait_for_quiet") as waits):
            outcome = self.run_all(self.case("moody", self.fails_once()), self.case("bad", "raise SystemExit(1)"))
        self.assertEqual((outcome.passed, outcome.failed, outcome.again), (1, 1, ["moody"]))
        self.assertIn("failed once, then passed, in step: moody", self.report.notes)
        self.assertEqual(waits.call_count, 2)
        self.assertEqual(self.report.log_of("step").read_text().count("second try: "), 2)

    def test_before_the_second_try_the_host_must_leave_the_cpus_alone_but_not_forever(self):
        for taken, seconds in (([0, 100, 100, 150, 150, 150], 3), (range(0, 10**6, 30), cases_module.QUIET_SECONDS - 1)):
            with (unittest.mock.patch.object(cases_module, "stolen_ms", iter(taken).__next__),
                  unittest.mock.patch.object(cases_module, "time") as clock):
                clock.monotonic.side_effect = itertools.count()
                cases_module.wait_for_quiet()
                self.assertEqual(clock.sleep.call_count, seconds)

    def test_a_skipped_case_has_not_passed(self):
        outcome = self.run_all(self.case("absent", "print('x.cpp:3: SKIP: no disk here')"))
        self.assertEqual((outcome.passed, outcome.skips), (0, ["absent: no disk here"]))

    def test_one_second_try_in_fifty_is_too_many_more(self):
        outcome = outcome_of(0, "SECOND TRY: a\n")
        for _ in range(2):
            self.flakes.add("step", outcome)
        self.assertEqual(list(self.flakes.lines()), ["  2 of   2  step: a  MEND"])
        for _ in range(98):
            self.flakes.add("step", outcome_of(0, ""))
        self.assertEqual(list(self.flakes.lines()), ["  2 of 100  step: a"])

    def test_of_a_program_with_all_cases_only_those_that_failed_run_again(self):
        program = ("import sys\nagain = [word for word in sys.argv if word.startswith('-tc=')]\n"
                   "if again: print(again[0]); print('[doctest] test cases: 1 | 1 passed | 0 failed | 3 skipped'); sys.exit()\n"
                   "print('TEST CASE:  a, b'); print('x.cpp:1: ERROR: CHECK( no )')\n"
                   "print('[doctest] test cases: 4 | 3 passed | 1 failed | 0 skipped'); sys.exit(1)")
        with contextlib.redirect_stdout(io.StringIO()):
            outcome = run_twice(self.report, "step", [sys.executable, "-c", program])
        self.assertEqual((outcome.passed, outcome.failed, outcome.again), (4, 0, ["a, b"]))
        self.assertIn("-tc=a??b\n", self.report.log_of("step").read_text())

    def test_a_program_that_dies_without_a_word_has_failed(self):
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(run_twice(self.report, "step", ["false"]).failed, 1)


class Words(unittest.TestCase):
    def test_counts_of_all_runs_in_a_log_are_summed(self):
        text = "[doctest] test cases:  3 |  2 passed | 1 failed | 77 skipped\n[doctest] test cases: 1 | 0 passed | 1 failed |\n"
        outcome = outcome_of(1, text)
        self.assertEqual((outcome.passed, outcome.failed), (2, 2))

    def test_a_step_without_counts_is_one(self):
        self.assertEqual((outcome_of(0, "").passed, outcome_of(3, "").failed), (1, 1))

    def test_the_tests_of_a_python_step_are_counted(self):
        self.assertEqual(outcome_of(0, "....\nRan 4 tests in 1.0s\n\nOK\n").passed, 4)

    def test_names_are_safe_in_a_filter(self):
        self.assertEqual(filter_of(["a, b's", "c"]), "-tc=a??b?s,c")

    def test_a_warning_is_no_failure(self):
        text = "TEST CASE:  a\nx:1: WARNING: no\nTEST CASE:  b\n\nx:2: FATAL ERROR: y\n  values: z\n\n====\n"
        self.assertEqual(failed_cases(text), {"b": "x:2: FATAL ERROR: y\n  values: z"})

    def test_what_a_sanitizer_found_is_told(self):
        for line in ("a.cpp:1:2: runtime error: x", "==12==ERROR: LeakSanitizer: x", "WARNING: ThreadSanitizer: x"):
            self.assertEqual(outcome_of(1, f"TEST CASE:  a\n{line}\nmore").failures, {"(sanitizer)": f"{line}\nmore"})

    def test_the_notes_at_the_end_say_what_failed(self):
        report = Report(pathlib.Path(tempfile.mkdtemp()), unittest.mock.Mock())
        self.addCleanup(shutil.rmtree, report.logs)
        text = "TEST CASE:  a\nx:2: ERROR: y\n====\n[doctest] test cases: 1 | 0 passed | 1 failed |\n"
        report.log_of("step").write_text(text)
        with contextlib.redirect_stdout(io.StringIO()):
            report.finish("step", 1, 0)
        self.assertEqual(report.notes[1:], ["    a", "        x:2: ERROR: y"])


if __name__ == "__main__":
    unittest.main()
