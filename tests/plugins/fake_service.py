# SPDX-License-Identifier: Apache-2.0
"""A service of tracer for tests of plugins: notes each request, and answers as it is told to."""

import json
import os
import re
import shutil
import socket
import tempfile
import threading
import time


RUN_KEY = "key of the run"


class FakeService:
    """`how`: "new"; "old": knows neither submit nor withdraw nor recordings; "full": refuses both, and announcements; "newer":
    speaks another version; "hung", "garbage", "nested", "endless", "deaf" (closes each connection). `dies_after`: so many
    requests. `tasks`: rows of its state by task_id; `findings`: likewise, without names. `by_owner`: it records so; `sees`:
    "all" for root."""

    def __init__(self, how="new", path=None, dies_after=None, tasks=None, findings=None, by_owner=True, sees="own"):
        self.how, self.dies_after = how, dies_after
        self.tasks, self.findings = tasks or {}, findings or {}
        self.by_owner, self.sees = by_owner, sees
        self.requests = []
        self.times = []  # When each came.
        self.submitted = {}  # By task_key: the last request.
        self.folder = tempfile.mkdtemp(prefix="tracer-fake-")
        self.path = path or os.path.join(self.folder, "tracer.sock")
        self._lock = threading.Lock()
        self._open = []
        self._run_id = ""
        self.is_dead = False
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(self.path)
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def of(self, request):
        with self._lock:
            return [one for one in self.requests if one["request"] == request]

    def close(self):
        self.die()
        shutil.rmtree(self.folder, ignore_errors=True)

    def die(self):
        if os.path.exists(self.path) and not self.is_dead:
            os.unlink(self.path)
        self.is_dead = True
        for one in (self._listener, *self._open):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            one.close()

    def _accept(self):
        while True:
            try:
                peer, _ = self._listener.accept()
            except OSError:
                return
            self._open.append(peer)
            threading.Thread(target=self._serve, args=(peer,), daemon=True).start()

    def _serve(self, peer):
        if self.how == "deaf":
            return peer.close()
        try:
            for line in peer.makefile("rb"):
                request = json.loads(line)
                with self._lock:
                    self.requests.append(request)
                    self.times.append(time.monotonic())
                    count = len(self.requests)
                if self.dies_after and count > self.dies_after:
                    return self.die()
                if self.how == "hung":
                    continue
                if self.how == "garbage":
                    peer.sendall(b"\xff\0HTTP/1.1 400 Bad Request\r\n\r\n")
                elif self.how == "nested":
                    peer.sendall(100_000 * b"[" + b"\n")
                elif self.how == "endless":
                    while True:
                        peer.sendall(b'{"ok":')
                        time.sleep(0.01)
                else:
                    with self._lock:
                        answer = self._answer(request)
                    peer.sendall(json.dumps(answer).encode() + b"\n")
        except (OSError, ValueError):
            pass

    def _answer(self, request):
        name = request["request"]
        if self.how == "full" and name in ("submit", "announce", "withdraw"):
            return refusal("TRC142", "this user has too many announcements")
        if self.how == "old" and name in ("submit", "withdraw", "recordings"):
            return refusal("TRC142", f"there is no request \"{name}\"")
        if self.how == "newer" and name == "hello":
            return refusal("TRC141", "the service speaks version 2")
        if name == "hello":
            return {"ok": True, "version": 1, "sees": self.sees}
        if name == "announce":
            self._run_id = request["context"]["run_id"]
        if name == "submit":
            context = request["context"]
            if "task_id" not in context:
                return {"ok": True, "run_key": RUN_KEY}
            key = "key of " + context["task_id"]
            self.submitted[key] = request
            return {"ok": True, "task_key": key}
        if name == "state":
            return {"ok": True, "state": {"since": "1", "all": False, "more": False, **self.rows(request["rows"])}}
        if name == "recordings":
            return {"ok": True, "by_owner": self.by_owner, "files": [], "more": False, "next": request.get("since", 0)}
        return {"ok": True, "sequence": 1}

    def rows(self, kinds):
        """Of the state."""
        if "tasks" not in kinds:
            return {}
        names = {"run_id": self._run_id}
        return {"tasks": [{**names, "id": task_id, "task_id": task_id, **row} for task_id, row in self.tasks.items()],
                "findings": [{**names, "finding_key": task_id + one["code"], "task_id": task_id, **one}
                             for task_id, found in self.findings.items() for one in found]}


def refusal(code, message):
    return {"ok": False, "code": code, "message": message, "fix": ""}


def words_match(patterns, words):
    """Compares the words of a process with those of an announcement, as the service does."""
    if not patterns:
        return not words
    if patterns[0] == "...":
        return any(words_match(patterns[1:], words[count:]) for count in range(len(words) + 1))
    return bool(words) and text_matches(patterns[0], words[0]) and words_match(patterns[1:], words[1:])


def text_matches(pattern, text):
    """Likewise one word. Fails for a pattern that the service would refuse."""
    parts = re.findall(r"\\.|[^\\]", pattern, re.DOTALL)
    assert "".join(parts) == pattern and not {"?", "{", "}"} & set(parts), f"not meant: {pattern!r}"
    assert len("".join(part[-1] for part in parts).encode()) <= 256, "a pattern has 256 parts at most"
    return bool(re.fullmatch("".join(".*" if part == "*" else re.escape(part[-1]) for part in parts), text, re.DOTALL))
