# SPDX-License-Identifier: Apache-2.0
"""Joins what was observed with what providers say."""

from __future__ import annotations

from ._finding import Finding
from ._inventory import Inventory
from ._machines import observed
from ._provided import describe, provided
from ._recorded import Recorded, machines_of
from ._rules import Rules

__all__ = ["findings_of"]


def findings_of(recorded: Recorded, inventory: Inventory, rules: Rules, now: int | None) -> list[Finding]:
    """Up to `now`, in microseconds of Unix time; None: up to the end."""
    findings = []
    for finding in observed(recorded, rules, now, inventory.notes):
        looks = [each for each in inventory.instances.get(finding.instance or "", []) if now is None or each.look <= now]
        if looks:
            last = max(looks, key=lambda each: each.look)
            if last.state in ("terminated", "shutting-down", "stopped", "stopping"):
                inventory.notes.append(f"{finding.machine} is {last.state} by now: {finding.finding} is left out")
                continue
            describe(finding, last)
        findings.append(finding)
    findings += provided(inventory, machines_of(recorded.connection), rules, now)
    return findings
