# SPDX-License-Identifier: Apache-2.0
"""What tasks requested against what they used, and what to request next.

    from tracer.tune import tune
    result = tune(["recordings/", "trace.csv"])
    print(result)
    print(result.emit("nextflow"))

docs/tune.md explains each rule. Needs duckdb: pip install 'libtracer[cost]'.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["BY", "ENGINES", "Tune", "tune"]

BY = ("step", "tool")
ENGINES = ("nextflow", "snakemake", "sbatch")


@dataclass
class Tune:
    """Rows of what to request: one for each step, or tool."""

    rows: list[dict[str, Any]]
    """docs/tune.md lists their fields. None: not known, or nothing is advised."""
    by: str
    """What a row is of: "step" or "tool"."""
    failures: float | None
    """The share of first attempts that may fail, as asked for; None: as few as can be."""
    attempts: int = 0
    """Attempts of tasks that were read."""
    notes: list[str] = field(default_factory=list)
    """What a reader must know about these figures."""
    evidence: dict[tuple[str, str], list[dict[str, Any]]] = field(default_factory=dict, repr=False)
    """(pipeline, step) -> the attempts that an advice rests on, the newest 20."""

    def to_json(self) -> dict[str, Any]:
        return {"rows": self.rows, "by": self.by, "failures": self.failures, "attempts": self.attempts,
                "waste": self.waste(), "notes": self.notes}

    def to_csv(self) -> str:
        from ._text import to_csv

        return to_csv(self.rows)

    def waste(self) -> dict[str, Any]:
        """Of all rows: what was reserved, used, and could be saved; money where prices are known."""
        from ._text import waste_of

        return waste_of(self.rows)

    def text(self, most: int = 20) -> str:
        """A table of the `most` rows with most to save."""
        from ._text import text_of

        return text_of(self, most)

    def html(self, title: str = "Tune", most: int = 2000) -> str:
        """The `most` rows with most to save, why, and all notes, as one page that needs no network and no other file."""
        from ._text import html_of

        return html_of(self, title, most)

    def why(self, step: str) -> str:
        """The evidence of a step's advice, as text. Raises InvalidArgumentError if there is no such step, or several."""
        from ._text import why_of

        return why_of(self, step)

    def emit(self, engine: str, *, retry: bool = False) -> str:
        """A file for an engine: "nextflow" (a configuration), "snakemake" (a profile), "sbatch" (lines of job scripts).

        `retry`, for Nextflow: with an errorStrategy that retries what may have had too little memory, instead of the pipeline's own.
        """
        from ._emit import emit

        return emit(self, engine, retry)

    def __repr__(self) -> str:
        return self.text()


def tune(tasks: Sequence[str | os.PathLike[str]], *, by: str = "step", failures: float | None = None,
         prices: str | os.PathLike[str] | None = None, history: str | os.PathLike[str] | None = None) -> Tune:
    """What to request for the steps of `tasks`: recordings, folders of them, tables in CSV or Parquet.

    `failures` is the share of first attempts that may fail for lack of memory; None: as few as the largest peak allows. `prices` is a price list, or None for the
    imported ones. `history` is what `tracerd history --json` prints: then times rest on it, too. Raises BillError,
    RecordingError, InvalidArgumentError, MissingPackageError.
    """
    from .._errors import InvalidArgumentError
    from .._data import connect
    from ..cost.shared import known_prices
    from . import _history, _money, _observe, _steps

    if by not in BY:
        raise InvalidArgumentError(f"by is {by!r}", f"one of {', '.join(BY)}")
    if failures is not None and not 0.0001 <= failures <= 0.5:
        raise InvalidArgumentError(f"a failure rate of {failures} can't be kept", "between 0.0001 and 0.5: 0.05 is 5 of 100")
    if not tasks:
        raise InvalidArgumentError("no tasks are given", "name a recording, a folder of recordings, or a table of tasks")
    known = known_prices(prices)
    times = _history.read_history(os.fspath(history)) if history is not None else {}
    with connect() as connection:
        notes: list[str] = []
        count = _observe.observe(connection, [os.fspath(path) for path in tasks], notes)
        rows = _steps.steps_of(connection, by, failures, times)
        if known:
            _money.add_money(connection, rows, known, notes)
        evidence = _steps.evidence_of(connection)
        return Tune(_steps.finished(rows), by, failures, count, notes, evidence)
