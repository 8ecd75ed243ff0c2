# SPDX-License-Identifier: Apache-2.0
"""By which price the waste of a run has a cost: one that is given, imported or chosen. The library computes the cost."""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING

from .._arguments import shown
from .._errors import InvalidArgumentError, RecordingError
from ._machines import CPU_GIB
from ._prices import Price, read_prices, store_path

if TYPE_CHECKING:
    from .._events import Host

__all__ = ["HourlyPrice", "WasteCost", "choose_price", "chosen_path", "given_price", "listed_price"]

_PLACES = Decimal("1e-12")
_SCHEMA = 1


@dataclass(frozen=True, slots=True)
class HourlyPrice:
    """Of a machine, in USD, as decimal numbers. A CPU weighs as much as 9 GiB, as in all of tracer.cost."""

    usd_per_hour: str
    """Of the whole machine."""
    usd_per_cpu_hour: str
    usd_per_gib_hour: str
    instance_type: str
    """"": of no list, as the next two."""
    region: str
    model: str
    """"on-demand" or "spot"."""
    basis: str
    """How the price is known: "given", else what its list says, such as "listed"."""
    date: str
    """YYYY-MM-DD."""

    def to_json(self) -> str:
        """What the library and tracerd read."""
        return json.dumps({"schema": _SCHEMA, "currency": "USD"} | asdict(self), indent=1)


@dataclass(frozen=True, slots=True)
class WasteCost:
    """An estimate: the part of the machine's price that tasks held and did not use."""

    amount: str
    """A decimal number."""
    at_least: bool
    """Of some tasks only the CPUs or only the memory are known."""
    basis: str
    """How the price is known: "given", else what its list says, such as "listed"."""
    price_date: str
    """YYYY-MM-DD."""
    instance_type: str | None
    """None: the price was given, as for the next two."""
    region: str | None
    model: str | None
    """"on-demand" or "spot"."""
    usd_per_hour: str
    """The price of the machine, a decimal number like the next two."""
    usd_per_cpu_hour: str
    usd_per_gib_hour: str
    text: str
    """All of it in words, on one line."""
    currency: str = "USD"
    state: str = "estimate"

    def __str__(self) -> str:
        return self.text


def _price(usd: Decimal, vcpus: Decimal, memory_gib: Decimal, **facts: str) -> HourlyPrice:
    of_gib = usd / (CPU_GIB * vcpus + memory_gib)
    whole, cpu, gib = (f"{each.quantize(_PLACES, ROUND_HALF_EVEN).normalize():f}" for each in (usd, CPU_GIB * of_gib, of_gib))
    return HourlyPrice(usd_per_hour=whole, usd_per_cpu_hour=cpu, usd_per_gib_hour=gib, **facts)


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
    if not host.cpu_count:
        raise InvalidArgumentError("the recording does not say the size of its machine", "use a recording that is whole")
    return _price(usd, Decimal(host.cpu_count), Decimal(host.memory_bytes) / (1 << 30), instance_type="", region="", model="",
                  basis="given", date=date)


def listed_price(types: Iterable[str], region: str | None) -> HourlyPrice | None:
    """By the imported list, on demand. None: nothing was imported, or machines differ, or it may be of several regions."""
    kinds = set(types)
    if len(kinds) != 1 or not os.path.exists(store_path()):
        return None
    found = _of_list(kinds.pop(), region)
    return _of_row(found[0], "on-demand") if len(found) == 1 else None


def _of_list(kind: str, region: str | None) -> list[Price]:
    return [price for price in read_prices(store_path()) if price.instance_type == kind and region in (None, price.region)]


def _of_row(row: Price, model: str) -> HourlyPrice | None:
    """None: the list does not have this price, or not the machine's size."""
    usd = Decimal((row.spot if model == "spot" else row.on_demand) or 0)
    if not row.vcpus or not row.memory_gib or Decimal(row.vcpus) <= 0 or not 0 < usd < 1_000_000:
        return None
    return _price(usd, Decimal(row.vcpus), Decimal(row.memory_gib), instance_type=row.instance_type, region=row.region, model=model,
                  basis=row.basis, date=row.date)


def chosen_path() -> Path:
    """Where the price that somebody has chosen is kept, beside the imported ones."""
    return store_path().with_name("price.json")


def choose_price(kind: str, region: str | None, model: str) -> HourlyPrice:
    """Keeps an imported price as that of reports of machines that don't say their type. Raises InvalidArgumentError,
    RecordingError."""
    found = _of_list(kind, region)
    if not found:
        raise InvalidArgumentError(f"no price of {shown(kind)} is known" + ("" if region is None else f" in {shown(region)}"),
                                   "tracer prices show lists those of a type")
    if len(found) > 1:
        regions = ", ".join(sorted({row.region for row in found}))
        raise InvalidArgumentError(f"{kind} has several prices: {regions}", "name one with --region")
    price = _of_row(found[0], model)
    if price is None:
        raise InvalidArgumentError(f"the list has no {model} price of {kind}, or not its size", "tracer prices show shows what it has")
    target = chosen_path()
    temporary = target.with_suffix(".new")
    try:
        temporary.write_text(price.to_json() + "\n", encoding="utf-8")
        os.replace(temporary, target)
    except OSError as error:
        raise RecordingError.of("TRC114", error.errno, f"can't write {target}: {error.strerror}",
                                "name a folder that you may write to in XDG_DATA_HOME") from None
    return price
