# SPDX-License-Identifier: Apache-2.0
"""What living processes had used when a series' last part in task_minutes ended: the next one begins there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ._json import fits, get_json, is_number
from ._layout import LOOKS
from ._part import refused_object
from ._rows import Look
from ._store import Store

__all__ = ["Looks"]


class Looks:
    """An object for each series. It follows from the parts alone, and is there before the part's number is committed: whoever
    reads the number reads the same. Who finds none has been overtaken, and can't commit."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._of: dict[str, list[Look]] = {}
        self._old: dict[str, str] = {}
        self._new: set[str] = set()

    def at(self, series: str, number: int) -> list[Look]:
        """As this part has left them. None: the session has ended, nothing lives, or the table is newer than the part. Raises LakeError."""
        if series not in self._of:
            found, key = [], _key(series, number)
            try:
                if number:
                    found = [tuple(look) for look in get_json(self._store, key, {"looks": [_is_look]})["looks"]]
                    self._old[series] = key
            except KeyError:
                pass
            except ValueError as error:
                raise refused_object(key, str(error)) from None
            self._of[series] = found
        return self._of[series]

    def set(self, series: str, looks: list[Look]) -> None:
        self._of[series] = looks

    def put(self, numbers: Mapping[str, int]) -> None:
        """By what is in the table next."""
        for series, number in numbers.items():
            if self._of.get(series):
                self._new.add(key := _key(series, number))
                self._store.put(key, json.dumps({"schema": 1, "looks": self._of[series]}, separators=(",", ":")).encode())

    def remove_old(self) -> None:
        for key in set(self._old.values()) - self._new:
            self._store.delete(key)


def _is_look(look: Any) -> bool:
    return (isinstance(look, list) and len(look) == 5 and fits(look[:3], [is_number]) and fits(look[3], [(is_number, None)])
            and fits(look[4], [is_number]))


def _key(series: str, number: int) -> str:
    return f"{LOOKS}{series}-{number:08}.json"
