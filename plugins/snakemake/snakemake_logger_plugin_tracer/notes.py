# SPDX-License-Identifier: Apache-2.0
"""Reads Snakemake's log events, and puts jobs into tracer's words."""

import dataclasses
import logging
import os
import re
import uuid
from collections.abc import Mapping

from snakemake_interface_logger_plugins.common import LogEvent

# The service cuts texts at 1 KiB; it is to see that one was longer.
MOST_OF_TEXT = 1100
# A pattern for one argument may have 256 characters, and the service sees the first 3 KiB and the last 1 KiB of all.
MOST_OF_PATTERN = 240
SEEN_FIRST, SEEN_LAST = 2900, 900
SHORT = 40


def text(value: object) -> str:
    """Cuts a text to what the protocol takes."""
    return str(value).encode("utf-8", "replace").decode().replace("\0", "?")[:MOST_OF_TEXT]


def escaped(plain: str) -> str:
    """Returns a pattern that matches this text alone."""
    return re.sub(r"([*?\\{}])", r"\\\1", plain)


def _number(values: Mapping, name: str) -> int | None:
    value = values.get(name)
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return int(value) if is_number and 0 < value < 1 << 40 else None


@dataclasses.dataclass
class Job:
    """One attempt of a job."""
    id: int
    rule: str
    wildcards: dict[str, str]
    requested: dict[str, object]
    command: str | None
    outputs: list[str]
    is_local: bool
    is_grouped: bool
    group: str | None = None
    conda_env: str | None = None
    attempt: int = 1
    task_key: str | None = None
    exit_code: int | None = None
    announced: list[list[str]] = dataclasses.field(default_factory=list)

    @property
    def task_id(self) -> str:
        # The rule snakemake.shell of rules/engines.toml gives the same one.
        return f"job {self.id}/{self.attempt}"

    def name(self, sample: str) -> str:
        """Such as "align (S1, unit=2)": no two jobs of a run have the same."""
        words = [self.wildcards[sample]] if sample in self.wildcards else []
        words += [f"{name}={value}" for name, value in self.wildcards.items() if name != sample]
        return text(f"{self.rule} ({', '.join(words)})" if words else self.rule)

    def context(self, run: dict, sample: str) -> dict:
        labels = dict(self.wildcards)
        for name, value in (("group", self.group), ("conda_env", self.conda_env)):
            if value is not None:
                labels.setdefault(name, value)
        context = {**run, "step": text(self.rule), "task": self.name(sample), "task_id": self.task_id,
                   "attempt": self.attempt, "labels": labels}
        if sample in self.wildcards:
            context["sample"] = self.wildcards[sample]
        return context

    def arguments(self) -> list[list[str]]:
        """Patterns for the arguments of the first process of the job: of its shell, if it has a command, and of the Python
        of its own that it has with run: and shadow:, with the job as one word. How odd characters are quoted there varies."""
        wildcards = ",".join(f"{name}={value}" for name, value in self.wildcards.items())
        target = re.sub(r"[^\w.,=:/+@%-]+", "*", f"{self.rule}:{wildcards}", flags=re.ASCII)
        if len(target) > MOST_OF_PATTERN:
            target = target[:MOST_OF_PATTERN] + "*"
        python = ["...", "--target-jobs", target, "...", "--attempt", str(self.attempt), "..."]
        return [python] if self.command is None else [["*", "-c", _pattern(self.command, self.outputs)], python]

    def named_in(self, script: bytes) -> int:
        """How much of the text of a script speaks of this job: no two jobs have the same output."""
        return max((len(output) for output in self.outputs
                    if re.search(re.escape(output.encode("utf-8", "replace")) + rb"(?![\w./-])", script)), default=0)


def _pattern(command: str, outputs: list[str]) -> str:
    """Matches the text after `bash -c`: the command with anything before it, or its part about an output, as no two jobs
    have the same."""
    words = command.encode("utf-8", "surrogateescape")
    begin, end = 0, len(words)
    if end > MOST_OF_PATTERN:
        begin = end - MOST_OF_PATTERN
        for output in outputs:
            name = output.encode("utf-8", "surrogateescape")[-MOST_OF_PATTERN:]
            found = words.rfind(name, max(SEEN_FIRST, end - SEEN_LAST))
            if found < 0:
                found = words.find(name, 0, SEEN_FIRST)
            if found >= 0:
                begin = min(max(found + len(name) // 2 - MOST_OF_PATTERN // 2, 0), begin)
                break
    part = words[begin:begin + MOST_OF_PATTERN]
    # A short command may be the end of another one: "… || true". Snakemake's own prefix ends like this.
    return ("*;  " if end < SHORT else "*") + escaped(part.decode("utf-8", "ignore")) + ("" if begin + len(part) == end else "*")


def _job(record: logging.LogRecord) -> Job:
    resources = record.resources if hasattr(record.resources, "get") else {}
    requested: dict[str, object] = {"millicpus": 1000 * record.threads} if isinstance(record.threads, int) else {}
    megabytes, mebibytes = _number(resources, "mem_mb"), _number(resources, "mem_mib")
    minutes = _number(resources, "runtime")
    if megabytes or mebibytes:
        requested["memory_bytes"] = megabytes * 1_000_000 if megabytes else mebibytes << 20
    if minutes:
        requested["time_ns"] = minutes * 60_000_000_000
    wildcards = {text(name): text(value) for name, value in dict(record.wildcards or {}).items()}
    return Job(record.jobid, str(record.rule_name), wildcards, requested,
               (getattr(record, "shellcmd", None) or "").strip() or None, [str(one) for one in record.output or ()],
               bool(getattr(record, "local", False)), bool(getattr(record, "indent", False)))


def note_of(record: logging.LogRecord) -> tuple | None:
    """The name of a method of Run, or of what begins one, and its arguments. None: the event is of no use."""
    event = getattr(record, "event", None)
    if event == LogEvent.JOB_INFO:
        return "job", _job(record)
    if event == LogEvent.JOB_FINISHED:
        return "finished", record.job_id
    if event == LogEvent.JOB_ERROR:
        return "failed", record.jobid, getattr(record, "container_img", None), getattr(record, "conda_env", None)
    if event == LogEvent.ERROR:
        message = record.getMessage()
        if status := re.search(r"returned non-zero exit status (\d+)", message):
            return "exit_status", int(status[1]), message
        # The only failure of a job that is no event of its own. The number 0 is left out.
        if job := re.search(r"^Job (\d*) +completed successfully, but", message, re.MULTILINE):
            return "failed", int(job[1] or 0), None, None
    if event == LogEvent.GROUP_INFO:
        return "group", text(record.group_id)
    if event == LogEvent.RUN_INFO:
        return "expected", {text(rule): count for rule, count in dict(record.stats).items() if rule != "total"}
    if event == LogEvent.WORKFLOW_STARTED:
        # Newer ones have the file in "snakefile_main", and Snakemake's own in "snakefile".
        path = getattr(record, "snakefile_main", None) or getattr(record, "snakefile", None) or "Snakefile"
        return "workflow", str(getattr(record, "workflow_id", None) or uuid.uuid4()), text(os.path.basename(str(path)))
    if event == LogEvent.RESOURCES_INFO and hasattr(record, "nodes"):
        return ("remote",)
    return None
