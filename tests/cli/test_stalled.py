# SPDX-License-Identifier: Apache-2.0
"""Outputs that take no data: the command, the other outputs and the end don't wait for them."""

import os
import subprocess
import time

import support
from support import PYTHON, TRACERD, of_kind


SPAWN_MANY = "import subprocess, sys\nfor _ in range(int(sys.argv[1])): subprocess.run(['/bin/true'])\n"


class Stalled(support.TestCase):
    COUNT = 2000

    def run_beside(self, stalled_fifo, record):
        reader = os.open(stalled_fifo, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        command = SPAWN_MANY + "open(sys.argv[2], 'w').write('done')"
        process = self.start(TRACERD, "run", "--json", stalled_fifo, "--record", record, "--", PYTHON, "-c", command,
                             str(self.COUNT), self.path("done"), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        while not os.path.exists(self.path("done")):
            self.assertIsNone(process.poll(), "tracerd ended before its command")
            time.sleep(0.05)
        _, stderr = process.communicate(timeout=60)
        return process.returncode, stderr

    def test_a_fifo_that_nobody_reads_harms_neither_the_command_nor_the_recording_nor_the_end(self):
        fifo = self.path("stalled")
        os.mkfifo(fifo)
        record = self.path("run.tracer")
        status, stderr = self.run_beside(fifo, record)
        self.assertEqual(status, 0)
        self.assertIn("did not finish", stderr)
        self.assertIn("complete", stderr)
        events = self.dump(record)
        self.assertEqual(len(of_kind(events, "process_exit")), self.COUNT + 1)
        self.assertEqual(events[-1]["kind"], "session_end")
        self.assertEqual(of_kind(events, "loss"), [])


if __name__ == "__main__":
    support.main()
