# SPDX-License-Identifier: Apache-2.0
"""What tasks cost by list prices, where no bill says it. An estimate, never a price."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

from .._data import insert, query
from .._format import counted
from ._machines import Weights
from ._prices import UNDATED, Price, age_notes
from ._terms import create_empty

__all__ = ["Estimates", "estimate", "estimate_all"]

_PLACES = Decimal(1).scaleb(-12)
# Below, quartiles say nothing.
_ENOUGH = 8


class Estimates:
    """Of what, by which prices."""

    def __init__(self) -> None:
        self.dates: set[str] = set()
        self.bases: set[str] = set()
        self.without_price: dict[str, int] = {}
        self.tasks = 0


def _region_of(zone: str | None, region: str | None) -> str | None:
    """eu-west-1a -> eu-west-1, us-central1-a -> us-central1."""
    if region:
        return region
    if not zone:
        return None
    return zone[:-2] if zone[-2:-1] == "-" else zone[:-1] if zone[-1:].isalpha() else zone


def estimate(connection: Any, prices: Sequence[Price], where: str, notes: list[str], fix: str = "") -> Estimates:
    """Appends pieces without a line: a task's share of its machine's price while its container ran. The share is that of
    _machines: 9 × CPUs + GiB, the larger of reserved and used in each, of the machine's."""
    known = {(price.region, price.instance_type): price for price in prices}
    result = Estimates()
    connection.execute(query(__file__, "lives", enough=_ENOUGH))
    rows = connection.execute(f"""SELECT task, instance_type, zone, region, lower(coalesce(price_model, '')),
        greatest(coalesce(cpus, 0), coalesce(used_cpus * (t1 - t0) / nullif(life, 0), 0)),
        greatest(coalesce(memory_gib, 0), coalesce(used_gib, 0)), life, t1 - t0 > life
        FROM tasks LEFT JOIN lives USING (task) WHERE status IS DISTINCT FROM 'CACHED' AND {where} ORDER BY task""").fetchall()
    cut = sum(bool(row[-1]) for row in rows)

    def refuse(why: str) -> None:
        result.without_price[why] = result.without_price.get(why, 0) + 1

    partly = 0

    def pieces() -> Iterator[tuple[object, ...]]:
        nonlocal partly
        for task, kind, zone, region, model, cpus, memory, microseconds, _ in rows:
            region = _region_of(zone, region)
            if not kind or not region:
                refuse(f"the machine's type is not known{fix}" if not kind else "its region is not known")
                continue
            price = known.get((region, kind))
            hourly = "" if price is None else price.spot if model in ("spot", "preemptible") else price.on_demand
            if price is None or not hourly or not price.vcpus or not price.memory_gib:
                refuse(f"no price of {kind} in {region}")
                continue
            if microseconds is None:
                refuse("its times are not known")
                continue
            if not cpus and not memory:
                refuse("its size is not known")
                continue
            partly += not cpus or not memory
            size = Weights.of(float(price.vcpus), float(price.memory_gib))
            own = Weights.of(cpus, memory)
            share = Decimal(min(own.cpu + own.memory, size.cpu + size.memory)) / Decimal(size.cpu + size.memory)
            amount = (Decimal(hourly) * share * Decimal(microseconds) / Decimal(3_600_000_000)).quantize(_PLACES, ROUND_HALF_EVEN)
            result.tasks += 1
            result.dates.add(price.date)
            result.bases.add(price.basis)
            yield None, task, None, "allocated", "task", f"{amount:f}", None

    insert(connection, "pieces", pieces())
    if cut:
        notes.append(f"{counted(cut, 'task')} took far longer than the command, compared with the run: attempts that the engine did not "
                     "see are likely, and that time is left out of the estimate")
    if partly:
        notes.append(f"{counted(partly, 'task has', 'tasks have')} only CPUs or only memory: the estimate is by that alone, and too low")
    for why, count in sorted(result.without_price.items()):
        notes.append(f"{counted(count, 'task has', 'tasks have')} no estimate: {why}")
    if result.dates:
        notes += age_notes([min(result.dates)])
        if any(basis.endswith(UNDATED) for basis in result.bases):
            notes.append("the price list has no date: that of its file counts, and its prices may be older. Give one: tracer prices import --date")
        unlisted = sorted({basis.removesuffix(UNDATED) for basis in result.bases} - {"listed"})
        if unlisted:
            notes.append(f"some prices are not from the list itself: {', '.join(unlisted)}")
    return result


def estimate_all(connection: Any, prices: Sequence[Price], notes: list[str]) -> Estimates:
    """Of all tasks, without a bill: makes the table `pieces`."""
    create_empty(connection)
    return estimate(connection, prices, "true", notes)
