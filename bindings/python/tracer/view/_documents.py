# SPDX-License-Identifier: Apache-2.0
"""What the page draws, of recordings and of services."""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import stat
import threading
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import _core
from .._errors import InvalidArgumentError, ServiceError
from .._recording import Recording, past, read
from .._report import Report
from ..lake._layout import is_lake
from ._asked import Asked
from ._model import Index, Service, View
from ._runs import RUN_FIELDS

if TYPE_CHECKING:
    from ._lake import ShownLake

__all__ = ["FIELDS", "Shown", "of_key", "shown_of"]

# Of the state: what the page draws.
FIELDS = ("state", "run_key", "task_key", "in", "pipeline", "run", "step", "sample", "attempt", "engine", "task_id", "start_ns",
          "first_start_ns", "last_end_ns", "submitted_ns", "outcome", "expected", "processes", "tasks", "living", "failed", "wall_ns",
          "cpu_ns", "cpu_utilization", "memory_bytes", "read_bytes", "written_bytes", "queued_ns", "time", "waits_for",
          "requested", "bound_by", "bound_share", "name")
_LISTED_PROCESSES = 200
# In one file: those are looked at first.
_MOST_TASKS_WITH_FILES = 200
# Each reads the whole recording.
_MOST_WHY = 8
_MOST_REPLIES = 1000
_MOST_PAST = 50
_LOOK_S = 1.0


class Shown:
    """One source of the page."""

    def __init__(self, identity: int | str, source: Recording | Service, name: str) -> None:
        self.identity = str(identity)
        self.source = source
        self.name = name
        self.live = isinstance(source, Service)
        # A source answers one at a time; a report is made once, not by each tab that waits for it.
        self._lock = threading.Lock()
        self._made: tuple[object, Report] | None = None
        self._view: tuple[float, View] | None = None
        self._asked = Asked(lambda name, key: getattr(source, name)(key))

    @property
    def wall_offset_ns(self) -> int:
        offset_ns: int = self.source.host.wall_offset_ns
        return offset_ns

    @property
    def host(self) -> dict[str, Any]:
        host = self.source.host
        return {"name": host.host_name, "kernel": f"{host.kernel_release} {host.architecture}", "cpus": host.cpu_count,
                "memory_bytes": host.memory_bytes, "version": host.tracer_version, "wall_offset_ns": str(host.wall_offset_ns)}

    def about(self) -> dict[str, Any]:
        about: dict[str, Any] = {"source": self.identity, "name": self.name, "kind": "service" if self.live else "recording",
                                 "hosts": [self.host], "says": ["over_time", "why"] if isinstance(self.source, Recording) or self.source.records() else []}
        if self.live and os.geteuid() == 0:
            about["warning"] = "This page is served for root: it shows what every user of this host runs."
        return about

    def state(self, since: str, rows: list[str], key: str, fields: Iterable[str] = FIELDS) -> str:
        """JSON, as docs/state.md describes it."""
        with self._lock:
            return self.source._read_state(since, rows, key, list(fields))

    def held(self, key: str) -> dict[str, Any]:
        """Processes, files and peers of a task; of a recording also the processes that have ended."""
        reply: dict[str, Any] = json.loads(self.state("", ["counts"], key))
        if isinstance(self.source, Recording):
            of_key = json.loads(self._report()._shown.held()).get(key, {})
            reply["processes"] = of_key.get("processes", [])[:_LISTED_PROCESSES]
        return reply

    def ask(self, name: str, key: str) -> dict[str, Any] | None:
        """over_time or why of a run or task, some seconds old; None: no recording that is read has it."""
        try:
            return self._asked.answer(name, key)
        except InvalidArgumentError:
            if isinstance(self.source, Service) and not self.source.records():
                raise LookupError("this service records nothing") from None
            raise

    def compared(self, other: Shown) -> dict[str, Any]:
        """How the other recording differs from this one."""
        if not isinstance(self.source, Recording) or not isinstance(other.source, Recording):
            raise InvalidArgumentError("only recordings can be compared", "choose two sources that are recordings")
        return self.source.compare(other.source)

    def changed(self) -> object:
        """Another value after the files of a recording have changed."""
        return _changed_of(self.source) if isinstance(self.source, Recording) else None

    def index(self) -> Index:
        """Runs, steps and tasks: of a recording, read anew; of a service, a second old at most."""
        if isinstance(self.source, Recording):
            view = View(_Once(self.source), fields=RUN_FIELDS)
            view.refresh()
            return view.index
        with self._lock:
            looked_s, view = self._view or (-_LOOK_S, View(self.source, fields=RUN_FIELDS))
            if time.monotonic() - looked_s >= _LOOK_S:
                view.refresh()
                self._view = (time.monotonic(), view)
            return view.index

    def document(self) -> str:
        """The report with what the page draws besides; of a service, its present state."""
        return self._report()._shown.document(self.name, False) if isinstance(self.source, Recording) else self._present()

    def _report(self) -> Report:
        assert isinstance(self.source, Recording)
        with self._lock:
            now = _changed_of(self.source)
            if self._made is None or self._made[0] != now:
                self._made = (now, self.source.report)
            return self._made[1]

    def exported(self) -> str:
        """With what nobody can be asked for later: processes; of tasks files and peers; why, of those that findings are about; what
        the run used over time."""
        if not isinstance(self.source, Recording):
            return self._present()
        whole: dict[str, Any] = json.loads(self._report()._shown.document(self.name, True))
        for key in [task["task_key"] for task in whole["tasks"] if "task_key" in task][:_MOST_TASKS_WITH_FILES]:
            reply = json.loads(self.state("", ["counts"], key))
            whole["held"].setdefault(key, {}).update({name: reply[name] for name in ("files", "peers") if reply.get(name)})
        about = dict.fromkeys(each["task_key"] for each in whole["findings"] if "task_key" in each)
        whole["why"] = {key: said for key in list(about)[:_MOST_WHY] if (said := self.ask("why", key))}
        return json.dumps(whole, ensure_ascii=False)

    def _present(self) -> str:
        rows: dict[str, dict[str, Any]] = {"runs": {}, "steps": {}, "tasks": {}, "findings": {}}
        since, counts = "", {}
        for _ in range(_MOST_REPLIES):
            reply = json.loads(self.state(since, [], ""))
            since, counts = reply["since"], reply["counts"]
            for name, kept in rows.items():
                kept.update((row["finding_key" if name == "findings" else "id"], row) for row in reply[name])
            if not reply["more"]:
                break
        return json.dumps({"schema": 1, "title": self.name, "live": True, "hosts": [self.host], "counts": counts,
                           **{name: list(kept.values()) for name, kept in rows.items()}}, ensure_ascii=False)


class _Once:
    """The state of a recording, which is not kept."""

    def __init__(self, recording: Recording) -> None:
        self._state = _core.RecordedState(recording.open_reader())

    def state(self, since: str | None = None, rows: Any = None, key: str | None = None, fields: Any = None) -> dict[str, Any]:
        reply: dict[str, Any] = json.loads(self._state.json(since or "", rows or [], key or "", fields or []))
        return reply


def _changed_of(recording: Recording) -> object:
    """Another value after its files have changed."""
    found = [(each.name, status.st_mtime_ns, status.st_size) for each in recording._descriptors for status in (os.fstat(each.fd),)]
    for each in recording.paths:
        path = Path(os.fsdecode(each))
        for file in sorted(path.iterdir()) if path.is_dir() else [path]:
            # An open file's name is no path.
            with contextlib.suppress(FileNotFoundError):
                status = file.stat()
                found.append((str(file), status.st_mtime_ns, status.st_size))
    return found


def of_key(document: str, key: str) -> str | None:
    """What of it belongs to one run; None: it has no such run."""
    whole = json.loads(document)
    if not any(run.get("run_key") == key for run in whole["runs"]):
        return None
    lists = ("runs", "steps", "tasks", "findings", "failures", "processes")
    part: Mapping[str, Any] = {name: [row for row in value if row.get("run_key") == key] if name in lists else value
                               for name, value in whole.items() if name not in ("verdict", "samples", "tools")}
    return json.dumps(part, ensure_ascii=False)


def _of_service(socket: str | None, name: str | None) -> list[tuple[Recording | Service, str]]:
    """It, and what it has recorded of this user, the newest first; nothing of that, if it records for nobody but root."""
    service = Service(socket)
    found: list[tuple[Recording | Service, str]] = [(service, name or service.host.host_name)]
    with contextlib.suppress(InvalidArgumentError, ServiceError):
        found += [(each, _name_of_past(each)) for each in past(socket=socket)[:_MOST_PAST]]
    return found


def _of_files(folder: str) -> list[tuple[Recording | Service, str]]:
    """Each session, by its host where there are several, such as in a folder of 'tracer lake fetch'."""
    from .._data import recordings_in, series_of

    found = [read([*files]) for files in series_of(recordings_in(folder))] or [read(folder)]
    if len(found) == 1:
        return [(found[0], os.path.basename(folder.rstrip("/")))]
    return [(each, each.host.host_name) for each in found]


def _name_of_past(recording: Recording) -> str:
    """When it began, and whose it is if it is another's."""
    first = next(iter(recording), None)
    began = "past" if first is None else time.strftime("%Y-%m-%d %H:%M", time.localtime((first.time_ns + recording.host.wall_offset_ns) / 1e9))
    owner = getattr(recording, "owner_uid", None)
    if owner is None or owner == os.geteuid():
        return began
    try:
        return f"{began}, {pwd.getpwuid(owner).pw_name}"
    except KeyError:
        return f"{began}, user {owner}"


def shown_of(given: list[str]) -> list[Shown | ShownLake]:
    """Lakes, sockets of services, recordings, and folders that hold some; nothing: the service of this host."""
    found: list[tuple[Recording | Service | None, str]] = []
    if not given:
        found += _of_service(None, "this host")
    for place in given:
        if is_lake(place):
            found.append((None, place))
            continue
        try:
            mode = os.stat(place).st_mode
        except OSError as error:
            raise InvalidArgumentError(f"there is no source {place}: {os.strerror(error.errno or 0)}",
                                       "name a recording, a folder that holds some, or the socket of a service") from None
        found += _of_service(place, None) if stat.S_ISSOCK(mode) else _of_files(place) if stat.S_ISDIR(mode) else [(read(place), os.path.basename(place))]
    return [_lake(number, name) if source is None else Shown(number, source, name) for number, (source, name) in enumerate(found)]


def _lake(number: int, url: str) -> ShownLake:
    from ._lake import ShownLake

    return ShownLake(number, url)
