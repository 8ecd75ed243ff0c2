# SPDX-License-Identifier: Apache-2.0
"""Which links are followed where a file is written."""

from __future__ import annotations

import errno
import os
import stat

__all__ = ["is_link_to_follow"]


def is_link_to_follow(path: str | bytes | os.PathLike[str]) -> bool:
    """Root follows no link of somebody else, who could have any file of root's be replaced: that raises OSError(ELOOP)."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return False
    if stat.S_ISLNK(found.st_mode) and os.geteuid() == 0 and found.st_uid != 0:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    return stat.S_ISLNK(found.st_mode)
