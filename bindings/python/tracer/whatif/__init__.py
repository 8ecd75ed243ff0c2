# SPDX-License-Identifier: Apache-2.0
"""A recorded run, replayed on other numbers of CPUs and on other machines.

    from tracer.whatif import what_if
    print(what_if("run.tracer", cpus=[1, 2, 4]))

docs/whatif.md explains what is assumed. Needs duckdb: pip install 'libtracer[cost]'.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["WhatIf", "what_if"]


@dataclass
class WhatIf:
    """A run as recorded, and its replays."""

    run: str
    """Its name."""
    tasks: int
    """That were replayed."""
    recorded_wall_ns: int
    recorded_cpus: int
    """That the run could use."""
    recorded_cpus_basis: str
    """How they are known."""
    replayed_wall_ns: int
    """Replayed on the CPUs that it had: how far this is from the recorded time is in each range."""
    shortest_wall_ns: int
    """With as many CPUs and slots as it could use: the longest chain of tasks that wait for each other."""
    slots: int
    """The most tasks that it had at once."""
    rows: list[dict[str, Any]]
    """docs/whatif.md lists their fields."""
    assumptions: list[str]
    notes: list[str] = field(default_factory=list)
    """What a reader must know about these figures."""

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def text(self) -> str:
        from ._rows import text_of

        return text_of(self)

    def __repr__(self) -> str:
        return self.text()


def what_if(recording: str | os.PathLike[str], *, cpus: Sequence[int] = (), instances: Sequence[str] = (),
            region: str | None = None, run: str | None = None, slots: int | str | None = None, recorded_cpus: int | None = None,
            speed: float | None = None, prices: str | os.PathLike[str] | None = None) -> WhatIf:
    """The run of `recording`, replayed on `cpus` and on machines of the types `instances`, by the prices of `region`.

    Without both, on 1, 2, 4 … CPUs until more don't help. `run` names one of several; `slots` is how many tasks may run
    at once, "cpus": one for each CPU, None: as many as seen; `recorded_cpus` how many the run could use, None: as found;
    `speed` how fast a CPU of `instances` is, in those of the recording, None: not known. `prices`: a price list, None: the
    imported ones. Raises RecordingError, WhatIfError, BillError, InvalidArgumentError, MissingPackageError.
    """
    from .._errors import InvalidArgumentError
    from ._machines import machines_of
    from ._read import read_workload
    from ._rows import rows_of

    for name, values in (("cpus", cpus), ("slots", [slots] if isinstance(slots, int) else []),
                         ("recorded_cpus", [] if recorded_cpus is None else [recorded_cpus])):
        for value in values:
            if not 1 <= value <= 100_000:
                raise InvalidArgumentError(f"{name} is {value}", "a whole number from 1 to 100000")
    if isinstance(slots, str) and slots != "cpus":
        raise InvalidArgumentError(f"slots is {slots!r}", 'a number, or "cpus": one for each CPU')
    if speed is not None and not 0.01 <= speed <= 100:
        raise InvalidArgumentError(f"speed is {speed}", "from 0.01 to 100; 1 is as fast as the CPUs of the recording")
    if speed is not None and not instances:
        raise InvalidArgumentError("speed is of instances, and none is named", "name one: instances=, --instance")
    machines = machines_of(instances, region, prices)
    work = read_workload(os.fspath(recording), run, recorded_cpus)
    return rows_of(work, cpus, machines, slots, speed)
