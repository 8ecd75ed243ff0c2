# SPDX-License-Identifier: Apache-2.0
"""The command `tracer tune`."""

from __future__ import annotations

import argparse
import json
from typing import Any

__all__ = ["add_commands", "run"]


def add_commands(commands: argparse._SubParsersAction[Any]) -> None:
    tune = commands.add_parser(
        "tune", help="show what steps requested, what they used, and what to request next",
        description="Shows what the tasks of each step requested against what they used, what bounds them, and what to request "
        "next, with the risk. Nothing is changed; --emit writes a file for an engine.")
    tune.add_argument("recordings", metavar="RECORDING", nargs="*",
                      help="a recording, a folder of recordings, a lake, or a table of tasks in CSV, TSV or Parquet")
    tune.add_argument("--tasks", metavar="FILE", action="append", default=[],
                      help="a table of tasks, such as an engine's trace: docs/cost.md lists its columns. What it says of a task that a "
                      "recording has is what that task requested. May be given several times")
    tune.add_argument("--by", choices=("step", "tool"), default="step", help="rows. Default: step")
    tune.add_argument("--failures", type=float, metavar="RATE",
                      help="the share of first attempts that may fail for lack of memory: 0.05 is 5 of 100. Default: as few as the largest "
                      "peak allows")
    tune.add_argument("--prices", metavar="FILE", help="a price list. Default: the imported ones")
    tune.add_argument("--history", metavar="FILE", help="what tracerd history --json printed: times rest on it, too")
    tune.add_argument("--rows", type=int, default=20, metavar="N", help="rows of the table, the most to save first. Default: 20")
    tune.add_argument("--retry", action="store_true", help="with --emit nextflow: retry what may have had too little memory, instead of by "
                      "the pipeline's own errorStrategy")
    form = tune.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="write everything as one JSON object: docs/tune.md describes it")
    form.add_argument("--csv", action="store_true", help="write all rows as CSV")
    form.add_argument("--html", action="store_true", help="write one page that needs no network and no other file")
    form.add_argument("--emit", choices=("nextflow", "snakemake", "sbatch"),
                      help="write a configuration, a profile, or lines of job scripts, each line with what it saves and risks")
    form.add_argument("--why", metavar="STEP", help="show what the advice for a step rests on")


def run(options: argparse.Namespace) -> tuple[str, int]:
    """What to print, and the exit status."""
    from .._errors import InvalidArgumentError
    from . import tune

    if options.rows < 1:
        raise InvalidArgumentError(f"--rows {options.rows} shows nothing", "1 or more")
    if options.retry and options.emit is None:
        raise InvalidArgumentError("--retry is for a file", "add --emit nextflow")
    result = tune([*options.recordings, *options.tasks], by=options.by, failures=options.failures, prices=options.prices,
                  history=options.history)
    if options.json:
        return json.dumps(result.to_json(), ensure_ascii=False, indent=1) + "\n", 0
    if options.csv:
        return result.to_csv(), 0
    if options.html:
        return result.html(), 0
    if options.emit:
        return result.emit(options.emit, retry=options.retry), 0
    if options.why is not None:
        return result.why(options.why) + "\n", 0
    return result.text(options.rows) + "\n", 0
