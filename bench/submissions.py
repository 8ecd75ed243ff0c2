#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tasks that wait at a service: bench/submissions.py TRACERD [ALL [QUEUED]]. Needs root.

One user submits ALL tasks (50,000), at most QUEUED (5,000) of which wait at one time, announces each, and withdraws the oldest. Prints
how many were refused, how long a request took, and the memory of the service after the first QUEUED and after all."""

import json
import os
import signal
import socket
import sys
import tempfile
import time

from serve import begin, of_process

USER = 20011


class Client:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        os.seteuid(USER)
        self.socket.connect(path)
        os.seteuid(0)
        self.lines = self.socket.makefile()

    def ask(self, name, **fields):
        self.socket.sendall(json.dumps({"request": name, **fields}).encode() + b"\n")
        return json.loads(self.lines.readline())


def context_of(number):
    return {"engine": "bench", "run_id": "r1", "pipeline": "bench", "step": f"step{number % 20}", "task": f"step ({number})",
            "task_id": f"t{number}", "labels": {"wildcard": f"sample-{number}"}}


def work(client, numbers, queued, waiting, folder, refused):
    for number in numbers:
        context, requested = context_of(number), {"millicpus": 2000, "memory_bytes": 8 << 30}
        reply = client.ask("submit", context=context, requested=requested)
        refused += [] if reply["ok"] else [reply]
        waiting.append(reply.get("task_key"))
        if len(waiting) > queued:
            reply = client.ask("withdraw", task_key=waiting.pop(0), state="succeeded", exit_code=0)
            refused += [] if reply["ok"] else [reply]
        reply = client.ask("announce", key={"work_dir": f"{folder}/{number % (queued + 1)}"}, context=context, requested=requested)
        refused += [] if reply["ok"] else [reply]


def main():
    tracerd = sys.argv[1]
    everything, queued = (int(word) for word in (*sys.argv[2:4], *("50000", "5000")[len(sys.argv) - 2:]))
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        for number in range(queued + 1):
            os.mkdir(f"{folder}/{number}")
            os.chown(f"{folder}/{number}", USER, USER)
        service = begin(tracerd, f"{folder}/s")
        try:
            client, waiting, refused = Client(f"{folder}/s"), [], []

            def memory():
                time.sleep(2)
                return of_process(service.pid, "VmRSS") / 1024

            before = memory()
            work(client, range(queued), queued, waiting, folder, refused)
            print(f"{queued} queued: RSS {before:.1f} -> {memory():.1f} MiB", flush=True)
            first = 0.0
            began_s = time.monotonic()
            for until in range(2 * queued, everything + 1, queued):
                work(client, range(until - queued, until), queued, waiting, folder, refused)
                now = memory()
                first = first or now
                print(f"{until} submitted, {until - queued} withdrawn: RSS {now:.1f} MiB, {100 * (now / first - 1):+.1f} %", flush=True)
            print(f"{(time.monotonic() - began_s) / (everything - queued) * 1e6:.0f} us for each; refused: {len(refused)} {refused[:1]}")
            print(client.ask("status")["status"].get("lost"))
        finally:
            service.send_signal(signal.SIGTERM)
            service.wait()


if __name__ == "__main__":
    main()
