# SPDX-License-Identifier: Apache-2.0
"""Writes advice as files of engines. A name that an engine can't have is left out, in a comment."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from .._errors import InvalidArgumentError
from .._format import counted, visible
from ._memory import LEAST_BYTES
from ._steps import other_inputs
from ._text import duration, size, waste_text

if TYPE_CHECKING:
    from . import Tune

__all__ = ["emit"]

_MIB = 1 << 20
_IDENTIFIER = re.compile(r"[^\W\d]\w*")
_PROCESS = re.compile(r"[A-Za-z_]\w*(?::[A-Za-z_]\w*)*", re.ASCII)
# What ends a task that had too little memory: signals, and codes of LSF and Slurm. As nf-core's pipelines have it.
_STRATEGY = "errorStrategy = { task.exitStatus in ((130..145) + 104 + 175) ? 'retry' : 'finish' }"


def emit(result: Tune, engine: str, retry: bool = False) -> str:
    from . import ENGINES

    if engine not in ENGINES:
        raise InvalidArgumentError(f"no file can be written for {engine!r}", f"one of {', '.join(ENGINES)}")
    if result.by != "step":
        raise InvalidArgumentError(f"engines know steps, these rows are of {result.by}s", "leave out --by")
    if retry and engine != "nextflow":
        raise InvalidArgumentError(f"retry is for nextflow, not for {engine}", "leave it out")
    lines = _nextflow(result, retry) if engine == "nextflow" else {"snakemake": _snakemake, "sbatch": _sbatch}[engine](result)
    return "\n".join(lines) + "\n"


def _head(result: Tune, mark: str, use: str) -> Iterator[str]:
    yield f"{mark} Written by tracer tune, from {counted(result.attempts, 'attempt')} of tasks. {use}"
    if waste := waste_text(result.waste()):
        yield f"{mark} {waste}"


def _comment(value: str) -> str:
    """In one line, whatever it has in it."""
    return visible(value).replace("*/", "* /")


def _rows(result: Tune, mark: str, indent: str = "") -> Iterator[tuple[Mapping[str, Any] | None, str]]:
    """Rows with what their comment says; without a row, the comment says why it is left out."""
    for row in sorted(result.rows, key=lambda each: (each["pipeline"] or "", each["step"] or "")):
        name = _comment(row["step"] or "(no step)")
        if row["advised_memory_bytes"] is None and row["advised_cpus"] is None and row["advised_time_s"] is None:
            reason = "; ".join(row["reasons"]) or "nothing is to be changed"
            yield None, f"{indent}{mark} {name}: {_comment(reason)}"
        else:
            yield row, name


def _memory_comment(row: Mapping[str, Any], line: Mapping[str, Any] | None = None) -> str:
    """`line`: by the size of the input, instead of the constant."""
    advised = row if line is None else line
    parts = [f"was {size(row['memory_requested_bytes'])}" if row["memory_requested_bytes"] is not None else "request not known"]
    needed = row["memory_needed_at_least_bytes"]
    parts.append(f"needs {size(needed)} or more" if needed is not None else f"peak {size(row['memory_peak_bytes'])} of {counted(row['tasks'], 'task')}")
    saved = advised["memory_gib_hours_saved"]
    if saved:
        of = row["memory_gib_hours_requested"]
        parts.append(f"{'saves' if saved > 0 else 'adds'} {abs(saved):.2f} of {of:.2f} GiB hours")
    rate = advised["failure_rate"]
    if rate is not None:
        parts.append(f"risk: at most {100 * rate:.1f} of 100 first attempts need more{other_inputs(rate)}")
    return ", ".join(parts)


def _cpus_comment(row: Mapping[str, Any]) -> str:
    saved = row["cpu_hours_saved"]
    return (("request not known" if row["cpus_requested"] is None else f"was {row['cpus_requested']:g}") + f", wants {row['cpus_wanted']:.1f} for 95 % of the time"
            + (f", saves {saved:.2f} of {row['cpu_hours_requested']:.2f} CPU hours" if saved else "")
            + "; risk: bursts take longer")


def _time_comment(row: Mapping[str, Any]) -> str:
    was = "request not known" if row["time_requested_s"] is None else f"was {row['time_requested_s'] / 60:.0f} min"
    return f"{was}, took {duration(row['time_most_s'])} at most; risk: what takes longer is killed"


def _nextflow(result: Tune, retry: bool) -> Iterator[str]:
    yield from _head(result, "//", "Use it with: nextflow run -c FILE")
    if not retry and not any(row["retried"] for row in result.rows):
        # Here, it would replace the pipeline's own.
        yield ("// No task was retried: one that needs more memory may fail. If the pipeline has no errorStrategy of its own, add one, "
               "or write this file with --retry:")
        yield f"//   {_STRATEGY}; maxRetries = 2"
    yield "process {"
    names: set[str] = set()
    for row, comment in _rows(result, "//", "  "):
        if row is None:
            yield comment
            continue
        if not _PROCESS.fullmatch(row["step"] or ""):
            yield f"  // {comment}: no name of a Nextflow process"
            continue
        if row["step"] in names:
            yield f"  // {comment}: another pipeline has a process of this name; tune it alone"
            continue
        names.add(row["step"])
        yield f"  withName: '{row['step']}' {{"
        if row["advised_memory_bytes"] is not None:
            yield f"    memory = {{ {math.ceil(row['advised_memory_bytes'] / _MIB)}.MB * task.attempt }}  // {_memory_comment(row)}"
            if retry:
                yield f"    {_STRATEGY}  // with more memory each time, instead of the pipeline's own"
                yield "    maxRetries = 2"
        if row["advised_cpus"] is not None:
            yield f"    cpus = {row['advised_cpus']}  // {_cpus_comment(row)}"
        if row["advised_time_s"] is not None:
            yield f"    time = {{ {round(row['advised_time_s'] / 60)}.min * task.attempt }}  // {_time_comment(row)}"
        yield "  }"
    yield "}"


def _snakemake(result: Tune) -> Iterator[str]:
    yield from _head(result, "#", "Use it as config.yaml of a profile: snakemake --workflow-profile FOLDER")
    resources: list[str] = []
    threads: list[str] = []
    names: set[str] = set()
    for row, comment in _rows(result, "#", "  "):
        if row is None:
            resources.append(comment)
            continue
        name = row["step"] or ""
        if not _IDENTIFIER.fullmatch(name):
            resources.append(f"  # {comment}: no name of a rule")
            continue
        if name in names:
            resources.append(f"  # {comment}: another pipeline has a rule of this name; tune it alone")
            continue
        names.add(name)
        lines = []
        if row["advised_memory_bytes"] is not None:
            # In MB, which the executors take for MiB or for 10^6 bytes: enough in both.
            constant = math.ceil(row["advised_memory_bytes"] / 1e6)
            value = f"{constant} * attempt"
            line = row["memory_per_input"]
            if line is not None:
                value = (f"max({math.ceil(LEAST_BYTES / 1e6)}, {math.ceil(line['constant_bytes'] / 1e6)} + "
                         f"{line['per_input_byte'] * 1.048576:.4g} * input.size_mb) * attempt")
            lines.append(f"    mem_mb: {json.dumps(value)}  # {_memory_comment(row, line)}")
        if row["advised_time_s"] is not None:
            lines.append(f"    runtime: {json.dumps(str(round(row['advised_time_s'] / 60)) + ' * attempt')}  # {_time_comment(row)}")
        if lines:
            resources += [f"  {json.dumps(name, ensure_ascii=False)}:", *lines]
        if row["advised_cpus"] is not None:
            threads.append(f"  {json.dumps(name, ensure_ascii=False)}: {row['advised_cpus']}  # {_cpus_comment(row)}")
    if any(not line.lstrip().startswith("#") for line in resources):
        yield "restart-times: 2  # with more memory each time"
        yield "set-resources:"
    yield from resources
    if threads:
        yield "set-threads:"
        yield from threads


def _sbatch(result: Tune) -> Iterator[str]:
    yield from _head(result, "#", "Each block belongs into the script of its step. Slurm retries nothing.")
    for row, comment in _rows(result, "#"):
        yield ""
        if row is None:
            yield comment
            continue
        yield f"# {comment}"
        # Slurm reads no more options after a line that is no comment, and none that has one behind it.
        if row["advised_memory_bytes"] is not None:
            yield f"# {_memory_comment(row)}"
            yield f"#SBATCH --mem={math.ceil(row['advised_memory_bytes'] / _MIB)}M"
        if row["advised_cpus"] is not None:
            yield f"# {_cpus_comment(row)}"
            yield f"#SBATCH --cpus-per-task={row['advised_cpus']}"
        if row["advised_time_s"] is not None:
            hours, minutes = divmod(round(row["advised_time_s"] / 60), 60)
            yield f"# {_time_comment(row)}"
            yield f"#SBATCH --time={hours:02}:{minutes:02}:00"
