# SPDX-License-Identifier: Apache-2.0
"""Memory by the size of a task's input, where it wastes less than a constant on tasks that it did not know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import _memory

__all__ = ["ENOUGH", "Line", "line_of", "lines_of", "numbers_of"]

ENOUGH = 10
# The newest of a step: each is judged by those before.
_MOST = 400
# What a line must save, as a constant is simpler and needs no input that is known before.
_WORTH = 0.9


@dataclass(frozen=True, slots=True)
class Line:
    """constant + slope × bytes of input, in bytes; it lies above all peaks that were seen."""

    constant: float
    slope: float
    judged: int
    wasted: float
    """Byte-seconds, of tasks that were held back; a failed attempt wastes all."""
    wasted_by_constant: float
    failed: int
    most_input: float
    """Beyond it, nothing is known."""

    def to_json(self) -> dict[str, float]:
        return {"constant_bytes": self.constant, "per_input_byte": self.slope, "judged_tasks": self.judged,
                "wasted_share_of_constant": self.wasted / self.wasted_by_constant, "most_input_bytes": self.most_input,
                "failure_rate": (self.failed + 1) / (self.judged + 1)}


def numbers_of(line: Mapping[str, float] | None) -> tuple[float | None, float | None]:
    return (None, None) if line is None else (line["per_input_byte"], line["constant_bytes"])


class _Fit:
    """Least squares, one point after the other."""

    def __init__(self) -> None:
        self.points: list[tuple[float, float]] = []
        self.x = self.y = self.xx = self.xy = 0.0

    def add(self, x: float, y: float) -> None:
        self.points.append((x, y))
        self.x, self.y, self.xx, self.xy = self.x + x, self.y + y, self.xx + x * x, self.xy + x * y

    def line(self) -> tuple[float, float] | None:
        """Raised above all points, by the margin of a constant on how far they lie from it."""
        n = len(self.points)
        spread = n * self.xx - self.x * self.x
        if n < _memory.ENOUGH or spread <= 1e-9 * n * self.xx:
            return None
        slope = (n * self.xy - self.x * self.y) / spread
        constant = (self.y - slope * self.x) / n
        if slope <= 0:
            return None
        ratios = [y / (constant + slope * x) for x, y in self.points if constant + slope * x > 0]
        if len(ratios) < n:
            return None
        factor = max(ratios) * (1 + _memory.margin_of(n))
        return constant * factor, slope * factor


def line_of(tasks: Sequence[tuple[float, float, float, float | None]]) -> Line | None:
    """Of (input, peak, seconds, requested) in the order of time; None: a constant is as good."""
    fit = _Fit()
    peaks: list[float] = []
    wasted, constant_wasted, failed, constant_failed, judged = 0.0, 0.0, 0, 0, 0
    for size, peak, seconds, requested in tasks:
        line = fit.line()
        constant = _memory.allocation(_memory.Evidence.of(peaks), requested)
        if line is not None and constant is not None:
            by_line, lost = _waste(max(line[0] + line[1] * size, _memory.LEAST_BYTES), peak, seconds)
            by_constant, lost_too = _waste(constant, peak, seconds)
            wasted, constant_wasted, judged = wasted + by_line, constant_wasted + by_constant, judged + 1
            failed, constant_failed = failed + lost, constant_failed + lost_too
        fit.add(size, peak)
        peaks.append(peak)
    line = fit.line()
    if line is None or judged < ENOUGH - _memory.ENOUGH or wasted >= _WORTH * constant_wasted or failed > constant_failed:
        return None
    return Line(line[0], line[1], judged, wasted, constant_wasted, failed, max(size for size, *_ in tasks))


def _waste(allocated: float, peak: float, seconds: float) -> tuple[float, bool]:
    """A failed attempt wastes what it held, and is repeated with twice as much."""
    lost, wasted = False, 0.0
    while allocated < peak:
        lost, wasted, allocated = True, wasted + allocated * seconds, allocated * 2
    return wasted + (allocated - peak) * seconds, lost


def lines_of(connection: Any, kinds: Sequence[int]) -> dict[int, Line]:
    if not kinds:
        return {}
    tasks: dict[int, list[tuple[float, float, float, float | None]]] = {}
    for kind, *task in connection.execute(f"""SELECT kind, input_bytes, used_gib * 1073741824, life_us / 1e6, memory_gib * 1073741824
        FROM (SELECT *, row_number() OVER (PARTITION BY kind ORDER BY t0 DESC NULLS LAST, task DESC) AS newest FROM kinds
        WHERE outcome = 'succeeded' AND input_bytes IS NOT NULL AND used_gib > 0 AND life_us IS NOT NULL AND NOT is_lower_bound)
        WHERE newest <= {_MOST} AND kind IN ({', '.join(map(str, kinds))}) ORDER BY kind, newest DESC""").fetchall():
        tasks.setdefault(kind, []).append(tuple(task))
    found = {kind: line_of(each) for kind, each in tasks.items()}
    return {kind: line for kind, line in found.items() if line is not None}
