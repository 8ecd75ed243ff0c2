# SPDX-License-Identifier: Apache-2.0
"""List prices of machines, imported from files: each with its date and its basis."""

from __future__ import annotations

import csv
import datetime
import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path

from .._errors import InvalidArgumentError, RecordingError
from ._database import problem

__all__ = ["OLD_DAYS", "Price", "age_notes", "import_prices", "known_prices", "needed_prices", "read_prices", "store_path"]

OLD_DAYS = 90
UNDATED = ", undated"
"""Behind the basis of a price whose list says no date: that of the file counts, which a copy has anew."""
# A size of 0 is one that the list does not know.
_SIZES = ("vcpus", "memory_gib", "vCPUs", "MemoryGiB", "vcpu", "memory")
# More than any price or size.
_MOST = Decimal("1e12")
# Columns of CSV files that need not be there.
_MORE = {"gpus": ("gpu_count", "AcceleratorCount"), "local_disk_gb": ("local_disk_gb",), "network_gbps": ("network_gbps",)}


@dataclass(frozen=True, slots=True)
class Price:
    """Of one machine, for an hour, in USD."""

    cloud: str
    region: str
    instance_type: str
    vcpus: str
    memory_gib: str
    on_demand: str
    spot: str
    basis: str
    """How the price is known, as its file says: listed, estimated …"""
    date: str
    """Of the list, as YYYY-MM-DD."""
    arch: str = ""
    """"x86_64" or "arm64"; "" here and below: the file does not say."""
    gpus: str = ""
    local_disk_gb: str = ""
    network_gbps: str = ""
    """At most."""
    spot_interruption: str = ""
    """How many spot machines are taken back in a month, at most: a share. "1": the file gives no upper bound."""


def store_path() -> Path:
    """Where imported prices are kept: a CSV file of the user."""
    home = os.environ.get("XDG_DATA_HOME", "")
    if not os.path.isabs(home):
        home = os.path.join(os.path.expanduser("~"), ".local", "share")
    return Path(home) / "libtracer" / "prices.csv"


def import_prices(path: str, date: str | None = None) -> tuple[int, str, bool]:
    """The number of prices, their date, and whether that is only when the file was changed. They replace earlier ones of the same cloud, region and type."""
    found = list(_read_file(path, date))
    if not found:
        raise problem("TRC132", f"{path} has no prices of machines", "docs/cost.md lists the files that are read")
    kept = {(p.cloud, p.region, p.instance_type): p for p in (read_prices(store_path()) if store_path().exists() else [])}
    for price in found:
        key = price.cloud, price.region, price.instance_type
        if key in kept and kept[key].date > price.date:
            continue
        kept[key] = price
    target = store_path()
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_suffix(".new")
    with open(temporary, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(Price.__dataclass_fields__))
        writer.writeheader()
        writer.writerows(asdict(price) for price in kept.values())
    os.replace(temporary, target)
    return len(found), max(price.date for price in found), date is None and not _is_json(path)


def read_prices(path: str | os.PathLike[str]) -> list[Price]:
    """From the store, or from any file that can be imported."""
    path = Path(path)
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            rows = csv.DictReader(file)
            if rows.fieldnames and set(rows.fieldnames) == set(Price.__dataclass_fields__):
                return [_checked(str(path), number, row) for number, row in enumerate(rows, 1)]
    except OSError as error:
        raise RecordingError.of("TRC110", error.errno, f"can't read {path}: {error.strerror}",
                                "import a list: tracer prices import FILE") from None
    except (UnicodeDecodeError, csv.Error):
        pass
    return list(_read_file(str(path), None))


def known_prices(path: str | os.PathLike[str] | None) -> list[Price] | None:
    """Of a file, or the imported ones; None: none were imported."""
    if path is None and not store_path().exists():
        return None
    return read_prices(store_path() if path is None else path)


def needed_prices(path: str | os.PathLike[str] | None) -> list[Price]:
    """As known_prices(). Raises InvalidArgumentError if none are known."""
    known = known_prices(path)
    if known is None:
        raise InvalidArgumentError("there is no list of prices and sizes of machines", "import one: tracer prices import FILE")
    return known


def age_notes(dates: Iterable[str]) -> list[str]:
    """About dates of price lists that are long ago."""
    ages = {date: (datetime.date.today() - datetime.date.fromisoformat(date)).days for date in sorted(set(dates))}
    return [f"prices of {date} are {age} days old: import newer ones" for date, age in ages.items() if age > OLD_DAYS]


def _checked(path: str, row: int, texts: dict[str, str | None]) -> Price:
    if None in texts or None in texts.values():
        raise problem("TRC132", f"{path}, row {row} has not as many fields as the header", "import the list again")
    facts = {name: text or "" for name, text in texts.items()}
    for name in ("vcpus", "memory_gib", "on_demand", "spot", *_MORE, "spot_interruption"):
        facts[name] = _number(path, row, name, facts[name])
    try:
        datetime.date.fromisoformat(facts["date"])
    except ValueError:
        raise problem("TRC132", f"{path}, row {row}: date is no date: {facts['date']!r}", "import the list again") from None
    return Price(**facts)


def _read_file(path: str, date: str | None) -> Iterator[Price]:
    try:
        modified = datetime.datetime.fromtimestamp(os.path.getmtime(path), datetime.timezone.utc).date().isoformat()
        if date is not None:
            date = datetime.date.fromisoformat(date).isoformat()
        with open(path, newline="", encoding="utf-8-sig") as file:
            if _is_json(path):
                yield from _of_json(path, json.load(file), date)
                return
            yield from _of_csv(path, file, date or modified, "" if date else UNDATED)
    except OSError as error:
        raise RecordingError.of("TRC110", error.errno, f"can't read {path}: {error.strerror}", "name a price list") from None
    except (json.JSONDecodeError, UnicodeDecodeError, csv.Error, RecursionError) as error:
        raise problem("TRC132", f"{path} is cut or damaged: {error}", "get the file again") from None
    except (AttributeError, TypeError) as error:
        raise problem("TRC132", f"{path} is not as AWS writes its price list: {error}", "get the file again") from None
    except ValueError as error:
        if hasattr(error, "problems"):
            raise
        raise problem("TRC132", f"{path}: {error}", "give the date as YYYY-MM-DD") from None


def _is_json(path: str) -> bool:
    with open(path, "rb") as file:
        return file.read(4).removeprefix(b"\xef\xbb\xbf")[:1] == b"{"


def _number(path: str, row: int | str, name: str, text: str | None) -> str:
    text = (text or "").strip()
    if not text:
        return ""
    try:
        if (value := Decimal(text)).is_finite() and 0 <= value < _MOST:
            return "" if not value and name in _SIZES else text
    except InvalidOperation:
        pass
    where = row if isinstance(row, str) else f"row {row}"
    raise problem("TRC132", f"{path}, {where}: {name} is no price or size: {text!r}", "correct the file")


def _arch(text: str | None) -> str:
    return {"x86_64": "x86_64", "amd64": "x86_64", "arm64": "arm64", "aarch64": "arm64"}.get((text or "").strip().lower(), "")


def _interruption(path: str, row: int, text: str | None) -> str:
    """The upper end of a band, such as "<5%", "5-10%" or ">20%", which has none; or a share itself."""
    text = (text or "").strip()
    if not text or text.startswith(">"):
        return "1" if text else ""
    match = re.fullmatch(r"(?:<|[\d.]+ ?%? ?[-–] ?)?([\d.]+) ?(%?)", text)
    if match is None:
        raise problem("TRC132", f"{path}, row {row}: spot_interruption is no share: {text!r}", 'write it as 5-10% or 0.1')
    share = Decimal(_number(path, row, "spot_interruption", match[1])) / (100 if match[2] else 1)
    if share > 1:
        raise problem("TRC132", f"{path}, row {row}: spot_interruption is more than all: {text!r}", 'write it as 5-10% or 0.1')
    return f"{share.normalize():f}"


def _of_csv(path: str, file: object, date: str, undated: str) -> Iterator[Price]:
    rows = csv.DictReader(line for line in file if not line.startswith("#"))  # type: ignore[attr-defined]
    names = set(rows.fieldnames or [])
    if {"cloud", "region", "instance_type", "on_demand_usd_h"} <= names:
        keys = ("region", "instance_type", "vcpus", "memory_gib", "on_demand_usd_h", "spot_usd_h")
    elif {"InstanceType", "Price", "Region"} <= names:
        keys = ("Region", "InstanceType", "vCPUs", "MemoryGiB", "Price", "SpotPrice")
    else:
        missing = sorted({"cloud", "region", "instance_type", "on_demand_usd_h"} - names)
        raise problem("TRC132", f"{path}, row 0: columns are missing: {', '.join(missing)}",
                      "docs/cost.md lists the files that are read")
    for number, row in enumerate(rows, 1):
        region, kind, *figures = (row.get(key) for key in keys)
        if not region or not kind:
            raise problem("TRC132", f"{path}, row {number}: region or instance type is missing", "correct the file")
        vcpus, memory, demand, spot = (_number(path, number, key, value) for key, value in zip(keys[2:], figures))
        more = {name: _number(path, number, key, row.get(key)) for name, keys_of in _MORE.items() for key in keys_of if row.get(key)}
        yield Price(row.get("cloud") or "aws", region, kind, vcpus, memory, demand, spot, (row.get("price_basis") or "listed") + undated, date,
                    arch=_arch(row.get("arch") or row.get("Arch")),
                    spot_interruption=_interruption(path, number, row.get("spot_interruption")), **more)


def _of_json(path: str, content: dict[str, object], date: str | None) -> Iterator[Price]:
    """A file of the AWS price list for EC2: one region or all."""
    products, terms = content.get("products"), content.get("terms")
    if not isinstance(products, dict) or not isinstance(terms, dict):
        raise problem("TRC132", f"{path} is no AWS price list: products and terms are missing",
                      "docs/cost.md lists the files that are read")
    published = date or str(content.get("publicationDate", ""))[:10]
    datetime.date.fromisoformat(published)
    wanted = {"operatingSystem": "Linux", "tenancy": "Shared", "capacitystatus": "Used", "preInstalledSw": "NA"}
    for sku, product in products.items():
        facts = product.get("attributes", {}) if isinstance(product, dict) else {}
        if any(facts.get(key) != value for key, value in wanted.items()) or "instanceType" not in facts:
            continue
        for offer in terms.get("OnDemand", {}).get(sku, {}).values():
            for dimension in offer.get("priceDimensions", {}).values():
                price = dimension.get("pricePerUnit", {}).get("USD")
                if dimension.get("unit") == "Hrs" and price:
                    yield Price("aws", facts.get("regionCode", ""), facts["instanceType"], _figure(path, sku, "vcpu", facts.get("vcpu")),
                                _figure(path, sku, "memory", facts.get("memory", "").removesuffix(" GiB").replace(",", "")),
                                _figure(path, sku, "USD", price), "", "listed", published, **_facts_of(facts))


def _figure(path: str, sku: str, name: str, text: str | None) -> str:
    """"": AWS writes NA for one that it does not give."""
    if text is None or text.strip() in ("", "NA"):
        return ""
    return _number(path, f"product {sku}", name, text)


def _facts_of(facts: dict[str, str]) -> dict[str, str]:
    """More of a machine, from texts such as "AWS Graviton3 Processor", "2 x 1900 NVMe SSD", "Up to 12.5 Gigabit"."""
    chip, found = facts.get("physicalProcessor", ""), {}
    if chip:
        found["arch"] = "arm64" if "Graviton" in chip else "x86_64" if re.search("Intel|AMD", chip) else ""
    if facts.get("gpu", "").isdecimal():
        found["gpus"] = facts["gpu"]
    if disks := re.match(r"(\d+) ?x ?(\d+)", facts.get("storage", "")):
        found["local_disk_gb"] = str(int(disks[1]) * int(disks[2]))
    elif facts.get("storage") == "EBS only":
        found["local_disk_gb"] = "0"
    if network := re.search(r"([\d.]+) Gigabit", facts.get("networkPerformance", "")):
        found["network_gbps"] = network[1]
    return found
