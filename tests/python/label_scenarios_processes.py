# SPDX-License-Identifier: Apache-2.0
"""multiprocessing, executors of processes, joblib."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import label_children as children
from label_scenarios import SCENARIOS, need, scenario
from tracer import task

METHODS = ("fork", "spawn", "forkserver")


def _each(make: Callable[[Any], None]) -> None:
    for method in METHODS:

        def one(method: str = method) -> None:
            make(multiprocessing.get_context(method))

        SCENARIOS[f"{make.__name__.lstrip('_')}_{method}"] = one


def _run(context: Any, mark: str) -> None:
    process = context.Process(target=children.run, args=(mark,))
    process.start()
    process.join()


@_each
def _processes(context: Any) -> None:
    _run(context, "-")
    with task("a"):
        _run(context, "a")
        with task("b"):
            _run(context, "b")
            _run(context, "b")
        _run(context, "a")
    _run(context, "-")


@_each
def _pool_of_one_task(context: Any) -> None:
    with task("a"), context.Pool(2) as pool:
        pool.map(children.run, ["a"] * 4)
        pool.apply(children.os_system, ("a",))
    with task("b"), context.Pool(1, maxtasksperchild=1) as pool:
        pool.map(children.run, ["b"] * 3, chunksize=1)


@_each
def _executor_of_one_task(context: Any) -> None:
    with task("a"), ProcessPoolExecutor(2, mp_context=context) as pool:
        list(pool.map(children.run, ["a"] * 4))
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        pool.submit(children.run, "-").result()


@_each
def _executor_shared(context: Any) -> None:
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        with task("a"):
            pool.submit(children.run, "a").result()
        with task("b"):
            pool.submit(children.run, "b").result()


@_each
def _pool_shared(context: Any) -> None:
    with task("a"):
        pool = context.Pool(1)
        pool.apply(children.run, ("a",))
        with task("b"):
            pool.apply(children.run, ("b",))
    pool.terminate()
    pool.join()


@_each
def _managers(context: Any) -> None:
    with task("a"):
        with context.Manager() as manager:
            manager.list([1])
            _run(context, "a")
    _run(context, "-")


@scenario
def fork_server_for_two_tasks() -> None:
    context = multiprocessing.get_context("forkserver")
    with task("a"):
        one = context.Process(target=children.run, args=("a",))
        one.start()
    with task("b"):
        two = context.Process(target=children.run, args=("b",))
        two.start()
        one.join()
        two.join()
    _run(context, "-")


def _joblib(backend: str, shared: bool) -> Callable[[], None]:
    def run() -> None:
        joblib: Any = need("joblib")
        with task("a"):
            joblib.Parallel(n_jobs=2, backend=backend)(joblib.delayed(children.run)("a") for _ in range(4))
        if shared:
            with task("b"):
                joblib.Parallel(n_jobs=2, backend=backend)(joblib.delayed(children.run)("b") for _ in range(2))

    return run


SCENARIOS["joblib_loky"] = _joblib("loky", False)
SCENARIOS["joblib_loky_shared"] = _joblib("loky", True)
SCENARIOS["joblib_threading"] = _joblib("threading", True)
SCENARIOS["joblib_multiprocessing"] = _joblib("multiprocessing", True)
