# SPDX-License-Identifier: Apache-2.0
"""What reserved and unused capacity costs by list prices: estimates of tracer.cost, shared by what was used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._data import query
from ..cost.shared import CPU_GIB, Price, estimate_all

__all__ = ["add_money"]

_PLACES = 6


def add_money(connection: Any, rows: Sequence[dict[str, Any]], prices: Sequence[Price], notes: list[str]) -> None:
    """A task's share of its machine is that of the larger of reserved and used: 9 × CPUs + GiB. What was used alone, and
    what would have been reserved by advice, have their shares in the same way."""
    made = estimate_all(connection, prices, notes)
    if not made.tasks:
        return
    date = min(made.dates)

    def weight(cpus: str, memory: str) -> str:
        return f"({CPU_GIB} * greatest(coalesce({cpus}, 0), coalesce(used_cpus, 0)) + greatest(coalesce({memory}, 0), coalesce(used_gib, 0)))"

    sums = {kind: money for kind, *money in connection.execute(query(
        __file__, "money", places=_PLACES, reserved=weight("cpus", "memory_gib"), used=weight("NULL", "NULL"),
        advised=weight("new_cpus", "new_gib"))).fetchall()}
    for row in rows:
        if row["kind"] in sums:
            row["money"], row["money_wasted"], row["money_saved"] = (
                None if amount is None else f"{float(amount):.{_PLACES}f}" for amount in sums[row["kind"]])
            row["currency"], row["price_date"] = "USD", date
