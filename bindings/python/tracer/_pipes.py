# SPDX-License-Identifier: Apache-2.0
"""The input, output and errors of a command, as subprocess.run() has them."""

from __future__ import annotations

import contextlib
import os
import selectors
import subprocess
import time
from typing import Any

from ._arguments import shown
from ._errors import InvalidArgumentError, InvalidTypeError

__all__ = ["Pipes"]

_AT_ONCE = 1 << 16


class Pipes:
    """Descriptors for the command, and this end of those that are pipes."""

    def __init__(self, stdin: Any, stdout: Any, stderr: Any, input: bytes | None) -> None:
        self.theirs: list[int] = []
        """For the command, in their order; -1: the caller's own."""
        self._close_soon: list[int] = []
        self._write_fd: int | None = None
        self._read_fds: dict[int, int] = {}
        self._input = memoryview(input or b"")
        self._chunks: dict[int, list[bytes]] = {}
        try:
            self._add_input(subprocess.PIPE if input is not None else stdin)
            self._add_output(1, stdout)
            self._add_output(2, stderr)
        except BaseException:
            self.close()
            raise

    def _add_input(self, wanted: Any) -> None:
        if wanted == subprocess.PIPE:
            theirs, ours = os.pipe2(os.O_CLOEXEC)
            self._close_soon.append(theirs)
            self._write_fd = ours
            self.theirs.append(theirs)
        else:
            self.theirs.append(self._given("stdin", wanted, os.O_RDONLY))

    def _add_output(self, number: int, wanted: Any) -> None:
        name = ("stdout", "stderr")[number - 1]
        if wanted == subprocess.PIPE:
            ours, theirs = os.pipe2(os.O_CLOEXEC)
            self._close_soon.append(theirs)
            self._read_fds[ours] = number
            self._chunks[number] = []
            self.theirs.append(theirs)
        elif wanted == subprocess.STDOUT:
            if number != 2:
                raise InvalidArgumentError("STDOUT is for stderr only", "use it as stderr=subprocess.STDOUT")
            self.theirs.append(self.theirs[1] if self.theirs[1] >= 0 else 1)
        else:
            self.theirs.append(self._given(name, wanted, os.O_WRONLY))

    def _given(self, name: str, wanted: Any, mode: int) -> int:
        if wanted is None:
            return -1
        if wanted == subprocess.DEVNULL:
            fd = os.open(os.devnull, mode | os.O_CLOEXEC)
            self._close_soon.append(fd)
            return fd
        fix = "give None, PIPE, DEVNULL, an open descriptor or an open file"
        try:
            fd = wanted if isinstance(wanted, int) and not isinstance(wanted, bool) else wanted.fileno()
        except (AttributeError, TypeError):
            raise InvalidTypeError(f"{name} can't be {shown(wanted)}", fix) from None
        except ValueError as error:  # io.UnsupportedOperation is one
            raise InvalidArgumentError(f"{name} can't be {shown(wanted)}: {error}", fix) from None
        try:
            os.fstat(fd)
        except (OSError, OverflowError, TypeError) as error:
            raise InvalidArgumentError(f"{name} can't be the descriptor {shown(fd)}: {error}", fix) from None
        return int(fd)

    def started(self) -> None:
        """The command has its ends."""
        for fd in self._close_soon:
            os.close(fd)
        self._close_soon.clear()

    def exchange(self, deadline: float | None) -> bool:
        """Writes the input and reads what comes, to the end of all. False: the time is over."""
        with selectors.DefaultSelector() as selector:
            for fd in self._read_fds:
                selector.register(fd, selectors.EVENT_READ)
            if self._write_fd is not None:
                if self._input:
                    os.set_blocking(self._write_fd, False)
                    selector.register(self._write_fd, selectors.EVENT_WRITE)
                else:
                    self._close_input()
            while selector.get_map():
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    return False
                for key, _ in selector.select(left):
                    if key.fd == self._write_fd:
                        if not self._write(key.fd):
                            selector.unregister(key.fd)
                            self._close_input()
                    elif not self._read(key.fd):
                        selector.unregister(key.fd)
        return True

    def _write(self, fd: int) -> bool:
        try:
            self._input = self._input[os.write(fd, self._input[:_AT_ONCE]):]
        except BlockingIOError:
            return True
        except BrokenPipeError:
            return False
        return bool(self._input)

    def _read(self, fd: int) -> bool:
        data = os.read(fd, _AT_ONCE)
        if data:
            self._chunks[self._read_fds[fd]].append(data)
        return bool(data)

    def _close_input(self) -> None:
        if self._write_fd is not None:
            os.close(self._write_fd)
            self._write_fd = None

    def output(self, number: int) -> bytes | None:
        """What has come so far; None: it is no pipe."""
        chunks = self._chunks.get(number)
        return None if chunks is None else b"".join(chunks)

    def close(self) -> None:
        self.started()
        self._close_input()
        for fd in self._read_fds:
            with contextlib.suppress(OSError):
                os.close(fd)
        self._read_fds.clear()
