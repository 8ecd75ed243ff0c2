# SPDX-License-Identifier: Apache-2.0
"""Where a session keeps its events, for tables and reports: a recording that nobody else sees, or the file asked for."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import tempfile
from typing import TYPE_CHECKING

from ._errors import RecordingError

if TYPE_CHECKING:
    from . import _core

__all__ = ["TempRecording"]


def _temporary() -> int:
    """A file without a name, in memory where there is no room for it."""
    try:
        with tempfile.TemporaryFile(prefix="tracer-") as file:
            return os.dup(file.fileno())
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        return os.memfd_create("tracer-recording", os.MFD_CLOEXEC)


class TempRecording:
    """An open file that holds a recording, for as long as anybody may read it."""

    def __init__(self, path: str | bytes | os.PathLike[str] | None) -> None:
        self.name = "the session's temporary file" if path is None else os.fsdecode(path)
        self._fd = -1
        self._path = path
        self._made: str | bytes | os.PathLike[str] | None = None
        try:
            if path is None:
                self._fd = _temporary()
            else:
                self._open(path)
        except (OSError, ValueError) as error:
            number = error.errno if isinstance(error, OSError) else None
            raise RecordingError.of(
                "TRC114", number, f"can't create {self.name}: {error}",
                "name a file in a folder that exists and that you may write to"
                if path is not None else "set TMPDIR to a folder that exists and that you may write to",
            ) from None

    def _open(self, path: str | bytes | os.PathLike[str]) -> None:
        try:
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            self._made = path
            return
        except FileExistsError:
            pass
        from ._core import end_of_links

        end, follows = end_of_links(path)
        more = 0 if follows else os.O_NOFOLLOW
        try:
            self._fd = os.open(end, os.O_RDWR | os.O_CLOEXEC | more)
        except OSError:
            # A pipe, or a file of which only writing is allowed.
            self._fd = os.open(end, os.O_WRONLY | os.O_CLOEXEC | more)

    def is_file(self, path: str | bytes | os.PathLike[str]) -> bool:
        """The file at this path is the one."""
        return os.path.samestat(os.fstat(self._fd), os.stat(path))

    def begin(self) -> None:
        """From now on the file is this session's. An older one by this name is kept as FILE.1, but for a link's target."""
        opened = os.fstat(self._fd)
        if stat.S_ISREG(opened.st_mode) and opened.st_size:
            if self._path is None or os.path.islink(self._path) or not self.is_file(self._path):
                os.ftruncate(self._fd, 0)
            else:
                self._keep_older(os.fsdecode(self._path))
        self._made = None

    def _keep_older(self, path: str) -> None:
        number = 1
        while os.path.lexists(f"{path}.{number}"):
            number += 1
        try:
            for older in range(number, 1, -1):
                os.rename(f"{path}.{older - 1}", f"{path}.{older}")
            os.rename(path, f"{path}.1")
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise RecordingError.of("TRC114", error.errno, f"the older recording can't be kept as {self.name}.1",
                                    "name another file, or move the older one away") from None
        os.close(self._fd)
        self._fd = fd

    def give_up(self) -> None:
        """Nothing was written: a file that was not there is gone again."""
        made, self._made = self._made, None
        if made is not None:
            with contextlib.suppress(OSError):
                os.unlink(made)

    def go_on_in(self, descriptor: int) -> None:
        """All that could not be written here is there, with what came before."""
        os.dup2(descriptor, self._fd, inheritable=False)

    def fileno(self) -> int:
        """It stays this object's."""
        return self._fd

    def open_reader(self) -> _core.RecordingReader:
        """Reads what is written so far, from the beginning; independent of other readers."""
        from . import _core

        if not stat.S_ISREG(os.fstat(self._fd).st_mode):
            raise RecordingError.of(
                "TRC110", None, f"{self.name} can't be read again: it is no file", "record to a file, or to none"
            )
        # It opens the file anew, with a position of its own.
        return _core.RecordingReader(self.fileno(), self.name)

    def __del__(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
