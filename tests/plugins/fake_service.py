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


class FakeService:
    """`how`: "new"; "old": knows neither submit nor withdraw; "full": refuses both, and announcements; "hung", "garbage",
    "endless", "deaf" (closes each connection). `dies_after`: so many requests. `tasks`: rows of its state by task_id;
    `findings`: likewise, without names."""

    def __init__(self, how="new", dies_after=None, tasks=None, findings=None):
        self.how, self.dies_after = how, dies_after
        self.tasks, self.findings = tasks or {}, findings or {}
        self.requests = []
        self.folder = tempfile.mkdtemp(prefix="tracer-fake-")
        self.path = os.path.join(self.folder, "tracer.sock")
        self._lock = threading.Lock()
        self._open = []
        self._run_id = ""
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(self.path)
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def of(self, request):
        with self._lock:
            return [one for one in self.requests if one["request"] == request]

    def close(self):
        self._die()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _die(self):
        for one in (self._listener, *self._open):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            one.close()
        if os.path.exists(self.path):
            os.unlink(self.path)

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
                    count = len(self.requests)
                if self.dies_after and count > self.dies_after:
                    return self._die()
                if self.how == "hung":
                    continue
                if self.how == "garbage":
                    peer.sendall(b"\xff\0HTTP/1.1 400 Bad Request\r\n\r\n")
                elif self.how == "endless":
                    while True:
                        peer.sendall(b'{"ok":')
                        time.sleep(0.01)
                else:
                    peer.sendall(json.dumps(self._answer(request)).encode() + b"\n")
        except (OSError, ValueError):
            pass

    def _answer(self, request):
        name = request["request"]
        if self.how == "full" and name in ("submit", "announce", "withdraw"):
            return {"ok": False, "code": "TRC142", "message": "this user has too many announcements", "fix": ""}
        if self.how == "old" and name in ("submit", "withdraw"):
            return {"ok": False, "code": "TRC142", "message": f"unknown request \"{name}\"", "fix": ""}
        if name == "announce":
            self._run_id = request["context"]["run_id"]
        if name == "submit":
            context = request["context"]
            return {"ok": True, **({"task_key": "key of " + context["task_id"]} if "task_id" in context
                                   else {"run_key": "key of the run"})}
        if name == "state":
            names = {"run_id": self._run_id}
            state = {"since": "1", "all": False, "more": False}
            if "tasks" in request["rows"]:
                state["tasks"] = [{**names, "id": task_id, "task_id": task_id, **row}
                                  for task_id, row in self.tasks.items()]
                state["findings"] = [{**names, "finding_key": task_id + one["code"], "task_id": task_id, **one}
                                     for task_id, found in self.findings.items() for one in found]
            return {"ok": True, "state": state}
        return {"ok": True, "version": 1, "sequence": 1}


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
