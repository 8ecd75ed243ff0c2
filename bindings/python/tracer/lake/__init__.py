# SPDX-License-Identifier: Apache-2.0
"""What many hosts recorded, in one folder or bucket: docs/lake.md.

    tracer.lake("/srv/lake").sql("FROM usage_by_user('2026-11')")
"""

from __future__ import annotations

import os
import sys
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._ask import Lake


class _Callable(ModuleType):
    def __call__(self, url: str | os.PathLike[str]) -> Lake:
        from ._ask import lake

        return lake(url)


# tracer.lake is this package once something of it is imported, and a function for who asks.
sys.modules[__name__].__class__ = _Callable
