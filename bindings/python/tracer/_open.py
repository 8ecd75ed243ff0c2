# SPDX-License-Identifier: Apache-2.0
"""tracer.session() and tracer.connect(): open a session."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from typing import Any

from . import _core
from ._arguments import checked_call, flag_of, path_of
from ._errors import InvalidArgumentError
from ._options import SUBJECTS, context_fields, filter_rules, options_of
from ._session import Session

__all__ = ["connect", "session", "session_of_command"]

Path = str | bytes | os.PathLike[str]


@checked_call
def session(
    *,
    pipeline: str | None = None,
    run: str | None = None,
    sample: str | None = None,
    step: str | None = None,
    labels: Mapping[str, str] | None = None,
    record: Path | None = None,
    source: Path | None = None,
    pid: int | Collection[int] | None = None,
    cgroup: Path | Collection[Path] | None = None,
    uid: int | Collection[int] | None = None,
    exe: str | Collection[str] | None = None,
    tool: str | Collection[str] | None = None,
    argument: str | Collection[str] | None = None,
    exclude_pid: int | Collection[int] | None = None,
    exclude_cgroup: Path | Collection[Path] | None = None,
    exclude_uid: int | Collection[int] | None = None,
    exclude_exe: str | Collection[str] | None = None,
    exclude_tool: str | Collection[str] | None = None,
    exclude_argument: str | Collection[str] | None = None,
    host: bool = False,
    families: Collection[str] | None = None,
    sample_interval: float | None = None,
    max_cost_share: float | None = None,
    ring_bytes: int | None = None,
    max_processes: int | None = None,
    max_threads: int | None = None,
    max_cgroups: int | None = None,
    max_contexts: int | None = None,
    max_labeled_threads: int | None = None,
    max_announcements: int | None = None,
    mask_secrets: bool = True,
    hash_paths: bool = False,
    read_engine_notes: bool = True,
    findings: bool = True,
    history: Path | None = None,
    tool_rules: Path | None = None,
    secret_rules: Path | None = None,
    engine_rules: Path | None = None,
) -> Session:
    """Opens a session, which begins at once.

    By default, it follows this Python process and everything that it starts. `pid`, `cgroup`, `uid`, `exe`, `tool` and
    `argument` follow other processes instead, `host=True` follows all, and `exclude_…` excludes some. `pipeline`,
    `run`, `sample`, `step` and `labels` label the processes that are followed by pid or cgroup, including what this
    process starts.

    `record`: a file for the recording, of which an older one is kept as FILE.1; the default is a temporary one, which
    is deleted with the session and its tables. `source`: "kernel", "service" (a running `tracerd serve`), "proc" (/proc, looked at
    again and again: sums are lower bounds), or a recording to replay. By default the first of the three that works, if
    this process lacks the rights or the kernel something; the environment variable TRACER_SOURCE forces one. `tier` of
    the session says which it is, and `tier_problems` why; docs/tiers.md compares them. By a service, only the processes that this user may see are followed, secrets are masked, and options of the
    kernel's part have no effect: `families`, `sample_interval`, `max_cost_share`, sizes and rules. `families`: names of
    docs/families.md. `sample_interval`: seconds between snapshots (default 1.0). `max_cost_share`: the share of one CPU
    above which the session disables the most expensive family. `hash_paths`: events have hashes in place of paths and
    addresses, and "***" in place of arguments (docs/security.md). The other keywords are those of SessionOptions in C++.

    Raises NotPermittedError (with the capability that is missing), UnsupportedKernelError, ServiceError,
    InvalidArgumentError, RecordingError, RulesError.
    """
    subjects = {**locals()}
    context = context_fields(pipeline=pipeline, run=run, sample=sample, step=step, labels=labels)
    includes = any(subjects[name] is not None for name in SUBJECTS)
    tiers, recording = _tiers_of(source)
    if record is not None:
        _check_record(record, recording)
    if flag_of("host", host) and includes:
        raise InvalidArgumentError("host=True follows everything: it can't be combined with what else to follow",
                                   "leave host out, or pid, cgroup and the others")
    follows = None
    if not includes and not host and recording is None:
        follows = os.getpid()
        subjects["pid"] = follows
    options = options_of({
        "families": families, "sample_interval": sample_interval, "max_cost_share": max_cost_share,
        "ring_bytes": ring_bytes, "max_processes": max_processes, "max_threads": max_threads,
        "max_cgroups": max_cgroups, "max_contexts": max_contexts,
        "max_labeled_threads": max_labeled_threads, "max_announcements": max_announcements,
        "mask_secrets": mask_secrets, "hash_paths": hash_paths, "read_engine_notes": read_engine_notes,
        "findings": findings, "history": history, "tool_rules": tool_rules,
        "secret_rules": secret_rules, "engine_rules": engine_rules,
    })
    options |= {"rules": filter_rules(context, subjects), "tiers": tiers,
                "service_socket": _core.service_socket_to_try()}
    return Session(options, context, record, recording, follows)


def session_of_command(
    pid: int, *, pipeline: str | None, run: str | None, sample: str | None, step: str | None,
    labels: Mapping[str, str] | None, record: Path | None, **options: Any,
) -> Session:
    """For tracer.run(): one that follows a command, which is a run. `options`: of session()."""
    context = context_fields(pipeline=pipeline, run=run, sample=sample, step=step, labels=labels)
    if record is not None:
        _check_record(record, None)
    rules = filter_rules(context, {"pid": pid})
    tiers = {"tiers": _core.tiers_to_try(), "service_socket": _core.service_socket_to_try()}
    return Session({"rules": rules, "command_pid": pid, **options_of(options), **tiers}, context, record, None, None)


@checked_call
def connect(
    socket: Path | None = None,
    *,
    record: Path | None = None,
    pid: int | Collection[int] | None = None,
    cgroup: Path | Collection[Path] | None = None,
    uid: int | Collection[int] | None = None,
    exe: str | Collection[str] | None = None,
    tool: str | Collection[str] | None = None,
    argument: str | Collection[str] | None = None,
    exclude_pid: int | Collection[int] | None = None,
    exclude_cgroup: Path | Collection[Path] | None = None,
    exclude_uid: int | Collection[int] | None = None,
    exclude_exe: str | Collection[str] | None = None,
    exclude_tool: str | Collection[str] | None = None,
    exclude_argument: str | Collection[str] | None = None,
    hash_paths: bool = False,
    findings: bool = True,
    history: Path | None = None,
) -> Session:
    """Opens a session of all that this user may see of the service (`tracerd serve`) that listens on `socket`, without
    rights of its own: for root everything, for others their own runs, tasks and processes. It begins with what lives now.

    `socket`: the default is the environment variable TRACER_SOCKET, or /run/tracer/tracer.sock. `pid`, `cgroup`, `uid`,
    `exe`, `tool`, `argument` and `exclude_…`: the service sends only what they take in. The other keywords are those of
    tracer.session(). When the service was restarted, the session reconnects, and states what it missed as a Loss with
    the cause "service_gap".

    Raises ServiceError if no service listens, speaks another version or refuses, NotPermittedError if the socket is not
    for this user, InvalidArgumentError, RecordingError."""
    subjects = {**locals()}
    place = _core.service_socket_to_try() if socket is None else path_of("socket", socket)
    if record is not None:
        path_of("record", record)
    rules = filter_rules({}, subjects)
    options = options_of({"hash_paths": hash_paths, "findings": findings, "history": history})
    return Session({**options, "rules": rules, "tiers": ["service"], "service_socket": place}, {}, record, None, None)


def _tiers_of(source: Path | None) -> tuple[list[str] | None, Path | None]:
    """Where live events come from, or a recording."""
    if source is None:
        return _core.tiers_to_try(), None
    if source in ("kernel", "service", "proc"):
        return [os.fsdecode(source)], None
    if os.path.exists(path_of("source", source)):
        return None, source
    raise InvalidArgumentError(f"there is no source {source!r}",
                               'give "kernel", "service", "proc", or the path of a recording')


def _check_record(record: Path, recording: Path | None) -> None:
    path_of("record", record)
    if recording is not None and os.path.exists(record) and os.path.samefile(record, recording):
        raise InvalidArgumentError(f"record is the source itself, {os.fsdecode(record)}, which would be overwritten",
                                   "name another file")
