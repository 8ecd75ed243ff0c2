# SPDX-License-Identifier: Apache-2.0
"""Recommendations as a table for people, and what they assume."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _core
from .._format import aligned, visible
from ..tune.shared import bound_text
from . import Recommendations

__all__ = ["assumptions_of", "text_of"]


def assumptions_of(rows: Sequence[dict[str, Any]], region: str | None) -> list[str]:
    found = ["a CPU of each machine is as fast as recorded; waits for disk and network last as long",
             "5 % and 256 MiB of a machine's memory are the system's",
             "a machine is full for as long as it is paid: its start and idle time are not counted",
             "machines with GPUs and with CPU credits are left out"]
    if region is None:
        found.append("the region is the cheapest: where its data is, and what transfer costs, is not known")
    return found


def text_of(result: Recommendations, most: int) -> str:
    lines = [["step", "n", "mostly", "threads", "memory: peak → need", "machine", "family", "region", "buy", "USD/h",
              "USD/1000 tasks"]]
    for row in result.rows[:most]:
        memory = "" if row["memory_bytes"] is None else _core.format_bytes(row["memory_bytes"])
        peak = "?" if row["peak_bytes"] is None else _core.format_bytes(row["peak_bytes"])
        machine = row["instance_type"] or "-"
        if row["tasks_at_once"] and row["tasks_at_once"] > 1:
            machine += f" for {row['tasks_at_once']}"
        lines.append([visible(row["step"], 32), str(row["tasks"]), bound_text(row, "?"), f"{row['threads']:.1f}" if row["threads"] else "",
                      f"{peak} → {memory or '?'}", machine, row["family"] or "", row["region"] or "",
                      (row["purchase"] or "").replace("_", " "), row["usd_per_hour"] or "",
                      f"{float(row['usd_per_task']) * 1000:.3g}" if row["usd_per_task"] else ""])
    parts = ["\n".join(aligned(lines))]
    if len(result.rows) > most:
        parts.append(f"({len(result.rows) - most} more: --rows)")
    parts.append("")
    for row in result.rows[:most]:
        parts.append(f"{visible(row['step'], 32)}:")
        parts += [f"  {visible(reason)}" for reason in (*row["reasons"], f"memory: {row['memory_basis']}")]
        parts += [f"  risk: {visible(risk)}" for risk in row["risks"]]
    parts.append("")
    dates = sorted({f"{row['price_date']} ({row['price_basis']})" for row in result.rows if row["price_date"]})
    if dates:
        parts.append(f"costs are estimated from list prices of {', '.join(dates)}; not what you will be billed")
    parts += [f"assumed: {each}" for each in result.assumptions]
    parts += [f"note: {visible(note)}" for note in result.notes]
    return "\n".join(parts)
