# SPDX-License-Identifier: Apache-2.0
"""What a session follows, from the keywords of tracer.session() and tracer.attach()."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from ._errors import InvalidArgumentError

__all__ = ["context_fields", "filter_rules", "Rule"]

Rule = tuple[bool, str, Any, "dict[str, Any] | None"]

# The keyword of each subject of a rule, and what it excludes by.
_SUBJECTS = ("pid", "cgroup", "uid", "exe", "tool", "argument")


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
        if not isinstance(value, str):
            raise InvalidArgumentError(f"{name} is a text, not {type(value).__name__}")
        fields[name] = value
    if labels is not None:
        if not isinstance(labels, Mapping) or not all(
            isinstance(key, str) and isinstance(value, str) for key, value in labels.items()
        ):
            raise InvalidArgumentError("labels is a mapping of texts to texts")
        fields["labels"] = dict(labels)
    return fields


def _each(name: str, values: object) -> Iterable[object]:
    """One value, or a collection of them."""
    if isinstance(values, (str, bytes, os.PathLike)) or isinstance(values, int):
        return (values,)
    if isinstance(values, Iterable):
        return values
    raise InvalidArgumentError(f"{name} is a value or a collection of values, not {type(values).__name__}")


def _checked(name: str, value: object) -> object:
    if name in ("pid", "uid"):
        if not isinstance(value, int) or isinstance(value, bool) or value < (1 if name == "pid" else 0):
            raise InvalidArgumentError(f"{name} can't be {value!r}: it is a number that the system shows")
    elif not isinstance(value, (str, bytes, os.PathLike)):
        raise InvalidArgumentError(f"{name} can't be {value!r}: it is a text")
    return value


def filter_rules(context: dict[str, Any], subjects: Mapping[str, object]) -> list[Rule]:
    """`subjects`: pid, cgroup, uid, exe, tool, argument and exclude_… of each; None stands for none."""
    rules: list[Rule] = []
    for include in (True, False):
        for subject in _SUBJECTS:
            name = subject if include else f"exclude_{subject}"
            values = subjects.get(name)
            if values is None:
                continue
            labels = context if include and subject in ("pid", "cgroup") and context else None
            rules.extend((include, subject, _checked(name, value), labels) for value in _each(name, values))
    return rules
