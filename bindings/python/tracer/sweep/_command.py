# SPDX-License-Identifier: Apache-2.0
"""The command `tracer sweep`."""

from __future__ import annotations

import argparse
import json
from typing import Any

from ._live import ACTIONS

__all__ = ["FOUND", "POLICY", "add_commands", "run"]

FOUND = 3
"""The exit status where something was found."""

POLICY: dict[str, Any] = {
    "Version": "2012-10-17",
    "Statement": [{
        "Sid": "TracerSweepReadsOnly",
        "Effect": "Allow",
        "Action": sorted((*ACTIONS, "batch:DescribeJobs")),
        "Resource": "*",
    }],
}
"""All that --live calls, and that the commands need whose answers are read."""


def add_commands(commands: argparse._SubParsersAction[Any]) -> None:
    sweep = commands.add_parser(
        "sweep", help="show machines, tasks, volumes and queues that cost money and do nothing",
        description="Shows what runs and does nothing, by what was observed: recordings of whole hosts, and saved answers of "
        "aws, scontrol, squeue and sinfo. Nothing is stopped, and nothing is fetched without --live. The exit status is 0 if nothing is "
        "found, 3 if something is.")
    sweep.add_argument("recordings", metavar="RECORDING", nargs="*",
                       help="a recording of a whole host (tracerd watch --host --record FILE), or a folder of them")
    sweep.add_argument("--inventory", metavar="FILE", action="append", default=[],
                       help="a saved answer of a provider's command line, or a folder of them: docs/sweep.md lists the commands. "
                       "Its date is when it was asked. May be given several times")
    sweep.add_argument("--live", action="store_true",
                       help="ask AWS (EC2, Batch, ECS) itself, read-only, with the credentials that boto3 finds, in --region. "
                       "Without it, nothing is asked")
    sweep.add_argument("--save", metavar="FOLDER", help="with --live: keep the answers there, for --inventory of later looks")
    sweep.add_argument("--now", metavar="TIME", help="look at nothing later, such as 2026-11-20T07:30:00Z. Default: the end of "
                       "each recording")
    sweep.add_argument("--region", metavar="REGION", help="of machines whose own is not known, for their price")
    sweep.add_argument("--prices", metavar="FILE", help="a price list. Default: the imported ones")
    sweep.add_argument("--rules", metavar="FILE", help="a file with other thresholds: docs/sweep.md explains it")
    sweep.add_argument("--policy", action="store_true",
                       help="print the read-only policy of AWS that the commands for --inventory need, and do nothing else")
    form = sweep.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="write everything as one JSON object: docs/sweep.md describes it")
    form.add_argument("--csv", action="store_true", help="write all findings as CSV")
    form.add_argument("--html", action="store_true", help="write one page that needs no network and no other file")


def run(options: argparse.Namespace) -> tuple[str, int]:
    """What to print, and the exit status."""
    from . import sweep

    if options.policy:
        return json.dumps(POLICY, indent=2) + "\n", 0
    result = sweep(options.recordings, options.inventory, now=options.now, region=options.region, prices=options.prices,
                   rules=options.rules, live=options.live, save=options.save)
    status = FOUND if result.findings else 0
    if options.json:
        return json.dumps(result.to_json(), ensure_ascii=False, indent=1) + "\n", status
    if options.html:
        return result.html(), status
    return (result.to_csv() if options.csv else result.text() + "\n"), status
