# SPDX-License-Identifier: Apache-2.0
"""Divides a task into phases: how much it computed in each, with how many threads, and how long it waited."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ._workload import Phase

__all__ = ["Piece", "phases_of"]

# Neighbors whose threads differ by less are one phase; of the rest, no more than these are kept.
_ALIKE = 0.15
_MOST_PHASES = 48


@dataclass(frozen=True, slots=True)
class Piece:
    """A process between two snapshots, or its whole life."""

    begin_ns: int
    end_ns: int
    cpu_ns: float
    queue_ns: float
    """Of all of its threads: ready to run, but no CPU was free."""
    active_share: float
    """Of its time: a thread of it ran or was ready."""
    threads: float = math.inf
    """At most."""


@dataclass(slots=True)
class _Slice:
    length: float
    cpu: float
    queue: float
    least: float
    """Active time, if its processes were active together."""
    most: float
    """... if they were one after another."""
    threads: float
    """Of all of its processes, at most."""

    def active(self, share: float) -> float:
        return self.least + share * (self.most - self.least)

    def add(self, other: _Slice) -> None:
        self.length += other.length
        self.cpu += other.cpu
        self.queue += other.queue
        self.least += other.least
        self.most += other.most
        self.threads = max(self.threads, other.threads)


def phases_of(begin_ns: int, end_ns: int, pieces: Sequence[Piece], cpu_ns: float, queue_ns: float,
              active_ns: float) -> tuple[Phase, ...]:
    """Phases of a task: their CPU time sums to `cpu_ns`, and what they compute and wait for to its wall time.

    `active_ns`: how long a thread of it ran or was ready. Without pieces it is one phase.
    """
    wall = float(max(end_ns - begin_ns, 0))
    active_ns = min(active_ns, wall)
    slices = _slices(begin_ns, end_ns, pieces)
    cpu, queue = sum(each.cpu for each in slices), sum(each.queue for each in slices)
    if not cpu or not cpu_ns:
        return (Phase(cpu_ns, max((cpu_ns + queue_ns) / active_ns, 1.0) if active_ns else 1.0, wall - active_ns),)
    for each in slices:
        each.cpu *= cpu_ns / cpu
        each.queue *= queue_ns / queue if queue else 0.0
    least, most = sum(each.least for each in slices), sum(each.most for each in slices)
    share = min(max((active_ns - least) / (most - least), 0.0), 1.0) if most > least else 0.0
    phases = [_phase(each, share) for each in _merged(slices, share)]
    # What the bounds of its processes don't explain: its ledger counts.
    waits = sum(phase.wait_ns for phase in phases)
    factor = (wall - active_ns) / waits if waits else 0.0
    phases = [Phase(each.cpu_ns, each.runnable, each.wait_ns * factor) for each in phases]
    return (*phases, Phase(0.0, 1.0, wall - active_ns)) if not waits and wall > active_ns else tuple(phases)


def _phase(each: _Slice, share: float) -> Phase:
    active = each.active(share)
    runnable = min((each.cpu + each.queue) / active, each.threads) if active else 1.0
    return Phase(each.cpu, max(runnable, 1.0), max(each.length - active, 0.0))


def _slices(begin_ns: int, end_ns: int, pieces: Sequence[Piece]) -> list[_Slice]:
    """Between each begin and end of a piece, in their order."""
    edges: list[tuple[int, int, Piece]] = []
    for piece in pieces:
        first, last = max(piece.begin_ns, begin_ns), min(piece.end_ns, end_ns)
        if first < last:
            edges += [(first, 1, piece), (last, -1, piece)]
    edges.sort(key=lambda edge: edge[0])
    found: list[_Slice] = []
    cpu = queue = together = 0.0
    alive: dict[int, Piece] = {}
    at = begin_ns
    for time, change, piece in edges:
        if time > at:
            length = float(time - at)
            share = max((each.active_share for each in alive.values()), default=0.0)
            found.append(_Slice(length, cpu * length, queue * length, share * length,
                                min(max(together, 0.0), 1.0) * length, sum(each.threads for each in alive.values())))
            at = time
        span = piece.end_ns - piece.begin_ns
        cpu, queue, together = (cpu + change * piece.cpu_ns / span, queue + change * piece.queue_ns / span,
                                together + change * piece.active_share)
        if change > 0:
            alive[id(piece)] = piece
        else:
            del alive[id(piece)]
            if not alive:
                cpu = queue = together = 0.0  # Sums of floats don't come back to it.
    if at < end_ns:
        found.append(_Slice(float(end_ns - at), 0.0, 0.0, 0.0, 0.0, 0.0))
    return [each for each in found if each.length > 0]


def _merged(slices: Sequence[_Slice], share: float) -> list[_Slice]:
    """Neighbors with about as many threads, or that are short, are one."""
    total = sum(each.length for each in slices)
    found: list[_Slice] = []
    for each in slices:
        if found:
            last, now = _phase(found[-1], share), _phase(each, share)
            alike = abs(last.runnable - now.runnable) <= _ALIKE * max(last.runnable, now.runnable)
            if alike or each.length < total / _MOST_PHASES / 4 or found[-1].length < total / _MOST_PHASES / 4:
                found[-1].add(each)
                continue
        found.append(each)
    while len(found) > _MOST_PHASES:
        shortest = min(range(len(found) - 1), key=lambda place: found[place].length + found[place + 1].length)
        found[shortest].add(found.pop(shortest + 1))
    return found
