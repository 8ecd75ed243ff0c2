# SPDX-License-Identifier: Apache-2.0
"""Lakes for tests: parts of real recordings, also as if other hosts had made them."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import pyarrow

from support import ROOT

RECORDINGS = ROOT / "tests/data/recordings"
_FRAME = struct.Struct("<4sIIIQQ")


def text(value: str) -> bytes:
    """As msgpack has it."""
    return (bytes([0xa0 | len(value)]) if len(value) < 32 else bytes([0xd9, len(value)])) + value.encode()


def with_header(data: bytes, *changes: tuple[bytes, bytes]) -> bytes:
    """A recording whose header has other bytes, with a right checksum."""
    _, stored, size, _, stream, number = _FRAME.unpack_from(data, 8)
    codec = pyarrow.Codec("zstd")
    payload = codec.decompress(data[40:40 + stored], size).to_pybytes()
    for old, new in changes:
        assert old in payload, old
        payload = payload.replace(old, new, 1)
    body = codec.compress(payload).to_pybytes()
    sizes, rest = struct.pack("<II", len(body), len(payload)), struct.pack("<QQ", stream, number)
    crc = zlib.crc32(body, zlib.crc32(sizes + rest))
    return data[:8] + b"TRF2" + sizes + struct.pack("<I", crc) + rest + body + data[40 + stored:]


def on_host(data: bytes, host: str, boot: str) -> bytes:
    """The same recording of another host."""
    import tempfile

    import tracer

    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        old = tracer.read(file.name).host
    return with_header(data, (text(old.boot_id), text(boot)), (text("host_name") + text(old.host_name), text("host_name") + text(host)))


def numbered(data: bytes, number: int, owner: int | None = None) -> bytes:
    """With the fields that a service writes."""
    begin = data.index(_FRAME.pack(*_FRAME.unpack_from(data, 8))) + 32
    del begin
    _, stored, size, *_ = _FRAME.unpack_from(data, 8)
    payload = pyarrow.Codec("zstd").decompress(data[40:40 + stored], size).to_pybytes()
    more = text("number") + bytes([number]) + (b"" if owner is None else text("owner_uid") + b"\xcd" + struct.pack(">H", owner))
    count = payload[0] + 1 + (owner is not None)
    part = payload[:payload.index(text("host"))]
    return with_header(data, (part, bytes([count]) + part[1:] + more))


def put(lake: Path, data: bytes, number: int = 1, owner: int | str = "all") -> Path:
    """As the shipper would: by what the header says."""
    import tempfile

    import tracer

    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        host = tracer.read(file.name).host
    path = lake / "raw/v2" / host.host_name / host.boot_id / str(owner) / f"{host.session_id}-{number:08}.tracer"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def recording(name: str) -> bytes:
    return (RECORDINGS / f"{name}.tracer").read_bytes()
