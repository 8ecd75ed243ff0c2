# SPDX-License-Identifier: Apache-2.0
"""The package's exceptions: one class for each family of error codes (docs/errors.md)."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "TracerError", "InvalidArgumentError", "NotPermittedError", "UnsupportedKernelError", "OutOfMemoryError",
    "RecordingError", "RulesError", "CommandError", "CallbackError", "ServiceError", "SessionClosedError", "InternalError",
    "InvalidTypeError", "MissingPackageError", "BillError", "WhatIfError", "InventoryError", "LakeError", "Problem",
]


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is missing or wrong."""

    code: str
    """"TRC102": fixed forever; docs/errors.md explains each."""
    errno: int | None
    """errno of the system call that failed; None if none failed."""
    what: str
    """What was tried and how it failed."""
    fix: str
    """How to fix it; may be empty."""
    detail: str
    """More, such as the end of the verifier's log; may be empty."""

    def __str__(self) -> str:
        lines = [f"{self.code}: {self.what}"]
        if self.fix:
            lines.append(f"  Fix: {self.fix}")
        if self.detail:
            lines.append(self.detail)
        return "\n".join(lines)
class TracerError(Exception):
    """Base class of all errors. Carries everything that is missing, not just the first problem."""

    def __init__(self, problems: tuple[Problem, ...] | list[Problem] | str, fix: str = "") -> None:
        """What the library found, or in words what is wrong and how to fix it."""
        if isinstance(problems, str):
            problems = (Problem(self._default_code, None, problems, fix, ""),)
        self.problems: tuple[Problem, ...] = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))

    _default_code = "TRC101"

    @classmethod
    def of(cls, code: str, errno: int | None, what: str, fix: str) -> TracerError:
        """With one problem."""
        return cls((Problem(code, errno, what, fix, ""),))

    @property
    def code(self) -> str:
        """Code of the first problem: "TRC102"."""
        return self.problems[0].code

    @property
    def fix(self) -> str:
        """Fix of the first problem; may be empty."""
        return self.problems[0].fix

    @property
    def errno(self) -> int | None:
        """errno of the first problem; None if no system call failed."""
        return self.problems[0].errno

    def __reduce__(self) -> tuple[type[TracerError], tuple[tuple[Problem, ...]]]:
        return type(self), (self.problems,)
class MissingPackageError(TracerError, ImportError):
    """This call needs an optional package that is not installed (TRC101)."""


class InternalError(TracerError):
    """A defect in libtracer (TRC100)."""


class InvalidArgumentError(TracerError, ValueError):
    """An option or an argument that is not valid, or that contradicts another (TRC101, TRC106, TRC107, TRC122)."""


class InvalidTypeError(InvalidArgumentError, TypeError):
    """An argument of a wrong type, or an unknown keyword (TRC101)."""


class NotPermittedError(TracerError, PermissionError):  # type: ignore[override]
    """A capability is missing (TRC102)."""


class UnsupportedKernelError(TracerError):
    """The kernel lacks something or refused a program, /proc belongs to another pid namespace, or no GPU reports its use
    (TRC103 to TRC105, TRC118, TRC119)."""


class OutOfMemoryError(TracerError, MemoryError):
    """Memory was refused (TRC108)."""


class RecordingError(TracerError):
    """A file that can't be read or written, or is not a recording (TRC110 to TRC114, TRC117)."""


class RulesError(TracerError, ValueError):
    """A rules file has a mistake (TRC115)."""


class CallbackError(TracerError):
    """A callback called a method that waits for callbacks (TRC116)."""


class BillError(TracerError, ValueError):
    """A bill, a table of tasks or a price list that can't be used as it is (TRC130 to TRC132)."""


class ServiceError(TracerError):
    """No service listens, or it refused a request (TRC140 to TRC142)."""


class WhatIfError(TracerError, ValueError):
    """A recording that can't be replayed, or machines of which no price or size is known (TRC135, TRC136)."""


class InventoryError(TracerError, ValueError):
    """An answer of a provider that can't be used as it is, or none (TRC137, TRC138)."""


class LakeError(TracerError):
    """A lake or an outbox that refuses, or does not answer (TRC150 to TRC155)."""


class CommandError(TracerError):
    """The command does not exist, or can't be executed (TRC120, TRC121)."""


class SessionClosedError(TracerError):
    """The session has ended, or belongs to another process: it was opened before a fork."""

    def __init__(self, problems: tuple[Problem, ...] | list[Problem] | str | bool = False) -> None:
        if problems is True:
            problems = (
                Problem("TRC101", None, "the session belongs to the process that this one was forked from",
                        "make a session of its own in the child", ""),
            )
        elif problems is False:
            problems = (
                Problem("TRC101", None, "the session is closed",
                        "use it within its with statement, or before close(); tables and the report remain", ""),
            )
        super().__init__(problems)


_BY_NUMBER: dict[int, type[TracerError]] = {
    100: InternalError,
    101: InvalidArgumentError,
    102: NotPermittedError,
    103: UnsupportedKernelError,
    104: UnsupportedKernelError,
    105: UnsupportedKernelError,
    106: InvalidArgumentError,
    107: InvalidArgumentError,
    108: OutOfMemoryError,
    110: RecordingError,
    111: RecordingError,
    112: RecordingError,
    113: RecordingError,
    114: RecordingError,
    115: RulesError,
    116: CallbackError,
    117: RecordingError,
    118: UnsupportedKernelError,
    119: UnsupportedKernelError,
    120: CommandError,
    121: CommandError,
    122: InvalidArgumentError,
    140: ServiceError,
    141: ServiceError,
    142: ServiceError,
}


def error_of(parts: list[tuple[int, int, str, str, str]]) -> TracerError:
    """The exception for what the library has thrown; the first problem gives the class."""
    problems = tuple(
        Problem(f"TRC{number}", errno or None, what, fix, detail) for number, errno, what, fix, detail in parts
    )
    return _BY_NUMBER.get(parts[0][0], TracerError)(problems)
