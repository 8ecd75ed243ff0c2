# SPDX-License-Identifier: Apache-2.0
"""Answers for which a whole recording is read, while views show them."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .._errors import ServiceError, TracerError

__all__ = ["PART_OF_TIME", "Asked"]

PART_OF_TIME = 20
"""An answer that took a second is made again after so many seconds, by who still shows it."""
_LEAST_S = 5.0
_MOST_KEPT = 8
# Nobody shows what nobody has asked for since; a view asks every few seconds.
_FORGOTTEN_S = 60.0
_WAIT_S = 2.0
# As long as a view may stand still for it.
_SOON_S = 0.2

_Said = dict[str, Any] | None


@dataclass(slots=True)
class _Answer:
    said: _Said
    again_s: float
    asked_s: float


class Asked:
    """One source's. It reads one thing at a time."""

    def __init__(self, ask: Callable[[str, str], _Said]) -> None:
        self._ask = ask
        self._kept: dict[tuple[str, str], _Answer] = {}
        self._reading = threading.Lock()

    def _known(self, asked: tuple[str, str]) -> _Answer | None:
        now = time.monotonic()
        kept = self._kept.get(asked)
        if kept is not None:
            kept.asked_s = now
        return kept

    def _read(self, asked: tuple[str, str]) -> _Said:
        begun = time.monotonic()
        said = self._ask(*asked)
        self._keep(asked, said, max(PART_OF_TIME * (time.monotonic() - begun), _LEAST_S))
        return said

    def _keep(self, asked: tuple[str, str], said: _Said, for_s: float) -> None:
        """By who reads."""
        now = time.monotonic()
        answer = _Answer(said, now + for_s, now)
        shown = [(key, each) for key, each in self._kept.items() if key != asked and now - each.asked_s < _FORGOTTEN_S]
        self._kept = dict([*shown[1 - _MOST_KEPT:], (asked, answer)])

    def answer(self, name: str, key: str) -> _Said:
        """Of `name`, such as "why", about a run or task. Waits for it, unless another one is read for long: ServiceError."""
        kept = self._known((name, key))
        if kept is not None and time.monotonic() < kept.again_s:
            return kept.said
        if not self._reading.acquire(timeout=_WAIT_S):
            if kept is not None:
                return kept.said
            raise ServiceError("a recording is being read for another answer", "ask again in some seconds")
        try:
            # Another one may have waited for the same.
            kept = self._known((name, key))
            return kept.said if kept is not None and time.monotonic() < kept.again_s else self._read((name, key))
        finally:
            self._reading.release()

    def soon(self, name: str, key: str) -> _Said:
        """What is known of it by now; a thread reads what is not known, or too old."""
        kept = self._known((name, key))
        if (kept is None or time.monotonic() >= kept.again_s) and self._reading.acquire(blocking=False):
            def read() -> None:
                try:
                    with contextlib.suppress(TracerError):
                        self._read((name, key))
                        return
                    self._keep((name, key), None, _LEAST_S)
                finally:
                    self._reading.release()

            reader = threading.Thread(target=read, name="tracer-asked", daemon=True)
            reader.start()
            reader.join(_SOON_S)
            kept = self._kept.get((name, key))
        return kept.said if kept is not None else None
