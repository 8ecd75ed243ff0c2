# SPDX-License-Identifier: Apache-2.0
"""scripts/on_gpu, with a driver, a management library and a PyTorch that are made up: a real kernel and real uprobes."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import support
from test_check import refuse_bpf

BUILD = pathlib.Path(support.TRACERD).parent
SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
MIB = 1 << 20

# Each Python is said to use the GPU.
SITE = f"""
import os
said = os.environ["FAKE_NVML"]
with open(said + ".new", "w") as file:
    file.write(f"device 0 {1024 * MIB} {700 * MIB} 60 Fake GPU\\nprocess {{os.getpid()}} {600 * MIB} 50\\n")
os.rename(said + ".new", said)
"""
TORCH = f"""
import ctypes
from unittest.mock import MagicMock
__version__ = "made up"
driver = ctypes.CDLL("libcuda.so.1")
for _ in range(4):
    driver.cuMemAlloc_v2(ctypes.byref(ctypes.c_uint64()), ctypes.c_size_t({2 * MIB}))
cuda, nn, optim, manual_seed, randn = (MagicMock() for _ in range(5))
cuda.memory_stats.return_value = {{"num_device_alloc": 4, "num_device_free": 0, "reserved_bytes.all.allocated": {8 * MIB}}}
cuda.max_memory_reserved.return_value = {8 * MIB}
nn.functional.mse_loss.return_value.item.side_effect = driver.cuCtxSynchronize
"""


@unittest.skipUnless((BUILD / "tests/fake_gpu.so").exists() and shutil.which("unshare"), "no fake library, or no unshare")
class OnGpu(support.TestCase):
    def setUp(self):
        super().setUp()
        self.place = pathlib.Path(tempfile.mkdtemp(prefix="tracerd-on-gpu-", dir="/tmp"))
        self.addCleanup(shutil.rmtree, self.place, True)
        for folder in ("", "lib", "python", "scripts", "scripts/lib", "temporary"):
            (self.place / folder).mkdir(exist_ok=True)
            (self.place / folder).chmod(0o755)
        # No more of the repository than that goes to such a machine.
        for name in ("on_gpu", "lib/gpu_calls.py", "lib/gpu_training.py"):
            shutil.copy(SCRIPTS / name, self.place / "scripts" / name)
        self.script = self.place / "scripts/on_gpu"
        shutil.copy(BUILD / "tests/fake_gpu.so", self.place / "lib/libcuda.so.1")
        (self.place / "lib/libcuda.so.1").chmod(0o644)
        for name in ("tests/fake_nvml.so", "tracer-gpu"):
            shutil.copy(BUILD / name, self.place / "python")
        shutil.copy(support.TRACERD, self.place / "python/tracerd")
        shutil.move(self.place / "python/tracer-gpu", self.place / "python/tracer-gpu.real")
        (self.place / "python/sitecustomize.py").write_text(SITE)
        (self.place / "python/torch.py").write_text(TORCH)
        self.program("python/tracer-gpu", f"exec {self.place}/python/tracer-gpu.real --library {self.place}/python/fake_nvml.so")
        # Libraries of drivers are looked for in folders of the system: one of them is another folder for tracerd here.
        self.tracerd_there = self.program(
            "tracerd", "exec unshare -m sh -c 'mount --bind \"$0\" /usr/local/lib && exec \"$@\"' "
            f"{self.place}/lib {self.place}/python/tracerd \"$@\"")
        self.environment = os.environ | {"LD_LIBRARY_PATH": str(self.place / "lib"), "PYTHONPATH": str(self.place / "python"),
                                         "FAKE_NVML": str(self.place / "python/fake_nvml.txt"),
                                         "TMPDIR": str(self.place / "temporary")}
        self.environment.pop("OUT", None)

    def program(self, name, line):
        path = self.place / name
        path.write_text(f"#!/bin/sh\n{line}\n")
        path.chmod(0o755)
        return path

    def on_gpu(self, *words, before=(), environment=(), **options):
        return subprocess.run([*before, sys.executable, "-B", self.script, *words], capture_output=True, text=True, check=False,
                              timeout=4 * support.DEADLINE_SECONDS, env=self.environment | dict(environment), **options)

    def left(self):
        """Programs of this test that live, and its temporary files."""
        found = [path.name for path in (self.place / "temporary").iterdir()]
        for folder in filter(lambda path: path.name.isdigit(), pathlib.Path("/proc").iterdir()):
            words = support.text_of(folder / "cmdline")
            if str(self.place) in words and support.alive(int(folder.name)):
                found.append(words)
        return found

    def rows(self, text):
        """Of all tables, by their first cells."""
        lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
        return {tuple(cells[:2] if len(cells[-1]) > 2 else cells[:1]): cells for cells in lines}

    def test_what_is_reported_is_the_truth(self):
        result = self.on_gpu(self.tracerd_there, "--pairs", "1", "--steps", "100", environment={"OUT": self.folder})
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertEqual(pathlib.Path(self.path("on_gpu.md")).read_text(encoding="utf-8"), result.stdout)
        kernel, bpf, uprobes, gpu, tracerd, *_ = result.stdout.splitlines()
        self.assertIn(os.uname().release, kernel)
        self.assertEqual((bpf, uprobes, gpu),
                         ("- bpf() is allowed.", "- uprobes are allowed.", "- GPU: Fake GPU, CUDA 13.0."))
        self.assertRegex(tracerd, r"NVML 12\.999\.1 .*experimental uprobes on libcuda\.so\.1 \(\d+ functions\)")
        rows = self.rows(result.stdout)
        for figure, truth in (("allocations", "2124"), ("failed allocations", "5"), ("frees", "2124"), ("waits", "5085"),
                              ("context switches", "41")):
            self.assertEqual(rows["calls", figure][2:], [truth, truth, "uprobes"])
        truth, reported = rows["calls", "allocated, MiB"][2:4]
        self.assertEqual((truth, reported), ("2161.14", "2161.14"))
        truth, reported = (float(cell) for cell in rows["calls", "time in waits, ms"][2:4])
        self.assertGreaterEqual(reported, 290)
        self.assertLessEqual(reported, truth)
        self.assertEqual(rows["training", "allocations"][2:4], ["at least 4", "4"])
        self.assertEqual(rows["training", "allocated, MiB"][2:4], ["at least 8", "8"])
        self.assertEqual(rows["training", "waits"][2:4], ["at least 120", "120"])
        self.assertEqual(rows["half busy", "memory held, MiB"][2:4], ["512", "600"])
        truth, reported = (float(cell) for cell in rows["half busy", "busy, part of the time"][2:4])
        self.assertTrue(0.2 < truth < 0.55, truth)
        self.assertEqual(reported, 0.5)
        self.assertEqual(rows["half busy", "GPU busy for anybody, part of the time"][3], "0.6")
        for figure in ("cuMemAlloc_v2 and cuMemFree_v2", "cuStreamSynchronize, nothing to wait for",
                       "cuLaunchKernel, not probed", "a step of training"):
            alone, traced = (float(cell) for cell in rows[figure,][1:3])
            self.assertGreater(min(alone, traced), 0)
            self.assertAlmostEqual(float(rows[figure,][3].split(" ")[0]), traced / alone, delta=0.01 * traced / alone)
            self.assertEqual(rows[figure,][4], "1")
        self.assertIn("Records and calls lost: 0.", result.stdout)
        self.assertEqual(self.left(), [])

    def test_ctrl_c_leaves_nothing_behind(self):
        running = self.start(sys.executable, "-B", self.script, self.tracerd_there, env=self.environment, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
        support.wait_until(lambda: any("busy" in words and "record" not in words for words in self.left()), "a program is traced")
        running.send_signal(signal.SIGINT)
        out, _ = running.communicate(timeout=support.DEADLINE_SECONDS)
        self.assertEqual(running.returncode, 130)
        self.assertIn("uprobes are allowed", out)
        support.wait_until(lambda: self.left() == [], "all programs have ended")

    def test_where_nothing_can_be_measured(self):
        for sentence, options in (
                ("no NVIDIA GPU here", {"environment": {"FAKE_GPU_NONE": "1"}}),
                ("no CUDA here", {"environment": {"LD_LIBRARY_PATH": ""}}),
                ("run it as root", {"before": ("setpriv", "--reuid", str(support.NOBODY), "--clear-groups",
                                               "--inh-caps=-all", "--bounding-set=-all")}),
                ("tracerd can't trace here", {"preexec_fn": refuse_bpf})):
            with self.subTest(sentence):
                (self.place / "temporary").chmod(0o777)
                result = self.on_gpu(self.tracerd_there, **options)
                self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
                self.assertIn(sentence, result.stderr)
                self.assertIn(sentence, result.stdout)
                refused = "before" in options or "preexec_fn" in options
                self.assertIn("bpf() is refused: Operation not permitted" if refused else "bpf() is allowed", result.stdout)
                self.assertEqual(self.left(), [])
        result = self.on_gpu("/bin/true")
        self.assertEqual(result.returncode, 1)
        self.assertIn("/bin/true is no tracerd that runs here", result.stderr)

    def test_wrong_words(self):
        for words, environment, sentence in (
                (["nowhere"], {}, "there is no program nowhere"), ([], {}, "the following arguments are required: TRACERD"),
                ([self.tracerd_there, "--pairs", "0"], {}, "out of its range"),
                ([self.tracerd_there, "--steps", "many"], {}, "invalid int value"),
                ([self.tracerd_there], {"OUT": "/nowhere"}, "OUT is no folder: /nowhere")):
            with self.subTest(sentence):
                result = self.on_gpu(*words, environment=environment)
                self.assertEqual((result.returncode, result.stdout), (2, ""))
                self.assertIn(sentence, result.stderr)


if __name__ == "__main__":
    support.main()
