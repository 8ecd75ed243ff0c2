# SPDX-License-Identifier: Apache-2.0
"""Labels that many threads resume and end, and what tasks leave behind: nothing."""

from __future__ import annotations

import random
import threading
import unittest
from collections.abc import Iterator

import label_children as children
import tracer
from label_rig import Recorded
from tracer import _core


class Races(unittest.TestCase):
    def test_labels_resumed_and_ended_by_many_threads(self) -> None:
        recorded = Recorded(ring_bytes=16 << 20)
        with recorded as session:
            shared: list[tracer.Task] = []
            over = threading.Event()

            def begin_and_end(seed: int) -> None:
                chance = random.Random(seed)
                for _ in range(300):
                    one = session.task("shared")
                    one.__enter__()
                    shared.append(one)
                    _core.sync_labels()
                    if len(shared) > 3:
                        try:
                            shared.pop(chance.randrange(3)).__exit__(None, None, None)
                        except IndexError:
                            pass

            def resume() -> None:
                while not over.is_set():
                    for one in list(shared):
                        if (scope := one._scope) is not None:
                            before = _core.enter_task(scope)
                            _core.enter_task(before)

            threads = [threading.Thread(target=begin_and_end, args=(seed,)) for seed in range(4)]
            resuming = [threading.Thread(target=resume) for _ in range(2)]
            for thread in threads + resuming:
                thread.start()
            for thread in threads:
                thread.join()
            over.set()
            for thread in resuming:
                thread.join()
            for one in shared:
                one.__exit__(None, None, None)

            def after() -> None:
                children.run("-")
                children.c_system("-")

            threads = [threading.Thread(target=after) for _ in range(4)]
            for thread in threads:
                thread.start()
            after()
            for thread in threads:
                thread.join()
        judged = recorded.judged()
        self.assertEqual(dict(judged.bad), {})
        self.assertEqual(judged.right, 10)

    def test_tasks_are_let_go(self) -> None:
        import gc
        import weakref

        with Recorded() as session:
            seen = []
            for _ in range(50):
                one = session.task("a")
                seen.append(weakref.ref(one))
                with one:
                    _core.sync_labels()
                del one

            def steps() -> Iterator[int]:
                one = session.task("g")
                seen.append(weakref.ref(one))
                with one:
                    yield 1

            for _ in range(50):
                next(steps())
            gc.collect()
            self.assertEqual([each for each in seen if each() is not None], [])
            self.assertIsNone(_core.innermost_task())


if __name__ == "__main__":
    unittest.main()
