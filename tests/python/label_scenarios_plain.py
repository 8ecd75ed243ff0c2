# SPDX-License-Identifier: Apache-2.0
"""One thread: nesting, ends in any order, generators, context managers, decorators."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import os
import signal
from collections.abc import AsyncIterator, Callable, Iterator

import label_children as children
from label_scenarios import SCENARIOS, scenario
from tracer import task


def _nesting(start: Callable[[str], None]) -> Callable[[], None]:
    def nesting() -> None:
        start("-")
        with task("a"):
            start("a")
            with task("b"):
                start("b")
            start("a")
        start("-")

    return nesting


for _way in children.ALL:
    SCENARIOS[f"nesting_{_way.__name__}"] = _nesting(_way)


@scenario
def ends_in_no_order() -> None:
    for start in (children.run, children.c_system, children.fork_exec):
        first, second, third = task("a"), task("b"), task("c")
        first.__enter__()
        second.__enter__()
        third.__enter__()
        second.__exit__(None, None, None)
        start("c")
        third.__exit__(None, None, None)
        start("a")
        first.__exit__(None, None, None)
        start("-")


@scenario
def errors_inside() -> None:
    for number in range(3):
        with contextlib.suppress(ZeroDivisionError), task("a"):
            children.run("a")
            with task("b"):
                children.run("b")
                number / 0
        children.run("-")


@scenario
def forked_child_keeps_its_task() -> None:
    with task("a"):
        pid = os.fork()
        if pid == 0:
            children.run("a")
            with task("b"):
                children.run("a")
            os._exit(0)
        os.waitpid(pid, 0)
        with task("c"):
            pid = os.fork()
            if pid == 0:
                children.c_system("c")
                os._exit(0)
            os.waitpid(pid, 0)
        children.run("a")
    children.run("-")


@scenario
def signal_handlers() -> None:
    signal.signal(signal.SIGUSR1, lambda *_: children.run("a"))
    with task("a"):
        os.kill(os.getpid(), signal.SIGUSR1)
        children.run("a")
    signal.signal(signal.SIGUSR1, lambda *_: children.run("-"))
    os.kill(os.getpid(), signal.SIGUSR1)


@scenario
def contexts_copied() -> None:
    with task("a"):
        copied = contextvars.copy_context()
        copied.run(children.run, "a")
        with task("b"):
            copied.run(children.run, "a")
            children.run("b")
    copied.run(children.run, "-")
    children.run("-")


def _steps(name: str) -> Iterator[int]:
    with task(name):
        for number in range(2):
            children.run(name)
            yield number
        children.run(name)


@scenario
def generators_suspended() -> None:
    for _ in _steps("g"):
        children.run("-")
    children.run("-")
    with task("a"):
        for _ in _steps("g"):
            children.run("a")
            children.c_system("a")
        children.run("a")


@scenario
def generators_interleaved() -> None:
    for _ in zip(_steps("g"), _steps("h"), strict=True):
        children.run("-")
    left = _steps("i")
    next(left)
    with task("a"):
        next(left)
        children.run("a")
        left.close()
        children.run("a")
    children.run("-")


@scenario
def generators_left_open() -> None:
    def one() -> None:
        next(_steps("g"))
        children.run("-")

    one()
    children.run("-")
    generator = _steps("h")
    next(generator)
    del generator
    children.run("-")


@task("d")
def _decorated_steps() -> Iterator[str]:
    children.run("d")
    answer = yield "one"
    children.run("d")
    assert answer == "sent"
    with task("e"):
        children.run("e")
        yield "two"
        children.run("e")
        children.c_system("e")
    children.c_system("d")


@scenario
def generators_decorated() -> None:
    with task("a"):
        steps = _decorated_steps()
        assert next(steps) == "one"
        children.run("a")
        children.c_system("a")
        assert steps.send("sent") == "two"
        children.run("a")
        assert list(steps) == []
    children.run("-")


@task("f")
def _decorated(mark: str) -> None:
    children.run(mark)
    children.c_system(mark)


@scenario
def functions_decorated() -> None:
    _decorated("f")
    children.run("-")
    with task("a"):
        _decorated("f")
        children.run("a")


@contextlib.contextmanager
def _managed(name: str) -> Iterator[None]:
    with task(name):
        children.run(name)
        yield
        children.run(name)


@scenario
def context_managers() -> None:
    with _managed("m"):
        children.run("m")
        children.c_system("m")
        with _managed("n"):
            children.run("n")
        children.run("m")
    children.run("-")
    with contextlib.ExitStack() as stack:
        stack.enter_context(_managed("m"))
        stack.enter_context(task("n"))
        children.run("n")
        children.c_system("n")
    children.run("-")


def _stacked() -> Iterator[int]:
    with contextlib.ExitStack() as stack:
        stack.enter_context(task("s"))
        children.run("s")
        yield 1
        children.run("s")


@scenario
def generators_with_stacks() -> None:
    for _ in _stacked():
        children.run("-")
    children.run("-")


async def _async_steps(name: str) -> AsyncIterator[int]:
    async with task(name):
        for number in range(2):
            children.run(name)
            await asyncio.sleep(0.01)
            children.run(name)
            yield number
        children.run(name)


@scenario
def async_generators_suspended() -> None:
    async def main() -> None:
        async for _ in _async_steps("g"):
            children.run("-")
            await asyncio.sleep(0.01)
            children.run("-")
        async with task("a"):
            async for _ in _async_steps("g"):
                children.run("a")

    asyncio.run(main())


@task("d")
async def _decorated_async_steps() -> AsyncIterator[int]:
    children.run("d")
    await asyncio.sleep(0.01)
    children.run("d")
    yield 1
    children.run("d")


@scenario
def async_generators_decorated() -> None:
    async def main() -> None:
        async for _ in _decorated_async_steps():
            children.run("-")
            await asyncio.sleep(0.01)
            children.run("-")
        children.run("-")

    asyncio.run(main())


@contextlib.asynccontextmanager
async def _async_managed(name: str) -> AsyncIterator[None]:
    async with task(name):
        children.run(name)
        await asyncio.sleep(0.01)
        yield
        children.run(name)


@scenario
def async_context_managers() -> None:
    async def main() -> None:
        async with _async_managed("m"):
            children.run("m")
            await asyncio.sleep(0.01)
            children.c_system("m")
        children.run("-")

    asyncio.run(main())
