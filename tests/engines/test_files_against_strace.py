# SPDX-License-Identifier: Apache-2.0
"""The family files beside `strace -f` in the same run: of pipelines of bwa and samtools, by a script, by Nextflow and by
Snakemake, all regular files outside the noise rules that were opened and still had their name at their last close. Both
have the same files with as many opens, and the rest equals the counts. Not compared is which process closed a file that
several shared: the log doesn't say whose close came last."""

import collections
import fnmatch
import json
import os
import pathlib
import stat
import subprocess
import sys
import tomllib
import unittest

import installed
import nextflow_runs
import strace_log
import support

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
EXAMPLE = ROOT / "examples/pipeline"
SIZES = ("--genome-bases", "20000", "--reads", "400", "--samples", "2")


class Noise:
    """rules/files.toml"""

    def __init__(self):
        with open(ROOT / "rules/files.toml", "rb") as file:
            rules = tomllib.load(file)["noise"]
        self.folders = [folder + "/" for rule in rules for folder in rule.get("folders", ())]
        self.files = {name for rule in rules for name in rule.get("files", ())}
        self.names = [name for rule in rules for name in rule.get("names", ())]

    def has(self, path):
        name = path.rsplit("/", 1)[1]
        return (path.startswith(tuple(self.folders)) or path in self.files
                or any(fnmatch.fnmatchcase(name, pattern) for pattern in self.names))


def is_regular(opened, made):
    if opened.is_folder or opened.path in made:
        return False
    try:
        return stat.S_ISREG(os.lstat(opened.path).st_mode)
    except OSError:
        return True  # It is gone.


class Pipeline:
    """Of each: prepare() runs it, and what both have seen are the two sides."""

    @classmethod
    def compare(cls, workspace, *words, environment=None, cwd=None):
        programs = {name: installed.program(name, name) for name in ("strace", "bwa", "samtools")}
        (workspace.folder / "home").mkdir(exist_ok=True)
        log, events = workspace.folder / "strace.log", workspace.folder / "events.json"
        cwd = cwd or workspace.folder
        done = subprocess.run([support.TRACERD, "run", "--no-live", "--no-history", "--families", "files", "--json", events, "--",
                               programs["strace"], *strace_log.COMMAND[1:], log, *map(str, words)], cwd=cwd,
                              env=environment or workspace.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", timeout=support.DEADLINE_SECONDS, check=False)
        if done.returncode != 0:
            raise AssertionError(f"status {done.returncode}: {done.stdout[-4000:]}")
        cls.events = [json.loads(line) for line in events.read_text(encoding="utf-8", errors="replace").splitlines()]
        truth = strace_log.Log(log, os.path.realpath(cwd))
        noise = Noise()
        cls.noise, cls.log = noise, log
        ended = [each for each in truth.ended if is_regular(each, truth.made) and not noise.has(each.path)]
        # One event for each process and file: under the path at the first of its closes.
        paths = {}
        cls.linked = collections.Counter(paths.setdefault((each.closed_by, each.file), each.path) for each in ended if each.linked)
        cls.unlinked = collections.Counter(each.path for each in ended if not each.linked)
        cls.seen, cls.folded = collections.Counter(), collections.Counter()
        for event in cls.events:
            if event["kind"] != "file_use" or event["comm"] == "strace":
                continue
            if event["folded"] is None:
                path = event["renamed_to"] if event["path_at"] == "rename" else event["path"]
                cls.seen[path] += event["opens"]
            else:
                cls.folded[event["folded"]] += event["opens"]

    def test_nothing_is_lost(self):
        self.assertEqual([event for event in self.events if event["kind"] == "loss"], [])

    def test_same_files(self):
        beyond = self.linked - self.seen
        # What a process used beyond its 1,024 files has no name, but a number.
        if sum(beyond.values()) == self.folded["others"]:
            beyond = collections.Counter()
        self.assertEqual((sorted((self.seen - self.linked).items())[:20], sorted(beyond.items())[:20]), ([], []),
                         "opens that strace has not seen, and those that only it has seen")

    def test_the_rest_is_counted(self):
        self.assertEqual(self.folded["unlinked"], sum(self.unlinked.values()), sorted(self.unlinked.items())[:40])

    def test_it_has_seen_the_work(self):
        names = collections.Counter(os.path.basename(path) for path in self.seen)
        for name in ("ref.fa", "ref.fa.bwt", "S1.bam", "S2.bam", "S1.flagstat.txt"):
            self.assertIn(name, names)
        self.assertGreater(len(self.linked), 20)


def make_data(workspace):
    subprocess.run([sys.executable, EXAMPLE / "make_data.py", "--out", workspace.folder, *SIZES], check=True,
                   stdout=subprocess.DEVNULL)


class Script(Pipeline, support.EngineTest):
    @classmethod
    def prepare(cls, workspace):
        make_data(workspace)
        cls.compare(workspace, EXAMPLE / "pipeline.sh", workspace.folder)


class Nextflow(Pipeline, support.EngineTest):
    @classmethod
    def prepare(cls, workspace):
        engine = nextflow_runs.Nextflow("24.10.0", workspace)
        make_data(workspace)
        cls.compare(workspace, *engine.command(EXAMPLE / "main.nf", "--data", workspace.folder / "data"),
                    environment=engine.environment)


class Snakemake(Pipeline, support.EngineTest):
    @classmethod
    def prepare(cls, workspace):
        words = installed.snakemake()
        make_data(workspace)
        cls.compare(workspace, *words, "--snakefile", EXAMPLE / "Snakefile", "--cores", "2", "--config",
                    f"data={workspace.folder / 'data'}")


if __name__ == "__main__":
    unittest.main()
