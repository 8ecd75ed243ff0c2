# SPDX-License-Identifier: Apache-2.0
"""What other packages use of tracer.recommend."""

from ._families import has_accelerator

__all__ = ["has_accelerator"]
