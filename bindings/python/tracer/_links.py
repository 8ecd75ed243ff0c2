# SPDX-License-Identifier: Apache-2.0
"""Where links lead at which a file is written."""

from __future__ import annotations

import errno
import os
import stat

__all__ = ["end_of_links"]

MOST_LINKS = 40  # As the kernel has it.


def end_of_links(path: str | bytes | os.PathLike[str]) -> tuple[str, bool]:
    """What to open, and whether a link that it is may be followed then.

    Root goes as far as its own links lead. One of somebody else, who could have any file of root's be replaced, raises
    OSError(ELOOP); what takes its place later is not followed either. Others follow whatever is there.
    """
    name = os.fsdecode(path)
    if os.geteuid() != 0:
        return name, True
    for _ in range(MOST_LINKS):
        try:
            link = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            return name, False
        try:
            found = os.fstat(link)
            if not stat.S_ISLNK(found.st_mode):
                return name, False
            if found.st_uid != 0:
                break
            # What the kernel's own links lead to, such as that of /dev/stdout, may have no name.
            if os.readlink(f"/proc/self/fd/{link}").startswith("/proc/"):
                return name, True
            name = os.path.join(os.path.dirname(name), os.readlink("", dir_fd=link))
        finally:
            os.close(link)
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
