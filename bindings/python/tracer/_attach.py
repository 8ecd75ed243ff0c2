# SPDX-License-Identifier: Apache-2.0
"""Following running processes: tracer.attach()."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from typing import Any

from ._arguments import checked_call, text_of, whole_number_of
from ._errors import InvalidArgumentError
from ._open import session
from ._session import Session

__all__ = ["attach"]

Path = str | bytes | os.PathLike[str]

_CGROUPS = "/sys/fs/cgroup"
# Deeper than any container runtime or scheduler makes them, and more than a machine has.
_MOST_DEPTH = 16
_MOST_FOLDERS = 200_000


@checked_call
def attach(
    *,
    pid: int | None = None,
    cgroup: Path | None = None,
    container: str | None = None,
    slurm_job: str | int | None = None,
    pipeline: str | None = None,
    run: str | None = None,
    sample: str | None = None,
    step: str | None = None,
    labels: Mapping[str, str] | None = None,
    record: Path | None = None,
    exclude_pid: int | Collection[int] | None = None,
    exclude_cgroup: Path | Collection[Path] | None = None,
    exclude_uid: int | Collection[int] | None = None,
    exclude_exe: str | Collection[str] | None = None,
    exclude_tool: str | Collection[str] | None = None,
    exclude_argument: str | Collection[str] | None = None,
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
    """Opens a session that follows running processes and everything that they start: the tree of a process, a cgroup, a
    container (its id, or its first 12 or more characters), or a Slurm job. Give exactly one of these; the other
    keywords are those of tracer.session().

    Accounts include what processes consumed before, if the kernel keeps it; `attached_ns` is the time since when they
    are followed. Raises InvalidArgumentError if there is no such process, cgroup, container or job, and the errors of
    tracer.session()."""
    options: dict[str, Any] = {**locals()}
    given = {name: options.pop(name) for name in ("pid", "cgroup", "container", "slurm_job")}
    said = [name for name, value in given.items() if value is not None]
    if len(said) != 1:
        raise InvalidArgumentError(f"{' and '.join(said)} are given together" if said else "the target is missing",
                                   f"give exactly one of {', '.join(given)}")
    if pid is not None:
        return session(pid=pid, **options)
    if cgroup is not None:
        return session(cgroup=cgroup, **options)
    if container is not None:
        return session(cgroup=_folders_of_container(container), **options)
    return session(cgroup=_folders_of_job(slurm_job), **options)


def _folders_of_container(identity: str) -> list[str]:
    if len(text_of("container", identity)) < 12 or not all(letter in "0123456789abcdef" for letter in identity):
        raise InvalidArgumentError(f"container can't be {identity!r}",
                                   "give at least 12 characters of its id, as docker ps and podman ps show it")

    def is_it(name: str) -> bool:
        # docker-ID.scope, libpod-ID.scope, cri-containerd-ID.scope, or ID alone.
        last = name.removesuffix(".scope").rpartition("-")[2]
        return last.startswith(identity) and len(last) == 64

    return _found(is_it, f"container {identity}", "look it up with docker ps or podman ps on this machine")


def _folders_of_job(job: object) -> list[str]:
    identity = job if isinstance(job, str) else str(whole_number_of("slurm_job", job, 1, 2**64 - 1))
    if not (identity.isascii() and identity.isdecimal()):
        raise InvalidArgumentError(f"slurm_job can't be {identity!r}", "give its number, as squeue shows it")
    return _found(lambda name: name == f"job_{identity}", f"Slurm job {identity}",
                  "look it up with squeue; its node must be this machine, and Slurm must use cgroups")


def _found(is_it: Any, what: str, fix: str) -> list[str]:
    """Those of the hierarchy that the library follows: version 2 where it has them, else one of version 1."""
    found: list[str] = []
    folders = [(_CGROUPS, 0)]
    seen = 0
    while folders and seen < _MOST_FOLDERS:
        folder, depth = folders.pop()
        try:
            names = [entry.name for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False)]
        except OSError:
            continue
        seen += len(names)
        for name in names:
            path = f"{folder}/{name}"
            if is_it(name):
                found.append(path)
            elif depth < _MOST_DEPTH:
                folders.append((path, depth + 1))
    if not found:
        raise InvalidArgumentError.of("TRC106", None, f"there is no cgroup of {what}", fix)
    # Of version 1 each controller has a hierarchy of its own, with the same processes.
    for preferred in ("memory", "pids"):
        of_controller = [path for path in found if path.startswith(f"{_CGROUPS}/{preferred}/")]
        if of_controller:
            return of_controller
    return found
