# SPDX-License-Identifier: Apache-2.0
"""tracer lake runs."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from datetime import datetime, timedelta, timezone
from typing import Any

from .._core import format_duration
from .._errors import InvalidArgumentError
from .._format import aligned, counted, visible
from ._over_hosts import LakeRun, runs_of
from ._store import open_store

__all__ = ["run"]

_HEADER = ("run", "key", "engine", "user", "hosts", "begin", "took", "tasks", "failed", "status")

_MOST_DAYS = 100_000


def run(options: argparse.Namespace) -> tuple[str, int]:
    """What to print, and the exit status."""
    if not 0 < options.days <= _MOST_DAYS:
        raise InvalidArgumentError(f"--days is not above 0 and up to {_MOST_DAYS}", "give the number of days to look back")
    refused: list[str] = []
    runs = runs_of(open_store(options.lake), datetime.now(timezone.utc) - timedelta(days=options.days), refused)
    if refused:
        print(f"tracer: {counted(len(refused), 'object')} can't be read: {visible(refused[0])}", file=sys.stderr)
    if options.json:
        return json.dumps([_json_of(each) for each in runs], ensure_ascii=False, indent=1) + "\n", int(bool(refused and not runs))
    if not runs:
        return f"no run has come in the last {options.days:g} days; --days looks back further\n", int(bool(refused))
    return "\n".join(aligned([_HEADER, *map(_cells, runs)], {6, 7, 8})) + "\n", 0


def _cells(run: LakeRun) -> list[str]:
    begin = datetime.fromtimestamp(run.begin_unix_ns / 1e9, timezone.utc).astimezone().strftime("%Y-%m-%d %H:%M")
    took = format_duration(run.end_unix_ns - run.begin_unix_ns) if run.end_unix_ns else ""
    hosts = run.hosts[0] if len(run.hosts) == 1 else f"{run.hosts[0]} +{len(run.hosts) - 1}"
    cells = (run.name, run.run_key or "", run.engine or "", run.user, hosts, begin, took, str(run.tasks_ended),
             str(run.tasks_failed) if run.tasks_failed else "", run.status)
    return [visible(cell, 40) for cell in cells]


def _json_of(run: LakeRun) -> dict[str, Any]:
    row = asdict(run) | {"parts": [part.path for part in run.parts]}
    del row["keys"]
    return row
