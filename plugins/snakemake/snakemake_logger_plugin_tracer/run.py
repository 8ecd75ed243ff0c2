# SPDX-License-Identifier: Apache-2.0
"""Reports a run to the service: its jobs that wait, run, and are over."""

import collections
import contextlib
import os
import pathlib
import time
from collections.abc import Callable

from .lines import line_of_job, line_of_run
from .notes import Job, escaped
from .service import Refused, Service

SCRIPTS = ".snakemake/scripts"
SEEK_SECONDS = 10
MOST_BOTH = 100
MOST_OF_SCRIPT = 1 << 20
MOST_UNSENT = 20_000
DAY_NS = 86_400 * 10**9
COLUMNS = ["run_id", "task_key", "task_id", "wall_ns", "cpu_ns", "memory_bytes"]


class Run:
    """job(), failed() and so on are called with the notes of those names."""

    def __init__(self, run_id: str, pipeline: str, sample: str, service: Service, warn: Callable[[str], None],
                 say: Callable[[str], None] | None, lost: Callable[[OSError], None]) -> None:
        self._context = {"engine": "snakemake", "run_id": run_id, "pipeline": pipeline}
        self._sample = sample
        self._service, self._warn, self._say, self._lost = service, warn, say, lost
        self.has_begun = False
        self._expected: dict[str, int] = {}
        self._connection = 0  # The one that knows the run; 0: none.
        self._unsent: collections.deque[dict] = collections.deque(maxlen=MOST_UNSENT)
        self._run_key: str | None = None
        self._submits = self._has_state = True
        self._is_remote = False
        self._group: str | None = None
        self._jobs: dict[int, Job] = {}
        self._attempts: collections.Counter = collections.Counter()
        self._states: dict[int, str] = {}
        self._environments: dict[str, tuple] = {}
        self._scripts = pathlib.Path(SCRIPTS).absolute()
        self._known_scripts: set[str] = set()
        self.sought: dict[int, float] = {}
        self._since = ""
        self._rows: dict[str, dict] = {}
        self._findings: dict[str, dict] = {}

    def _ask(self, request: str, **keys: object) -> dict | None:
        """None: it is refused, or there is no connection."""
        if not self._service.is_open:
            return None
        try:
            return self._service.ask(request, **keys)
        except Refused as refusal:
            # What an earlier service does not know is left out; without "submit", more is missing than a figure.
            if request == "submit" or not refusal.is_unknown:
                self._warn(f"the service refuses \"{request}\": {refusal}")
            if request == "submit" and refusal.is_unknown:
                self._submits = False
        except OSError as error:
            self._lost(error)
        return None

    def begin(self, expected: dict[str, int]) -> None:
        self.has_begun = True
        self._expected = expected
        self._is_connected()

    def idle(self) -> None:
        """To be called while nothing happens."""
        try:
            self._service.check()
        except OSError as error:
            self._lost(error)
        self._is_connected()
        if self.sought:
            self._seek_scripts()

    def _is_connected(self) -> bool:
        """A new connection is given all that is open: a service that began anew knows nothing."""
        try:
            if self._service.open() and self._connection != self._service.connection:
                self._connection = self._service.connection
                self._introduce()
        except OSError as error:
            self._lost(error)
        return self._service.is_open

    def _introduce(self) -> None:
        self._submits = self._has_state = True
        reply = self._ask("submit", context=self._context, **({"expected": self._expected} if self._expected else {}))
        self._run_key = reply["run_key"] if reply and "run_key" in reply else self._run_key
        self._ask("announce", key={"pid": os.getpid()}, context=self._context)
        if not self._since:
            self._look(["counts"])
        while self._unsent and self._service.is_open:
            self._withdraw(**self._unsent.popleft())
        for job in self._jobs.values():
            self._report(job)

    def _report(self, job: Job) -> None:
        if self._submits and (reply := self._ask("submit", **self._names(job))):
            job.task_key = reply.get("task_key")
        for arguments in job.announced:
            self._announce(job, arguments)

    def _withdraw(self, **keys: object) -> None:
        """One that the service did not get is sent to the next one, which may have kept the task."""
        if self._ask("withdraw", **keys) is None and not self._service.is_open:
            self._unsent.append(keys)

    def remote(self) -> None:
        self._is_remote = True

    def group(self, group: str) -> None:
        self._group = group

    def job(self, job: Job) -> None:
        if job.id in self._jobs:
            # It is tried again, and nothing has reported its end.
            self._over(self._jobs.pop(job.id), "failed")
        self._attempts[job.id] += 1
        job.attempt = self._attempts[job.id]
        job.group = self._group if job.is_grouped else None
        container, job.conda_env = self._environments.get(job.rule, (None, None))
        if container:
            job.requested["container"] = container
        is_connected = self._is_connected()
        self._jobs[job.id] = job
        if job.is_local or not self._is_remote:
            # A process takes 256. Only with shadow:, a job with a command has the second.
            few = self._submits and len(self._jobs) <= MOST_BOTH
            job.announced = job.arguments()[:None if few else 1]
            if job.command is None:
                self.sought[job.id] = time.monotonic() + SEEK_SECONDS
        if is_connected:
            self._report(job)

    def _names(self, job: Job) -> dict:
        return {"context": job.context(self._context, self._sample), "requested": job.requested}

    def _announce(self, job: Job, arguments: list[str]) -> None:
        self._ask("announce", key={"below": {"pid": os.getpid()}, "argv": arguments}, **self._names(job))

    def _seek_scripts(self) -> None:
        """Finds the jobs with script: by the files that Snakemake makes for them, with the names of their outputs: their
        arguments have neither the rule nor a wildcard."""
        now = time.monotonic()
        self.sought = {one: until for one, until in self.sought.items() if one in self._jobs and now < until}
        names = {one.name for one in self._scripts.iterdir()} if self._scripts.is_dir() else set()
        self._known_scripts &= names
        for name in names - self._known_scripts:
            with contextlib.suppress(OSError), open(self._scripts / name, "rb") as file:
                script = file.read(MOST_OF_SCRIPT)
                found = max((self._jobs[one] for one in self.sought), key=lambda job: job.named_in(script), default=None)
                if found and found.named_in(script):
                    self._known_scripts.add(name)
                    del self.sought[found.id]
                    found.announced.append(["...", f"*/{escaped(name)}*", "..."])
                    self._announce(found, found.announced[-1])

    def finished(self, job_id: int) -> None:
        if job := self._jobs.pop(job_id, None):
            self._over(job, "succeeded")

    def failed(self, job_id: int, container: str | None, conda_env: str | None) -> None:
        if job := self._jobs.pop(job_id, None):
            if container or conda_env:
                # Only errors name these. They hold for other jobs of the rule.
                self._environments[job.rule] = (container, conda_env)
            self._over(job, "failed")

    def exit_status(self, status: int, message: str) -> None:
        """Comes before the job's failure, with its command, and without its number."""
        for job in self._jobs.values():
            if job.command is not None and job.command in message:
                job.exit_code = status

    def end(self) -> None:
        for job in self._jobs.values():
            self._over(job, "aborted")
        counts = collections.Counter(self._states.values())
        state = next((state for state in ("aborted", "failed") if counts[state]), "succeeded")
        if self._run_key:
            self._ask("withdraw", run_key=self._run_key, state=state)
        more = self._where_more_is()
        if self._say and self._service.is_open:
            self._say(line_of_run(self._context, counts, len(self._findings), more))

    def _where_more_is(self) -> str:
        # Nothing has been written after tomorrow: no recording comes with the reply.
        recordings = self._ask("recordings", since=time.time_ns() + DAY_NS)
        if recordings and recordings.get("by_owner"):
            return ". More of it: tracerd report, tracerd why"
        if self._service.sees_all:
            return ". In a recording of the service: tracerd report FILE, tracerd why FILE"
        return ""

    def _over(self, job: Job, state: str) -> None:
        self._is_connected()
        self._states[job.id] = state  # The last attempt counts.
        # Before the task is withdrawn, the service must have seen what was announced of it.
        self._ask("flush")
        self._look(["tasks", "findings"])
        row = self._rows.get(job.task_key) or self._rows.get(job.task_id) or {}
        left = {name for one in self._jobs.values() for name in (one.task_key, one.task_id)}
        self._rows = {name: self._rows[name] for name in left & self._rows.keys()}
        findings = [one for one in self._findings.values() if one.get("task_id") == job.task_id]
        if job.task_key:
            code = 0 if state == "succeeded" and job.command is not None else job.exit_code if state == "failed" else None
            self._withdraw(task_key=job.task_key, state=state, **({} if code is None else {"exit_code": code}))
        if self._say and self._service.is_open:
            self._say(line_of_job(job, self._sample, state, row, findings))

    def _look(self, rows: list[str]) -> None:
        """Reads what has changed in the service."""
        more = self._has_state
        while more:
            reply = self._ask("state", since=self._since, rows=rows, fields=COLUMNS)
            if reply is None:
                self._has_state = not self._service.is_open
                return
            state = reply["state"]
            self._since, more = state["since"], state["more"]
            for row in state.get("tasks", ()):
                if row.get("run_id") == self._context["run_id"]:
                    self._rows[row.get("task_id")] = self._rows[row.get("task_key")] = row
            for finding in state.get("findings", ()):
                if finding.get("severity") == "note":
                    self._findings.pop(finding["finding_key"], None)
                elif finding.get("run_id") == self._context["run_id"]:
                    self._findings[finding["finding_key"]] = finding
