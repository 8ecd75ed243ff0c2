# SPDX-License-Identifier: Apache-2.0
"""Sums attempts to steps: what each requested, used, was bound by, and what is advised for the next run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from .._data import insert, query, table_of
from .._format import counted
from ..cost.shared import CPU_GIB
from . import _inputs, _memory
from ._observe import LEDGER

__all__ = ["BOUND_BY", "BOUND_TEXTS", "FIELDS", "GIB", "bound_text", "evidence_of", "finished", "key_of", "other_inputs", "rounded", "steps_of"]

GIB = 1 << 30
# Causes of a task ledger by what a row is bound by: docs/findings.md.
BOUND_BY = {"compute": ("computing",), "oversubscribed": ("queued",), "cpu_limit": ("throttled",), "memory": ("memory",),
            "disk": ("disk",), "network": ("network",), "pipe": ("pipe", "local_socket"), "lock": ("lock",),
            "idle": ("sleep", "poll", "stopped")}
BOUND_TEXTS = {"compute": "computed", "oversubscribed": "waited for a CPU", "cpu_limit": "held back by a CPU limit",
               "memory": "waited for memory", "disk": "waited for a disk", "network": "waited for the network", "pipe": "waited for a pipe",
               "lock": "waited for a lock", "idle": "slept"}
"""What a task mostly did, for people."""
_BOUND_SHARE = 0.5
_UNCLEAR_SHARE = 0.05  # Bounds of computing time that are closer say the same.
_MEMORY_STEP = 100 << 20
_TIME_FACTOR = 3
_LEAST_TIME_S = 600
# A helper that runs for a moment beside a tool needs no CPU of its own.
_CPU_TOLERANCE = 0.15
_SHOWN = 20
# First attempts of one run whose requests lie further apart have requests of their own, such as by the size of their input.
_AGREE = 1.01
_REQUESTS = ("cpus", "memory_gib", "requested_us")

FIELDS = ("pipeline", "step", "tool", "attempts", "tasks", "out_of_memory", "failed", "cached", "retried", "runs", "bound_by", "bound_share",
          "cpus_requested", "cpus_used", "cpus_wanted", "memory_requested_bytes", "memory_median_bytes", "memory_peak_bytes",
          "memory_needed_at_least_bytes", "memory_is_upper_bound", "time_requested_s", "time_median_s", "time_most_s",
          "cpu_hours_requested", "cpu_hours_used", "memory_gib_hours_requested", "memory_gib_hours_used",
          "advised_memory_bytes", "advised_cpus", "advised_time_s", "memory_rule", "memory_per_input", "failure_rate",
          "cpu_hours_saved", "memory_gib_hours_saved", "money", "money_wasted", "money_saved", "currency", "price_date",
          "reasons")


def key_of(row: Mapping[str, Any]) -> tuple[str, str]:
    return row["pipeline"] or "", row["step"] or ""


def steps_of(connection: Any, by: str, failures: float | None, history: Mapping[tuple[str, str], float]) -> list[dict[str, Any]]:
    """Those with most memory and CPUs reserved for nothing first, as AWS weighs them: a CPU is worth 9 GiB."""
    ok = "outcome = 'succeeded'"
    ledger = ", ".join(f"sum({name}_ns) FILTER ({ok}) AS {name}_ns" for name in LEDGER)
    step = "coalesce(o.tool, o.step)" if by == "tool" else "o.step"
    connection.execute(f"""CREATE TEMP TABLE names AS SELECT row_number() OVER (ORDER BY pipeline, step) AS kind, * FROM (
        SELECT DISTINCT pipeline, {step} AS step FROM observed AS o)""")
    # No copy of so many columns: the join by few names takes less.
    connection.execute(f"""CREATE VIEW kinds AS SELECT o.* REPLACE ({step} AS step), n.kind FROM observed AS o JOIN names AS n
        ON n.pipeline IS NOT DISTINCT FROM o.pipeline AND n.step IS NOT DISTINCT FROM {step}""")
    found = table_of(connection, query(__file__, "kinds", ok=ok, ledger=ledger, tail=_memory.LARGEST, hours="life_us / 3.6e9"))
    cached = dict(connection.execute("SELECT kind, count(*) FROM kinds WHERE outcome = 'cached' GROUP BY kind").fetchall())
    lines = _inputs.lines_of(connection, [row["kind"] for row in found if row["with_input"] >= _inputs.ENOUGH])
    least = _least_requests(connection)
    rows = [_row(row | {"cached": cached.get(row["kind"], 0), "least": least.get(row["kind"], {})}, failures, history, lines.get(row["kind"])) for row in found]
    _savings(connection, rows)
    return rows


def _least_requests(connection: Any) -> dict[int, dict[str, float]]:
    """Of each kind: the smallest request where those of a run differ."""
    columns = ", ".join(f"min(least_{name}) FILTER (most_{name} > {_AGREE} * least_{name}) AS {name}" for name in _REQUESTS)
    ends = ", ".join(f"min({name}) AS least_{name}, max({name}) AS most_{name}" for name in _REQUESTS)
    found = table_of(connection, f"""SELECT kind, {columns} FROM (SELECT kind, run, {ends} FROM kinds
        WHERE attempt <= 1 AND outcome = 'succeeded' GROUP BY kind, run) GROUP BY kind""")
    return {row["kind"]: {name: row[name] for name in _REQUESTS if row[name] is not None} for row in found}


def _row(found: Mapping[str, Any], failures: float | None, history: Mapping[tuple[str, str], float],
         line: _inputs.Line | None) -> dict[str, Any]:
    row: dict[str, Any] = dict.fromkeys(FIELDS)
    row |= {name: found[name] for name in ("kind", "pipeline", "step", "tool", "attempts", "tasks", "out_of_memory", "failed",
                                           "cached", "cpus_requested", "cpus_used", "cpus_wanted", "cpu_hours_requested",
                                           "cpu_hours_used", "time_requested_s", "time_median_s", "time_most_s")}
    row["retried"], row["runs"] = found["most_attempts"] > 1, found["runs"]
    evidence = _memory.Evidence(found["with_peak"], [each * GIB for each in found["largest"] or ()],
                                max(found["at_least"] or 0, found["bound_from_below"] or 0) * GIB,
                                [each * GIB for each in found["lower_bounds"] or ()])
    requested = None if found["memory_requested"] is None else found["memory_requested"] * GIB
    row["memory_requested_bytes"] = _whole(requested)
    row["memory_median_bytes"] = _whole(found["memory_median"], GIB)
    row["memory_peak_bytes"] = _whole(evidence.largest[0]) if evidence.largest else None
    needed = round(max(found["needed"] or 0, found["bound_from_below"] or 0) * GIB)
    row["memory_needed_at_least_bytes"] = needed if needed > (row["memory_peak_bytes"] or 0) else None
    row["memory_is_upper_bound"] = bool(found["bounds"])
    row["memory_gib_hours_requested"], row["memory_gib_hours_used"] = found["memory_hours_requested"], found["memory_hours_used"]
    row["bound_by"], row["bound_share"] = _bound(found)
    reasons = row["reasons"] = []
    if found["tasks"] < _memory.ENOUGH:
        row["memory_rule"] = "keep"
        known = any(found[name] is not None for name in ("cpus_requested", "memory_requested", "time_requested_s"))
        reasons.append(f"not enough evidence (n = {found['tasks']})" + ": the request is kept" * known)
        _raise_after_oom(row, evidence, requested)
    else:
        _size_memory(row, found, evidence, requested, failures, line)
        _size_cpus(row, found)
        _size_time(row, found, history)
    _keep_different(row, found["least"])
    return row


def _keep_different(row: dict[str, Any], least: Mapping[str, float]) -> None:
    """One request for all, where each task has one of its own, is advised only if it is smaller than all of theirs."""
    for name, request, advice, unit in (("CPUs", "cpus", "advised_cpus", 1), ("memory", "memory_gib", "advised_memory_bytes", GIB),
                                        ("time", "requested_us", "advised_time_s", 1e-6)):
        if request in least and row[advice] is not None and row[advice] > least[request] * unit:
            row[advice] = None
            row["reasons"].append(f"its tasks request different amounts of {name}: each keeps its own")
            if name == "memory":
                row["memory_rule"], row["memory_per_input"], row["failure_rate"] = "keep", None, None


def other_inputs(rate: float | None) -> str:
    """What a rate leaves out: runs with other inputs differ more than tasks, and by how much no run says."""
    return f", up to {100 * _memory.OTHER_INPUTS:.0f} with other inputs" if rate is not None and rate < _memory.OTHER_INPUTS else ""


def _whole(value: float | None, unit: int = 1) -> int | None:
    return None if value is None else round(value * unit)


def _bound(found: Mapping[str, Any]) -> tuple[str | None, float | None]:
    wall = found["wall_ns"]
    if not wall:
        return None, None
    shares = {name: sum(found[f"{cause}_ns"] or 0 for cause in causes) / wall for name, causes in (BOUND_BY | {"other": ("other",)}).items()}
    unclear = max((found["computing_at_most_ns"] or 0) - (found["computing_ns"] or 0), 0) / wall
    if unclear >= _UNCLEAR_SHARE:
        shares |= {name: max(share - unclear, 0) for name, share in shares.items() if name != "compute"}
    name = max(shares, key=lambda each: shares[each])
    if shares[name] < _BOUND_SHARE or name == "other":
        return "mixed", None
    return name, shares[name]


def bound_text(row: Mapping[str, Any], unknown: str) -> str:
    """What its tasks mostly did."""
    cause = row["bound_by"] or unknown
    return BOUND_TEXTS.get(cause, cause) + (f": {100 * row['bound_share']:.0f} %" if row["bound_share"] is not None else "")


def rounded(size: float) -> int:
    return math.ceil(size / _MEMORY_STEP) * _MEMORY_STEP


def _raise_after_oom(row: dict[str, Any], evidence: _memory.Evidence, requested: float | None) -> None:
    """What ran out of memory is never advised as little again, however few were seen."""
    if row["out_of_memory"] and (requested is None or evidence.base > requested):
        row["advised_memory_bytes"] = rounded(evidence.base)
        row["memory_rule"] = "out of memory"
        row["reasons"].append(f"{counted(row['out_of_memory'], 'attempt')} ran out of memory: the request is raised")


def _size_memory(row: dict[str, Any], found: Mapping[str, Any], evidence: _memory.Evidence, requested: float | None, failures: float | None,
                 line: _inputs.Line | None) -> None:
    reasons = row["reasons"]
    if found["lost_unknown"]:
        row["memory_rule"] = "keep"
        reasons.append(f"{counted(found['lost_unknown'], 'attempt was', 'attempts were')} killed, neither peak nor limit known: the request is kept")
        return
    if evidence.count < _memory.ENOUGH:
        row["memory_rule"] = "keep"
        reasons.append(f"the peak of memory is known of {counted(evidence.count, 'task')} only: the request is kept")
        _raise_after_oom(row, evidence, requested)
        return
    sized = _memory.allocation(evidence, requested, failures)
    assert sized is not None
    advised = rounded(sized)
    if requested is not None and advised >= requested and evidence.base <= requested:
        # It has been enough, and nothing smaller is as safe.
        row["memory_rule"], advised = "keep", round(requested)
        lost = []
        if found["lost_at_limit"] > found["killed"]:
            lost.append(f"{counted(found['lost_at_limit'] - found['killed'], 'attempt')} failed at the limit of memory")
        if found["killed"]:
            lost.append(f"{counted(found['killed'], 'attempt was', 'attempts were')} killed, peak not known")
        reasons.append(f"{', '.join(lost)}: the request is kept" if lost and evidence.at_least > (row["memory_peak_bytes"] or 0) else "its memory is right")
    else:
        row["memory_rule"], row["advised_memory_bytes"] = "constant", advised
        if requested is not None and advised > requested:
            reasons.append(f"an attempt with {evidence.at_least / GIB:.1f} GiB was killed, peak not known" if round(evidence.at_least) > max(
                row["memory_needed_at_least_bytes"] or 0, row["memory_peak_bytes"] or 0) else "it needs more memory than it requests")
    row["failure_rate"] = _memory.failures_of(evidence, advised)
    if failures is not None and row["failure_rate"] > failures:
        enough = math.ceil(1 / failures) - 1
        why = "attempts that failed may need more" if evidence.count >= enough else \
            f"{counted(evidence.count, 'task')} can't support a failure rate of {failures:.2%}, which takes {enough}"
        reasons.append(f"{why}: expect {row['failure_rate']:.2%}")
    if row["memory_is_upper_bound"]:
        reasons.append("some peaks are upper bounds: the true ones may be lower")
    # A line through those that succeeded knows nothing of those that did not.
    if line is not None and row["memory_rule"] == "constant" and evidence.at_least <= (row["memory_peak_bytes"] or 0):
        row["memory_rule"], row["memory_per_input"] = "input", line.to_json()
        reasons.append(f"by the size of its input it wastes {1 - line.wasted / line.wasted_by_constant:.0%} less than by a constant: "
                       f"tested on {counted(line.judged, 'task')}, each sized from those before it")


def _size_cpus(row: dict[str, Any], found: Mapping[str, Any]) -> None:
    requested, reasons = row["cpus_requested"], row["reasons"]
    if found["with_wanted"] < _memory.ENOUGH:
        if requested is not None and row["cpus_used"] is not None and row["cpus_used"] < requested / 2:
            reasons.append("its CPUs are kept: an average does not say how many it wants at once, a recording does")
        return
    wanted = max(math.ceil(row["cpus_wanted"] - _CPU_TOLERANCE), 1)
    if requested is None or wanted < requested:
        row["advised_cpus"] = wanted
    elif row["bound_by"] in ("oversubscribed", "cpu_limit") and wanted > requested:
        reasons.append(f"its threads want {row['cpus_wanted']:.1f} CPUs at once: request more, or tell it to use fewer")


def _size_time(row: dict[str, Any], found: Mapping[str, Any], history: Mapping[tuple[str, str], float]) -> None:
    most = found["time_most_s"]
    if most is None:
        return
    known = history.get(key_of(row), history.get(("", row["step"] or "")))
    if known is not None and known > most:
        most = known
        row["reasons"].append("its time is that of the history, which knows longer tasks")
    if found["out_of_time"]:
        most = max(most, found["time_at_least_s"])
        row["reasons"].append(f"{counted(found['out_of_time'], 'attempt')} ended when time was up: the advice rests on that limit")
    seconds = max(most * _TIME_FACTOR, _LEAST_TIME_S)
    unit = 60 if seconds < 7200 else 3600
    seconds = math.ceil(seconds / unit) * unit
    if row["time_requested_s"] is None or seconds < row["time_requested_s"]:
        row["advised_time_s"] = seconds


def _savings(connection: Any, rows: list[dict[str, Any]]) -> None:
    """If the next run were this one: of each attempt, what was reserved minus what is advised, while it ran. Only a file of
    Snakemake has a line by input: its memory is apart."""
    connection.execute("CREATE TABLE advice (kind BIGINT, advised_gib DOUBLE, advised_cpus DOUBLE, slope DOUBLE, constant DOUBLE)")
    insert(connection, "advice", ((row["kind"], row["advised_memory_bytes"] / GIB if row["advised_memory_bytes"] else None,
                                   row["advised_cpus"]) + _inputs.numbers_of(row["memory_per_input"]) for row in rows))
    connection.execute(query(__file__, "advised", least_bytes=_memory.LEAST_BYTES))
    saved = {kind: each for kind, *each in connection.execute("""SELECT kind, sum((cpus - new_cpus) * hours),
        sum((memory_gib - new_gib) * hours), sum((memory_gib - line_gib) * hours) FROM advised GROUP BY kind""").fetchall()}
    for row in rows:
        row["cpu_hours_saved"], row["memory_gib_hours_saved"], by_line = saved.get(row["kind"], (None, None, None))
        if row["memory_per_input"]:
            row["memory_per_input"]["memory_gib_hours_saved"] = by_line


def evidence_of(connection: Any) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """The newest attempts of each row."""
    found = table_of(connection, query(__file__, "evidence", shown=_SHOWN))
    sorted_out: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for each in found:
        sorted_out.setdefault(key_of(each), []).append({name: each[name] for name in each if name not in ("pipeline", "step")})
    return sorted_out


def finished(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The most to save first, by money, else by what AWS weighs."""
    def weight(row: Mapping[str, Any]) -> tuple[float, float, str, str]:
        unused = CPU_GIB * (row["cpu_hours_saved"] or 0) + (row["memory_gib_hours_saved"] or 0)
        return -float(row["money_saved"] or 0), -unused, *key_of(row)

    return [{name: row[name] for name in FIELDS} for row in sorted(rows, key=weight)]
