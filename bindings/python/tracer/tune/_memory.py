# SPDX-License-Identifier: Apache-2.0
"""How much memory to request, from peaks that were seen: one of the largest, and a margin."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["ENOUGH", "LEAST_BYTES", "LARGEST", "OOM_FACTOR", "OTHER_INPUTS", "Evidence", "allocation", "failures_of", "margin_of"]

ENOUGH = 5
"""Below, the request is kept."""
LEAST_BYTES = 500_000_000
OOM_FACTOR = 1.2
"""What a task needs at least that was killed as memory had run out, of its limit."""
OTHER_INPUTS = 0.08
"""First attempts that failed, of all, where inputs were others than those that an advice rested on, at most: bench/results.md."""
LARGEST = 1001
"""The most peaks that are kept."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of the memory of tasks of one kind."""

    count: int
    """Peaks that are values: of tasks that succeeded."""
    largest: Sequence[float]
    """The largest of these, in bytes, in falling order: LARGEST, if there are so many."""
    at_least: float = 0
    """In bytes: what others needed at least, which ran out of memory (OOM_FACTOR times their limit), stood at their limit, or failed
    holding so much."""
    bounds: Sequence[float] = ()
    """Each of these, in bytes, and what others were seen to hold whose peak is not known: LARGEST, if there are so many."""

    @classmethod
    def of(cls, peaks: Sequence[float], at_least: float = 0) -> Evidence:
        return cls(len(peaks), sorted(peaks, reverse=True)[:LARGEST], at_least)

    @property
    def base(self) -> float:
        """What was needed at most, as far as is known."""
        return max(self.largest[0] if self.largest else 0, self.at_least)


def margin_of(count: int) -> float:
    return max(0.03, 0.5 / max(count, 1))


def failures_of(evidence: Evidence, allocated: float) -> float:
    """The share of next tasks that may need more: each of n + 1 is as likely the largest, the second largest, and so on. So may all
    that are known from below to need nearly as much."""
    unknown = sum(bound * OOM_FACTOR > allocated for bound in evidence.bounds)
    return (1 + unknown + sum(peak > allocated for peak in evidence.largest)) / (evidence.count + 1 + unknown)


def allocation(evidence: Evidence, requested: float | None, failures: float | None = None) -> float | None:
    """In bytes, above all peaks, or above all but those that `failures` allows; None: nothing is known to size it by."""
    if not evidence.base:
        return requested
    allowed = 1 if failures is None else min(max(math.floor(failures * (evidence.count + 1)), 1), len(evidence.largest))
    base = max(evidence.largest[allowed - 1] if evidence.largest else 0, evidence.at_least)
    # Beyond, a retry that grows is cheaper.
    most = math.inf if requested is None else max(requested, 1.2 * base)
    return min(max(base * (1 + margin_of(evidence.count)), LEAST_BYTES), most)
