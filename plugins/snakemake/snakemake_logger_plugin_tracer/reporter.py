# SPDX-License-Identifier: Apache-2.0
"""Takes notes from Snakemake, and hands them to the run on a thread of its own."""

import contextlib
import logging
import os
import queue
import sys
import threading
import uuid

from .lines import printable
from .run import Run
from .service import Service, Unusable

MOST_WAITING = 20_000
END_SECONDS = 2
SEEK_PAUSE_SECONDS = 0.05
IDLE_PAUSE_SECONDS = 1


class Reporter:
    """add(), finish() and warn() neither wait for the service nor raise."""

    def __init__(self, path: str, sample: str, shows_jobs: bool) -> None:
        self._path, self._sample, self._shows_jobs = path, sample, shows_jobs
        self.is_over = False
        self._is_silent = False
        self._has_warned = False
        self._notes: queue.SimpleQueue = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._service = Service(path)
        self._run: Run | None = None

    def add(self, note: tuple) -> None:
        if self._notes.qsize() >= MOST_WAITING:
            return self.warn("the service is too slow: some jobs are not reported")
        self._notes.put(note)
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="tracer", daemon=True)
            self._thread.start()

    def finish(self) -> None:
        if self._thread is not None and not self.is_over:
            self._notes.put(None)
            self._thread.join(END_SECONDS)
            if self._thread.is_alive():
                self.warn(f"the service at {self._path} does not answer: not all jobs are reported")
        self.is_over = self._is_silent = True

    def warn(self, what: str) -> None:
        if not self._has_warned:
            self._has_warned = True
            self._say(f"warning: {what}")

    def _say(self, line: str) -> None:
        if self._is_silent:
            return
        with contextlib.ExitStack() as stack:
            # Snakemake's own handler writes each line in two parts: not between them.
            for handler in logging.getLogger("snakemake.logging").handlers:
                if getattr(handler, "stream", None) is sys.stderr and handler.lock:
                    stack.enter_context(handler.lock)
            # Not by sys.stderr: if a thread waits in that when Python ends, Python aborts.
            with contextlib.suppress(OSError):
                os.write(2, f"tracer: {printable(line)}\n".encode(errors="replace"))

    def _work(self) -> None:
        try:
            while (note := self._next()) is not None:
                self._take(*note)
            self._end_run()
        except Unusable as error:
            self.warn(f"no service at {self._path}: jobs are not reported ({error})")
        except Exception as error:  # pylint: disable=broad-exception-caught
            self.warn(f"jobs are not reported ({error!r})")
        finally:
            self.is_over = True
            self._service.close()
            while not self._notes.empty():
                self._notes.get()

    def _next(self) -> tuple | None:
        while self._run and self._run.has_begun:
            with contextlib.suppress(queue.Empty):
                return self._notes.get(timeout=SEEK_PAUSE_SECONDS if self._run.sought else IDLE_PAUSE_SECONDS)
            self._run.idle()
        return self._notes.get()

    def _take(self, kind: str, *facts: object) -> None:
        if kind == "workflow":
            self._end_run()
            self._run = self._new_run(*facts)
            return
        if self._run is None:
            self._run = self._new_run(str(uuid.uuid4()), "Snakefile")
        if kind in ("expected", "job") and not self._run.has_begun:
            self._run.begin(facts[0] if kind == "expected" else {})
        if kind != "expected":
            getattr(self._run, kind)(*facts)

    def _new_run(self, run_id: str, pipeline: str) -> Run:
        return Run(run_id, pipeline, self._sample, self._service, self.warn, self._say if self._shows_jobs else None,
                   lambda error: self.warn(f"no service at {self._path}: jobs are not reported until one answers "
                                           f"({error.strerror or error})"))

    def _end_run(self) -> None:
        if self._run is not None and self._run.has_begun:
            self._run.end()
        self._run = None
