# SPDX-License-Identifier: Apache-2.0
"""What `tracer top` shows, as lines of a terminal: of a view, what its user has chosen, and a size. Nothing is drawn here."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from rich.cells import cell_len

from .. import _core
from .._format import counted
from ._details import lines_about_findings, lines_about_row
from ._lines import STYLE_OF_SEVERITY, STYLE_OF_STATUS, Line, fit, fitted
from ._model import OVER, Index, Row, View
from ._rows import SORTS, WIDE, Choices, Node, columns_of, head_line, name_of, nodes_of, row_line
from ._texts import LETTERS, Signs, causes_text, clean, figure_text, letters_of, wall_text

__all__ = ["SORTS", "About", "Choices", "Frame", "Line", "Node", "frame_of", "nodes_of"]

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
_MIN_COLUMNS, _MIN_LINES = 60, 12
_MOST_NOTE_LINES = 3


@dataclass(frozen=True, slots=True)
class Frame:
    """What is to be drawn, and what keys need to know of it."""

    lines: list[Line]
    nodes: list[Node]
    rows_shown: int


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
    damage: str = ""
    """Of a recording: "cut off" or "damaged"."""
    paths: Mapping[str, Row] = field(default_factory=dict)
    """Critical paths, by the key of their run."""


def _title(view: View, about: About, choices: Choices, width: int) -> Line:
    signs, runs = about.signs, view.index.runs
    name = clean(runs[0]["name"], signs) if len(runs) == 1 else f"{len(runs)} runs" if runs else ""
    lost = view.index.counts.get("lost", {})
    dropped = view.index.counts.get("dropped", 0) + view.index.left_out
    whole = (about.damage or "complete" if not lost and not dropped else
             f"lost: {sum(lost.values())}" if lost else f"{counted(dropped, 'row')} left out")
    state = "no answer" if view.problem else "paused" if choices.paused else about.source
    end = f"{state} {about.now}".rstrip() + f"   {whole}"
    return [("tracer top", "bold"), ("  ", ""), (fit(name, max(width - 14 - cell_len(end), 0), signs), "bold"), ("  ", ""),
            (end, "red" if view.problem else "yellow" if choices.paused or whole != "complete" else "")]


def _tasks_text(index: Index) -> str:
    """Of tasks that are in no run."""
    count, living = sum(index.tasks.values()), index.tasks["running"] + index.tasks["stalled"]
    if count == 1:
        return f"1 task, which is {'' if living else 'not '}running"
    if not living:
        return f"{count} tasks, none of which is running"
    return f"{living} of {count} tasks {'is' if living == 1 else 'are'} running"


def _headline(view: View, about: About) -> tuple[str, str]:
    signs, runs = about.signs, view.index.runs
    if view.problem is not None:
        first = view.problem.problems[0]
        return clean(f"{first.what}. {first.fix}", signs), "red"
    if about.verdict:
        return clean(about.verdict, signs), "bold"
    if not view.index.counts:
        return "looking for what runs", "dim"
    if not runs and not view.index.tasks:
        return "nothing has run yet: runs, steps and tasks appear here as they begin", ""
    if not runs:
        return _tasks_text(view.index), "bold"
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
    known = sum(tasks.values())
    kept_over = sum(tasks[each] for each in OVER)
    # Of those without a run, only rows tell.
    count = sum(index.count_of(run, index.tasks_of_run(run)) for run in index.runs)
    count = max(count + sum(len(rows) for key, rows in index.tasks_of.items() if not key[0]), known)
    total = max(index.expected_of(None) or 0, count)
    if not total:
        return [("no tasks", "dim")] if index.runs else []
    over = kept_over + count - known
    line: Line = []
    if width >= WIDE:
        cells = 20
        done = over * cells // total
        active = min(cells - done, -(-(tasks["running"] + tasks["stalled"]) * cells // total))
        line = [("[", ""), (signs.done * done, "green"), (signs.running * active, "yellow"),
                (signs.left * (cells - done - active), "dim"), ("] ", "")]
    line.append((f"{over}/{counted(total, 'task')}", "bold"))
    for status in ("done", "cached", "running", "stalled", "queued", "elsewhere", "failed", "aborted", "withdrawn", "expired"):
        if tasks[status]:
            mark = f"{signs.marks[status]} " if width >= WIDE else ""
            line.append((f"  {mark}{tasks[status]} {status}", STYLE_OF_STATUS.get(status, "")))
    if count > known:
        line.append((f"  {count - known} over and not kept", "dim"))
    return line


def _finding_line(finding: Row, about: About) -> Line:
    signs = about.signs
    mark = {"error": signs.marks["failed"], "warning": "!"}.get(finding["severity"], "i")
    when = _moment(finding["first_ns"], about.wall_offset_ns)
    return [(f"{mark} {when} ".replace("  ", " "), STYLE_OF_SEVERITY.get(finding["severity"], "dim")),
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
    rows = {row.get("task_key"): row for of_step in view.index.tasks_of.values() for row in of_step}
    parts = []
    for task in path["tasks"]:
        if task in longest:
            row = rows.get(task["task_key"])
            lasted = (_core.format_duration(max(task.get("end_ns", task.get("last_ns", 0)) - task["begin_ns"], 0)) if row is None
                      else figure_text(row, "wall_ns", about.signs))
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
        title = f"Why: {name_of(node, signs)}" if node is not None and node.level != "folded" else "Why"
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
    notes = [line for note in about.notes for line in textwrap.wrap(clean(note, signs), width)]
    above += [[(line, "yellow")] for line in notes[:_MOST_NOTE_LINES]]
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
        columns = columns_of(width, view)
        above += [_rule("Runs", width, signs, shown), head_line(columns, width, signs)]
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
        lines += [row_line(each, view, columns, width, signs, each is node) for each in visible_nodes]
        lines += [[("", "")]] * (rows_shown - len(visible_nodes))
        if not choices.panel:
            lines.append(_legend(visible_nodes, signs, width))
    if choices.panel:
        panel = _panel(view, choices, node, about, width, panel_height)
        lines += panel + [[("", "")]] * (panel_height - len(panel))
    lines += below
    return Frame([fitted(line, width, signs) for line in lines], nodes, max(rows_shown, 1))
