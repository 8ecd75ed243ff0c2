# SPDX-License-Identifier: Apache-2.0
"""The plugin `snakemake --logger tracer` with the service itself: names, attempts and requests of what really ran, here and by
Slurm, and what waits before it starts."""

import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/engines"))

import installed
import slurm_cluster
from real_service import RealService

DEADLINE_SECONDS = 200

SNAKEFILE = """
rule all:
    input: "S1.sorted", "S2.sorted", "S3.sorted", "S1.tried", "both"
rule order:
    output: "{sample}.sorted"
    threads: 2
    resources: mem_mb=64, runtime=5
    shell: "python3 -c 'import time; time.sleep(1.5)'; echo {wildcards.sample} > {output}"
rule tried:
    output: "{sample}.tried"
    retries: 1
    resources: mem_mb=lambda wildcards, attempt: 50 * attempt
    shell: "sleep 0.6; test -e once || {{ touch once; exit 3; }}; touch {output}"
rule first:
    output: temp("half")
    group: "pair"
    shell: "seq 1 1000 > {output}; sleep 0.6"
rule second:
    input: "half"
    output: "both"
    group: "pair"
    shell: "sort -r {input} > {output}; sleep 0.6"
"""


class Snakemake(RealService):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tracer-smk-", dir="/tmp")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.folder.chmod(0o755)
        (self.folder / "Snakefile").write_text(SNAKEFILE)
        self.socket = str(self.folder / "tracer.sock")
        self.states = {}
        self.begin_service()

    def rows(self):
        return self.ask("state", rows=["tasks"])["state"]["tasks"]

    def watch(self, over):
        """Notes in which states each task was seen, in their order."""
        while not over.wait(0.2):
            for row in self.rows():
                if "submitted_ns" not in row:
                    continue
                seen = self.states.setdefault((row.get("step"), row.get("sample"), row.get("attempt", 1)), [])
                if not seen or seen[-1] != row["state"]:
                    seen.append(row["state"])

    def run_snakemake(self, program, *words, environment=()):
        over = threading.Event()
        watcher = threading.Thread(target=self.watch, args=(over,))
        watcher.start()
        try:
            return subprocess.run(
                [program, "--logger", "tracer", "--nocolor", *words], cwd=self.folder, text=True, check=False,
                stdin=subprocess.DEVNULL, capture_output=True, timeout=DEADLINE_SECONDS,
                env=os.environ | {"PYTHONPATH": str(ROOT / "plugins/snakemake"), "TRACER_SOCKET": self.socket,
                                  "HOME": str(self.folder), "PYTHONDONTWRITEBYTECODE": "1"} | dict(environment))
        finally:
            over.set()
            watcher.join()

    def tasks(self):
        """By step, sample and attempt: what the plugin has submitted."""
        self.ask("flush")
        return {(row["step"], row.get("sample"), row.get("attempt", 1)): row for row in self.rows() if "submitted_ns" in row}

    def check_orders(self, tasks):
        for sample in ("S1", "S2", "S3"):
            row = tasks["order", sample, 1]
            self.assertEqual((row["state"], row["outcome"], row["requested"]["memory_bytes"], row["requested"]["time_ns"]),
                             ("finished", "succeeded", 64_000_000, 300 * 10**9))


class Here(Snakemake):
    def test_names_attempts_requests_and_groups(self):
        run = self.run_snakemake(installed.snakemake()[0], "--cores", "2")
        self.assertEqual(run.returncode, 0, run.stderr)
        tasks = self.tasks()
        self.check_orders(tasks)
        self.assertEqual({key[0] for key in tasks}, {"order", "tried", "first", "second", "all"})
        self.assertEqual({key: tasks["tried", "S1", key]["outcome"] for key in (1, 2)}, {1: "failed", 2: "succeeded"})
        self.assertEqual([tasks["tried", "S1", attempt]["requested"]["memory_bytes"] for attempt in (1, 2)],
                         [50_000_000, 100_000_000])
        self.assertEqual(tasks["order", "S1", 1]["requested"]["millicpus"], 2000)
        # A job that is tried again at once gives its announcement to the next attempt: its processes may be named by its
        # arguments alone, as a task of their own.
        for key, row in tasks.items():
            if key != ("tried", "S1", 1):
                self.assertEqual(row["processes"] > 0, key[0] != "all", key)
        self.assertRegex(run.stderr, r"order \(S1\)")
        # Snakemake names a job as it begins it: what waits until then is what each step still expects.
        steps = {row["step"]: row for row in self.ask("state", rows=["steps"])["state"]["steps"]}
        self.assertEqual({name: steps[name]["expected"] for name in ("order", "tried", "first", "second")},
                         {"order": 3, "tried": 1, "first": 1, "second": 1})


class BySlurm(Snakemake):
    def test_jobs_that_slurm_runs_have_their_names(self):
        programs = installed.python_engine("snakemake-9-slurm", "snakemake>=9,<10", "snakemake-executor-plugin-slurm",
                                           "snakemake-executor-plugin-slurm-jobstep")
        cluster = slurm_cluster.Cluster(self, with_cgroups=False)
        self.addCleanup(cluster.stop)
        cluster.start()
        # Snakemake takes all of Slurm's variables from the environment of a job.
        srun = self.folder / "bin/srun"
        srun.parent.mkdir()
        srun.write_text(f'#!/bin/sh\nSLURM_CONF={cluster.environment["SLURM_CONF"]} exec {cluster.programs["srun"]} "$@"\n')
        srun.chmod(0o755)
        run = self.run_snakemake(programs / "snakemake", "--executor", "slurm", "--jobs", "2", "--slurm-no-account",
                                 "--slurm-status-command", "squeue", "--slurm-init-seconds-before-status-checks", "2",
                                 "--seconds-between-status-checks", "2", "--default-resources", "slurm_partition=main",
                                 "mem_mb=200",
                                 environment=cluster.environment | {"PATH": f"{srun.parent}:{os.environ['PATH']}"})
        logs = "".join(path.read_text()[-1500:] for path in self.folder.glob(".snakemake/slurm_logs/**/*.log"))
        self.assertEqual(run.returncode, 0, run.stderr[-1500:] + logs)
        tasks = self.tasks()
        self.check_orders(tasks)
        # Two at a time, of three.
        self.assertEqual([seen[0] for (step, _, _), seen in self.states.items() if step == "order"], ["queued"] * 3, self.states)
        # What Slurm has begun descends from its daemon: it is named by its arguments, as a task of its own.
        ran = {(row.get("step"), row.get("sample")) for row in self.rows() if row.get("processes") and row.get("engine") == "snakemake"}
        self.assertGreaterEqual(ran, {("order", "S1"), ("order", "S2"), ("order", "S3"), ("tried", "S1")})


if __name__ == "__main__":
    unittest.main(verbosity=2)
