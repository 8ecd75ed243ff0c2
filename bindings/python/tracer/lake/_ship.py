# SPDX-License-Identifier: Apache-2.0
"""tracer lake ship: brings parts from an outbox to a lake. Each step can be repeated after a kill at any point: the outbox's part goes last."""

from __future__ import annotations

import argparse
import os
import pwd
import random
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from .._errors import LakeError, TracerError
from ._layout import RAW, Part
from ._outbox import Outbox, Waiting, parts_text
from ._store import NO_ANSWER, Store, open_store
from ._users import add_users

__all__ = ["run"]

_LOOK_S = 2.0
_LONGEST_S = 300.0
_MOST_SAID = 20
# In --once nobody comes back, so that one unanswered part says enough.
_MOST_UNANSWERED = 3
# The index of an hour is written whole: not once for each part, where many wait. Then what is new has its turn first.
_TOGETHER = 32


@dataclass
class _Failure:
    error: TracerError
    since_unix_ns: int
    tries: int
    due: float


class Shipper:
    def __init__(self, outbox: Outbox, store: Store, target: str) -> None:
        self._outbox = outbox
        self._store = store
        self._failures: dict[Part, _Failure] = {}
        self._in_a_row = 0
        self._said = ""
        self._quiet_until = 0.0
        self._in_lake: dict[Part, dict[str, Any]] = {}
        self._named: set[tuple[str, int]] = set()
        before = outbox.state()
        self._state: dict[str, Any] = {"schema": 1, "target": target, "pid": os.getpid(), "started_unix_ns": time.time_ns()} | {
            name: before.get(name, default) for name, default in
            (("shipped_parts", 0), ("shipped_bytes", 0), ("shipped_gaps", 0), ("last_shipped_unix_ns", None))}
        self._tidied: set[str] = set()
        self._tried: list[Waiting] = []

    def follow(self) -> None:
        while True:
            if self.round() or len(self._tried) < _TOGETHER:
                time.sleep(_LOOK_S)

    def round(self, once: bool = False) -> TracerError | None:
        """Tries what is due, first what has not failed yet; without `once` no more of it than goes together, and nothing behind one that is
        unanswered. The last error, if any."""
        waiting = self._outbox.waiting()
        parts = {each.part for each in waiting}
        self._failures = {part: failure for part, failure in self._failures.items() if part in parts}
        self._in_lake = {part: entry for part, entry in self._in_lake.items() if part in parts}
        error, now = None, time.monotonic()
        due_at = {part: max(failure.due, self._quiet_until) for part, failure in self._failures.items()}
        due = [each for each in waiting if due_at.get(each.part, now) <= now]
        due = self._tried = sorted(due, key=lambda each: each.part in due_at)[:None if once else _TOGETHER]
        arrived: list[Waiting] = []
        for each in due:
            failed = self._try(self._put, [each])
            if not failed:
                arrived.append(each)
            if arrived and (failed or len(arrived) == _TOGETHER or each is due[-1]):
                failed = self._try(self._finish, arrived) or failed
                arrived = []
            if failed:
                error = failed
                if error.code == NO_ANSWER and (not once or self._in_a_row >= _MOST_UNANSWERED):
                    break
        self._save(None)
        return error

    @property
    def left(self) -> int:
        """Parts that were tried last, and are still in the outbox."""
        return sum(os.path.exists(each.path) for each in self._tried)

    @property
    def shipped(self) -> tuple[int, int]:
        """Parts and bytes, by this and earlier shippers."""
        return self._state["shipped_parts"], self._state["shipped_bytes"]

    def _try(self, step: Callable[[list[Waiting]], None], parts: list[Waiting]) -> TracerError | None:
        try:
            step(parts)
            return None
        except FileNotFoundError:
            return None  # somebody else has shipped it
        except OSError as error:
            failed = error if isinstance(error, TracerError) else self._outbox.error(error, parts[0].part.path)
        except TracerError as error:
            failed = error
        unanswered = failed.code == NO_ANSWER
        for each in parts:
            failure = self._failures.setdefault(each.part, _Failure(failed, time.time_ns(), 0, 0.0))
            failure.error = failed
            failure.tries += 1
            failure.due = time.monotonic() + (_jitter(failure.tries) if unanswered else _LONGEST_S)
        if failed.code != self._said:
            print(f"tracer: {failed}", file=sys.stderr, flush=True)
            self._said = failed.code
        if unanswered:
            # What has failed leaves the store alone for longer and longer; what is new is tried.
            self._in_a_row += 1
            self._quiet_until = time.monotonic() + _jitter(self._in_a_row)
        self._save(None)
        return failed

    def _put(self, parts: list[Waiting]) -> None:
        from ._index import entry_of

        for each in parts:
            if each.part in self._in_lake:
                continue
            self._save(each)
            entry, users = entry_of(each.part, each.path)
            # First, so that whoever takes the part knows them.
            self._note_users(each.part.host, users)
            key = RAW + each.part.path
            folder = os.path.dirname(key) + "/"
            if folder not in self._tidied:
                self._store.tidy(folder)
                self._tidied.add(folder)
            if self._store.put_new(key, each.path) == "other":
                raise LakeError.of("TRC153", None, f"{key} is in the lake with other bytes than {each.path}",
                                   "nothing is overwritten: compare both, and remove the wrong one")
            self._in_a_row, self._quiet_until = 0, 0.0
            self._in_lake[each.part] = entry

    def _finish(self, parts: list[Waiting]) -> None:
        """Of parts that are in the lake: the index first, so that a kill before the end repeats it."""
        from ._index import note_shipped

        for host in sorted({each.part.host for each in parts}):
            note_shipped(self._store, host, [self._in_lake[each.part] for each in parts
                                             if each.part.host == host and each.part in self._in_lake])
        for each in parts:
            with suppress(FileNotFoundError):
                os.unlink(each.path)
            self._failures.pop(each.part, None)
            self._state["shipped_gaps" if each.part.kind == "gap" else "shipped_parts"] += 1
            self._state["shipped_bytes"] += each.bytes
            self._state["last_shipped_unix_ns"] = time.time_ns()
        if self._said and not self._failures:
            print("tracer: everything is shipped again", file=sys.stderr, flush=True)
            self._said = ""

    def _note_users(self, host: str, uids: set[int]) -> None:
        names = {}
        for uid in uids - {uid for named, uid in self._named if named == host}:
            with suppress(KeyError, OverflowError):
                names[str(uid)] = pwd.getpwuid(uid).pw_name
        if names:
            add_users(self._store, host, names)
            self._named |= {(host, int(uid)) for uid in names}

    def _save(self, now: Waiting | None) -> None:
        failing = sorted(self._failures.items(), key=lambda item: item[1].since_unix_ns)
        self._outbox.write_state(self._state | {
            "at_unix_ns": time.time_ns(),
            "sending": now and now.part.path,
            "failing_parts": len(failing),
            "failing": [{"part": part.path, "code": failure.error.code, "what": failure.error.problems[0].what, "fix": failure.error.fix,
                         "since_unix_ns": failure.since_unix_ns, "tries": failure.tries} for part, failure in failing[:_MOST_SAID]],
        })


def _jitter(tries: int) -> float:
    return random.random() * min(_LONGEST_S, 2.0**min(tries, 10))


def run(options: argparse.Namespace) -> tuple[str, int]:
    """What to print, and the exit status."""
    outbox, store = Outbox(options.outbox), open_store(options.target)
    outbox.lock()
    # At once, also within obstore, which does not look for Python's handlers: nothing is lost by it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    shipper = Shipper(outbox, store, options.target)
    if not options.once:
        shipper.follow()
    parts, size = shipper.shipped
    error = shipper.round(once=True)
    from .._core import format_bytes

    # What was sealed meanwhile is the next one's.
    left = shipper.left
    text = f"{parts_text(shipper.shipped[0] - parts)}, {format_bytes(shipper.shipped[1] - size)}, shipped; {left} left\n"
    return text, 1 if error else 0
