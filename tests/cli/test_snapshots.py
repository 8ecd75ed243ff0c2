# SPDX-License-Identifier: Apache-2.0
"""What tracerd tells while a command runs: snapshots, progress, the live line; and what they may cost."""

import os
import re
import shutil
import signal
import subprocess
import time
import unittest

import support


def children_of(pid):
    return [int(word) for word in support.text_of(f"/proc/{pid}/task/{pid}/children").split()]


def position_of(pid, path):
    """Where a process is in the file that it reads; None: it has it not open."""
    folder = f"/proc/{pid}/fd"
    try:
        for fd in os.listdir(folder):
            if os.readlink(f"{folder}/{fd}") == path:
                return int(support.text_of(f"/proc/{pid}/fdinfo/{fd}").split()[1])
    except (OSError, IndexError):
        pass
    return None


@unittest.skipUnless(shutil.which("gzip"), "there is no gzip")
class Progress(support.TestCase):
    ALONE = "what was read is compared at the same moment"
    SIZE = 300_000_000

    def setUp(self):
        super().setUp()
        self.file = self.path("reads.txt")
        line = b"".join(b"%08x ACGTTGCA%04d\n" % (i * 2654435761 % 2**32, i % 10007) for i in range(50_000))
        with open(self.file, "wb") as out:
            while out.tell() < self.SIZE:
                out.write(line[:self.SIZE - out.tell()])

    def test_progress_of_gzip_is_where_it_is(self):
        trace = self.path("trace.json")
        tracerd = self.start(support.TRACERD, "run", "--interval", "100", "--json", trace, "--", "gzip", "-c", self.file,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        seen = []
        while tracerd.poll() is None:
            for pid in children_of(tracerd.pid):
                position = position_of(pid, self.file)
                if position is not None:
                    seen.append((time.clock_gettime_ns(time.CLOCK_BOOTTIME), position))
            time.sleep(0.002)
        self.assertEqual(tracerd.returncode, 0)

        told = [event for event in support.of_kind(support.parse_lines(support.text_of(trace)), "process_sample")
                if event["progress"]]
        self.assertGreater(len(told), 2)
        compared = 0
        for sample in told:
            progress = sample["progress"]
            self.assertEqual(progress["file"], "reads.txt")
            self.assertEqual(progress["size_bytes"], self.SIZE)
            before = [position for when, position in seen if when <= sample["time_ns"]]
            after = [position for when, position in seen if when >= sample["time_ns"] + 20_000_000]
            if not before or not after:
                continue
            compared += 1
            error = 0.02 * self.SIZE
            self.assertGreaterEqual(progress["position_bytes"], before[-1] - error)
            self.assertLessEqual(progress["position_bytes"], after[0] + error)
        self.assertGreater(compared, 2)
        rated = [sample for sample in told if sample["progress"]["time_left_ns"]]
        self.assertGreater(len(rated), 1)

    def test_a_line_on_the_terminal_tells_how_far_it_has_come(self):
        terminal = support.Terminal(self, support.TRACERD, "run", "--interval", "200", "--",
                                    "sh", "-c", f"cat {self.file} {self.file} | gzip -c >/dev/null")
        terminal.read_until(" left")
        live = r"\d:\d\d  3 running \| (cat|gzip) \d+ % CPU [\d.]+ .iB"
        self.assertRegex(terminal.text, live)
        self.assertRegex(terminal.text, live + r", (cat )?reads \d+ %, [\d.]+ m?s left")
        shell, = children_of(terminal.pid)
        for pid in children_of(shell):
            os.kill(pid, signal.SIGTERM)
        terminal.read_until(None)
        self.assertEqual(terminal.exit_status(), 128 + signal.SIGTERM)


class Line(support.TestCase):
    def test_that_line_leaves_what_the_command_prints_alone(self):
        script = "for i in $(seq 6); do echo line $i; sleep 0.5; done; printf half; sleep 0.5; echo ' and half'"
        terminal = support.Terminal(self, support.TRACERD, "run", "--interval", "200", "--", "sh", "-c", script)
        terminal.read_until(None)
        self.assertEqual(terminal.exit_status(), 0)
        row = support.Terminal.ROWS
        drawn = rf"\x1b7\x1b\[1;{row - 1}r\x1b\[{row};1H\x1b\[m\x1b\[K\d:\d\d  2 running(, \d done)? \| (sh -c|sleep) \d+ % CPU [\d.]+ .iB\x1b8"
        self.assertRegex(terminal.text, r"\x1b7\x1b\[r\x1b8\x1bD\x1b\[A" + drawn)
        gone = rf"\x1b7\x1b\[r\x1b\[{row};1H\x1b\[m\x1b\[K\x1b8"
        self.assertEqual(len(re.findall(gone, terminal.text)), 1)
        # Between the saved and the restored cursor is what tracerd draws.
        printed = re.sub(r"\x1b7.*?\x1b8", "", terminal.text).replace("\x1bD\x1b[A", "")
        lines = "".join(f"line {i}\n" for i in range(1, 7))
        self.assertTrue(printed.startswith(lines + "half and half\n"), printed)
        self.assertLess(re.search(gone, terminal.text).start(), terminal.text.index("tool  "))

    def test_that_line_counts_tasks_and_names_the_busiest_process(self):
        task = f"{support.TRACERD} task --sample"
        busy = "import time; until = time.monotonic() + 5; held = bytearray(50 << 20)\nwhile time.monotonic() < until: pass"
        script = (f"{task} S1 -- true; {task} S2 -- sh -c 'exit 3'; {task} S3 -- true; {task} S4 -- sleep 5 & "
                  f"{task} S5 -- {support.PYTHON} -c '{busy}'; wait; exit 0")
        terminal = support.Terminal(self, support.TRACERD, "run", "--no-history", "--", "bash", "-c", script, columns=220)
        terminal.read_until(None)
        self.assertEqual(terminal.exit_status(), 0)
        live = re.findall(r"\x1b\[K(\d:\d\d)  (.*?)\x1b8", terminal.text)
        told = [re.fullmatch(r"2 running, 2 done, 1 failed \| (?:task S2 failed: [^|]* \| )?python\S*(?: -c)? S5 (\d+) % CPU ([\d.]+) MiB", text)
                for _, text in live]
        told = [match for match in told if match]
        self.assertTrue(told, live)
        # It does nothing but compute, and holds 50 MiB and itself.
        self.assertGreater(max(int(match[1]) for match in told), 30, live)
        self.assertLess(max(int(match[1]) for match in told), 110, live)
        self.assertTrue(all(50 <= float(match[2]) < 90 for match in told[1:]), live)
        times = [int(clock[0]) * 60 + int(clock[2:]) for clock, _ in live]
        self.assertEqual(times, sorted(times))
        self.assertTrue(4 <= times[-1] < 30, times)

    def test_a_program_that_takes_the_terminal_over_has_all_of_it(self):
        terminal = support.Terminal(self, support.TRACERD, "run", "--interval", "200", "--", support.PYTHON, "-c",
                                    "import time, tty; tty.setcbreak(0); time.sleep(3.5)")
        terminal.read_until(None)
        self.assertEqual(terminal.exit_status(), 0)
        self.assertNotRegex(terminal.text, r"\d+ running")


class Folding(support.TestCase):
    def test_many_processes_of_one_tool_are_told_together(self):
        result, events = self.trace("sh", "-c", "for i in $(seq 80); do sleep 1.5 & done; wait",
                                    options=("--interval", "200"))
        self.assertEqual(result.returncode, 0, result.stderr)
        folded = support.of_kind(events, "tool_sample")
        self.assertTrue(folded)
        largest = max(folded, key=lambda event: event["processes"])
        self.assertEqual(largest["processes"], 80)
        self.assertEqual(largest["tool"], "sleep")
        self.assertGreater(largest["ledger"]["sleep_ns"], 0)
        self.assertEqual(len([e for e in support.of_kind(events, "process_exit") if e["tool"] == "sleep"]), 80)


class Cost(support.TestCase):
    ALONE = "the cost is a share of the CPU time"
    STORM = ["sh", "-c", "end=$(($(date +%s) + 7)); while [ $(date +%s) -lt $end ]; do true; done"]

    def test_a_session_that_costs_too_much_gives_up_a_family_and_says_so(self):
        result, events = self.trace(*self.STORM, options=("--max-cost", "0.01"))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("TRC109", result.stderr)
        self.assertIn("without ", result.stderr)
        self.assertEqual(support.of_kind(events, "loss"), [])


class Shares(support.TestCase):
    def test_within_its_share_a_session_keeps_its_families(self):
        result, _ = self.trace("sleep", "5", options=("--max-cost", "50"))
        self.assertNotIn("without ", result.stderr)
        self.assertIn("tracing cost: CPU ", result.stderr)

    def test_shares_that_are_none(self):
        for share in ("0", "-1", "much", "5%", ""):
            with self.subTest(share=share):
                self.assert_fails(self.tracerd("run", "--max-cost", share, "true"), 2, "TRC101")


if __name__ == "__main__":
    support.main()
