# SPDX-License-Identifier: Apache-2.0
"""reaper.py COMMAND...: runs it, and adopts what its descendants leave behind, until it ends. podman waits 20 s for
each conmon that the machine's first process does not collect."""

import ctypes
import os
import subprocess
import sys

PR_SET_CHILD_SUBREAPER = 36


def main():
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    command = subprocess.Popen(sys.argv[1:])
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == command.pid:
            code = os.waitstatus_to_exitcode(status)
            # What is left gets a new parent.
            os._exit(code if code >= 0 else 128 - code)


main()
