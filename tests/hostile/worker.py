#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The user who is not to suffer: a program a second, each under a name of its own, until it is killed: worker.py FOLDER.

On standard output is a line for each that has ended: its pid and its name."""

import itertools
import os
import shutil
import sys
import time


def main():
    os.chdir(sys.argv[1])
    shutil.copy("/bin/true", "program")
    due = time.monotonic()
    for i in itertools.count():
        name = f"work-{i}"
        os.link("program", name)
        pid = os.posix_spawn(os.path.abspath(name), [name, f"step {i}"], {})
        _, status = os.waitpid(pid, 0)
        if status != 0:
            sys.exit(f"{name} ended with {status}")
        os.unlink(name)
        print(pid, name, flush=True)
        due += 1
        time.sleep(max(0, due - time.monotonic()))


if __name__ == "__main__":
    main()
