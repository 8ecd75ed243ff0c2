#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What comes and goes at the service: bench/clients.py TRACERD [CLIENTS] [ANNOUNCEMENTS] [PROCESSES]. Needs root, the
package tracer and a C compiler.

Prints the time from connect() to the first event, the memory and descriptors of the service while clients come and go,
every second one a subscriber, while processes do, and while announcements come in."""

import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import tracer
from run import BUILD, prepare
from serve import ask, begin, connect, of_process

TRIES = 50


def first_event_ms(path):
    begin = time.monotonic()
    with tracer.connect(path) as session:
        next(iter(session.events(living_first=True)))
        return (time.monotonic() - begin) * 1000


def come_and_go(path, subscribes):
    with connect(path) as client:
        client.sendall(b'{"request":"hello","version":1}\n')
        client.recv(1 << 16)
        if subscribes:
            client.sendall(b'{"request":"subscribe"}\n')
            client.recv(1 << 12)


def state_of(service):
    return (f"RSS {of_process(service.pid, 'VmRSS') / 1024:.1f} MiB, "
            f"{len(os.listdir(f'/proc/{service.pid}/fd'))} descriptors")


def main():
    tracerd = sys.argv[1]
    clients = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000
    announcements = int(sys.argv[3]) if len(sys.argv) > 3 else 100_000
    processes = int(sys.argv[4]) if len(sys.argv) > 4 else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "s")
        service = begin(tracerd, path)
        try:
            times = sorted(first_event_ms(path) for _ in range(TRIES))
            print(f"first event: median {statistics.median(times):.1f} ms, largest of {TRIES} {times[-1]:.1f} ms")
            for quarter in range(5):
                for number in range(clients // 4 if quarter else 0):
                    come_and_go(path, number % 2 == 1)
                time.sleep(0.5)
                print(f"clients that came and went: {quarter * (clients // 4)}: {state_of(service)}")
            prepare()
            for tenth in range(1, 11):
                subprocess.run([BUILD / "storm", str(processes // 10), BUILD / "noop"], check=True, stdout=subprocess.DEVNULL)
                time.sleep(0.5)
                print(f"processes that came and went: {tenth * (processes // 10)}: {state_of(service)}")
            status = ask(path, request="status")["status"]
            print(f"losses: {status['losses']}")
            with connect(path) as client, client.makefile("rw") as file:
                for number in range(announcements):
                    request = {"request": "announce", "key": {"work_dir": f"{folder}/{number:06x}"},
                               "context": {"pipeline": "p", "task_id": str(number)}}
                    file.write(json.dumps(request) + "\n")
                    file.flush()
                    reply = json.loads(file.readline())
                    if not reply["ok"]:
                        sys.exit(f"announcement {number}: {reply}")
            print(f"announcements that live: {announcements}: {state_of(service)}")
        finally:
            service.send_signal(signal.SIGTERM)
            service.wait()


if __name__ == "__main__":
    main()
