#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What docs/c.md shows is C that compiles; its first program runs. So do the examples."""
import os
import pathlib
import re
import select
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
COMPILER = os.environ.get("CC", "cc")
FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror",
         "-I", ROOT / "bindings/c/include", "-I", ROOT / "include", *os.environ.get("TRACER_C_FLAGS", "").split()]
LIBRARY = pathlib.Path(os.environ.get("TRACER_C_LIBRARY", ROOT / "build/dev/bindings/c/libtracer-c.so.0"))
EXAMPLES = pathlib.Path(os.environ.get("TRACER_EXAMPLES", ROOT / "build/dev/examples"))
RECORDING = pathlib.Path(os.environ.get("TRACER_C_RECORDING", ROOT / "build/dev/tests/c/walk.tracer"))


def snippets():
    return re.findall(r"```c\n(.*?)```", (ROOT / "docs/c.md").read_text(encoding="utf-8"), re.S)


class Guide(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def compiled(self, text, *arguments):
        source = self.folder / "snippet.c"
        source.write_text(text, encoding="utf-8")
        result = subprocess.run([COMPILER, *FLAGS, source, *arguments], stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, check=False)
        self.assertEqual(result.returncode, 0, f"{text}\n{result.stdout}")

    def test_snippets_compile(self):
        self.assertGreater(len(snippets()), 7)
        for text in snippets():
            with self.subTest(text=text.splitlines()[-3:]):
                self.compiled(text, "-c", "-o", self.folder / "snippet.o")

    def test_first_program_runs(self):
        if not RECORDING.exists():
            self.skipTest("no recording: the walk was skipped")
        program = self.folder / "program"
        self.compiled(snippets()[0], LIBRARY, f"-Wl,-rpath,{LIBRARY.parent}", "-o", program)
        result = subprocess.run([program, RECORDING], stdout=subprocess.PIPE, text=True, check=True)
        self.assertRegex(result.stdout, r"^process \d+ ended\n$")
        self.assertEqual(subprocess.run([program, "/no/such"], stderr=subprocess.DEVNULL, check=False).returncode, 1)

    def test_functions_of_the_guide_exist(self):
        declared = "".join(header.read_text(encoding="utf-8") for header in (ROOT / "bindings/c/include").glob("**/*.h"))
        for name in re.findall(r"\b(?:tracer_\w+|TRACER_[A-Z_]+)\b", (ROOT / "docs/c.md").read_text(encoding="utf-8")):
            self.assertIn(name, declared)


@unittest.skipUnless((EXAMPLES / "example_c_tools").exists(), "the examples are not built")
class Examples(unittest.TestCase):
    def test_tools(self):
        if not RECORDING.exists():
            self.skipTest("no recording: the walk was skipped")
        output = subprocess.run([EXAMPLES / "example_c_tools", RECORDING], stdout=subprocess.PIPE, text=True, check=True)
        rows = [line.split("\t") for line in output.stdout.splitlines()]
        self.assertEqual(sum(int(programs) for _, programs, _, _ in rows), 2, "the copy of the caller, and the shell")
        self.assertEqual(sum(int(failed) for _, _, failed, _ in rows), 1)

    def test_failures(self):
        if os.geteuid() != 0:
            self.skipTest("needs root")
        with subprocess.Popen([EXAMPLES / "example_c_failures", str(os.getpid())], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watcher:
            for _ in range(400):  # It says nothing when it has begun: until it has seen one.
                failed = subprocess.run(["sh", "-c", "exit 3"], check=False)
                self.assertEqual(failed.returncode, 3)
                if select.select([watcher.stdout], [], [], 0.1)[0]:
                    break
            output, errors = watcher.communicate("\n", timeout=60)
        self.assertEqual((watcher.returncode, errors), (0, ""))
        self.assertRegex(output, r"(?m)^.+, pid \d+, failed, CPU \d+ ms$")


if __name__ == "__main__":
    unittest.main()
