#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Announces a task to the service (`tracerd serve`), with Python's standard library alone.

    announce.py FOLDER TASK [RUN]

From then on, processes that execute something in FOLDER belong to the task, for everybody who watches them by the service.
docs/protocol.md has all requests."""

import json
import os
import socket
import sys


class Service:
    """One JSON object there, and one back, each on a line."""

    def __init__(self, path: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(2)
        self._socket.connect(path)
        self._lines = self._socket.makefile("r", encoding="utf-8")

    def ask(self, name: str, **keys: object) -> dict[str, object]:
        self._socket.sendall(json.dumps({"request": name, **keys}).encode() + b"\n")
        line = self._lines.readline()
        if not line:
            raise SystemExit("the service has closed the connection")
        reply: dict[str, object] = json.loads(line)
        if not reply["ok"]:
            raise SystemExit(f"{reply['message']} [{reply['code']}]\n  fix: {reply.get('fix', '')}")
        return reply


def main() -> None:
    if len(sys.argv) not in (3, 4):
        raise SystemExit(__doc__)
    folder, task = os.path.abspath(sys.argv[1]), sys.argv[2]
    service = Service(os.environ.get("TRACER_SOCKET", "/run/tracer/tracer.sock"))
    hello = service.ask("hello", version=1)
    context = {"task": task, "task_id": folder}
    if len(sys.argv) == 4:
        context["run"] = context["run_id"] = sys.argv[3]
    service.ask("announce", key={"work_dir": folder}, context=context)
    print(f"announced to tracer {hello['tracer_version']}: {task} in {folder}")


if __name__ == "__main__":
    main()
