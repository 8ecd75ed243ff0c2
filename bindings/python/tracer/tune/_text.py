# SPDX-License-Identifier: Apache-2.0
"""Shows what is advised: a table, its evidence, the waste in one line."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .._csv import csv_of
from .._errors import InvalidArgumentError
from .._format import aligned, counted, ending, visible
from ._memory import ENOUGH, OTHER_INPUTS
from ._steps import FIELDS, GIB, bound_text, other_inputs

if TYPE_CHECKING:
    from . import Tune

__all__ = ["duration", "html_of", "size", "text_of", "to_csv", "waste_of", "waste_text", "why_of"]


def size(value: float | None) -> str:
    if value is None:
        return "?"
    gib = value / GIB
    return f"{gib:.1f} GiB" if gib >= 0.95 else f"{value / (1 << 20):.0f} MiB"


def duration(seconds: float | None) -> str:
    if seconds is None:
        return "?"
    if seconds >= 7200:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 60:.0f} min" if seconds >= 120 else f"{seconds:.1f} s"


def _number(value: float | None) -> str:
    return "?" if value is None else f"{value:.1f}".removesuffix(".0")


def to_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    def flat(row: Mapping[str, Any]) -> dict[str, Any]:
        line = row["memory_per_input"]
        return {**row, "reasons": "; ".join(row["reasons"]), "memory_per_input": line and line["per_input_byte"]}

    return csv_of(FIELDS, map(flat, rows))


def waste_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    sums: dict[str, Any] = {}
    for name in ("cpu_hours_requested", "cpu_hours_used", "cpu_hours_saved", "memory_gib_hours_requested",
                 "memory_gib_hours_used", "memory_gib_hours_saved", "money", "money_wasted", "money_saved"):
        known = [float(row[name]) for row in rows if row[name] is not None]
        sums[name] = None if not known else f"{sum(known):.6f}" if name.startswith("money") else sum(known)
    return sums | {"currency": next((row["currency"] for row in rows if row["currency"]), None),
                   "price_date": min((row["price_date"] for row in rows if row["price_date"]), default=None)}


def waste_text(sums: Mapping[str, Any]) -> str:
    """One line; empty: nothing of what was requested is known."""
    parts = []
    for title, name, unit in (("CPUs", "cpu_hours", "CPU hours"), ("memory", "memory_gib_hours", "GiB hours")):
        requested, used = sums[f"{name}_requested"], sums[f"{name}_used"]
        if requested and used is not None:
            parts.append(f"{title}: {requested:,.2f} {unit} reserved, {used / requested:.0%} used")
    if not parts:
        return ""
    if sums["money"] is not None and sums["money_wasted"] is not None:
        parts.append(f"about {float(sums['money_wasted']):,.2f} of {float(sums['money']):,.2f} {sums['currency']} for nothing, "
                     f"estimated from list prices of {sums['price_date']}")
    return "; ".join(parts)


def _advice(row: Mapping[str, Any]) -> str:
    parts = []
    if row["advised_memory_bytes"] is not None:
        line = row["memory_per_input"]
        parts.append(size(row["advised_memory_bytes"]) + (" or by input" if line else ""))
    if row["advised_cpus"] is not None:
        parts.append(counted(row["advised_cpus"], "CPU"))
    if row["advised_time_s"] is not None:
        parts.append(duration(row["advised_time_s"]))
    return ", ".join(parts) or (f"keep: n = {row['tasks']}" if row["tasks"] < ENOUGH
                                else "keep")


def _saves(row: Mapping[str, Any], money: bool) -> str:
    if money:
        return f"{float(row['money_saved']):,.2f}" if row["money_saved"] is not None else "-"
    saved = row["memory_gib_hours_saved"]
    return "-" if not saved else f"{saved:,.2f}"


def table_of(result: Tune, most: int, longest: int | None = None) -> tuple[list[list[str]], set[int]]:
    """A header and rows, and which columns are numbers. `longest` is that of a name."""
    money = any(row["money_saved"] is not None for row in result.rows)
    several = len({row["pipeline"] for row in result.rows}) > 1
    lines = [[*(["pipeline"] if several else []), result.by, "n", "mostly", "CPUs ask → use", "memory ask → peak", "time ask → most",
              "advice", "fails/100", "saves " + ("USD" if money else "GiB h")]]
    for row in result.rows[:most]:
        peak = ("≤ " if row["memory_is_upper_bound"] else "") + size(row["memory_peak_bytes"])
        if row["memory_needed_at_least_bytes"] is not None:
            peak = "≥ " + size(row["memory_needed_at_least_bytes"])
        lines.append([*([visible(row["pipeline"] or "-", longest and 32)] if several else []), ending(row["step"] or "-", longest), str(row["tasks"]),
                      bound_text(row, "-"),
                      f"{_number(row['cpus_requested'])} → {_number(row['cpus_used'])}",
                      f"{size(row['memory_requested_bytes'])} → {peak}",
                      f"{duration(row['time_requested_s'])} → {duration(row['time_most_s'])}", _advice(row),
                      "-" if row["failure_rate"] is None else f"≤ {100 * row['failure_rate']:.1f}", _saves(row, money)])
    last = len(lines[0]) - 1
    return lines, {1 + several, last - 1, last}


def text_of(result: Tune, most: int) -> str:
    lines, right = table_of(result, most, 40)
    parts = aligned(lines, right)
    if len(result.rows) > most:
        parts.append(f"({len(result.rows) - most} more)")
    return "\n".join([*parts, "", *_facts(result), *(f"note: {visible(note)}" for note in result.notes[:6])]).rstrip("\n")


def html_of(result: Tune, title: str, most: int) -> str:
    from .._table_page import facts_html, list_html, page_of, table_html

    (header, *lines), numbers = table_of(result, most)
    reasons = [[(f"{row['pipeline']}: " if row["pipeline"] else "") + (row["step"] or "-"), *row["reasons"]]
               for row in result.rows[:most] if row["reasons"]]
    if len(result.rows) > most:
        lines.append([f"({len(result.rows) - most} more)", *[""] * (len(header) - 1)])
    return page_of(title, [("", facts_html(_facts(result))), ("", table_html(header, lines, numbers)),
                           ("Why", list_html(reasons) if reasons else ""),
                           ("Notes", list_html([[note] for note in result.notes]) if result.notes else "")])


def _facts(result: Tune) -> list[str]:
    parts = []
    if waste := waste_text(result.waste()):
        parts.append(waste)
    few = sum(row["tasks"] < ENOUGH and row["advised_memory_bytes"] is None for row in result.rows)
    if few:
        parts.append(f"{counted(few, f'{result.by} has', f'{result.by}s have')} fewer than {ENOUGH} tasks: too few to advise on")
    if any(row["failure_rate"] is not None for row in result.rows):
        parts.append(f"fails/100: first attempts that need more memory, of tasks like these; with other inputs, {100 * OTHER_INPUTS:.0f} of 100 "
                     "did. Let them be retried with more")
    return parts


def why_of(result: Tune, step: str) -> str:
    found = [row for row in result.rows if row["step"] == step] or [
        row for row in result.rows if (row["step"] or "").split(":")[-1] == step]
    if not found:
        # The last part of a name is enough, and may be nearly right.
        lasts = list(dict.fromkeys((row["step"] or "-").split(":")[-1] for row in result.rows))
        near = [last for last in lasts if step.lower() in last.lower()][:12] or difflib.get_close_matches(step, lasts, 3, 0.5)
        names = ", ".join(map(visible, near or lasts[:12]))
        raise InvalidArgumentError(f"there is no {result.by} {step!r}", f"did you mean: {names}" if near else f"some of: {names}")
    return "\n\n".join(_why(result, row) for row in found)


def _why(result: Tune, row: Mapping[str, Any]) -> str:
    title = visible(row["step"] or "-") + (f" of {visible(row['pipeline'])}" if row["pipeline"] else "")
    lines = [title, f"  attempts       {row['attempts']}: {row['tasks']} succeeded, {row['out_of_memory']} out of memory, "
             f"{row['failed']} failed otherwise"]
    if row["tool"] and row["tool"] != row["step"]:
        lines.append(f"  tool           {visible(row['tool'])}")
    if row["bound_by"]:
        lines.append(f"  mostly         {bound_text(row, '-')}")
    sign = "≤ " if row["memory_is_upper_bound"] else ""
    lines.append(f"  memory         requested {size(row['memory_requested_bytes'])}, used {size(row['memory_median_bytes'])} in the median, "
                 f"{sign}{size(row['memory_peak_bytes'])} at most")
    if row["memory_needed_at_least_bytes"] is not None:
        lines.append(f"                 needs at least {size(row['memory_needed_at_least_bytes'])}: an attempt ran out of memory, stood at "
                     "its limit, or failed holding so much")
    wanted = "" if row["cpus_wanted"] is None else f"; 95 % of the time it wants {_number(row['cpus_wanted'])} at most"
    lines.append(f"  CPUs           requested {_number(row['cpus_requested'])}, used {_number(row['cpus_used'])} on average{wanted}")
    lines.append(f"  time           requested {duration(row['time_requested_s'])}, took {duration(row['time_median_s'])} in the median, "
                 f"{duration(row['time_most_s'])} at most")
    lines.append(f"  advice         {_advice(row)}")
    if row["failure_rate"] is not None:
        lines.append(f"  failure rate   at most {100 * row['failure_rate']:.1f} of 100 first attempts need more memory (n = {row['tasks']})"
                     + other_inputs(row["failure_rate"]))
    line = row["memory_per_input"]
    if line is not None:
        lines.append(f"  by input       {size(line['constant_bytes'])} + {line['per_input_byte']:.3g} × its size, up to twice "
                     f"{size(line['most_input_bytes'])}: at most {100 * line['failure_rate']:.1f} of 100 need more")
    lines += [f"  because        {visible(reason)}" for reason in row["reasons"]]
    if row["money"] is not None:
        lines.append(f"  money          about {row['money']} {row['currency']}, {row['money_wasted'] or '?'} for nothing, "
                     f"{row['money_saved'] or '?'} saved by the advice: estimated from list prices of {row['price_date']}")
    evidence = result.evidence.get((row["pipeline"] or "", row["step"] or ""), [])
    lines.append("")
    table = [["attempt", "outcome", "memory", "CPUs", "wanted", "time", "input"]]
    for each in evidence:
        used = None if each["used_gib"] is None else each["used_gib"] * GIB
        least = each["at_least_gib"]
        needed = f", needs ≥ {size(least * GIB)}" if least is not None else ""
        table.append([visible(str(each["name"]), 40) + (f" #{each['attempt']}" if (each["attempt"] or 1) > 1 else ""), each["outcome"],
                      ("≤ " if each["is_bound"] else "") + size(used) + needed, _number(each["used_cpus"]),
                      _number(each["wanted_cpus"]), duration(each["seconds"]),
                      "-" if each["input_bytes"] is None else size(each["input_bytes"])])
    lines += ["  " + line for line in aligned(table)]
    shown = len(evidence)
    if row["attempts"] > shown:
        lines.append(f"  ({row['attempts'] - shown} more, with less memory)")
    return "\n".join(lines)
