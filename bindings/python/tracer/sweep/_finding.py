# SPDX-License-Identifier: Apache-2.0
"""A finding, and what is shown of it."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field
from typing import Any

__all__ = ["FIELDS", "Finding", "spoken", "time_text"]

FIELDS = ("finding", "machine", "host", "instance", "instance_type", "region", "task", "run", "pipeline", "started_by", "since",
          "until", "duration_s", "cost_per_hour", "currency", "basis", "price_date", "certainty", "text", "advice", "evidence")


@dataclass
class Finding:
    """Of waste. What is not known is None."""

    finding: str
    """The code: docs/sweep.md lists them."""
    machine: str | None = None
    """What it is called: the instance's id, else the host's name, node, volume …"""
    host: str | None = None
    instance: str | None = None
    instance_type: str | None = None
    region: str | None = None
    task: str | None = None
    run: str | None = None
    pipeline: str | None = None
    started_by: str | None = None
    """Who, or what, started it."""
    since: int | None = None
    """Microseconds of Unix time, as `until`: when it was last seen."""
    until: int | None = None
    cost_per_hour: str | None = None
    """A decimal string, of what is wasted."""
    currency: str | None = None
    basis: str | None = None
    price_date: str | None = None
    certainty: str = "high"
    """"high", "medium" or "low"."""
    text: str = ""
    advice: str = ""
    evidence: dict[str, Any] = field(default_factory=dict)
    """The figures that it rests on, with units in their names."""
    share: float | None = 1.0
    """Of the machine's price that is wasted; None: not known."""
    lifecycle: str | None = None
    """"spot", or None: on demand, or not known."""

    @property
    def duration_s(self) -> int | None:
        return None if self.since is None or self.until is None else (self.until - self.since) // 1_000_000

    def to_json(self) -> dict[str, Any]:
        values = {name: getattr(self, name) for name in FIELDS}
        return values | {"since": time_text(self.since), "until": time_text(self.until)}


def time_text(time: int | None) -> str | None:
    """2026-11-20T07:30:00Z."""
    if time is None:
        return None
    return datetime.datetime.fromtimestamp(time // 1_000_000, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def spoken(seconds: int) -> str:
    """90 min, 3 h 20 min, 4 days 2 h."""
    minutes = max(seconds, 0) // 60
    if minutes < 100:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    days, hours = divmod(hours, 24)
    return f"{days} days {hours} h" if hours else f"{days} days"
