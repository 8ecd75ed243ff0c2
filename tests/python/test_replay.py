# SPDX-License-Identifier: Apache-2.0
"""A recording as a session's source: all of it arrives, however slow the reader is."""

import os
import unittest

import tracer
from recordings import TestCase

PROCESSES = 20_000


class Replay(TestCase):
    def setUp(self):
        super().setUp()
        self.recording = self.made_up(PROCESSES)

    def test_a_small_stream_and_the_session_itself_have_all_of_it(self):
        with tracer.session(source=self.recording) as replay:
            stream = replay.events(kinds={"process_exit"}, capacity_bytes=1 << 14)
            self.assertEqual(sum(event.kind == "process_exit" for event in stream), PROCESSES)
            self.assertEqual(stream.dropped, 0)
            self.assertEqual(replay.problems, [])
        self.assertEqual(len(replay.processes.to_dicts()), PROCESSES)
        self.assertEqual(sum(loss.count for loss in tracer.read(self.recording) if loss.kind == "loss"), 0)

    def test_batches_of_rows_have_all_of_it(self):
        with tracer.session(source=self.recording) as replay:
            stream = replay.table_batches("processes", capacity_bytes=1 << 16, most=1000)
            self.assertEqual(sum(len(batch) for batch in stream), PROCESSES)

    def test_its_end_does_not_wait_for_a_stream_that_nobody_reads(self):
        seen = []
        with tracer.session(source=self.recording) as replay:
            stream = replay.events(capacity_bytes=1 << 14)
            replay.on("process_exit", lambda event: seen.append(event.pid))
            next(stream)
        self.assertEqual(len(seen), PROCESSES)
        left = list(stream)
        lost = sum(event.count for event in left if event.kind == "loss")
        self.assertEqual(lost, stream.dropped)
        self.assertGreater(lost, 0)

    def test_an_exception_ends_it_where_it_is(self):
        seen = []
        with self.assertRaises(ZeroDivisionError), tracer.session(source=self.recording) as replay:
            stream = replay.events(capacity_bytes=1 << 14)
            replay.on("process_exit", lambda event: seen.append(event))
            next(stream)
            raise ZeroDivisionError
        self.assertLess(len(seen), PROCESSES)
        self.assertTrue(replay.closed)

    def test_it_is_not_replayed_into_itself(self):
        size = os.path.getsize(self.recording)
        for path in (self.recording, os.path.join(self.folder, ".", os.path.basename(self.recording))):
            with self.assertRaises(tracer.InvalidArgumentError) as caught:
                tracer.session(source=self.recording, record=path)
            self.assertTrue(caught.exception.code and caught.exception.fix is not None)
        self.assertEqual(os.path.getsize(self.recording), size)


if __name__ == "__main__":
    unittest.main()
