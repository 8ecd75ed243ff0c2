# SPDX-License-Identifier: Apache-2.0
"""What the page shows, as plain values: all figures are formatted here."""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .._format import (
    UNKNOWN, bounded, bytes_text, causes_text, duration_text, figure_text, memory_text, share_text, utilization_text,
    visible,
)

if TYPE_CHECKING:
    from .._report import Figure, Report, ReportNode, ReportRow, Series, TimeShare

__all__ = ["data_of"]

_CAUSES = ("CPU", "run queue", "CPU limit", "disk", "pipe", "network", "lock", "child", "sleep", "events", "memory",
           "stopped", "other", "local socket")
_MOST_NAME = 200
_MOST_BELOW = 2000
_MOST_ROWS = 20000

Row = tuple[int, str, "ReportRow"]  # depth, level, figures


class _Column:
    """Texts, each different one once; `sort` has what they are ordered by."""

    def __init__(self, title: str, kind: str, width: str, searched: bool = False, marks: bool = False) -> None:
        self.made: dict[str, Any] = {"title": title, "kind": kind, "width": width, "searched": searched, "marks": marks,
                                     "words": [], "at": []}
        if kind == "number":
            self.made["sort"] = []
        if kind == "where":
            self.made["parts"] = []
        self._known: dict[str, int] = {}

    def add(self, text: str, sort: float | None = None, parts: list[int] | None = None) -> None:
        at = self._known.setdefault(text, len(self._known))
        if at == len(self.made["words"]):
            self.made["words"].append(text)
        self.made["at"].append(at)
        if "sort" in self.made:
            self.made["sort"].append(sort)
        if "parts" in self.made:
            self.made["parts"].append(parts or [])


def _parts(time: Iterable[tuple[str, float]]) -> list[int]:
    """[cause, thousandths, cause, thousandths …]; what can't be seen is left out."""
    flat: list[int] = []
    for cause, share in time:
        thousandths = round(share * 1000)
        if thousandths > 0 and cause in _CAUSES:
            flat += [_CAUSES.index(cause), thousandths]
    return flat


def _value(figure: Figure | None) -> int | None:
    return None if figure is None else figure.value


def _table(name: str, title: str, rows: Sequence[Row], note: str, depth: bool) -> dict[str, Any]:
    name_px = _name_width(((at if depth else 0, row.name) for at, _, row in rows), 70 if depth else 24)
    requested = any(row.requested is not None for *_, row in rows)
    bounded_above = any(row.memory_at_most_bytes is not None for *_, row in rows)
    columns = {
        "name": _Column("run, step, task, tool" if depth else title[:-1], "name", f"minmax({name_px}px,1.8fr)", searched=True),
        "processes": _Column("procs", "number", "48px"),
        "wall": _Column("wall", "number", "66px"),
        "cpu": _Column("CPU", "number", "76px"),
        "utilization": _Column("CPU/wall", "number", "120px" if requested else "70px"),
        "where": _Column("where time went", "where", "minmax(270px,2fr)"),
        "memory": _Column("memory", "number", f"{96 + 54 * requested + 80 * bounded_above}px"),
        "read": _Column("read", "number", "84px"),
        "written": _Column("written", "number", "84px"),
        "failed": _Column("failed", "number", "50px", marks=True),
    }
    for _, _, row in rows:
        columns["name"].add(visible(row.name, _MOST_NAME))
        columns["processes"].add(str(row.processes) if row.processes else UNKNOWN, row.processes)
        columns["wall"].add(figure_text(row.wall_ns, duration_text), row.wall_ns)
        columns["cpu"].add(figure_text(row.cpu_ns, duration_text), _value(row.cpu_ns))
        columns["utilization"].add(utilization_text(row), row.cpu_utilization)
        columns["where"].add(causes_text(row.time), parts=_parts((each.cause, each.share) for each in row.time))
        columns["memory"].add(memory_text(row), _value(row.memory_bytes))
        columns["read"].add(figure_text(row.read_bytes, bytes_text), _value(row.read_bytes))
        columns["written"].add(figure_text(row.written_bytes, bytes_text), _value(row.written_bytes))
        failed = row.failed.value
        columns["failed"].add(bounded(row.failed.bound, str(failed)) if failed else "", failed)
    made = {"name": name, "title": title, "rows": len(rows), "width": _width(columns), "name_px": name_px, "note": note,
            "columns": [column.made for column in columns.values()], "failed": [int(row.failed.value > 0) for *_, row in rows]}
    if depth:
        made |= {"depth": [at for at, *_ in rows], "level": [level for _, level, _ in rows], "open_depth": _open_depth(rows)}
    return made


def _width(columns: Mapping[str, _Column]) -> int:
    """The least that all columns need, in pixels: with the gaps between them."""
    least = sum(int(found[1]) for found in (re.search(r"(\d+)px", column.made["width"]) for column in columns.values()) if found)
    return least + 12 * (len(columns) - 1) + 24


def _name_width(names: Iterable[tuple[int, str]], beside: int) -> int:
    """In pixels: room for most names, and no more."""
    longest = max((16 * depth + 7 * min(len(name), 60) for depth, name in names), default=0)
    return min(max(180, longest + beside), 420)


def _open_depth(rows: Sequence[Row]) -> int:
    """As deep as it fits a screen or two."""
    counts = [0] * 5
    for depth, *_ in rows:
        counts[min(depth, 4)] += 1
    deep, shown = 0, counts[0]
    while deep < 4 and shown + counts[deep + 1] <= 60:
        deep += 1
        shown += counts[deep]
    return deep


def _flat(nodes: Sequence[ReportNode], depth: int, folded: list[int]) -> Iterator[Row]:
    """From the top down; of very many below one node, those that come first and those with failures."""
    for i, node in enumerate(nodes):
        if i >= _MOST_BELOW and not node.row.failed.value and depth > 0 and len(nodes) > _MOST_ROWS:
            folded[0] += 1
            continue
        yield depth, node.level, node.row
        yield from _flat(node.below, depth + 1, folded)


def _rows(rows: Sequence[ReportRow], named: bool) -> list[Row]:
    return [(0, "", row) for row in rows[:_MOST_ROWS]] if not named else [
        (0, "", _with_name(row)) for row in rows[:_MOST_ROWS]]


def _with_name(row: ReportRow) -> ReportRow:
    """Of a task: its step and what tells it from others."""
    from dataclasses import replace

    labels = row.context
    if labels is None:
        return row
    own = labels.task or labels.sample or labels.task_id or ""
    step = labels.step or ""
    name = own if own.startswith(step) and own else f"{step} {own}".strip()
    run = " ".join(part for part in (labels.pipeline, labels.run) if part)
    if labels.attempt is not None and labels.attempt > 1:
        name += f" (attempt {labels.attempt})"
    return replace(row, name=name or run or row.name)


def _of(count: int, all_of: int, what: str) -> str:
    return "" if count >= all_of else f"The {count} of {all_of} {what} that consumed most CPU."


def _differing(tools: Sequence[str], commands: Sequence[str]) -> list[str]:
    """Of each command the words that not all of its tool have."""
    having: dict[str, Counter[str]] = {}
    processes = Counter(tools)
    for tool, command in zip(tools, commands):
        having.setdefault(tool, Counter()).update(set(command.split()))
    return [" ".join(word for word in command.split()[1:] if having[tool][word] < processes[tool])
            for tool, command in zip(tools, commands)]


def _processes(report: Report) -> dict[str, Any]:
    from .._report import Figure

    listed = report._listed
    columns = {
        "tool": _Column("tool", "name", "minmax(110px,1fr)", searched=True),
        "pid": _Column("pid", "number", "70px", searched=True),
        "differs": _Column("differs by", "text", "minmax(160px,1.6fr)", searched=True),
        "task": _Column("task", "text", "minmax(80px,1fr)", searched=True),
        "status": _Column("status", "text", "86px", searched=True, marks=True),
        "start": _Column("began", "number", "78px"),
        "wall": _Column("wall", "number", "74px"),
        "cpu": _Column("CPU", "number", "74px"),
        "where": _Column("where time went", "where", "minmax(240px,1.5fr)"),
        "memory": _Column("memory", "number", "84px"),
        "read": _Column("read", "number", "84px"),
        "written": _Column("written", "number", "84px"),
        "command": _Column("command", "text", "minmax(200px,2fr)", searched=True),
    }
    differs = _differing(listed["tool"], listed["command"])
    count = len(listed["pid"])
    for i in range(count):
        start, end = listed["start_ns"][i], listed["end_ns"][i]
        code, signal = listed["exit_code"][i], listed["exit_signal"][i]
        figures = (listed[name][i] for name in ("peak_bytes", "read_bytes", "written_bytes"))
        peak, read, written = (None if figure is None else Figure(*figure) for figure in figures)
        since = max(0, start - report.first_ns)
        wall = max(0, end - start)
        columns["tool"].add(visible(listed["tool"][i], _MOST_NAME))
        columns["pid"].add(str(listed["pid"][i]), listed["pid"][i])
        columns["differs"].add(visible(differs[i], _MOST_NAME))
        columns["task"].add(visible(listed["task"][i], _MOST_NAME))
        columns["command"].add(visible(listed["command"][i], _MOST_NAME))
        columns["status"].add("running" if listed["living"][i] else f"signal {signal}" if signal is not None else
                              UNKNOWN if code is None else f"status {code}")
        columns["start"].add(duration_text(since), since)
        columns["wall"].add(duration_text(wall), wall)
        columns["cpu"].add(figure_text(listed["cpu_ns"][i], duration_text), listed["cpu_ns"][i])
        time: list[tuple[str, int, float]] = listed["time"][i]
        words = [f"{cause} {share_text(share)}" for at, (cause, _, share) in enumerate(time[:2]) if at == 0 or share >= 0.05]
        columns["where"].add(", ".join(words), parts=_parts((cause, share) for cause, _, share in time))
        columns["memory"].add(figure_text(peak, bytes_text), _value(peak))
        columns["read"].add(figure_text(read, bytes_text), _value(read))
        columns["written"].add(figure_text(written, bytes_text), _value(written))
    for name, texts in (("task", listed["task"]), ("differs", differs)):
        if not any(texts):
            columns.pop(name)
    return {"name": "processes", "title": "processes", "rows": count, "width": _width(columns), "name_px": 110,
            "note": _of(count, report.certificate.exits_seen + len(report.survivors), "processes"),
            "columns": [column.made for column in columns.values()],
            "failed": [int(failed) for failed in listed["failed"]]}


def _is_task(row: ReportRow) -> bool:
    """Not what a run or step does outside of its tasks."""
    labels = row.context
    return labels is not None and bool(labels.task or labels.task_id or (labels.step and labels.sample))


def _tables(report: Report) -> list[dict[str, Any]]:
    tables = []
    folded = [0]
    tree = list(_flat(report.tree, 0, folded))
    if tree:
        note = f"{folded[0]} tasks are left out." if folded[0] else ""
        tables.append(_table("tree", "tree", tree, note, True))
    tasks = sorted(filter(_is_task, report.tasks), key=lambda row: -(row.wall_ns or 0))
    for name, rows in (("tools", report.tools), ("steps", report.steps), ("tasks", tasks), ("samples", report.samples)):
        if rows:
            shown = _rows(rows, name == "tasks")
            note = "" if len(shown) == len(rows) else f"The first {len(shown)} of {len(rows)}."
            tables.append(_table(name, name, shown, note, False))
    if report._listed["pid"]:
        tables.append(_processes(report))
    return tables


def _cpus_text(most: float) -> str:
    return "< 0.01 CPUs" if most < 0.01 else f"max {most:.2f} CPUs" if most < 10 else f"max {most:.0f} CPUs"


def _height(value: int, scale: int) -> int:
    """In thousandths; what is there can be seen."""
    return max(20, round(1000 * value / scale)) if value and scale else 0


def _over_time(series: Sequence[Series], part_ns: int) -> list[dict[str, Any]]:
    rows = []
    # One scale for all: what is twice as high is twice as much.
    scale_cpu = max((value for each in series for value in each.cpu_ns), default=0)
    scale_memory = max((value for each in series for value in each.memory_bytes), default=0)
    for each in series:
        most_cpu = max(each.cpu_ns, default=0)
        most_memory = max(each.memory_bytes, default=0)
        rows.append({
            "name": "all others" if each.name is None else visible(each.name, _MOST_NAME),
            "cpu": [_height(value, scale_cpu) for value in each.cpu_ns],
            "lived": [int(value > 0) for value in each.lived_ns],
            "memory": [_height(value, scale_memory) for value in each.memory_bytes],
            "cpu_text": _cpus_text(most_cpu / part_ns) if most_cpu else UNKNOWN,
            "memory_text": f"max {bytes_text(most_memory)}" if most_memory else UNKNOWN,
        })
    return rows


def _timeline(report: Report) -> dict[str, Any]:
    line = report.timeline
    length = line.part_ns * line.parts
    ticks = [[share, duration_text(round(length * share)) if share else "0"] for share in (0, 0.25, 0.5, 0.75, 1)] if length else []
    return {
        "parts": line.parts, "ticks": ticks, "tools": _over_time(line.tools, line.part_ns),
        "tasks": _over_time(line.tasks, line.part_ns),
        "note": f"All rows have one scale; the maximum of each is on the right. One bar is {duration_text(line.part_ns)}. "
                f"CPU is spread evenly between two samples of a process. Memory is sampled; processes too short to be "
                f"sampled show their own peak. Gray: running, but idle.",
    }


def _command(argv: tuple[str, ...] | None, exe: str | None) -> str:
    return visible(" ".join(argv) if argv else exe or UNKNOWN, 400)


def _sections(report: Report) -> list[dict[str, Any]]:
    notes = report._native.notes(None, True)
    parts: list[dict[str, Any]] = []
    if report.failures_seen:
        rows = [[visible(one.tool or UNKNOWN, _MOST_NAME), one.status + (", core dumped" if one.core_dumped and
                 "core" not in one.status else ""), visible(one.outcome, _MOST_NAME), str(one.pid), str(one.count),
                 _command(one.argv, one.exe)]
                for one in report.failures]
        parts.append({"name": "failures", "title": f"{report.failures_seen} failed", "rows": rows, "mono": 5,
                      "heads": ["tool", "how", "then", "pid of the first", "times", "command"]})
        shown = sum(one.count for one in report.failures)
        if report.failures_seen > shown:
            parts[-1]["text"] = f"… {report.failures_seen - shown} more"
    if report.survivors:
        rows = [[visible(one.tool or UNKNOWN, _MOST_NAME), str(one.pid), duration_text(max(0, one.time_ns - one.start_ns)),
                 figure_text(one.cpu_ns, duration_text), figure_text(one.read_bytes, bytes_text),
                 figure_text(one.written_bytes, bytes_text), _command(one.argv, one.exe)]
                for one in report.survivors[:200]]
        parts.append({"name": "survivors", "title": f"{len(report.survivors)} still running",
                      "rows": rows, "mono": 6, "heads": ["tool", "pid", "so far", "CPU", "read", "written", "command"]})
    for name, title in (("pipelines", "Pipes"), ("cgroups", "Memory of cgroups"), ("engines", "Engines")):
        if notes[name]:
            lines = [visible(line) for line in notes[name].strip("\n").split("\n")]
            parts.append({"name": name, "title": title, "text": "\n".join(lines)})
    return parts


def _certificate(report: Report) -> dict[str, Any]:
    certificate = report.certificate
    families = [f"{'not all of' if one.active else 'without'} {one.family}: {one.what}"
                + (f" [{one.code}]" if one.code else "") + (f". Fix: {one.fix}" if one.fix else "")
                for one in certificate.missing]
    lists = [
        ["Lost", [f"{cause}: {count}" for cause, count in certificate.losses.items()]],
        ["The recording", certificate.damage.lines()],
        ["What the kernel can't tell", list(certificate.cannot_tell)],
        ["Not there", families],
    ]
    text = "\n".join(visible(line) for line in certificate.text.split("\n"))
    return {"text": text, "lists": [[title, [visible(line) for line in lines]] for title, lines in lists]}


def _facts(report: Report) -> list[str]:
    host = report.host
    facts = []
    if report.first_ns:
        began = datetime.datetime.fromtimestamp(min((report.first_ns + host.wall_offset_ns) / 1e9, 2e11), datetime.UTC)
        facts.append(f"{began:%Y-%m-%d %H:%M:%S} UTC")
        facts.append(f"{duration_text(report.last_ns - report.first_ns)} traced")
    if host.host_name:
        facts.append(host.host_name)
    if host.kernel_release:
        facts.append(f"Linux {host.kernel_release} {host.architecture}".strip())
    if host.cpu_count:
        facts.append(f"{host.cpu_count} CPUs, {bytes_text(host.memory_bytes)}")
    if host.tracer_version:
        facts.append(f"libtracer {host.tracer_version}")
    return [visible(fact, _MOST_NAME) for fact in facts]


def _verdict(report: Report) -> dict[str, Any]:
    certificate = report.certificate
    seen = f"{certificate.exits_seen} of {certificate.ended} ended processes seen"
    if certificate.complete:
        return {"good": True, "word": "Complete.", "text": f"{seen}, nothing lost."}
    lost = "".join(f"; {visible(cause, 80)}: {count}" for cause, count in certificate.losses.items())
    return {"good": False, "word": "Not complete.", "text": f"{seen}{lost}."}


def data_of(report: Report) -> dict[str, Any]:
    total = report.total
    # What a process waits for a child, the child does beside.
    time: list[TimeShare] = [each for each in total.time if each.cause in _CAUSES and each.cause != "child"]
    whole = sum(each.share for each in time)
    return {
        "title": visible(report.title, _MOST_NAME),
        "facts": _facts(report),
        "verdict": _verdict(report),
        "tiles": [
            ["wall", figure_text(total.wall_ns, duration_text)],
            ["failed", bounded(total.failed.bound, str(total.failed.value))],
            ["memory", memory_text(total)],
            ["CPU", figure_text(total.cpu_ns, duration_text)],
            ["CPU / wall", utilization_text(total)],
            ["processes", str(total.processes)],
            ["read", figure_text(total.read_bytes, bytes_text)],
            ["written", figure_text(total.written_bytes, bytes_text)],
        ],
        "time": [[_CAUSES.index(each.cause), max(1, round(each.share / whole * 1000)),
                  f"{each.cause} {share_text(each.share / whole)}, {duration_text(each.time_ns)}"] for each in time],
        "tables": _tables(report),
        "timeline": _timeline(report),
        "parts": _sections(report),
        "certificate": _certificate(report),
    }
