# SPDX-License-Identifier: Apache-2.0
"""What this machine allows: tracer.check()."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _core
from ._arguments import checked_call, path_of
from ._errors import Problem
from ._state import FamilyState

if TYPE_CHECKING:
    from ._events import Host

__all__ = ["CheckItem", "CheckReport", "check", "check_engine_rules"]


@dataclass(frozen=True, slots=True)
class CheckItem:
    """One thing that libtracer needs or can use, and whether this machine has it."""

    name: str
    """"capability CAP_BPF", "tracepoint sched_prepare_exec" …"""
    required: bool
    available: bool
    effect: str
    """What it enables, or which fields are None without it."""
    problem: Problem | None
    """What is missing and how to fix it; None if it is available."""


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What this machine and this process allow. Its repr is the text of `tracerd check`; true if tracing works."""

    host: Host
    items: tuple[CheckItem, ...]
    families: tuple[FamilyState, ...]
    """Their state after loading; empty: a required item is missing."""

    @property
    def usable(self) -> bool:
        """Every required item is available."""
        return all(item.available for item in self.items if item.required)

    @property
    def missing(self) -> tuple[CheckItem, ...]:
        """The missing items, required ones first."""
        return tuple(sorted((item for item in self.items if not item.available), key=lambda item: not item.required))

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The problems of required items that are missing, each with its code and its fix."""
        return tuple(item.problem for item in self.items if item.required and item.problem is not None)

    def __bool__(self) -> bool:
        return self.usable

    def __str__(self) -> str:
        host = self.host
        lines = [f"Linux {host.kernel_release} on {host.architecture}, {host.cpu_count} CPUs", ""]
        for item in self.items:
            state = "ok" if item.available else "MISSING" if item.required else "absent"
            lines.append(f"{state:8}{item.name}: {item.effect}")
            if item.problem is not None:
                lines.append(f"          {item.problem.what} [{item.problem.code}]")
                if item.problem.fix:
                    lines.append(f"          fix: {item.problem.fix}")
                for i, line in enumerate(item.problem.detail.splitlines()):
                    lines.append(f"          {'        ' if i else 'detail: '}{line}")
        lines += ["", "tracing works here" if self.usable
                  else "exact tracing does not work here: items marked MISSING are required"]
        return "\n".join(lines)

    __repr__ = __str__

    def __rich__(self) -> Any:
        from rich.table import Table
        from rich.text import Text

        table = Table(title=f"Linux {self.host.kernel_release}, {self.host.cpu_count} CPUs", title_justify="left")
        for heading in ("", "what", "what it makes possible"):
            table.add_column(heading)
        for item in self.items:
            state, style = (("ok", "green") if item.available else ("MISSING", "bold red") if item.required
                            else ("absent", "yellow"))
            effect = Text(item.effect)
            if item.problem is not None:
                effect.append(f"\n{item.problem.what} [{item.problem.code}]", "dim")
                if item.problem.fix:
                    effect.append(f"\nfix: {item.problem.fix}", "bold")
            table.add_row(Text(state, style), Text(item.name), effect)
        table.caption = "tracing works here" if self.usable else "exact tracing does not work here"
        return table


def check() -> CheckReport:
    """What this machine allows, what is missing, and how to fix it. Loads and attaches the programs for a moment."""
    items, families = _core.check()
    return CheckReport(_core.this_host(), tuple(CheckItem(*item) for item in items),
                       tuple(FamilyState(*each) for each in families))


@checked_call
def check_engine_rules(path: str | bytes | os.PathLike[str]) -> None:
    """Checks a file of your own rules for engines, and tries its examples. Raises RulesError with all mistakes, each
    with its line; RecordingError if it can't be read."""
    _core.check_engine_rules(path_of("path", path))
