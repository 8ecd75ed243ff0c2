# SPDX-License-Identifier: Apache-2.0
"""What pipelines, runs, steps, tools, samples, users and cost centers cost, to the last digit of a bill.

    from tracer.cost import costs
    result = costs(["cur.parquet"], ["recordings/"], by=["run", "step"])
    print(result)

docs/cost.md explains how each term is found. Needs duckdb: pip install 'libtracer[cost]'.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from .._format import counted, visible

__all__ = ["BASES", "IDLE", "Costs", "costs"]

BASES = ("billed", "effective", "list")
IDLE = ("keep", "spread")


@dataclass
class Costs:
    """Rows of costs. `billed` of each is the sum of its six terms, exactly."""

    rows: list[dict[str, Any]]
    """docs/cost.md lists their fields; money as decimal strings."""
    by: tuple[str, ...]
    """What a row is of."""
    basis: str
    """"billed", "effective" or "list"."""
    difference: str
    """All terms minus the bill: 0, or a defect."""
    lines_off: int
    """Lines whose terms do not sum to them: 0, or a defect."""
    totals: dict[str, dict[str, str]] = field(default_factory=dict)
    """Currency ("" if not known) -> basis -> the bill's sum by it. Bases that the bill has no column for are left out."""
    lines: int = 0
    """Lines of the bill."""
    tasks: int = 0
    """Tasks that were read."""
    tasks_joined: int = 0
    """Tasks that at least one container of the bill belongs to."""
    hidden_attempts: int = 0
    """Containers of the bill that the engine did not see."""
    free_attempts: int = 0
    """Containers of the bill that cost nothing."""
    notes: list[str] = field(default_factory=list)
    """What a reader must know about these figures."""
    runs: dict[str, str] = field(default_factory=dict, repr=False)
    """`run` of a row -> the run's name, where a recording says it."""

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in (
            "rows", "basis", "totals", "difference", "lines_off", "lines", "tasks", "tasks_joined", "hidden_attempts",
            "free_attempts")} | {"notes": [*self._headline(), *self.notes]}

    def to_csv(self) -> str:
        from ._rows import to_csv

        return to_csv(self.rows)

    def text(self, most: int = 12) -> str:
        """A table of the `most` largest rows."""
        from ._rows import text_of

        return "\n".join([*self._headline(), text_of(self.rows, self.by, most, self.runs), "", *self._facts(), *(f"note: {visible(note)}" for note in self.notes[:6]),
                          *([f"note: {len(self.notes) - 6} more, in --json"] if len(self.notes) > 6 else [])])

    def html(self, title: str = "Cost", most: int = 2000) -> str:
        """The `most` largest rows, and all notes, as one page that needs no network and no other file."""
        from .._table_page import facts_html, list_html, page_of, table_html
        from ._rows import table_for_people

        (header, *lines), numbers, sums = table_for_people(self.rows, self.by, most, self.runs)
        return page_of(title, [("", facts_html([*self._headline(), *self._facts()])), ("", table_html(header, lines, numbers, sums)),
                               ("Notes", list_html([[note] for note in self.notes]) if self.notes else "")])

    def _facts(self) -> list[str]:
        parts = []
        if any(Decimal(row["staging"]) for row in self.rows):
            parts.append("of it staging: while a task's container ran, and its command did not")
        if any(row["state"] == "open" for row in self.rows):
            parts.append("open: a line has no invoice yet, and may change")
        if self.lines:
            parts.append(f"difference to the bill: {self.difference} over {counted(self.lines, 'line')}, basis: {self.basis}")
        for currency, sums in self.totals.items():
            if sums.get("effective", sums["billed"]) != sums["billed"]:
                apart = Decimal(sums["effective"]) - Decimal(sums["billed"])
                parts.append(f"billed {Decimal(sums['billed']):,.2f}, effective {Decimal(sums['effective']):,.2f} {visible(currency)}: "
                             f"{apart:+,.2f} by commitments, prepaid or used")
        return parts

    def _headline(self) -> list[str]:
        dates = sorted({row["price_date"] for row in self.rows if row["price_date"]})
        found = [f"estimated from list prices of {', '.join(dates)}; not what you will be billed. Capacity that no task held is "
                 "not in it: a bill may be more than twice as much"] if dates else []
        for currency, sums in self.totals.items():
            idle = sum(Decimal(row["idle"] or 0) for row in self.rows if (row["currency"] or "") == currency)
            if idle > 0 and (whole := Decimal(sums.get(self.basis) or 0)) > 0:
                found.append(f"{100 * idle / whole:.0f} % of this bill ({idle:,.2f} of {whole:,.2f} {visible(currency)}".rstrip()
                             + ") paid for capacity that stood idle")
        return found

    def __repr__(self) -> str:
        return self.text()


def costs(bills: Sequence[str | os.PathLike[str]] = (), tasks: Sequence[str | os.PathLike[str]] = (), *,
          by: Sequence[str] = ("run",), basis: str = "billed", idle: str = "keep", hosts: str | os.PathLike[str] | None = None,
          prices: str | os.PathLike[str] | None = None, centers: str | os.PathLike[str] | None = None,
          tags: Mapping[str, str] | None = None, repeated: str = "error", currency: str | None = None,
          timezone: str | None = None) -> Costs:
    """Costs of `tasks` (recordings, folders of them, tables in CSV or Parquet) by `bills` (CSV, Parquet, JSON lines).

    Without a bill, and for tasks after its end, an estimate by `prices`: a price list, or None for the imported ones.
    `hosts` is a table of machines; `centers` a rules file; `tags` says which tag means run, hash, pipeline, step, sample,
    user; `repeated` what lines are worth that come twice; `timezone`, such as "Europe/Berlin", is that of times without one in
    tables of tasks and machines, which are UTC otherwise. Raises BillError, RecordingError, RulesError,
    InvalidArgumentError, MissingPackageError.
    """
    from .._data import query
    from .._errors import InvalidArgumentError
    from . import _database, _rows, _tasks, _terms
    from ._bill import read_bills
    from ._centers import read_centers
    from ._estimate import estimate
    from ._join import TAGS, join
    from ._prices import known_prices

    for value, allowed, name in ((basis, BASES, "basis"), (idle, IDLE, "idle")):
        if value not in allowed:
            raise InvalidArgumentError(f"{name} is {value!r}", f"one of {', '.join(allowed)}")
    for name in by:
        if name not in _rows.BY:
            raise InvalidArgumentError(f"no costs are by {name!r}", f"some of {', '.join(_rows.BY)}")
    for name in tags or {}:
        if name not in TAGS:
            raise InvalidArgumentError(f"no tag means {name!r}", f"some of {', '.join(TAGS)}")
    if currency is not None and re.fullmatch("[A-Z]{3}", currency) is None:
        raise InvalidArgumentError(f"currency is {currency!r}", "give its code, such as USD")
    if not bills and not tasks:
        raise InvalidArgumentError("neither a bill nor tasks are given", "name at least one of them")
    if "cost_center" in by and centers is None:
        raise InvalidArgumentError("cost centers need a rules file", "name one: centers=FILE, --centers FILE")
    rules = read_centers(os.fspath(centers)) if centers is not None else None
    known = known_prices(prices)

    with _database.connect() as connection:
        notes: list[str] = []
        _tasks.create(connection, timezone)
        connection.execute("CREATE TABLE sizes (instance_type VARCHAR, vcpus DOUBLE, memory_gib DOUBLE)")
        _database.insert(connection, "sizes", {p.instance_type: (p.instance_type, p.vcpus, p.memory_gib) for p in known or ()}.values())
        if hosts is not None:
            _tasks.read_hosts(connection, os.fspath(hosts))
        _tasks.read_tasks(connection, [os.fspath(path) for path in tasks], notes)
        count = connection.execute(query(__file__, "inner")).fetchone()[0]
        if known is None and not bills:
            raise InvalidArgumentError("there is neither a bill nor a list of prices", "import one: tracer prices import FILE")
        if timezone is None:
            _tasks.note_zones(connection, [os.fspath(path) for path in tasks], notes)
        scale, facts, lines, totals = _terms.MIN_SCALE, {}, 0, {}
        if bills:
            bill = read_bills(connection, [os.fspath(path) for path in bills], basis, repeated, currency)
            notes += bill.notes
            lines, scale = bill.lines, max(bill.scale, _terms.MIN_SCALE)
            facts = join(connection, tags or {}, notes)
            _terms.make_pieces(connection, basis, idle, scale, bool(tasks), notes)
            totals = _terms.totals_of(connection, scale)
        else:
            _terms.create_empty(connection)
        difference, off = _terms.check(connection)
        where = _terms.without_line(connection, notes) if bills else "true"
        dates: str | None = None
        if known:
            made = estimate(connection, known, where, notes, "; name it with --hosts hosts.csv")
            dates = min(made.dates) if made.dates else None
        if "tool" in by:
            _rows.split_tools(connection, scale)
        rows = _rows.rows_of(connection, by, basis, dates, rules, scale)
        return Costs(rows, tuple(by), basis, _rows.decimal_text(difference, scale) or "0", off, totals, lines, count,
                     notes=notes, runs=_rows.run_names(connection) if "run" in by else {}, **facts)
