# SPDX-License-Identifier: Apache-2.0
"""What counts as waste, and from when on: findings.toml."""

from __future__ import annotations

import fnmatch
import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .._errors import Problem, RecordingError, RulesError

__all__ = ["CODES", "Rule", "Rules", "read_rules"]

CODES = ("never-worked", "idle-since", "held", "trickle", "underfilled", "floor", "stuck", "unattached", "draining",
         "not-registered", "unobserved")
BUILT_IN = Path(__file__).with_name("findings.toml")
_LIMITS = {
    "never-worked": ("least_s", "latest_watch_s", "most_system_millicpus"),
    "idle-since": ("least_s", "most_system_millicpus"),
    "trickle": ("least_s", "most_system_millicpus"),
    "underfilled": ("least_s", "most_percent"),
    "stuck": ("between_looks_s", "youngest_machine_s"),
}


@dataclass(frozen=True)
class Rule:
    """Of one code."""

    code: str
    text: str
    advice: str
    limits: Mapping[str, int]

    def say(self, text: str, facts: Mapping[str, object]) -> str:
        """`text` with the facts; parts in brackets only where all of theirs are known."""
        known = {name: str(value) for name, value in facts.items() if value is not None}

        def part(match: re.Match[str]) -> str:
            names = re.findall(r"{(\w+)}", match[1])
            return match[1] if all(name in known for name in names) else ""

        return re.sub(r"{(\w+)}", lambda match: known.get(match[1], "?"), re.sub(r"\[([^\]]*)\]", part, text))


@dataclass(frozen=True)
class Rules:
    of: Mapping[str, Rule] = field(default_factory=dict)
    system: tuple[str, ...] = ()
    """Globs on cgroups of the machine's own services."""
    services: tuple[str, ...] = ()
    """Globs on names of their units in a system.slice."""
    reasons: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By source: globs on why a job is stuck."""

    def limit(self, code: str, name: str) -> int:
        return self.of[code].limits[name]

    def is_system(self, cgroup: str) -> bool:
        # A group below a service's own may be a container that it has started.
        unit = re.search(r"/system\.slice/(?:system-[^/]+\.slice/)?([^/]+)\.service$", cgroup)
        return any(fnmatch.fnmatchcase(cgroup, glob) for glob in self.system) or unit is not None and any(
            fnmatch.fnmatchcase(unit[1], glob) for glob in self.services)

    def is_stuck(self, source: str, reason: str) -> bool:
        return any(fnmatch.fnmatchcase(reason, glob) for glob in self.reasons.get(source, ()))


def read_rules(path: str | Path = BUILT_IN) -> Rules:
    """Raises RulesError with all mistakes, also examples (`test`) that do not come out as they say."""
    try:
        with open(path, "rb") as file:
            content = tomllib.load(file)
    except OSError as error:
        raise RecordingError.of("TRC110", error.errno, f"can't read {path}: {error.strerror}", "name a rules file") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RulesError([Problem("TRC115", None, f"{path}: {error}", "correct the file", "")]) from None
    wrong: list[str] = []
    if content.get("schema") != 1:
        wrong.append("schema is not 1")
    wrong += [f"unknown key {key}" for key in content if key not in ("schema", "finding", "system", "reason")]
    of: dict[str, Rule] = {}
    for where, entry in _entries(content, "finding", ("code", "text", "advice", "limits"), wrong):
        code, limits = entry.get("code"), entry.get("limits", {})
        if code not in CODES:
            wrong.append(f"{where}: there is no finding {code!r}: one of {', '.join(CODES)}")
            continue
        if not all(isinstance(entry.get(key), str) and entry[key] for key in ("text", "advice")):
            wrong.append(f"{where}: text and advice must be texts")
            continue
        names = _LIMITS.get(code, ("least_s",))
        if not isinstance(limits, dict) or set(limits) != set(names) or not all(type(each) is int and each >= 0
                                                                                for each in limits.values()):
            wrong.append(f"{where}: limits must be whole numbers for {', '.join(names)}")
            continue
        of[code] = Rule(code, entry["text"], entry["advice"], limits)
    wrong += [f"the finding {code} is missing" for code in CODES if code not in of]
    system: list[str] = []
    services: list[str] = []
    reasons: dict[str, list[str]] = {}
    tests: list[tuple[str, str | None, bool, str]] = []
    for where, entry in _entries(content, "system", ("cgroups", "services", "why", "test"), wrong):
        system += _texts(entry, "cgroups", where, wrong) if "cgroups" in entry or "services" not in entry else []
        services += _texts(entry, "services", where, wrong) if "services" in entry else []
        tests += _tests(entry, where, None, "system", wrong)
    for where, entry in _entries(content, "reason", ("source", "reasons", "test"), wrong):
        if entry.get("source") not in ("batch", "slurm"):
            wrong.append(f"{where}: source is not batch or slurm")
            continue
        reasons.setdefault(entry["source"], []).extend(_texts(entry, "reasons", where, wrong))
        tests += _tests(entry, where, entry["source"], "stuck", wrong)
    rules = Rules(of, tuple(system), tuple(services), {source: tuple(globs) for source, globs in reasons.items()})
    if not wrong:
        wrong += [f"{where}: the example {json.dumps(each)} comes out as the opposite" for where, source, fits, each in tests
                  if (rules.is_system(each) if source is None else rules.is_stuck(source, each)) != fits]
    if wrong:
        raise RulesError([Problem("TRC115", None, f"{path}: {each}", "docs/sweep.md explains the file", "") for each in wrong])
    return rules


def _entries(content: Mapping[str, Any], key: str, known: tuple[str, ...], wrong: list[str]) -> list[tuple[str, dict[str, Any]]]:
    entries = content.get(key, [])
    if not isinstance(entries, list) or not all(isinstance(each, dict) for each in entries):
        wrong.append(f"{key} is no list of tables")
        return []
    found = [(f"[[{key}]] {number}", entry) for number, entry in enumerate(entries, 1)]
    wrong += [f"{where}: unknown key {each}" for where, entry in found for each in entry if each not in known]
    return found


def _texts(entry: Mapping[str, Any], key: str, where: str, wrong: list[str]) -> list[str]:
    value = entry.get(key)
    if isinstance(value, list) and value and all(isinstance(each, str) for each in value):
        return value
    wrong.append(f"{where}: {key} is no list of texts")
    return []


def _tests(entry: Mapping[str, Any], where: str, source: str | None, fits: str,
           wrong: list[str]) -> list[tuple[str, str | None, bool, str]]:
    test = entry.get("test")
    if not isinstance(test, dict) or set(test) != {fits, "other"}:
        wrong.append(f"{where}: test is no table with the lists {fits} and other")
        return []
    return [(where, source, key == fits, each) for key in test for each in _texts(test, key, where, wrong)]
