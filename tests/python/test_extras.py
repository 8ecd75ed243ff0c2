# SPDX-License-Identifier: Apache-2.0
"""The command `tracer` where the package is installed without its extras: what works, and what names the line that installs them."""

from __future__ import annotations

import os
import subprocess
import sys
import unittest

from support import ROOT, TempDir, run_python

RECORDING = str(ROOT / "tests/data/recordings/nextflow-24.tracer")
# The packages of pyproject.toml's extras, and what only these bring.
MAIN = """
import os, sys
for name in ("textual", "rich", "starlette", "uvicorn", "anyio", "duckdb", "boto3", "pandas", "polars", "pyarrow", "IPython",
             "obstore", "deltalake"):
    sys.modules[name] = None
os.isatty = lambda fd: True
from tracer.__main__ import main
sys.exit(main(sys.argv[1:]))
"""
UI, COST, LAKE = (f"pip install 'libtracer[{extra}]'" for extra in ("ui", "cost", "lake"))
# What each command needs to get as far as its extra. None: it needs none.
COMMANDS = {
    "report": (["--text", RECORDING], None),
    "prices": (["import", "vms.csv"], None),
    "cost": (["--bill", "bill.csv", RECORDING], COST),
    "whatif": ([RECORDING], COST),
    "recommend": ([RECORDING, "--prices", "vms.csv"], COST),
    "tune": ([RECORDING], COST),
    "sweep": ([RECORDING], COST),
    "top": ([RECORDING], UI),
    "ui": ([RECORDING], UI),
    "lake": (["ship", "s3://lake/x"], LAKE),
    "notify": (["--on", "error", RECORDING, "--", "cat"], None),
}


class WithoutExtras(TempDir):
    def run_tracer(self, *words: str) -> subprocess.CompletedProcess[str]:
        (self.folder / "bill.csv").write_text("")
        (self.folder / "vms.csv").write_text("cloud,region,instance_type,on_demand_usd_h,vcpus,memory_gib\naws,eu-west-1,m5.large,0.1,2,8\n")
        return run_python(MAIN, *words, cwd=self.folder, env=os.environ | {"HOME": str(self.folder)}, stdin=subprocess.DEVNULL)

    def test_each_command_works_or_names_the_line_and_exits_with_2(self) -> None:
        for command, (words, line) in COMMANDS.items():
            with self.subTest(command):
                done = self.run_tracer(command, *words)
                self.assertNotIn("Traceback", done.stderr)
                if line is None:
                    self.assertEqual(done.returncode, 0, done.stderr)
                else:
                    self.assertEqual((done.returncode, line in done.stderr, done.stdout), (2, True, ""), done.stderr)

    def test_no_command_is_forgotten(self) -> None:
        done = run_python("from tracer.__main__ import _COMMANDS; print(*_COMMANDS)")
        self.assertEqual({"report", *done.stdout.split()}, set(COMMANDS))

    def test_commands_of_tracerd_say_so(self) -> None:
        for words, said in ((("run", "sort", "a b"), "tracerd run sort 'a b'"), (("why", "x.tracer"), "tracerd why x.tracer"), (("log",), "tracerd log")):
            done = self.run_tracer(*words)
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"{words[0]} is a command of tracerd: {said}\n", done.stderr)

    def test_a_page_in_a_file_and_help_need_none(self) -> None:
        done = self.run_tracer("ui", "--export", "page.html", RECORDING)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("nextflow", (self.folder / "page.html").read_text(encoding="utf-8"))
        for command in COMMANDS:
            self.assertEqual(self.run_tracer(command, "--help").returncode, 0, command)


if __name__ == "__main__":
    unittest.main()
