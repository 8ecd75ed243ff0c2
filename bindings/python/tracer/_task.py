# SPDX-License-Identifier: Apache-2.0
"""Tasks: processes started in one belong to it, whichever thread or coroutine starts them."""

from __future__ import annotations

import functools
import inspect
import itertools
import os
import sys
import warnings
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from types import FrameType, TracebackType
from typing import Any, ParamSpec, TypeVar, cast

from . import _core, _hooks
from ._arguments import callable_of, checked_call, labels_of, text_of, whole_number_of
from ._errors import InvalidArgumentError

__all__ = ["Task", "task"]

_P = ParamSpec("_P")
_R = TypeVar("_R")

_numbers = itertools.count(1)
# Who drives a generator on behalf of a `with` statement or a fixture: what its caller does next is in the task too.
_MANAGERS = frozenset({"contextlib", "_pytest.fixtures"})
_MOST_ATTEMPTS = 2**32 - 1


class Task:
    """One task, as a context manager (`with`, `async with`) or a decorator of functions, coroutines and generators.

    Processes belong to it if they are started inside: by this thread, by threads that are started inside, by executors
    for work that is submitted inside, or by coroutines that are created inside. After its end, processes that still run
    stay in the task, but no new ones join it. Each entry is a separate task with its own task_id, unless you give one.
    Without an open session, in a child made by fork, and after the session's end, it does nothing.

    Enter a Task object from one place at a time; make one for each place. A decorated function makes one for each call.
    """

    __slots__ = ("_session", "_fields", "_scope", "__weakref__")

    @checked_call
    def __init__(
        self,
        name: str,
        *,
        session: int | None = None,
        sample: str | None = None,
        step: str | None = None,
        attempt: int | None = None,
        task_id: str | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> None:
        self._session = session
        self._fields = {
            "task": text_of("the name of a task", name),
            "sample": None if sample is None else text_of("sample", sample),
            "step": None if step is None else text_of("step", step),
            "attempt": None if attempt is None else whole_number_of("attempt", attempt, 1, _MOST_ATTEMPTS),
            "task_id": None if task_id is None else text_of("task_id", task_id),
            "labels": None if labels is None else labels_of(labels),
        }
        self._scope: Any = None

    @property
    def name(self) -> str:
        """The name as given."""
        return cast(str, self._fields["task"])

    def __repr__(self) -> str:
        return f"<tracer task {self.name!r}{', open' if self._scope is not None and self._scope.open else ''}>"

    def __enter__(self) -> Task:
        self._begin(sys._getframe(1))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._end()

    async def __aenter__(self) -> Task:
        # The caller awaits: its frame is the one before this coroutine's.
        self._begin(sys._getframe(1))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._end()

    def __call__(self, function: Callable[_P, _R]) -> Callable[_P, _R]:
        """Decorates a function, coroutine function, generator or asynchronous generator: each call is a task."""
        callable_of("what a task decorates", function)
        made: Any
        if inspect.isasyncgenfunction(function):
            made = _async_generator(self, function)
        elif inspect.isgeneratorfunction(function):
            made = _generator(self, function)
        elif inspect.iscoroutinefunction(function):
            made = _coroutine(self, function)
        else:
            made = _function(self, function)
        return cast(Callable[_P, _R], functools.wraps(function)(made))

    def _again(self) -> Task:
        """Another execution of the same."""
        task = object.__new__(Task)
        task._session = self._session
        task._fields = self._fields
        task._scope = None
        return task

    def _begin(self, frame: FrameType | None) -> None:
        if self._scope is not None and self._scope.open:
            raise InvalidArgumentError(f"the task {self.name!r} is entered already", "make one for each place")
        self._scope = None
        if not _core.tasks_in_use():
            return
        _hooks.catch_up()
        fields = self._fields
        if fields["task_id"] is None:
            fields = {**fields, "task_id": f"{os.getpid()}.{next(_numbers)}"}
        self._scope, problems = _core.begin_task(self._session, fields, _generator_of(frame), _hooks.alone_on_thread())
        for problem in problems:
            warnings.warn(f"the task {self.name!r} has no label: {problem}", RuntimeWarning, stacklevel=3)

    def _end(self) -> None:
        scope, self._scope = self._scope, None
        if scope is not None:
            _core.end_task(scope, _hooks.alone_on_thread())


@checked_call
def task(
    name: str,
    *,
    sample: str | None = None,
    step: str | None = None,
    attempt: int | None = None,
    task_id: str | None = None,
    labels: Mapping[str, str] | None = None,
) -> Task:
    """A task in every session that is open when it begins; without one, it does nothing. See Task.

    attempt counts from 1; task_id is unique within the run (default: a new one). Arguments that are not given are null
    in tables, except sample and labels, which come from the task around it, or the session. InvalidTypeError for wrong
    types, InvalidArgumentError for empty texts. Any thread.
    """
    return Task(name, sample=sample, step=step, attempt=attempt, task_id=task_id, labels=labels)


def _generator_of(frame: FrameType | None) -> FrameType | None:
    """The frame, if it is a generator's whose caller goes on beside it."""
    while frame is not None and frame.f_globals.get("__name__") == "contextlib":
        frame = frame.f_back
    if frame is None or not frame.f_code.co_flags & (inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR):
        return None
    driver = frame.f_back
    return None if driver is not None and driver.f_globals.get("__name__") in _MANAGERS else frame


def _function(decorator: Task, function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        with decorator._again():
            return function(*args, **kwargs)

    return call


def _coroutine(decorator: Task, function: Callable[..., Any]) -> Callable[..., Any]:
    async def call(*args: Any, **kwargs: Any) -> Any:
        with decorator._again():
            return await function(*args, **kwargs)

    return call


class _Steps:
    """The steps of a generator are in the task; what its caller does between them is not."""

    __slots__ = ("_task", "_scope", "_before", "_inside")

    def __init__(self, decorator: Task) -> None:
        self._task = decorator._again()
        before = _core.task_variable.get()
        self._task._begin(None)
        self._scope = self._task._scope
        _core.enter_task(before)
        self._before: Any = None
        # A task that the generator has entered and yields from.
        self._inside = self._scope

    def __enter__(self) -> None:
        if self._scope is not None:
            self._before = _core.enter_task(self._inside)

    def __exit__(self, *exception: object) -> None:
        if self._scope is not None:
            self._inside = _core.enter_task(self._before)

    def end(self) -> None:
        self._task._end()


def _generator(decorator: Task, function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        steps = _Steps(decorator)
        try:
            inner = function(*args, **kwargs)
            step: Callable[[], Any] = functools.partial(next, inner)
            while True:
                try:
                    with steps:
                        value = step()
                except StopIteration as stop:
                    return stop.value
                try:
                    sent = yield value
                    step = functools.partial(inner.send, sent)
                except GeneratorExit:
                    with steps:
                        inner.close()
                    raise
                except BaseException as error:
                    step = functools.partial(inner.throw, error)
        finally:
            steps.end()

    return call


def _async_generator(decorator: Task, function: Callable[..., Any]) -> Callable[..., Any]:
    async def call(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        steps = _Steps(decorator)
        try:
            inner = function(*args, **kwargs)
            step: Callable[[], Any] = inner.__anext__
            while True:
                try:
                    with steps:
                        value = await step()
                except StopAsyncIteration:
                    return
                try:
                    sent = yield value
                    step = functools.partial(inner.asend, sent)
                except GeneratorExit:
                    with steps:
                        await inner.aclose()
                    raise
                except BaseException as error:
                    step = functools.partial(inner.athrow, error)
        finally:
            steps.end()

    return call
