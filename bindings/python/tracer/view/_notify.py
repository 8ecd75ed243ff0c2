# SPDX-License-Identifier: Apache-2.0
"""`tracer notify`: one message for each finding, each run that ends, and each time in which a machine works for nobody."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._errors import InvalidArgumentError, RecordingError
from .._format import visible
from ._model import View
from ._texts import UTF8, figure_text

__all__ = ["Deliverer", "Idle", "Message", "Sent", "Wanted", "follow", "messages_of", "to_command", "to_webhook"]

SCHEMA = 1
_TIMEOUT_S = 60
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 1.0, 300.0
_LONGEST_TRY_S = 24 * 3600.0
_MOST_WAITING = 1000
_MOST_SENT = 10_000
_MOST_AT_ONCE = 100
# Answers of a webhook after which it is tried again.
_LATER = (408, 425, 429)
_IDLE_CPU_SHARE = 0.05
# Over which the share is a mean, so that what any host does now and then is not work; it is looked at in so many parts.
_IDLE_WINDOW_S, _IDLE_PARTS = 600.0, 10
_LOOK_S = 2.0


@dataclass(frozen=True, slots=True)
class Wanted:
    """What --on names."""

    severities: frozenset[str]
    codes: frozenset[str]
    run_end: bool
    idle: bool

    @classmethod
    def of(cls, text: str) -> Wanted:
        severities, codes, others = set(), set(), set()
        for each in filter(None, (part.strip() for part in text.split(","))):
            name, sign, code = each.partition("=")
            if each in ("error", "warning"):
                severities.add(each)
            elif name == "finding" and sign and code:
                codes.add(code)
            elif each in ("run-end", "idle"):
                others.add(each)
            else:
                raise InvalidArgumentError(f"--on {each} is not known", "name some of error, warning, finding=CODE, run-end, idle")
        if not severities | codes | others:
            raise InvalidArgumentError("--on names nothing", "name some of error, warning, finding=CODE, run-end, idle")
        return cls(frozenset(severities), frozenset(codes), "run-end" in others, "idle" in others)


@dataclass(frozen=True, slots=True)
class Message:
    """What is sent, and the key by which it is sent once."""

    key: str
    content: dict[str, Any]

    def to_json(self) -> bytes:
        return json.dumps(self.content, ensure_ascii=False).encode("utf-8", "backslashreplace")


def _message(key: str, event: str, host: str, text: str, **more: Any) -> Message:
    # "text" is what Slack, Mattermost and others show.
    return Message(key, {"schema": SCHEMA, "event": event, "host": host, "text": text, "time_unix_s": int(time.time()), **more})


def messages_of(view: View, wanted: Wanted, host: str) -> Iterator[Message]:
    """Of all that is known now, in order of time; also what was sent before."""
    index = view.index
    for finding in reversed(index.findings):
        if finding["severity"] in wanted.severities or finding["code"] in wanted.codes:
            text = f"{finding['severity']} on {host}: {visible(finding['text'])}"
            yield _message(f"finding {finding['finding_key']}", "finding", host, text, finding=finding)
    if not wanted.run_end:
        return
    for run in reversed(index.runs):
        if run.get("state") == "finished" and "run_key" in run:
            status = index.status[run["id"]]
            words = {"done": "is over", "aborted": "was aborted"}.get(status, status)
            failed = run.get("failed", run.get("failed_at_least", 0))
            text = f"{visible(run['name'])} {words} on {host} after {figure_text(run, 'wall_ns', UTF8)}"
            text += f"; {failed} failure{'' if failed == 1 else 's'} began in it" if failed else ""
            yield _message(f"run {run['run_key']}", "run_end", host, text, status=status, run=run)


def _cpu_times() -> tuple[int, int]:
    """Busy and all, of the whole host, in ticks."""
    with open("/proc/stat", encoding="ascii") as file:
        ticks = [int(each) for each in file.readline().split()[1:9]]
    return sum(ticks) - ticks[3] - ticks[4], sum(ticks)


class Idle:
    """Since when nothing that is known runs or waits, and the host computes next to nothing."""

    def __init__(self, after_s: float, usd_per_hour: str | None, cpu_times: Callable[[], tuple[int, int]] = _cpu_times,
                 now: Callable[[], float] = time.time, sent: Sent | None = None) -> None:
        """`sent`: keeps it over restarts."""
        self._after_s, self._usd, self._cpu_times, self._now, self._sent = after_s, usd_per_hour, cpu_times, now, sent
        self._window_s = min(_IDLE_WINDOW_S, after_s)
        self._since = now()
        times = cpu_times()
        # The first is the newest that is at least as old as the window, once there is one.
        self._looks: deque[tuple[float, int, int]] = deque([(self._since, *times)])
        kept = sent.idle if sent is not None else None
        # Ticks begin anew when the host boots.
        if kept is not None and kept[1] <= self._since and kept[3] <= times[1]:
            self._since = kept[0]
            self._looks = deque([kept[1:]])

    def look(self, view: View, host: str) -> Message | None:
        """One message for each such time, once it has lasted for long enough."""
        now, (busy, ticks) = self._now(), self._cpu_times()
        looks = self._looks
        if now < looks[-1][0]:
            # The clock was set back.
            looks.clear()
            looks.append((now, busy, ticks))
            self._since = min(self._since, now)
        while len(looks) > 1 and looks[1][0] <= now - self._window_s:
            looks.popleft()
        at, busy_before, ticks_before = looks[0]
        is_known = now - at >= self._window_s and ticks > ticks_before
        if now - looks[-1][0] >= self._window_s / _IDLE_PARTS:
            looks.append((now, busy, ticks))
        tasks = view.index.tasks
        lives = any(tasks[each] for each in ("running", "stalled", "queued", "elsewhere")) or any(
            each.get("state") == "running" for each in view.index.runs)
        if lives or (is_known and (busy - busy_before) / (ticks - ticks_before) >= _IDLE_CPU_SHARE):
            self._since = now
            self._keep(None)
            return None
        kept = self._sent.idle if self._sent is not None else None
        if now - max(self._since, kept[1] if kept is not None else 0) >= self._window_s:
            self._keep((self._since, now, busy, ticks))
        if now - self._since < self._after_s:
            return None
        when = time.strftime("%A %H:%M", time.localtime(self._since))
        price = f", {self._usd} USD an hour" if self._usd else ""
        more = {"usd_per_hour": self._usd} if self._usd else {}
        return _message(f"idle {int(self._since)}", "idle", host, f"{host} has worked for nobody since {when}{price}",
                        since_unix_s=int(self._since), **more)

    def _keep(self, idle: tuple[float, float, int, int] | None) -> None:
        if self._sent is not None and self._sent.idle != idle:
            self._sent.keep_idle(idle)


class Sent:
    """Keys of what was sent, the newest of them; in a file, if one is named, so that a restart repeats nothing."""

    def __init__(self, path: str | None) -> None:
        self._path = path
        self._keys: dict[str, None] = {}
        self.idle: tuple[float, float, int, int] | None = None
        """Since when the host is idle, when that was seen last, and the busy and all ticks of then."""
        self.fresh = True
        """Nothing is known of earlier: what there is at first is no news."""
        if path is None or not os.path.exists(path):
            return
        try:
            kept = json.loads(Path(path).read_text(encoding="utf-8"))
            self._keys = dict.fromkeys(map(str, kept["sent"]))
            if "idle" in kept:
                since, seen, busy, ticks = kept["idle"]
                self.idle = (float(since), float(seen), int(busy), int(ticks))
            self.fresh = False
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise RecordingError.of("TRC110", getattr(error, "errno", None), f"can't read {path}: {error}",
                                    "remove it: then only what is new is sent") from None

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def add(self, *keys: str) -> None:
        self._keys |= dict.fromkeys(keys)
        for key in list(self._keys)[:-_MOST_SENT]:
            del self._keys[key]
        self.fresh = False
        self._write()

    def keep_idle(self, idle: tuple[float, float, int, int] | None) -> None:
        self.idle = idle
        self._write()

    def _write(self) -> None:
        if self._path is None:
            return
        folder = os.path.dirname(self._path) or "."
        try:
            with tempfile.NamedTemporaryFile("w", dir=folder, prefix=".tracer-", delete=False, encoding="utf-8") as file:
                json.dump({"schema": SCHEMA, "sent": list(self._keys), **({"idle": self.idle} if self.idle else {})}, file)
            os.replace(file.name, self._path)
        except OSError as error:
            raise RecordingError.of("TRC114", error.errno, f"can't write {self._path}: {error.strerror}",
                                    "name a file in a folder that exists and that you may write to") from None


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *given: Any) -> None:
        """A message goes where it was sent to, or nowhere."""


class Refused(Exception):
    """Trying again is of no use."""


def _check_address(url: str) -> None:
    try:
        parts = urllib.parse.urlsplit(url)
        request = urllib.request.Request(url)
        # Nothing is connected to by this.
        http.client.HTTPConnection(request.host).putrequest("POST", request.selector)
        if parts.scheme in ("http", "https") and parts.port != 0 and (parts.hostname or "").encode("idna"):
            return
    except (http.client.InvalidURL, ValueError):
        pass
    raise InvalidArgumentError(f"--webhook {visible(url)} is no address", "write it as https://…")


def to_webhook(url: str) -> Callable[[Message], None]:
    """Posts JSON. Raises OSError if that is worth another try, Refused if not."""
    _check_address(url)
    opener = urllib.request.build_opener(_NoRedirects())

    def send(message: Message) -> None:
        request = urllib.request.Request(url, message.to_json(), {"Content-Type": "application/json; charset=utf-8"}, method="POST")
        try:
            with opener.open(request, timeout=_TIMEOUT_S):
                pass
        except urllib.error.HTTPError as error:
            with error:
                if error.code < 500 and error.code not in _LATER:
                    raise Refused(f"{error.code} {error.reason}") from None
                raise OSError(f"{error.code} {error.reason}") from None
        except http.client.HTTPException as error:
            raise OSError(f"the webhook's answer is no HTTP: {visible(repr(error))}") from None

    return send


def to_command(words: list[str]) -> Callable[[Message], None]:
    """Runs it with JSON as its standard input; any status but 0 is tried again."""

    def send(message: Message) -> None:
        try:
            done = subprocess.run(words, input=message.to_json(), timeout=_TIMEOUT_S, check=False)
        except subprocess.TimeoutExpired:
            raise OSError(f"{words[0]} took longer than {_TIMEOUT_S} s") from None
        if done.returncode != 0:
            raise OSError(f"{words[0]} has returned {done.returncode}")

    return send


class Deliverer:
    """Messages in their order; one that can't be delivered is tried again, ever more seldom, for a day."""

    def __init__(self, send: Callable[[Message], None], sent: Sent, now: Callable[[], float] = time.monotonic) -> None:
        self._send, self._sent, self._now = send, sent, now
        self._waiting: deque[tuple[Message, float]] = deque()
        self._keys: set[str] = set()
        self._pause_s, self._next = _FIRST_PAUSE_S, 0.0
        self.lost = 0

    def add(self, message: Message) -> None:
        """Unless it was sent, or waits."""
        if message.key in self._sent or message.key in self._keys:
            return
        if len(self._waiting) == _MOST_WAITING:
            self._drop("too many messages wait")
        self._waiting.append((message, self._now()))
        self._keys.add(message.key)

    def _drop(self, why: str) -> None:
        message, _ = self._waiting.popleft()
        self._keys.discard(message.key)
        self._sent.add(message.key)
        self.lost += 1
        print(f"tracer: a message was not delivered: {why}: {visible(message.content['text'])}", file=sys.stderr)

    def deliver(self, stop: threading.Event | None = None) -> bool:
        """Those whose time has come, some of them, until it is stopped. True: there are more."""
        for _ in range(_MOST_AT_ONCE):
            if not self._is_time() or (stop is not None and stop.is_set()):
                break
            message, since = self._waiting[0]
            try:
                self._send(message)
            except Refused as error:
                self._drop(f"refused, {error}")
                continue
            except OSError as error:
                if self._now() - since > _LONGEST_TRY_S:
                    self._drop(str(error))
                    continue
                if self._pause_s == _FIRST_PAUSE_S:
                    print(f"tracer: {error}; it is tried again", file=sys.stderr)
                self._next = self._now() + self._pause_s
                self._pause_s = min(2 * self._pause_s, _LONGEST_PAUSE_S)
                return False
            self._pause_s = _FIRST_PAUSE_S
            self._waiting.popleft()
            self._keys.discard(message.key)
            self._sent.add(message.key)
        return self._is_time()

    def _is_time(self) -> bool:
        return bool(self._waiting) and self._now() >= self._next

    @property
    def waiting(self) -> int:
        return len(self._waiting)


def follow(view: View, host: str, wanted: Wanted, deliverer: Deliverer, sent: Sent, idle: Idle | None,
           has_ended: Callable[[], bool] | None, stop: threading.Event) -> None:
    """Until it is stopped, or the recording has ended and all is delivered. `has_ended`: absent for a service, of which
    what is there at first is no news, unless it is known what was sent before."""
    changed = view.refresh()
    if has_ended is None and sent.fresh:
        sent.add(*(each.key for each in messages_of(view, wanted, host)))
    while True:
        if changed:
            for message in messages_of(view, wanted, host):
                deliverer.add(message)
        if idle is not None and view.problem is None and (found := idle.look(view, host)) is not None:
            deliverer.add(found)
        more = deliverer.deliver(stop)
        if has_ended is not None and not changed and not deliverer.waiting and has_ended():
            return
        if stop.wait(0 if more or (changed and has_ended is not None) else _LOOK_S):
            return
        changed = view.refresh()


def stopped_by_signals() -> threading.Event:
    """Set by SIGTERM and SIGINT."""
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    return stop


def price_of_host() -> str | None:
    """USD an hour, as `tracer prices use` has chosen it; None: nobody has."""
    with contextlib.suppress(ImportError, OSError, ValueError, KeyError):
        from ..cost.shared import chosen_path

        return str(json.loads(chosen_path().read_text(encoding="utf-8"))["usd_per_hour"])
    return None
