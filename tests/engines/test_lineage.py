# SPDX-License-Identifier: Apache-2.0
"""Which task read what another wrote, in pipelines of real engines, against their graphs."""

import json
import os
import subprocess

import installed
import nextflow_runs
import support

SNAKEFILE = """
SAMPLES = ["S1", "S2", "S3"]
rule all:
    input: "all.txt"
rule prepare:
    output: "{sample}.txt"
    shell: "seq 1 3000 > {output}"
rule order:
    input: "{sample}.txt"
    output: "{sample}.sorted"
    shell: "sort -r -o {output} {input}"
rule count:
    input: "{sample}.sorted"
    output: "{sample}.count"
    shell: "wc -l < {input} > {output}"
rule merge:
    input: expand("{sample}.count", sample=SAMPLES)
    output: "all.txt"
    shell: "cat {input} > {output}"
"""

MAIN_NF = """
process prepare { tag "$s"; input: val s; output: tuple val(s), path("${s}.txt"); script: "seq 1 3000 > ${s}.txt" }
process order { tag "$s"; input: tuple val(s), path(f); output: tuple val(s), path("${s}.sorted"); script: "sort -r -o ${s}.sorted $f" }
process count { tag "$s"; input: tuple val(s), path(f); output: path("${s}.count"); script: "wc -l < $f > ${s}.count" }
process merge { input: path(counts); output: path("all.txt"); script: "cat $counts > all.txt" }
workflow { prepare(channel.of("S1", "S2", "S3")) | order | count | collect | merge }
"""

# (file, what the task that reads it writes)
PLANNED = {(f"{sample}.{read}", written.format(sample)) for sample in ("S1", "S2", "S3")
           for read, written in (("txt", "{}.sorted"), ("sorted", "{}.count"), ("count", "all.txt"))}


class Lineage(support.EngineTest):
    def edges_of(self, recording):
        """As PLANNED: for certain, and perhaps. Tasks are known by what they write: a loaded machine may not know their names."""
        read = subprocess.run([support.TRACERD, "lineage", "--json", recording], capture_output=True, text=True, check=True)
        edges = [edge | {"name": os.path.basename(edge["path"])} for edge in json.loads(read.stdout)["edges"]]
        written = {edge["task"]: edge["name"] for edge in edges if "write" in edge["mode"] and "task_key" in edge}
        found = {"from": set(), "may_from": set()}
        for edge in edges:
            for how, passed in found.items():
                for writer in edge.get(how, ()):
                    if "task_key" in edge:
                        self.assertEqual(written[writer], edge["name"])
                        passed.add((edge["name"], written[edge["task"]]))
        return found["from"], found["may_from"]

    def assert_planned(self, *words, environment):
        recording = self.workspace.folder / "r.tracer"
        subprocess.run([support.TRACERD, "run", "--no-live", "--no-history", "--record", recording, "--", *words], check=True,
                       cwd=self.workspace.folder, env=environment, timeout=support.DEADLINE_SECONDS,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        certain, maybe = self.edges_of(recording)
        self.assertEqual(certain, PLANNED)
        self.assertFalse(maybe - PLANNED)


class Snakemake(Lineage):
    @classmethod
    def prepare(cls, workspace):
        cls.workspace = workspace
        workspace.file("Snakefile", SNAKEFILE)

    def test_edges_are_those_of_the_graph(self):
        self.assert_planned(*installed.snakemake(), "--cores", "2", environment=self.workspace.environment())


class Nextflow(Lineage):
    @classmethod
    def prepare(cls, workspace):
        cls.workspace = workspace
        workspace.file("main.nf", MAIN_NF)

    def test_edges_are_those_of_the_graph(self):
        engine = nextflow_runs.Nextflow("24.10.0", self.workspace)
        self.assert_planned(*engine.command("main.nf"), environment=engine.environment)


if __name__ == "__main__":
    support.main()
