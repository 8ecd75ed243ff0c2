# SPDX-License-Identifier: Apache-2.0
"""Names of what lies in an outbox and in a lake: docs/lake.md."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

__all__ = ["INDEX", "LOOKS", "RAW", "TABLES", "USERS", "Part", "is_lake", "is_uid", "name_in_path", "part_of"]

RAW = "raw/v2/"
INDEX = "index/"
USERS = "users/"
TABLES = "tables/"
LOOKS = "looks/"

# What the service makes of a name; anything else is no part.
_PART = re.compile(r"(?P<host>[a-z0-9._-]{1,255})/(?P<boot>[0-9a-f-]{1,64})/(?P<owner>all|[0-9]{1,10})/"
                   r"(?P<session>[0-9A-Za-z-]{1,64})-(?P<number>[0-9]{8})\.(?P<kind>tracer|gap)")


@dataclass(frozen=True, order=True)
class Part:
    """A sealed part of a recording, or a gap: the order is that of their events."""

    host: str
    boot: str
    owner: str
    """The owner's uid; all: of the whole host."""
    session: str
    number: int
    kind: str
    """tracer or gap."""

    @property
    def path(self) -> str:
        """Below an outbox, and below raw/v2/ of a lake."""
        return f"{self.host}/{self.boot}/{self.owner}/{self.session}-{self.number:08}.{self.kind}"

    @property
    def series(self) -> tuple[str, str, str, str]:
        """Parts with the same are one recording."""
        return self.host, self.boot, self.owner, self.session


def name_in_path(host_name: str) -> str:
    """HOST, as the service makes it: each byte that no path has, and a first dot, is a -."""
    plain = bytes(byte + 32 if 65 <= byte <= 90 else byte for byte in host_name.encode("utf-8", "surrogateescape"))
    return re.sub(rb"^\.|[^a-z0-9._-]", b"-", plain).decode() or "-"


def is_uid(text: str) -> bool:
    return re.fullmatch(r"0|[1-9][0-9]{0,9}", text) is not None and int(text) < 1 << 32


def part_of(path: str) -> Part | None:
    """What such a path names. None: no part."""
    found = _PART.fullmatch(path)
    if not found or found["host"].startswith(".") or not (found["owner"] == "all" or is_uid(found["owner"])):
        return None
    return Part(found["host"], found["boot"], found["owner"], found["session"], int(found["number"]), found["kind"])


def is_lake(place: str) -> bool:
    """An address, or a folder that has what only a lake has."""
    return "://" in place or any(os.path.isdir(os.path.join(place, each)) for each in (RAW, f"{TABLES}runs/_delta_log"))
