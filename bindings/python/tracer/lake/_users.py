# SPDX-License-Identifier: Apache-2.0
"""The names of users, as each host has said them last."""

from __future__ import annotations

import json

from .._errors import LakeError, TracerError
from ._layout import USERS
from ._part import REFUSED_PART
from ._store import Store

__all__ = ["users_of"]


def users_of(store: Store, problems: list[TracerError] | None = None) -> dict[str, dict[str, str]]:
    """Host -> uid -> name. `problems` gets what can't be read."""
    found = {}
    for key, _ in store.list(USERS):
        try:
            said = json.loads(store.get(key))
            if said["schema"] != 1 or not all(uid.isdecimal() and isinstance(name, str) for uid, name in said["users"].items()):
                raise ValueError("it has no users")
            found[key[len(USERS):].removesuffix(".json")] = dict(sorted(said["users"].items()))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            if problems is not None:
                problems.append(LakeError.of(REFUSED_PART, None, f"{key} can't be read: {error}", "look who wrote it"))
    return found
