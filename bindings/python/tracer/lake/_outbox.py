# SPDX-License-Identifier: Apache-2.0
"""A folder with what waits to be shipped. The folder is the state: what lies in it has not been shipped."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from .._errors import LakeError, TracerError
from .._format import counted
from ._layout import Part, part_of

__all__ = ["Outbox", "Waiting", "json_of", "parts_text"]

_STATE = "ship.json"
_LOCK_S = 1.0
_MOST_JSON_BYTES = 1 << 20


@dataclass(frozen=True, order=True)
class Waiting:
    """A part in an outbox; the order is by age, oldest first."""

    since_unix_ns: int
    part: Part
    path: str
    bytes: int


class Outbox:
    def __init__(self, folder: str) -> None:
        self.folder = os.path.abspath(folder)
        self._lock = -1

    def waiting(self) -> list[Waiting]:
        """Oldest first."""
        found = []
        for folder in self._folders():
            for entry in self._entries(folder):
                part = part_of(os.path.relpath(entry.path, self.folder))
                if part is None or not entry.is_file(follow_symlinks=False):
                    continue
                try:
                    facts = entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue
                found.append(Waiting(facts.st_mtime_ns, part, entry.path, facts.st_size))
        return sorted(found)

    def lock(self) -> None:
        """Until this process ends: two shippers would send everything twice."""
        end = time.monotonic() + _LOCK_S
        while not self._locked(fcntl.LOCK_EX):
            if time.monotonic() > end:
                raise LakeError.of("TRC152", None, f"another shipper works on {self.folder}",
                                   "end it first, or leave the work to it; tracer lake status says how it goes")
            time.sleep(0.05)

    def has_shipper(self) -> bool:
        if self._locked(fcntl.LOCK_SH):
            os.close(self._lock)
            self._lock = -1
            return False
        return True

    def state(self) -> dict[str, Any]:
        """What the shipper has last written; empty: nothing."""
        try:
            state = json_of(os.path.join(self.folder, _STATE))
        except (FileNotFoundError, ValueError):
            return {}
        except OSError as error:
            raise self.error(error, _STATE) from None
        return state if isinstance(state, dict) else {}

    def write_state(self, state: dict[str, Any]) -> None:
        path = os.path.join(self.folder, _STATE)
        temporary = os.path.join(self.folder, f".{_STATE}")
        try:
            # Others may write in this folder: a link that they put there is removed, or refused, but not followed.
            with suppress(FileNotFoundError):
                os.unlink(temporary)
            with open(temporary, "x", encoding="utf-8") as file:
                json.dump(state, file, indent=1)
            os.replace(temporary, path)
        except OSError as error:
            # A full disk is emptied by going on.
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise self.error(error, _STATE) from None

    def error(self, error: OSError, name: str) -> TracerError:
        fix = {"PermissionError": "run as the user tracer-ship, or as a member of its group",
               "FileNotFoundError": "name the outbox with --outbox; docs/lake.md says how a service gets one"}
        return LakeError.of("TRC152", error.errno, f"can't use {os.path.join(self.folder, name)}: {os.strerror(error.errno or 0)}",
                            fix.get(type(error).__name__, ""))

    def _locked(self, how: int) -> bool:
        if self._lock < 0:
            try:
                self._lock = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            except OSError as error:
                raise self.error(error, "") from None
        try:
            fcntl.flock(self._lock, how | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _folders(self) -> list[str]:
        """HOST/BOOT/UID."""
        folders = [self.folder]
        for _ in range(3):
            folders = [entry.path for folder in folders for entry in self._entries(folder)
                       if not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False)]
        return folders

    def _entries(self, folder: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(folder) as entries:
                return list(entries)
        except OSError as error:
            # The service removes a folder once it is empty.
            if isinstance(error, FileNotFoundError) and folder != self.folder:
                return []
            raise self.error(error, os.path.relpath(folder, self.folder)) from None


def json_of(path: str) -> Any:
    """Of a file in an outbox, not what another links it to. Raises OSError, ValueError."""
    with open(path, "rb", opener=lambda path, flags: os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)) as file:
        try:
            return json.loads(file.read(_MOST_JSON_BYTES))
        except RecursionError:
            raise ValueError("too deep") from None


def parts_text(count: int) -> str:
    return counted(count, "part")
