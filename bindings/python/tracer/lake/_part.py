# SPDX-License-Identifier: Apache-2.0
"""A sealed part as it lies in a lake: whether it is what its name says, and its recording."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from .._errors import LakeError, TracerError
from .._recording import Recording, read
from ._json import get_json, is_number, is_text
from ._layout import RAW, Part, name_in_path
from ._store import Store

__all__ = ["REFUSED_PART", "Gap", "check_name", "gap_of", "opened_part", "refused_object"]

REFUSED_PART = "TRC154"
"""An object is not what its name says, or can't be read: its series waits."""


@dataclass(frozen=True)
class Gap:
    """What a host has dropped."""

    first: int
    last: int
    cause: str
    first_unix_ns: int | None
    last_unix_ns: int | None


def gap_of(store: Store, key: str, part: Part) -> Gap:
    """Raises LakeError; KeyError: it has gone."""
    times = ("first_unix_ns", "last_unix_ns")
    try:
        said = get_json(store, key, {"session_id": lambda session: session == part.session, "first": is_number, "last": is_number,
                                     "cause": is_text, **dict.fromkeys(times, (is_number, None))})
        if not 1 <= said["first"] <= said["last"] == part.number:
            raise ValueError("its numbers are not those of its name")
        return Gap(said["first"], said["last"], said["cause"][:64], *map(said.get, times))
    except ValueError as error:
        raise refused_object(key, str(error)) from None


@contextmanager
def opened_part(store: Store, key: str, part: Part) -> Iterator[Recording]:
    """Raises LakeError; KeyError: it has gone."""
    # In memory: nothing is left behind, and a bucket's part is read as a folder's.
    file = os.memfd_create("tracer-part")
    try:
        with open(file, "wb", closefd=False) as writer:
            writer.write(store.get(key))
        os.lseek(file, 0, os.SEEK_SET)
        recording = read(file)
        check_name(part, recording)
        yield recording
    except (ValueError, TracerError) as error:
        raise error if isinstance(error, LakeError) else refused_object(key, str(error)) from None
    finally:
        os.close(file)


def check_name(part: Part, recording: Recording) -> None:
    """Raises LakeError: it is not what its name says."""
    host = recording.host
    said = Part(name_in_path(host.host_name), host.boot_id, "all" if recording.owner_uid is None else str(recording.owner_uid), host.session_id,
                recording.number or part.number, part.kind)
    if said != part:
        raise refused_object(RAW + part.path, f"it is {said.path}")


def refused_object(key: str, why: str) -> TracerError:
    return LakeError.of(REFUSED_PART, None, f"{key} can't be taken: {why}", "look who wrote it; in its place, a .gap lets its series go on")
