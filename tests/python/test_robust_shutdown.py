# SPDX-License-Identifier: Apache-2.0
"""The interpreter ends while a session is open."""

import subprocess
import sys
import unittest

import tracer
from support import TempDir, needs_tracing, run_python

BUSY = """
    import os, subprocess, sys, threading, tracer
    # Not on our streams, which would stay open as long as it lives.
    noise = subprocess.Popen(["sh", "-c", "while kill -0 $0; do /bin/true; done", str(os.getpid())],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    noise.returncode = 0  # It ends by itself: no warning of a process that is left.
"""


@needs_tracing
class Shutdown(TempDir):
    def check(self, code, **expected):
        done = run_python(BUSY + code, str(self.folder / "r"))
        self.assertEqual((done.returncode, done.stderr), (expected.get("status", 0), expected.get("stderr", "")))
        return done.stdout

    def test_an_open_session(self):
        self.check("""
    s = tracer.session(record=sys.argv[1])
    s.flush()
""")
        # It was closed: its recording has an end.
        self.assertFalse(tracer.read(self.folder / "r").damage)

    def test_callbacks_that_run(self):
        for number in range(5):
            with self.subTest(number=number):
                self.check("""
    sessions = [tracer.session() for _ in range(3)]
    for s in sessions:
        s.on(None, lambda event: sum(range(1000)))
        s.flush()
""")

    def test_streams_and_subscriptions_in_cycles(self):
        self.check("""
    class Cycle: pass
    c = Cycle()
    c.me = c
    c.s = tracer.session()
    c.stream = c.s.events()
    c.subscription = c.s.on("process_exit", lambda event, c=c: c)
    sys.modules["kept"] = c
    next(c.stream)
""")

    def test_threads_that_wait(self):
        self.check("""
    s = tracer.session()
    for _ in range(3):
        threading.Thread(target=lambda: list(s.events(kinds={"loss"})), daemon=True).start()
    threading.Thread(target=lambda: [event for event in s.events()], daemon=True).start()
    s.flush()
""")

    def test_exits_of_all_sorts(self):
        for how, status in (("sys.exit(3)", 3), ("os._exit(4)", 4), ("os.kill(os.getpid(), 9)", -9)):
            with self.subTest(how=how):
                self.check(f"""
    s = tracer.session()
    s.on(None, lambda event: None)
    {how}
""", status=status)

    def test_one_that_is_opened_while_it_ends(self):
        out = self.check("""
    import atexit
    def late():
        s = tracer.session()
        s.on(None, lambda event: None)
        subprocess.run(["true"])
        s.close()
        print("closed", s.closed)
    atexit.register(late)
""")
        self.assertEqual(out, "closed True\n")

    def test_a_late_one_that_is_never_closed(self):
        # Its own handler is registered first, and so runs last.
        self.check("""
    import atexit
    kept = []
    def late():
        kept.append(tracer.session())
        kept[0].on(None, lambda event: None)
    atexit.register(late)
    tracer.session().close()
""")


@needs_tracing
class Callbacks(unittest.TestCase):
    def test_what_they_raise_is_told_and_counted(self):
        told = []
        hook, sys.unraisablehook = sys.unraisablehook, told.append
        try:
            with tracer.session() as s:
                seen = []
                s.on("process_exit", lambda event: 1 / 0)
                s.on("process_exit", seen.append)
                for _ in range(3):
                    subprocess.run(["true"])
                s.flush()
        finally:
            sys.unraisablehook = hook
        self.assertEqual([each.exc_type for each in told], [ZeroDivisionError] * 3)
        self.assertEqual(s.statistics.callback_errors, 3)
        # Nothing was lost to others.
        self.assertEqual(len(seen), 3)
        self.assertEqual(s.statistics.losses, {})

    def test_what_must_not_be_called_inside(self):
        caught = []
        with tracer.session() as s:

            def callback(event):
                for use in (s.close, s.flush):
                    try:
                        use()
                    except tracer.CallbackError as error:
                        caught.append(error.code)

            s.on("process_exit", callback)
            subprocess.run(["true"])
            s.flush()
        self.assertEqual(caught, ["TRC116", "TRC116"])

    def test_what_may_be_called_inside(self):
        got = []
        with tracer.session() as s:

            def callback(event):
                subscription.cancel()
                got.append((s.statistics.events > 0, len(s.totals) > 0, event.pid))

            subscription = s.on("process_exit", callback)
            subprocess.run(["true"])
            subprocess.run(["true"])
            s.flush()
        self.assertEqual([each[:2] for each in got], [(True, True)])

    def test_an_interrupt_inside_is_no_end(self):
        told = []
        hook, sys.unraisablehook = sys.unraisablehook, told.append
        try:
            with tracer.session() as s:

                def callback(event):
                    raise KeyboardInterrupt

                s.on("process_exit", callback)
                subprocess.run(["true"])
                s.flush()
                subprocess.run(["true"])
        finally:
            sys.unraisablehook = hook
        self.assertEqual(len(told), 2)


class Interpreters(unittest.TestCase):
    def test_a_sub_interpreter_is_refused_clearly(self):
        done = run_python("""
            try:
                import _interpreters as interpreters
            except ImportError:
                import _xxsubinterpreters as interpreters
            own = interpreters.create()
            code = ("try:\\n    from tracer import _core\\nexcept ImportError as error:\\n"
                    "    print('ImportError:', error, flush=True)\\n")
            interpreters.run_string(own, "import sys; sys.path[:0] = " + repr(__import__("sys").path))
            interpreters.run_string(own, code)
            interpreters.destroy(own)
            import tracer
            print(bool(tracer.check().items))
        """)
        lines = done.stdout.splitlines()
        self.assertTrue(lines and lines[0].startswith("ImportError:") and "interpreter" in lines[0], done.stdout + done.stderr)
        self.assertEqual(lines[-1], "True", done.stderr)


if __name__ == "__main__":
    unittest.main()
