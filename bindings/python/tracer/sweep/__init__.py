# SPDX-License-Identifier: Apache-2.0
"""What runs and does nothing: machines, tasks, volumes, queues. By what was observed, never by prediction.

    from tracer.sweep import sweep
    for finding in sweep(["recordings/"], ["instances.json"]):
        print(finding.text, finding.cost_per_hour)

Nothing is ever stopped, and nothing is fetched unless asked for. docs/sweep.md explains each finding. Needs duckdb:
pip install 'libtracer[cost]'.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from tempfile import TemporaryDirectory
from typing import Any

from ._finding import Finding

__all__ = ["Finding", "Sweep", "sweep"]


@dataclass
class Sweep:
    """Findings, the most expensive first; then those that last longest."""

    findings: list[Finding] = field(default_factory=list)
    machines: int = 0
    """That were observed as a whole."""
    notes: list[str] = field(default_factory=list)
    """What a reader must know about these findings: what is missing, and was not judged."""

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    def to_json(self) -> dict[str, Any]:
        """docs/sweep.md lists the fields."""
        return {"schema": 1, "findings": [each.to_json() for each in self.findings], "machines": self.machines,
                "notes": self.notes}

    def to_csv(self) -> str:
        from ._text import to_csv

        return to_csv(self.findings)

    def text(self) -> str:
        """A table, and what to do about each."""
        from ._text import text_of

        return text_of(self)

    def html(self, title: str = "Sweep") -> str:
        """All findings as one page that needs no network and no other file."""
        from ._text import html_of

        return html_of(self, title)

    def __repr__(self) -> str:
        return self.text()


def sweep(recordings: Sequence[str | os.PathLike[str]] = (), inventories: Sequence[str | os.PathLike[str]] = (), *,
          now: str | float | None = None, region: str | None = None, prices: str | os.PathLike[str] | None = None,
          rules: str | os.PathLike[str] | None = None, live: bool = False,
          save: str | os.PathLike[str] | None = None) -> Sweep:
    """Findings of `recordings` (files, folders of them, or a bucket that is a lake: its last 7 days) and `inventories`, saved answers of aws, scontrol, squeue, sinfo.

    `now` is a time, as ISO 8601 or Unix time: what came later is not looked at. Default: the end of each recording, and
    the last look of the inventories. `region` is that of machines whose own is not known; `prices` a price list, or None
    for the imported ones; `rules` a file with other thresholds. `live` asks AWS, read-only, by boto3; `save` is a folder that keeps its
    answers. Raises InventoryError, RecordingError, RulesError,
    BillError (of the price list), InvalidArgumentError, MissingPackageError.
    """
    from .._errors import InvalidArgumentError
    from .._data import connect, recordings_of
    from ._inventory import Inventory, time_of
    from ._judge import findings_of
    from ._money import price
    from ._recorded import Recorded, machines_of
    from ._rules import BUILT_IN, read_rules

    if not recordings and not inventories and not live:
        raise InvalidArgumentError("neither a recording nor an inventory is given", "name at least one of them")
    if save is not None and not live:
        raise InvalidArgumentError("save is a folder for the answers of live=True", "add live=True (--live), or leave it out")
    until = None
    if now is not None and (until := time_of(now)) is None:
        raise InvalidArgumentError(f"now is no time: {now!r}", "write it as 2026-11-20T07:30:00Z")
    known = read_rules(os.fspath(rules) if rules is not None else BUILT_IN)
    result = Sweep()
    inventory = Inventory(notes=result.notes)
    for path in [os.fspath(each) for each in inventories]:
        # Before the first look, the folder that keeps them has none.
        if save is None or os.path.realpath(path) != os.path.realpath(save) or os.path.isdir(path) and os.listdir(path):
            inventory.read(path)
    if live:
        from ._live import ask_aws, aws_session

        ask_aws(aws_session(region), inventory, None if save is None else os.fspath(save))
    with connect() as connection, TemporaryDirectory(prefix="tracer-sweep-") as folder:
        recorded = Recorded(connection)
        for number, path in enumerate([os.fspath(each) for each in recordings]):
            if "://" in path:
                from ..lake._fetch import fetch_recent

                os.mkdir(fetched := os.path.join(folder, str(number)))
                fetch_recent(path, fetched)
                path = fetched
            for file in recordings_of(path, "TRC137"):
                recorded.read(file, result.notes)
        result.machines = sum(bool(each["whole"]) for each in machines_of(connection))
        result.findings = findings_of(recorded, inventory, known, until)
    price(result.findings, region, prices, result.notes)
    result.findings.sort(key=lambda each: (-float(each.cost_per_hour or 0), -(each.duration_s or 0), each.text))
    return result
