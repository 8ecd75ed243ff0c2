# SPDX-License-Identifier: Apache-2.0
"""Reads what a history expects: the output of `tracerd history --json`."""

from __future__ import annotations

import json
import os

from .._errors import BillError, RecordingError

__all__ = ["read_history"]

_ENOUGH = 5


def read_history(path: str) -> dict[tuple[str, str], float]:
    """(pipeline, step) -> the longest time of the tasks that succeeded, in seconds; of a step alone with pipeline ""."""
    try:
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
    except OSError as error:
        raise RecordingError.of("TRC110", error.errno, f"can't read {path}: {os.strerror(error.errno or 0)}",
                                "name a file that exists and that you may read") from None
    except ValueError as error:
        raise BillError.of("TRC130", None, f"{path} is no JSON: {error}", "write it with: tracerd history --json > FILE") from None
    times: dict[tuple[str, str], float] = {}
    try:
        for kind in content["kinds"]:
            wall = kind.get("wall_ns")
            if wall is not None and wall["n"] >= _ENOUGH:
                key = kind["pipeline"] or "", kind["step"] or ""
                times[key] = max(times.get(key, 0.0), max(float(wall["most"]), float(wall["p90"])) / 1e9)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise BillError.of("TRC130", None, f"{path} is not what tracerd history prints", "write it with: tracerd history --json > FILE") from None
    return times
