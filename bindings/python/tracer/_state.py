# SPDX-License-Identifier: Apache-2.0
"""The state of sessions and recordings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from . import _core
from ._errors import Problem

__all__ = ["Damage", "FamilyState", "Statistics"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """The work of a session since it started, its losses and its costs."""

    records: int
    """Records received from the kernel."""
    record_bytes: int
    events: int
    """Events delivered."""
    callback_errors: int
    """Callbacks that raised; other subscribers lost no event."""
    secrets_masked: int
    announcements_met: int
    """Announcements that matched a process."""
    announcements_expired: int
    """Announcements that expired before."""
    announcements_refused: int
    """Announcements beyond max_announcements."""
    cost_cpu_ns: int
    """Its own CPU time: reading, decoding, snapshots, callbacks, and the threads of recordings."""
    cost_snapshots_cpu_ns: int
    """The part of it for snapshots."""
    cost_kernel_ns: int | None
    """Time of its programs in the kernel; None while kernel.bpf_stats_enabled is 0, unless max_cost_share was given and
    the caller has CAP_SYS_ADMIN."""
    cost_memory_bytes: int | None
    """Resident memory of this whole process now."""
    cost_kernel_memory_bytes: int | None
    """Memory of its maps in the kernel; None for other sources."""
    losses: Mapping[str, int]
    """By cause, as docs/losses.md defines them; only those that occurred."""
    missed_at_most: int | None
    """Processes that lived too shortly to be seen, at most; None unless they are polled in /proc."""

    @property
    def lost(self) -> int:
        """Losses of all causes."""
        return sum(self.losses.values())


@dataclass(frozen=True, slots=True)
class FamilyState:
    """A family that a session was asked for."""

    family: str
    """A name of docs/families.md, such as "waits"."""
    active: bool
    mechanism: str
    """The kernel hooks that it uses."""
    problem: Problem | None
    """Why it is not active, or which part is missing."""


@dataclass(frozen=True, slots=True)
class Damage:
    """The parts of a recording that could not be read."""

    skipped_bytes: int
    """In frames that are cut, fail their checksum or break a rule of the format."""
    skipped_events: int
    """In intact frames: of newer kinds, or larger than their bytes may hold."""
    missing_frames: int
    """By their numbers; a damaged frame is among them."""
    read_error: int
    """errno of the read that failed: nothing after it was read. 0: none failed."""
    truncated: bool
    """It lacks its end: the writer was stopped, still writes, or the file's tail is missing."""

    def __bool__(self) -> bool:
        return bool(
            self.skipped_bytes or self.skipped_events or self.missing_frames or self.read_error or self.truncated
        )

    def lines(self) -> list[str]:
        """In words; empty: all is there."""
        return _core.damage_lines(self.skipped_bytes, self.skipped_events, self.missing_frames, self.read_error, self.truncated)
