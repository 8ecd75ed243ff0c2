# SPDX-License-Identifier: Apache-2.0
"""`import tracer` is light, and has no effect but its own."""

import unittest

from support import run_python

# What costs more than the whole import may, or has effects.
HEAVY = (
    "pandas", "polars", "pyarrow", "duckdb", "numpy", "rich", "textual", "IPython", "asyncio", "multiprocessing", "subprocess",
    "concurrent", "concurrent.futures", "threading", "logging", "inspect", "dataclasses", "json", "html", "tempfile",
    "typing_extensions", "tracer._core", "starlette", "uvicorn", "textual", "http.server",
    "obstore", "deltalake",
)


class Import(unittest.TestCase):
    def test_nothing_heavy_is_imported(self):
        done = run_python("""
            import sys
            before = set(sys.modules)
            import json
            import tracer
            print(*sorted(set(sys.modules) - before))
        """)
        imported = set(done.stdout.split())
        self.assertIn("tracer", imported)
        self.assertEqual(imported & (set(HEAVY) - {"json"}), set(), done.stderr)

    def test_reading_and_running_import_nothing_of_others(self):
        done = run_python("""
            import sys
            import tracer
            tracer.read, tracer.session, tracer.run, tracer.attach, tracer.check
            print(*sorted(sys.modules))
        """)
        others = {"pandas", "polars", "pyarrow", "duckdb", "numpy", "rich", "IPython", "asyncio", "multiprocessing",
                  "concurrent.futures"}
        self.assertEqual(set(done.stdout.split()) & others, set(), done.stderr)

    def test_no_effects(self):
        done = run_python("""
            import os, signal, sys, threading
            def state():
                # All that an import might change for others.
                return (
                    dict(os.environ), [signal.getsignal(number) for number in range(1, 65)], sys.getrecursionlimit(),
                    sys.excepthook, sys.unraisablehook, threading.excepthook, sys.path[:], list(sys.path_hooks),
                    list(sys.meta_path), len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd")),
                    os.getcwd(), sys.getswitchinterval(),
                )
            before = state()
            import tracer
            tracer.session, tracer.run, tracer.read, tracer.task, tracer.ProcessExit
            after = state()
            print(before == after)
        """)
        self.assertEqual((done.stdout, done.stderr), ("True\n", ""))

    def test_all_public_names_are_there(self):
        done = run_python("""
            import tracer
            missing = [name for name in tracer.__all__ if getattr(tracer, name, None) is None]
            print(missing, len(tracer.__all__) > 30, set(tracer.__all__) <= set(dir(tracer)))
            try:
                tracer.nothing
            except AttributeError as error:
                print(error)
        """)
        self.assertEqual(done.stdout.splitlines(), ["[] True True", "module 'tracer' has no attribute 'nothing'"],
                         done.stderr)


if __name__ == "__main__":
    unittest.main()
