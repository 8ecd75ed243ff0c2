# SPDX-License-Identifier: Apache-2.0
"""What other packages use of tracer.whatif."""

from ._read import read_workload
from ._workload import Phase

__all__ = ["Phase", "read_workload"]
