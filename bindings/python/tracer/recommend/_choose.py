# SPDX-License-Identifier: Apache-2.0
"""Chooses a machine for a step: the cheapest for each task that has what its tasks were seen to need."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from .._format import counted
from ..cost.shared import Price
from ..tune.shared import BOUND_TEXTS, ENOUGH, LEAST_BYTES, Evidence, allocation
from ..whatif.shared import Phase
from ._evidence import Step
from ._families import Facts, facts_of

__all__ = ["Candidate", "candidates_of", "recommend_step"]

# What the system and a batch system's agent keep of a machine's memory.
_KEPT_SHARE, _KEPT_BYTES = 0.05, 256 << 20
# Of machines whose tasks cost about as little, the one that is done first.
_ALIKE = 0.03
# A network is used to no more than this: figures of providers are peaks.
_NETWORK_SHARE = 0.8
_HOURS_OF_MONTH = 730
_ARCH_NAMES = {"arm64": "Arm", "x86_64": "x86-64"}


@dataclass(frozen=True, slots=True)
class Candidate:
    price: Price
    facts: Facts
    usable_bytes: float


def candidates_of(prices: Sequence[Price], region: str | None, cloud: str | None) -> list[Candidate]:
    """Machines with a price and a size: no GPUs, and none that works by CPU credits."""
    found = []
    for price in prices:
        if region not in (None, price.region) or cloud not in (None, price.cloud) or not price.on_demand or not float(price.on_demand):
            continue
        facts = facts_of(price)
        if facts is not None and not facts.burstable and not facts.accelerator:
            found.append(Candidate(price, facts, facts.memory_gib * (1 << 30) * (1 - _KEPT_SHARE) - _KEPT_BYTES))
    return found


def memory_of(step: Step) -> tuple[int | None, str]:
    """Bytes that a task needs, and how they were found."""
    evidence = Evidence.of(step.peaks_bytes, step.at_least_bytes)
    if not evidence.base:
        if step.requested_bytes:
            return int(step.requested_bytes), "as requested: its peak is not known"
        return None, "its peak is not known"
    needed = round(allocation(evidence, None) or 0)
    if evidence.count < ENOUGH and step.requested_bytes and step.requested_bytes > needed:
        return int(step.requested_bytes), f"as requested: {counted(evidence.count, 'peak is', 'peaks are')} too few to size it by"
    if step.lost and step.requested_bytes and step.requested_bytes > needed:
        return int(step.requested_bytes), f"as requested: {counted(step.lost, 'task was', 'tasks were')} killed, neither peak nor limit known"
    if evidence.at_least > max(evidence.largest, default=0):
        known = f"what it needs at least: {counted(step.short_of_memory, 'task')} had too little" if step.short_of_memory else "what it needs at least"
    else:
        known = f"the largest of {evidence.count} peaks" if evidence.count > 1 else "the only peak"
    if needed > LEAST_BYTES:
        return needed, f"{needed / evidence.base - 1:.0%} more than {known}"
    return needed, f"at least {LEAST_BYTES / 1e6:.0f} MB ({known}: {evidence.base / (1 << 20):.0f} MiB)"


def arches_of(step: Step, images: Mapping[str, set[str]]) -> tuple[set[str], str]:
    """Where all of the step runs, and why not on another architecture."""
    every: set[str] = set().union(*step.binaries.values())
    recorded = {arch for arch in step.binaries if arch}
    complete = {arch for arch in recorded if step.binaries[arch] == every}
    if len(complete) > 1:
        return complete, "every binary was seen on x86-64 and on Arm"
    # Where it ran with other programs than elsewhere, it may not run as a whole.
    known = complete or recorded & {"x86_64"} or recorded
    other = "x86_64" if known == {"arm64"} else "arm64"
    if step.images and not step.without_image and all(image in images for image in step.images):
        platforms = set.intersection(*(images[image] for image in step.images))
        if other in platforms:
            return known | {other}, f"its image is for {', '.join(sorted(platforms))}"
        image = f"its image is for {', '.join(sorted(platforms)) or 'nothing known'} only"
    else:
        image = "platforms of its image are not known (--image)" if step.images else "its image is not known"
    missing = sorted(every - step.binaries.get(other, set()))
    names = ", ".join(missing[:4]) + (f" and {len(missing) - 4} more" if len(missing) > 4 else "")
    return known, f"not on {_ARCH_NAMES[other]}: not seen there: {names or 'any program'}; {image}"


def _time(phases: Sequence[tuple[Phase, ...]], cpus: float) -> float:
    """Of a task on average, with so many CPUs for itself, in ns."""
    return sum(phase.cpu_ns / min(phase.runnable, cpus) + phase.wait_ns for task in phases for phase in task) / len(phases)


def _at_once(most: int) -> list[int]:
    return sorted({most, *(1 << power for power in range(most.bit_length()) if 1 << power <= most)})


def recommend_step(step: Step, candidates: Sequence[Candidate], images: Mapping[str, set[str]]) -> dict[str, Any]:
    """A row: docs/recommend.md lists its fields."""
    memory, memory_basis = memory_of(step)
    arches, why_arch = arches_of(step, images)
    bound = max(step.bounds, key=lambda name: step.bounds[name]) if step.bounds else None
    n = len(step.walls_ns)
    row: dict[str, Any] = {
        "pipeline": step.pipeline, "step": step.name, "tasks": n, "failed": step.failed, "bound_by": bound,
        "bound_share": round(step.shares[bound] / step.bounds[bound], 4) if bound and step.bounds[bound] else None,
        "cpus": None, "threads": round(_threads(step), 2) if n else None, "memory_bytes": memory, "memory_basis": memory_basis,
        "peak_bytes": max(step.peaks_bytes, default=None), "disk_bytes_per_s": round(step.disk_bytes_per_s),
        "network_bytes_per_s": round(step.network_bytes_per_s), "wall_ns": round(median(step.walls_ns)) if n else None,
        "instance_type": None, "cloud": None, "region": None, "family": None, "arch": None, "vcpus": None, "memory_gib": None,
        "tasks_at_once": None, "purchase": None, "usd_per_hour": None, "usd_per_task": None, "expected_wall_ns": None,
        "spot_usd_per_hour": None, "spot_interruption": None, "price_date": None, "price_basis": None, "reasons": [], "risks": []}
    reasons, risks = row["reasons"], row["risks"]
    if not n:
        reasons.append("no machine: none of its tasks succeeded")
        return row
    if memory is None:
        reasons.append(f"no machine: {memory_basis}")
        return row
    if step.short_of_memory or bound == "memory":
        memory = round(memory * 1.2) if bound == "memory" else memory
        risks.append("it ran short of memory: it may need more than it was seen to use")
    fitting = [each for each in candidates if each.facts.arch in arches and each.usable_bytes >= memory]
    if not fitting:
        where = f" for {', '.join(sorted(arches))}" if arches else " for its architecture, which is not known"
        reasons.append(f"no machine of the price list{where} has {memory / (1 << 30):.1f} GiB for it")
        return row
    fitting = _by_bound(step, fitting, bound, reasons)
    best = _cheapest(step, fitting, memory)
    candidate, at_once, wall, cost = best
    price, facts = candidate.price, candidate.facts
    row |= {"cpus": round(facts.vcpus / at_once, 2), "memory_bytes": memory, "instance_type": price.instance_type, "cloud": price.cloud,
            "region": price.region, "family": facts.family, "arch": facts.arch, "vcpus": facts.vcpus, "memory_gib": facts.memory_gib,
            "tasks_at_once": at_once, "expected_wall_ns": round(wall), "price_date": price.date, "price_basis": price.basis}
    reasons.append(_size_reason(facts, memory, at_once))
    reasons.append(why_arch)
    _purchase(row, price, wall, cost, reasons, risks)
    if n < ENOUGH:
        risks.append(f"{counted(n, 'task is', 'tasks are')} little evidence")
    if step.without_peak:
        risks.append(f"the peak of {counted(step.without_peak, 'task')} is not known")
    return row


def _threads(step: Step) -> float:
    """That could run, on average over its computing time, at most of a task."""
    def of(phases: Sequence[Phase]) -> float:
        cpu = sum(phase.cpu_ns for phase in phases)
        return sum(phase.cpu_ns * phase.runnable for phase in phases) / cpu if cpu else 1.0

    return max(of(phases) for phases in step.phases)


def _by_bound(step: Step, fitting: list[Candidate], bound: str | None, reasons: list[str]) -> list[Candidate]:
    """Narrowed by what bounds the step, where such machines are known."""
    bits = 8 * step.network_bytes_per_s
    fast = [each for each in fitting
            if not each.price.network_gbps or float(each.price.network_gbps) * 1e9 * _NETWORK_SHARE >= bits]
    fitting = fast or fitting
    if bound in ("disk", "network"):
        words, did = {"disk": "local disks", "network": "much network"}[bound], BOUND_TEXTS[bound]
        narrowed = [each for each in fitting if (each.facts.local_disk if bound == "disk" else each.facts.network)]
        reasons.append(f"{words}: it mostly {did}" if narrowed else f"it mostly {did}: no machine with {words} is known")
        return narrowed or fitting
    if bound == "oversubscribed":
        reasons.append("it waited for CPUs where it was recorded: its own threads count here")
    return fitting


def _cheapest(step: Step, fitting: Sequence[Candidate], memory: int) -> tuple[Candidate, int, float, float]:
    """(machine, tasks on it at once, wall time of one, USD for one)"""
    times: dict[float, float] = {}
    found = []
    for candidate in fitting:
        most = min(step.at_once, int(candidate.usable_bytes // memory), math.floor(candidate.facts.vcpus))
        for at_once in _at_once(max(most, 1)):
            cpus = candidate.facts.vcpus / at_once
            if cpus not in times:
                times[cpus] = _time(step.phases, cpus)
            wall = times[cpus]
            found.append((float(candidate.price.on_demand) * wall / 3.6e12 / at_once, wall, at_once, candidate))
    least = min(cost for cost, *_ in found)
    cost, wall, at_once, candidate = min((each for each in found if each[0] <= least * (1 + _ALIKE)), key=lambda each: (
        each[1], each[3].facts.vcpus, each[0], each[3].price.region, each[3].price.instance_type))
    return candidate, at_once, wall, cost


def _size_reason(facts: Facts, memory: int, at_once: int) -> str:
    ratio = memory * at_once / (1 << 30) / facts.vcpus
    tasks = "a task" if at_once == 1 else f"{at_once} tasks at once"
    need = memory * at_once / (1 << 30)
    binds = "memory decides the size" if need > 0.6 * facts.memory_gib else "CPUs decide the size"
    return f"{tasks}: {facts.vcpus:g} vCPU{'s' * (facts.vcpus != 1)} and {need:.1f} of {facts.memory_gib:g} GiB ({ratio:.1f} GiB for each vCPU): {binds}"


def _purchase(row: dict[str, Any], price: Price, wall: float, cost: float, reasons: list[str], risks: list[str]) -> None:
    """On demand, or spot if it is cheaper with what interruptions repeat."""
    row |= {"purchase": "on_demand", "usd_per_hour": price.on_demand, "usd_per_task": f"{cost:.6f}",
            "spot_usd_per_hour": price.spot or None, "spot_interruption": price.spot_interruption or None}
    if not price.spot:
        reasons.append("on demand: no spot price is known")
        return
    if not price.spot_interruption:
        reasons.append("on demand: the price list does not say how often spot machines are taken back")
        return
    share = float(price.spot_interruption)
    if share >= 1:
        reasons.append("on demand: no limit is known to how often spot machines are taken back")
        return
    # A task that is interrupted has run for half of its time, on average, and runs again.
    lost = -math.log1p(-share) / _HOURS_OF_MONTH * wall / 3.6e12
    factor = 1 + lost / 2 if lost < 0.5 else math.inf
    spot = cost * float(price.spot) / float(price.on_demand) * factor
    if spot >= cost:
        reasons.append("on demand: with what interruptions repeat, spot is not cheaper")
        return
    row |= {"purchase": "spot", "usd_per_hour": price.spot, "usd_per_task": f"{spot:.6f}"}
    reasons.append(f"spot: {1 - spot / cost:.0%} cheaper, with what interruptions repeat")
    risks.append(f"spot: at most {share:.0%} of such machines are taken back in a month, which hits {lost:.2%} of its tasks")
