# SPDX-License-Identifier: Apache-2.0
"""The base of all events and their parts: the library makes them, and they never change."""

from __future__ import annotations

from typing import Any, ClassVar

from . import _core

__all__ = ["Event", "Fact", "rebuilt", "register"]


class Fact:
    """A value with named fields. It equals others with the same values, and can be hashed, pickled and matched."""

    __slots__: tuple[str, ...] = ()

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} can't be changed")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} can't be changed")

    def _values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name, None) for name in self.__slots__)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._values() == other._values()

    def __hash__(self) -> int:
        return hash((type(self).__name__, self._values()))

    def __repr__(self) -> str:
        known = ((name, getattr(self, name, None)) for name in self.__slots__)
        said = ", ".join(f"{name}={value!r}" for name, value in known if value is not None)
        return f"{type(self).__name__}({said})"

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuilt, (type(self), self._values())

    def __copy__(self) -> Fact:
        return self

    def __deepcopy__(self, memo: object) -> Fact:
        return self

    def as_dict(self) -> dict[str, Any]:
        """All fields, including parts, as in `tracerd dump`."""
        return {name: _plain(getattr(self, name, None)) for name in self.__slots__}


class Event(Fact):
    """A typed fact with a time."""

    __slots__: tuple[str, ...] = ()
    kind: ClassVar[str]
    """A name of EVENT_KINDS: "process_exit", "task_finish" …"""
    time_ns: int

    def as_dict(self) -> dict[str, Any]:
        """All fields, including parts, as in `tracerd dump`, `kind` first."""
        return {"kind": self.kind, **super().as_dict()}


def _plain(value: object) -> object:
    if isinstance(value, Fact):
        return value.as_dict()
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return value


def rebuilt(fact_type: type[Fact], values: tuple[Any, ...]) -> Fact:
    fact = fact_type.__new__(fact_type)
    for name, value in zip(fact_type.__slots__, values, strict=True):
        object.__setattr__(fact, name, value)
    return fact


def register(fact_type: type[Fact]) -> None:
    """Has the library make objects of this type."""
    _core.register_class(fact_type.__name__, fact_type)
