# SPDX-License-Identifier: Apache-2.0
"""What the watch of a whole host says of the host itself, compared with programs whose CPU time is known."""

import os
import pathlib
import shlex
import signal
import subprocess
import time

import support
from support import PYTHON, TRACERD, of_kind, wait_until

# Burns so many seconds of CPU time; then says how much it was, and waits.
BURN = """
import resource, sys, time
def used():
    return sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
while used() < float(sys.argv[1]):
    pass
time.sleep(float(sys.argv[2]))
print(used(), flush=True)
"""
TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")


class Host(support.TestCase):
    ALONE = "it compares what all processes of the host use"

    def watch(self, *options):
        recording = self.path("host.tracer")
        events = self.path("host.json")
        watch = self.start(TRACERD, "watch", *options, "--record", recording, "--json", events, stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        # From the first snapshot on, the sums of the host are known.
        wait_until(lambda: watch.poll() is not None or of_kind(support.parse_lines(support.text_of(events)), "snapshot_end"),
                   "the watch begins")
        return watch, recording

    def end(self, watch):
        watch.send_signal(signal.SIGINT)
        _, stderr = watch.communicate(timeout=support.DEADLINE_SECONDS)
        self.assertEqual(watch.returncode, 0, stderr)

    def task(self, *words):
        """A task, as Nextflow starts them."""
        folder = pathlib.Path(self.folder, "work/ab/0123456789abcdef0123456789abcd")
        folder.mkdir(parents=True)
        folder.joinpath(".command.run").write_text(f"#!/bin/bash\n### ---\n### name: 'BURN (S1)'\n{shlex.join(words)}; true\n")
        return subprocess.Popen(["bash", "-ue", ".command.run"], cwd=folder, stdout=subprocess.PIPE, text=True)

    def skip_beside_others(self, events):
        """This machine may be shared: the figures are those of all tasks."""
        others = {event["context"]["step"] for event in of_kind(events, "task_start") + of_kind(events, "run_start")} - {"BURN"}
        if others:
            self.skipTest(f"other tasks run on this host: {others}")

    def test_the_cpu_time_of_a_task_is_its_and_all_times_sum_up(self):
        watch, recording = self.watch("--host")
        # One that has nothing to do with tasks.
        with subprocess.Popen([PYTHON, "-c", BURN, "1.5", "0"], stdout=subprocess.DEVNULL) as other, \
                self.task(PYTHON, "-c", BURN, "4", "1") as task:
            burned_s = float(task.stdout.readline())
            task.wait()
            children = task.returncode
            other.wait()
        self.assertEqual(children, 0)
        # So long that there is more than the sample of the end.
        time.sleep(8)
        self.end(watch)
        events = self.dump(recording)
        samples = of_kind(events, "host_sample")
        self.assertGreaterEqual(len(samples), 2)
        for before, after in zip(samples, samples[1:]):
            self.assertEqual(before["time_ns"], after["since_ns"])
        for sample in samples:
            elapsed_ns = sample["time_ns"] - sample["since_ns"]
            times = [sample[name] for name in ("task_cpu_ns", "system_cpu_ns", "idle_cpu_ns", "steal_cpu_ns")]
            self.assertEqual(sample["cpus"], os.cpu_count())
            if elapsed_ns > 2_000_000_000:
                self.assertAlmostEqual(sum(times) / (elapsed_ns * sample["cpus"]), 1, delta=0.02)
            memory = sample["system_memory_bytes"] + sample["available_memory_bytes"]
            self.assertLessEqual(memory, sample["memory_bytes"])
        self.skip_beside_others(events)
        # Beside what its shell and its interpreter take, it is what the program says of itself.
        known_ns = burned_s * 1e9
        shells_ns = sum(event["cpu_ns"] for event in of_kind(events, "process_exit")
                        if event["context"] and event["context"]["step"] == "BURN") - known_ns
        self.assertLess(abs(shells_ns), 200_000_000)
        self.assertAlmostEqual(sum(sample["task_cpu_ns"] for sample in samples), known_ns + shells_ns, delta=2 * TICK_NS)
        self.assertGreater(sum(sample["system_cpu_ns"] for sample in samples), 1_400_000_000)
        self.assertEqual(samples[-1]["tasks"], 0)

    def test_a_host_on_which_nothing_runs_has_samples_and_so_has_its_end(self):
        watch, recording = self.watch("--host")
        time.sleep(3)
        self.end(watch)
        events = self.dump(recording)
        samples = of_kind(events, "host_sample")
        self.assertEqual(len(samples), 1)
        total_kib = int(support.text_of("/proc/meminfo").split()[1])
        self.assertEqual(samples[0]["memory_bytes"], total_kib * 1024)
        self.skip_beside_others(events)
        self.assertEqual((samples[0]["tasks"], samples[0]["task_cpu_ns"], samples[0]["task_memory_bytes"]), (0, 0, 0))
        self.assertGreater(samples[0]["idle_cpu_ns"] + samples[0]["system_cpu_ns"], 1_000_000_000)

    def test_the_watch_of_a_part_says_nothing_of_the_host(self):
        with subprocess.Popen(["sleep", "30"]) as sleeper:
            watch, recording = self.watch("--pid", str(sleeper.pid))
            time.sleep(2.5)
            self.end(watch)
            sleeper.kill()
        self.assertEqual(of_kind(self.dump(recording), "host_sample"), [])


if __name__ == "__main__":
    support.main()
