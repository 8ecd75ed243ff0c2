# SPDX-License-Identifier: Apache-2.0
"""A sealed part as it lies in a lake: whether it is what its name says, and its recording."""

from __future__ import annotations

import json
import os
import re
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from .._errors import LakeError, TracerError
from .._recording import Recording, read
from .._tables import _package
from ._layout import Part
from ._store import Store

__all__ = ["REFUSED_PART", "Gap", "gap_of", "opened_part"]

REFUSED_PART = "TRC153"
"""An object is not what its name says, or can't be read: its series waits."""

_MAGIC = b"TRACER\x1a\n"
_FRAME = struct.Struct("<4sIIIQQ")
_CLOCKS = struct.Struct("<QQ")
_MOST_PAYLOAD = 1 << 20


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
def opened_part(store: Store, key: str, part: Part) -> Iterator[tuple[Recording, int, int]]:
    """Its recording, the Unix time of its last frame, and how many frames of it are damaged. Raises LakeError."""
    # In memory: nothing is left behind, and a bucket's part is read as a folder's.
    file = os.memfd_create("tracer-part")
    try:
        data = store.get(key)
        numbers, last_unix_ns, damaged = _frames_of(data)
        with open(file, "wb", closefd=False) as writer:
            writer.write(data)
        del data
        os.lseek(file, 0, os.SEEK_SET)
        recording = read(file)
        host = recording.host
        name = re.sub(r"[^a-z0-9._-]", "-", host.host_name.lower())
        said = (name, host.boot_id, str(numbers.get("owner_uid", "all")), host.session_id, numbers.get("number", part.number))
        if said != (*part.series, part.number):
            raise ValueError(f"it is part {said[4]} of {'/'.join(said[:4])}")
        yield recording, last_unix_ns or host.wall_offset_ns, damaged
    except (ValueError, TracerError) as error:
        raise error if isinstance(error, LakeError) else _refused(key, str(error)) from None
    finally:
        os.close(file)


def _refused(key: str, why: str) -> TracerError:
    return LakeError.of(REFUSED_PART, None, f"{key} can't be taken: {why}", "look who wrote it; in its place, a .gap lets its series go on")


def _frames_of(data: bytes) -> tuple[dict[str, int], int, int]:
    """The numbers at the begin of its header, the last frame's clock in Unix time (0: none), and how many frames are torn, wrong or
    missing."""
    at, frames, damaged, expected = len(_MAGIC), [], 0, 0
    if data[:at] != _MAGIC:
        raise ValueError("it is no recording")
    view = memoryview(data)
    while at + _FRAME.size <= len(data) and data[at:at + 4] == b"TRF2":
        _, stored, _, checksum, _, sequence = _FRAME.unpack_from(data, at)
        end = at + _FRAME.size + stored
        if end > len(data):
            break
        checked = zlib.crc32(view[at + _FRAME.size:end], zlib.crc32(view[at + 16:at + _FRAME.size], zlib.crc32(view[at + 4:at + 12])))
        damaged += (checked != checksum) + max(0, sequence - expected)
        expected = sequence + 1
        frames.append((at, end))
        at = end
    if not frames:
        raise ValueError("its header is cut")
    last = _payload_of(data, *frames[-1]) if len(frames) > 1 else b""
    clock = sum(_CLOCKS.unpack_from(last)) % (1 << 64) if len(last) >= _CLOCKS.size else 0
    return _numbers_of(_payload_of(data, *frames[0])), clock, damaged + (at != len(data))


def _payload_of(data: bytes, begin: int, end: int) -> bytes:
    pyarrow = _package("pyarrow")

    size = _FRAME.unpack_from(data, begin)[2]
    if size > _MOST_PAYLOAD:
        raise ValueError("a frame of it is too large")
    try:
        payload: bytes = pyarrow.Codec("zstd").decompress(data[begin + _FRAME.size:end], size).to_pybytes()
        return payload
    except pyarrow.ArrowException:
        return b""


def _numbers_of(header: bytes) -> dict[str, int]:
    """What stands before `host`: docs/recording-format.md, Header. All of it is numbers."""
    numbers: dict[str, int] = {}
    at = 1
    while at < len(header) and header[at] & 0xe0 == 0xa0:
        end = at + 1 + (header[at] & 0x1f)
        name, first = header[at + 1:end].decode("ascii", "replace"), header[end:end + 1]
        size = {b"\xcc": 1, b"\xcd": 2, b"\xce": 4, b"\xcf": 8}.get(first, 0)
        if not size and (not first or first[0] > 0x7f):
            break
        at = end + 1 + size
        numbers[name] = int.from_bytes(header[end + 1:at], "big") if size else first[0]
    return numbers
