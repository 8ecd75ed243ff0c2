# SPDX-License-Identifier: Apache-2.0
"""In namespaces of its own tracerd tells what it tells outside of them."""

import subprocess
import time

import support
from support import TRACERD, of_kind, parse_lines, text_of


def unshared(*flags):
    """Whether such a namespace can be made here."""
    return subprocess.run(["unshare", *flags, "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0


class Namespaces(support.TestCase):
    def traced_in(self, flags, *words):
        out = self.path("out.json")
        result = subprocess.run(["unshare", *flags, TRACERD, "run", "--json", out, "--", *words], stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=support.DEADLINE_SECONDS,
                                check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        return parse_lines(text_of(out))

    def test_time(self):
        """The clock of events is the kernel's, whatever that of the namespace shows."""
        flags = ["--time", "--boottime", "86400"]
        if not unshared(*flags):
            self.skipTest("no time namespaces here")
        before = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        events = self.traced_in(flags, "sh", "-c", "sleep 0.1; true")
        after = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        times = [event["time_ns"] for event in events if "time_ns" in event]
        self.assertGreater(len(times), 4)
        self.assertGreaterEqual(min(times), before)
        self.assertLessEqual(max(times), after)
        [host] = of_kind(events, "host")
        unix_ns = times[0] + host["wall_offset_ns"]
        self.assertLess(abs(unix_ns - time.time_ns()), 600 * 10**9)
        for event in of_kind(events, "process_exit"):
            self.assertGreaterEqual(event["end_ns"], event["start_ns"])

    def test_cgroup(self):
        """A path is that of the host, or none, but not that of the namespace."""
        if not unshared("--cgroup"):
            self.skipTest("no cgroup namespaces here")
        outside = {event["cgroup"] for event in of_kind(self.traced_in(["--uts"], "true"), "process_exit")}
        inside = {event["cgroup"] for event in of_kind(self.traced_in(["--cgroup"], "true"), "process_exit")}
        self.assertLessEqual(inside - {None}, outside)


if __name__ == "__main__":
    support.main()
