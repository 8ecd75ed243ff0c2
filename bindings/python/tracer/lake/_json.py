# SPDX-License-Identifier: Apache-2.0
"""Objects of JSON in a lake. Anybody may have written them: one is what its reader expects, or it is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Optional, Union

if TYPE_CHECKING:
    from ._store import Store

__all__ = ["Shape", "fits", "get_json", "is_number", "is_text"]

_MOST_BYTES = 64 << 20

Shape = Optional[Union[Callable[[Any], bool], "dict[str, Shape]", "list[Shape]", "tuple[Shape, ...]"]]
"""A check; what is at these keys, others may be there; what is in a list; one of these; null."""


def get_json(store: Store, key: str, shape: Shape) -> Any:
    """KeyError: there is none. ValueError: it is too large or deep, no JSON, of another schema, or of another shape."""
    try:
        said = json.loads(store.get(key, _MOST_BYTES))
    except RecursionError:
        raise ValueError("it is too deep") from None
    if not fits(said, {"schema": lambda schema: schema == 1}) or not fits(said, shape):
        raise ValueError("a field is missing or wrong")
    return said


def fits(value: Any, shape: Shape) -> bool:
    if isinstance(shape, dict):
        return isinstance(value, dict) and all(fits(value.get(key), of) for key, of in shape.items())
    if isinstance(shape, list):
        return isinstance(value, list) and all(fits(each, shape[0]) for each in value)
    if isinstance(shape, tuple):
        return any(fits(value, each) for each in shape)
    return value is None if shape is None else shape(value)


def is_number(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 63


def is_text(value: Any) -> bool:
    """One that can be written: half a pair of UTF-16 can't."""
    try:
        return isinstance(value, str) and bool(value.encode() or True)
    except UnicodeEncodeError:
        return False
