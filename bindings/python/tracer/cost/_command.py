# SPDX-License-Identifier: Apache-2.0
"""The commands `tracer cost` and `tracer prices`."""

from __future__ import annotations

import argparse
import datetime
import json
import sys
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from .._format import counted

if TYPE_CHECKING:
    from . import Costs

__all__ = ["add_commands", "run"]


def add_commands(commands: argparse._SubParsersAction[Any]) -> None:
    cost = commands.add_parser(
        "cost", help="show what runs, steps, tools, users cost, by a bill or by list prices",
        description="Shows what pipelines, runs, steps, tools, samples, users and cost centers cost. With a bill, its six terms sum "
        "to it exactly; without one, figures are estimates by list prices.")
    cost.add_argument("tasks", metavar="TASKS", nargs="*",
                      help="a recording, a folder of recordings, a lake, or a table of tasks in CSV or Parquet")
    cost.add_argument("--bill", metavar="FILE", action="append", default=[],
                      help="a bill: AWS CUR (2.0 or legacy), FOCUS, Google Cloud's detailed export, as CSV, Parquet or JSON lines. "
                      "May be given several times")
    cost.add_argument("--by", default="run", metavar="WHAT",
                      help="rows: one or several, with commas, of pipeline, run, step, tool, sample, instance, user, cost_center, "
                      "kind. Default: run")
    cost.add_argument("--basis", choices=("billed", "effective", "list"), default="billed",
                      help="what the invoice sums, what it is with commitments spread over their use, or list prices")
    cost.add_argument("--idle", choices=("keep", "spread"), default="keep",
                      help="capacity that no task held: a term of its own, or spread over tasks by their shares")
    cost.add_argument("--hosts", metavar="FILE", help="a table of machines: instance, host_name, sizes, when they were watched")
    cost.add_argument("--prices", metavar="FILE", help="a price list. Default: the imported ones")
    cost.add_argument("--centers", metavar="FILE", help="rules of cost centers, in TOML")
    cost.add_argument("--tag", metavar="MEANING=TAG", action="append", default=[],
                      help="which tag of the bill means run, hash, pipeline, step, sample or user")
    cost.add_argument("--repeated", choices=("error", "once", "all", "newest"), default="error",
                      help="lines that come twice: an error, counted once, all counted, or those of the delivery of a month that is named last")
    cost.add_argument("--currency", metavar="CODE", help="the currency of lines that name none")
    cost.add_argument("--timezone", metavar="ZONE", help="of times without one in tables of tasks and machines, such as Europe/Berlin. "
                      "Default: UTC")
    cost.add_argument("--total", metavar="AMOUNT", help="what the invoice says: fail if the bill, rounded to its places, sums to another amount")
    cost.add_argument("--rows", type=int, default=12, metavar="N", help="rows of the table, the largest first. Default: 12")
    form = cost.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="write everything as one JSON object: docs/cost.md describes it")
    form.add_argument("--csv", action="store_true", help="write all rows as CSV")
    form.add_argument("--html", action="store_true", help="write one page that needs no network and no other file")

    prices = commands.add_parser("prices", help="import, show and choose list prices of machines",
                                 description="Imports, shows and chooses list prices of machines. Nothing is fetched.")
    actions = prices.add_subparsers(dest="action", required=True, metavar="ACTION")
    take = actions.add_parser("import", help="take the prices of a file: docs/cost.md lists the formats")
    take.add_argument("file", metavar="FILE")
    take.add_argument("--date", metavar="YYYY-MM-DD", help="of the list. Default: what the file says, else its own date")
    show = actions.add_parser("show", help="show the prices of a machine type")
    show.add_argument("type", metavar="TYPE")
    show.add_argument("--region", metavar="REGION")
    use = actions.add_parser("use", help="choose the price by which reports, also those of tracerd, show what the waste costs",
                             description="Chooses the imported price by which reports, also those of tracerd, show what the waste "
                             "costs, where a recording does not say the type of its machine.")
    use.add_argument("type", metavar="TYPE")
    use.add_argument("--region", metavar="REGION", help="needed where the list has the type in several")
    use.add_argument("--model", choices=("on-demand", "spot"), default="on-demand", help="Default: on-demand")
    actions.add_parser("age", help="show how old the prices are")


def run(options: argparse.Namespace) -> tuple[str, int]:
    """What to print, and the exit status."""
    return _cost(options) if options.command == "cost" else _prices(options)


def _cost(options: argparse.Namespace) -> tuple[str, int]:
    from .._errors import InvalidArgumentError
    from . import costs

    tags = {}
    for each in options.tag:
        meaning, sign, tag = each.partition("=")
        if not sign or not tag:
            raise InvalidArgumentError(f"--tag {each} has no tag", "write it as run=my_run_tag")
        tags[meaning] = tag
    if options.total is not None:
        try:
            total = Decimal(options.total)
        except InvalidOperation:
            total = Decimal("nan")
        if not total.is_finite():
            raise InvalidArgumentError(f"--total {options.total} is no amount", "write it as 218.35")
    if options.rows < 1:
        raise InvalidArgumentError(f"--rows {options.rows} shows nothing", "1 or more")
    result = costs(options.bill, options.tasks, by=[each.strip().replace("-", "_") for each in options.by.split(",")],
                   basis=options.basis, idle=options.idle, hosts=options.hosts, prices=options.prices, centers=options.centers,
                   tags=tags, repeated=options.repeated, currency=options.currency, timezone=options.timezone)
    if options.json:
        text = json.dumps(result.to_json(), ensure_ascii=False, indent=1) + "\n"
    else:
        text = result.to_csv() if options.csv else result.html() if options.html else result.text(options.rows) + "\n"
    wrong = _wrong(options, result)
    for each in wrong:
        print(f"tracer: {each}", file=sys.stderr)
    return text, 1 if wrong else 0


def _wrong(options: argparse.Namespace, result: Costs) -> list[str]:
    """Why the figures must not be used as they are."""
    wrong = []
    if result.lines_off:
        wrong.append(f"the terms of {counted(result.lines_off, 'line')} are off by {result.difference}: this is a defect")
    if options.total is not None:
        sums = [Decimal(each[options.basis]) for each in result.totals.values() if options.basis in each]
        # An invoice is in cents, the lines of its bill have more places.
        total = Decimal(options.total)
        half = Decimal(5).scaleb(min(int(total.as_tuple().exponent), -2) - 1)
        if len(sums) != 1 or abs(sums[0] - total) > half:
            wrong.append(f"the bill sums to {', '.join(f'{each.normalize():f}' for each in sums) or 'nothing'}, not to "
                         f"{options.total}: it may be cut, or from another delivery")
    return wrong


def _prices(options: argparse.Namespace) -> tuple[str, int]:
    from . import _prices as prices

    if options.action == "import":
        count, date, is_of_file = prices.import_prices(options.file, options.date)
        of_file = " (the file's own date, as it says none: --date gives another)" if is_of_file else ""
        return f"{counted(count, 'price')} of {date}{of_file}, in {prices.store_path()}\n", 0
    if options.action == "use":
        from ._waste import choose_price, chosen_path

        price = choose_price(options.type, options.region, options.model)
        return (f"{price.instance_type} in {price.region}, {price.model}: {price.usd_per_hour} USD an hour, of {price.date}, "
                f"{price.basis}; in {chosen_path()}\n"), 0
    known = prices.read_prices(prices.store_path())
    if options.action == "age":
        lines = []
        for date in sorted({each.date for each in known}, reverse=True):
            days = (datetime.date.today() - datetime.date.fromisoformat(date)).days
            old = ", old: import newer ones" if days > prices.OLD_DAYS else ""
            lines.append(f"{date}  {counted(sum(each.date == date for each in known), 'price')}, {counted(days, 'day')}{old}")
        return "\n".join(lines) + "\n", 0
    found = [each for each in known if each.instance_type == options.type and options.region in (None, each.region)]
    lines = [f"{'region':<20} {'vcpus':>5} {'GiB':>8} {'on demand':>10} {'spot':>10}  USD an hour; date, basis"]
    lines += [f"{each.region:<20} {each.vcpus:>5} {each.memory_gib:>8} {each.on_demand or '-':>10} {each.spot or '-':>10}  "
              f"{each.date}, {each.basis}" for each in sorted(found, key=lambda each: each.region)]
    if not found:
        return f"no price of {options.type} is known\n", 1
    return "\n".join(lines) + "\n", 0
