# SPDX-License-Identifier: Apache-2.0
"""Files that `tracer tune --emit` writes, in the engines themselves: what they request in a second run, and that nothing fails."""

from __future__ import annotations

import csv
import importlib
import importlib.util
import os
import subprocess
import sys
import unittest
from pathlib import Path
from typing import Any

from support import ROOT, TRACERD, TempDir, needs_tracing

from tracer.tune import Tune, tune

# A guard against hanging, never a measure.
DEADLINE_SECONDS = 300
GIB = 1 << 30

# Behind this folder, whose `support` is another one.
sys.path.append(str(ROOT / "tests/engines"))
installed: Any = importlib.import_module("installed")
slurm_cluster: Any = importlib.import_module("slurm_cluster")

# Holds so many MiB. Its limit is what the engine has requested, so that a request that is too small fails.
HOLD = """#!/bin/sh
ulimit -v $(($2 * 1024))
exec {python} -S -c 'import sys, time; held = b"x" * (int(sys.argv[1]) << 20); time.sleep(0.3)' "$1"
"""

NEXTFLOW = """
process ALIGN {
  tag "$n"
  memory 4.GB
  cpus 1
  time 3.h
  input: val n
  output: val n
  script: "hold.sh ${250 + 3 * n} ${task.memory.toMega()}"
}
process SORT {
  tag "$n"
  memory 2.GB
  input: val n
  output: val n
  script: "hold.sh ${100 + n} ${task.memory.toMega()}"
}
process RARE {
  memory 1.GB
  input: val n
  output: val n
  script: "hold.sh 50 ${task.memory.toMega()}"
}
workflow {
  names = Channel.of(1..10)
  ALIGN(names)
  SORT(ALIGN.out)
  RARE(SORT.out.filter { it < 3 })
}
"""

SNAKEMAKE = """
N = range(1, 11)
rule all:
    input: expand("sorted{n}", n=N), "rare"
rule align:
    output: "aligned{n}"
    resources: mem_mb=4000
    threads: 1
    shell: "hold.sh $((250 + 3 * {wildcards.n})) {resources.mem_mb}; echo align {resources.mem_mb} > {output}"
rule sort:
    input: "aligned{n}"
    output: "sorted{n}"
    resources: mem_mb=2000
    shell: "hold.sh $((100 + {wildcards.n})) {resources.mem_mb}; echo sort {resources.mem_mb} > {output}"
rule rare:
    output: "rare"
    resources: mem_mb=1000
    shell: "hold.sh 50 {resources.mem_mb}; echo rare {resources.mem_mb} > {output}"
"""

ODD = ("it's", "back\\slash", "line\nbreak", "*/", "${x}", "a'b { }", "\u2028new", "x\n#SBATCH --mem=7M")


@needs_tracing
@unittest.skipUnless(os.path.exists(TRACERD), "needs tracerd")
@unittest.skipUnless(importlib.util.find_spec("duckdb"), "needs duckdb")
class Engines(TempDir):
    def setUp(self) -> None:
        super().setUp()
        programs = self.folder / "bin"
        programs.mkdir()
        (programs / "hold.sh").write_text(HOLD.format(python=sys.executable))
        (programs / "hold.sh").chmod(0o755)
        (self.folder / "home").mkdir()
        self.environment = os.environ | {"PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(self.folder / "home"), "LC_ALL": "C.UTF-8",
                                         "NXF_OFFLINE": "true", "NXF_PLUGINS_DEFAULT": "false", "NXF_HOME": str(self.folder / "nxf")}

    def run_engine(self, *words: str | Path, record: Path | None = None, status: int = 0) -> str:
        traced = [TRACERD, "run", "--no-live", "--no-history", "--record", record, "--"] if record else []
        done = subprocess.run([*map(str, traced), *map(str, words)], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=DEADLINE_SECONDS)
        self.assertEqual(done.returncode, status, done.stdout[-4000:])
        return done.stdout

    def memory_hours(self, result: Tune, requested: dict[str, int]) -> float:
        """Had the first run requested this: times differ from run to run."""
        return sum(requested[row["step"]] / row["memory_requested_bytes"] * row["memory_gib_hours_requested"] for row in result.rows)

    def test_nextflow(self) -> None:
        engine = installed.nextflow("24.10.0")
        (self.folder / "main.nf").write_text(NEXTFLOW)
        (self.folder / "nextflow.config").write_text("trace.fields = 'hash,process,tag,name,status,exit,attempt,start,complete,realtime,cpus,"
                                                     "memory,time,%cpu,peak_rss'\nexecutor.pollInterval = '100ms'\n")
        self.run_engine(*engine, "run", "main.nf", "-ansi-log", "false", "-with-trace", "first.txt", record=self.folder / "run.tracer")
        result = tune([self.folder / "run.tracer", self.folder / "first.txt"])
        rows = {row["step"]: row for row in result.rows}
        self.assertEqual({step: row["tasks"] for step, row in rows.items()}, {"ALIGN": 10, "SORT": 10, "RARE": 2})
        self.assertEqual(rows["ALIGN"]["memory_requested_bytes"], 4 * GIB)
        self.assertTrue(280 << 20 <= rows["ALIGN"]["memory_peak_bytes"] <= 330 << 20, rows["ALIGN"])
        self.assertEqual(rows["RARE"]["memory_rule"], "keep")
        (self.folder / "tune.config").write_text(result.emit("nextflow"))
        self.run_engine(*engine, "-c", "tune.config", "run", "main.nf", "-ansi-log", "false", "-with-trace", "second.txt")
        with open(self.folder / "second.txt") as file:
            second = list(csv.DictReader(file, delimiter="\t"))
        self.assertEqual({row["status"] for row in second}, {"COMPLETED"})
        self.assertEqual({row["attempt"] for row in second}, {"1"})
        requested = {row["step"]: row["memory_requested_bytes"] for row in tune([self.folder / "second.txt"]).rows}
        self.assertEqual(requested["RARE"], GIB)
        self.assertLessEqual(self.memory_hours(result, requested), 0.5 * self.memory_hours(result, {
            step: row["memory_requested_bytes"] for step, row in rows.items()}))
        self.assertEqual(requested["ALIGN"], rows["ALIGN"]["advised_memory_bytes"])

    def test_snakemake(self) -> None:
        program = installed.python_engine("snakemake-9", "snakemake>=9,<10") / "snakemake"
        (self.folder / "Snakefile").write_text(SNAKEMAKE)
        self.run_engine(program, "--cores", "2", "-q", record=self.folder / "run.tracer")
        result = tune([self.folder / "run.tracer"])
        rows = {row["step"]: row for row in result.rows}
        self.assertEqual({step: row["tasks"] for step, row in rows.items()}, {"align": 10, "sort": 10, "rare": 1})
        profile = self.folder / "profile"
        profile.mkdir()
        (profile / "config.yaml").write_text(result.emit("snakemake"))
        first = self.requested()
        self.run_engine(program, "--cores", "2", "-q", "--forceall", "--workflow-profile", profile)
        second = self.requested()
        self.assertEqual((first["align"], first["sort"], first["rare"]), (4000, 2000, 1000))
        self.assertEqual(second["rare"], 1000)
        self.assertLessEqual(second["align"] + second["sort"], 0.5 * (first["align"] + first["sort"]))
        self.assertGreater(second["align"], 280)

    def requested(self) -> dict[str, int]:
        """What the rules have written."""
        found = {}
        for name in ("aligned1", "sorted1", "rare"):
            step, memory = (self.folder / name).read_text().split()
            found[step] = int(memory)
        return found

    def odd_tasks(self, *steps: str) -> Path:
        """With names that no engine has; each held half a GiB of 1.5 for 4 minutes of 50."""
        path = self.folder / "odd.csv"
        with open(path, "w", newline="") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow(["run_id", "hash", "process", "status", "memory", "peak_rss", "realtime", "time", "cpus"])
            for n in range(6):
                for step in (*ODD, *steps):
                    table.writerow(["r", f"{n}", step, "COMPLETED", 3 * GIB // 2, GIB // 2, 240_000, 3_000_000, 2])
        return path

    def test_names_that_no_engine_has(self) -> None:
        """The file is accepted with whatever names are in the tasks."""
        (self.folder / "main.nf").write_text("process GOOD {\n  script: 'true'\n}\nworkflow { GOOD() }\n")
        (self.folder / "tune.config").write_text(tune([self.odd_tasks("GOOD")]).emit("nextflow", retry=True))
        shown = self.run_engine(*installed.nextflow("24.10.0"), "-c", "tune.config", "config")
        self.assertIn("withName:GOOD", shown.replace("'", ""))

    def test_sbatch(self) -> None:
        """The file is what Slurm's job has, after lines with any name; Slurm itself says what it has understood."""
        result = tune([self.odd_tasks("good")])
        row = next(row for row in result.rows if row["step"] == "good")
        self.assertTrue(row["advised_memory_bytes"] < GIB and row["advised_time_s"] == 720, row)
        row |= {"advised_cpus": 1, "cpus_wanted": 0.6}  # A table doesn't say how many it wants at once.
        text = result.emit("sbatch")
        self.assertNotRegex(text, "(?m)^#SBATCH --mem=7M")
        (self.folder / "job.sh").write_text(f"#!/bin/sh\n{text}\nscontrol show job -o $SLURM_JOB_ID > shown\n")
        cluster = slurm_cluster.Cluster(self, False)
        self.addCleanup(cluster.stop)
        cluster.start()
        self.environment |= cluster.environment
        self.run_engine("sbatch", "--test-only", "job.sh")
        self.run_engine("sbatch", "--wait", "--output=out", "job.sh")
        shown = dict(word.split("=", 1) for word in (self.folder / "shown").read_text().split() if "=" in word)
        self.assertEqual((shown["MinMemoryNode"], shown["CPUs/Task"], shown["TimeLimit"]),
                         (f"{-(-row['advised_memory_bytes'] >> 20)}M", "1", "00:12:00"))


if __name__ == "__main__":
    unittest.main()
