# SPDX-License-Identifier: Apache-2.0
"""Ends processes that tests have started."""

import subprocess


def end(process, number, seconds):
    """Sends it a signal; one that still lives after so many seconds is killed."""
    process.send_signal(number)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
