# SPDX-License-Identifier: Apache-2.0
"""The types that the package says are those that it has."""

import ast
import importlib.util
import os
import subprocess
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path

import tracer

PACKAGE = Path(tracer.__file__).parent
HAS_MYPY = importlib.util.find_spec("mypy") is not None

USE = '''
import asyncio
import tracer
from tracer import ProcessExit, Session

with tracer.session(sample="S1", labels={"a": "b"}) as s:
    reveal_type(s)
    with s.task("align"):
        result = s.run(["true"], check=True)
    reveal_type(result.usage.peak_rss_bytes)
    for event in s.events(kinds={"process_exit"}, timeout=1.0):
        if isinstance(event, ProcessExit):
            reveal_type(event.exit_code)
    for batch in s.batches():
        reveal_type(batch)

@tracer.task("normalise", sample="S1")
def add(a: int, b: int) -> int:
    return a + b

@tracer.task("later")
async def later(a: int) -> str:
    return str(a)

reveal_type(add)
reveal_type(later)
reveal_type(tracer.read("x").host.cpu_count)
reveal_type(tracer.check().usable)
tracer.nothing
add("1", 2)
tracer.session(unknown=1)
tracer.attach(pid=1, unknown=1)
s.run(["true"], shell=True)
s.run(["true"], timeout="1")
'''
REVEALED = [
    '"tracer._session.Session"', '"int | None"', '"int | None"', '"list[tracer._facts.Event]"',
    '"def (a: int, b: int) -> int"', '"int"', '"bool"',
]


def mypy(*arguments, cwd):
    with tempfile.TemporaryDirectory() as cache:
        return subprocess.run(
            [sys.executable, "-m", "mypy", "--strict", "--cache-dir", cache, *map(str, arguments)], cwd=cwd,
            capture_output=True, text=True, env=os.environ | {"MYPYPATH": str(PACKAGE.parent)})


class Typing(unittest.TestCase):
    def test_typed_names_are_the_lazy_ones(self):
        tree = ast.parse((PACKAGE / "__init__.py").read_text())
        typed = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module and node.level == 1:
                for alias in node.names:
                    if alias.asname:
                        typed[alias.asname] = node.module
        self.assertEqual(typed, tracer._MODULE_OF)
        self.assertTrue((PACKAGE / "py.typed").exists())

    @unittest.skipUnless(HAS_MYPY, "needs mypy")
    def test_the_package_is_strict(self):
        done = mypy("-p", "tracer", cwd="/")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    @unittest.skipUnless(HAS_MYPY, "needs mypy")
    def test_the_stub_is_the_module(self):
        done = subprocess.run([sys.executable, "-m", "mypy.stubtest", "--ignore-unused-allowlist", "--allowlist",
                               str(Path(__file__).resolve().parent / "stubtest.allow"), "tracer._core"],
                              cwd="/", capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(PACKAGE.parent)})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    @unittest.skipUnless(HAS_MYPY, "needs mypy")
    def test_those_who_use_it_are_helped(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "use.py"
            path.write_text(textwrap.dedent(USE))
            done = mypy(path, cwd=folder)
        told = [line.partition("Revealed type is ")[2] for line in done.stdout.splitlines() if "Revealed" in line]
        for expected in REVEALED:
            self.assertIn(expected, told, done.stdout)
        self.assertNotIn('"Any"', told)
        errors = [line for line in done.stdout.splitlines() if ": error:" in line]
        self.assertEqual(len(errors), 6, done.stdout)


if __name__ == "__main__":
    unittest.main()
