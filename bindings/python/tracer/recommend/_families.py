# SPDX-License-Identifier: Apache-2.0
"""Facts of machine types: of the price list, else by their names, as in families.toml."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from .._errors import Problem, RulesError
from ..cost.shared import Price

__all__ = ["Facts", "facts_of", "has_accelerator", "read_families"]

_FACTS = ("burstable", "arch", "network", "local_disk", "accelerator")


@dataclass(frozen=True, slots=True)
class Facts:
    vcpus: float
    memory_gib: float
    arch: str
    """"" if not known."""
    burstable: bool
    accelerator: bool
    """It has GPUs or the like."""
    local_disk: bool
    network: bool
    """Made for much network traffic."""

    @property
    def family(self) -> str:
        """In words: by GiB for each vCPU, and what it has beyond."""
        ratio = self.memory_gib / self.vcpus
        return ", ".join(["compute" if ratio < 3 else "general" if ratio < 6 else "memory", *["local disks"] * self.local_disk,
                          *["network"] * self.network])


@cache
def read_families() -> tuple[dict[str, Any], ...]:
    """The rules. Raises RulesError if one does not do what its tests say."""
    content = tomllib.loads((files(__package__) / "families.toml").read_text("utf-8"))
    problems = []
    for rule in content["family"]:
        for wanted, names in ((True, rule["test"]["match"]), (False, rule["test"]["other"])):
            problems += [Problem("TRC115", None, f"families.toml: {rule['types']!r} {'does not fit' if wanted else 'fits'} {name}",
                                 "correct the rule", "") for name in names if bool(re.fullmatch(rule["types"], name)) != wanted]
    if problems:
        raise RulesError(problems)
    return tuple(content["family"])


@cache
def _by_name(kind: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for rule in read_families():
        if re.fullmatch(rule["types"], kind):
            for fact in _FACTS:
                if fact in rule:
                    found.setdefault(fact, rule[fact])
    return found


def has_accelerator(kind: str) -> bool:
    """GPUs or the like, by the name of the machine type."""
    return bool(_by_name(kind).get("accelerator"))


def facts_of(price: Price) -> Facts | None:
    """None: its size is not known."""
    if not price.vcpus or not price.memory_gib or float(price.vcpus) <= 0 or float(price.memory_gib) <= 0:
        return None
    named = _by_name(price.instance_type)
    # All other machines of these clouds are x86-64.
    arch = price.arch or named.get("arch") or ("x86_64" if price.cloud in ("aws", "gcp", "azure") else "")
    disk = float(price.local_disk_gb) > 0 if price.local_disk_gb else bool(named.get("local_disk"))
    return Facts(float(price.vcpus), float(price.memory_gib), arch, bool(named.get("burstable")),
                 float(price.gpus) > 0 if price.gpus else bool(named.get("accelerator")), disk, bool(named.get("network")))
