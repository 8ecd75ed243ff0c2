# SPDX-License-Identifier: Apache-2.0
"""A lake's objects: in a folder (or NFS), or in a bucket of S3 and what speaks it, GCS or Azure."""

from __future__ import annotations

import mmap
import os
import re
import stat
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import Literal

from .._errors import InvalidArgumentError, LakeError, TracerError

__all__ = ["NO_ANSWER", "REFUSED", "Put", "Store", "no_answer", "open_store", "refused"]

Put = Literal["made", "same", "other"]

REFUSED = "TRC150"
"""The store has understood and said no: asking again soon changes nothing."""
NO_ANSWER = "TRC151"
"""Nobody knows whether it was done: the answer is lost, or the store can't now."""

# A larger map is given back while it is read, so that a part of 256 MiB does not make a process of 256 MiB.
_LARGE_BYTES = 16 << 20
_CHUNK_BYTES = 1 << 20


class Store(ABC):
    """Keys are those of _layout.py. Each method raises LakeError, REFUSED or NO_ANSWER."""

    def put_new(self, key: str, data: str | os.PathLike[str] | bytes) -> Put:
        """Makes this object of a file or of bytes. Where one is already: whether it has the same bytes; it is never changed."""
        with _view_of(data) as view:
            return self._put_new(key, view)

    @abstractmethod
    def _put_new(self, key: str, view: memoryview) -> Put: ...

    @abstractmethod
    def put(self, key: str, data: bytes) -> None:
        """Makes or replaces this object: whole, or not at all."""

    @abstractmethod
    def _read(self, key: str) -> tuple[int, Iterable[memoryview]]:
        """Its size, and its bytes piece by piece. KeyError: there is none."""

    @abstractmethod
    def list(self, prefix: str, problems: list[TracerError] | None = None) -> Iterator[tuple[str, float]]:
        """Key of the objects in a folder, which ends with /, and in those below; and when each was made, in Unix time. `problems` gets
        which folders may not be read, so that the others are listed; without it, the first is raised."""

    def list_older(self, prefix: str, unix_s: float) -> Iterator[str]:
        """Keys of list() that were made before this time."""
        return (key for key, made_s in self.list(prefix) if made_s < unix_s)

    @abstractmethod
    def delete(self, key: str) -> None:
        """Nothing happens if there is none."""

    @abstractmethod
    def tidy(self, prefix: str) -> None:
        """Removes what killed writers have left in this folder; nobody may write there meanwhile."""

    def get(self, key: str, most_bytes: int | None = None) -> bytes:
        """KeyError: there is none. ValueError: it is larger."""
        size, pieces = self._read(key)
        if most_bytes is not None and size > most_bytes:
            raise ValueError(f"it has {size} bytes")
        return b"".join(pieces)

    def get_to(self, key: str, path: str | os.PathLike[str]) -> None:
        """Into a new file, which is never in memory as a whole. KeyError: there is none."""
        size, pieces = self._read(key)
        with open(path, "xb") as file:
            got = sum(file.write(piece) for piece in pieces)
        if got != size:
            raise no_answer(f"{key} has ended after {got} of its {size} bytes")

    def _compare(self, key: str, view: memoryview) -> Put | None:
        """None: there is none."""
        try:
            size, pieces = self._read(key)
        except KeyError:
            return None
        at = 0
        for piece in pieces if size == len(view) else ():
            if view[at:at + len(piece)] != piece:
                return "other"
            at += len(piece)
        if at < size == len(view):
            raise no_answer(f"{key} has ended after {at} of its {size} bytes")
        return "same" if size == len(view) else "other"


def open_store(target: str) -> Store:
    """A lake by its address. It asks nobody yet."""
    scheme, mark, rest = target.partition("://")
    if not mark:
        return _Folder(target)
    if scheme == "file":
        return _Folder(rest)
    if scheme not in ("s3", "gs", "az"):
        raise InvalidArgumentError(f"no store has addresses that begin with {scheme}://", "name a folder, s3://, gs:// or az://")
    if re.search(r"[@?#]", rest):
        # Not the address itself: it may hold a secret, and be in a log.
        raise InvalidArgumentError(f"an address {scheme}:// with @, ? or # is refused: it would show its key to every process",
                                   "give credentials in the environment: docs/lake.md, Credentials")
    if not re.fullmatch(r"[A-Za-z0-9._-]+(/[A-Za-z0-9._=-]+)*/?", rest):
        raise InvalidArgumentError(f"the address {target} names no bucket and folder", f"write {scheme}://BUCKET/FOLDER")
    from ._bucket import Bucket

    return Bucket(scheme, rest)


def refused(what: str, fix: str = "", errno: int | None = None) -> TracerError:
    return LakeError.of(REFUSED, errno, what, fix)


def no_answer(what: str, fix: str = "", errno: int | None = None) -> TracerError:
    return LakeError.of(NO_ANSWER, errno, what, fix)


@contextmanager
def _view_of(data: str | os.PathLike[str] | bytes) -> Iterator[memoryview]:
    if isinstance(data, bytes):
        yield memoryview(data)
        return
    descriptor = os.open(data, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        size = os.fstat(descriptor).st_size
        view = mmap.mmap(descriptor, size, prot=mmap.PROT_READ) if size else b""
    finally:
        os.close(descriptor)
    if isinstance(view, bytes) or size <= _LARGE_BYTES:
        yield memoryview(view)
        return
    done = Event()

    def give_back() -> None:
        # What is read again comes again from the page cache.
        while not done.wait(0.01):
            view.madvise(mmap.MADV_DONTNEED)

    thread = Thread(target=give_back, daemon=True)
    thread.start()
    try:
        yield memoryview(view)
    finally:
        done.set()
        thread.join()


class _Folder(Store):
    def __init__(self, root: str) -> None:
        if not os.path.isabs(root) and not root:
            raise InvalidArgumentError("the lake's folder has no name", "name it")
        self._root = os.path.abspath(root)

    def _put_new(self, key: str, view: memoryview) -> Put:
        with _explained(self._root, key):
            # Mostly a part whose unlinking was lost: it need not be written again.
            done = self._compare(key, view)
            if done is not None:
                return done
            temporary = self._write(key, view)
            try:
                # rename() would replace what another has put there meanwhile.
                os.link(temporary, self._path(key))
                done = "made"
            except FileExistsError:
                # NFS says so as well when the answer to a link of ours was lost.
                done = self._compare(key, view)
            finally:
                os.unlink(temporary)
            _sync(os.path.dirname(temporary))
            return done or "other"

    def put(self, key: str, data: bytes) -> None:
        with _explained(self._root, key):
            temporary = self._write(key, memoryview(data))
            os.rename(temporary, self._path(key))
            _sync(os.path.dirname(temporary))

    def _read(self, key: str) -> tuple[int, Iterable[memoryview]]:
        with _explained(self._root, key):
            try:
                facts = os.lstat(self._path(key))
            except FileNotFoundError:
                raise KeyError(key) from None
        # A pipe would never end.
        if not stat.S_ISREG(facts.st_mode):
            raise KeyError(key)

        def pieces() -> Iterator[memoryview]:
            with _explained(self._root, key), open(self._path(key), "rb") as file:
                while piece := file.read(_CHUNK_BYTES):
                    yield memoryview(piece)

        return facts.st_size, pieces()

    def list(self, prefix: str, problems: list[TracerError] | None = None) -> Iterator[tuple[str, float]]:
        def refuse(error: OSError) -> None:
            # What vanishes meanwhile is no error.
            if isinstance(error, FileNotFoundError):
                return
            try:
                with _explained(self._root, os.path.relpath(error.filename, self._root)):
                    raise error
            except LakeError as said:
                if problems is None or said.code != REFUSED:
                    raise
                problems.append(said)

        with _explained(self._root, ""):
            os.listdir(self._root)
        for folder, folders, files in os.walk(self._path(prefix), onerror=refuse):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in sorted(files):
                try:
                    facts = os.lstat(os.path.join(folder, name))
                except OSError as error:
                    refuse(error)
                    continue
                if not name.startswith(".") and stat.S_ISREG(facts.st_mode):
                    yield os.path.relpath(os.path.join(folder, name), self._root), facts.st_mtime

    def delete(self, key: str) -> None:
        with _explained(self._root, key), suppress(FileNotFoundError):
            os.unlink(self._path(key))

    def tidy(self, prefix: str) -> None:
        with _explained(self._root, prefix), suppress(FileNotFoundError):
            for name in os.listdir(self._path(prefix)):
                if name.startswith(".ship-"):
                    os.unlink(os.path.join(self._path(prefix), name))

    def _path(self, key: str) -> str:
        return os.path.join(self._root, key)

    def _write(self, key: str, view: memoryview) -> str:
        """A file with these bytes that has no name of the lake yet."""
        folder = os.path.dirname(self._path(key))
        self._make(folder)
        temporary = os.path.join(folder, f".ship-{os.urandom(8).hex()}")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        try:
            at = 0
            while at < len(view):
                at += os.write(descriptor, view[at:at + _CHUNK_BYTES])
            os.fsync(descriptor)
        except BaseException:
            os.unlink(temporary)
            raise
        finally:
            os.close(descriptor)
        return temporary

    def _make(self, folder: str) -> None:
        # Never the lake itself: where its file system is not mounted, parts would fill another.
        if os.path.isdir(folder) or folder == self._root:
            return
        above = os.path.dirname(folder)
        self._make(above)
        with suppress(FileExistsError):
            os.mkdir(folder)
        _sync(above)


def _sync(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _explained(root: str, key: str) -> Iterator[None]:
    import errno

    try:
        yield
    except OSError as error:
        what = f"{os.path.join(root, key).rstrip('/')}: {os.strerror(error.errno or 0)}"
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.EOPNOTSUPP):
            raise refused(what, "let this user read it, and a shipper write there, on a file system with hard links", error.errno) from None
        fix = "" if os.path.isdir(root) else f"make the folder {root}, or mount it"
        raise no_answer(what, fix, error.errno) from None
