# SPDX-License-Identifier: Apache-2.0
"""The common base of sessions, runs and recordings: tables, the report, and how they are shown."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

from . import _core
from ._arguments import checked_call, text_of, texts_of
from ._show import Shown

if TYPE_CHECKING:
    from ._events import Finding, Host
    from ._report import Report
    from ._tables import Table

__all__ = ["MOST_PROCESSES", "Source"]

MOST_PROCESSES = 2000  # That a report lists one by one.


class Source(Shown):
    """Has events that can be read from their beginning, as often as needed."""

    _recorded_state: _core.RecordedState | None = None

    def open_reader(self) -> _core.RecordingReader:
        """A new reader from the first event on."""
        raise NotImplementedError

    @property
    def host(self) -> Host:
        """The machine."""
        return self.open_reader().host()

    def _read_report(self, most_processes: int) -> _core.NativeReport:
        """Of all events so far."""
        return _core.report_of_reader(self.open_reader(), None, None, False, None, most_processes)

    @checked_call
    def state(
        self, since: str | None = None, rows: Collection[str] | None = None, key: str | None = None,
        fields: Collection[str] | None = None,
    ) -> dict[str, Any]:
        """The present state: runs, steps, tasks, findings and counts, as the report has them; see docs/state.md. Of a
        recording and of a session that is closed: the state at its end.

        `since`: that of an earlier reply, for only what has changed; unknown, or of another session: all. `rows`: of
        "runs", "steps", "tasks", "findings", "counts"; None: all of these. `key`: a run_key or task_key, for the
        processes, files and peers of that run or task. `fields`: columns of runs, steps and tasks, such as "cpu_ns";
        None: all. If the reply has `more`, ask again with its `since`.

        Raises InvalidArgumentError if there are no such rows or fields, or the key is none; ServiceError."""
        import json

        state: dict[str, Any] = json.loads(self._read_state(
            "" if since is None else text_of("since", since, empty=True),
            [] if rows is None else texts_of("rows", rows, '{"tasks"}'),
            "" if key is None else text_of("key", key),
            [] if fields is None else texts_of("fields", fields, '{"cpu_ns"}')))
        return state

    def _read_state(self, since: str, rows: list[str], key: str, fields: list[str]) -> str:
        if self._recorded_state is None:
            self._recorded_state = _core.RecordedState(self.open_reader())
        return self._recorded_state.json(since, rows, key, fields)

    @checked_call
    def why(self, asked: str = "") -> dict[str, Any] | None:
        """What `tracerd why --json` says of a run, task or process, by its name, id, key or pid: docs/findings.md. Without
        one: the findings and runs. None: it has no such thing, or several. Reads all events so far: of a session of all that
        a service shows, what the service has recorded.

        Raises InvalidArgumentError if that service records nothing; ServiceError."""
        return self._ask("why", asked)

    @checked_call
    def over_time(self, key: str) -> dict[str, Any] | None:
        """What the run or task with this key consumed and moved over time: docs/state.md. None: nothing has it. Reads as
        much as why(), and raises the same."""
        return self._ask("over_time", text_of("key", key))

    def _ask(self, name: str, asked: str) -> dict[str, Any] | None:
        import json

        text = getattr(self.open_reader(), name)(asked)
        return None if text is None else json.loads(text)

    @checked_call
    def log(self, task: str = "") -> Iterator[str]:
        """What happened so far, in order, as the lines of `tracerd log`: docs/log.md. `task`: only what is about the tasks
        and runs with this name, sample, step, id or key, or in whose name it is a word; none: no line."""
        recorded = _core.RecordedLog(self.open_reader(), text_of("task", task, empty=True))
        return _lines_of(recorded)

    @checked_call
    def table(self, name: str, *, only_ended: bool = False) -> Table:
        """By its name: processes, programs, samples, tasks, runs, events, losses, hosts, files, connections, containers,
        devices. `only_ended`: "processes" without those that had not ended at the last snapshot."""
        from ._tables import Table

        return Table(self.open_reader, name, only_ended)

    @property
    def processes(self) -> Table:
        """One row for each process that has ended, and then for each that had not at the last snapshot."""
        return self.table("processes")

    @property
    def programs(self) -> Table:
        """One row for each program that a process ran."""
        return self.table("programs")

    @property
    def samples(self) -> Table:
        """One row for each living process at each snapshot."""
        return self.table("samples")

    @property
    def tasks(self) -> Table:
        """One row for each task that has finished."""
        return self.table("tasks")

    @property
    def runs(self) -> Table:
        """One row for each run that has finished."""
        return self.table("runs")

    @property
    def losses(self) -> Table:
        """One row for each loss."""
        return self.table("losses")

    @property
    def hosts(self) -> Table:
        """The machine that the events come from."""
        return self.table("hosts")

    @property
    def files(self) -> Table:
        """One row for each file that a process used, when the process has ended."""
        return self.table("files")

    @property
    def connections(self) -> Table:
        """One row for each peer of a program, when the program has ended."""
        return self.table("connections")

    @property
    def containers(self) -> Table:
        """One row for each container that began, and one for each that is gone."""
        return self.table("containers")

    @property
    def devices(self) -> Table:
        """One row for each block device that was used, at each snapshot."""
        return self.table("devices")

    @property
    def gpus(self) -> Table:
        """One row for each process that used a GPU, and each such GPU, at each snapshot. Needs the family gpu."""
        return self.table("gpus")

    @property
    def gpu_uses(self) -> Table:
        """What processes asked of a GPU's driver: of each process and library the last row counts. Needs the family gpu."""
        return self.table("gpu_uses")

    @property
    def host_samples(self) -> Table:
        """What the whole host used, from `watch --host` or a service: `host_sample`."""
        return self.table("host_samples")

    @checked_call
    def sql(self, query: str) -> Any:
        """The result of a query over all tables, by DuckDB, which must be installed."""
        from ._tables import sql

        return sql(self, query)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What failed, is slow, stands still or is not normal so far: each finding as it was reported last, errors first,
        then warnings. At most 1000."""
        from ._report import findings_of

        return findings_of(self)

    @property
    def report(self) -> Report:
        """The report: figures, and how complete they are."""
        from ._report import report_of

        return report_of(self)


def _lines_of(log: _core.RecordedLog) -> Iterator[str]:
    while (text := log.read()) is not None:
        yield from text.split("\n")[:-1]
