# SPDX-License-Identifier: Apache-2.0
"""The table of `tracer top`: which rows are open, and what their cells say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .. import _core
from ._lines import STYLE_OF_SEVERITY, STYLE_OF_STATUS, Line, fit, fitted
from ._model import Index, Row, View, has_begun
from ._texts import Signs, causes_text, clean, figure_text, letters_of, wall_text

__all__ = ["SORTS", "WIDE", "Choices", "Node", "columns_of", "head_line", "name_of", "nodes_of", "row_line"]

SORTS = ("start", "name", "elapsed", "CPU", "memory")
# Columns of a terminal from which on rows have room between them, and words beside marks.
WIDE = 100
# Of names, before other columns get more.
_NAME_WIDTH = 30
# All of them are open at first.
_FEW_TASKS = 40
_MOST_OF_A_KIND = 3
_STYLE_OF_LETTER = {"C": "green", "d": "red", "n": "blue", "q": "yellow", "l": "magenta", "m": "magenta", "k": "cyan",
                    "p": "cyan", "s": "cyan"}


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
    # Of the steps of tasks, by the id of their run.
    names_of: dict[str, list[str]] = {}
    for run_id, name in index.tasks_of:
        names_of.setdefault(run_id, []).append(name)
    few = sum(map(len, index.tasks_of.values())) <= _FEW_TASKS

    def is_open(identity: str, otherwise: bool) -> bool:
        return choices.toggled.get(identity, otherwise) or bool(wanted)

    def add_processes(identity: str, key: str | None, depth: int) -> None:
        if key is not None and view.key == key:
            for process in view.detail.get("processes", ()):
                nodes.append(Node("process", depth, f"{identity}/{process['pid']}", process))

    def add_task(task: Row, depth: int) -> None:
        identity = task["id"]
        living = index.status[identity] in ("running", "stalled")
        opened = living and choices.toggled.get(identity, False)
        nodes.append(Node("task", depth, identity, task, opened if living else None))
        if opened:
            add_processes(identity, task.get("task_key"), depth + 1)

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
        known = {step.get("step", step["name"]) for step in steps}
        # Of no run, steps have no row of their own: only their tasks name them.
        steps = steps + [{"id": f"{run}/step/{name}", "name": name, "step": name, "in": run}
                         for name in names_of.get(run, ()) if name and name not in known]
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
        below = run["id"] in index.steps_of or run["id"] in names_of
        lives = run.get("state") == "running"
        opened = is_open(run["id"], (lives and below) or len(index.runs) == 1)
        # One without tasks, such as a command, has its processes below it.
        nodes.append(Node("run", 0, run["id"], run, opened if below or lives else None))
        if opened and below:
            add_steps(run["id"], 1)
        elif opened and lives:
            add_processes(run["id"], run.get("run_key"), 1)
        if wanted and len(nodes) == before + 1 and not _matches(run, index.status[run["id"]], wanted):
            nodes.pop()
    # Of no run.
    add_steps("", 0)
    return nodes


@dataclass(frozen=True, slots=True)
class Column:
    head: str
    width: int
    right: bool = False


def columns_of(width: int, view: View) -> dict[str, Column]:
    """Each as wide as its longest text; more of them, and more in them, as long as names have room."""
    index = view.index
    tasks = sum(index.tasks.values())
    columns = {"done": Column("done", max(9 if width < WIDE else 11, len(f"{tasks}/{tasks}"))),
               "elapsed": Column("elapsed", 11, True), "time": Column("where time went", 25 if width < WIDE else 27),
               "cpu": Column("CPU/wall", 9, True), "memory": Column("memory", 25 if width >= WIDE and index.has_requests else 12, True)}
    if width < 110:
        del columns["cpu"]
    if width < 76:
        del columns["time"]
    if view.usual and width >= 110:
        columns = {"done": columns.pop("done"), "elapsed": columns.pop("elapsed"), "usual": Column("usual", 8, True)} | columns
    for name, more in (("life", Column("over the time of the run", 24)), ("cpu", Column("CPU/wall", 19 if index.has_requests else 9, True)),
                       ("time", Column("where time went", 45)), ("read", Column("read", 12, True)),
                       ("written", Column("written", 12, True))):
        if width >= 110 and _name_width(columns | {name: more}, width) >= _NAME_WIDTH:
            columns[name] = more
    return columns


def _gap(width: int) -> int:
    return 1 if width < WIDE else 2


def _name_width(columns: Mapping[str, Column], width: int) -> int:
    return width - 2 - sum(each.width + _gap(width) for each in columns.values())


def _status(status: str, wide: bool, signs: Signs) -> tuple[str, str]:
    return (f"{signs.marks.get(status, ' ')} {status}" if wide else status, STYLE_OF_STATUS.get(status, ""))


def _waited(row: Row, view: View) -> str:
    submitted = row.get("submitted_ns")
    return "" if submitted is None else f"for {_core.format_duration(max(view.now_ns() - submitted, 0))}"


def _cells(node: Node, view: View, columns: Mapping[str, Column], signs: Signs) -> dict[str, tuple[str, str]]:
    row, index = node.row, view.index
    wide = columns["done"].width > 9
    if node.level == "process":
        lived = _core.format_duration(max(row["time_ns"] - row["begin_ns"], 0))
        used = [f"{head} {figure_text(row, name, signs, at_most=False)}" for head, name in
                (("CPU", "cpu_ns"), ("read", "read_bytes")) if any(each.startswith(name) for each in row)]
        return {"done": (f"pid {row['pid']}", "dim"), "elapsed": (lived, ""), "time": (", ".join(used), "")}
    cells: dict[str, tuple[str, str]] = {}
    usual = view.usual.get(str(row.get("step", ""))) if node.level in ("step", "task") else None
    if usual is not None:
        cells["usual"] = (_core.format_duration(round(usual)), "")
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
        tasks = index.of_step(row) if node.level == "step" else index.tasks_of_run(row)
        expected = max(row.get("expected", 0) if node.level == "step" else index.expected_of(row) or 0, index.count_of(row, tasks))
        status = index.status.get(node.id, "") if node.level == "run" else ""
        if expected:
            cells["done"] = (f"{index.done_of(row, tasks)}/{expected}", "")
        else:
            cells["done"] = _status(status, wide, signs)
        if not has_begun(row):
            return cells
    cells["elapsed"] = (wall_text(row, signs), "")
    cells["time"] = (causes_text(row, 2 if columns.get("time", columns["memory"]).width > 30 else 1, signs), "")
    cells["cpu"] = (figure_text(row, "cpu_utilization", signs, at_most=False, requested="cpu" in columns and columns["cpu"].width > 9), "")
    cells["memory"] = (figure_text(row, "memory_bytes", signs, at_most=False, requested=columns["memory"].width > 12), "")
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
    text: str = " " * first + signs.life * max(last - first, 1)
    return text


def _attention(node: Node, index: Index) -> str:
    """The worst that was found of it, also of what it hides: "error", "warning" or nothing."""
    if node.level == "step" and not node.open:
        keys = [task.get("task_key", "") for task in index.of_step(node.row)]
    elif node.level in ("task", "run"):
        keys = [node.row.get("task_key" if node.level == "task" else "run_key", "")]
    else:
        return ""
    found = [each for key in keys for each in index.about.get(key, ())]
    return next((str(severity) for severity in ("error", "warning") if any(each["severity"] == severity for each in found)), "")


def name_of(node: Node, signs: Signs) -> str:
    row = node.row
    if node.level != "process":
        return clean(str(row["name"]), signs)
    return clean(str(row.get("tool") or row.get("exe") or "?"), signs)


def _letters(row: Row, cells: int) -> Iterator[tuple[str, str]]:
    for letter in letters_of(row, cells):
        yield letter, _STYLE_OF_LETTER.get(letter, "dim")


def row_line(node: Node, view: View, columns: Mapping[str, Column], width: int, signs: Signs, chosen: bool) -> Line:
    fold = " " if node.open is None else signs.opened if node.open else signs.closed
    style = "reverse" if chosen else ""
    head = " " * (_gap(width) * node.depth) + fold + " "
    if node.level == "folded":
        return fitted([(f"  {head}{node.text}", style or "dim")], width, signs)
    severity = _attention(node, view.index)
    mark = {"error": "!", "warning": "!"}.get(severity, " ")
    name = f"{head}{name_of(node, signs)}"
    line: Line = [(mark, STYLE_OF_SEVERITY.get(severity, "")), (" ", ""), (fit(name, _name_width(columns, width), signs), style)]
    cells = _cells(node, view, columns, signs)
    for key, column in columns.items():
        line.append((" " * _gap(width), style))
        text, look = cells.get(key, ("", ""))
        if key == "time" and node.row.get("time") and node.level != "process" and look != "blue":
            letters = list(_letters(node.row, 6 if width < WIDE else 8))
            line += [*letters, (" ", style), (fit(text, column.width - len(letters) - 1, signs), style)]
        else:
            line.append((fit(text, column.width, signs, column.right), style or look))
    return line


def head_line(columns: Mapping[str, Column], width: int, signs: Signs) -> Line:
    text = "  " + fit("run, step, task", _name_width(columns, width), signs)
    for column in columns.values():
        text += " " * _gap(width) + fit(column.head, column.width, signs, column.right)
    return [(text, "bold")]
