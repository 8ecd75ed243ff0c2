# SPDX-License-Identifier: Apache-2.0
"""What other packages use of tracer.cost."""

from ._estimate import estimate_all
from ._machines import CPU_GIB
from ._prices import Price, age_notes, known_prices, needed_prices
from ._tasks import create as create_tables
from ._tasks import opened_sources, read_tasks
from ._waste import chosen_path

__all__ = ["CPU_GIB", "Price", "age_notes", "chosen_path", "create_tables", "estimate_all", "known_prices", "needed_prices", "opened_sources",
           "read_tasks"]
