# SPDX-License-Identifier: Apache-2.0
"""Asks tracer's service: one JSON object on a line, and one back."""

import json
import socket
import time

MOST_OF_REQUEST = 256 << 10
MOST_OF_REPLY = 16 << 20
REPLY_SECONDS = 2
AGAIN_SECONDS = 5


class Refused(Exception):
    """The service has refused a request."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{message} [{code}]")
        self.is_unknown = code == "TRC142" and message.startswith("there is no request")


class Unusable(Exception):
    """The service speaks another version of the protocol."""


class Service:
    """At most one connection at a time. OSError ends it; open() makes the next one, once in AGAIN_SECONDS."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._socket: socket.socket | None = None
        self._next_try = time.monotonic()
        self.connection = 0  # Counts them.
        self.sees_all = False

    @property
    def is_open(self) -> bool:
        return self._socket is not None

    def open(self) -> bool:
        now = time.monotonic()
        if self._socket is None and now >= self._next_try:
            self._next_try = now + AGAIN_SECONDS
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                self._socket.settimeout(REPLY_SECONDS)
                self._socket.connect(self._path)
            except OSError:
                self.close()
                raise
            try:
                self.sees_all = self.ask("hello", version=1).get("sees") == "all"
            except Refused as refusal:
                self.close()
                raise Unusable(str(refusal)) from refusal
            self.connection += 1
        return self.is_open

    def check(self) -> None:
        """Raises if the service has gone while nothing was asked."""
        try:
            if self._socket:
                self._socket.settimeout(0)
                if not self._socket.recv(1, socket.MSG_PEEK):
                    raise ConnectionResetError("it has closed the connection")
        except BlockingIOError:
            pass
        except OSError:
            self.close()
            raise

    def close(self) -> None:
        if self._socket:
            self._socket.close()
        self._socket = None

    def ask(self, request: str, **keys: object) -> dict:
        line = json.dumps({"request": request, **keys}, ensure_ascii=False).encode() + b"\n"
        if len(line) > MOST_OF_REQUEST:
            raise Refused("TRC101", f"a request of {len(line)} bytes")
        try:
            reply = self._exchange(line)
        except OSError:
            self.close()
            raise
        if reply["ok"]:
            return reply
        raise Refused(str(reply.get("code")), str(reply.get("message")))

    def _exchange(self, line: bytes) -> dict:
        if self._socket is None:
            raise ConnectionError("there is no connection")
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
                raise ConnectionError("it answers without an end")
        try:
            reply = json.loads(answer)
        except (ValueError, RecursionError):
            reply = None
        if not isinstance(reply, dict) or not isinstance(reply.get("ok"), bool):
            raise ConnectionError("it does not answer as tracer does")
        return reply
