# SPDX-License-Identifier: Apache-2.0
"""The command `tracer recommend`."""

from __future__ import annotations

import argparse
import json
from typing import Any

__all__ = ["add_commands", "run"]


def add_commands(commands: argparse._SubParsersAction[Any]) -> None:
    what = commands.add_parser(
        "recommend", help="choose a machine for each step",
        description="Chooses a machine for each step: type, region, on demand or spot, by what its tasks were seen to use and by "
        "imported prices. Reasons, risks and what is assumed are printed.")
    what.add_argument("recordings", metavar="RECORDING", nargs="+", help="a recording, made with --record")
    what.add_argument("--step", metavar="STEP", help="of this step only")
    what.add_argument("--region", metavar="REGION", help="machines of this region. Default: the cheapest of all")
    what.add_argument("--cloud", metavar="CLOUD", help="machines of this cloud, such as aws or gcp")
    what.add_argument("--image", metavar="IMAGE=FILE", action="append", default=[],
                      help="the manifest of a step's image, as docker manifest inspect prints it: it says if the image is for Arm")
    what.add_argument("--prices", metavar="FILE", help="a price list. Default: the imported ones")
    what.add_argument("--rows", type=int, default=12, metavar="N", help="rows of the table. Default: 12")
    what.add_argument("--json", action="store_true", help="write everything as one JSON object: docs/recommend.md describes it")


def run(options: argparse.Namespace) -> tuple[str, int]:
    """What to print, and the exit status."""
    from .._errors import InvalidArgumentError
    from . import recommend

    images = {}
    for each in options.image:
        image, sign, file = each.rpartition("=")
        if not sign or not image or not file:
            raise InvalidArgumentError(f"--image {each} has no file", "write it as quay.io/biocontainers/star:2.7=manifest.json")
        images[image] = file
    if options.rows < 1:
        raise InvalidArgumentError(f"--rows {options.rows} shows nothing", "1 or more")
    result = recommend(options.recordings, step=options.step, region=options.region, cloud=options.cloud, prices=options.prices,
                       images=images)
    return (json.dumps(result.to_json(), ensure_ascii=False, indent=1) if options.json else result.text(options.rows)) + "\n", 0
