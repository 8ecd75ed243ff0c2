# SPDX-License-Identifier: Apache-2.0
"""Events of a running session, for `for` and `async for`."""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, Generic, TypeVar

from ._arguments import seconds_of, text_of, whole_number_of

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from . import _core
    from ._events import Event
    from ._tables import Batch

__all__ = ["Batches", "EventStream", "TableBatches"]

# Read at once: enough to make the call cheap, few enough that a consumer that stops early leaves little behind.
_READ_AT_ONCE = 512

T = TypeVar("T")


class _Stream(Generic[T]):
    """What waits for a queue: at most one thread or one coroutine at a time."""

    def __init__(self, queue: _core.Queue, timeout: float | None, begin: Callable[[], None]) -> None:
        self._queue = queue
        self._timeout = seconds_of("timeout", timeout)
        self._begin: Callable[[], None] | None = begin
        self._waiting = False
        self._took = False  # Without having waited: others had no turn.

    @property
    def dropped(self) -> int:
        """The number of events that it did not get because it was full; a Loss takes their place."""
        return self._queue.dropped()

    def fileno(self) -> int:
        """Readable while there is something to read, and from the end on."""
        self._begin_once()
        return self._queue.fd()

    def _begin_once(self) -> None:
        begin, self._begin = self._begin, None
        if begin is not None:
            begin()

    def _take(self) -> T | None:
        raise NotImplementedError

    def __next__(self) -> T:
        deadline = None if self._timeout is None else time.monotonic() + self._timeout
        while True:
            taken = self._take()
            if taken is not None:
                return taken
            if self._queue.ended():
                # What came with the end.
                taken = self._take()
                if taken is not None:
                    return taken
                raise StopIteration
            self._begin_once()
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            if not self._queue.wait(left):
                raise StopIteration

    async def __anext__(self) -> T:
        import asyncio

        if self._took:
            # A stream that never runs dry lets others run all the same; before it takes, as it may be canceled here.
            self._took = False
            await asyncio.sleep(0)
        taken = self._take()
        if taken is not None:
            self._took = True
            return taken
        if self._waiting:
            raise RuntimeError("another coroutine waits for this stream: give each a stream of its own")
        loop = asyncio.get_running_loop()
        deadline = None if self._timeout is None else loop.time() + self._timeout
        self._waiting = True
        self._begin_once()
        try:
            while True:
                ended = self._queue.ended()
                taken = self._take()
                if taken is not None:
                    return taken
                if ended or not await self._readable(loop, deadline):
                    raise StopAsyncIteration
        finally:
            self._waiting = False

    async def _readable(self, loop: asyncio.AbstractEventLoop, deadline: float | None) -> bool:
        """False: the time is over."""
        import asyncio

        ready: asyncio.Future[bool] = loop.create_future()

        def settle(value: bool) -> None:
            if not ready.done():
                ready.set_result(value)

        fd = self._queue.fd()
        loop.add_reader(fd, settle, True)
        timer = None if deadline is None else loop.call_at(deadline, settle, False)
        try:
            return await ready
        finally:
            loop.remove_reader(fd)
            if timer is not None:
                timer.cancel()


class EventStream(_Stream["Event"]):
    """One event after the other. Several threads share the events among them."""

    def __init__(self, queue: _core.Queue, timeout: float | None, begin: Callable[[], None]) -> None:
        super().__init__(queue, timeout, begin)
        self._ready: deque[Event] = deque()

    def __iter__(self) -> EventStream:
        return self

    def __aiter__(self) -> EventStream:
        return self

    def _take(self) -> Event | None:
        try:
            return self._ready.popleft()
        except IndexError:
            pass
        events = self._queue.read(_READ_AT_ONCE)
        if not events:
            return None
        first, *rest = events
        self._ready.extend(rest)
        return first


def _checked_most(most: int) -> int:
    return whole_number_of("most", most, 1, 1 << 20)


class Batches(_Stream["list[Event]"]):
    """Lists of the available events."""

    def __init__(self, queue: _core.Queue, timeout: float | None, begin: Callable[[], None], most: int) -> None:
        super().__init__(queue, timeout, begin)
        self._most = _checked_most(most)

    def __iter__(self) -> Batches:
        return self

    def __aiter__(self) -> Batches:
        return self

    def _take(self) -> list[Event] | None:
        return self._queue.read(self._most) or None


class TableBatches(_Stream["Batch"]):
    """Rows of one table, from the available events: no object is made for an event."""

    def __init__(
        self, queue: _core.Queue, timeout: float | None, begin: Callable[[], None], most: int, table: str
    ) -> None:
        from . import _core

        super().__init__(queue, timeout, begin)
        self._most = _checked_most(most)
        self._table = _core.LiveTable(text_of("table", table))

    def __iter__(self) -> TableBatches:
        return self

    def __aiter__(self) -> TableBatches:
        return self

    def _take(self) -> Batch | None:
        from ._tables import Batch

        while (held := self._table.read(self._queue, self._most)) is not None:
            if held.rows:
                return Batch(held)
        return None
