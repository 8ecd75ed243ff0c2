# SPDX-License-Identifier: Apache-2.0
"""Steps that need no quiet machine: one after the other, with the CPU time that nobody else wants."""
import os
import shutil
import signal
import subprocess
import threading
import time

IDLE = ["chrt", "--idle", "0"] if shutil.which("chrt") else ["nice", "-n", "19"]


class Background:
    def __init__(self, report):
        self.report = report
        self.process = None
        self.lock = threading.Lock()
        self.may_run = threading.Event()
        self.may_run.set()
        self.results = []
        self.steps = []
        self.thread = None

    def start(self, steps):
        """Each is (name, command, what to do when it has passed)."""
        self.steps = steps
        self.thread = threading.Thread(target=self._run_all, daemon=True)
        self.thread.start()

    def pause(self):
        """While CPU time is measured."""
        with self.lock:
            self.may_run.clear()
            self._signal(signal.SIGSTOP)

    def resume(self):
        with self.lock:
            self.may_run.set()
            self._signal(signal.SIGCONT)

    def collect(self):
        self.thread.join()
        for name, status, seconds, on_pass in self.results:
            if self.report.finish(name, status, seconds).clean and on_pass:
                on_pass()

    def end(self):
        """Also when the tests were interrupted."""
        with self.lock:
            self.steps = []
            self._signal(signal.SIGKILL)

    def _signal(self, number):
        if self.process and self.process.poll() is None:
            os.killpg(self.process.pid, number)

    def _run_all(self):
        while self.steps:
            name, command, on_pass = self.steps.pop(0)
            self.may_run.wait()
            begin = time.monotonic()
            with open(self.report.log_of(name), "w", encoding="utf-8") as log:
                with self.lock:
                    # No session of its own: the kernel may give each session an equal share, whatever its priority.
                    self.process = subprocess.Popen([*IDLE, *map(str, command)], stdin=subprocess.DEVNULL, stdout=log,
                                                    stderr=subprocess.STDOUT, process_group=0)
                    if not self.may_run.is_set():
                        self._signal(signal.SIGSTOP)
                status = self.process.wait()
            self.results.append((name, status, time.monotonic() - begin, on_pass))
