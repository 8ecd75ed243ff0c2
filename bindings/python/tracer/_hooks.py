# SPDX-License-Identifier: Apache-2.0
"""Where this process forks, makes threads, or hands work to others: the label of the thread is set again just before.

Installed with the first session, once for the life of the process; all of it is inert while no session is open.
"""

from __future__ import annotations

import functools
import os
import re
import sys
import threading
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from . import _core

__all__ = ["install", "session_opened", "session_closed", "catch_up"]

# Processes that serve all of the program, whichever task comes first.
_SERVERS = re.compile(rb"\b(?:resource_tracker|semaphore_tracker|forkserver) import main\b")
# What the workers of process pools run: their work is that of whoever submits.
_POOL_WORKERS = (
    "concurrent.futures.process._process_worker",
    "multiprocessing.pool.worker",
    "loky.process_executor._process_worker",
)

# By process: a lock that another thread held at a fork is never released in the child.
_locks: dict[int, threading.Lock] = {}
_fork_callbacks: set[str] = set()


def session_opened(core_session: Any, context: Mapping[str, Any]) -> int:
    """Tasks label in this session from now on. Returns the number for session_closed()."""
    number: int = _core.add_task_session(core_session, dict(context))
    install()
    return number


def session_closed(number: int) -> None:
    """Tasks label in it no more. Idempotent; before the session stops."""
    _core.remove_task_session(number)


def install() -> None:
    """What is there already is left; another thread's work is waited for, but not across a fork."""
    with _locks.setdefault(os.getpid(), threading.Lock()):
        if "callbacks" not in _fork_callbacks:
            os.register_at_fork(before=_core.sync_labels, after_in_parent=_after_fork)
            _fork_callbacks.add("callbacks")
        _add_audit_hook()
        _wrap_fork_exec()
        _wrap_thread_start()
        _wrap_process_start()
    catch_up()


def catch_up() -> None:
    """Wraps what was imported meanwhile. Cheap."""
    modules = sys.modules
    if "concurrent.futures.thread" in modules:
        _wrap_thread_executor(modules["concurrent.futures.thread"])
    if "multiprocessing.pool" in modules:
        _wrap_thread_pool(modules["multiprocessing.pool"])
    if "asyncio.base_events" in modules:
        _wrap_event_loop(modules["asyncio.base_events"])


def alone_on_thread() -> bool:
    """False: others may run on this thread before its label is set again, unseen."""
    modules = sys.modules
    events = modules.get("asyncio.events")
    loop = None if events is None else events._get_running_loop()
    if loop is not None:
        base = modules.get("asyncio.base_events")
        # A factory of tasks may run their first step at once, inside another's.
        return base is not None and isinstance(loop, base.BaseEventLoop) and loop.get_task_factory() is None
    greenlet = modules.get("greenlet")
    if greenlet is not None and greenlet.getcurrent().parent is not None:
        return False
    trio = modules.get("trio")
    in_trio: Callable[[], bool] | None = getattr(getattr(trio, "lowlevel", None), "in_trio_run", None)
    return in_trio is None or not in_trio()


def _after_fork() -> None:
    if _core.tasks_in_use() and not alone_on_thread():
        _core.loosen_labels()


def _wrap(owner: Any, name: str, make: Callable[[Any], Callable[..., Any]]) -> None:
    """Replaces owner.name by make(it), once."""
    inner = getattr(owner, name, None)
    if inner is None or getattr(inner, "_tracer_wraps", False):
        return
    wrapper = functools.wraps(inner)(make(inner))
    wrapper._tracer_wraps = True  # type: ignore[attr-defined]
    setattr(owner, name, wrapper)


def _add_audit_hook() -> None:
    before = _core.audit_probes()
    sys.audit("tracer.probe")
    if _core.audit_probes() != before:
        return
    _core.add_audit_hook()
    sys.audit("tracer.probe")
    if _core.audit_probes() == before:
        warnings.warn(
            "an audit hook of this program refuses others: what os.system() and other calls start may be missing in "
            "tasks, or have that of another coroutine",
            RuntimeWarning,
            stacklevel=4,
        )


def _wrap_fork_exec() -> None:
    """multiprocessing and loky call it, which has no audit event."""
    import _posixsubprocess

    def make(inner: Callable[..., int]) -> Callable[..., int]:
        def fork_exec(*args: Any) -> int:
            if not _core.tasks_in_use():
                return inner(*args)
            if not _is_server(args):
                _core.sync_labels()
                return inner(*args)
            _core.unlabel_thread()
            try:
                return inner(*args)
            finally:
                _core.sync_labels()

        return fork_exec

    _wrap(_posixsubprocess, "fork_exec", make)


def _is_server(args: tuple[Any, ...]) -> bool:
    try:
        return any(_SERVERS.search(os.fsencode(word)) for word in args[0])
    except (IndexError, TypeError):
        return False


class _Begun:
    """What a new thread runs, and the task it was made in."""

    __slots__ = ("_base", "_function")

    def __init__(self, function: Callable[..., Any]) -> None:
        self._base = _core.task_of_thread()
        self._function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        _core.set_thread_base(self._base)
        return self._function(*args, **kwargs)


def _wrap_thread_start() -> None:
    def make(inner: Callable[..., Any]) -> Callable[..., Any]:
        def start(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
            if not _core.tasks_in_use() or not _core.in_home_interpreter():
                return inner(function, *args, **kwargs)
            catch_up()
            # 3.11 has no audit event here.
            _core.sync_labels()
            return inner(_Begun(function), *args, **kwargs)

        return start

    _wrap(threading, "_start_new_thread", make)
    _wrap(threading, "_start_joinable_thread", make)


class _Carried:
    """Work for another thread, in the task of whoever submits it."""

    __slots__ = ("_task", "_function")

    def __init__(self, function: Callable[..., Any]) -> None:
        self._task = _core.task_of_thread() or _core.outside
        self._function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        before = _core.enter_task(self._task)
        try:
            return self._function(*args, **kwargs)
        finally:
            _core.enter_task(before)


def _carrying(inner: Callable[..., Any]) -> Callable[..., Any]:
    """Of a method whose first argument, or `func`, is what another thread shall call."""

    def submit(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        if _core.tasks_in_use() and not _in_other_interpreters(self):
            if args:
                args = (_Carried(args[0]), *args[1:])
            elif "func" in kwargs:
                kwargs = {**kwargs, "func": _Carried(kwargs["func"])}
        return inner(self, *args, **kwargs)

    return submit


def _in_other_interpreters(executor: Any) -> bool:
    """It pickles what it is given (3.14)."""
    kind = getattr(sys.modules.get("concurrent.futures.interpreter"), "InterpreterPoolExecutor", None)
    return kind is not None and isinstance(executor, kind)


def _wrap_thread_executor(module: Any) -> None:
    executor = getattr(module, "ThreadPoolExecutor", None)
    if executor is not None:
        _wrap(executor, "submit", _carrying)


def _wrap_thread_pool(module: Any) -> None:
    pool = getattr(module, "ThreadPool", None)
    if pool is not None:
        for name in ("apply_async", "_map_async", "imap", "imap_unordered"):
            _wrap(pool, name, _carrying)


def _wrap_event_loop(module: Any) -> None:
    """Each step of a coroutine begins with its label, so that what C code forks in it has it too."""

    def make_run(inner: Callable[..., Any]) -> Callable[..., Any]:
        def _run(self: Any) -> Any:
            if _core.tasks_in_use():
                _core.sync_labels_for(self._context)
            return inner(self)

        return _run

    def make_forever(inner: Callable[..., Any]) -> Callable[..., Any]:
        def run_forever(self: Any) -> Any:
            try:
                return inner(self)
            finally:
                _core.sync_labels()

        return run_forever

    _wrap(module.events.Handle, "_run", make_run)
    _wrap(module.BaseEventLoop, "run_forever", make_forever)


def _wrap_process_start() -> None:
    from multiprocessing.process import BaseProcess

    def make(inner: Callable[..., Any]) -> Callable[..., Any]:
        def start(self: Any) -> Any:
            if not _core.tasks_in_use():
                return inner(self)
            catch_up()
            if _start_method_of(self) == "forkserver":
                _wrap_fork_server()
            if not _is_pool_worker(self):
                return inner(self)
            _core.count_unsure(1)
            try:
                return inner(self)
            finally:
                _core.count_unsure(-1)
                _core.sync_labels()

        return start

    _wrap(BaseProcess, "start", make)


def _start_method_of(process: Any) -> str | None:
    import multiprocessing

    method = getattr(process, "_start_method", None)
    return method if isinstance(method, str) else multiprocessing.get_start_method(allow_none=True)


def _is_pool_worker(process: Any) -> bool:
    target = getattr(process, "_target", None)
    name = f"{getattr(target, '__module__', '')}.{getattr(target, '__qualname__', '')}"
    return name.endswith(_POOL_WORKERS)


def _wrap_fork_server() -> None:
    """Its workers are forked by the server: they get their label while they wait for their data."""
    from multiprocessing import forkserver

    def make(inner: Callable[..., tuple[int, int]]) -> Callable[..., tuple[int, int]]:
        def connect_to_new_process(fds: Any) -> tuple[int, int]:
            answer = inner(fds)
            if _core.tasks_in_use():
                pid = _core.peek_pid(answer[0])
                if pid is not None:
                    _core.label_process(pid)
            return answer

        return connect_to_new_process

    _wrap(forkserver, "connect_to_new_process", make)
