# SPDX-License-Identifier: Apache-2.0
"""What `tracer top` shows, as lines of a terminal: of a view, what its user has chosen, and a size. Nothing is drawn here."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from rich.cells import cell_len, set_cell_size

from .. import _core
from ._details import lines_about_findings, lines_about_row
from ._model import OVER, Index, Row, View
from ._texts import LETTERS, Signs, causes_text, clean, figure_text, letters_of, wall_text

__all__ = ["Choices", "Frame", "Line", "Node", "frame_of", "nodes_of"]

# Parts of a line: a text, and how it looks.
Line = list[tuple[str, str]]

_STYLE_OF_STATUS = {"failed": "red", "stalled": "yellow", "running": "green", "queued": "blue", "elsewhere": "cyan"}
_STYLE_OF_SEVERITY = {"error": "red", "warning": "yellow"}
_STYLE_OF_LETTER = {"C": "green", "d": "red", "n": "blue", "q": "yellow", "l": "magenta", "m": "magenta", "k": "cyan",
                    "p": "cyan", "s": "cyan"}
_WORD_OF_LETTER = {letter: cause for cause, letter in LETTERS.items()}
_KEYS = ("\u2191\u2193 move  \u2192\u2190 open, fold  Enter why  f findings  / filter  s sort  Space pause  ? help  q quit",
         "arrows move, open  Enter why  f findings  / filter  s sort  ? help  q quit", "Enter why  f findings  / filter  s sort  ? help  q quit")
_HELP = """\
up, down, page up, page down, home, end    move
right, left                                open, fold; on a task, right shows its processes
Enter, w                                   why: where time went, what was found, of the row; again: back
f                                          all findings
/                                          show only rows with this text in name, sample or status; Esc shows all
s                                          sort: start, name, elapsed, CPU, memory
e, c                                       open everything, fold everything
Space                                      pause: nothing moves until it is pressed again
q                                          quit; a command that was given goes on, and is waited for
Ctrl-C                                     quit; a command that was given gets it

done     tasks that are over, of those that are known, or will come by the word of their engine
elapsed  from the first start to the last end, as of the last sample
CPU      CPU time / elapsed time, of the CPUs that were requested
memory   the most that its processes held together, of what was requested; of a step: its largest task"""
SORTS = ("start", "name", "elapsed", "CPU", "memory")
_FEW_TASKS = 40
_MOST_OF_A_KIND = 3
_MIN_COLUMNS, _MIN_LINES = 60, 12
# Columns of a terminal from which on rows have room between them, and words beside marks.
_WIDE = 100
# Of names, before other columns get more.
_NAME_WIDTH = 30


@dataclass(slots=True)
class Choices:
    """What the user has chosen."""

    cursor: str = ""
    """The id of a row."""
    top: int = 0
    """The first row of the table that is shown."""
    toggled: dict[str, bool] = field(default_factory=dict)
    """Open or folded by hand, by the id of the row."""
    sort: str = "start"
    filter: str = ""
    editing: bool = False
    paused: bool = False
    panel: str = ""
    """"why", "findings", "help", or none."""
    scrolled: int = 0
    """Lines of the panel that are above it."""


@dataclass(frozen=True, slots=True)
class Node:
    """A row of the table."""

    level: str
    """"run", "step", "task", "process" or "folded"."""
    depth: int
    id: str
    row: Row
    open: bool | None = None
    """None: there is nothing below it."""
    text: str = ""
    """Of "folded"."""


@dataclass(frozen=True, slots=True)
class Frame:
    """What is to be drawn, and what keys need to know of it."""

    lines: list[Line]
    nodes: list[Node]
    rows_shown: int


def _sort_key(choices: Choices, index: Index) -> Any:
    names = {"elapsed": "wall_ns", "CPU": "cpu_ns", "memory": "memory_bytes"}

    def key(row: Row) -> Any:
        if choices.sort == "name":
            return row["name"]
        if choices.sort in names:
            name = names[choices.sort]
            return -next((row[each] for each in (name, f"{name}_at_least", f"{name}_at_most") if each in row), -1)
        return 0

    return key


def _matches(row: Row, status: str, wanted: str) -> bool:
    return any(wanted in str(row.get(name, "")).lower() for name in ("name", "sample", "step", "run")) or wanted == status


def nodes_of(view: View, choices: Choices) -> list[Node]:
    """The rows that are open, from top to bottom."""
    index = view.index
    wanted = choices.filter.lower()
    nodes: list[Node] = []
    key = _sort_key(choices, index)
    few = sum(map(len, index.tasks_of.values())) <= _FEW_TASKS

    def is_open(identity: str, otherwise: bool) -> bool:
        return choices.toggled.get(identity, otherwise) or bool(wanted)

    def add_task(task: Row, depth: int) -> None:
        identity = task["id"]
        living = index.status[identity] in ("running", "stalled")
        opened = living and choices.toggled.get(identity, False)
        nodes.append(Node("task", depth, identity, task, opened if living else None))
        if opened and view.key == task.get("task_key"):
            for process in view.detail.get("processes", ()):
                nodes.append(Node("process", depth + 1, f"{identity}/{process['pid']}", process))

    def add_tasks(tasks: list[Row], depth: int, parent: str) -> None:
        if choices.sort != "start":
            tasks = sorted(tasks, key=key)
        if wanted:
            for task in tasks:
                if _matches(task, index.status[task["id"]], wanted):
                    add_task(task, depth)
            return
        kinds: dict[str, list[Row]] = {"failed": [], "stalled": [], "running": [], "queued": [], "over": []}
        for task in tasks:
            kinds.get(index.status[task["id"]], kinds["over" if task["state"] == "finished" else "queued"]).append(task)
        for kind, below in kinds.items():
            name = f"{parent}/{kind}"
            # What waits its turn, or is over, is many, and alike.
            folds = kind in ("queued", "over") and len(below) > _MOST_OF_A_KIND
            opened = choices.toggled.get(name, False)
            shown = below if not folds or opened else below[:_MOST_OF_A_KIND] if kind == "queued" else []
            for task in shown:
                add_task(task, depth)
            if folds:
                more = len(below) - len(shown)
                text = "fold these" if opened else f"{more} done" if kind == "over" else f"{more} more queued"
                nodes.append(Node("folded", depth, name, {}, opened, text))

    def add_steps(run: str, depth: int) -> None:
        steps = index.steps_of.get(run, [])
        if choices.sort != "start":
            steps = sorted(steps, key=key)
        for step in steps:
            before = len(nodes)
            tasks = index.of_step(step)
            opened = is_open(step["id"], few)
            nodes.append(Node("step", depth, step["id"], step, opened if tasks else None))
            if opened:
                add_tasks(tasks, depth + 1, step["id"])
            if wanted and len(nodes) == before + 1 and not _matches(step, "", wanted):
                nodes.pop()
        add_tasks(index.tasks_of.get((run, ""), []), depth, run)

    for run in index.runs:
        before = len(nodes)
        below = run["id"] in index.steps_of or (run["id"], "") in index.tasks_of
        opened = is_open(run["id"], run.get("state") == "running" or len(index.runs) == 1)
        nodes.append(Node("run", 0, run["id"], run, opened if below else None))
        if opened:
            add_steps(run["id"], 1)
        if wanted and len(nodes) == before + 1 and not _matches(run, index.status[run["id"]], wanted):
            nodes.pop()
    # Of no run.
    add_steps("", 0)
    return nodes


def _fit(text: str, width: int, signs: Signs, right: bool = False) -> str:
    """Exactly so wide."""
    if (missing := width - cell_len(text)) >= 0:
        return " " * missing + text if right else text + " " * missing
    if width < 1:
        return ""
    return set_cell_size(set_cell_size(text, width - 1).rstrip() + signs.ellipsis, width)


def width_of(line: Line) -> int:
    return sum(cell_len(text) for text, _ in line)


def fitted(line: Line, width: int, signs: Signs) -> Line:
    """Cut where it is longer, filled up where it is shorter."""
    left, parts = width, []
    for number, (text, style) in enumerate(line):
        size = cell_len(text)
        if size > left or (size == left and number + 1 < len(line) and any(each for each, _ in line[number + 1:])):
            parts.append((_fit(text + (" " if size == left else ""), left, signs), style))
            left = 0
            break
        parts.append((text, style))
        left -= size
    if left:
        parts.append((" " * left, ""))
    return parts


@dataclass(frozen=True, slots=True)
class _Column:
    head: str
    width: int
    right: bool = False


def _columns(width: int, tasks: int) -> dict[str, _Column]:
    """Each as wide as its longest text; more of them, and more in them, as long as names have room."""
    columns = {"done": _Column("done", max(9 if width < _WIDE else 11, len(f"{tasks}/{tasks}"))),
               "elapsed": _Column("elapsed", 11, True), "time": _Column("where time went", 25 if width < _WIDE else 27),
               "cpu": _Column("CPU/wall", 9, True), "memory": _Column("memory", 12 if width < _WIDE else 25, True)}
    if width < 110:
        del columns["cpu"]
    if width < 76:
        del columns["time"]
    for name, more in (("life", _Column("over the time of the run", 24)), ("cpu", _Column("CPU/wall", 19, True)),
                       ("time", _Column("where time went", 45)), ("read", _Column("read", 12, True)),
                       ("written", _Column("written", 12, True))):
        if width >= 130 and _name_width(columns | {name: more}, width) >= _NAME_WIDTH:
            columns[name] = more
    return columns


def _gap(width: int) -> int:
    return 1 if width < _WIDE else 2


def _name_width(columns: Mapping[str, _Column], width: int) -> int:
    return width - 2 - sum(each.width + _gap(width) for each in columns.values())


def _status(status: str, wide: bool, signs: Signs) -> tuple[str, str]:
    return (f"{signs.marks.get(status, ' ')} {status}" if wide else status, _STYLE_OF_STATUS.get(status, ""))


def _waited(row: Row, view: View) -> str:
    submitted = row.get("submitted_ns")
    return "" if submitted is None else f"for {_core.format_duration(max(view.now_ns() - submitted, 0))}"


def _cells(node: Node, view: View, columns: Mapping[str, _Column], signs: Signs) -> dict[str, tuple[str, str]]:
    row, index = node.row, view.index
    wide = columns["memory"].width > 12
    if node.level == "process":
        lived = _core.format_duration(max(row["time_ns"] - row["begin_ns"], 0))
        used = [f"{head} {figure_text(row, name, signs, at_most=False)}" for head, name in
                (("CPU", "cpu_ns"), ("read", "read_bytes")) if any(each.startswith(name) for each in row)]
        return {"done": (f"pid {row['pid']}", "dim"), "elapsed": (lived, ""), "time": (", ".join(used), "")}
    cells: dict[str, tuple[str, str]] = {}
    if node.level == "task":
        status = index.status[node.id]
        cells["done"] = _status(status, wide, signs)
        if status in ("queued", "elsewhere"):
            waited = _waited(row, view)
            cells["elapsed"] = ("", "")
            cells["time"] = (f"waits {waited}" if waited else "", "blue")
            cells["memory"] = (figure_text(row, "memory_bytes", signs) if "memory_bytes" in row.get("requested", {}) else "", "")
            return cells
    else:
        tasks = index.of_step(row) if node.level == "step" else [
            each for key, below in index.tasks_of.items() if key[0] == node.id for each in below]
        expected = max(row.get("expected", 0), len(tasks)) if node.level == "step" else index.expected_of(row) or len(tasks)
        status = index.status.get(node.id, "") if node.level == "run" else ""
        if expected:
            cells["done"] = (f"{index.done_of(tasks)}/{expected}", "")
        else:
            cells["done"] = _status(status, wide, signs)
        if not row["processes"]:
            return cells
    cells["elapsed"] = (wall_text(row, signs), "")
    cells["time"] = (causes_text(row, 2 if columns.get("time", columns["memory"]).width > 30 else 1, signs), "")
    cells["cpu"] = (figure_text(row, "cpu_utilization", signs, at_most=False, requested=columns.get("cpu", columns["memory"]).width > 12), "")
    cells["memory"] = (figure_text(row, "memory_bytes", signs, at_most=False, requested=wide), "")
    if "life" in columns:
        cells["life"] = (_life(row, view, columns["life"].width, signs), "dim")
    cells["read"] = (figure_text(row, "read_bytes", signs, at_most=False), "")
    cells["written"] = (figure_text(row, "written_bytes", signs, at_most=False), "")
    return cells


def _life(row: Row, view: View, width: int, signs: Signs) -> str:
    """From when to when, within the time of its run."""
    index = view.index
    run = next((each for each in index.runs if each["id"] == row.get("in", row["id"])), None)
    if run is None or "first_start_ns" not in run or "first_start_ns" not in row:
        return ""
    begin = run["first_start_ns"]
    end = max(view.now_ns() if run.get("state") == "running" else 0, run.get("last_end_ns", 0), begin + 1)
    first, last = ((min(max(row.get(name, end), begin), end) - begin) * width // (end - begin) for name in ("first_start_ns", "last_end_ns"))
    first = min(first, width - 1)
    return " " * first + signs.life * max(last - first, 1)


def _attention(node: Node, index: Index) -> str:
    """The worst that was found of it: "error", "warning" or nothing."""
    found = index.about.get(node.row.get("task_key" if node.level == "task" else "run_key", ""), ())
    if node.level not in ("task", "run"):
        return ""
    return next((severity for severity in ("error", "warning") if any(each["severity"] == severity for each in found)), "")


def _name(node: Node, signs: Signs) -> str:
    row = node.row
    if node.level != "process":
        return clean(str(row["name"]), signs)
    return clean(str(row.get("tool") or row.get("exe") or "?"), signs)


def _letters(row: Row, cells: int) -> Iterator[tuple[str, str]]:
    for letter in letters_of(row, cells):
        yield letter, _STYLE_OF_LETTER.get(letter, "dim")


def _row_line(node: Node, view: View, columns: Mapping[str, _Column], width: int, signs: Signs, chosen: bool) -> Line:
    fold = " " if node.open is None else signs.opened if node.open else signs.closed
    style = "reverse" if chosen else ""
    head = " " * (_gap(width) * node.depth) + fold + " "
    if node.level == "folded":
        return fitted([(f"  {head}{node.text}", style or "dim")], width, signs)
    severity = _attention(node, view.index)
    mark = {"error": "!", "warning": "!"}.get(severity, " ")
    name = f"{head}{_name(node, signs)}"
    line: Line = [(mark, _STYLE_OF_SEVERITY.get(severity, "")), (" ", ""), (_fit(name, _name_width(columns, width), signs), style)]
    cells = _cells(node, view, columns, signs)
    for key, column in columns.items():
        line.append((" " * _gap(width), style))
        text, look = cells.get(key, ("", ""))
        if key == "time" and node.row.get("time") and node.level != "process" and look != "blue":
            letters = list(_letters(node.row, 6 if width < _WIDE else 8))
            line += [*letters, (" ", style), (_fit(text, column.width - len(letters) - 1, signs), style)]
        else:
            line.append((_fit(text, column.width, signs, column.right), style or look))
    return line


def _head(columns: Mapping[str, _Column], width: int, signs: Signs) -> Line:
    text = "  " + _fit("run, step, task", _name_width(columns, width), signs)
    for column in columns.values():
        text += " " * _gap(width) + _fit(column.head, column.width, signs, column.right)
    return [(text, "bold")]


def _rule(title: str, width: int, signs: Signs, right: str = "") -> Line:
    text = f"{signs.line} {title} " if title else ""
    end = f" {right} {signs.line}" if right else ""
    return [(text + signs.line * (width - cell_len(text) - cell_len(end)) + end, "dim")]


def _moment(boot_ns: int, wall_offset_ns: int | None) -> str:
    return time.strftime("%H:%M", time.localtime((boot_ns + wall_offset_ns) / 1e9)) if wall_offset_ns is not None else ""


@dataclass(frozen=True, slots=True)
class About:
    """What a screen says besides its rows."""

    source: str
    """Such as "live", "recording", or a file's name."""
    signs: Signs
    wall_offset_ns: int | None = None
    now: str = ""
    """The time of day."""
    verdict: str = ""
    """The report's, of a run that is over."""
    notes: tuple[str, ...] = ()
    """What is blank, and why."""
    status: str = ""
    """Of a command that was given: its last line of output."""
    expected_end: str = ""
    paths: Mapping[str, Row] = field(default_factory=dict)
    """Critical paths, by the key of their run."""


def _title(view: View, about: About, choices: Choices, width: int) -> Line:
    signs, runs = about.signs, view.index.runs
    name = clean(runs[0]["name"], signs) if len(runs) == 1 else f"{len(runs)} runs" if runs else ""
    lost = view.index.counts.get("lost", {})
    dropped = view.index.counts.get("dropped", 0) + view.index.left_out
    whole = ("complete" if not lost and not dropped else
             f"lost: {sum(lost.values())}" if lost else f"{dropped} rows left out")
    state = "no answer" if view.problem else "paused" if choices.paused else about.source
    end = f"{state} {about.now}".rstrip() + f"   {whole}"
    return [("tracer top", "bold"), ("  ", ""), (_fit(name, max(width - 14 - cell_len(end), 0), signs), "bold"), ("  ", ""),
            (end, "red" if view.problem else "yellow" if choices.paused or whole != "complete" else "")]


def _headline(view: View, about: About) -> tuple[str, str]:
    signs, runs = about.signs, view.index.runs
    if view.problem is not None:
        first = view.problem.problems[0]
        return clean(f"{first.what}. {first.fix}", signs), "red"
    if about.verdict:
        return clean(about.verdict, signs), "bold"
    if not runs and not view.index.tasks:
        return "nothing has run yet: runs, steps and tasks appear here as they begin", ""
    living = [each for each in runs if each.get("state") == "running"]
    if len(runs) != 1 and not living:
        return f"{len(runs)} runs, none of which is running", "bold"
    if len(living) > 1:
        return f"{len(living)} of {len(runs)} runs are running", "bold"
    run = (living or runs)[0]
    status = view.index.status[run["id"]]
    words = {"running": "is running", "done": "is over", "stalled": "stands still", "aborted": "was aborted"}.get(status, status)
    text = f"{clean(run['name'], signs)} {words}"
    if "wall_ns" in run or "wall_ns_at_least" in run:
        text += f", {wall_text(run, signs)}" if living else f" after {wall_text(run, signs)}"
    if about.expected_end and living:
        text += f": {about.expected_end}"
    if where := causes_text(run, 2, signs):
        text += f"; its time went to {where}"
    return text, "bold"


def _progress(view: View, width: int, signs: Signs) -> Line:
    index = view.index
    tasks = index.tasks
    total = max(index.expected_of(None) or 0, sum(tasks.values()))
    if not total:
        return [("no tasks", "dim")] if index.runs else []
    over = sum(tasks[each] for each in OVER)
    line: Line = []
    if width >= _WIDE:
        cells = 20
        done = over * cells // total
        active = min(cells - done, -(-(tasks["running"] + tasks["stalled"]) * cells // total))
        line = [("[", ""), (signs.done * done, "green"), (signs.running * active, "yellow"),
                (signs.left * (cells - done - active), "dim"), ("] ", "")]
    line.append((f"{over}/{total} tasks", "bold"))
    for status in ("done", "cached", "running", "stalled", "queued", "elsewhere", "failed", "aborted", "withdrawn", "expired"):
        if tasks[status]:
            mark = f"{signs.marks[status]} " if width >= _WIDE else ""
            line.append((f"  {mark}{tasks[status]} {status}", _STYLE_OF_STATUS.get(status, "")))
    return line


def _finding_line(finding: Row, about: About) -> Line:
    signs = about.signs
    mark = {"error": signs.marks["failed"], "warning": "!"}.get(finding["severity"], "i")
    when = _moment(finding["first_ns"], about.wall_offset_ns)
    return [(f"{mark} {when} ".replace("  ", " "), _STYLE_OF_SEVERITY.get(finding["severity"], "dim")),
            (clean(finding["text"], signs), "")]


def _severities(findings: list[Row]) -> str:
    counts = [(sum(each["severity"] == name for each in findings), name) for name in ("error", "warning", "note")]
    return ", ".join(f"{count} {name}{'' if count == 1 else 's'}" for count, name in counts if count)


def _findings_part(view: View, about: About, width: int, most: int) -> list[Line]:
    findings = view.index.findings
    if not findings or most < 1:
        return []
    # Notes are worth knowing, but not before the table.
    urgent = [each for each in findings if each["severity"] != "note"]
    lines = [_rule("Needs attention" if urgent else "Found", width, about.signs, _severities(findings))]
    if not urgent:
        return lines if len(findings) else []
    fits = len(urgent) if len(urgent) <= most else most - 1
    lines += [_finding_line(each, about) for each in urgent[:fits]]
    if len(urgent) > fits:
        lines.append([(f"  {len(urgent) - fits} more: f", "dim")])
    return lines


def _held_up_part(view: View, about: About, width: int) -> list[Line]:
    """The critical path of the run that lives, or of the only one."""
    runs = view.index.runs
    run = next((each for each in runs if each.get("state") == "running"), runs[0] if len(runs) == 1 else None)
    path = about.paths.get((run or {}).get("run_key", ""))
    if not path or not path["tasks"]:
        return []
    longest = sorted(path["tasks"], key=lambda each: each["begin_ns"] - each.get("end_ns", each.get("last_ns", 0)))[:4]
    parts = []
    for task in path["tasks"]:
        if task in longest:
            lasted = _core.format_duration(max(task.get("end_ns", task.get("last_ns", 0)) - task["begin_ns"], 0))
            parts.append(f"{clean(task['name'], about.signs)} {lasted}")
    arrow = " → " if about.signs.utf8 else " -> "
    text = arrow.join(parts)
    count = len(path["tasks"])
    right = f"critical path: {count} task{'' if count == 1 else 's'}, {about.signs.at_least} {_core.format_duration(path['length_ns_at_least'])}"
    return [_rule("Held up by", width, about.signs, right), [(f"  {text}", "")]]


def _legend(nodes: list[Node], signs: Signs, width: int) -> Line:
    used = {letter for node in nodes for letter in letters_of(node.row)}
    words = {"C": "on a CPU", "?": "CPU or wait", "q": "no CPU free"}
    return [("  ".join(f"{letter} {words.get(letter, _WORD_OF_LETTER[letter])}" for letter in LETTERS.values() if letter in used), "dim")]


def _panel(view: View, choices: Choices, node: Node | None, about: About, width: int, height: int) -> list[Line]:
    signs = about.signs
    if choices.panel == "help":
        title, texts = "Help", _HELP.splitlines()
    elif choices.panel == "findings":
        title, texts = "Findings", lines_about_findings(view.index.findings, about.wall_offset_ns, signs)
        texts = texts or ["nothing was found"]
    else:
        title = f"Why: {_name(node, signs)}" if node is not None and node.level != "folded" else "Why"
        texts = lines_about_row(node.level, node.row, view, about.paths, about.wall_offset_ns, signs) if node is not None else []
    lines: list[str] = []
    for text in texts:
        lines += textwrap.wrap(text, width - 2, subsequent_indent=" " * (len(text) - len(text.lstrip()) + 2),
                               replace_whitespace=False, drop_whitespace=False, break_on_hyphens=False) or [""]
    room = height - 1
    choices.scrolled = max(0, min(choices.scrolled, len(lines) - room))
    end = f"{choices.scrolled + 1}-{min(choices.scrolled + room, len(lines))} of {len(lines)}: page down" if len(lines) > room else "Esc: back"
    return [_rule(title, width, signs, end)] + [[(f" {text}", "")] for text in lines[choices.scrolled:choices.scrolled + room]]


def frame_of(view: View, choices: Choices, about: About, width: int, height: int) -> Frame:
    """Lines, each exactly as wide as the terminal, and as many as it has."""
    signs = about.signs
    nodes = nodes_of(view, choices)
    if width < _MIN_COLUMNS or height < _MIN_LINES:
        text = f"tracer top needs {_MIN_COLUMNS} columns and {_MIN_LINES} lines"
        lines = [fitted([(text if number == 0 else "", "")], width, signs) for number in range(height)]
        return Frame(lines, nodes, 0)
    at = next((number for number, node in enumerate(nodes) if node.id == choices.cursor), 0)
    node = nodes[at] if nodes else None
    text, style = _headline(view, about)
    headline = [[(each, style)] for each in textwrap.wrap(text, width)[:2 if height >= 30 else 1]] or [[("", "")]]
    if len(textwrap.wrap(text, width)) > len(headline):
        headline[-1] = [(" ".join(textwrap.wrap(text, width)[len(headline) - 1:]), style)]
    above = [_title(view, about, choices, width), *headline, _progress(view, width, signs)]
    above += [[(clean(note, signs), "yellow")] for note in about.notes]
    below: list[Line] = []
    if about.status:
        below.append([("> ", "dim"), (clean(about.status, signs), "")])
    if choices.editing:
        below.append([("filter: ", "bold"), (clean(choices.filter, signs), ""), ("_", "reverse")])
    else:
        below.append([(_KEYS[0 if signs.utf8 and width >= 110 else 1 if width >= 76 else 2], "dim")])
    split = bool(choices.panel) and height >= 30
    if not choices.panel or split:
        if not split:
            above += _findings_part(view, about, width, 5 if height >= 30 else 3)
            above += _held_up_part(view, about, width) if height >= 30 else []
        shown = f"sort: {choices.sort}" + (f", filter: {clean(choices.filter, signs)}" if choices.filter and not choices.editing else "")
        columns = _columns(width, sum(view.index.tasks.values()))
        above += [_rule("Runs", width, signs, shown), _head(columns, width, signs)]
    panel_height = 0
    rows_shown = height - len(above) - len(below)
    if choices.panel:
        panel_height = rows_shown * 3 // 5 if split else rows_shown
        rows_shown -= panel_height
    else:
        # Room for what the letters mean.
        rows_shown -= 1
    lines = above
    if rows_shown > 0:
        choices.top = max(0, min(choices.top, at, len(nodes) - rows_shown), at - rows_shown + 1)
        visible_nodes = nodes[choices.top:choices.top + rows_shown]
        lines += [_row_line(each, view, columns, width, signs, each is node) for each in visible_nodes]
        lines += [[("", "")]] * (rows_shown - len(visible_nodes))
        if not choices.panel:
            lines.append(_legend(visible_nodes, signs, width))
    if choices.panel:
        panel = _panel(view, choices, node, about, width, panel_height)
        lines += panel + [[("", "")]] * (panel_height - len(panel))
    lines += below
    return Frame([fitted(line, width, signs) for line in lines], nodes, max(rows_shown, 1))
