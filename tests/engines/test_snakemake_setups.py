# SPDX-License-Identifier: Apache-2.0
"""Snakemake with a prefix of the shell, conda, environment modules, scripts, messages, --quiet, and wrappers around
itself: each job is a task of its rule."""

import collections
import os

import installed
import support

CONDA = """#!/bin/bash
case "$*" in
 "info --json") echo '{"conda_version":"24.11.0","root_prefix":"ROOT/base","conda_prefix":"ROOT/base","platform":"linux-64","envs":["ROOT/env"],"pkgs_dirs":["ROOT/pkgs"]}';;
 --version) echo "conda 24.11.0";;
 *channel_priority*) echo '{"get":{"channel_priority":"strict"}}';;
 *) echo '{}';;
esac
"""
RULES = """
rule all:
    input: expand("{s}.counted", s=["a", "b"]), expand("{s}.plot", s=["a", "b"]), "told.txt", "x.index"
rule count:
    output: "{s}.counted"
DIRECTIVES
    shell: "marker --test TEST --step {rule} --sample {wildcards.s} > {output:q}"
rule plot:
    input: "{s}.counted"
    output: "{s}.plot"
    params: test="TEST"
    script: "plot.py"
rule told:
    output: "told.txt"
    message: "Making {output} now"
    shell: "marker --test TEST --step {rule} > {output}"
rule sorted:
    output: "x"
    shell: "marker --test TEST --step {rule} --word sorts > {output}"
rule index:
    input: "x"
    output: "x.index"
    shell: "marker --test TEST --step {rule} --word {input}; mv {input}.tmp {output} 2> /dev/null || touch x.index"
"""
SCRIPT = """import subprocess
words = ["marker", "--test", snakemake.params.test, "--step", "plot", "--sample", snakemake.wildcards.s]
open(snakemake.output[0], "wb").write(subprocess.check_output(words))
"""
SETUPS = {
    "plain": ("", "", ()),
    "one-core": ("", "", ("--cores", "1")),
    "quiet": ("", "", ("--quiet",)),
    "quiet-rules": ("", "", ("--quiet", "rules")),
    "prefix": ('shell.prefix("set -eo pipefail; export LC_ALL=C; ")', "", ()),
    "conda": ("", '    conda: "ROOT/env"', ("--sdm", "conda")),
    "modules": ("", '    envmodules: "samtools/1.19"', ("--sdm", "env-modules")),
    "dash": ('shell.executable("/bin/dash")', "", ()),
}


class Setups(support.EngineTest):
    @classmethod
    def prepare(cls, workspace):
        snakemake = installed.python_engine("snakemake-9", "snakemake>=9,<10") / "snakemake"
        root = str(workspace.folder)
        for name in ("bin/conda", "base/bin/conda", "base/condabin/conda"):
            workspace.file(name, CONDA.replace("ROOT", root), 0o755)
        for name in ("bin/activate", "base/bin/activate"):
            workspace.file(name, "export CONDA_PREFIX=$1\n")
        workspace.file("env/conda-meta/history", "#\n")
        cls.traces = {}
        for name, (head, directives, options) in SETUPS.items():
            text = (head + RULES).replace("DIRECTIVES", directives).replace("TEST", workspace.test).replace("ROOT", root)
            workspace.file(f"{name}/Snakefile", text)
            workspace.file(f"{name}/plot.py", SCRIPT)
            cores = () if "--cores" in options else ("--cores", "2")
            environment = workspace.environment(**{"BASH_FUNC_module%%": "() { :; }"})
            cls.traces[name] = workspace.run(f"snakemake-{name}", snakemake, *cores, *options,
                                             cwd=workspace.folder / name, environment=environment)

    def test_all_markers_are_seen(self):
        for name, trace in self.traces.items():
            with self.subTest(name):
                self.assert_no_loss(trace)
                self.assertEqual(collections.Counter(marker.truth["step"] for marker in trace.markers),
                                 {"count": 2, "plot": 2, "told": 1, "sorted": 1, "index": 1})

    def test_each_job_is_a_task_of_its_rule(self):
        for name, trace in self.traces.items():
            with self.subTest(name):
                self.assert_contexts(trace, {"engine", "step"}, truth=lambda marker: marker.truth | {"engine": "snakemake"})
                self.assert_same_task(trace, lambda marker: (marker.truth["step"], marker.truth.get("sample")))

    def test_nothing_else_is_a_task(self):
        for name, trace in self.traces.items():
            with self.subTest(name):
                self.assert_no_other_tasks(trace)

    def test_the_main_process_is_no_task(self):
        for name, trace in self.traces.items():
            with self.subTest(name):
                main = trace.executed(lambda one: any(os.path.basename(word) == "snakemake" for word in one.argv[:2]))
                self.assert_own(trace, main, "snakemake")
                self.assertEqual([str(one) for one in main if one.context["task_id"] or one.context["step"]], [])


if __name__ == "__main__":
    support.main()
