# SPDX-License-Identifier: Apache-2.0
import contextlib
import io
import pathlib
import sys
import unittest
import unittest.mock

import support
import python_builds
import python_package
import pythons
import run_tests
from flakes import Flakes
from python_package import NotThere, cases_of, made_once, modules
from report import Report
from stamps import Stamps


class MadeOnce(support.TestCase):
    def made(self, key):
        with made_once(self.folder / "thing", key) as missing:
            if missing:
                self.file("thing/content", key)
        return missing

    def test_it_is_made_again_with_another_key_only(self):
        self.assertEqual([self.made("1"), self.made("1"), self.made("2"), self.made("2")], [True, False, True, False])
        self.assertEqual((self.folder / "thing/content").read_text(), "2")

    def test_what_failed_is_not_made(self):
        with self.assertRaises(NotThere), made_once(self.folder / "thing", "1"):
            raise NotThere("no network")
        self.assertTrue(self.made("1"))

    def test_what_fails_says_why(self):
        with self.assertRaisesRegex(NotThere, "the thing: first | last"):
            python_package.run_quietly("the thing", "sh", "-c", "echo first; echo last; exit 1")


class Modules(support.TestCase):
    def test_they_are_found_with_their_classes(self):
        self.file("test_a.py", "import unittest\nclass One(unittest.TestCase):\n  def test(self): pass\n"
                  "class Two(One):\n  ALONE = 'it measures'\n")
        self.file("test_bad.py", "import nothing_of_that_name\n")
        with unittest.mock.patch.object(python_package, "TESTS", self.folder):
            found = modules(sys.executable, None)
        self.assertEqual(found, {"test_a": {"One": False, "Two": True}, "test_bad": {}})

    def test_one_case_for_a_module_and_one_for_each_class_that_is_alone(self):
        found = [(case.name, case.command[4:], case.beside) for case in cases_of("python", "test_a", {"B": False, "A": False, "C": True})]
        self.assertEqual(found, [("test_a", ("test_a.A", "test_a.B"), True), ("test_a.C", ("test_a.C",), False)])
        self.assertEqual([case.command[4:] for case in cases_of("python", "test_bad", {})], [("test_bad",)])
        self.assertEqual([case.name for case in cases_of("python", "test_c", {"C": True})], ["test_c.C"])


class Steps(support.TestCase):
    """Which modules are run, after what has changed."""

    def setUp(self):
        super().setUp()
        self.parts = {"test_a": {"_core": "1"}, "test_b": {"_core": "1"}, "test_wheel": {"_core": "1"}}
        self.code = {name: "pass" for name in self.parts}

    def ran(self, full=True):
        test_run = run_tests.TestRun.__new__(run_tests.TestRun)
        test_run.full, test_run.python = full, sys.executable
        test_run.stamps = Stamps(self.folder / "stamps")
        test_run.report = Report(self.folder, Flakes(self.folder))
        test_run.background = unittest.mock.Mock()
        for name, code in self.code.items():
            self.file(f"{name}.py", f"import unittest\nclass T(unittest.TestCase):\n  def test(self): {code}\n")
        with (unittest.mock.patch.object(python_package, "TESTS", self.folder),
              unittest.mock.patch.object(python_package, "QUICK", ("test_b",)),
              unittest.mock.patch.object(run_tests, "MINUTES", 600),
              unittest.mock.patch.object(run_tests.artifacts, "of_python_module", lambda _, name: dict(self.parts[name])),
              contextlib.redirect_stdout(io.StringIO())):
            test_run.python_modules()
        found = []
        for name in ("python package", "python package, essential"):
            log = test_run.report.log_of(name)
            if log.exists():
                found += [line.split()[1] for line in log.read_text().splitlines() if line.startswith("== ")]
                log.unlink()
        return sorted(found)

    def test_a_module_that_has_passed_runs_again_when_its_parts_differ_or_it_is_of_the_quick_loop(self):
        self.assertEqual(self.ran(), ["test_a", "test_b"])
        self.assertEqual(self.ran(), ["test_b"])
        self.parts["test_a"]["_core"] = "2"
        self.assertEqual(self.ran(), ["test_a", "test_b"])

    def test_what_failed_runs_again(self):
        self.code["test_a"] = "self.fail()"
        self.assertEqual(set(self.ran()), {"test_a", "test_b", "second"})
        self.code["test_a"] = "pass"
        self.assertEqual(self.ran(), ["test_a", "test_b"])

    def test_the_quick_loop_has_few(self):
        self.assertEqual(self.ran(full=False), ["test_b"])


class OtherPythons(support.TestCase):
    def fake(self, name, version, free="0", headers=True):
        include = self.folder / f"include-{name}"
        if headers:
            self.file(f"include-{name}/Python.h", "")
        path = self.file(f"bin/{name}", f"#!/bin/sh\necho '{version.replace('.', '|')}|{free}|{include}'\n")
        path.chmod(0o755)

    def found(self):
        return [(python.name, python.version) for python in
                pythons.of_this_machine([str(self.folder / "bin")], self.folder / "none")]

    def test_the_newest_of_each_version_that_the_package_is_for(self):
        self.fake("python3", "3.12.1")
        self.fake("python3.12", "3.12.4")
        self.fake("python3.10", "3.10.9")
        self.fake("python3.13", "3.13.0", headers=False)
        self.fake("python3.14", "3.14.0", free="1")
        self.fake("python3.15-config", "3.15.0")
        self.assertEqual(self.found(), [("3.12", (3, 12, 4)), ("3.14t", (3, 14, 0))])

    def test_what_is_no_python_is_passed_over(self):
        path = self.file("bin/python3", "#!/bin/sh\nexit 1\n")
        path.chmod(0o755)
        self.assertEqual(self.found(), [])

    def test_nothing_is_fetched_unasked(self):
        with (unittest.mock.patch.object(pythons, "folder", lambda: self.folder / "pythons"),
              unittest.mock.patch.object(pythons, "of_this_machine", lambda: [])):
            found, missing = pythons.all_of_them(get=False)
        self.assertEqual((found, len(missing)), ([], 2))
        self.assertFalse((self.folder / "pythons").exists())

    def test_the_headers_of_a_later_suite_are_found_without_its_c_library(self):
        self.file("root/usr/include/x86_64-linux-gnu/python3.15/pyconfig.h", "")
        self.file("root/usr/include/stdio.h", "")
        python = pythons.Python((3, 15, 0), False, ("/usr/bin/python3.15",), self.folder / "root/usr/include/python3.15",
                                self.folder / "root")
        own, beside = python_builds.headers_of(python, self.folder / "build")
        self.assertEqual(own, python.headers)
        self.assertEqual([str(path.relative_to(beside)) for path in beside.rglob("*") if not path.is_dir()], [])
        self.assertTrue((beside / "x86_64-linux-gnu/python3.15/pyconfig.h").exists())

    def test_it_runs_in_its_root(self):
        python = pythons.Python((3, 15, 0), False, ("/usr/bin/python3.15",), pathlib.Path("/r/h"), pathlib.Path("/r"))
        words = python_builds.words_of(python, "-V")
        self.assertEqual((words[0], words[-2:], "/r" in words), ("unshare", ["/usr/bin/python3.15", "-V"], True))
        here = pythons.Python((3, 12, 0), False, ("python3.12",), pathlib.Path("/h"))
        self.assertEqual(python_builds.words_of(here, "-V"), ["python3.12", "-V"])


if __name__ == "__main__":
    unittest.main()
