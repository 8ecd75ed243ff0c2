# SPDX-License-Identifier: Apache-2.0
"""8 threads and 200 coroutines, each with tasks of its own, and 5,000 processes."""

from __future__ import annotations

import asyncio
import os
import tempfile
import threading
import unittest

import label_children as children
import label_rig
import tracer
from tracer import task

THREADS = 8
COROUTINES = 200
PROCESSES = 5000


class Storm(unittest.TestCase):
    ALONE = "5,000 processes"

    def test_each_process_is_on_its_task(self) -> None:
        of_threads = PROCESSES * 3 // 5 // THREADS
        of_coroutines = (PROCESSES - of_threads * THREADS) // COROUTINES

        def of_a_thread(number: int) -> None:
            for turn in range(of_threads // 5):
                name = f"t{number}.{turn}"
                with task(name):
                    for _ in range(5):
                        os.waitpid(os.posix_spawn(children.TRUE, children.argv(name), {}), 0)

        async def of_a_coroutine(number: int, few: asyncio.Semaphore) -> None:
            for turn in range(of_coroutines):
                name = f"c{number}.{turn}"
                async with task(name):
                    await asyncio.sleep(0)
                    async with few:
                        process = await asyncio.create_subprocess_exec(*children.argv(name))
                    await process.wait()

        async def all_coroutines() -> None:
            few = asyncio.Semaphore(20)
            await asyncio.gather(*[of_a_coroutine(number, few) for number in range(COROUTINES)])

        with tempfile.NamedTemporaryFile(suffix=".tracer") as file:
            with tracer.session(run="storm", record=file.name, families=(), ring_bytes=16 << 20):
                threads = [threading.Thread(target=of_a_thread, args=(number,)) for number in range(THREADS)]
                for thread in threads:
                    thread.start()
                asyncio.run(all_coroutines())
                for thread in threads:
                    thread.join()
            judged = label_rig.judge(file.name)
        self.assertEqual(judged.bad, {})
        self.assertEqual(judged.right, of_threads * THREADS + of_coroutines * COROUTINES)
        self.assertGreaterEqual(judged.right, PROCESSES - COROUTINES)


if __name__ == "__main__":
    unittest.main()
