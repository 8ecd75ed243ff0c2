# SPDX-License-Identifier: Apache-2.0
"""Threads, and executors of threads."""

from __future__ import annotations

import _thread
import functools
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.pool import ThreadPool

import label_children as children
from label_scenarios import scenario
from tracer import task


def _in_thread(function: Callable[[], None]) -> None:
    thread = threading.Thread(target=function)
    thread.start()
    thread.join()


@scenario
def threads_inherit() -> None:
    for start in (children.run, children.c_system, children.os_system):
        with task("a"):
            _in_thread(lambda start=start: start("a"))
            with task("b"):
                _in_thread(lambda start=start: _in_thread(lambda: start("b")))
        _in_thread(lambda start=start: start("-"))


@scenario
def threads_with_tasks_of_their_own() -> None:
    def work(name: str) -> None:
        for start in (children.run, children.c_system, children.fork_exec, children.posix_spawn):
            with task(name):
                start(name)
                time.sleep(0.005)
                start(name)

    threads = [threading.Thread(target=work, args=(f"t{number}",)) for number in range(5)]
    with task("main"):
        for thread in threads:
            thread.start()
        children.run("main")
        for thread in threads:
            thread.join()


@scenario
def threads_back_in_their_makers_task() -> None:
    def work() -> None:
        children.run("a")
        with task("b"):
            children.run("b")
        children.run("a")
        children.c_system("a")

    with task("a"):
        _in_thread(work)


@scenario
def threads_outlive() -> None:
    go = threading.Event()

    def work() -> None:
        children.run("a")
        go.wait()
        children.run("-")
        children.c_system("-")
        with task("b"):
            children.run("b")
        children.run("-")

    with task("a"):
        thread = threading.Thread(target=work)
        thread.start()
        time.sleep(0.1)
    go.set()
    thread.join()


@scenario
def threads_that_end_others_tasks() -> None:
    one = task("a")
    one.__enter__()
    children.run("a")
    _in_thread(lambda: one.__exit__(None, None, None))
    children.run("-")
    children.c_system("-")
    with task("b"):
        children.c_system("b")


@scenario
def raw_threads() -> None:
    done = queue.Queue()

    def work(mark: str) -> None:
        children.run(mark)
        children.c_system(mark)
        done.put(None)

    with task("a"):
        _thread.start_new_thread(work, ("a",))
        done.get()
    _thread.start_new_thread(work, ("-",))
    done.get()


@scenario
def timers() -> None:
    with task("a"):
        timer = threading.Timer(0.01, children.run, ("a",))
        timer.start()
        timer.join()


@scenario
def thread_ids_come_again() -> None:
    for _ in range(20):
        with task("a"):
            _in_thread(lambda: children.run("a"))
        _in_thread(lambda: children.c_system("-"))


@scenario
def executor_of_all() -> None:
    with ThreadPoolExecutor(2) as pool:
        for _ in range(3):
            pool.submit(children.run, "-").result()
            with task("a"):
                pool.submit(children.run, "a").result()
                pool.submit(children.c_system, "a").result()
                with task("b"):
                    pool.submit(children.os_system, "b").result()
            pool.submit(children.c_system, "-").result()


@scenario
def executor_made_in_a_task() -> None:
    with task("a"):
        pool = ThreadPoolExecutor(1)
        pool.submit(children.run, "a").result()
        with task("b"):
            pool.submit(children.run, "b").result()
    pool.submit(children.run, "-").result()
    pool.submit(children.c_system, "-").result()
    with task("c"):
        list(pool.map(children.run, ["c", "c"]))
        list(pool.map(children.c_system, ["c"]))
    pool.shutdown()


@scenario
def executor_with_tasks_inside() -> None:
    def work(name: str) -> None:
        children.run("outer")
        with task(name):
            children.run(name)
        children.c_system("outer")

    with task("outer"), ThreadPoolExecutor(4) as pool:
        list(pool.map(work, [f"w{number}" for number in range(8)]))


@scenario
def executor_work_outlives_its_task() -> None:
    with ThreadPoolExecutor(1) as pool:
        with task("a"):
            slow = pool.submit(lambda: (time.sleep(0.1), children.run("-"), children.c_system("-")))
        slow.result()


@scenario
def executor_callbacks() -> None:
    with ThreadPoolExecutor(1) as pool, task("a"):
        future = pool.submit(functools.partial(children.run, "a"))
        future.result()
        future.add_done_callback(lambda _: children.run("a"))


@scenario
def thread_pools() -> None:
    with ThreadPool(2) as pool:
        with task("a"):
            pool.map(children.run, ["a", "a"])
            pool.apply(children.c_system, ("a",))
            list(pool.imap(children.run, ["a"]))
            list(pool.imap_unordered(children.run, ["a"]))
            pool.starmap(children.run, [("a",)])
        pool.map(children.run, ["-", "-"])
        with task("b"):
            pool.apply_async(children.run, ("b",)).get()


@scenario
def thread_pool_made_in_a_task() -> None:
    with task("a"):
        pool = ThreadPool(1)
        pool.apply(children.run, ("a",))
    pool.apply(children.run, ("-",))
    with task("b"):
        pool.apply(children.run, ("b",))
    pool.terminate()


@scenario
def queue_of_a_thread_of_ones_own() -> None:
    work: queue.Queue[str | None] = queue.Queue()

    def serve() -> None:
        while (mark := work.get()) is not None:
            children.run(mark)
            work.task_done()

    with task("a"):
        thread = threading.Thread(target=serve)
        thread.start()
        work.put("a")
        work.join()
        with task("b"):
            work.put("b")
            work.join()
    work.put(None)
    thread.join()
