# SPDX-License-Identifier: Apache-2.0
"""A fork in the middle: the parent's session goes on, the child has none."""

import contextlib
import multiprocessing
import os
import subprocess
import threading
import unittest

import tracer
from support import needs_tracing, run_python


def in_child(work):
    """What `work` returns in a child made by fork: a text."""
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(ours)
            try:
                said = work()
            except BaseException as error:
                said = f"{type(error).__name__}: {error}"
            os.write(theirs, str(said).encode())
        finally:
            os._exit(0)
    os.close(theirs)
    with os.fdopen(ours, "rb") as pipe:
        said = pipe.read().decode()
    _, status = os.waitpid(pid, 0)
    assert status == 0, status
    return said


def start_method_child(queue):
    try:
        with tracer.session() as s:
            subprocess.run(["true"])
        reader = s.open_reader()
        queue.put(sum(event.kind == "process_exit" for event in reader.read(1000)))
    except BaseException as error:
        queue.put(repr(error))


@needs_tracing
class Fork(unittest.TestCase):
    def test_the_child_is_told(self):
        with tracer.session() as s:
            stream = s.events()
            subscription = s.on("process_exit", lambda event: None)

            def work():
                told = []
                for use in (
                    s.close, s.flush, s.__enter__, lambda: s.statistics, lambda: s.totals, lambda: s.living,
                    lambda: s.events(), lambda: next(stream), lambda: s.track(1), lambda: s.finished, s.open_reader,
                    lambda: s.on("loss", print), lambda: s.run(["true"]),
                ):
                    try:
                        use()
                    except tracer.SessionClosedError as error:
                        told.append("fork" in str(error))
                subscription.cancel()
                return told, s.closed

            self.assertEqual(in_child(work), str(([True] * 13, True)))
            self.assertEqual(subprocess.run(["true"]).returncode, 0)
            s.flush()
            self.assertTrue(any(event.kind == "process_exit" and event.tool == "true" for event in stream_of(s)))

    def test_what_it_says_of_a_child_is_so(self):
        """Whatever is public raises, but for what the docstring names."""
        needed = {"track": (1,), "announce": (), "events": (), "table": ("processes",), "sql": ("select 1",),
                  "run": (["true"],), "on": ("loss", print), "task": ("x",), "batches": (), "table_batches": (), "flush": (),
                  "close": (), "fileno": (), "open_reader": ()}
        with tracer.session() as s:

            def work():
                told = []
                for name in sorted(name for name in dir(tracer.Session) if not name.startswith("_")):
                    try:
                        value = getattr(s, name)
                        if name == "announce":
                            value(pid=os.getppid(), context={"sample": "S"})
                        elif callable(value):
                            value = value(*needed[name])
                            with value if name == "task" else contextlib.nullcontext():
                                pass
                        if isinstance(value, tracer.Table):
                            value.to_dicts()
                    except tracer.SessionClosedError as error:
                        assert error.code and error.fix and "fork" in str(error)
                        continue
                    told.append(name)
                repr(s)
                s.__exit__(None, None, None)
                return told, s.closed, s.processes.columns[:2]

            self.assertEqual(in_child(work), str((["closed", "host", "task", "tier", "tier_problems"], True, ("time_ns", "pid"))))

    def test_the_child_lets_go_of_it_without_a_word(self):
        sessions = [tracer.session()]
        queue = sessions[0].events()

        def work():
            nonlocal queue
            import gc

            sessions.clear()
            queue = None
            gc.collect()
            with tracer.session() as own:
                subprocess.run(["true"])
            return [event.tool for event in own.open_reader().read(100) if event.kind == "process_exit"]

        self.assertEqual(in_child(work), "['true']")
        # The parent's own still works.
        subprocess.run(["false"])
        sessions[0].close()
        seen = [event.tool for event in sessions[0].open_reader().read(100) if event.kind == "process_exit"]
        self.assertIn("false", seen)

    def test_a_child_that_ends_as_python_does(self):
        done = run_python("""
            import os, subprocess, sys, tracer, warnings
            # Since 3.12 a fork with threads beside warns; those of a session are not Python's.
            warnings.filterwarnings("ignore", ".*multi-threaded", DeprecationWarning)
            s = tracer.session()
            callback = s.on(None, lambda event: None)
            pid = os.fork()
            if pid == 0:
                sys.exit(0)
            print(os.waitpid(pid, 0)[1])
            subprocess.run(["true"])
            s.close()
            print(sum(event.kind == "process_exit" for event in s.open_reader().read(100)))
        """)
        self.assertEqual((done.stdout.split(), done.stderr), (["0", "2"], ""))

    def test_forks_while_others_use_it(self):
        stop = threading.Event()
        with tracer.session() as s:

            def use():
                while not stop.is_set():
                    s.statistics, s.totals
                    s.flush(0.2)

            users = [threading.Thread(target=use) for _ in range(4)]
            for user in users:
                user.start()
            try:
                for _ in range(20):
                    self.assertEqual(in_child(lambda: s.closed), "True")
            finally:
                stop.set()
                for user in users:
                    user.join()

    def test_a_child_does_not_keep_the_kernel_side(self):
        """What a session holds in the kernel is gone when it is closed, though a child lives."""
        links = "anon_inode:bpf"
        with tracer.session():
            self.assertTrue(any(links in name for name in names_of_descriptors()))

            def work():
                return sum(links in name for name in names_of_descriptors())

            self.assertEqual(in_child(work), "0")

    def test_processes_of_multiprocessing_have_sessions_of_their_own(self):
        for method in ("fork", "spawn", "forkserver"):
            with self.subTest(method=method), tracer.session():
                context = multiprocessing.get_context(method)
                queue = context.Queue()
                child = context.Process(target=start_method_child, args=(queue,))
                child.start()
                self.assertEqual(queue.get(timeout=60), 1)
                child.join(60)
                self.assertEqual(child.exitcode, 0)


def names_of_descriptors():
    from support import descriptors

    return descriptors()


def stream_of(session):
    return session.open_reader().read(10_000)


if __name__ == "__main__":
    unittest.main()
