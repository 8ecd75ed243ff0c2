# SPDX-License-Identifier: Apache-2.0
"""A machine for each step, by what its tasks were seen to use and by imported prices.

    from tracer.recommend import recommend
    print(recommend(["run.tracer"], region="eu-west-1"))

docs/recommend.md explains how it is chosen. Needs duckdb: pip install 'libtracer[cost]'.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Recommendations", "recommend"]


@dataclass
class Recommendations:
    rows: list[dict[str, Any]]
    """Of each step, those first that took most time: docs/recommend.md lists their fields."""
    assumptions: list[str]
    notes: list[str] = field(default_factory=list)
    """What a reader must know about these figures."""

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def text(self, most: int = 12) -> str:
        """A table of the first `most` steps, with reasons and risks."""
        from ._text import text_of

        return text_of(self, most)

    def __repr__(self) -> str:
        return self.text()


def recommend(recordings: Sequence[str | os.PathLike[str]], *, step: str | None = None, region: str | None = None,
              cloud: str | None = None, prices: str | os.PathLike[str] | None = None,
              images: Mapping[str, str | os.PathLike[str]] | None = None) -> Recommendations:
    """Of all steps of `recordings`, or of `step` only; on machines of `region` and `cloud`, or of all that `prices` has (a
    price list, None: the imported ones). `images`: image -> its manifest, as `docker manifest inspect` prints it. Raises
    RecordingError, WhatIfError, BillError, InvalidArgumentError, MissingPackageError.
    """
    from .._errors import InvalidArgumentError, Problem, WhatIfError
    from ..cost.shared import age_notes, needed_prices
    from ._choose import candidates_of, recommend_step
    from ._evidence import no_steps, read_steps
    from ._images import platforms_of
    from ._text import assumptions_of

    if not recordings:
        raise InvalidArgumentError("no recording is given", "name one or several")
    known = needed_prices(prices)
    candidates = candidates_of(known, region, cloud)
    if not candidates:
        where = "".join(f" in {each}" for each in (region, cloud) if each)
        names = sorted({price.region for price in known if cloud in (None, price.cloud)})
        raise WhatIfError([Problem("TRC136", None, f"no machine with a price and a size is known{where}",
                                   f"regions of the price list: {', '.join(names[:12])}" if names else
                                   "import a list with vcpus and memory_gib: tracer prices import FILE", "")])
    platforms = {image: platforms_of(os.fspath(path)) for image, path in (images or {}).items()}
    notes: list[str] = []
    paths = [os.fspath(path) for path in recordings]
    steps = read_steps(paths, notes)
    if not steps:
        raise no_steps(paths)
    if step is not None:
        chosen = [each for each in steps if each.name == step]
        if not chosen:
            raise InvalidArgumentError(f"no step is called {step!r}", f"one of {', '.join(each.name for each in steps[:8])}")
        steps = chosen
    rows = [recommend_step(each, candidates, platforms) for each in steps]
    return Recommendations(rows, assumptions_of(rows, region), notes + age_notes(row["price_date"] for row in rows if row["price_date"]))
