# SPDX-License-Identifier: Apache-2.0
"""Events: their classes, and how they come."""

import asyncio
import copy
import json
import pickle
import subprocess
import threading
import time
import unittest

import tracer
from support import ROOT, TRACERD, TempDir, needs_tracing
from tracer import _core, _events


class Classes(unittest.TestCase):
    def test_they_are_those_of_the_schema(self):
        import sys

        done = subprocess.run([sys.executable, "-B", ROOT / "scripts/python_events", "--check"], capture_output=True,
                              text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_kinds_are_those_of_the_library(self):
        self.assertEqual(len(tracer.EVENT_KINDS), 27)
        self.assertEqual(_core.check_kinds(tracer.EVENT_KINDS), set(tracer.EVENT_KINDS))

    def test_figures_have_units_in_their_names(self):
        for name, _, slots in _core.schema():
            for field, _, _, unit, _ in slots:
                ending = {"ns": "_ns", "bytes": "_bytes", "bytes_per_s": "_bytes_per_s"}.get(unit, "")
                self.assertTrue(field.endswith(ending), f"{name}.{field}")


@needs_tracing
class Objects(TempDir):
    @classmethod
    def setUpClass(cls):
        with tracer.session(pipeline="p", sample="S1", labels={"a": "b"}, sample_interval=0.1) as s:
            # Some of all: a failure, a pipe, a child that lives for some snapshots.
            subprocess.run(["sh", "-c", "seq 200000 | tail -1; sleep 0.4; exit 7"], stdout=subprocess.DEVNULL)
        reader = s.open_reader()
        cls.events = reader.read(100_000)

    def test_they_hold_what_tracerd_dumps(self):
        path = self.folder / "r"
        with tracer.session(sample="S1", labels={"k": "v"}, sample_interval=0.1, record=path):
            subprocess.run(["sh", "-c", "seq 200000 | tail -1; sleep 0.4; exit 7", "ä"], stdout=subprocess.DEVNULL)
        dumped = subprocess.run([TRACERD, "dump", path], capture_output=True, text=True, check=True).stdout
        host, *events = map(json.loads, dumped.splitlines())
        recording = tracer.read(path)
        self.assertEqual({"kind": "host", **recording.host.as_dict()}, host)
        ours = [event.as_dict() for event in recording]
        self.assertEqual(len(ours), len(events))
        for mine, theirs in zip(ours, events):
            self.assertEqual(mine, theirs)
        self.assertLessEqual({"process_start", "process_exec", "process_exit", "process_sample", "cgroup_sample",
                              "snapshot_end", "session_end"}, {event["kind"] for event in events})

    def test_they_never_change(self):
        event = next(event for event in self.events if event.kind == "process_exit")
        for change in (lambda: setattr(event, "pid", 1), lambda: delattr(event, "pid"),
                       lambda: setattr(event, "more", 1), lambda: setattr(event.context, "sample", "x")):
            with self.assertRaises(AttributeError):
                change()
        self.assertFalse(hasattr(event, "__dict__"))

    def test_they_are_values(self):
        for event in self.events:
            again = pickle.loads(pickle.dumps(event))
            self.assertEqual(event, again)
            self.assertEqual(hash(event), hash(again))
            self.assertIs(copy.deepcopy(event), event)
            self.assertIsInstance(event, _events.EVENT_TYPES[event.kind])
        self.assertEqual(len(set(self.events)), len(self.events))

    def test_they_can_be_matched(self):
        codes = []
        for event in self.events:
            match event:
                case tracer.ProcessExit(tool="sh -c", exit_code=int(code)):
                    codes.append(code)
        self.assertEqual(codes, [7])

    def test_what_is_not_known_is_none(self):
        event = next(event for event in self.events if event.kind == "process_exit" and event.tool == "sh -c")
        self.assertIsNone(event.exit_signal)
        self.assertIsNone(event.context.step)


@needs_tracing
class Streams(unittest.TestCase):
    def test_whoever_asks_for_kinds_gets_no_other(self):
        with tracer.session() as s:
            one, many = s.events(kinds=["process_exit"]), s.batches(kinds="process_exit")
            rows = s.table_batches(kinds=["process_exit"])
            end = s.events(kinds=["process_exit", "session_end"])
            subprocess.run(["true"])
        self.assertEqual([event.kind for event in one], ["process_exit"])
        self.assertEqual([event.kind for batch in many for event in batch], ["process_exit"])
        self.assertEqual(sum(map(len, rows)), 1)
        self.assertEqual([event.kind for event in end], ["process_exit", "session_end"])

    def test_they_come_in_their_order_and_end_with_the_session(self):
        s = tracer.session()
        stream = s.events()
        subprocess.run(["true"])
        s.close()
        kinds = [event.kind for event in stream]
        self.assertEqual([kind for kind in kinds if kind.startswith("process_e")], ["process_exec", "process_exit"])
        self.assertEqual(kinds[-1], "session_end")
        self.assertEqual(list(stream), [])

    def test_kinds_and_a_timeout(self):
        with tracer.session() as s:
            stream = s.events(kinds={"process_exit"}, timeout=0.3)
            subprocess.run(["true"])
            begin = time.monotonic()
            self.assertEqual([event.kind for event in stream], ["process_exit"])
            self.assertGreaterEqual(time.monotonic() - begin, 0.3)

    def test_another_thread_ends_the_wait(self):
        s = tracer.session()
        stream = s.events(kinds={"loss"})
        closer = threading.Timer(0.2, s.close)
        closer.start()
        self.assertEqual([event.kind for event in stream], [])
        closer.join()

    def test_batches(self):
        with tracer.session() as s:
            batches = s.batches(kinds={"process_exit"}, timeout=5, most=3)
            for _ in range(8):
                subprocess.run(["true"])
            s.flush()
            sizes = []
            for batch in batches:
                sizes.append(len(batch))
                if sum(sizes) == 8:
                    break
        self.assertEqual(sizes, [3, 3, 2])

    def test_a_reader_that_is_too_slow_finds_a_loss(self):
        with tracer.session() as s:
            stream = s.events(capacity_bytes=8000, timeout=0)
            for _ in range(30):
                subprocess.run(["true"])
            s.flush()
            seen = list(stream)
            (loss,) = [event for event in seen if event.kind == "loss"]
        self.assertEqual(loss.cause, "queue_full")
        self.assertEqual(loss.count, stream.dropped)
        self.assertEqual(sum(each.count for each in loss.by_kind), loss.count)

    def test_a_callback(self):
        seen = []
        with tracer.session() as s:
            subscription = s.on("process_exit", seen.append)
            everything = s.on(None, lambda event: None)
            subprocess.run(["true"])
            s.flush()
            self.assertTrue(subscription.active and everything.active)
            subscription.cancel()
            subprocess.run(["false"])
        self.assertEqual([event.tool for event in seen], ["true"])
        self.assertFalse(everything.active)

    def test_coroutines(self):
        async def main():
            tools = []
            s = tracer.session()
            stream = s.events(kinds={"process_exit"})

            async def consume():
                async for event in stream:
                    tools.append(event.kind)

            consumer = asyncio.create_task(consume())
            for name in ("true", "false"):
                process = await asyncio.create_subprocess_exec(name)
                await process.wait()
            await asyncio.to_thread(s.flush)
            while len(tools) < 2:
                await asyncio.sleep(0.01)
            with self.assertRaises(RuntimeError):
                async for _ in stream:
                    pass
            await asyncio.to_thread(s.close)
            await asyncio.wait_for(consumer, 10)
            return tools

        self.assertEqual(asyncio.run(main()), ["process_exit", "process_exit"])

    def test_a_coroutine_that_is_cancelled_or_waits_too_long(self):
        async def main():
            with tracer.session() as s:
                stream = s.events(kinds={"loss"})
                waiter = asyncio.create_task(stream.__anext__())
                await asyncio.sleep(0.05)
                waiter.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await waiter
                brief = s.events(kinds={"loss"}, timeout=0.1)
                self.assertEqual([event async for event in brief], [])
                # The first one can be waited for again.
                with self.assertRaises(TimeoutError):
                    await asyncio.wait_for(stream.__anext__(), 0.1)

        asyncio.run(main())

    def test_200_coroutines_with_a_stream_each(self):
        async def main():
            with tracer.session() as s:
                streams = [s.events(kinds={"process_exit"}, timeout=20) for _ in range(200)]

                async def first(stream):
                    async for event in stream:
                        return event.pid

                waiting = [asyncio.create_task(first(stream)) for stream in streams]
                await asyncio.sleep(0)
                process = await asyncio.create_subprocess_exec("true")
                await process.wait()
                return process.pid, set(await asyncio.gather(*waiting))

        pid, seen = asyncio.run(main())
        self.assertEqual(seen, {pid})


if __name__ == "__main__":
    unittest.main()
