# SPDX-License-Identifier: Apache-2.0
"""tracer lake status: what waits in an outbox, and why."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

from .._format import counted, visible
from ._outbox import Outbox, json_of, parts_text

__all__ = ["FAILS", "run"]

FAILS = 3
"""The exit status where something fails now."""
_MOST_GAPS = 5


def run(options: argparse.Namespace) -> tuple[str, int]:
    """What to print, and the exit status."""
    status = _status(Outbox(options.outbox))
    text = json.dumps(status, ensure_ascii=False, indent=1) if options.json else "\n".join(_lines(status))
    return text + "\n", FAILS if status["shipper"].get("failing_parts") else 0


def _status(outbox: Outbox) -> dict[str, Any]:
    waiting = outbox.waiting()
    gaps = []
    for each in waiting:
        if each.part.kind == "gap":
            try:
                gap = json_of(each.path)
            except (OSError, ValueError):
                gap = {}
            gaps.append({"part": each.part.path} | (gap if isinstance(gap, dict) else {}))
    return {
        "schema": 1,
        "outbox": outbox.folder,
        "waiting": {"parts": sum(each.part.kind == "tracer" for each in waiting), "bytes": sum(each.bytes for each in waiting),
                    "oldest_unix_ns": waiting[0].since_unix_ns if waiting else None},
        "gaps": gaps,
        "shipper": {"running": outbox.has_shipper()} | outbox.state(),
    }


def _lines(status: Mapping[str, Any]) -> list[str]:
    from .._core import format_bytes

    waiting, shipper = status["waiting"], status["shipper"]
    now = time.time_ns()
    lines = [f"{status['outbox']}: {parts_text(waiting['parts'])} to ship, {format_bytes(waiting['bytes'])}"
             + (f", the oldest {_ago(now, waiting['oldest_unix_ns'])} old" if waiting["oldest_unix_ns"] else "")]
    for gap in status["gaps"][:_MOST_GAPS]:
        lines.append(f"Gap: {gap['part']}: parts {gap.get('first', '?')} to {gap.get('last', '?')} are missing: {gap.get('cause', '?')}")
    if len(status["gaps"]) > _MOST_GAPS:
        lines.append(f"and {counted(len(status['gaps']) - _MOST_GAPS, 'more gap')}")
    lines.append(f"A shipper runs, to {shipper.get('target')}" if shipper["running"] else "No shipper runs")
    if shipper.get("last_shipped_unix_ns"):
        lines.append(f"Shipped: {parts_text(shipper['shipped_parts'])}, {format_bytes(shipper['shipped_bytes'])}, the last at "
                     f"{_time(shipper['last_shipped_unix_ns'])}")
    if shipper["running"] and shipper.get("sending"):
        lines.append(f"Sends {shipper['sending']} for {_ago(now, shipper['at_unix_ns'])}")
    failing = shipper.get("failing", [])
    for each in _causes(failing):
        lines.append(f"Fails since {_time(each['since_unix_ns'])}: {each['code']}: {each['what']}")
        if each["fix"]:
            lines.append(f"  Fix: {each['fix']}")
    if failing:
        lines.append(f"  {parts_text(shipper['failing_parts'])} so far" + ", tried again within 5 minutes" * shipper["running"])
    return [visible(line) for line in lines]


def _causes(failing: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of each code the first."""
    causes: dict[str, dict[str, Any]] = {}
    for each in failing:
        causes.setdefault(each["code"], each)
    return list(causes.values())


def _ago(now_ns: int, then_ns: int) -> str:
    from .._core import format_duration

    return format_duration(max(0, now_ns - then_ns))


def _time(unix_ns: int) -> str:
    return datetime.fromtimestamp(unix_ns // 10**9, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
