# SPDX-License-Identifier: Apache-2.0
"""Runs of the engines and launchers of tests/engines, each traced from its first process on."""

import os
import shutil
import types

import installed
import nextflow_runs
import podman_image
from recorder import ENVIRONMENT, PYTHON, WORK

ENGINES = "/opt/engines"
SLURM = f"""
import os, pathlib, subprocess, sys, types
sys.path.insert(0, "{ENGINES}")
import slurm_cluster
cluster = slurm_cluster.Cluster(types.SimpleNamespace(folder=pathlib.Path("{WORK}")), True)
try:
    cluster.start()
    environment = os.environ | cluster.environment
    if len(sys.argv) > 1:
        subprocess.run(sys.argv[1:], env=environment, check=True)
    else:
        for words in (["--ntasks=2", "--overcommit", "batch.sh"], ["--array=1-3", "array.sh"]):
            subprocess.run(["sbatch", "--output=/dev/null", *words], env=environment, check=True)
    cluster.wait_for_jobs()
finally:
    cluster.stop()
"""


def add_pipeline(it, name):
    """The files of a pipeline, and the programs that they call."""
    source = installed.HERE / "pipelines"
    for path in (source / name).rglob("*"):
        if path.is_file():
            it.write(str(path.relative_to(source / name)), path.read_text(encoding="utf-8").replace("TEST", "test"))
    (WORK / "bin").mkdir(exist_ok=True)
    shutil.copy(installed.marker(), WORK / "bin/marker")
    shutil.copy(source / "shared/nested.sh", WORK / "bin/nested.sh")


def nextflow(it, version, *words, config="executor.pollInterval = '100ms'\n", before=(), **environment):
    add_pipeline(it, "nextflow")
    it.write("nextflow.config", f"trace.fields = '{nextflow_runs.FIELDS}'\n" + config)
    it.run(*before, *installed.nextflow(version), "run", *words, "-ansi-log", "false", NXF_OFFLINE="true", NXF_PLUGINS_DEFAULT="false",
           NXF_HOME=f"{WORK}/nxf", **environment)


def nextflow_24(it):
    nextflow(it, "24.10.0", "main.nf", "--test", "test", "-with-trace", "trace.tsv", "-name", "first_run")


def nextflow_25(it):
    nextflow(it, "25.04.4", "main.nf", "--test", "test", "-with-trace", "trace.tsv", "-name", "second_run")


def nextflow_setups(it):
    nextflow(it, "24.10.0", "setups.nf", "--test", "test", "-name", "plain_run")


def nextflow_podman(it):
    podman = podman_image.Podman(types.SimpleNamespace(folder=WORK))
    try:
        podman.make_image()
        nextflow(it, "25.04.4", "main.nf", "--test", "test", "--odd", "false", "-with-trace", "trace.tsv", "-name", "podman_run",
                 config=f"process.container = '{podman_image.IMAGE}'\npodman.enabled = true\nexecutor.pollInterval = '100ms'\n",
                 before=(PYTHON, f"{ENGINES}/reaper.py"), **podman.environment)
    finally:
        podman.stop()


def nextflow_slurm(it):
    nextflow(it, "25.04.4", "main.nf", "--test", "test", "--odd", "its (1)", "-name", "slurm_run", before=(PYTHON, it.write("slurm.py", SLURM)),
             config="process.executor = 'slurm'\nprocess.memory = '64 MB'\nexecutor.pollInterval = '500ms'\n"
                    "executor.queueStatInterval = '1s'\nexecutor.exitReadTimeout = '20s'\nexecutor.submitRateLimit = '20/1s'\n")


def slurm(it):
    add_pipeline(it, "slurm")
    it.run(PYTHON, it.write("slurm.py", SLURM))


def snakemake(it):
    add_pipeline(it, "snakemake")
    it.run(*installed.snakemake(), "--snakefile", "Snakefile", "--cores", "2", "--group-components", "both=2")


def snakemake_submitted(it):
    programs = installed.python_engine("snakemake-9-submitting", "snakemake>=9,<10", "snakemake-executor-plugin-cluster-generic>=1,<2")
    add_pipeline(it, "snakemake")
    submit = it.write("submit.sh", '#!/bin/sh\nsetsid sh "$1" > "$1.out" 2>&1 < /dev/null & echo $!\n')
    it.run(programs / "snakemake", "--jobs", "4", "--executor", "cluster-generic", "--cluster-generic-submit-cmd", submit,
           "--seconds-between-status-checks", "1", "--latency-wait", "2", "--max-status-checks-per-second", "10", "grouped/S1.b",
           "grouped/S2.b", "flaky/S1", "aligned/S1.1")


def cwltool(it):
    programs = installed.python_engine("cwltool-3", "cwltool>=3.1,<4")
    add_pipeline(it, "cwl")
    it.run(programs / "cwltool", "--parallel", "--no-container", "--tmp-outdir-prefix", f"{WORK}/out/", "--preserve-environment", "PATH",
           "workflow.cwl", "job.json")


def launcher(name):
    def launch(it):
        add_pipeline(it, "launchers")
        it.run("bash", f"{name}.sh", options=("--pipeline", "launch", "--run", "r1"))

    launch.__name__ = f"launcher_{name}"
    return launch


RECORDINGS = (nextflow_24, nextflow_25, nextflow_setups, nextflow_podman, nextflow_slurm, slurm, snakemake, snakemake_submitted, cwltool,
              *map(launcher, ("parallel", "xargs", "find", "make", "shells")))
