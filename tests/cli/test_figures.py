# SPDX-License-Identifier: Apache-2.0
"""Whether the figures of the table and of exported files are right, or marked as bounds: programs with a known truth."""

import csv
import io
import os
import pathlib
import re
import subprocess
import sys
import time

import support
from support import of_kind

MIB = 1 << 20
UNITS = {"B": 1, "KiB": 1 << 10, "MiB": MIB, "GiB": 1 << 30}
SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1, "min": 60}
BURN = "import time\nbegan = time.process_time()\nwhile time.process_time() - began < {seconds}: pass\n"


def cpu_seconds(row):
    """(sign, seconds) of the second duration in a row: its CPU time."""
    sign, value, unit = re.findall(r"(≥ )?(\d+(?:\.\d+)?) (us|ms|s|min)\b", row)[1]
    return sign, float(value) * SECONDS[unit]


def sizes(row):
    """(sign, bytes) of each size in a row."""
    return [(sign, float(value) * UNITS[unit]) for sign, value, unit in re.findall(r"([≥≤] )?([\d.]+) (B|KiB|MiB|GiB)\b", row)]


class Figures(support.TestCase):
    def table(self, *words, options=(), **more):
        """The rows by their first words, and the events."""
        more.setdefault("env", {**os.environ, "LC_ALL": "C.UTF-8"})
        result, events = self.trace(*words, options=["--no-live", *options], **more)
        self.assertEqual(result.returncode, 0, result.stderr)
        return self.rows(result.stderr), events

    def rows(self, text):
        lines = text.splitlines()
        begin = next(i for i, line in enumerate(lines) if re.match("tool  |run, step", line))
        return {line.split("  ")[0].strip(): line for line in lines[begin + 1:lines.index("", begin)]}

    def python(self, text):
        path = self.path("program.py")
        pathlib.Path(path).write_text(text)
        return [sys.executable, path]

    def row_of(self, rows, word):
        return next(row for name, row in rows.items() if word in name)


class WhatStillLives(Figures):
    def test_a_program_that_outlives_the_command_is_in_the_total_and_has_a_row(self):
        program = self.python("import sys\n" + BURN.format(seconds=0.6) + "open(sys.argv[1], 'w').write('x')\ntime.sleep(60)\n")
        done = self.path("done")
        script = f'"$@" {done} > /dev/null 2>&1 & echo $! > {self.path("pid")}; until [ -s {done} ]; do sleep 0.1; done'
        rows, events = self.table("bash", "-c", script, "bash", *program)
        self.kill_at_end(int(support.text_of(self.path("pid"))))
        for row in (rows["total"], self.row_of(rows, "program.py")):
            self.assertGreaterEqual(cpu_seconds(row)[1], 0.55, rows)
        self.assertNotIn("0", self.row_of(rows, "program.py").split("  ")[1:2])
        ended = len(of_kind(events, "process_exit"))
        self.assertRegex(rows["total"], rf"^total +{ended + 1} ")

    def test_a_watch_of_what_runs_long_shows_it(self):
        busy = self.start(*self.python(BURN.format(seconds=60)))
        time.sleep(0.3)
        before = int(support.text_of(f"/proc/{busy.pid}/schedstat").split()[0]) / 1e9
        watch = self.start(support.TRACERD, "watch", "--no-live", "--pid", str(busy.pid), "--json", self.path("x.json"),
                           stderr=subprocess.PIPE, env={**os.environ, "LC_ALL": "C.UTF-8"})
        support.wait_until(lambda: '"process_sample"' in support.text_of(self.path("x.json")), "a snapshot")
        truth = int(support.text_of(f"/proc/{busy.pid}/schedstat").split()[0]) / 1e9 - before
        watch.send_signal(2)
        text = watch.communicate(timeout=support.DEADLINE_SECONDS)[1]
        rows = self.rows(text)
        # What it had used before the attach is not in it.
        samples = of_kind(support.parse_lines(support.text_of(self.path("x.json"))), "process_sample")
        seen = (samples[-1]["cpu_ns"] - samples[0]["cpu_ns"]) / 1e9
        self.assertGreater(truth, 0.02)
        self.assertGreaterEqual(cpu_seconds(rows["total"])[1], 0.95 * seen - 0.001, text)
        self.assertLessEqual(cpu_seconds(rows["total"])[1], 1.01 * truth, text)
        self.assertRegex(self.row_of(rows, "program.py"), r"\b1 ")


class Moved(Figures):
    def test_what_a_mapping_has_written_is_no_zero(self):
        target = self.path("mapped")
        rows, events = self.table(*self.python(
            f"import mmap, os\nfile = os.open({target!r}, os.O_CREAT | os.O_RDWR)\nos.ftruncate(file, 32 << 20)\n"
            "view = mmap.mmap(file, 32 << 20)\nview[:] = bytes([3]) * (32 << 20)\n"))
        dirtied = of_kind(events, "process_exit")[0]["storage_written_bytes"]
        if dirtied < 32 * MIB:
            self.skipTest("this file system keeps no account of what is made dirty")
        sign, written = sizes(rows["total"])[-1]
        self.assertEqual(sign, "≥ ")
        self.assertGreaterEqual(written, 31.9 * MIB)
        self.assertLessEqual(written, 1.05 * 32 * MIB)

    def test_what_splice_has_written_is_no_zero(self):
        if not hasattr(os, "splice"):
            self.skipTest("this Python has no splice")
        target = self.path("spliced")
        rows, events = self.table(*self.python(
            f"import os\nsource, target = os.open('/dev/zero', os.O_RDONLY), os.open({target!r}, os.O_CREAT | os.O_WRONLY)\n"
            "out, into = os.pipe()\nfor i in range(512):\n    left = os.splice(source, into, 65536)\n"
            "    while left: left -= os.splice(out, target, left)\n"))
        written = os.path.getsize(target)
        if of_kind(events, "process_exit")[0]["storage_written_bytes"] < written:
            self.skipTest("this file system keeps no account of what is made dirty")
        sign, told = sizes(rows["total"])[-1]
        self.assertEqual(sign, "≥ ")
        self.assertGreaterEqual(told, 0.99 * written)

    def test_what_calls_have_written_is_exact(self):
        rows, _ = self.table(*self.python(
            f"import os\nfile = os.open({self.path('calls')!r}, os.O_CREAT | os.O_WRONLY)\n"
            "for i in range(1000): os.write(file, b'x' * 100)\nfor i in range(50): os.pwrite(file, b'y', i * 100_000)\n"))
        sign, written = sizes(rows["total"])[-1]
        self.assertEqual(sign, "")
        self.assertEqual(round(written / 102.4), round(100_050 / 102.4))


class Memory(Figures):
    def test_memory_that_one_process_maps_three_times_counts_once(self):
        program = self.python(
            "import mmap, os, re, time\nfile = os.memfd_create('heap')\nsize = 150 << 20\nos.ftruncate(file, size)\n"
            "views = [mmap.mmap(file, size) for i in range(3)]\n"
            "for view in views:\n    for at in range(0, size, 4096): view[at] = 1\n"
            "print(re.search(r'\\nPss: +(\\d+)', open('/proc/self/smaps_rollup').read())[1], flush=True)\ntime.sleep(2)\n")
        path = self.path("x.json")
        result = self.tracerd("run", "--no-live", "--json", path, "--", *program, env={**os.environ, "LC_ALL": "C.UTF-8"})
        truth = int(result.stdout) << 10
        sign, memory = sizes(self.rows(result.stderr)["total"])[0]
        self.assertGreaterEqual(memory, 0.97 * truth, result.stderr)
        self.assertLessEqual(memory, 1.1 * truth, result.stderr)
        self.assertEqual(sign, "≥ ", "the kernel's own mark is three times as high")
        exit_event = of_kind(support.parse_lines(support.text_of(path)), "process_exit")[0]
        self.assertIsNone(exit_event["peak_rss_bytes"])
        self.assertGreaterEqual(exit_event["peak_rss_at_most_bytes"], 3 * 150 * MIB)
        self.assertGreaterEqual(exit_event["peak_rss_at_least_bytes"], 150 * MIB)

    def test_a_burst_of_several_is_marked_and_bounded_from_above(self):
        program = self.python(
            "import os, time\nfor i in range(5):\n    if os.fork() == 0:\n        held = b'x' * (40 << 20)\n"
            "        time.sleep(0.02)\n        os._exit(0)\nwhile True:\n    try: os.wait()\n    except OSError: break\n")
        rows, _ = self.table(*program, options=["--record", self.path("r"), "--run", "r", "--step", "s"])
        (sign, least), (other_sign, most) = sizes(rows["total"])[:2]
        self.assertEqual((sign, other_sign), ("≥ ", "≤ "), rows["total"])
        self.assertGreaterEqual(most, 200 * MIB)
        self.assertLessEqual(least, most)
        folder = self.path("benchmarks")
        self.assertEqual(self.tracerd("export", "--benchmark", folder, self.path("r")).returncode, 0)
        row = next(csv.DictReader(io.StringIO(support.text_of(f"{folder}/{os.listdir(folder)[0]}")), delimiter="\t"))
        self.assertGreaterEqual(float(row["max_rss_at_most"]), 200)
        self.assertEqual(row["max_rss"], "NA", "it is not known exactly")

    def test_the_same_job_has_the_same_peak(self):
        program = self.python(
            "import os, time\nready, held = os.pipe(), os.pipe()\nfor i in range(3):\n    if os.fork() == 0:\n"
            "        mine = b'x' * (50 << 20)\n        os.write(ready[1], b'x')\n        os.read(held[0], 1)\n"
            "        os._exit(0)\nfor i in range(3): os.read(ready[0], 1)\ntime.sleep(1)\nos.write(held[1], b'xxx')\n"
            "for i in range(3): os.wait()\n")
        peaks = [sizes(self.table(*program)[0]["total"])[0][1] for _ in range(3)]
        self.assertLessEqual(max(peaks) - min(peaks), 0.02 * max(peaks), peaks)
        self.assertGreaterEqual(min(peaks), 150 * MIB)

    def test_one_process_has_an_exact_peak(self):
        rows, _ = self.table(*self.python("held = b'x' * (60 << 20)\n"))
        sign, memory = sizes(rows["total"])[0]
        self.assertEqual(sign, "")
        self.assertGreaterEqual(memory, 60 * MIB)


class Tmpfs(Figures):
    def test_a_file_on_tmpfs_is_shared_memory_and_no_page_cache(self):
        mounts = [line.split() for line in support.text_of("/proc/mounts").splitlines()]
        if not any(mount[1:3] == ["/dev/shm", "tmpfs"] for mount in mounts):
            self.skipTest("/dev/shm is no tmpfs")
        points = [mount[1] for mount in mounts if mount[2] == "cgroup" and "memory" in mount[3].split(",")]
        points += [mount[1] for mount in mounts if mount[2] == "cgroup2"]
        folder = os.path.join(points[0] if points else "/none", f"tracerd-cli-figures-{os.getpid()}")
        try:
            os.mkdir(folder)
        except OSError as error:
            self.skipTest(f"no cgroup can be made: {error}")
        self.addCleanup(lambda: support.wait_until(lambda: self.removed(folder), "the cgroup can be removed"))
        if not os.path.exists(f"{folder}/memory.stat"):
            self.skipTest("no cgroup accounts for memory here")
        file = f"/dev/shm/tracerd-cli-figures-{os.getpid()}"
        self.addCleanup(lambda: os.path.exists(file) and os.unlink(file))
        script = f"echo $$ > {folder}/cgroup.procs; bash -c 'head -c 100M /dev/zero > {file}; sleep 2.5; rm {file}'"
        path = self.path("x.json")
        result = self.tracerd("run", "--no-live", "--json", path, "--", "bash", "-c", script)
        self.assertEqual(result.returncode, 0, result.stderr)
        told = of_kind(support.parse_lines(support.text_of(path)), "cgroup_sample")
        most = max((one for one in told if one["shmem_bytes"]), key=lambda one: one["shmem_bytes"])
        self.assertGreaterEqual(most["shmem_bytes"], 99 * MIB)
        self.assertLess(most["file_bytes"], 20 * MIB)
        self.assertIn("shared memory and tmpfs files", result.stderr)

    @staticmethod
    def removed(folder):
        try:
            os.rmdir(folder)
        except OSError:
            pass
        return not os.path.exists(folder)


class Time(Figures):
    def test_a_task_takes_as_long_as_its_command_everywhere(self):
        script = f"a=$(date +%s%N); sleep 0.5; echo $(( ($(date +%s%N) - a) / 1000000 )) > {self.path('ms')}"
        rows, events = self.table("bash", "-c", script, options=[
            "--run", "r", "--step", "s", "--record", self.path("r"), "--trace", self.path("trace")])
        truth = int(support.text_of(self.path("ms"))) / 1000
        folder = self.path("benchmarks")
        self.assertEqual(self.tracerd("export", "--benchmark", folder, self.path("r")).returncode, 0)
        row = next(csv.DictReader(io.StringIO(support.text_of(f"{folder}/{os.listdir(folder)[0]}")), delimiter="\t"))
        finish = of_kind(events, "task_finish")[0]
        wall = re.findall(r"(\d+(?:\.\d+)?) (ms|s)\b", rows["total"])[0]
        realtime = next(csv.DictReader(io.StringIO(support.text_of(self.path("trace"))), delimiter="\t"))["realtime"]
        for told in (float(row["s"]), (finish["end_ns"] - finish["begin_ns"]) / 1e9, float(wall[0]) * SECONDS[wall[1]],
                     float(realtime[:-2]) / 1000 if realtime.endswith("ms") else float(realtime[:-1])):
            self.assertGreaterEqual(told, truth)
            self.assertLessEqual(told, truth + 0.15)

    def test_a_program_has_the_cpus_that_it_may_run_on(self):
        allowed = sorted(os.sched_getaffinity(0))
        _, events = self.trace("taskset", "-c", str(allowed[-1]), "true")
        execs = [each["cpus_allowed"] for each in of_kind(events, "process_exec")]
        self.assertEqual(execs, [len(allowed), 1])

    def test_nothing_is_told_of_the_copy_that_waits_for_the_tracer(self):
        _, events = self.table("true", options=["--step", "s"])
        self.assertEqual(of_kind(events, "process_start")[0]["argv"], ["true"])
        self.assertIsNone(of_kind(events, "process_exec")[0]["ended"]["start_ns"])
        begun = of_kind(events, "process_exec")[0]["time_ns"]
        for event in events[1:]:
            self.assertGreaterEqual(event["time_ns"], begun)

    def test_the_wall_of_a_tool_is_elapsed_time(self):
        rows, _ = self.table("bash", "-c", "sleep 0.5 & sleep 0.5 & sleep 0.5 & wait")
        wall = re.findall(r"(\d+(?:\.\d+)?) (ms|s)\b", rows["sleep"])[0]
        self.assertLess(float(wall[0]) * SECONDS[wall[1]], 1.0)


class Programs(Figures):
    def test_no_row_has_no_process(self):
        script = self.path("script.sh")
        pathlib.Path(script).write_text("#!/bin/bash\nexec cat /dev/null\n")
        os.chmod(script, 0o755)
        rows, _ = self.table("bash", "-c", f"{script}; (exec true); bash -c 'exec {script}'")
        for name, row in rows.items():
            self.assertNotRegex(row, rf"^{re.escape(name)} +0 ")
        self.assertRegex(self.row_of(rows, "script.sh"), r" 2 ")
        self.assertRegex(rows["cat"], r"^cat +2 ")


class Progress(Figures):
    def progress_of(self, text):
        events = self.table(*self.python(text), options=["--interval", "100"])[1]
        return [event["progress"] for event in of_kind(events, "process_sample") if event["progress"]]

    def file(self, name, mib):
        path = self.path(name)
        with open(path, "wb") as file:
            file.truncate(mib * MIB)
        return path

    def test_it_is_that_of_the_file_which_moves(self):
        reference, reads = self.file("reference", 20), self.file("reads", 8)
        told = self.progress_of(
            f"import time\nfirst = open({reference!r}, 'rb', buffering=0)\nwhile first.read(1 << 22): pass\n"
            f"second = open({reads!r}, 'rb', buffering=0)\nfor i in range(8): second.read(1 << 20); time.sleep(0.2)\n")
        self.assertTrue(told)
        self.assertEqual({one["file"] for one in told}, {"reads"})
        self.assertTrue(all(one["position_bytes"] < one["size_bytes"] for one in told))

    def test_there_is_none_while_work_goes_on_with_what_was_read(self):
        self.assertEqual(self.progress_of(f"import time\nopen({self.file('x', 8)!r}, 'rb').read()\n"
                                          f"kept = open({self.file('y', 8)!r}, 'rb')\nkept.read()\ntime.sleep(1)\n"), [])

    def test_there_is_none_of_a_file_that_is_mapped_or_read_at_positions(self):
        path = self.file("index", 8)
        self.assertEqual(self.progress_of(
            f"import mmap, os, time\nfile = open({path!r}, 'rb', buffering=0)\nfile.read(4096)\n"
            "view = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)\n"
            "for i in range(8):\n    os.pread(file.fileno(), 1 << 20, i << 20); view[i << 20]; time.sleep(0.15)\n"), [])

    def test_there_is_none_of_a_file_that_grows(self):
        path = self.file("log", 1)
        self.assertEqual(self.progress_of(
            f"import time\nwriter = open({path!r}, 'ab', buffering=0)\nreader = open({path!r}, 'rb', buffering=0)\n"
            "for i in range(8): writer.write(bytes(1 << 20)); reader.read(1 << 20); time.sleep(0.15)\n"), [])


if __name__ == "__main__":
    support.main()
