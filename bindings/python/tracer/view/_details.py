# SPDX-License-Identifier: Apache-2.0
"""What a panel says of a row, or of what was found: texts, one a line."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

from .. import _core
from ._model import Row, View, has_begun
from ._texts import Signs, clean, figure_text

__all__ = ["finding_lines", "lines_about_findings", "lines_about_row"]

_FIGURES = (("CPU time", "cpu_ns"), ("CPU/wall", "cpu_utilization"), ("CPUs at once", "parallelism"), ("memory", "memory_bytes"),
            ("read", "read_bytes"), ("written", "written_bytes"), ("received", "network_received_bytes"),
            ("sent", "network_sent_bytes"))
_MOST_LISTED = 20
_MOST_OTHERS = 5


def evidence_text(evidence: Mapping[str, Any]) -> str:
    """"limit 8.0 GiB"."""
    name, unit = evidence["name"], evidence.get("unit", "")
    for each in ("_bytes", "_ns"):
        name = name.removesuffix(each)
    value = evidence.get("text", evidence.get("value", ""))
    if "value" in evidence:
        value = {"ns": _core.format_duration, "bytes": _core.format_bytes}.get(unit, str)(evidence["value"])
        value += {"percent": " %", "bytes/s": " bytes/s"}.get(unit, "")
    return f"{name.replace('_', ' ')} {value}"


def finding_lines(finding: Row, wall_offset_ns: int | None, signs: Signs) -> list[str]:
    """Its sentence; when, and how sure; on what it rests; what to try."""
    when = ""
    if wall_offset_ns is not None:
        when = time.strftime(" %H:%M:%S", time.localtime((finding["first_ns"] + wall_offset_ns) / 1e9))
    state = ", still so" if finding["state"] == "open" else ""
    lines = [f"{finding['severity']}{when}: {clean(finding['text'], signs)}",
             f"    {finding['code']}, confidence {finding['confidence']}{state}"]
    if evidence := ", ".join(clean(evidence_text(each), signs) for each in finding.get("evidence", ())):
        lines.append(f"    {evidence}")
    if finding.get("advice"):
        lines.append(f"    try: {clean(finding['advice'], signs)}")
    return lines


def lines_about_findings(findings: Iterable[Row], wall_offset_ns: int | None, signs: Signs) -> list[str]:
    return [line for each in findings for line in finding_lines(each, wall_offset_ns, signs)]


def _about(level: str, row: Row, view: View) -> list[Row]:
    """What was found of it, and inside of it."""
    index = view.index
    if level == "run":
        return [each for each in index.findings if each.get("run_key") == row.get("run_key")]
    if level == "step":
        return [each for each in index.findings if each.get("run_key") == row.get("run_key") and each.get("step") == row.get("step")]
    return [each for each in index.findings if "task_key" in each and each["task_key"] == row.get("task_key")]


def _how_it_went(level: str, row: Row, view: View, signs: Signs) -> list[str]:
    status = view.index.status.get(row["id"], "")
    parts = [f"status {status}"] if status else []
    if "outcome" in row:
        parts.append(f"{row['outcome']} by its engine")
    if "queued_ns" in row:
        parts.append(f"queued for {_core.format_duration(row['queued_ns'])}")
    elif status == "queued" and "submitted_ns" in row:
        parts.append(f"queued for {_core.format_duration(max(view.now_ns() - row['submitted_ns'], 0))} by now")
    if has_begun(row):
        parts.append(f"elapsed {figure_text(row, 'wall_ns', signs)}")
        parts.append(f"processes {figure_text(row, 'processes', signs)}, of which {figure_text(row, 'living', signs)} live")
    if row.get("failed") or row.get("failed_at_least"):
        parts.append(f"failed {figure_text(row, 'failed', signs)}")
    return [", ".join(parts)] if parts else []


def lines_about_row(level: str, row: Row, view: View, paths: Mapping[str, Row], wall_offset_ns: int | None,
                    signs: Signs) -> list[str]:
    """Where its time went, what was found of it, what it used, and who lives in it."""
    if level == "folded":
        return []
    if level == "process":
        return [clean(" ".join(row.get("argv", ())) or row.get("exe", "?"), signs),
                *(f"{head}: {figure_text(row, name, signs)}" for head, name in _FIGURES
                  if any(each.startswith(name) for each in row))]
    lines = _how_it_went(level, row, view, signs)
    if row.get("time"):
        lines += ["", "where time went"]
        lines += [f"    {each['cause']:<14}{_core.format_share(each['share']):>6}  {_core.format_duration(each['time_ns'])}"
                  for each in row["time"]]
    for each in row.get("waits_for", ()):
        lines.append(f"    waited {_core.format_duration(each['wait_ns'])} for {clean(each.get('name', '?'), signs)}: {each['cause']}")
    if found := _about(level, row, view):
        lines += ["", "what was found", *(f"    {line}" for line in lines_about_findings(found, wall_offset_ns, signs))]
    why = view.detail.get("why", {}) if view.key in (row.get("task_key"), row.get("run_key")) else {}
    if level == "run" and (path := why.get("critical_path") or paths.get(row.get("run_key", ""))):
        lines += ["", f"critical path, by {path['basis']}: from {_core.format_duration(path['length_ns_at_least'])} to "
                  f"{_core.format_duration(path['length_ns_at_most'])}"]
        for task in path["tasks"]:
            lasted = task.get("end_ns", task.get("last_ns", 0)) - task["begin_ns"]
            lines.append(f"    {clean(task['name'], signs)} {_core.format_duration(max(lasted, 0))}")
    if has_begun(row):
        lines += ["", *(f"{head:<14}{figure_text(row, name, signs)}" for head, name in _FIGURES
                        if any(each.startswith(name) for each in row))]
    for title, name in (("ran at the same time", "neighbors"), ("largest processes", "largest"), ("failed processes", "failures")):
        others = why.get(name, [])[:_MOST_OTHERS]
        if others:
            lines += ["", title]
        for each in others:
            text = clean(str(each.get("name") or each.get("tool") or "?"), signs)
            text += f", pid {each['pid']}" if "pid" in each else ""
            used = f"together {_core.format_duration(each['together_ns'])}" if "together_ns" in each else \
                f"CPU {figure_text(each, 'cpu_ns', signs)}"
            lines.append(f"    {text}  {used}")
    return lines + _lines_of_detail(row, view, signs)


def _lines_of_detail(row: Row, view: View, signs: Signs) -> list[str]:
    """The processes, files and peers, where the source was asked for them."""
    if view.key is None or view.key not in (row.get("task_key"), row.get("run_key")):
        return []
    lines: list[str] = []
    for title, name in (("processes that live", "processes"), ("files", "files"), ("peers", "peers")):
        rows = view.detail.get(name, [])
        if rows:
            lines += ["", title]
        for each in rows[:_MOST_LISTED]:
            if name == "processes":
                text = f"{each['pid']}  {' '.join(each.get('argv', ())) or each.get('tool', '?')}"
            elif name == "files":
                text = (f"{each['path']}  read {figure_text(each, 'read_bytes', signs)}, "
                        f"written {figure_text(each, 'written_bytes', signs)}")
            else:
                text = (f"{each['tool']}  {each.get('address', '?')}:{each.get('port', '?')}  received "
                        f"{_core.format_bytes(each['received_bytes'])}, sent {_core.format_bytes(each['sent_bytes'])}")
            lines.append(f"    {clean(text, signs)}")
        if len(rows) > _MOST_LISTED:
            lines.append(f"    {len(rows) - _MOST_LISTED} more")
    return lines
