# SPDX-License-Identifier: Apache-2.0
"""`snakemake --logger tracer`: names the run and its jobs to tracer's service, and shows what each job used.

Snakemake ends all of its logger plugins if one of them raises, so nothing here does, and nothing waits for the service
but the end of the run, for two seconds."""

import dataclasses
import logging
import os
from typing import Optional

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.settings import LogHandlerSettingsBase

from .notes import note_of
from .reporter import Reporter

DEFAULT_SOCKET = "/run/tracer/tracer.sock"


@dataclasses.dataclass
class LogHandlerSettings(LogHandlerSettingsBase):
    sample: Optional[str] = dataclasses.field(
        default="sample", metadata={"help": "The wildcard that names the sample of a job.", "required": False})


class LogHandler(LogHandlerBase):
    writes_to_stream = writes_to_file = needs_rulegraph = False
    # Snakemake's own filter drops the events of jobs with --quiet.
    has_filter = has_formatter = True

    def __post_init__(self) -> None:
        quiet = {str(getattr(one, "name", one)).upper() for one in self.common_settings.quiet or ()}
        self._is_dry = bool(self.common_settings.dryrun)
        self._reporter = Reporter(os.environ.get("TRACER_SOCKET") or DEFAULT_SOCKET,
                                  getattr(self.settings, "sample", None) or "sample",
                                  shows_jobs=not quiet & {"ALL", "PROGRESS"})

    def emit(self, record: logging.LogRecord) -> None:
        if self._is_dry or self._reporter.is_over:
            return
        try:
            note = note_of(record)
            if note is not None:
                self._reporter.add(note)
        except Exception as error:  # pylint: disable=broad-exception-caught
            self._reporter.warn(f"an event of Snakemake is not understood ({error!r})")

    def close(self) -> None:
        try:
            self._reporter.finish()
        except Exception:  # pylint: disable=broad-exception-caught
            pass
        super().close()
