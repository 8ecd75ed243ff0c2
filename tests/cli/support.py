# SPDX-License-Identifier: Apache-2.0
"""What all tests of the tracerd binary share. TRACERD in the environment names the binary."""

import atexit
import contextlib
import fcntl
import json
import os
import pty
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

# Whoever runs the tests in the background ignores these, and what they start would, too.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)
signal.signal(signal.SIGHUP, lambda *_: None)

# The signs of the table are those of the locale.
os.environ["LC_ALL"] = "C.UTF-8"

# A history of its own for each program of tests: begun already, so that no test reads that it begins.
STATE = tempfile.mkdtemp(prefix="tracerd-state-", dir="/tmp")
atexit.register(shutil.rmtree, STATE, True)
os.environ["XDG_STATE_HOME"] = STATE
os.makedirs(os.path.join(STATE, "tracer"))
os.close(os.open(os.path.join(STATE, "tracer", "history.db"), os.O_CREAT | os.O_WRONLY, 0o600))

TRACERD = os.path.abspath(os.environ.get("TRACERD", "build/tracerd"))
NOBODY = 65534
PYTHON = sys.executable
# A guard against hanging, never a measure: a test that waits this long has failed.
DEADLINE_SECONDS = 60
SKIPPED = 77


def wait_until(condition, what):
    """The first true value of condition(); it is asked again and again."""
    until = time.monotonic() + DEADLINE_SECONDS
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > until:
            raise AssertionError(f"never happened: {what}")
        time.sleep(0.02)


def alive(pid):
    """True if the process is there and no zombie."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rsplit(b")", 1)[1].split()[0] not in (b"Z", b"X")
    except OSError:
        return False


def cgroup_hierarchy():
    """A folder in which a cgroup can be made that events name; "": there is none."""
    for folder in ("/sys/fs/cgroup/memory", "/sys/fs/cgroup/pids", "/sys/fs/cgroup"):
        if os.path.exists(os.path.join(folder, "cgroup.procs")) and os.access(folder, os.W_OK):
            return folder
    return ""


def text_of(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def parse_lines(text):
    """The objects of whole JSON lines; a last line without its end is left out."""
    return [json.loads(line) for line in text.split("\n")[:-1]]


def of_kind(events, kind):
    return [event for event in events if event["kind"] == kind]


class TestCase(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="tracerd-cli-", dir="/tmp")
        os.chmod(self.folder, 0o755)
        self.addCleanup(shutil.rmtree, self.folder, True)

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def write(self, name, text):
        """Its path."""
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def tracerd(self, *words, **options):
        """Runs tracerd to its end; a result with returncode, stdout and stderr as text."""
        options.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.run([options.pop("binary", TRACERD), *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, errors="replace", timeout=DEADLINE_SECONDS, check=False, **options)

    def start(self, *words, **options):
        """Starts any program; it is killed at the end of the test, if it still lives."""
        process = subprocess.Popen(words, text=True, errors="replace", **options)

        def end():
            if process.poll() is None:
                process.kill()
            with contextlib.suppress(OSError, ValueError):
                process.communicate(timeout=DEADLINE_SECONDS)

        self.addCleanup(end)
        return process

    def kill_at_end(self, pid):
        def kill():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

        self.addCleanup(kill)

    def dump(self, path):
        """The events of a recording; the first is the host."""
        result = self.tracerd("dump", path)
        self.assertEqual(result.returncode, 0, result.stderr)
        return parse_lines(result.stdout)

    def trace(self, *words, options=(), **more):
        """Runs a command under tracerd: its result and its events."""
        path = self.path("trace.json")
        result = self.tracerd("run", "--json", path, *options, "--", *words, **more)
        return result, parse_lines(text_of(path))

    def folder_of_nobody(self):
        path = tempfile.mkdtemp(prefix="tracerd-cli-nobody-", dir="/tmp")
        os.chown(path, NOBODY, NOBODY)
        self.addCleanup(shutil.rmtree, path, True)
        return path

    def assert_fails(self, result, status, code):
        self.assertEqual(result.returncode, status, result.stderr)
        self.assertIn(code, result.stderr)
        self.assertLessEqual(result.stderr.count("\n"), 24, "more than a screen: " + result.stderr)


class Terminal:
    """A program on a terminal of its own."""
    ROWS, COLUMNS = 24, 100

    def __init__(self, test, *words, columns=COLUMNS, color=False):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            try:
                fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", self.ROWS, columns, 0, 0))
                os.execvpe(words[0], words, os.environ | {"TERM": "xterm", "NO_COLOR": "" if color else "1"})
            finally:
                os._exit(99)
        self.status = None
        self.text = ""
        test.addCleanup(self.close)

    def write(self, text):
        os.write(self.fd, text.encode())

    def read_until(self, text):
        """Reads until `text` has come, or to the end if it is None."""
        while text is None or text not in self.text:
            try:
                got = os.read(self.fd, 65536)
            except OSError:  # EIO: the last program that had the terminal is gone
                got = b""
            if not got:
                if text is None:
                    return
                raise AssertionError(f"the terminal ended before {text!r} came:\n{self.text}")
            self.text += got.decode(errors="replace").replace("\r\n", "\n")

    def exit_status(self):
        if self.status is None:
            self.status = os.waitpid(self.pid, 0)[1]
        return os.WEXITSTATUS(self.status) if os.WIFEXITED(self.status) else -os.WTERMSIG(self.status)

    def close(self):
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            self.exit_status()
        os.close(self.fd)


class Result(unittest.TextTestResult):
    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        print(f"SKIP: {test.id()}: {reason}", flush=True)


def reason_to_skip_all():
    if os.geteuid() != 0:
        return "these tests need root"
    check = subprocess.run([TRACERD, "check"], stdout=subprocess.PIPE, text=True, check=False)
    if check.returncode != 0:
        missing = [line for line in check.stdout.split("\n") if line.startswith("MISSING")]
        return "tracing does not work here: " + "; ".join(missing)
    return None


def main():
    reason = reason_to_skip_all()
    if reason:
        print(f"SKIP: {reason}")
        sys.exit(SKIPPED)
    unittest.main(testRunner=unittest.TextTestRunner(resultclass=Result, verbosity=2))
