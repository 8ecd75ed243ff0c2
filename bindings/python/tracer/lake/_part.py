# SPDX-License-Identifier: Apache-2.0
"""A sealed part as it lies in a lake: whether it is what its name says, and its recording."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from .._errors import LakeError, TracerError
from .._recording import Recording, read
from ._layout import RAW, Part, name_in_path
from ._store import Store

__all__ = ["REFUSED_PART", "Gap", "check_name", "gap_of", "opened_part"]

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
    """Raises LakeError."""
    try:
        said = json.loads(store.get(key))
        number = {name: said.get(name) for name in ("first", "last", "first_unix_ns", "last_unix_ns")}
        if said["schema"] != 1 or said["session_id"] != part.session or any(type(number[name]) is not int for name in ("first", "last")):
            raise ValueError("it is no gap of this session")
        if not 1 <= number["first"] <= number["last"] == part.number:
            raise ValueError("its numbers are not those of its name")
        times = [value if type(value) is int and 0 <= value < 1 << 63 else None for value in list(number.values())[2:]]
        return Gap(number["first"], number["last"], str(said.get("cause"))[:64], *times)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _refused(key, str(error)) from None


@contextmanager
def opened_part(store: Store, key: str, part: Part) -> Iterator[Recording]:
    """Raises LakeError."""
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
        raise error if isinstance(error, LakeError) else _refused(key, str(error)) from None
    finally:
        os.close(file)


def check_name(part: Part, recording: Recording) -> None:
    """Raises LakeError: it is not what its name says."""
    host = recording.host
    said = Part(name_in_path(host.host_name), host.boot_id, "all" if recording.owner_uid is None else str(recording.owner_uid), host.session_id,
                recording.number or part.number, part.kind)
    if said != part:
        raise _refused(RAW + part.path, f"it is {said.path}")


def _refused(key: str, why: str) -> TracerError:
    return LakeError.of(REFUSED_PART, None, f"{key} can't be taken: {why}", "look who wrote it; in its place, a .gap lets its series go on")
