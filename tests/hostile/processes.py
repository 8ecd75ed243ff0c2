# SPDX-License-Identifier: Apache-2.0
"""Processes of the users of an attack, and what one uses."""

import contextlib
import os
import re
import subprocess

from cgroups import write

# One that every user may execute.
PYTHON = "/usr/bin/python3"


def as_user(uid, cgroups, *words, **options):
    def become():
        for cgroup in cgroups:
            write(os.path.join(cgroup, "cgroup.procs"), "0")
        os.setgroups([])
        os.setgid(uid)
        os.setuid(uid)

    # A group of its own, so that all of it can be ended.
    return subprocess.Popen(words, preexec_fn=become, cwd="/", start_new_session=True, stdin=subprocess.DEVNULL, **options)


def share_cpus(pid, nice):
    """Of its session, beside others': as a slice of systemd has a share, however many sessions others begin."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/autogroup", "w", encoding="ascii") as file:
        file.write(str(nice))


def memory(pid, field):
    """0: it has just ended."""
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        found = re.search(field + r":\s+(\d+)", file.read())
    return int(found.group(1)) << 10 if found else 0
