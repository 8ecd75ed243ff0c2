#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads blocks of a file at random places past the page cache, until it is killed: read_direct.py FILE BYTES."""

import mmap
import os
import random
import sys


def main():
    path, size = sys.argv[1], int(sys.argv[2])
    file = os.open(path, os.O_RDONLY | os.O_DIRECT)
    blocks = os.fstat(file).st_size // size
    buffer = mmap.mmap(-1, size)
    while True:
        os.preadv(file, [buffer], random.randrange(blocks) * size)


if __name__ == "__main__":
    main()
