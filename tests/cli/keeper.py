# SPDX-License-Identifier: Apache-2.0
"""A small double of a service manager: starts the service, holds its descriptors, starts it again."""

import contextlib
import fcntl
import os
import select
import signal
import socket
import threading

FIRST_HANDED = 3


def is_hung_up(fd):
    """What systemd drops, unless it is told not to look."""
    poll = select.poll()
    poll.register(fd, 0)
    return any(events & (select.POLLERR | select.POLLHUP) for _, events in poll.poll(0))


class Keeper:
    """Of one service. What it has stored is in `held`, a list of names and descriptors."""

    def __init__(self, words, folder, environment=None, most=4096):
        self.words = words
        self.environment = dict(os.environ if environment is None else environment)
        self.log = os.path.join(folder, "service.log")
        self.address = os.path.join(folder, "notify")
        self.most = most
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.address)
        self.lock = threading.Lock()
        self.held = []
        self.pid = None
        self.ready = threading.Event()
        self.ended = False
        self.thread = threading.Thread(target=self.listen, daemon=True)
        self.thread.start()

    def listen(self):
        while not self.ended:
            try:
                data, fds, _, _ = socket.recv_fds(self.socket, 65536, 253)
            except OSError:
                return
            fields = dict(line.split("=", 1) for line in data.decode().split("\n") if "=" in line)
            name = fields.get("FDNAME", "stored")
            dropped = []
            with self.lock:
                if fields.get("FDSTORE") == "1":
                    watched = fields.get("FDPOLL") != "0"
                    for fd in fds:
                        kept = len(self.held) < self.most and not (watched and is_hung_up(fd))
                        self.held.append((name, fd)) if kept else dropped.append(fd)
                else:
                    dropped += fds
                if fields.get("FDSTOREREMOVE") == "1":
                    dropped += [fd for each, fd in self.held if each == name]
                    self.held = [(each, fd) for each, fd in self.held if each != name]
            for fd in dropped:
                os.close(fd)
            if fields.get("READY") == "1":
                self.ready.set()

    def start(self):
        """Does not wait for it."""
        self.ready.clear()
        with self.lock:
            held = list(self.held)
        environment = self.environment | {"NOTIFY_SOCKET": self.address, "FDSTORE": str(self.most)}
        pid = os.fork()
        if pid == 0:
            try:
                self.execute(held, environment)
            finally:
                os._exit(127)
        self.pid = pid

    def execute(self, held, environment):
        log = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        # Out of the way of their places.
        high = FIRST_HANDED + len(held) + 64
        moved = [fcntl.fcntl(fd, fcntl.F_DUPFD, high) for _, fd in held]
        os.dup2(log, 1)
        os.dup2(log, 2)
        for at, fd in enumerate(moved):
            os.dup2(fd, FIRST_HANDED + at)
        os.closerange(FIRST_HANDED + len(held), high + len(held) + 4096)
        if held:
            environment |= {"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": str(len(held)),
                            "LISTEN_FDNAMES": ":".join(name for name, _ in held)}
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        os.execve(self.words[0], self.words, environment)

    def end(self, number=signal.SIGKILL):
        """Its status, as of wait()."""
        if self.pid is None:
            return None
        pid, self.pid = self.pid, None
        os.kill(pid, number)
        return os.waitpid(pid, 0)[1]

    def names(self):
        with self.lock:
            return [name for name, _ in self.held]

    def hold(self, name, fd):
        with self.lock:
            self.held.append((name, fd))

    def release(self, wanted):
        """Drops what it holds of those names."""
        with self.lock:
            dropped = [fd for name, fd in self.held if wanted(name)]
            self.held = [(name, fd) for name, fd in self.held if not wanted(name)]
        for fd in dropped:
            os.close(fd)

    def close(self):
        with contextlib.suppress(OSError):
            self.end()
        self.ended = True
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        self.release(lambda name: True)
