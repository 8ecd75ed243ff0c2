# SPDX-License-Identifier: Apache-2.0
"""The package on every Python that can be had here: see scripts/python_tests. Others than Debian's have nothing installed;
what needs more than the standard library is skipped there."""
import os
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts/lib"))
import python_builds
import python_package
import pythons

# What Pythons differ in.
MODULES = ("test_import", "test_session", "test_labels", "test_robust_threads", "test_robust_fork")
# All that need no other package: with scripts/python_tests.
MORE_MODULES = ("test_replay", "test_run", "test_bad_input", "test_bad_arguments", "test_bad_recordings", "test_label_edges",
                "test_robust_interrupt", "test_robust_shutdown")
FIRST = """
import sys, sysconfig, tracer._core, tracer, subprocess
free = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
assert not free or not sys._is_gil_enabled(), "importing it has turned the global lock on"
with tracer.session() as session:
    events = session.events(kinds={"process_exit"}, timeout=0)
    with session.task("first"):
        subprocess.run(["true"], check=True)
    assert session.flush(30)
    exits = list(events)
assert [event.context.task for event in exits] == ["first"], exits
"""
GET = "TRACER_GET_PYTHONS"
ALL = "TRACER_ALL_MODULES"


class OtherPythons(unittest.TestCase):
    def check(self, python):
        try:
            package = python_builds.built_package(python)
        except python_package.NotThere as error:
            self.fail(str(error))
        modules = (*MODULES, *(MORE_MODULES if os.environ.get(ALL) else ()))
        for words in (("-c", FIRST), ("-m", "unittest", "-v", *modules)):
            status, text = python_builds.run(python, package, *words)
            self.assertEqual(status, 0, f"Python {python.name}:\n{text[-6000:]}")
        print(f"Python {python.name}: {text.strip().splitlines()[-3]}", flush=True)


def add_tests():
    found, missing = pythons.all_of_them(bool(os.environ.get(GET)))
    own = ".".join(map(str, sys.version_info[:2]))
    for python in found:
        name = "test_on_" + python.name.replace(".", "_") + ("_of_a_later_suite" if python.root else "")
        if python.name != own or python.root:
            setattr(OtherPythons, name, lambda self, python=python: self.check(python))
    for index, why in enumerate(missing):
        setattr(OtherPythons, f"test_missing_{index}", lambda self, why=why: self.skipTest(why))


if __name__ == "__main__":
    add_tests()
    unittest.main(verbosity=2)
