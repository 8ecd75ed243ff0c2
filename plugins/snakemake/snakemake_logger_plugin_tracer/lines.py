# SPDX-License-Identifier: Apache-2.0
"""One line about a job or a run. Unknown figures are left out."""

import re

from .notes import Job

# A finding of the service that names the cause better than "failed".
CAUSES = ("killed_by_timeout", "killed_by_scheduler", "killed_by_user", "core_dumped", "library_not_found",
          "command_not_found", "no_permission", "disk_full", "first_failure")
MOST_OF_LINE = 2000


def printable(text: str, most: int = MOST_OF_LINE) -> str:
    shown = "".join(char if char.isprintable() else " " for char in text)
    return shown if len(shown) <= most else shown[:most - 1] + "…"


def _figure(row: dict, name: str) -> tuple[str, float] | None:
    """With the sign of a bound."""
    for key, sign in ((name, ""), (f"{name}_at_least", "≥ "), (f"{name}_at_most", "≤ ")):
        if isinstance(row.get(key), (int, float)):
            return sign, row[key]
    return None


def _time(ns: float) -> str:
    seconds = ns / 1e9
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _memory(value: float, requested: float | None) -> str:
    unit, size, digits = ("GB", 1e9, 1) if max(value, requested or 0) >= 1e9 else ("MB", 1e6, 0)
    of = f" of {requested / size:.{digits}f}" if requested else ""
    return f"{value / size:.{digits}f}{of} {unit}"


def _evidence(finding: dict, name: str) -> float | None:
    return next((one.get("value") for one in finding.get("evidence", ()) if one.get("name") == name), None)


def _cause(job: Job, state: str, findings: list[dict], row: dict) -> str:
    by_code = {finding.get("code"): finding for finding in findings}
    if oom := by_code.get("oom_kill"):
        limit = _evidence(oom, "limit_bytes") or job.requested.get("memory_bytes")
        used = _evidence(oom, "peak_bytes") or row.get("memory_bytes") or row.get("memory_bytes_at_least")
        killed = "killed: out of memory" + (f" at {_memory(used, limit)}" if used else "")
        return killed if state == "failed" else f"{state}, but one of its programs was {killed}"
    if state == "failed":
        for code in CAUSES:
            if finding := by_code.get(code):
                # "align (S1) failed: bwa (pid 5) in it exited with status 3"
                return "failed: " + re.sub(r"^.*? failed: ", "", str(finding.get("text")), count=1)
        return state if job.exit_code is None else f"failed: exit status {job.exit_code}"
    if state == "succeeded":
        for finding in findings:
            if finding.get("severity") == "error":
                return f"{state}, but {finding.get('text')}"
    return state


def line_of_job(job: Job, sample: str, state: str, row: dict, findings: list[dict]) -> str:
    requested = job.requested
    words = [f"{printable(job.name(sample), 300)}{f', attempt {job.attempt}' if job.attempt > 1 else ''}: "
             + printable(_cause(job, state, findings, row), 700)]
    wall, cpu, memory = (_figure(row, name) for name in ("wall_ns", "cpu_ns", "memory_bytes"))
    if wall:
        words.append(wall[0] + _time(wall[1]))
    cpus = requested.get("millicpus")
    if cpu and wall and not wall[0] and wall[1]:
        words.append(f"CPU {cpu[0]}{cpu[1] / wall[1]:.1f}" + (f" of {cpus / 1000:g}" if cpus else ""))
    elif cpu:
        words.append(f"CPU time {cpu[0]}{_time(cpu[1])}")
    if memory:
        words.append(f"memory {memory[0]}{_memory(memory[1], requested.get('memory_bytes'))}")
    return ", ".join(words)


def line_of_run(run: dict, counts: dict[str, int], findings: int, more: str) -> str:
    jobs = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
    found = f"; {findings} finding{'s' if findings != 1 else ''}" if findings else ""
    return (f"run {run['run_id']} of {printable(run['pipeline'], 200)}: jobs: {jobs or 'none'}{found}{more}")
