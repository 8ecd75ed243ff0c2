# SPDX-License-Identifier: Apache-2.0
"""%load_ext tracer, and %%tracer."""

import importlib.util
import unittest

from support import TempDir, needs_tracing, run_python

BEGIN = """
    import sys
    from IPython.core.interactiveshell import InteractiveShell
    import IPython.core.displaypub
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "tracer")
    shown = []
    import IPython.display
    IPython.display.display = shown.append
    def cell(text):
        result = shell.run_cell(text)
        return type(result.error_in_exec).__name__ if result.error_in_exec else None
"""


@unittest.skipUnless(importlib.util.find_spec("IPython"), "needs IPython")
@needs_tracing
class Magic(TempDir):
    def test_a_cell_is_traced_and_shown(self):
        done = run_python(BEGIN + """
    text = "\\"\\"\\"text\\n  of lines\\"\\"\\""
    print(cell(f"%%tracer --sample S1 --label lane=3 --record {sys.argv[1]}\\nx = {text}\\n!true\\ny = 41 + 1\\n"))
    s = shell.user_ns["_tracer"]
    print(shell.user_ns["y"], repr(shell.user_ns["x"]), s.closed, shown == [s])
    import tracer
    for event in tracer.read(sys.argv[1]):
        if event.kind == "process_exit":
            print(event.context.sample, [(each.name, each.value) for each in event.context.labels])
            break
        """, str(self.folder / "r"))
        self.assertEqual(done.stdout.splitlines(), ["None", "42 'text\\n  of lines' True True", "S1 [('lane', '3')]"],
                         done.stderr)

    def test_a_cell_that_raises_or_is_interrupted_ends_its_session(self):
        done = run_python(BEGIN + """
    for body in ("1 / 0", "raise KeyboardInterrupt", "def f(:", "import sys; sys.exit(3)"):
        cell("%%tracer --quiet --as s\\n" + body)
        print(shell.user_ns["s"].closed, len(shown))
    print(cell("%%tracer --quiet\\npass"))
        """)
        self.assertEqual([line for line in done.stdout.splitlines() if line in ("True 0", "None")],
                         ["True 0"] * 4 + ["None"], done.stdout + done.stderr)

    def test_options_that_are_wrong(self):
        done = run_python(BEGIN + """
    for line in ("--unknown", "--label x", "--interval soon", "--as 3", "--help", "--sample"):
        print(cell("%%tracer " + line + "\\nraise AssertionError"))
        """)
        self.assertEqual([line for line in done.stdout.splitlines() if line.endswith("Error") and " " not in line],
                         ["InvalidArgumentError"] * 6, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
