# SPDX-License-Identifier: Apache-2.0
"""Documents for tests of the page: of recordings whose reports are kept, and made up ones."""

import json
import lzma
from pathlib import Path

from tracer import _core

ROOT = Path(__file__).resolve().parent.parent.parent
VIEWS = ROOT / "views"
RECORDINGS = ROOT / "tests/data/recordings"
HOST = {"name": "node1", "kernel": "6.18.44 x86_64", "cpus": 2, "memory_bytes": 8 << 30, "version": "1.0",
        "wall_offset_ns": "1795857000000000001"}
SECOND = 1_000_000_000


def report(name):
    return lzma.open(RECORDINGS / name / "report.json.xz", "rt", encoding="utf-8").read()


def document_of(report, title, **more):
    """A report's JSON, and what else the page draws."""
    return json.dumps({**json.loads(report), "title": title, **{name: value for name, value in more.items() if value}}, ensure_ascii=False)


def document(name, **more):
    return document_of(report(name), f"{name}.tracer", hosts=[HOST], **more)


def written(folder, document, title="made up", text="as text"):
    path = Path(folder) / "page.html"
    path.write_text(_core.page_of(document, title, text), "utf-8")
    return str(path)


def row(name, start, wall, **more):
    return {"name": name, "processes": 3, "living": 0, "wall_ns": wall, "first_start_ns": start, "last_end_ns": start + wall,
            "cpu_ns": wall // 2, "cpu_utilization": 0.5, "memory_bytes": 5 << 20, "read_bytes": 1 << 20, "written_bytes": 100, "failed": 0,
            "time": [{"cause": "disk", "time_ns": wall // 2, "share": 0.5}, {"cause": "CPU", "time_ns": wall // 2, "share": 0.5}], **more}


def made_up(tasks, steps=12, name="step {step}", sample="S{task}", days=365, **more):
    """Times are above 2^53 ns if the host has been up for more than 104 days."""
    begin = days * 86400 * SECOND
    run = {"run_key": "00000000000000aa", "pipeline": "main.nf", "run": "made_up"}
    rows = []
    for task in range(tasks):
        step = name.format(step=task % steps)
        rows.append(row(f"{step} ({sample.format(task=task)})", begin + (task // steps + 20 * (task % steps)) * SECOND, (20 + task % 17) * SECOND, step=step,
                        sample=sample.format(task=task), task_key=f"{task:016x}", requested={"millicpus": 2000, "memory_bytes": 8 << 20}, **run))
    last = max(each["last_end_ns"] for each in rows)
    whole = {"first_start_ns": begin, "last_end_ns": last, "wall_ns": last - begin}
    step_rows = [row(name.format(step=step), begin, 50 * SECOND, step=name.format(step=step), tasks=len(rows[step::steps]), **run) for step in range(steps)]
    return document_of(json.dumps({
        "schema": 1, "verdict": f"main.nf succeeded (status 0) in 9.0 min: {tasks} tasks, {tasks} ok", "findings": [], "samples": [], "tools": [],
        "processes": [], "failures": [], "files": [], "peers": [], "devices": [], "steps": step_rows, "tasks": rows,
        "totals": {**row("total", begin, 1), **whole}, "runs": [{**row("main.nf made_up", begin, 1), **run, **whole, "tasks": tasks}]} | more),
        "made up", hosts=[HOST])
