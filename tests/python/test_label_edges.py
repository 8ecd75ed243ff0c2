# SPDX-License-Identifier: Apache-2.0
"""Tasks beside the plain way: wrong arguments, closed sessions, forks, several sessions."""

from __future__ import annotations

import asyncio
import inspect
import os
import subprocess
import sys
import threading
import unittest
import warnings
from collections.abc import Iterator

import label_children as children
import label_rig
import tracer
from label_rig import Recorded
from tracer import _core, _hooks, task


def in_child(function: object) -> int:
    """The exit status of a fork that calls it; 1: it has raised."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            function()
            status = 0
        except BaseException as error:
            os.write(2, f"in a forked child: {error!r}\n".encode())
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


class Arguments(unittest.TestCase):
    def test_wrong_types(self) -> None:
        for arguments in (
            {"name": 3}, {"name": None}, {"name": b"a"}, {"name": "a", "sample": 3}, {"name": "a", "attempt": "1"},
            {"name": "a", "attempt": True}, {"name": "a", "labels": ["a"]}, {"name": "a", "labels": {"a": 1}},
            {"name": "a", "labels": {1: "a"}}, {"name": "a", "step": []}, {"name": "a", "task_id": 7},
        ):
            with self.subTest(arguments), self.assertRaises(TypeError):
                task(**arguments)
        with self.assertRaises(TypeError):
            task("a", unknown="b")
        with self.assertRaises(TypeError):
            task("a")(3)

    def test_wrong_values(self) -> None:
        for arguments in (
            {"name": ""}, {"name": "a\0b"}, {"name": "a", "attempt": 0}, {"name": "a", "attempt": -1},
            {"name": "a", "attempt": 2**32}, {"name": "a", "labels": {"": "a"}}, {"name": "a", "sample": ""},
        ):
            with self.subTest(arguments), self.assertRaises(tracer.InvalidArgumentError) as raised:
                task(**arguments)
            self.assertEqual(raised.exception.code, "TRC101")

    def test_nothing_happens_without_a_session(self) -> None:
        self.assertFalse(_core.tasks_in_use())
        with task("a") as one:
            self.assertIsNone(_core.innermost_task())
            self.assertIn("'a'", repr(one))
        self.assertEqual(task("a")(lambda: 3)(), 3)

    def test_what_is_decorated_stays_what_it_is(self) -> None:
        @task("a")
        def plain(number: int) -> int:
            """Its text."""
            return number + 1

        @task("a")
        async def coroutine(number: int) -> int:
            return number + 1

        @task("a")
        def generator(number: int) -> Iterator[int]:
            got = yield number
            with self.assertRaises(KeyError):
                yield got
            return 7

        @task("a")
        async def async_generator(number: int):
            yield number
            yield number + 1

        for session in (False, True):
            recorded = Recorded() if session else None
            with self.subTest(session=session):
                self.assertEqual((plain(1), plain.__name__, plain.__doc__), (2, "plain", "Its text."))
                self.assertTrue(inspect.iscoroutinefunction(coroutine))
                self.assertEqual(asyncio.run(coroutine(1)), 2)
                self.assertTrue(inspect.isgeneratorfunction(generator))
                steps = generator(5)
                self.assertEqual((next(steps), steps.send("x")), (5, "x"))
                with self.assertRaises(StopIteration) as stopped:
                    steps.throw(KeyError("thrown"))
                self.assertEqual(stopped.exception.value, 7)
                self.assertTrue(inspect.isasyncgenfunction(async_generator))

                async def collect() -> list[int]:
                    return [each async for each in async_generator(1)]

                self.assertEqual(asyncio.run(collect()), [1, 2])
            if recorded is not None:
                recorded.session.close()


class Life(unittest.TestCase):
    def test_closed_sessions(self) -> None:
        recorded = Recorded()
        kept = recorded.session.task("a")
        open_task = recorded.session.task("b")
        open_task.__enter__()
        recorded.session.close()
        with self.assertRaises(tracer.SessionClosedError):
            recorded.session.task("c")
        children.run("-")
        open_task.__exit__(None, None, None)
        with kept:
            children.run("-")
        self.assertFalse(_core.tasks_in_use())
        self.assertIsNone(_core.innermost_task())

    def test_one_after_another_and_not_twice_at_once(self) -> None:
        with Recorded() as session:
            one = session.task("a")
            with one:
                with self.assertRaises(tracer.InvalidArgumentError):
                    one.__enter__()
            with one:
                children.run("a")

    def test_its_context(self) -> None:
        recorded = Recorded(pipeline="p", sample="S0", labels={"k": "v", "x": "y"})
        with recorded as session:
            with session.task("a", step="s", attempt=2, task_id="7", labels={"k": "w"}):
                children.run("a")
                with session.task("b", sample="S1"):
                    children.run("b")
            with session.task("a"):
                children.run("a")
        one, two, three = recorded.contexts()
        self.assertEqual(
            [one.get(name) for name in ("pipeline", "run", "sample", "step", "task", "task_id", "attempt")],
            ["p", "edges", "S0", "s", "a", "7", 2],
        )
        self.assertEqual(one["provenance"]["task"], "label")
        self.assertEqual([two.get(name) for name in ("sample", "step", "task", "attempt")], ["S1", None, "b", None])
        self.assertIn("w", str(two["labels"]))
        self.assertNotEqual(two["task_id"], three["task_id"])

    def test_several_sessions(self) -> None:
        first, second = Recorded(), Recorded()
        with first, second:
            with task("both"):
                children.run("both")
            with first.session.task("one"), second.session.task("two"):
                children.run("one")
            with first.session.task("one"):
                children.c_system("one")
        self.assertEqual(dict(first.judged().bad), {})
        self.assertEqual(
            sorted(each.get("task") or "-" for each in second.contexts()), ["-", "both", "two"]
        )

    def test_no_room_for_a_label(self) -> None:
        recorded = Recorded(max_contexts=4)
        with recorded as session, warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            # All at one time: those that have ended make room for others.
            all_are_open = threading.Barrier(6)

            def work(name: str) -> None:
                with session.task(name):
                    children.run(name)
                    all_are_open.wait(60)

            threads = [threading.Thread(target=work, args=(f"t{number}",)) for number in range(6)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        judged = recorded.judged()
        self.assertGreaterEqual(judged.right, 1)
        self.assertEqual(judged.wrong, 0)
        self.assertEqual(len(warned), judged.unlabeled)
        self.assertIn("max_contexts", str(warned[0].message))


class Forks(unittest.TestCase):
    def test_a_task_is_inert_in_a_forked_child(self) -> None:
        recorded = Recorded()
        with recorded as session:
            outer = session.task("a")

            def work() -> None:
                assert _core.innermost_task() is None
                assert not _core.tasks_in_use()
                outer.__exit__(None, None, None)
                with session.task("b"), task("c"):
                    children.run("a")

            with outer:
                self.assertEqual(in_child(work), 0)
                children.run("a")
                children.c_system("a")
            children.run("-")
        self.assertEqual(dict(recorded.judged().bad), {})
        self.assertEqual(recorded.judged().right, 4)

    def test_a_forked_child_has_tasks_in_a_session_of_its_own(self) -> None:
        with Recorded() as session, session.task("a"):

            def work() -> None:
                recorded = Recorded()
                with recorded as own, own.task("b"):
                    children.run("b")
                    children.c_system("b")
                judged = recorded.judged()
                assert judged.right == 2 and not judged.bad, judged

            self.assertEqual(in_child(work), 0)

    def test_forks_while_others_begin_and_end_tasks(self) -> None:
        recorded = Recorded()
        over = threading.Event()

        def busy() -> None:
            while not over.is_set():
                with task("x"), task("y"):
                    pass

        threads = [threading.Thread(target=busy) for _ in range(3)]
        with recorded as session:
            for thread in threads:
                thread.start()
            for _ in range(100):

                def work() -> None:
                    with session.task("b"):
                        _core.sync_labels()

                self.assertEqual(in_child(work), 0)
            over.set()
            for thread in threads:
                thread.join()

    def test_a_fork_in_the_middle_of_the_first_install(self) -> None:
        script = """
import os, sys, threading
from tracer import _core, _hooks
import tracer
inner = _hooks._wrap_thread_start
def stop_here():
    pid = os.fork()
    if pid == 0:
        _hooks._wrap_thread_start = inner
        with tracer.session(families=()) as session, session.task("a"):
            thread = threading.Thread(target=os.system, args=("true",))
            thread.start()
            thread.join()
        os._exit(0)
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
_hooks._wrap_thread_start = stop_here
_hooks.install()
"""
        environment = {**os.environ, "PYTHONPATH": str(label_rig.PACKAGE)}
        done = subprocess.run([sys.executable, "-c", script], env=environment, timeout=60, capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr.decode())


class Hooks(unittest.TestCase):
    def test_installed_once(self) -> None:
        with Recorded():
            pass
        before = _core.audit_probes()
        with Recorded():
            wrapped = threading._start_joinable_thread if sys.version_info >= (3, 13) else threading._start_new_thread
            _hooks.install()
            again = threading._start_joinable_thread if sys.version_info >= (3, 13) else threading._start_new_thread
            self.assertIs(wrapped, again)
            after = _core.audit_probes()
            sys.audit("tracer.probe")
            self.assertEqual(_core.audit_probes(), after + 1)
        self.assertGreater(after, before)

    def test_an_exception_in_flight_stays(self) -> None:
        with Recorded() as session, session.task("a"):
            try:
                raise KeyError("kept")
            except KeyError:
                children.run("a")
                self.assertIsInstance(sys.exc_info()[1], KeyError)

    def test_others_hooks_that_refuse(self) -> None:
        script = """
import sys, warnings
def refuse(event, arguments):
    if event == "sys.addaudithook":
        raise RuntimeError("refused")
sys.addaudithook(refuse)
import subprocess, tracer
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    with tracer.session(families=()) as session, session.task("a"):
        subprocess.run(["true"], check=True)
assert any("audit hook" in str(each.message) for each in warned), warned
"""
        environment = {**os.environ, "PYTHONPATH": str(label_rig.PACKAGE)}
        done = subprocess.run([sys.executable, "-c", script], env=environment, timeout=60, capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr.decode())


if __name__ == "__main__":
    unittest.main()
