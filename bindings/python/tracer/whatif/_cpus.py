# SPDX-License-Identifier: Apache-2.0
"""How many CPUs a recorded run could use."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from .._data import table_of
from .._errors import InvalidArgumentError
from ._workload import Workload

__all__ = ["find_cpus", "list_size"]

# A run that used this much more than its CPUs had more of them.
_OFF = 1.1


def find_cpus(connection: Any, work: Workload, rows: Sequence[dict[str, Any]], online: int, given: float | None) -> None:
    """The CPUs that the run could use. The host's number is no limit of what was pinned to some of them."""
    if given is not None:
        work.cpus, work.cpus_basis, work.limited = int(given), "as given", int(given) < online
    else:
        work.cpus, work.cpus_basis, work.limited = online, "CPUs of the host", False
        pinned = _pinned(connection, rows)
        if pinned is not None and pinned < online:
            work.cpus, work.cpus_basis = pinned, "taskset, seen in the recording"
        limit = _limit(connection, rows)
        if limit is not None and limit < work.cpus:
            work.cpus, work.cpus_basis, work.limited = limit, "CPU limit of the cgroup that all tasks are in", True
    used = work.cpu_ns / work.wall_ns if work.wall_ns else 0.0
    if used > _OFF * work.cpus:
        if given is not None:
            raise InvalidArgumentError(f"the run used {used:.1f} CPUs, more than {work.cpus}", "correct --recorded-cpus")
        # It left what it was pinned to.
        work.cpus, work.cpus_basis, work.limited = max(online, math.ceil(used / _OFF)), "CPUs of the host", False


def _limit(connection: Any, rows: Sequence[dict[str, Any]]) -> int | None:
    """CPUs, if all tasks are in one cgroup: tasks in cgroups of their own have limits of their own."""
    leaders = {(row["pid"], row["start_ns"]) for row in rows}
    cgroups = {cgroup for pid, start, cgroup in connection.execute(
        "SELECT pid, start_ns, cgroup::VARCHAR FROM processes").fetchall() if (pid, start) in leaders}
    if len(cgroups) != 1 or None in cgroups:
        return None
    found = connection.execute("""SELECT min(cpu_limit_millicpus) FROM samples WHERE kind = 'cgroup_sample' AND cgroup::VARCHAR = ?""",
                               [cgroups.pop()]).fetchall()[0][0]
    return None if found is None else max(1, round(found / 1000))


def _pinned(connection: Any, rows: Sequence[dict[str, Any]]) -> int | None:
    """The size of the CPU list of the taskset above all tasks, or that became their parent."""
    found = table_of(connection, """SELECT pid, start_ns, argv FROM programs WHERE exe::VARCHAR LIKE '%/taskset'
        ORDER BY program_start_ns""")
    if not found:
        return None
    parents = {(row["pid"], row["start_ns"]): (row["parent_pid"], row["parent_start_ns"]) for row in table_of(
        connection, "SELECT pid, start_ns, parent_pid, parent_start_ns FROM processes")}
    above: set[tuple[Any, Any]] | None = None
    for leader in {(row.get("pid"), row.get("start_ns")) for row in rows}:
        chain, at = set(), leader
        while at in parents and at not in chain:
            chain.add(at)
            at = parents[at]
        above = chain if above is None else above & chain
    sizes = [list_size([str(word) for word in row["argv"] or []]) for row in found if (row["pid"], row["start_ns"]) in (above or ())]
    known = [size for size in sizes if size]
    return min(known) if known else None


def list_size(argv: Sequence[str]) -> int | None:
    """Of the list (-c 0,2-3) or mask (0x3) of a taskset that begins a command."""
    listed = False
    for word in argv[1:]:
        if word.startswith("-"):
            if word in ("-p", "--pid") or (not word.startswith("--") and "p" in word):
                return None
            listed |= word == "--cpu-list" or (not word.startswith("--") and "c" in word)
            continue
        if not listed:
            try:
                return bin(int(word.replace(",", ""), 16)).count("1") or None
            except ValueError:
                return None
        cpus: set[int] = set()
        for part in word.split(","):
            match = re.fullmatch(r"(\d+)(?:-(\d+)(?::(\d+))?)?", part)
            if match is None:
                return None
            cpus |= set(range(int(match[1]), int(match[2] or match[1]) + 1, int(match[3] or 1)))
        return len(cpus) or None
    return None
