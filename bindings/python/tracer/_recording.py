# SPDX-License-Identifier: Apache-2.0
"""Recordings: tracer.read()."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any, Union

from . import _core
from ._arguments import checked_call, path_of, texts_of
from ._errors import InvalidArgumentError, RecordingError
from ._source import Source
from ._state import Damage

if TYPE_CHECKING:
    from ._events import Event, Host
    from ._tables import Table

__all__ = ["Recording", "past", "read"]

_READ_AT_ONCE = 512
_Path = Union[str, bytes, "os.PathLike[str]"]


class Recording(Source):
    """A file that `record=` or `tracerd run --record` has written, or the files that one session was cut into. It does
    not stay open: each table and each iteration reads it again, in bounded memory."""

    def __init__(
        self, path: _Path | int | list[_Path | int] | tuple[_Path | int, ...] | list[_Descriptor]
    ) -> None:
        given = path if isinstance(path, (list, tuple)) else [path]
        self._descriptors = [
            each if isinstance(each, _Descriptor) else _Descriptor(each)
            for each in given if isinstance(each, (int, _Descriptor)) and not isinstance(each, bool)
        ]
        if self._descriptors and len(self._descriptors) != len(given):
            raise InvalidArgumentError("a recording is of paths or of descriptors, not of both")
        self.paths: tuple[str | bytes, ...] = (
            tuple(each.name for each in self._descriptors) if self._descriptors
            else tuple(os.fspath(path_of("the path of a recording", each)) for each in given)
        )
        """The paths as given, of files, or of folders that hold them; of open files, "descriptor N"."""
        # The same files, whichever folder is the current one later.
        self._files = [] if self._descriptors else [_from_root(each) for each in self.paths]
        # Refused at once if it is none.
        reader = self.open_reader()
        self._host = reader.host()
        self.owner_uid: int | None = reader.owner_uid()
        """Whose events these are, where a service records by owner; 0: root's, and what is nobody else's. None: of all."""
        self.number: int | None = reader.number()
        """The number of the first file among all of its session, from 1. None: an earlier version has written it."""

    @property
    def path(self) -> str | bytes:
        """The first path as given."""
        return self.paths[0]

    @property
    def host(self) -> Host:
        """The machine that it was made on."""
        return self._host

    def open_reader(self) -> _core.RecordingReader:
        """A new reader from the first event on."""
        if self._descriptors:
            return _core.RecordingReader([each.fd for each in self._descriptors], [each.name for each in self._descriptors])
        return _core.RecordingReader(self._files)

    @checked_call
    def compare(self, other: Recording) -> dict[str, Any]:
        """How `other` differs from it, as `tracerd compare --json` prints it: docs/history.md. Reads both whole."""
        found: dict[str, Any] = json.loads(_core.compare(self.open_reader(), other.open_reader()))
        return found

    @property
    def damage(self) -> Damage:
        """The parts that could not be read: false if there are none. Reads the whole recording."""
        reader = self.open_reader()
        while reader.skip(_READ_AT_ONCE) == _READ_AT_ONCE:
            pass
        return Damage(*reader.damage())

    @property
    def events(self) -> Table:
        """One row for each event; see also iterating over the recording."""
        return self.table("events")

    def __iter__(self) -> Iterator[Event]:
        """Its events, in their order. Damage is skipped: see damage."""
        return _events_of(self.open_reader())

    @checked_call
    def select(self, kinds: Collection[str]) -> Iterator[Event]:
        """Its events of these kinds, as in tracer.EVENT_KINDS."""
        wanted = _core.check_kinds(kinds if isinstance(kinds, str) else texts_of("kinds", kinds, '{"process_exit"}'))
        reader = self.open_reader()
        reader.keep_only(wanted)
        return _events_of(reader)


class _Descriptor:
    """Keeps a file open, for as long as it is read."""

    def __init__(self, fd: int, name: str | None = None) -> None:
        self.name = f"descriptor {fd}" if name is None else name
        try:
            self.fd = os.dup(fd) if name is None else fd
        except OSError as error:
            raise RecordingError(f"{self.name} can't be read: {error.strerror}") from None

    def __del__(self) -> None:
        if hasattr(self, "fd"):
            os.close(self.fd)


def _events_of(reader: _core.RecordingReader) -> Iterator[Event]:
    while events := reader.read(_READ_AT_ONCE):
        yield from events


def _from_root(path: str | bytes) -> str | bytes:
    """Not abspath(): that changes what a path with .. behind a link means."""
    try:
        if isinstance(path, bytes):
            return os.path.join(os.getcwdb(), path) if path else path
        return os.path.join(os.getcwd(), path) if path else path
    except OSError:
        return path  # The current folder is gone: nothing can be opened from it.


@checked_call
def read(path: _Path | int | list[_Path | int] | tuple[_Path | int, ...]) -> Recording:
    """Opens a recording: a file, or a list of the files of one session, in any order, or folders that hold them; an int
    is the descriptor of a file that is open, which stays the caller's. What a missing file had is a loss. Raises RecordingError if one can't be read, is not a recording, was written by a newer
    or much older libtracer, or has a damaged header; InvalidArgumentError if they are of several sessions. Damage after
    the header is skipped and counted: Recording.damage."""
    return Recording(path)


@checked_call
def past(*, socket: _Path | None = None, since: float = 0.0) -> list[Recording]:
    """What a service that records by owner has recorded that this user may see: own events, what others share, and for
    root all. One recording for each session of the service and each owner, the newest first. `socket`: the service's
    (default: TRACER_SOCKET, or /run/tracer/tracer.sock). `since`: Unix time in seconds; files that were written last
    before then are left out.

    Raises InvalidArgumentError if the service does not record by owner, and ServiceError if there is none, or one of an
    earlier version."""
    named = None if socket is None else os.fsencode(path_of("socket", socket))
    groups: dict[tuple[int, str], list[_Descriptor]] = {}
    for fd, name, owner_uid, session_id in _core.past(named, max(0, round(since * 1e9))):
        groups.setdefault((owner_uid, session_id), []).append(_Descriptor(fd, name))
    return [Recording(files) for files in groups.values()]
