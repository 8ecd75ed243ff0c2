# SPDX-License-Identifier: Apache-2.0
"""Coroutines: asyncio, uvloop, anyio, trio, gevent."""

from __future__ import annotations

import asyncio
import contextvars
import subprocess
import sys
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import label_children as children
from label_scenarios import SCENARIOS, need, scenario
from tracer import task


async def exec_(mark: str) -> None:
    await (await asyncio.create_subprocess_exec(*children.argv(mark))).wait()


async def shell(mark: str) -> None:
    await (await asyncio.create_subprocess_shell(" ".join(children.argv(mark)))).wait()


async def _own(name: str, start: Callable[[str], Any]) -> None:
    for number in range(2):
        async with task(name):
            await _maybe(start(name))
            await asyncio.sleep(0.002 * (hash(name) % 3))
            await _maybe(start(name))
            if number:
                with task(name + "+"):
                    await asyncio.sleep(0.002)
                    await _maybe(start(name + "+"))
        await _maybe(start("-"))


async def _maybe(result: object) -> None:
    if asyncio.iscoroutine(result):
        await result


def _at_once(start: Callable[[str], Any], run: Callable[[Coroutine[Any, Any, None]], None]) -> Callable[[], None]:
    def at_once() -> None:
        async def main() -> None:
            await asyncio.gather(*[_own(f"c{number}", start) for number in range(4)])
            await _maybe(start("-"))

        run(main())

    return at_once


def _uvloop_run(main: Coroutine[Any, Any, None]) -> None:
    uvloop: Any = need("uvloop")
    loop = uvloop.new_event_loop()
    try:
        loop.run_until_complete(main)
    finally:
        loop.close()


for _way in [*children.BLOCKING, *children.UNSEEN, exec_, shell]:
    SCENARIOS[f"asyncio_{_way.__name__}"] = _at_once(_way, asyncio.run)
for _way in [children.run, children.os_system, exec_, shell]:
    SCENARIOS[f"uvloop_{_way.__name__}"] = _at_once(_way, _uvloop_run)


@scenario
def uvloop_unseen() -> None:
    async def one(name: str) -> None:
        with task(name):
            await asyncio.sleep(0.01)
            children.c_system(name)

    async def main() -> None:
        await asyncio.gather(one("a"), one("b"))

    _uvloop_run(main())


@scenario
def created_tasks() -> None:
    async def child(mark: str) -> None:
        children.run(mark)
        await asyncio.sleep(0.01)
        children.c_system(mark)

    async def main() -> None:
        with task("a"):
            inside = asyncio.create_task(child("a"))
            with task("b"):
                deeper = asyncio.create_task(child("b"))
                await deeper
            await inside
        await asyncio.create_task(child("-"))

    asyncio.run(main())


@scenario
def created_tasks_outlive() -> None:
    async def late() -> None:
        await asyncio.sleep(0.05)
        children.run("-")
        children.c_system("-")
        await exec_("-")

    async def main() -> None:
        with task("a"):
            one = asyncio.create_task(late())
        with task("b"):
            await one
            children.run("b")

    asyncio.run(main())


@scenario
def callbacks() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        done = loop.create_future()
        with task("a"):
            loop.call_soon(children.run, "a")
            loop.call_later(0.01, children.c_system, "a")
            loop.call_later(0.02, done.set_result, None)
            await done
        empty = contextvars.Context()
        done = loop.create_future()
        with task("b"):
            loop.call_soon(children.run, "-", context=empty)
            loop.call_later(0.01, done.set_result, None)
            await done

    asyncio.run(main())


@scenario
def to_thread() -> None:
    async def main() -> None:
        with task("a"):
            await asyncio.to_thread(children.run, "a")
            await asyncio.to_thread(children.c_system, "a")
        await asyncio.to_thread(children.run, "-")
        await asyncio.to_thread(children.c_system, "-")

    asyncio.run(main())


@scenario
def run_in_executor() -> None:
    async def one(name: str) -> None:
        loop = asyncio.get_running_loop()
        with task(name):
            await loop.run_in_executor(None, children.run, name)
            await loop.run_in_executor(None, children.c_system, name)

    async def main() -> None:
        await asyncio.gather(*[one(f"e{number}") for number in range(4)])
        await asyncio.get_running_loop().run_in_executor(None, children.run, "-")
        with ThreadPoolExecutor(1) as pool, task("p"):
            await asyncio.get_running_loop().run_in_executor(pool, children.run, "p")

    asyncio.run(main())


@scenario
def loop_in_a_thread() -> None:
    async def one() -> None:
        children.run("a")
        with task("b"):
            await exec_("b")
        children.run("a")
        children.c_system("a")

    with task("a"):
        thread = threading.Thread(target=asyncio.run, args=(one(),))
        thread.start()
        thread.join()


@scenario
def coroutines_from_another_thread() -> None:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    async def one(mark: str) -> None:
        children.run(mark)
        await exec_(mark)

    with task("a"):
        asyncio.run_coroutine_threadsafe(one("a"), loop).result()
    asyncio.run_coroutine_threadsafe(one("-"), loop).result()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


@scenario
def after_the_loop() -> None:
    async def main() -> None:
        one = task("a")
        one.__enter__()
        children.run("a")
        kept.append(one)

    kept: list[object] = []
    asyncio.run(main())
    children.c_system("-")
    children.run("-")


@scenario
def task_groups() -> None:
    async def one(name: str) -> None:
        @task(name)
        async def inner() -> None:
            children.run(name)
            await asyncio.sleep(0.01)
            await exec_(name)
            children.c_system(name)

        await asyncio.wait_for(inner(), 10)

    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            for number in range(4):
                group.create_task(one(f"g{number}"))
        children.run("-")

    asyncio.run(main())


@scenario
def eager_tasks() -> None:
    if sys.version_info < (3, 12):
        need("asyncio.eager_tasks")

    async def one(name: str) -> None:
        with task(name):
            children.run(name)
            await asyncio.sleep(0.01)
            children.run(name)

    async def main() -> None:
        asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
        with task("a"):
            created = asyncio.create_task(one("b"))
            children.run("a")
            await created
            children.run("a")

    asyncio.run(main())


@scenario
def anyio_ways() -> None:
    anyio: Any = need("anyio")

    async def one(name: str) -> None:
        with task(name):
            await anyio.run_process(children.argv(name))
            await anyio.to_thread.run_sync(children.run, name)
            await anyio.sleep(0.01)
            children.run(name)
            async with await anyio.open_process(children.argv(name)) as process:
                await process.wait()

    async def main() -> None:
        async with anyio.create_task_group() as group:
            for number in range(4):
                group.start_soon(one, f"n{number}")
        await anyio.run_process(children.argv("-"))

    anyio.run(main)


@scenario
def gevent_greenlets() -> None:
    gevent: Any = need("gevent")
    need("gevent.subprocess")

    def one(name: str) -> None:
        with task(name):
            gevent.subprocess.run(children.argv(name), check=True)
            gevent.sleep(0.01)
            children.os_system(name)
            gevent.sleep(0.01)
            children.fork_exec(name)
        gevent.subprocess.run(children.argv("-"), check=True)

    gevent.joinall([gevent.spawn(one, f"v{number}") for number in range(4)], raise_error=True)


@scenario
def gevent_unseen() -> None:
    gevent: Any = need("gevent")

    def one(name: str) -> None:
        with task(name):
            gevent.sleep(0.01)
            children.c_system(name)

    gevent.joinall([gevent.spawn(one, name) for name in ("a", "b")], raise_error=True)


@scenario
def subprocess_pipes_at_once() -> None:
    async def one(name: str) -> None:
        with task(name):
            process = await asyncio.create_subprocess_exec(
                "/bin/sh", "-c", f"cat > /dev/null; {children.TRUE} MARK={name}", stdin=subprocess.PIPE
            )
            await asyncio.sleep(0.01)
            await process.communicate(b"x")

    async def main() -> None:
        await asyncio.gather(*[one(f"p{number}") for number in range(6)])

    asyncio.run(main())
