# SPDX-License-Identifier: Apache-2.0
"""How Nextflow is run in these tests, and what it says of its own tasks."""

import csv
import os

import installed

FIELDS = "hash,native_id,process,tag,name,status,exit,attempt,workdir"

# How many markers of each step one complete run of pipelines/nextflow has.
MARKERS = {"QC:ALIGN": 16, "COUNT": 20, "QC:FLAKY": 5, "QC:ODD": 6, "MERGE": 1}


class Nextflow:
    """One version of it, in a folder of its own."""

    def __init__(self, version, workspace):
        self.words = installed.nextflow(version)
        self.workspace = workspace
        self.environment = workspace.environment(NXF_OFFLINE="true", NXF_PLUGINS_DEFAULT="false",
                                                 NXF_HOME=str(workspace.folder / "nxf"))

    def command(self, *words):
        return [*self.words, "run", *words, "-ansi-log", "false"]

    def run(self, name, *words, **options):
        return self.workspace.run(name, *self.command(*words), environment=self.environment, **options)


def rows_of(path):
    """The lines of a trace file by work folder."""
    with open(path, encoding="utf-8") as file:
        return {row["workdir"]: row for row in csv.DictReader(file, delimiter="\t")}


def task_folder(marker):
    """ab/<30 hex>: the last two folders of a marker's working directory."""
    return "/".join(marker.cwd.split("/")[-2:])


def truth_of(marker):
    """What the marker says, and the task's folder; Nextflow's process and name are written with quotes in a shell."""
    return marker.truth | {"task_id": task_folder(marker), "engine": "nextflow"}


def is_wrapper(one):
    return any(os.path.basename(word) == ".command.run" for word in one.argv) and "nxf_trace" not in one.argv


def is_script(one):
    return any(os.path.basename(word) == ".command.sh" for word in one.argv)


def is_poller(one):
    return "nxf_trace" in one.argv and any(word.endswith(".command.run") for word in one.argv)


def is_java(one):
    return os.path.basename(one.exe) == "java"
