# SPDX-License-Identifier: Apache-2.0
"""Replays for each machine that is asked for, with a range and costs, and their table."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from .. import _core
from .._format import aligned, counted, visible
from ..cost.shared import age_notes
from . import WhatIf
from ._machines import Machine, cost_of
from ._replay import Replay, replay
from ._workload import Workload

__all__ = ["rows_of", "text_of"]

_SEEDS = (1, 2, 3)
# Of more tasks, chance is no matter.
_MANY = 20_000
# What a range is at least: two runs of the same differ by as much, and replays of real pipelines on other numbers of CPUs
# were off by no more (bench/whatif.py).
_LEAST, _LEAST_ELSEWHERE = 0.05, 0.15
# How far the time of a CPU of another machine is off, if nobody says how fast it is, and if one factor is known.
_UNKNOWN_SPEED, _KNOWN_SPEED = 0.40, 0.13
_ENDLESS = 1_000_000_000
# More CPUs that save less than this help no more.
_WORTH = 0.02
_MOST_CPUS = 1024


def rows_of(work: Workload, cpus: Sequence[int], machines: Sequence[Machine], slots: int | str | None, speed: float | None) -> WhatIf:
    base = replay(work, work.cpus)
    # The slots of the recording are no guess; others are.
    off = work.wall_ns / base.wall_ns if base.wall_ns else 1.0
    rows = [_row(work, count, None, slots, None, off) for count in cpus]
    rows += [_row(work, machine.vcpus, machine, slots, speed, off) for machine in machines]
    if not rows:
        rows = _by_doubling(work, slots, off)
    shortest = replay(work, _ENDLESS, slots=_ENDLESS)
    result = WhatIf(work.name, len(work.tasks), work.wall_ns, work.cpus, work.cpus_basis, round(base.wall_ns),
                    round(shortest.wall_ns), work.slots, rows, _assumptions(work, machines, slots, speed), list(work.notes))
    _note(result, work, base, machines)
    return result


def _by_doubling(work: Workload, slots: int | str | None, off: float) -> list[dict[str, Any]]:
    """1, 2, 4 … and as recorded, until more don't help."""
    rows: list[dict[str, Any]] = []
    count = 1
    while count <= _MOST_CPUS:
        rows.append(_row(work, count, None, slots, None, off))
        if len(rows) > 1 and rows[-1]["wall_ns"] > rows[-2]["wall_ns"] * (1 - _WORTH) and count >= work.cpus:
            break
        count *= 2
    if work.cpus not in {row["cpus"] for row in rows}:
        rows.append(_row(work, work.cpus, None, slots, None, off))
    return sorted(rows, key=lambda row: row["cpus"])


def _row(work: Workload, cpus: float, machine: Machine | None, wanted: int | str | None, speed: float | None,
         off: float) -> dict[str, Any]:
    factor = speed or 1.0
    slots = wanted if wanted is None or isinstance(wanted, int) else max(1, int(cpus))
    replays = [replay(work, cpus, slots=slots, speed=factor, seed=seed) for seed in (_SEEDS if len(work.tasks) < _MANY else _SEEDS[:1])]
    middle: Replay = sorted(replays, key=lambda each: each.wall_ns)[len(replays) // 2]
    others = [replay(work, cpus, slots=slots, speed=factor, early=True), replay(work, cpus, slots=slots, speed=factor, serial=True)]
    if machine is not None:
        apart = _UNKNOWN_SPEED if speed is None else _KNOWN_SPEED
        others += [replay(work, cpus, slots=slots, speed=factor * share) for share in (1 - apart, 1 + apart)]
    walls = [each.wall_ns for each in (*replays, *others)]
    least = _LEAST if machine is None and cpus == work.cpus and slots is None else _LEAST_ELSEWHERE
    low = min(min(walls) * min(off, 1.0), middle.wall_ns * (1 - least))
    high = max(max(walls) * max(off, 1.0), middle.wall_ns * (1 + least))
    memory = machine.memory_bytes if machine is not None else None
    peak = None if middle.most_bytes is None or work.outside_bytes is None else middle.most_bytes + work.outside_bytes
    fits = None
    if memory is not None and middle.most_bytes is not None:
        # Upper bounds show only what fits.
        fits = True if peak is not None and peak <= memory else False if work.peaks_exact and middle.most_bytes > memory else None
    row: dict[str, Any] = {
        "cpus": int(cpus) if cpus == int(cpus) else cpus, "instance_type": machine and machine.instance_type,
        "region": machine and machine.region, "wall_ns": round(middle.wall_ns), "wall_low_ns": round(low), "wall_high_ns": round(high),
        "cpu_share": round(middle.cpu_share, 4), "tasks_at_once": middle.most_tasks, "slots_waited_ns": round(middle.slots_ns),
        "peak_bytes": peak, "memory_bytes": memory, "fits": fits}
    for name in ("on_demand", "spot"):
        hourly = getattr(machine.price, name) if machine is not None else ""
        for suffix, wall in (("", middle.wall_ns), ("_low", low), ("_high", high)):
            row[f"{name}_usd{suffix}"] = cost_of(hourly, wall)
    row["price_date"] = machine.price.date if machine is not None else None
    row["price_basis"] = machine.price.basis if machine is not None else None
    return row


def _assumptions(work: Workload, machines: Sequence[Machine], slots: int | str | None, speed: float | None) -> list[str]:
    found = [f"the run had {counted(work.cpus, 'CPU')} ({work.cpus_basis})"]
    if slots is not None:
        found.append(f"at most {'a task for each CPU' if isinstance(slots, str) else slots} at once, as given")
    elif any(each.limited for each in work.launchers):
        found.append(f"at most {counted(work.slots, 'task')} at once, as seen: --slots gives another number")
    elif len(work.tasks) > 1:
        found.append(f"at most {counted(work.slots, 'task')} at once, as seen, though nothing shows that this was a limit: --slots gives another number")
    order = []
    if work.by_files:
        order.append(f"{counted(work.by_files, 'task begins', 'tasks begin')} after those that wrote their files")
    if work.by_order:
        order.append(f"{counted(work.by_order, 'task begins', 'tasks begin')} after those that had ended just before, as seen")
    if not work.has_files and len(work.tasks) > 1:
        order.append("the recording has no files: dependencies are by the order seen only")
    found.append("; ".join(order) if order else "no task waits for another")
    found += ["a task's CPU time is the same on any number of CPUs, and it uses as many at once as it ran on or waited for",
              "waits for disk, network, timers and others last as long as recorded; queues for a CPU are found anew",
              "nothing else runs on the machine"]
    if machines:
        found.append("a CPU of another machine is as fast as recorded, ± 40 %: --speed gives another factor" if speed is None else
                     f"a CPU of the machine is {speed:g} times as fast as recorded, ± 13 %")
        found.append("the machine is paid by the second while the run lasts, at least 60 s, without its start")
    return found


def _note(result: WhatIf, work: Workload, base: Replay, machines: Sequence[Machine]) -> None:
    apart = base.wall_ns / work.wall_ns - 1 if work.wall_ns else 0.0
    if apart < -0.1:
        result.notes.append(f"the replay on the recorded CPUs is {-apart:.0%} shorter than the run: other work on the machine "
                            "is likely, and each range is widened by that")
    elif apart > 0.1:
        result.notes.append(f"the replay on the recorded CPUs is {apart:.0%} longer than the run: each range is widened by that")
    if any(row["slots_waited_ns"] > 0.05 * row["wall_ns"] for row in result.rows):
        more = ""
        if work.slots == work.cpus:
            more = "; the run had a task for each CPU: where its engine decides so, as Nextflow does, give --slots cpus"
        result.notes.append(f"tasks waited for a slot while a CPU was free: try more --slots{more}")
    for row in result.rows:
        if row["fits"] is False:
            result.notes.append(f"{row['instance_type']} has too little memory for the tasks at once: {_core.format_bytes(row['memory_bytes'])}")
    result.notes += age_notes(machine.price.date for machine in machines)


def _money(low: str | None, high: str | None, middle: str | None) -> str:
    if middle is None or low is None or high is None:
        return ""
    places = 2 if Decimal(middle) >= 1 else 4
    return f"{Decimal(middle):.{places}f}" + ("" if low == high else f" ({Decimal(low):.{places}f}–{Decimal(high):.{places}f})")


def text_of(result: WhatIf) -> str:
    """A table for people."""
    with_machines = any(row["instance_type"] for row in result.rows)
    head = ["cpus", *(["instance", "region"] if with_machines else []), "wall", "range", "CPU use", "tasks at once", "memory"]
    lines = [head + (["on demand USD", "spot USD"] if with_machines else [])]
    for row in result.rows:
        machine = [row["instance_type"] or "", row["region"] or ""] if with_machines else []
        memory = "" if row["peak_bytes"] is None else "≤ " + _core.format_bytes(row["peak_bytes"])
        lines.append([str(row["cpus"]), *machine, _core.format_duration(row["wall_ns"]),
                      f"{_core.format_duration(row['wall_low_ns'])} to {_core.format_duration(row['wall_high_ns'])}",
                      f"{row['cpu_share']:.0%}", str(row["tasks_at_once"]), memory + (" too much" if row["fits"] is False else "")]
                     + ([_money(row[f"{name}_usd_low"], row[f"{name}_usd_high"], row[f"{name}_usd"]) for name in ("on_demand", "spot")]
                        if with_machines else []))
    table = "\n".join(aligned(lines))
    duration = _core.format_duration
    parts = [f"{visible(result.run, 60)}: {counted(result.tasks, 'task')}, "
             f"{duration(result.recorded_wall_ns)} on {counted(result.recorded_cpus, 'CPU')}, replayed on them {duration(result.replayed_wall_ns)}; "
             f"at the shortest {duration(result.shortest_wall_ns)}, with enough CPUs and slots", "", table, ""]
    dates = sorted({f"{row['price_date']} ({row['price_basis']})" for row in result.rows if row["price_date"]})
    if dates:
        parts.append(f"costs are estimated from list prices of {', '.join(dates)}; not what you will be billed")
    parts += [f"assumed: {each}" for each in result.assumptions]
    parts += [f"note: {visible(note)}" for note in result.notes]
    return "\n".join(parts)
