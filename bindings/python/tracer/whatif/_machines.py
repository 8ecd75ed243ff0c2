# SPDX-License-Identifier: Apache-2.0
"""Sizes and prices of machines, from the imported price lists or a file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from .._errors import Problem, WhatIfError
from ..cost.shared import Price, needed_prices

__all__ = ["Machine", "cost_of", "machines_of"]

# Both AWS and Google bill at least as much for each start.
_LEAST_SECONDS = 60
_PLACES = Decimal("0.000001")


@dataclass(frozen=True, slots=True)
class Machine:
    """Of one type, in a region."""

    instance_type: str
    region: str
    vcpus: float
    memory_bytes: int | None
    price: Price


def machines_of(types: Sequence[str], region: str | None, prices: str | os.PathLike[str] | None) -> list[Machine]:
    """In `region`, or each in the cheapest that is known."""
    if not types:
        return []
    known = needed_prices(prices)
    found = []
    for kind in types:
        fitting = [price for price in known if price.instance_type == kind and price.vcpus and region in (None, price.region)]
        if not fitting:
            where = f" in {region}" if region else ""
            elsewhere = sorted({price.region for price in known if price.instance_type == kind})
            fix = f"it is known in {', '.join(elsewhere[:8])}" if elsewhere else "see: tracer prices show TYPE"
            raise WhatIfError([Problem("TRC136", None, f"the size of {kind}{where} is not known", fix, "")])
        price = min(fitting, key=lambda each: (not each.on_demand, Decimal(each.on_demand or 0), each.region))
        memory = int(Decimal(price.memory_gib) * (1 << 30)) if price.memory_gib else None
        found.append(Machine(kind, price.region, float(price.vcpus), memory, price))
    return found


def cost_of(hourly: str, wall_ns: float) -> str | None:
    """Of a machine that runs as long as the run, in USD."""
    if not hourly:
        return None
    seconds = max(Decimal(round(wall_ns)) / 1_000_000_000, Decimal(_LEAST_SECONDS))
    return f"{(Decimal(hourly) * seconds / 3600).quantize(_PLACES):f}"
