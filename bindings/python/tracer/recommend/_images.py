# SPDX-License-Identifier: Apache-2.0
"""Which architectures an image is for, from a manifest that was saved."""

from __future__ import annotations

import json
from typing import Any

from .._errors import Problem, RecordingError, WhatIfError
from ._evidence import ARCHES

__all__ = ["platforms_of"]


def platforms_of(path: str) -> set[str]:
    """Of what `docker manifest inspect IMAGE` (also with -v), `skopeo inspect` or `crane manifest` prints."""
    try:
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
    except OSError as error:
        raise RecordingError.of("TRC110", error.errno, f"can't read {path}: {error.strerror}", "name a saved manifest") from None
    except (ValueError, RecursionError) as error:
        raise _problem(f"{path} is no manifest: {error}") from None
    found = {ARCHES.get(str(each).lower(), str(each)) for each in _architectures(content)}
    found.discard("unknown")  # Attestations beside the images.
    if not found:
        raise _problem(f"{path} names no architecture")
    return found


def _problem(what: str) -> WhatIfError:
    return WhatIfError([Problem("TRC135", None, what, "save what docker manifest inspect -v IMAGE prints", "")])


def _architectures(content: Any) -> list[Any]:
    entries = content if isinstance(content, list) else content.get("manifests", [content]) if isinstance(content, dict) else []
    found = []
    for entry in entries if isinstance(entries, list) else []:
        if isinstance(entry, dict):
            inner = entry.get("Descriptor", entry)
            platform = inner.get("platform", {}) if isinstance(inner, dict) else {}
            found.append(platform.get("architecture") if isinstance(platform, dict) else None)
            found.append(entry.get("architecture", entry.get("Architecture")))
    return [each for each in found if each]
