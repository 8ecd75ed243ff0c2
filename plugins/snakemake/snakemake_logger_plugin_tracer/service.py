# SPDX-License-Identifier: Apache-2.0
"""Asks tracer's service: one JSON object on a line, and one back."""

import json
import socket
import time

MOST_OF_REQUEST = 256 << 10
MOST_OF_REPLY = 16 << 20
REPLY_SECONDS = 10


class Refused(Exception):
    """The service has refused a request."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{message} [{code}]")
        self.code = code


class Unusable(Exception):
    """The peer is no service of tracer."""


class Service:
    """A connection. OSError and Unusable end it."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._connect()

    def _connect(self) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(REPLY_SECONDS)
        try:
            self._socket.connect(self._path)
        except OSError:
            self.close()
            raise

    def close(self) -> None:
        self._socket.close()

    def ask(self, request: str, **keys: object) -> dict:
        line = json.dumps({"request": request, **keys}, ensure_ascii=False).encode() + b"\n"
        if len(line) > MOST_OF_REQUEST:
            raise Refused("TRC101", f"a request of {len(line)} bytes")
        try:
            reply = self._exchange(line)
        except ConnectionError:
            # A service that was restarted: a request that is repeated changes nothing.
            self.close()
            self._connect()
            reply = self._exchange(line)
        if reply["ok"]:
            return reply
        raise Refused(str(reply.get("code")), str(reply.get("message")))

    def _exchange(self, line: bytes) -> dict:
        until = time.monotonic() + REPLY_SECONDS
        self._socket.settimeout(REPLY_SECONDS)
        self._socket.sendall(line)
        answer = bytearray()
        while not answer.endswith(b"\n"):
            self._socket.settimeout(max(until - time.monotonic(), 0.001))
            part = self._socket.recv(1 << 16)
            if not part:
                raise ConnectionResetError("it has closed the connection")
            answer += part
            if len(answer) > MOST_OF_REPLY:
                raise Unusable("it answers without an end")
        try:
            reply = json.loads(answer)
        except ValueError:
            reply = None
        if not isinstance(reply, dict) or not isinstance(reply.get("ok"), bool):
            raise Unusable("it does not answer as tracer does")
        return reply
