# SPDX-License-Identifier: Apache-2.0
"""Who uses GPUs, by a library that stands for NVIDIA's: real processes, real tracer-gpu, made-up figures. No real GPU has
been there."""

import json
import os
import shutil
import sys
import tempfile
import unittest

import support

BUILD = os.path.dirname(support.TRACERD)
GIB = 1 << 30
DEVICE = f"device 0 {80 * GIB} {13 * GIB} 40 Fake A100\n"

# Says that it uses the GPU itself: first a little, then more, then nothing.
USER = """
import os, sys, time
def say(text):
    with open(sys.argv[1] + ".new", "w") as file:
        file.write(text)
    os.rename(sys.argv[1] + ".new", sys.argv[1])
device, processes = sys.argv[2], sys.argv[3:]
for each in processes:
    say(device + each.replace("PID", str(os.getpid())))
    time.sleep(2.5)
"""


def processes_of(folder):
    """Pids of living processes that execute something in the folder."""
    pids = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{pid}/exe").startswith(folder + "/tracer-gpu") and support.alive(int(pid)):
                pids.append(int(pid))
        except OSError:
            pass
    return pids


@unittest.skipUnless(os.path.exists(os.path.join(BUILD, "tests", "fake_nvml.so")), "the fake library is not built")
class Gpu(support.TestCase):
    @classmethod
    def setUpClass(cls):
        # tracer-gpu is looked for beside tracerd: one that loads the fake library.
        cls.place = tempfile.mkdtemp(prefix="tracerd-gpu-", dir="/tmp")
        cls.addClassCleanup(shutil.rmtree, cls.place, True)
        os.chmod(cls.place, 0o755)
        shutil.copy(support.TRACERD, cls.place)
        shutil.copy(os.path.join(BUILD, "tracer-gpu"), os.path.join(cls.place, "tracer-gpu.real"))
        shutil.copy(os.path.join(BUILD, "tests", "fake_nvml.so"), cls.place)
        cls.binary = os.path.join(cls.place, os.path.basename(support.TRACERD))
        helper = os.path.join(cls.place, "tracer-gpu")
        with open(helper, "w", encoding="ascii") as file:
            file.write(f"#!/bin/sh\nexec {cls.place}/tracer-gpu.real --library {cls.place}/fake_nvml.so\n")
        os.chmod(helper, 0o755)
        cls.said = os.path.join(cls.place, "fake_nvml.txt")

    def setUp(self):
        super().setUp()
        self.say(DEVICE)
        self.addCleanup(lambda: self.assertEqual(processes_of(self.place), [], "tracer-gpu was left behind"))

    def say(self, text):
        with open(self.said, "w", encoding="ascii") as file:
            file.write(text)

    def user(self, *processes):
        return [sys.executable, "-c", USER, self.said, DEVICE, *processes]

    def gpu_trace(self, *words, options=()):
        """The result, and the events of a recording."""
        path = self.path("trace.tracer")
        result = self.tracerd("run", "--families", "gpu,snapshots", "--interval", "200", "--record", path, *options, "--",
                              *words, binary=self.binary)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result, self.dump(path)

    def test_a_process_that_uses_the_gpu_is_sampled_and_reported(self):
        result, events = self.gpu_trace(*self.user(f"process PID {GIB} 30\n", f"process PID {2 * GIB} 50\n", ""))
        python = support.of_kind(events, "process_exit")[-1]
        samples = support.of_kind(events, "gpu_sample")
        self.assertGreaterEqual(len(samples), 3)
        for sample in samples:
            self.assertEqual((sample["pid"], sample["start_ns"]), (python["pid"], python["start_ns"]))
            self.assertEqual((sample["gpu"], sample["gpu_name"], sample["gpu_uuid"]),
                             ("nvidia0", "Fake A100", "GPU-fake-0"))
            self.assertEqual((sample["gpu_capacity_bytes"], sample["gpu_memory_bytes"]), (80 * GIB, 13 * GIB))
            self.assertIn(sample["memory_bytes"], (GIB, 2 * GIB))
        self.assertEqual(samples[-1]["memory_bytes"], 2 * GIB)
        first, *later = samples
        self.assertEqual((first["since_ns"], first["busy_ns"], first["gpu_busy_ns"]), (None, None, None))
        for before, sample in zip(samples, later):
            self.assertEqual(sample["since_ns"], before["time_ns"])
            span = sample["time_ns"] - sample["since_ns"]
            # The driver's percentages, of whole seconds in which it was asked.
            self.assertGreaterEqual(sample["busy_ns"], span * 0.3 - 100)
            self.assertLessEqual(sample["busy_ns"], span * 0.5 + 100)
            self.assertAlmostEqual(sample["gpu_busy_ns"] / span, 0.4, places=3)
        end = support.of_kind(events, "session_end")[-1]
        self.assertNotIn("gpu", end["missing_families"])
        self.assertEqual(end["losses"], 0)
        self.assertRegex(result.stderr + result.stdout,
                         r"GPU nvidia0 \(Fake A100\): busy 40 % of the time, used [345][0-9] % of the time, "
                         r"up to 2\.0+ GiB of 80\.0+ GiB held, most by python")
        report = self.tracerd("report", "--json", self.path("trace.tracer"))
        self.assertEqual(report.returncode, 0, report.stderr)
        gpu, = json.loads(report.stdout)["gpus"]
        self.assertEqual((gpu["gpu"], gpu["memory_peak_bytes"], gpu["tool_peak_bytes"], gpu["capacity_bytes"]),
                         ("nvidia0", 2 * GIB, 2 * GIB, 80 * GIB))

    def test_the_helper_has_no_rights_and_ends_with_tracerd(self):
        running = self.start(self.binary, "run", "--families", "gpu,snapshots", "--", "sleep", "60")
        pid, = support.wait_until(lambda: processes_of(self.place), "tracer-gpu runs")

        def status():
            lines = dict(line.split(":\t", 1) for line in support.text_of(f"/proc/{pid}/status").split("\n") if ":\t" in line)
            return lines if lines.get("NoNewPrivs") == "1" else None

        now = support.wait_until(status, "tracer-gpu gives up its rights")
        self.assertEqual(set(now["Uid"].split()), {"2147483646"})
        self.assertEqual(set(now["Gid"].split()), {"2147483646"})
        self.assertEqual(now["Groups"].strip(), "")
        for kind in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
            self.assertEqual(int(now[kind], 16), 0, kind)
        # The shell that stands for tracer-gpu here adds one of its own.
        names = [each.split("=")[0] for each in support.text_of(f"/proc/{pid}/environ").split("\0") if each]
        self.assertLessEqual(set(names), {"PWD", "OLDPWD", "SHLVL", "_"})
        self.assertEqual(os.readlink(f"/proc/{pid}/cwd"), "/")
        running.kill()
        running.wait()
        support.wait_until(lambda: not processes_of(self.place), "tracer-gpu ends")

    def test_processes_that_are_not_followed_are_not_named(self):
        _, events = self.gpu_trace(*self.user(f"process 1 {GIB} 30\nprocess {os.getpid()} {GIB} 30\n"))
        self.assertEqual(support.of_kind(events, "gpu_sample"), [])

    def test_lies_are_left_out_and_counted(self):
        _, events = self.gpu_trace(*self.user(f"process PID {81 * GIB} 30\n", f"process PID {GIB} 250\n"))
        samples = support.of_kind(events, "gpu_sample")
        self.assertTrue(samples)
        for sample in samples:
            self.assertEqual(sample["memory_bytes"], GIB)
            self.assertIsNone(sample["busy_ns"])
        losses = [loss for loss in support.of_kind(events, "loss") if loss["cause"] == "gpu_use_refused"]
        self.assertTrue(losses)

    def test_a_driver_that_does_not_report_by_process(self):
        _, events = self.gpu_trace(*self.user(f"no_utilization\nprocess PID {GIB} 30\n"))
        samples = support.of_kind(events, "gpu_sample")
        self.assertGreaterEqual(len(samples), 2)
        for sample in samples[1:]:
            self.assertIsNone(sample["busy_ns"])
            self.assertGreater(sample["gpu_busy_ns"], 0)

    def test_a_library_that_crashes_is_named_and_harms_nothing(self):
        self.say("crash\n" + DEVICE)
        _, events = self.gpu_trace("sleep", "3")
        self.assertEqual(support.of_kind(events, "session_end")[-1]["missing_families"].count("gpu"), 1)
        self.assertEqual(len(support.of_kind(events, "process_exit")), 1)

    def test_a_library_that_hangs_keeps_nobody(self):
        self.say("hang\n" + DEVICE)
        _, events = self.gpu_trace("sleep", "1")
        self.assertEqual(support.of_kind(events, "gpu_sample"), [])
        self.assertTrue(support.of_kind(events, "process_sample"))

    def test_a_library_that_does_not_start_is_named(self):
        for said in ("crash_in_init", "hang_in_init", "refuse 999", ""):
            with self.subTest(said=said):
                self.say(f"{said}\n" + (DEVICE if said else ""))
                result, events = self.gpu_trace("true")
                self.assertIn("gpu", support.of_kind(events, "session_end")[-1]["missing_families"])
                self.assertIn("TRC119", result.stderr)

    def test_check_reports_the_mechanism(self):
        families = json.loads(self.tracerd("check", "--json", binary=self.binary).stdout)["families"]
        gpu, = [family for family in families if family["name"] == "gpu"]
        self.assertTrue(gpu["available"])
        self.assertTrue(gpu["mechanism"].startswith("NVML 12.999.1 (driver 999.1) by tracer-gpu"), gpu["mechanism"])
        self.assertIn("ok      GPUs: family gpu: use by process, by NVML 12.999.1",
                      self.tracerd("check", binary=self.binary).stdout)
        self.say("refuse 999\n" + DEVICE)
        text = self.tracerd("check", binary=self.binary).stdout
        self.assertIn("absent  gpu: NVIDIA's management library refused to start, with its error 999 [TRC119]", text)


if __name__ == "__main__":
    support.main()
