# SPDX-License-Identifier: Apache-2.0
"""Finds the six terms of each line: the table `pieces`, whose amounts sum to each line exactly."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from .._data import insert, query
from .._format import counted
from ._database import PLACES
from ._machines import Line, Machine, Task, Watched, Weights, disjoint, share
from ._shares import amount_of, shares_of, units_of

__all__ = ["MIN_SCALE", "TERMS", "make_pieces"]

TERMS = ("allocated", "idle", "system", "unobserved", "unused_commitment", "not_attributable")
MIN_SCALE = 12
_CLOCKS_APART_US = 5_000_000


def make_pieces(connection: Any, basis: str, idle: str, scale: int, with_tasks: bool, notes: list[str]) -> None:
    """Without tasks, every run that a tag names counts."""
    cost = {"billed": "billed", "effective": "coalesce(effective, billed)", "list": "coalesce(list, billed)"}[basis]
    used, unused = (("coalesce(list_split_used, split_used)", "coalesce(list_split_unused, split_unused)") if basis == "list"
                    else ("split_used", "split_unused"))
    if basis == "list":
        count = connection.execute(
            "SELECT count(*) FROM tagged WHERE coalesce(list, list_split_used) IS NULL AND coalesce(billed, 0) <> 0").fetchone()[0]
        if count:
            notes.append(f"{counted(count, 'line has', 'lines have')} no list price: the billed cost stands for it")
    connection.execute(f"""CREATE TABLE pieces (line BIGINT, task BIGINT, run VARCHAR, term VARCHAR, kind VARCHAR,
        amount DECIMAL(38, {PLACES}), tool VARCHAR)""")
    connection.execute(query(__file__, "work", cost=cost, used=used, unused=unused, any_run=not with_tasks))
    _share_parents(connection, basis, idle, scale)
    _share_splits(connection, idle)
    _share_machines(connection, idle, scale, notes)
    _share_others(connection, basis)
    connection.execute("DELETE FROM pieces WHERE amount = 0 AND task IS NULL")


_KIND = "CASE WHEN hidden THEN 'hidden attempt' WHEN lost THEN 'lost attempt' WHEN task IS NULL THEN 'run' ELSE 'task' END"
_RUN = "CASE WHEN known_run THEN tag_run END"
_BELONGS = "(task IS NOT NULL OR known_run)"
_STRANGE = """CASE WHEN tag_run IS NOT NULL THEN 'run not among the tasks' ELSE 'container of no task' END"""

# An ARN in the one place may be an id in the other.
_PARENT = "coalesce(nullif(regexp_extract(work.parent, '(^|/)(i-[0-9a-f]+)$', 2), ''), work.parent)"


def _share_parents(connection: Any, basis: str, idle: str, scale: int) -> None:
    """Where the machine's own lines are in the bill beside the split ones, only they are billed; the split ones weigh."""
    connection.execute(f"""UPDATE work SET of_parent = true WHERE used_cost IS NOT NULL AND parent IS NOT NULL AND EXISTS (
        SELECT 1 FROM work AS p WHERE p.used_cost IS NULL AND p.shape = 'machine' AND p.term = 'usage' AND
        coalesce(p.instance, p.resource) = {_PARENT} AND p.t0 < work.t1 AND p.t1 > work.t0)""")
    if not connection.execute("SELECT count(*) FROM work WHERE of_parent").fetchone()[0]:
        return
    rows = connection.execute(query(__file__, "parents", parent=_PARENT, run=_RUN, kind=_KIND, belongs=_BELONGS, strange=_STRANGE,
                                    amortized="cost" if basis == "list" else "coalesce(effective, cost)")).fetchall()

    def pieces() -> Iterator[tuple[object, ...]]:
        group: list[Any] = []
        until = None
        for row in rows:
            if group and (row[0] != group[0][0] or row[1] >= until):
                yield from _of_group(group, idle, scale)
                group, until = [], None
            group.append(row)
            until = row[2] if until is None else max(until, row[2])
        if group:
            yield from _of_group(group, idle, scale)

    insert(connection, "pieces", pieces())


def _of_group(group: list[Any], idle: str, scale: int) -> Iterator[tuple[object, ...]]:
    lines = [row for row in group if row[6] is not None]
    splits = [row for row in group if row[6] is None]
    keys: list[tuple[object, ...]] = []
    weights: list[int] = []
    for row in splits:
        for term, amount in (("allocated", row[4]), ("idle", row[5])):
            keys.append((row[7], row[8], term, row[9]) if row[10] else (None, None, "not_attributable", row[11]))
            weights.append(max(units_of(amount, scale), 0) if amount is not None else 0)
    # A line under a savings plan is billed with its discount in another line, and split without.
    rest = sum(units_of(row[12], scale) for row in lines) - sum(weights)
    keys.append((None, None, "idle", "not split by the provider"))
    weights.append(max(rest, 0 if sum(weights) else 1))
    for row in lines:
        parts = shares_of(units_of(row[6], scale), weights)
        for key, units in zip(keys, parts) if idle == "keep" else _handed_out(keys, weights, parts):
            if units:
                yield (row[3], *key, amount_of(units, scale), None)


def _handed_out(keys: list[tuple[object, ...]], weights: list[int], parts: list[int]) -> Iterator[tuple[tuple[object, ...], int]]:
    """Idle goes to the containers, and so does what the provider did not split: by their shares."""
    holders = [(*key[:2], "allocated", "idle") if key[2] == "idle" else key for key in keys[1:-1:2]]
    shares = [used + unused for used, unused in zip(weights[:-1:2], weights[1:-1:2])]
    yield from zip(keys[:-1:2], parts[:-1:2])
    yield from zip(holders, parts[1:-1:2])
    if any(shares):
        yield from zip(holders, shares_of(parts[-1], shares))
    else:
        yield keys[-1], parts[-1]


def _share_splits(connection: Any, idle: str) -> None:
    term = "'allocated'" if idle == "spread" else "'idle'"
    for own, kind, cost in (("'allocated'", _KIND, "used_cost"), (term, "'idle'", "unused_cost")):
        connection.execute(f"""INSERT INTO pieces SELECT line, task, {_RUN}, CASE WHEN {_BELONGS} THEN {own} ELSE
            'not_attributable' END, CASE WHEN {_BELONGS} THEN {kind} ELSE {_STRANGE} END, {cost}, NULL FROM work
            WHERE used_cost IS NOT NULL AND NOT of_parent""")


def _machines(connection: Any) -> dict[str, Machine]:
    sizes: dict[str, Weights] = {}
    for instance, vcpus, memory in connection.execute(query(__file__, "sizes")).fetchall():
        if vcpus and memory:
            sizes[instance] = Weights.of(vcpus, memory)
    machines: dict[str, Machine] = {}

    def machine(instance: str) -> Machine:
        if instance not in machines:
            machines[instance] = Machine(sizes.get(instance), [], [])
        return machines[instance]

    cursor = connection.execute("""SELECT instance, task, run, t0, t1, greatest(coalesce(cpus, 0), coalesce(used_cpus, 0)),
        greatest(coalesce(memory_gib, 0), coalesce(used_gib, 0)), sent_bytes FROM tasks
        WHERE instance IS NOT NULL AND t0 IS NOT NULL AND t1 IS NOT NULL AND status IS DISTINCT FROM 'CACHED' ORDER BY instance, t0, task""")
    while rows := cursor.fetchmany(50000):
        for instance, task, run, t0, t1, cpus, memory, sent in rows:
            machine(instance).tasks.append(Task(task, run, t0, t1, Weights.of(cpus, memory), sent))
    watched: defaultdict[str, tuple[list[Watched], list[Watched]]] = defaultdict(lambda: ([], []))
    for instance, t0, t1, cpus, memory, sampled in connection.execute("""SELECT instance, t0, t1, coalesce(system_cpus, 0),
            coalesce(system_gib, 0), sampled FROM hosts WHERE instance IS NOT NULL""").fetchall():
        machine(instance)
        if t0 is not None and t1 is not None:
            watched[instance][0 if sampled else 1].append(Watched(t0, t1, Weights.of(cpus, memory)))
    for instance, (samples, told) in watched.items():
        machines[instance].watched = disjoint(samples, told)
    return machines


def _share_machines(connection: Any, idle: str, scale: int, notes: list[str]) -> None:
    machines = _machines(connection)
    connection.execute("CREATE TEMP TABLE watched_machines (instance VARCHAR)")
    insert(connection, "watched_machines", ([name] for name in machines))
    connection.execute("""CREATE TEMP TABLE volumes AS SELECT DISTINCT unnest(string_split(volumes, ' ')) AS volume, instance
        FROM hosts WHERE volumes IS NOT NULL""")
    connection.execute(f"""UPDATE work SET instance = v.instance FROM volumes AS v
        WHERE work.shape = 'volume' AND work.volume = v.volume""")
    mine = """term = 'usage' AND used_cost IS NULL AND task IS NULL AND instance IN (FROM watched_machines)
        AND t0 IS NOT NULL AND t1 > t0 AND line NOT IN (SELECT line FROM pieces)"""
    for instance, t0, t1 in connection.execute(f"SELECT DISTINCT instance, t0, t1 FROM work WHERE {mine} AND "
                                               "shape IN ('machine', 'cpu', 'memory')").fetchall():
        machines[instance].begins.add(t0)
        machines[instance].ends.add(t1)
    cursor = connection.execute(f"""SELECT instance, line, t0, t1, (hours * 3600000000)::BIGINT, shape, cost FROM work
        WHERE {mine} ORDER BY instance, t0, line""")
    rows = cursor.fetchall()

    def pieces() -> Iterator[tuple[object, ...]]:
        for instance, line, t0, t1, billed, shape, cost in rows:
            machine = machines[instance]
            tasks = machine.active(t0, t1)
            found = share(Line(line, t0, t1, billed, shape, units_of(cost, scale)), machine, tasks, idle)
            runs = {task.run for task in tasks}
            only = next(iter(runs)) if len(runs) == 1 else None
            for task, term, kind, units in found:
                yield line, task, only if task is None else None, term, kind, amount_of(units, scale), None

    insert(connection, "pieces", pieces())
    late, far = _outside(machines)
    if late:
        notes.append(f"{counted(late, 'task begins or ends', 'tasks begin or end')} up to {_CLOCKS_APART_US // 1_000_000} s outside the machine's "
                     "billed hours: that time was cut off")
    if far:
        notes.append(f"{counted(far, 'task begins or ends', 'tasks begin or end')} more than {_CLOCKS_APART_US // 1_000_000} s outside the machine's "
                     "billed hours: that time costs nothing here")


def _outside(machines: dict[str, Machine]) -> tuple[int, int]:
    late = far = 0
    for machine in machines.values():
        if not machine.begins:
            continue
        first, last = min(machine.begins), max(machine.ends)
        for task in machine.tasks:
            outside = max(first - task.t0, task.t1 - last, 0)
            late += 0 < outside <= _CLOCKS_APART_US
            far += outside > _CLOCKS_APART_US
    return late, far


def _share_others(connection: Any, basis: str) -> None:
    part = "cost" if basis == "effective" else "CASE WHEN cost >= 0 AND unused > 0 THEN least(unused, cost) ELSE 0 END"
    connection.execute(query(__file__, "others", run=_RUN, kind=_KIND, belongs=_BELONGS, strange=_STRANGE, part=part))


# What a line is worth by the basis. A split line of a machine that is in the bill itself is worth nothing more.
_WORTH = """CASE WHEN of_parent THEN 0 WHEN used_cost IS NOT NULL THEN used_cost + unused_cost ELSE cost END"""


def create_empty(connection: Any) -> None:
    """As make_pieces() leaves it, without a bill."""
    connection.execute(f"""CREATE TABLE pieces (line BIGINT, task BIGINT, run VARCHAR, term VARCHAR, kind VARCHAR,
        amount DECIMAL(38, {PLACES}), tool VARCHAR)""")
    connection.execute("""CREATE TABLE work (line BIGINT, tag_pipeline VARCHAR, tag_user VARCHAR, tag_step VARCHAR,
        tag_sample VARCHAR, account VARCHAR, tags VARCHAR, known_run BOOLEAN, instance VARCHAR, currency VARCHAR,
        invoice VARCHAR, of_parent BOOLEAN, used_cost DECIMAL(38, 24), unused_cost DECIMAL(38, 24), cost DECIMAL(38, 24))""")


def check(connection: Any) -> tuple[Any, int]:
    """All pieces minus all lines, and the number of lines whose pieces differ from them."""
    row = connection.execute(f"""SELECT coalesce(sum(coalesce(found, 0) - worth), 0), count(*) FILTER (coalesce(found, 0) <> worth)
        FROM (SELECT line, {_WORTH} AS worth FROM work) LEFT JOIN
        (SELECT line, sum(amount) AS found FROM pieces GROUP BY line) USING (line)""").fetchone()
    return row[0], row[1]


def totals_of(connection: Any, scale: int) -> dict[str, dict[str, str]]:
    """Of the bill by currency and basis."""
    worth = {"billed": "CASE WHEN of_parent THEN 0 ELSE coalesce(billed, split_used + split_unused) END",
             "effective": "CASE WHEN of_parent THEN 0 ELSE coalesce(effective, billed, split_used + split_unused) END",
             "list": "CASE WHEN of_parent THEN 0 ELSE coalesce(list, list_split_used + list_split_unused, billed, "
             "split_used + split_unused) END"}
    sums = ", ".join(f"sum({value})" for value in worth.values())
    sums += " FILTER (EXISTS (FROM work WHERE list IS NOT NULL OR list_split_used IS NOT NULL))"
    return {currency or "": {name: amount_of(units_of(value, scale), scale) for name, value in zip(worth, values)
                             if value is not None}
            for currency, *values in connection.execute(f"SELECT currency, {sums} FROM work GROUP BY 1 ORDER BY 1").fetchall()}


# A line of a machine or container.
_RAN = "shape IN ('machine', 'cpu', 'memory') AND (instance IS NOT NULL OR ecs IS NOT NULL)"


def without_line(connection: Any, notes: list[str]) -> str:
    """Which tasks are after the bill's end, as SQL: only those are estimated. Others without a line cost nothing, or their
    machine's cost is not known: a note says how many."""
    # Taxes, fees and volumes may have the whole month, long before it is over.
    first, last, end = connection.execute(f"""SELECT min(t0) FILTER ({_RAN}), max(t1) FILTER ({_RAN}),
        coalesce(max(t1) FILTER ({_RAN}), max(t1)) FROM work WHERE term = 'usage'""").fetchone()
    later = f"t1 > {end}" if end is not None else "false"
    count = connection.execute(f"""SELECT count(*) FROM tasks WHERE task NOT IN (SELECT task FROM pieces WHERE task IS NOT NULL)
        AND status IS DISTINCT FROM 'CACHED' AND NOT coalesce({later}, false)""").fetchone()[0]
    if count:
        notes.append(f"{counted(count, 'task has', 'tasks have')} no line: free, or in another bill")
    if last is not None:
        count = connection.execute(f"""SELECT count(*) FROM tasks WHERE (t0 < {first - _CLOCKS_APART_US} OR t1 > {last + _CLOCKS_APART_US})
            AND task IN (SELECT task FROM pieces WHERE task IS NOT NULL)""").fetchone()[0]
        if count:
            notes.append(f"{counted(count, 'task begins', 'tasks begin')} before the bill's first hour or after its last: only a part of the cost is in it")
    cached = connection.execute("SELECT count(*) FROM tasks WHERE status = 'CACHED'").fetchone()[0]
    if cached:
        notes.append(f"{counted(cached, 'task')} from the engine's cache: no cost now")
    return f"coalesce({later}, false) AND task NOT IN (SELECT task FROM pieces WHERE task IS NOT NULL)"
