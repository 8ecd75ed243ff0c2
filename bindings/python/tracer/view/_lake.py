# SPDX-License-Identifier: Apache-2.0
"""A lake as a source of the page: all of its runs, of which those that are opened become sources of their own."""

from __future__ import annotations

import os
import tempfile
import threading
from dataclasses import dataclass
from typing import Any

from .._errors import LakeError
from .._recording import read
from ..lake._fetch import fetch
from ..lake._listed import host_months, lake_at, listed_runs
from ..lake._over_hosts import LakeRun
from ._asked import Asked
from ._documents import Shown
from ._runs import MOST_RUNS

__all__ = ["ShownLake"]

_MOST_OPENED = 4
_GONE = "its recordings are in the lake no more; its figures are in the tables"


@dataclass(slots=True)
class _Opened:
    run: LakeRun
    folder: tempfile.TemporaryDirectory[str]
    shown: list[Shown]


class ShownLake:
    live = False

    def __init__(self, number: int, url: str) -> None:
        self.identity = str(number)
        self.name = url if "://" in url else os.path.basename(os.path.abspath(url))
        self._url, self._store = url, lake_at(url)
        self._runs: list[LakeRun] | None = None
        self._keys: set[str] = set()
        self._listing, self._opening = threading.Lock(), threading.Lock()
        self._opened: dict[str, _Opened] = {}
        self._count = 0
        self._hosts = Asked(lambda *_: {"months": host_months(url)})

    def about(self) -> dict[str, Any]:
        return {"source": self.identity, "name": self.name, "kind": "lake", "hosts": [], "says": []}

    def listed(self) -> tuple[list[dict[str, Any]], int]:
        """The newest runs, and how many older ones there are. Raises LakeError."""
        with self._listing:
            rows, left_out, self._runs = listed_runs(self._url, self._store, MOST_RUNS)
            self._keys = {row["run_key"] for row in rows}
        return [{"source": self.identity, **row} for row in rows], left_out

    def hosts(self) -> dict[str, Any]:
        return self._hosts.answer("hosts", "") or {}

    @property
    def opened(self) -> list[Shown]:
        """Of the runs that were opened last, the recordings of all hosts."""
        return [each for opened in list(self._opened.values()) for each in opened.shown]

    def open(self, key: str) -> list[Shown]:
        """Recordings of a run, which stay until others are opened. Raises LookupError, LakeError, RecordingError."""
        if self._runs is None:
            self.listed()
        with self._opening:
            found = [run for run in self._runs or () if any(key in keys for keys in run.keys.values())]
            run = next((run for run in found if run.run_key == key), found[0] if found else None)
            if run is None:
                raise LookupError(_GONE if key in self._keys else "this lake has no such run")
            kept = self._opened.pop(key, None)
            if kept is not None and kept.run.parts != run.parts:
                kept.folder.cleanup()
                kept = None
            self._opened[key] = kept or self._fetched(run)
            for oldest in list(self._opened)[:-_MOST_OPENED]:
                self._opened.pop(oldest).folder.cleanup()
            return self._opened[key].shown

    def _fetched(self, run: LakeRun) -> _Opened:
        folder = tempfile.TemporaryDirectory(prefix="tracer-lake-", ignore_cleanup_errors=True)
        try:
            recordings = [read(file) for file in fetch(self._store, run, folder.name)]
        except LakeError as error:
            if error.code != "TRC154":
                raise
            raise LookupError(_GONE) from None
        shown = []
        for each in recordings:
            self._count += 1
            name = run.name if len(recordings) == 1 else f"{run.name}, {each.host.host_name}"
            shown.append(Shown(f"{self.identity}.{self._count}", each, name))
        return _Opened(run, folder, shown)
