# SPDX-License-Identifier: Apache-2.0
"""Scenarios for label_rig.py: tasks in threads, coroutines, executors, processes and generators, one after another, at
once, and in no order. Each child carries the task that it belongs to."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable

SCENARIOS: dict[str, Callable[[], None]] = {}


def scenario(function: Callable[[], None]) -> Callable[[], None]:
    SCENARIOS[function.__name__] = function
    return function


class Skip(Exception):
    """What the scenario needs is not there."""


def need(module: str) -> object:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise Skip(str(error)) from error


def _load() -> None:
    for part in ("plain", "threads", "coroutines", "processes", "others"):
        importlib.import_module(f"label_scenarios_{part}")


def main() -> None:
    # The scenarios import this file by its name.
    import label_scenarios

    import tracer

    label_scenarios._load()
    name, recording = sys.argv[1:]
    with tracer.session(run="rig", record=recording, families=()):
        try:
            label_scenarios.SCENARIOS[name]()
        except label_scenarios.Skip as skipped:
            print(skipped)
            sys.exit(77)


if __name__ == "__main__":
    main()
