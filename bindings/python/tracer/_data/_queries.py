# SPDX-License-Identifier: Apache-2.0
"""Queries of five lines and more: files in the folder sql beside the module that asks."""

from __future__ import annotations

from functools import cache
from pathlib import Path

__all__ = ["query"]


@cache
def _text_of(module: str, name: str) -> str:
    return Path(module).with_name("sql").joinpath(f"{name}.sql").read_text("utf-8")


def query(module: str, name: str, **values: object) -> str:
    """The query NAME.sql of a module, its __file__, with SQL in place of each {name}."""
    return _text_of(module, name).format_map(values)
