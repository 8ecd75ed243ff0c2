# SPDX-License-Identifier: Apache-2.0
"""A client of the service for programs that run as ordinary users: Python's standard library alone."""

import json
import socket
import time


class Client:
    """A connection. A service whose queue of connections is full is tried again, as libtracer's own client does."""

    def __init__(self, path, patience=60.0):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(patience)
        self.data = b""
        until = time.monotonic() + patience
        while True:
            try:
                self.socket.connect(path)
                return
            except BlockingIOError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.005)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def raw(self, data):
        self.socket.sendall(data)

    def line(self):
        while b"\n" not in self.data:
            got = self.socket.recv(1 << 20)
            if not got:
                raise EOFError("the service has closed the connection")
            self.data += got
        line, _, self.data = self.data.partition(b"\n")
        return line

    def ask(self, name, **fields):
        self.raw(json.dumps({"request": name, **fields}).encode() + b"\n")
        return json.loads(self.line())

    def copy_to(self, file, goes_on):
        """What comes, until the end or until `goes_on()` is false."""
        file.write(self.data)
        self.socket.settimeout(0.2)
        while goes_on():
            try:
                got = self.socket.recv(1 << 20)
            except TimeoutError:
                continue
            if not got:
                break
            file.write(got)
        file.flush()
