# SPDX-License-Identifier: Apache-2.0
"""What a session follows, from the keywords of tracer.session() and tracer.attach()."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ._arguments import (
    flag_of, labels_of, number_of, path_of, text_of, texts_of, whole_number_of, words_of,
)
from ._errors import InvalidArgumentError, InvalidTypeError

__all__ = ["announcement_of", "context_fields", "filter_rules", "options_of", "Rule"]

MOST_PID = 2**31 - 1
_MOST_UID = 2**32 - 1
_MOST_SIZE = 2**64 - 1
_MOST_SECONDS = 1e9
_LEAST_INTERVAL_S = 0.1

Rule = tuple[bool, str, Any, "dict[str, Any] | None"]

# The keyword of each subject of a rule, and what it excludes by.
SUBJECTS = ("pid", "cgroup", "uid", "exe", "tool", "argument")


def context_fields(
    *,
    pipeline: str | None = None,
    run: str | None = None,
    sample: str | None = None,
    step: str | None = None,
    labels: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Only what is said; texts and labels are checked here, so that a mistake names its keyword."""
    fields: dict[str, Any] = {}
    for name, value in (("pipeline", pipeline), ("run", run), ("sample", sample), ("step", step)):
        if value is None:
            continue
        fields[name] = text_of(name, value, empty=True)
    if labels is not None:
        fields["labels"] = labels_of(labels)
    return fields


def options_of(given: Mapping[str, object]) -> dict[str, object]:
    """The keywords of tracer.session() beside those that say what it follows; None stands for the default."""
    return {name: None if value is None else _OPTIONS[name](name, value) for name, value in given.items()}


def _size(name: str, value: object) -> int:
    return whole_number_of(name, value, 0 if name == "max_announcements" else 1, _MOST_SIZE)


def _interval(name: str, value: object) -> float:
    return number_of(name, value, _MOST_SECONDS, least=_LEAST_INTERVAL_S)


def _number(name: str, value: object) -> float:
    return number_of(name, value, _MOST_SECONDS)


_OPTIONS: dict[str, Callable[[str, object], object]] = {
    "families": lambda name, value: texts_of(name, value, '["waits"]'),
    "sample_interval": _interval,
    "max_cost_share": _number,
    **dict.fromkeys(("ring_bytes", "max_processes", "max_threads", "max_cgroups", "max_contexts", "max_labeled_threads",
                     "max_announcements"), _size),
    **dict.fromkeys(("mask_secrets", "hash_paths", "read_engine_notes", "findings"), flag_of),
    **dict.fromkeys(("tool_rules", "secret_rules", "engine_rules", "history"), path_of),
}


def _each(values: object) -> Iterable[object]:
    """One value, or a collection of them."""
    if isinstance(values, Iterable) and not isinstance(values, (str, bytes, os.PathLike)):
        return values
    return (values,)


def _checked(name: str, value: object) -> object:
    if name.endswith("pid"):
        return whole_number_of(name, value, 1, MOST_PID)
    if name.endswith("uid"):
        return whole_number_of(name, value, 0, _MOST_UID)
    if name.endswith("cgroup"):
        return _cgroup(name, value)
    if isinstance(value, (bytes, os.PathLike)):
        return value
    return text_of(name, value)


def _cgroup(name: str, value: object) -> object:
    if not os.fspath(path_of(name, value)):
        raise InvalidArgumentError(f"{name} can't be empty", "give its path below /sys/fs/cgroup")
    return value


def filter_rules(context: dict[str, Any], subjects: Mapping[str, object]) -> list[Rule]:
    """`subjects`: pid, cgroup, uid, exe, tool, argument and exclude_… of each; None stands for none. Other names in it are
    left alone."""
    rules: list[Rule] = []
    for include in (True, False):
        for subject in SUBJECTS:
            name = subject if include else f"exclude_{subject}"
            values = subjects.get(name)
            if values is None:
                continue
            labels = context if include and subject in ("pid", "cgroup") and context else None
            found = [(include, subject, _checked(name, value), labels) for value in _each(values)]
            if include and not found:
                # Nothing to follow would be no rule, and that is everything.
                raise InvalidArgumentError(f"{name} is empty: there is nothing to follow",
                                           "name the processes to follow, or give host=True for all")
            rules += found
    return rules


_CONTEXT_TEXTS = frozenset({"pipeline", "run", "step", "sample", "task", "task_id", "engine", "run_id"})
_REQUESTED_NUMBERS = frozenset({"millicpus", "memory_bytes", "time_ns"})
_REQUESTED_TEXTS = frozenset({"container", "tag"})

_Announcement = tuple[str, Any, dict[str, Any], dict[str, Any], float]


def announcement_of(keys: Mapping[str, Any], context: object, requested: object, expires_after: object) -> _Announcement:
    """What Session.announce() was given. keys: those that say which processes; None stands for not given."""
    given = {key: value for key, value in keys.items() if value is not None}
    if len(given) != 1:
        raise InvalidArgumentError(f"{' and '.join(given)} are given together, but only one may select the processes" if given
                                   else "the processes are missing", f"give exactly one of {', '.join(keys)}")
    ((key, value),) = given.items()
    return (key, _announced(key, value), _fields("context", context, _context_value),
            _fields("requested", requested, _requested_value), number_of("expires_after", expires_after, _MOST_SECONDS))


def submission_of(context: object, requested: object, expected: object,
                  expires_after: object) -> tuple[dict[str, Any], dict[str, Any], dict[str, int], float]:
    """What Session.submit() was given."""
    return (_fields("context", context, _context_value), _fields("requested", requested, _requested_value),
            _fields("expected", expected, lambda step, tasks: whole_number_of(f"the tasks of {step}", tasks, 0, _MOST_SIZE)),
            number_of("expires_after", expires_after, _MOST_SECONDS))


def _announced(key: str, value: Any) -> Any:
    if key == "pid":
        return whole_number_of(key, value, 1, MOST_PID)
    if key == "container":
        return text_of(key, value)
    if key == "slurm_job":
        return value if isinstance(value, str) else str(whole_number_of(key, value, 1, _MOST_SIZE))
    if key == "cgroup":
        return _cgroup(key, value)
    if key != "below":
        return path_of(key, value)
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise InvalidTypeError("below is not a pair", "give the pid of a process, and words of the arguments below it")
    return whole_number_of("the pid of below", value[0], 1, MOST_PID), words_of("below", value[1])


def _fields(name: str, given: object, value_of: Callable[[str, object], object]) -> dict[str, Any]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InvalidTypeError(f"{name} can't be a {type(given).__name__}", "give a mapping")
    return {key: value_of(key, value) for key, value in given.items() if value is not None}


def _context_value(name: str, value: object) -> object:
    if name in _CONTEXT_TEXTS:
        return text_of(name, value, empty=True)
    if name == "attempt":
        return whole_number_of(name, value, 1, 2**32 - 1)
    if name == "labels":
        return labels_of(value)
    raise InvalidTypeError(f"a context has no {name!r}", f"it has {', '.join(sorted(_CONTEXT_TEXTS))}, attempt and labels")


def _requested_value(name: str, value: object) -> object:
    if name in _REQUESTED_NUMBERS:
        return whole_number_of(name, value, 0, _MOST_SIZE)
    if name in _REQUESTED_TEXTS:
        return text_of(name, value, empty=True)
    raise InvalidTypeError(f"there is no request {name!r}",
                           f"name some of {', '.join(sorted(_REQUESTED_NUMBERS | _REQUESTED_TEXTS))}")
