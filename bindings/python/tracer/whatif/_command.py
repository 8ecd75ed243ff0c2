# SPDX-License-Identifier: Apache-2.0
"""The command `tracer whatif`."""

from __future__ import annotations

import argparse
import json
from typing import Any

__all__ = ["add_commands", "run"]


def add_commands(commands: argparse._SubParsersAction[Any]) -> None:
    what = commands.add_parser(
        "whatif", help="replay a run on other numbers of CPUs and on other machines",
        description="Replays a recorded run on other numbers of CPUs and on other machines, and shows how long it would take, "
        "what it would use and cost. Its assumptions are printed.")
    what.add_argument("recording", metavar="RECORDING", help="a recording, made with --record")
    what.add_argument("--cpus", metavar="N", action="append", default=[],
                      help="CPUs to replay on: one number, or several with commas. Default: 1, 2, 4 … until more don't help")
    what.add_argument("--instance", metavar="TYPE", action="append", default=[],
                      help="a type of machine to replay on: one, or several with commas. Its size and price are from the price list")
    what.add_argument("--region", metavar="REGION", help="of its price. Default: where it is cheapest")
    what.add_argument("--slots", metavar="N", help="tasks that may run at once; cpus: one for each CPU. Default: as many as seen")
    what.add_argument("--recorded-cpus", type=int, metavar="N",
                      help="CPUs that the run could use when it was recorded. Default: those of the host, or of the run's taskset")
    what.add_argument("--speed", type=float, metavar="F",
                      help="how fast a CPU of --instance is: 1.2 is 1.2 times as fast as the CPUs of the recording")
    what.add_argument("--run", metavar="NAME", help="a run of the recording, by its name or key. Default: the only or outermost one")
    what.add_argument("--prices", metavar="FILE", help="a price list. Default: the imported ones")
    what.add_argument("--json", action="store_true", help="write everything as one JSON object: docs/whatif.md describes it")


def run(options: argparse.Namespace) -> tuple[str, int]:
    """What to print, and the exit status."""
    from .._errors import InvalidArgumentError
    from . import what_if

    cpus = []
    for word in ",".join(options.cpus).split(",") if options.cpus else []:
        if not word.strip().isdecimal():
            raise InvalidArgumentError(f"--cpus {word or 'nothing'} is no number of CPUs", "write it as 4, or 1,2,4")
        cpus.append(int(word))
    slots = int(options.slots) if options.slots is not None and options.slots.isdecimal() else options.slots
    types = [word.strip() for word in ",".join(options.instance).split(",") if word.strip()]
    result = what_if(options.recording, cpus=cpus, instances=types, region=options.region, run=options.run, slots=slots,
                     recorded_cpus=options.recorded_cpus, speed=options.speed, prices=options.prices)
    return (json.dumps(result.to_json(), ensure_ascii=False, indent=1) if options.json else result.text()) + "\n", 0
