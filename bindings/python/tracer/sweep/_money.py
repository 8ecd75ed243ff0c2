# SPDX-License-Identifier: Apache-2.0
"""What waste costs for each hour, where the price of the machine is known."""

from __future__ import annotations

import os
from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Decimal

from .._format import counted
from ._finding import Finding

__all__ = ["price"]


def price(findings: Sequence[Finding], region: str | None, prices: str | os.PathLike[str] | None, notes: list[str]) -> None:
    """Sets the cost, and what it rests on: a list price is an estimate."""
    from ..cost.shared import age_notes, known_prices

    wanted = [each for each in findings if each.instance_type is not None]
    for each in wanted:
        each.region = each.region or region
    if not wanted:
        return
    listed = known_prices(prices)
    if listed is None:
        notes.append("no price list was imported, so nothing has a cost: tracer prices import FILE")
        return
    known = {(each.region, each.instance_type): each for each in listed}
    without: dict[str, int] = {}
    dates: set[str] = set()
    for each in wanted:
        if each.share is None:
            continue
        found = known.get((each.region or "", each.instance_type or ""))
        hourly = "" if found is None else found.spot if each.lifecycle == "spot" else found.on_demand
        if found is None or not hourly:
            why = "its region is not known: --region" if each.region is None else f"no price of {each.instance_type} in {each.region}"
            without[why] = without.get(why, 0) + 1
            continue
        if each.finding == "floor" and not found.vcpus:
            continue
        machines = Decimal(each.evidence["min_vcpus"]) / Decimal(found.vcpus) if each.finding == "floor" else Decimal(1)
        amount = (Decimal(hourly) * machines * Decimal(repr(each.share))).quantize(Decimal("0.0001"), ROUND_HALF_EVEN)
        each.cost_per_hour, each.currency, each.price_date = f"{amount:f}", "USD", found.date
        each.basis = f"{'spot' if each.lifecycle == 'spot' else 'on demand'}, {found.basis}"
        dates.add(found.date)
    notes += [f"{counted(count, 'finding has', 'findings have')} no cost: {why}" for why, count in sorted(without.items())]
    if dates:
        notes += age_notes([min(dates)])
