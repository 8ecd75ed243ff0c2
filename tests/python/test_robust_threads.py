# SPDX-License-Identifier: Apache-2.0
"""Many threads at once: nothing is held that another needs."""

import subprocess
import threading
import time
import unittest

import tracer
from support import needs_tracing, threads, wait_until


@needs_tracing
class Threads(unittest.TestCase):
    def test_python_runs_on_while_a_thread_waits(self):
        """The GIL is released in what waits."""
        with tracer.session() as s:
            for wait in (
                lambda: next(s.events(kinds={"loss"}, timeout=3), None),
                lambda: s.run(["sleep", "3"]),
                lambda: s.run(["sleep", "3"], capture_output=True),
            ):
                waiter = threading.Thread(target=wait)
                waiter.start()
                rounds = 0
                while waiter.is_alive():
                    rounds += 1
                    time.sleep(0.001)
                self.assertGreater(rounds, 100)

    def test_one_stream_for_many_threads(self):
        seen = []
        with tracer.session() as s:
            stream = s.events(kinds={"process_exit"})
            takers = [threading.Thread(target=lambda: seen.extend(stream)) for _ in range(6)]
            for taker in takers:
                taker.start()
            for _ in range(20):
                subprocess.run(["true"])
        for taker in takers:
            taker.join()
        exits = [event for event in seen if event.kind == "process_exit"]
        self.assertEqual((len(exits), len({event.pid for event in exits})), (20, 20))

    def test_sessions_of_many_threads(self):
        before = threads()
        failures = []

        def work(number):
            try:
                for _ in range(3):
                    with tracer.session(sample=f"S{number}") as s:
                        child = subprocess.Popen(["true"])
                        child.wait()
                    found = [event.context.sample for event in s.open_reader().read(10_000)
                             if event.kind == "process_exit" and event.pid == child.pid]
                    if found != [f"S{number}"]:
                        failures.append(found)
            except BaseException as error:
                failures.append(error)

        workers = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        self.assertEqual(failures, [])
        wait_until(lambda: threads() == before, "threads have ended")

    def test_callbacks_and_their_session_on_many_threads(self):
        with tracer.session() as s:
            stop = threading.Event()

            def subscribe():
                while not stop.is_set():
                    seen = []
                    subscription = s.on(None, seen.append)
                    time.sleep(0.001)
                    subscription.cancel()
                    count = len(seen)
                    time.sleep(0.001)
                    if len(seen) != count:
                        late.append(count)

            late = []
            workers = [threading.Thread(target=subscribe) for _ in range(4)]
            for worker in workers:
                worker.start()
            for _ in range(40):
                subprocess.run(["true"])
            stop.set()
            for worker in workers:
                worker.join()
            self.assertEqual(late, [])


if __name__ == "__main__":
    unittest.main()
