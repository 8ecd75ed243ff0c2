#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What clients cost the service: bench/serve.py TRACERD [CLIENTS] [PROCESSES]. Needs root.

Runs a storm of processes beside none, beside so many clients that read everything, and beside these and one that never reads, and
prints the CPU time of the service, its memory, and what the clients lost."""

import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time


def connect(path):
    made = socket.socket(socket.AF_UNIX)
    made.connect(path)
    return made


def ask(path, **request):
    with connect(path) as client, client.makefile("rw") as file:
        file.write(json.dumps(request) + "\n")
        file.flush()
        return json.loads(file.readline())


def begin(tracerd, path, *options):
    """The service, once it answers."""
    service = subprocess.Popen([tracerd, "serve", *options, "--socket", path], stderr=subprocess.DEVNULL)
    while not os.path.exists(path) and service.poll() is None:
        time.sleep(0.05)
    ask(path, request="hello")
    return service


def read_all(path, clients, ready):
    """In a process of its own, to its end: subscribes, and reads whatever comes."""
    epoll = select.epoll()
    sockets = {}
    for _ in range(clients):
        client = connect(path)
        client.sendall(b'{"request":"subscribe"}\n')
        client.recv(4096)
        client.setblocking(False)
        sockets[client.fileno()] = client
        epoll.register(client.fileno(), select.EPOLLIN)
    os.write(ready, b"x")
    while sockets:
        for fd, _ in epoll.poll():
            if not sockets[fd].recv(1 << 20):
                epoll.unregister(fd)
                del sockets[fd]


def of_process(pid, key):
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(key))


def cpu_s(pid):
    with open(f"/proc/{pid}/stat", "rb") as file:
        fields = file.read().rsplit(b")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(tracerd, clients, processes, stuck=0):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "s")
        service = begin(tracerd, path)
        reader = 0
        if clients:
            told, ready = os.pipe()
            reader = os.fork()
            if reader == 0:
                read_all(path, clients, ready)
                os._exit(0)
            os.read(told, 1)
        silent = [connect(path) for _ in range(stuck)]
        for client in silent:
            client.sendall(b'{"request":"subscribe"}\n')
        before = cpu_s(service.pid)
        events = ask(path, request="statistics")["statistics"]["events"]
        began_s = time.monotonic()
        subprocess.run(["/bin/sh", "-c", f"i=0; while [ $i -lt {processes} ]; do /bin/true; i=$((i+1)); done"],
                       check=True)
        wall_s = time.monotonic() - began_s
        ask(path, request="flush")
        time.sleep(1)
        spent = cpu_s(service.pid) - before
        status = ask(path, request="status")["status"]
        result = {"clients": clients, "stuck": stuck, "wall_s": round(wall_s, 1), "cpu_s": round(spent, 2),
                  "events": status["events"] - events, "lost": status["losses"],
                  "dropped": sum(user["dropped_events"] for user in status["users"]),
                  "rss_mib": of_process(service.pid, "VmRSS") >> 10, "peak_mib": of_process(service.pid, "VmHWM") >> 10}
        service.send_signal(signal.SIGTERM)
        service.wait()
        for client in silent:
            client.close()
        if reader:
            os.waitpid(reader, 0)
        return result


def main():
    tracerd = sys.argv[1]
    clients = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    processes = int(sys.argv[3]) if len(sys.argv) > 3 else 20000
    without = measure(tracerd, 0, processes)
    with_clients = measure(tracerd, clients, processes)
    with_stuck = measure(tracerd, clients, processes, stuck=1)
    for result in (without, with_clients, with_stuck):
        print(json.dumps(result))
    extra = with_clients["cpu_s"] - without["cpu_s"]
    print(f"CPU per client and event: {extra * 1e6 / clients / with_clients['events']:.3f} us")


if __name__ == "__main__":
    main()
