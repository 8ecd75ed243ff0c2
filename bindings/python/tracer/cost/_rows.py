# SPDX-License-Identifier: Apache-2.0
"""Sums pieces to rows, by what is asked for, and shows them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from decimal import Context, Decimal
from typing import Any

from .._csv import csv_of
from .._data import insert, query, table_of
from .._format import aligned, ending, visible
from ._centers import NONE, Centers
from ._machines import CPU_GIB
from ._shares import amount_of, shares_of, units_of
from ._tasks import opened_sources
from ._terms import TERMS

__all__ = ["BY", "FIELDS", "decimal_text", "rows_of", "run_names", "split_tools", "table_for_people", "text_of", "to_csv"]

BY = ("pipeline", "run", "step", "tool", "sample", "instance", "user", "cost_center", "kind")
PARTS = ("staging", "hidden_attempts", "lost_attempts")
FIELDS = (*BY, *TERMS, "billed", *PARTS, "currency", "basis", "price_date", "state")
_EXACT = Context(prec=60)


def decimal_text(value: Decimal | None, scale: int) -> str | None:
    return None if value is None else amount_of(units_of(value, scale), scale)


def split_tools(connection: Any, scale: int) -> None:
    """Inside a task: the CPU's part of its cost by CPU time, the memory's by byte-seconds."""
    tools: dict[int, list[tuple[str, int, int]]] = {}
    for task, tool, cpu, memory in connection.execute("SELECT task, tool, cpu, memory FROM tools ORDER BY task, tool").fetchall():
        tools.setdefault(task, []).append((tool, int(cpu or 0), int(memory or 0)))
    if not tools:
        return
    parts = {task: (round(1000 * CPU_GIB * max(cpus or 0, used or 0)), round(1000 * max(gib or 0, peak or 0)))
             for task, cpus, used, gib, peak in connection.execute(
                 "SELECT task, cpus, used_cpus, memory_gib, used_gib FROM tasks WHERE task IN (SELECT task FROM tools)").fetchall()}
    rows = connection.execute("SELECT line, task, run, term, kind, amount FROM pieces WHERE task IN (SELECT task FROM tools)"
                              ).fetchall()

    def split() -> Iterator[tuple[object, ...]]:
        for line, task, run, term, kind, amount in rows:
            cpu, memory = sum(t[1] for t in tools[task]), sum(t[2] for t in tools[task])
            of_cpu, of_memory = parts[task]
            weights = [of_cpu * t[1] * max(memory, 1) + of_memory * t[2] * max(cpu, 1) for t in tools[task]]
            if not sum(weights):
                weights = [t[1] for t in tools[task]] if cpu else [1] * len(weights)
            for (tool, _, _), units in zip(tools[task], shares_of(units_of(amount, scale), weights)):
                if units:
                    yield line, task, run, term, kind, amount_of(units, scale), tool

    connection.execute("DELETE FROM pieces WHERE task IN (SELECT task FROM tools)")
    insert(connection, "pieces", split())


def run_names(connection: Any) -> dict[str, str]:
    """What people call the runs of recordings, by what `run` of a row has; those of one name are told apart."""
    names: dict[str, str] = {}
    for _ in opened_sources(connection, "tasks_last"):
        names |= dict(connection.execute("SELECT run_id::VARCHAR, any_value(run)::VARCHAR FROM recorded_tasks_last "
                                         "WHERE run_id IS NOT NULL AND run IS NOT NULL GROUP BY ALL").fetchall())
    count = Counter(names.values())
    return {key: name if count[name] == 1 else f"{name} ({key})" for key, name in names.items()}


def _centers_table(connection: Any, centers: Centers | None) -> None:
    """The center of each (task, line) that differs in what rules ask for."""
    connection.execute("CREATE TEMP TABLE centers (place BIGINT, center VARCHAR)")
    tags = "w.tags" if centers is not None and centers.with_tags else "NULL::VARCHAR"
    connection.execute(query(__file__, "placed", tags=tags))
    if centers is None:
        return
    found = connection.execute("""SELECT place, any_value(of_pipeline), any_value(of_user), any_value(of_folder),
        any_value(of_account), any_value(of_tags) FROM placed GROUP BY place""").fetchall()
    insert(connection, "centers", ((place, centers.center_of({
        "pipeline": pipeline, "user": user, "folder": folder, "account": account,
        "tags": json.loads(tags) if tags else {}})) for place, pipeline, user, folder, account, tags in found))


def rows_of(connection: Any, by: Sequence[str], basis: str, price_date: str | None, centers: Centers | None,
            scale: int) -> list[dict[str, Any]]:
    """A field that is not asked for is None, and so is a term that nothing is known of."""
    _centers_table(connection, centers)
    columns = {name: f"of_{name}" for name in BY[:7]} | {
        "cost_center": f"coalesce(center, '{NONE}')" if centers is not None else "NULL", "kind": "kind"}
    chosen = ", ".join(f"{columns[name]} AS {name}" for name in by) + ", " if by else ""
    sums = ", ".join(f"coalesce(sum(amount) FILTER (term = '{term}'), 0) AS {term}" for term in TERMS)
    groups = ", ".join(str(place + 1) for place in range(len(by) + 1))
    found = table_of(connection, query(__file__, "rows", columns=chosen, terms=sums, groups=groups))
    rows = []
    for each in found:
        row: dict[str, Any] = {name: each.get(name) for name in BY}
        is_estimate = each["state"] == "estimate"
        for name in (*TERMS, "billed", "hidden_attempts", "lost_attempts"):
            unknown = is_estimate and name != "allocated"
            row[name] = None if unknown else decimal_text(each[name], scale)
        row["staging"] = amount_of(int(each["staging"] or 0), 12)
        row["currency"] = "USD" if is_estimate else each["currency"]
        row["basis"] = "list price" if is_estimate else basis
        row["price_date"] = price_date if is_estimate else None
        row["state"] = each["state"]
        rows.append({name: row[name] for name in FIELDS})
    return rows


def to_csv(rows: Sequence[dict[str, Any]]) -> str:
    return csv_of(FIELDS, rows)


_TITLES = {"unused_commitment": "unused commitment", "not_attributable": "not attributable", "staging": "of it staging",
           "hidden_attempts": "hidden attempts", "lost_attempts": "lost attempts"}


def _places(rows: Sequence[dict[str, Any]]) -> int:
    """Cents; more where all together is less than a unit."""
    most = sum(abs(Decimal(row["billed"] or row["allocated"] or 0)) for row in rows)
    return 2 if most >= 1 or not most else 4 if most >= Decimal("0.01") else 6


def table_for_people(rows: Sequence[dict[str, Any]], by: Sequence[str], most: int, runs: Mapping[str, str],
                     longest: int | None = None) -> tuple[list[list[str]], range, int]:
    """A header and rows: rounded, the largest rows, and what the rest is together; which columns are numbers, and how many rows
    are sums. Columns of zeros are left out; `longest` is that of a name."""
    places = _places(rows)
    figures = [name for name in ("allocated", *PARTS, *TERMS[1:], "billed")
               if name in ("allocated", "billed") or any(row[name] is not None and Decimal(row[name]) for row in rows)]
    shown = list(rows[:most])
    lines = [[*(name.replace("_", " ") for name in by), *(_TITLES.get(name, name) for name in figures), "currency", "state"]]

    def line(names: list[str], values: Sequence[dict[str, Any]], currency: str, state: str) -> list[str]:
        cells = []
        for name in figures:
            known = [Decimal(row[name]) for row in values if row[name] is not None]
            cells.append(f"{sum(known, Decimal(0)):,.{places}f}" if known else "")
        return [*names, *cells, visible(currency), state]

    for row in shown:
        lines.append(line([ending(runs.get(row[name], row[name]) if name == "run" else str(row[name]), longest) if row[name] is not None else "-" for name in by], [row],
                          row["currency"] or "?", row["state"]))
    detailed = len(lines)
    for currency, state in sorted({(row["currency"] or "?", row["state"]) for row in rows}):
        values = [row for row in rows if (row["currency"] or "?", row["state"]) == (currency, state)]
        rest = [row for row in rows[most:] if (row["currency"] or "?", row["state"]) == (currency, state)]
        if rest and by:
            lines.append(line([f"({len(rest)} more)", *[""] * (len(by) - 1)], rest, currency, state))
        if by:
            lines.append(line(["total", *[""] * (len(by) - 1)], values, currency, state))
    return lines, range(len(by), len(by) + len(figures)), len(lines) - detailed


def text_of(rows: Sequence[dict[str, Any]], by: Sequence[str], most: int, runs: Mapping[str, str]) -> str:
    lines, numbers, _ = table_for_people(rows, by, most, runs, 48)
    return "\n".join(aligned(lines, numbers))
