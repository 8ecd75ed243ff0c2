# SPDX-License-Identifier: Apache-2.0
"""What other packages use of tracer.tune."""

from ._memory import ENOUGH, LEAST_BYTES, Evidence, allocation
from ._observe import needs_of
from ._steps import BOUND_TEXTS, bound_text

__all__ = ["BOUND_TEXTS", "ENOUGH", "LEAST_BYTES", "Evidence", "allocation", "bound_text", "needs_of"]
