# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C at any point: at once, and clean."""

import random
import signal
import subprocess
import sys
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

from support import needs_tracing, run_python

# Does all that may wait; when it is interrupted it says how it is left.
DRIVER = """
import os, signal, subprocess, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
import tracer, tracer._run, tracer._events, tracer._session, tracer._streams
print("ready", flush=True)
try:
    while True:
        with tracer.session(sample="S1") as s:
            stream = s.events(timeout=0.02)
            s.on("process_exit", lambda event: None)
            s.run(["true"])
            s.flush()
            for event in stream:
                pass
            s.open_reader().read(100)
        tracer.run(["sh", "-c", "true; sleep 0.02"], capture_output=True, input=b"x")
except KeyboardInterrupt:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
import gc, time
s = stream = event = None
gc.collect()
until = time.monotonic() + 20
def left():
    names = []
    for fd in os.listdir("/proc/self/fd"):
        try: names.append(os.readlink("/proc/self/fd/" + fd))
        except OSError: pass
    return [name for name in names if "bpf" in name or "tracer-" in name], len(os.listdir("/proc/self/task"))
while left() != ([], 1) and time.monotonic() < until:
    time.sleep(0.01)
try:
    child = os.waitpid(-1, os.WNOHANG)
except ChildProcessError:
    child = None
print("left", *left(), child, flush=True)
"""


def interrupted_after(delay):
    """What the driver says, on both streams, and its status."""
    process = subprocess.Popen([sys.executable, "-B", "-W", "ignore::ResourceWarning", "-c", DRIVER],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "ready\n"
        time.sleep(delay)
        process.send_signal(signal.SIGINT)
        return *process.communicate(timeout=120), process.returncode
    finally:
        process.kill()
        process.wait()


@needs_tracing
class Interrupt(unittest.TestCase):
    def test_a_hundred_points(self):
        chance = random.Random(4711)
        delays = [chance.random() * 0.4 for _ in range(100)]
        with ThreadPoolExecutor(4) as pool:
            for delay, (out, err, status) in zip(delays, pool.map(interrupted_after, delays)):
                with self.subTest(delay=delay):
                    self.assertEqual((out, err, status), ("left [] 1 None\n", "", 0))

    def test_each_wait_ends_at_once(self):
        waits = {
            "events": "next(s.events(kinds={'loss'}))",
            "batches": "next(s.batches(kinds={'loss'}))",
            "run": "s.run(['sleep', '600'])",
            "run that prints": "s.run(['sleep', '600'], capture_output=True)",
            "run of its own": "tracer.run(['sleep', '600'])",
            "async": "asyncio.run(first(s.events(kinds={'loss'})))",
        }
        for name, wait in waits.items():
            with self.subTest(wait=name):
                done = run_python(f"""
                    import asyncio, os, signal, threading, time, tracer, tracer._run
                    signal.signal(signal.SIGINT, signal.default_int_handler)
                    async def first(stream):
                        async for event in stream: return event
                    with tracer.session() as s:
                        threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
                        try:
                            {wait}
                        except KeyboardInterrupt:
                            print("interrupted")
                    print(s.closed)
                """, timeout=60)
                self.assertEqual((done.stdout, done.stderr), ("interrupted\nTrue\n", ""))


if __name__ == "__main__":
    unittest.main()
