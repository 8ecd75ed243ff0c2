# SPDX-License-Identifier: Apache-2.0
"""tracer lake ship: brings parts from an outbox to a lake. Each step can be repeated after a kill at any point: the outbox's part goes last."""

from __future__ import annotations

import argparse
import json
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
from ._layout import RAW, USERS, Part
from ._outbox import Outbox, Waiting, parts_text
from ._store import NO_ANSWER, Store, open_store

__all__ = ["run"]

_LOOK_S = 2.0
_LONGEST_S = 300.0
# After a refusal the next part has its turn soon: this one alone may be wrong.
_REFUSED_S = 5.0
_MOST_SAID = 20
# In --once nobody comes back, so that one unanswered part says enough.
_MOST_UNANSWERED = 3
# The index of an hour is written whole: not once for each part, where many wait.
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
        self._in_lake: set[Part] = set()
        self._named: set[tuple[str, str]] = set()
        before = outbox.state()
        self._state: dict[str, Any] = {"schema": 1, "target": target, "pid": os.getpid(), "started_unix_ns": time.time_ns()} | {
            name: before.get(name, default) for name, default in
            (("shipped_parts", 0), ("shipped_bytes", 0), ("shipped_gaps", 0), ("last_shipped_unix_ns", None))}
        self._tidied: set[str] = set()
        self._tried: list[Waiting] = []

    def follow(self) -> None:
        while True:
            self.round()
            time.sleep(_LOOK_S)

    def round(self, once: bool = False) -> TracerError | None:
        """Tries everything that is due. The last error, if any."""
        waiting = self._tried = self._outbox.waiting()
        parts = {each.part for each in waiting}
        self._failures = {part: failure for part, failure in self._failures.items() if part in parts}
        self._in_lake &= parts
        error = None
        due = [each for each in waiting if each.part not in self._failures or self._failures[each.part].due <= time.monotonic()]
        arrived: list[Waiting] = []
        for each in due:
            failed = self._try(self._put, [each])
            if not failed:
                arrived.append(each)
            if arrived and (failed or len(arrived) == _TOGETHER or each is due[-1]):
                failed = self._try(self._finish, arrived) or failed
                arrived = []
            if failed:
                error, pause = failed
                if once and self._in_a_row >= _MOST_UNANSWERED and error.code == NO_ANSWER:
                    break
                if not once:
                    time.sleep(pause)
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

    def _try(self, step: Callable[[list[Waiting]], None], parts: list[Waiting]) -> tuple[TracerError, float] | None:
        """The error, and how long to leave the store alone then."""
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
            failure.due = time.monotonic() + (_jitter(failure.tries, _LONGEST_S) if unanswered else _LONGEST_S)
        if failed.code != self._said:
            print(f"tracer: {failed}", file=sys.stderr, flush=True)
            self._said = failed.code
        self._in_a_row += 1
        self._save(None)
        return failed, _jitter(self._in_a_row, _LONGEST_S if unanswered else _REFUSED_S)

    def _put(self, parts: list[Waiting]) -> None:
        for each in parts:
            if each.part in self._in_lake:
                continue
            self._save(each)
            key = RAW + each.part.path
            folder = os.path.dirname(key) + "/"
            if folder not in self._tidied:
                self._store.tidy(folder)
                self._tidied.add(folder)
            if self._store.put_new(key, each.path) == "other":
                raise LakeError.of("TRC153", None, f"{key} is in the lake with other bytes than {each.path}",
                                   "nothing is overwritten: compare both, and remove the wrong one")
            self._in_a_row = 0
            self._in_lake.add(each.part)

    def _finish(self, parts: list[Waiting]) -> None:
        """Of parts that are in the lake: the index first, so that a kill before the end repeats it."""
        from ._index import note_shipped

        for host in sorted({each.part.host for each in parts}):
            of_host = [each for each in parts if each.part.host == host and os.path.exists(each.path)]
            self._note_users(host, {each.part.owner for each in of_host})
            note_shipped(self._store, [(each.part, each.path) for each in of_host])
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

    def _note_users(self, host: str, owners: set[str]) -> None:
        names = {}
        for owner in owners - {"all"} - {owner for named, owner in self._named if named == host}:
            with suppress(KeyError, OverflowError):
                names[owner] = pwd.getpwuid(int(owner)).pw_name
        if not names:
            return
        key = f"{USERS}{host}.json"
        known = None
        try:
            known = json.loads(self._store.get(key))["users"]
            users = known | names
        except (KeyError, ValueError, TypeError):
            users = names
        if users != known:
            self._store.put(key, json.dumps({"schema": 1, "users": users}).encode())
        self._named |= {(host, owner) for owner in names}

    def _save(self, now: Waiting | None) -> None:
        failing = sorted(self._failures.items(), key=lambda item: item[1].since_unix_ns)
        self._outbox.write_state(self._state | {
            "at_unix_ns": time.time_ns(),
            "sending": now and now.part.path,
            "failing_parts": len(failing),
            "failing": [{"part": part.path, "code": failure.error.code, "what": failure.error.problems[0].what, "fix": failure.error.fix,
                         "since_unix_ns": failure.since_unix_ns, "tries": failure.tries} for part, failure in failing[:_MOST_SAID]],
        })


def _jitter(tries: int, most: float) -> float:
    return random.random() * min(most, 2.0**min(tries, 10))


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
