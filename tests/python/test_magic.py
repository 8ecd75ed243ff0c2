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
    for line in ("--unknown", "--label x", "--interval soon", "--as 3", "--sample", "--sample 'S1"):
        print(cell("%%tracer " + line + "\\nraise AssertionError"))
        """)
        self.assertEqual([line for line in done.stdout.splitlines() if line.endswith("Error") and " " not in line],
                         ["UsageError"] * 6, done.stdout + done.stderr)
        self.assertNotIn("Traceback", done.stdout + done.stderr)

    def test_the_help_is_printed_once_and_nothing_is_run(self):
        for line in ("%%tracer --help\\nraise AssertionError", "%%tracer -h"):
            done = run_python(BEGIN + f"""
    print(cell("{line}"))
            """)
            said = done.stdout + done.stderr
            self.assertEqual(said.count("usage: %%tracer"), 1, said)
            self.assertNotIn("Traceback", said)
            self.assertNotIn("AssertionError", said)

    def test_cells_that_a_cell_runs_do_not_end_its_session(self):
        done = run_python(BEGIN + """
    print(cell("%%tracer --quiet --as s\\nget_ipython().run_cell('1 / 0')\\n!true"))
    print(shell.user_ns["s"].closed, shell.user_ns["s"].report.total.processes > 0)
    print(cell("%%time\\n%%tracer --quiet --as t\\n!true"))
    print(shell.user_ns["t"].closed, shell.user_ns["t"].report.total.processes > 0)
        """)
        said = [line for line in done.stdout.splitlines() if line in ("None", "True True")]
        self.assertEqual(said, ["None", "True True", "None", "True True"], done.stdout + done.stderr)

    def test_by_call(self):
        done = run_python(BEGIN + """
    shell.run_cell_magic("tracer", "--as s", "x = 41 + 1")
    print(shell.user_ns["x"], shell.user_ns["s"].closed, shown == [shell.user_ns["s"]])
    try:
        shell.run_cell_magic("tracer", "--quiet", "1 / 0")
    except ZeroDivisionError as error:
        print(error._render_traceback_())
        """)
        self.assertEqual([line for line in done.stdout.splitlines() if line in ("42 True True", "[]")],
                         ["42 True True", "[]"], done.stdout + done.stderr)


@unittest.skipUnless(importlib.util.find_spec("nbclient") and importlib.util.find_spec("ipykernel"), "needs ipykernel")
@needs_tracing
class Kernel(TempDir):
    """In a real kernel, whose loop runs while it runs a cell."""

    def outputs(self, *cells):
        """Of each cell: the names of its errors, and what else it shows."""
        import nbclient
        import nbformat

        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
        nbclient.NotebookClient(notebook, timeout=120, allow_errors=True, kernel_name="python3").execute()
        return [[each.ename if each.output_type == "error" else each.get("text") or
                 ("page" if "text/html" in each.data else each.data["text/plain"]) for each in cell.outputs]
                for cell in notebook.cells]

    def test_cells(self):
        nothing, awaits, error, last, seen, magic, wrong, sure, after = self.outputs(
            "%load_ext tracer",
            "%%tracer --sample S1\nimport asyncio\nawait asyncio.sleep(0.01)\n"
            "child = await asyncio.create_subprocess_exec('true')\nawait child.wait()",
            "%%tracer\n1 / 0",
            "%%tracer\nx = '''a\n  b'''\n!true\n41 + 1",
            "x, _, _tracer.closed, _tracer.report.total.processes > 0",
            "%%tracer\n%%bash\nexit 3",
            "%%tracer --unknown\nraise AssertionError",
            "%%tracer --quiet --as s\ny = 7;",
            "s.closed, y",
        )
        self.assertEqual(nothing, [])
        self.assertEqual(awaits, ["0", "page"])
        # An error is shown once, and the report all the same.
        self.assertEqual(error, ["ZeroDivisionError", "page"])
        self.assertEqual(last, ["42", "page"])
        self.assertEqual(seen, ["('a\\n  b', 42, True, True)"])
        self.assertEqual(magic, ["page", "CalledProcessError"])
        self.assertEqual([text.splitlines()[0][:20] for text in wrong], ["UsageError: %%tracer"])
        self.assertEqual(len(wrong[0].splitlines()), 1, wrong)
        self.assertEqual((sure, after), ([], ["(True, 7)"]))


if __name__ == "__main__":
    unittest.main()
