# SPDX-License-Identifier: Apache-2.0
"""Exact shares of an amount: whole units, nothing is lost and nothing is made."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Context, Decimal

__all__ = ["amount_of", "shares_of", "units_of"]

_EXACT = Context(prec=60)


def units_of(amount: Decimal, scale: int) -> int:
    """An amount in units of its last place. It must have no more places than `scale`."""
    return int(amount.scaleb(scale, _EXACT).to_integral_exact(context=_EXACT))


def amount_of(units: int, scale: int) -> str:
    """A decimal string with `scale` places."""
    sign, digits = "-" if units < 0 else "", str(abs(units)).rjust(scale + 1, "0")
    return f"{sign}{digits[:-scale]}.{digits[-scale:]}" if scale else f"{sign}{digits}"


def shares_of(units: int, weights: Sequence[int]) -> list[int]:
    """Parts of `units` in proportion to whole weights: each the floor, the rest to the largest remainders, ties in order.
    They sum to `units` exactly; a negative amount is shared like its opposite. The weights must not all be 0."""
    if len(weights) == 1 and weights[0]:
        return [units]
    total = sum(weights)
    if units < 0:
        return [-part for part in shares_of(-units, weights)]
    products = [units * weight for weight in weights]
    parts = [product // total for product in products]
    left = units - sum(parts)
    if left:
        rests = [product % total for product in products]
        # Also in reverse, ties stay in their order.
        for at in sorted(range(len(rests)), key=rests.__getitem__, reverse=True)[:left]:
            parts[at] += 1
    return parts
