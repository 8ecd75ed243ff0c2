# SPDX-License-Identifier: Apache-2.0
"""What the Python process itself does in a session and in its tasks, against what the program knows of itself."""

from __future__ import annotations

import asyncio
import hashlib
import subprocess
import threading
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

import tracer
from support import TempDir, needs_tracing, run_python

MS = 1_000_000
DATA = b"x" * 65536


def burn(ms: float) -> int:
    """Consumes at least this much CPU time of the calling thread; returns how much, in ns."""
    begin = time.thread_time_ns()
    while time.thread_time_ns() - begin < ms * MS:
        for _ in range(20):
            hashlib.sha256(DATA).digest()
    return time.thread_time_ns() - begin


def own_rows(s):
    return [row for row in s.report.tools if row.name.endswith("(this process)")]


@needs_tracing
class OwnWork(TempDir):
    def events_of(self, path):
        found = {}
        for event in tracer.read(path):
            if event.kind == "own_work":
                found.setdefault(event.context.task if event.context else None, []).append(event)
        return found

    def assert_near(self, measured, truth, slack_ms=20.0):
        """At least what was burnt inside, and little more."""
        self.assertGreaterEqual(measured, truth - MS)
        self.assertLessEqual(measured, truth * 1.05 + slack_ms * MS)

    def test_a_task_and_what_is_outside_of_it(self):
        with tracer.session(run="r", record=self.folder / "r") as s:
            with s.task("hash"):
                inside = burn(300)
            outside = burn(150)
        tasks = s.tasks.to_dicts()
        self.assertEqual([row["task"] for row in tasks], ["hash"])
        self.assert_near(tasks[0]["cpu_ns"], inside)
        self.assertEqual(tasks[0]["own_cpu_ns"], tasks[0]["cpu_ns"])
        self.assertEqual(tasks[0]["processes"], 0)
        (row,) = own_rows(s)
        self.assertEqual(row.cpu_ns.bound, "exact")
        self.assert_near(row.cpu_ns.value, inside + outside, 60)
        self.assertEqual(row.processes, 0)
        self.assert_near(s.report.total.cpu_ns.value, inside + outside, 60)
        # It has a row, so that it is nothing unknown that still runs.
        self.assertEqual(s.report.survivors, ())
        events = self.events_of(self.folder / "r")
        self.assertEqual(set(events), {"hash", None})
        self.assertEqual(len(events["hash"]), 1)
        self.assert_near(events["hash"][0].cpu_ns, inside)
        # A recording has it, too.
        self.assertEqual(tracer.read(self.folder / "r").report.total.cpu_ns.value, s.report.total.cpu_ns.value)

    def test_what_children_do_is_not_counted_twice(self):
        with tracer.session() as s:
            with s.task("both"):
                inside = burn(100)
                subprocess.run(["sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"], check=True)
        (task,) = s.tasks.to_dicts()
        child = sum(row["cpu_ns"] for row in s.processes.to_dicts() if row["task"] == "both" and row["exit_code"] is not None)
        self.assert_near(task["own_cpu_ns"], inside)
        self.assertEqual(task["cpu_ns"], task["own_cpu_ns"] + child)
        self.assertEqual(task["processes"], 1)

    def test_tasks_within_tasks_and_threads(self):
        work = {}

        def thread():
            work["thread"] = burn(120)

        with tracer.session() as s:
            with s.task("outer"):
                work["outer"] = burn(100)
                with s.task("inner"):
                    work["inner"] = burn(200)
                each = threading.Thread(target=thread)
                each.start()
                each.join()
            with ThreadPoolExecutor(2) as pool:
                with s.task("pool"):
                    work["pool"] = sum(pool.map(burn, (80, 80)))
                pool.submit(burn, 60).result()
        cpu = {row["task"]: row["cpu_ns"] for row in s.tasks.to_dicts()}
        self.assert_near(cpu["outer"], work["outer"] + work["thread"])
        self.assert_near(cpu["inner"], work["inner"])
        self.assert_near(cpu["pool"], work["pool"])

    def test_coroutines_each_have_their_own(self):
        work = {}

        async def one(s, name, ms):
            async with s.task(name):
                total = 0
                for _ in range(4):
                    total += burn(ms)
                    await asyncio.sleep(0)
                work[name] = total

        async def main(s):
            await asyncio.gather(one(s, "a", 20), one(s, "b", 60))

        with tracer.session() as s:
            asyncio.run(main(s))
        cpu = {row["task"]: row["cpu_ns"] for row in s.tasks.to_dicts()}
        self.assert_near(cpu["a"], work["a"])
        self.assert_near(cpu["b"], work["b"])

    def test_memory_that_grows_is_its_peak(self):
        done = run_python("""
            import resource, tracer
            with tracer.session() as s:
                with s.task("small"):
                    pass
                with s.task("large"):
                    held = bytearray(200 << 20)
                    held[::4096] = b"x" * len(held[::4096])
                    del held
                peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
                with s.task("after"):
                    pass
            rows = {row["task"]: row["peak_bytes"] for row in s.tasks.to_dicts()}
            print(rows["large"] == peak, peak > 200 << 20, rows["small"], rows["after"])
            (row,) = [row for row in s.report.tools if row.name.endswith("(this process)")]
            print(row.memory_bytes.value == peak)
        """)
        self.assertEqual(done.stdout.splitlines(), ["True True None None", "True"], done.stderr)

    def test_what_it_reads_and_writes(self):
        path = self.folder / "data"
        with tracer.session(record=self.folder / "r") as s:
            with s.task("write"):
                path.write_bytes(bytes(3 << 20))
            with s.task("read"):
                path.read_bytes()
        events = self.events_of(self.folder / "r")
        self.assertEqual(events["write"][0].written_bytes, 3 << 20)
        self.assertGreaterEqual(events["read"][0].read_bytes, 3 << 20)
        self.assertLess(events["read"][0].read_bytes, (3 << 20) + 4096)
        (row,) = own_rows(s)
        self.assertGreaterEqual(row.written_bytes.value, 3 << 20)

    def test_threads_that_python_does_not_know_make_a_lower_bound(self):
        # As those of BLAS: made by C code, in no task and under no hook.
        source = self.folder / "threads.c"
        source.write_text("""
            #include <pthread.h>
            #include <time.h>
            static void* spin(void* ms) {
              struct timespec t;
              do { clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); } while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < *(long*)ms);
              return 0;
            }
            void work(long ms) { pthread_t one; pthread_create(&one, 0, spin, &ms); pthread_join(one, 0); }
        """)
        subprocess.run(["cc", "-shared", "-fPIC", "-pthread", "-o", self.folder / "threads.so", source], check=True)
        import ctypes

        library = ctypes.CDLL(str(self.folder / "threads.so"))
        with tracer.session(record=self.folder / "r") as s:
            with s.task("native"):
                library.work(ctypes.c_long(200))
        (event,) = self.events_of(self.folder / "r")["native"]
        self.assertIsNone(event.cpu_ns)
        self.assertLess(event.cpu_at_least_ns, 100 * MS)
        self.assertIsNone(s.tasks.to_dicts()[0]["cpu_ns"])
        # In all it is counted.
        self.assertGreaterEqual(s.report.total.cpu_ns.value, 200 * MS)

    def test_a_session_that_is_open_has_what_was_done_so_far_and_counts_it_once(self):
        with tracer.session() as s:
            first = burn(100)
            early = s.report.total.cpu_ns.value
            self.assert_near(early, first, 60)
            with s.task("open"):
                inside = burn(80)
                middle = s.report.total.cpu_ns.value
            second = burn(50)
        self.assertGreaterEqual(middle, early)
        # The reports themselves are work of this process, too.
        self.assertGreaterEqual(s.report.total.cpu_ns.value, first + inside + second)
        (task,) = s.tasks.to_dicts()
        self.assertGreaterEqual(task["cpu_ns"], inside)

    def test_a_session_of_others_does_not_have_it(self):
        child = subprocess.Popen(["sleep", "30"])
        try:
            with tracer.attach(pid=child.pid, record=self.folder / "r"):
                burn(50)
        finally:
            child.kill()
            child.wait()
        self.assertEqual(self.events_of(self.folder / "r"), {})

    def test_what_the_process_says_of_itself(self):
        """Sums of all parts, beside getrusage()."""
        done = run_python("""
            import resource, threading, time, tracer
            def cpu():
                usage = resource.getrusage(resource.RUSAGE_SELF)
                return usage.ru_utime + usage.ru_stime
            def burn(seconds):
                until = time.thread_time() + seconds
                while time.thread_time() < until: pass
            with tracer.session() as s:
                before = cpu()
                with s.task("a"):
                    each = threading.Thread(target=burn, args=(0.2,))
                    each.start()
                    burn(0.2)
                    each.join()
                burn(0.2)
                after = cpu()
            total = s.report.total.cpu_ns.value / 1e9
            print(after - before - 0.05 < total < after - before + 0.15, after - before, total)
        """)
        self.assertTrue(done.stdout.startswith("True"), done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
