# SPDX-License-Identifier: Apache-2.0
"""The names of users, as each host has said them last."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from .._errors import LakeError, TracerError
from ._json import get_json, is_text
from ._layout import USERS, is_uid
from ._part import REFUSED_PART
from ._store import Store

__all__ = ["add_users", "users_of"]


def users_of(store: Store, problems: list[TracerError] | None = None) -> dict[str, dict[str, str]]:
    """Host -> uid -> name. `problems` gets what can't be read."""
    found, problems = {}, [] if problems is None else problems
    for key, _ in store.list(USERS, problems):
        try:
            found[key[len(USERS):].removesuffix(".json")] = dict(sorted(_users_in(store, key).items()))
        except KeyError:
            pass
        except ValueError as error:
            problems.append(LakeError.of(REFUSED_PART, None, f"{key} can't be read: {error}", "look who wrote it"))
    return found


def add_users(store: Store, host: str, names: Mapping[str, str]) -> None:
    """Says them. One process at a time does so for a host."""
    key, known = f"{USERS}{host}.json", None
    try:
        known = _users_in(store, key)
    except (KeyError, ValueError):
        pass
    if known != (users := {**(known or {}), **names}):
        store.put(key, json.dumps({"schema": 1, "users": users}).encode())


def _users_in(store: Store, key: str) -> dict[str, str]:
    users: dict[str, str] = get_json(store, key, {"users": _are_users})["users"]
    return users


def _are_users(users: Any) -> bool:
    return isinstance(users, dict) and all(is_uid(uid) and is_text(name) for uid, name in users.items())
