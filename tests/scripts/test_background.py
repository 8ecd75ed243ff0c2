# SPDX-License-Identifier: Apache-2.0
import contextlib
import io
import time

import support
from background import Background
from flakes import Flakes
from report import Report


class Steps(support.TestCase):
    def setUp(self):
        super().setUp()
        self.report = Report(self.folder, Flakes(self.folder))
        self.background = Background(self.report)
        self.addCleanup(self.background.end)
        self.passed = []

    def collect(self):
        with contextlib.redirect_stdout(io.StringIO()):
            self.background.collect()

    def test_what_passes_is_recorded_and_what_fails_is_not(self):
        self.background.start([("good", ["true"], lambda: self.passed.append("good")),
                               ("bad", ["false"], lambda: self.passed.append("bad"))])
        self.collect()
        self.assertEqual((self.report.passed, self.report.failed, self.passed), (1, 1, ["good"]))

    def test_nothing_goes_on_while_it_is_paused(self):
        ticks = self.folder / "ticks"
        self.background.start([("ticks", ["sh", "-c", f"for i in $(seq 100); do echo >> {ticks}; sleep 0.02; done"], None)])
        while not ticks.exists():
            time.sleep(0.01)
        self.background.pause()
        time.sleep(0.1)  # A tick may be under way.
        before = ticks.stat().st_size
        time.sleep(0.5)
        self.assertEqual(ticks.stat().st_size, before)
        self.background.resume()
        self.collect()
        self.assertEqual(ticks.stat().st_size, 100)

    def test_a_step_begins_only_after_the_pause(self):
        mark = self.folder / "mark"
        self.background.pause()
        self.background.start([("touch", ["touch", mark], None)])
        time.sleep(0.2)
        self.assertFalse(mark.exists())
        self.background.resume()
        self.collect()
        self.assertTrue(mark.exists())
