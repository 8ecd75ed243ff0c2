# SPDX-License-Identifier: Apache-2.0
"""What the waste of a run costs: what its tasks requested and did not use, by the price of its machine."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation
from typing import TYPE_CHECKING

from .._arguments import shown
from .._errors import InvalidArgumentError
from ._prices import OLD_DAYS, read_prices, store_path

if TYPE_CHECKING:
    from .._events import Host
    from .._report import Report

__all__ = ["HourlyPrice", "WasteCost", "given_price", "listed_price", "waste_cost", "with_cost"]

_PLACES = Decimal("0.000001")


@dataclass(frozen=True, slots=True)
class HourlyPrice:
    """Of a machine, in USD."""

    usd: Decimal
    vcpus: Decimal
    memory_gib: Decimal
    what: str
    """Which price it is, such as "list price of m6i.large in eu-west-1"."""
    basis: str
    date: str
    """YYYY-MM-DD."""


@dataclass(frozen=True, slots=True)
class WasteCost:
    """An estimate: the part of the machine's price that tasks held and did not use."""

    amount: str
    """A decimal number."""
    currency: str
    basis: str
    """How the price is known: "given", else what its list says, such as "listed"."""
    price_date: str
    """YYYY-MM-DD."""
    text: str
    """All of it in words, on one line."""

    def __str__(self) -> str:
        return self.text


def given_price(price: object, date: str | None, host: Host) -> HourlyPrice:
    """A price that somebody gives for the machine of a report. Raises InvalidArgumentError."""
    try:
        usd = Decimal(str(price))
    except InvalidOperation:
        usd = Decimal(-1)
    if not usd.is_finite() or not 0 < usd < 1_000_000:
        raise InvalidArgumentError(f"{shown(price)} is no price", "give USD for an hour of the machine, such as 0.192")
    try:
        date = datetime.date.today().isoformat() if date is None else datetime.date.fromisoformat(date).isoformat()
    except ValueError:
        raise InvalidArgumentError(f"{shown(date)} is no date", "write it as YYYY-MM-DD") from None
    return HourlyPrice(usd, Decimal(host.cpu_count), Decimal(host.memory_bytes) / (1 << 30), "given price", "given", date)


def listed_price(types: Iterable[str], region: str | None) -> HourlyPrice | None:
    """By the imported list, on demand. None: nothing was imported, or machines differ, or it may be of several regions."""
    kinds = set(types)
    if len(kinds) != 1 or not store_path().exists():
        return None
    kind, = kinds
    found = [price for price in read_prices(store_path()) if price.instance_type == kind and region in (None, price.region)]
    if len(found) != 1:
        return None
    price, = found
    if not price.on_demand or not price.vcpus or not price.memory_gib or Decimal(price.vcpus) <= 0:
        return None
    return HourlyPrice(Decimal(price.on_demand), Decimal(price.vcpus), Decimal(price.memory_gib),
                       f"list price of {price.instance_type} in {price.region} on demand", price.basis, price.date)


def waste_cost(report: Report, price: HourlyPrice) -> WasteCost | None:
    """A CPU weighs as much as 9 GiB, as in all of tracer.cost. None: no task that ended has a request whose use is known."""
    waste = json.loads(report.to_json()).get("waste")
    if waste is None:
        return None
    unused = 9 * Decimal(repr(waste.get("unused_cpu_hours", 0))) + Decimal(repr(waste.get("unused_memory_gib_hours", 0)))
    amount = (price.usd * unused / (9 * price.vcpus + price.memory_gib)).quantize(_PLACES, ROUND_HALF_EVEN)
    rounded = f"{amount:,.2f}" if amount >= Decimal("0.1") else f"{amount:f}".rstrip("0").rstrip(".")
    least = "" if waste.get("cpu_tasks") == waste.get("memory_tasks") else "at least "
    text = f"{least or 'about '}{rounded} USD, an estimate by the {price.what}, {price.usd:f} USD an hour, of {price.date}"
    if price.basis not in ("given", "listed"):
        text += f" ({price.basis})"
    if (days := (datetime.date.today() - datetime.date.fromisoformat(price.date)).days) > OLD_DAYS:
        text += f", {days} days old"
    # Of a file that somebody else may have written: it stands in texts, and in the data of pages.
    return WasteCost(f"{amount:f}", "USD", price.basis, price.date, re.sub(r"[^\w .,()-]", "?", text))


def with_cost(text: str, line: str, cost: WasteCost | None) -> str:
    """A text, or a page, in which the line of the waste has its cost."""
    line = line.strip("\n")
    return text if cost is None or not line else text.replace(line, f"{line}; {cost.text}")
