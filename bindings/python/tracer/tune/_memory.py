# SPDX-License-Identifier: Apache-2.0
"""How much memory to request, from peaks that were seen: the margin above the largest shrinks with evidence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["ENOUGH", "FAILURES", "GREATEST_TAIL", "ONE_RUN", "OOM_FACTOR", "Evidence", "allocation", "failures_of", "margin_of", "spread_of"]

ENOUGH = 5
"""Below, the request is kept."""
FAILURES = 0.05
"""First attempts that may fail, of all: the default."""
_LEAST_MARGIN = 0.03
_LEAST_BYTES = 500_000_000
OOM_FACTOR = 1.2
"""What a task needs at least that was killed as memory had run out, of its limit."""
# A spread that few peaks show is drawn to what is usual: as if it rested on so many more.
_USUAL_SPREAD = 0.12
_USUAL_WEIGHT = 1
# In logarithms: more than any machine has, and a number still.
_MOST_DISTANCE = 60.0
ONE_RUN = 0.05
"""The least rate that tasks of one run were seen to promise for another one: bench/results.md."""
GREATEST_TAIL = 1001
"""The most peaks that the spread of the largest rests on."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of the memory of tasks of one kind."""

    count: int
    """Peaks that are values: of tasks that succeeded."""
    largest: Sequence[float]
    """The largest of these, in bytes, in falling order: at least tail_of(count) + 1, if there are so many."""
    at_least: float = 0
    """In bytes: what others needed at least, which were killed as memory had run out (OOM_FACTOR times their limit), or
    stood at their limit."""

    @classmethod
    def of(cls, peaks: Sequence[float], at_least: float = 0) -> Evidence:
        return cls(len(peaks), sorted(peaks, reverse=True)[:GREATEST_TAIL], at_least)

    @property
    def base(self) -> float:
        """What was needed at most, as far as is known."""
        return max(self.largest[0] if self.largest else 0, self.at_least)


def tail_of(count: int) -> int:
    return min(count - 1, math.isqrt(count) + 1, GREATEST_TAIL - 1)


def spread_of(evidence: Evidence) -> float:
    """How far the largest peaks lie apart, as a mean of logarithms (Hill's estimator of the tail)."""
    k = max(tail_of(evidence.count), 0)
    own: float = sum(math.log(peak / evidence.largest[k]) for peak in evidence.largest[:k]) if k and evidence.largest[k] > 0 else 0.0
    return (own + _USUAL_SPREAD * _USUAL_WEIGHT) / (k + _USUAL_WEIGHT)


def _weight_of(evidence: Evidence) -> int:
    """How many distances the spread rests on."""
    return max(tail_of(evidence.count), 0) + _USUAL_WEIGHT


def margin_of(evidence: Evidence, failures: float = FAILURES) -> float:
    """Above the largest peak, so that no more than this share of next tasks is expected to exceed it."""
    wanted = (evidence.count + 1) * failures
    if wanted >= 1:
        return _LEAST_MARGIN
    weight = _weight_of(evidence)
    distance = weight * spread_of(evidence) * (math.pow(wanted, -1 / weight) - 1)
    return max(_LEAST_MARGIN, math.expm1(min(distance, _MOST_DISTANCE)))


def failures_of(evidence: Evidence, allocated: float) -> float:
    """The expected share of next tasks that need more: of n + 1 tasks each is as likely the largest, and by how much it
    exceeds the others is known from the spread. Few peaks do not say the spread well: over what it can be, given these, an
    exponential tail is one of Lomax."""
    if allocated < evidence.base or not evidence.base:
        return 1.0
    weight = _weight_of(evidence)
    return math.pow(1 + math.log(allocated / evidence.base) / (weight * spread_of(evidence)), -weight) / (evidence.count + 1)


def allocation(evidence: Evidence, requested: float | None, failures: float = FAILURES) -> float | None:
    """In bytes; None: nothing is known to size it by. Fewer than ENOUGH peaks are for replays only: what is advised keeps
    the request."""
    if not evidence.count and not evidence.at_least:
        return requested
    base = evidence.base
    if evidence.count < ENOUGH:
        sized = base * (1 + max(_LEAST_MARGIN, 0.3 / max(evidence.count, 1)))
        if requested is not None and requested > sized:
            sized += (requested - sized) * 0.5 / max(evidence.count, 1) ** 2
    else:
        sized = base * (1 + margin_of(evidence, failures))
    # Beyond, a retry that grows is cheaper.
    most = math.inf if requested is None else max(requested, 1.2 * base)
    return min(max(sized, _LEAST_BYTES), most)
