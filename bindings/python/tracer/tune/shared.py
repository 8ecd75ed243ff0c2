# SPDX-License-Identifier: Apache-2.0
"""What other packages use of tracer.tune."""

from ._memory import ENOUGH, LEAST_BYTES, Evidence, allocation
from ._observe import needs_of

__all__ = ["ENOUGH", "LEAST_BYTES", "Evidence", "allocation", "needs_of"]
