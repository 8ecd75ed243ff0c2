# SPDX-License-Identifier: Apache-2.0
"""Cost centers: a rules file says whose money it is, by pipeline, user, folder, account and tags."""

from __future__ import annotations

import fnmatch
import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .._errors import Problem, RecordingError, RulesError

__all__ = ["NONE", "Centers", "read_centers"]

NONE = "none"
_LISTS = ("pipelines", "users", "folders", "accounts")
_FIELDS = {"pipelines": "pipeline", "users": "user", "folders": "folder", "accounts": "account"}


@dataclass(frozen=True)
class _Rule:
    name: str
    lists: Mapping[str, list[str]]
    tags: Mapping[str, str]

    def fits(self, facts: Mapping[str, Any]) -> bool:
        """Every condition; within a list, any glob."""
        for key, globs in self.lists.items():
            value = facts.get(_FIELDS[key])
            if value is None or not any(fnmatch.fnmatchcase(str(value), glob) for glob in globs):
                return False
        tags = facts.get("tags") or {}
        return all(fnmatch.fnmatchcase(str(tags.get(key, "")), glob) and key in tags for key, glob in self.tags.items())


class Centers:
    """The first rule that fits counts; else "none"."""

    def __init__(self, rules: list[_Rule]) -> None:
        self._rules = rules

    def center_of(self, facts: Mapping[str, Any]) -> str:
        return next((rule.name for rule in self._rules if rule.fits(facts)), NONE)

    @property
    def with_tags(self) -> bool:
        return any(rule.tags for rule in self._rules)


def read_centers(path: str) -> Centers:
    """Raises RulesError with all mistakes, also examples (`test`) that do not come out as they say."""
    try:
        with open(path, "rb") as file:
            content = tomllib.load(file)
    except OSError as error:
        raise RecordingError.of("TRC110", error.errno, f"can't read {path}: {error.strerror}", "name a rules file") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RulesError([Problem("TRC115", None, f"{path}: {error}", "correct the file", "")]) from None
    wrong = []
    if content.get("schema") != 1:
        wrong.append("schema is not 1")
    wrong += [f"unknown key {key}" for key in content if key not in ("schema", "center")]
    entries = content.get("center")
    if not isinstance(entries, list) or not entries or not all(isinstance(each, dict) for each in entries):
        wrong.append("it has no [[center]], or center is something else")
        entries = []
    rules, tests = [], []
    for number, entry in enumerate(entries, 1):
        where = f"[[center]] {number}"
        wrong += [f"{where}: unknown key {key}" for key in entry if key not in (*_LISTS, "name", "tags", "test")]
        if not isinstance(entry.get("name"), str) or not entry["name"]:
            wrong.append(f"{where}: name is missing")
            continue
        lists = {key: entry[key] for key in _LISTS if key in entry}
        wrong += [f"{where}: {key} is no list of texts" for key, value in lists.items()
                  if not isinstance(value, list) or not all(isinstance(each, str) for each in value)]
        tags = entry.get("tags", {})
        if not isinstance(tags, dict) or not all(isinstance(each, str) for each in tags.values()):
            wrong.append(f"{where}: tags is no table of texts")
        if not lists and not tags:
            wrong.append(f"{where}: it has no condition: one of {', '.join(_LISTS)}, tags")
        test = entry.get("test", {})
        if not isinstance(test, dict) or not all(isinstance(test.get(key, []), list) and all(isinstance(each, dict) for each in test.get(key, []))
                                                 for key in ("match", "other")):
            wrong.append(f"{where}: test is no table with the lists match and other, of tables")
            continue
        rules.append(_Rule(entry["name"], lists, tags))
        tests += [(where, entry["name"], True, each) for each in test.get("match", [])]
        tests += [(where, entry["name"], False, each) for each in test.get("other", [])]
    centers = Centers(rules)
    if not wrong:
        wrong += [f"{where}: the example {json.dumps(each)} comes out as {found}"
                  for where, name, fits, each in tests if ((found := centers.center_of(each)) == name) != fits]
    if wrong:
        raise RulesError([Problem("TRC115", None, f"{path}: {each}", "docs/cost.md has an example", "") for each in wrong])
    return centers
