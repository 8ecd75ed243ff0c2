# SPDX-License-Identifier: Apache-2.0
"""What counts in a report: of what lived before, of huge pages, of a cgroup's mark, of work that is done elsewhere, of tracing
itself; and that one figure is the same wherever it stands."""

import json
import os
import pathlib
import re
import resource
import subprocess
import time

import support
from support import PYTHON, TRACERD, of_kind, text_of, wait_until

RECORDINGS = pathlib.Path(__file__).resolve().parents[1] / "data/recordings"
BURN = "import time\ndef burn(s):\n t = time.process_time()\n while time.process_time() - t < s: pass\n"
SECOND = 10**9
MIB = 1 << 20
HUGE = """
import mmap, os, time
m = mmap.mmap(-1, 64 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40000)  # MAP_HUGETLB
for at in range(0, len(m), 4096):
    m[at] = 1
time.sleep(2.5)
"""


class Counted(support.TestCase):
    def report_of(self, recording):
        return json.loads(self.tracerd("report", "--json", recording).stdout)

    def watched(self, script, go_on=None):
        """Burns a second, and is watched then: the report's text, and the recording. `go_on`: it ends by itself."""
        code = BURN + f"import os\nburn(1)\nopen('{self.path('ready')}', 'w').close()\n" + script
        process = self.start(PYTHON, "-c", code, stdin=subprocess.PIPE)
        wait_until(lambda: os.path.exists(self.path("ready")), "it has computed")
        time.sleep(0.3)
        watch = self.start(TRACERD, "watch", "--pid", str(process.pid), "--no-live", "--interval", "200", "--record",
                           self.path("r"), "--json", self.path("events"), stderr=subprocess.PIPE)
        wait_until(lambda: '"process_sample"' in text_of(self.path("events")), "it is sampled")
        if go_on:
            process.stdin.write("\n")
            process.stdin.flush()
        else:
            time.sleep(0.5)
            watch.send_signal(2)
        text = watch.communicate(timeout=support.DEADLINE_SECONDS)[1]
        self.assertEqual(watch.returncode, 0, text)
        return process.pid, text

    def test_what_lives_on_counts_since_it_was_attached(self):
        pid, text = self.watched("import sys\nsys.stdin.read()\n")
        report = self.report_of(self.path("r"))
        self.assertLess(report["totals"].get("cpu_ns", report["totals"].get("cpu_ns_at_least", 0)), SECOND / 2)
        self.assertLess(report["totals"]["wall_ns"], 20 * SECOND)
        certificate = report["certificate"]
        self.assertEqual(certificate["attached"], 1)
        self.assertGreater(certificate["cpu_before_ns"], 0.9 * SECOND)
        self.assertRegex(text, r"1 process ran before tracing began; figures count from then \([\d.]+ s of CPU before\)")
        why = json.loads(self.tracerd("why", "--json", self.path("r"), f"pid:{pid}").stdout)
        self.assertLess(why["cpu_ns"], SECOND / 2)
        self.assertGreater(why["cpu_before_ns"], 0.9 * SECOND)
        self.assertIn("before that, it had used 1.", self.tracerd("why", self.path("r"), f"pid:{pid}").stdout)

    def test_what_ends_counts_since_it_was_attached(self):
        pid, _ = self.watched("import sys\nsys.stdin.readline()\nos.write(os.open('/dev/null', 1), b'x' * 5000)\nburn(0.6)\n", True)
        exit = next(each for each in of_kind(support.parse_lines(text_of(self.path("events"))), "process_exit") if each["pid"] == pid)
        self.assertGreater(exit["cpu_ns"], 1.5 * SECOND, "an event has the whole life")
        total = self.report_of(self.path("r"))["totals"]
        self.assertTrue(0.55 * SECOND < total["cpu_ns"] < 0.9 * SECOND, total)
        self.assertEqual(total["written_bytes"], 5000)

    def test_huge_pages_are_memory(self):
        number = "/proc/sys/vm/nr_hugepages"
        before = text_of(number)
        try:
            with open(number, "w", encoding="ascii") as file:
                file.write(str(int(before) + 34))
        except (OSError, ValueError):
            self.skipTest("huge pages can't be had")
        self.addCleanup(pathlib.Path(number).write_text, before)
        if int(text_of(number)) < int(before) + 34:
            self.skipTest("there is no room for huge pages")
        result = self.tracerd("run", "--no-live", "--report", self.path("report.json"), "--record", self.path("r"), "--", PYTHON, "-c", HUGE)
        self.assertEqual(result.returncode, 0, result.stderr)
        total = json.loads(text_of(self.path("report.json")))["totals"]
        self.assertNotIn("memory_bytes", total, "the kernel keeps no mark of huge pages")
        self.assertTrue(64 * MIB <= total["memory_bytes_at_least"] < 90 * MIB, total)
        self.assertNotIn("memory_bytes_at_most", total)

    def test_a_cgroup_has_the_mark_of_its_own_time(self):
        folder = "/sys/fs/cgroup/memory" if os.path.exists("/sys/fs/cgroup/memory/cgroup.procs") else "/sys/fs/cgroup"
        group = pathlib.Path(folder, f"tracerd-mark-{os.getpid()}")
        try:
            group.mkdir()
        except OSError:
            self.skipTest("there is no memory controller")
        self.addCleanup(lambda: wait_until(lambda: not group.exists() or group.rmdir() is None, "it is removed"))
        mark = group / ("memory.max_usage_in_bytes" if "memory" in folder else "memory.peak")
        if not mark.exists():
            self.skipTest("the kernel keeps no mark")

        def run(mib, *tracer):
            code = f"echo $$ > {group}/cgroup.procs; exec {PYTHON} -c 'import time; x = bytearray({mib} << 20); time.sleep(1.5)'"
            return subprocess.run([*tracer, "sh", "-c", code], check=True, stderr=subprocess.PIPE, text=True, timeout=support.DEADLINE_SECONDS)

        run(200)
        self.assertGreater(int(mark.read_text()), 200 * MIB)
        text = run(8, TRACERD, "run", "--no-live", "--report", self.path("report.json"), "--").stderr
        shown = next(each for each in json.loads(text_of(self.path("report.json")))["cgroups"] if each["path"].endswith(group.name))
        self.assertNotIn("peak_bytes", shown)
        self.assertLess(shown["peak_bytes_at_least"], 60 * MIB)
        self.assertRegex(text, rf"cgroup \S*{group.name}: peak ≥ ")
        run(300, TRACERD, "run", "--no-live", "--report", self.path("report.json"), "--")
        shown = next(each for each in json.loads(text_of(self.path("report.json")))["cgroups"] if each["path"].endswith(group.name))
        self.assertGreater(shown["peak_bytes"], 300 * MIB)

    def test_work_that_a_daemon_does_is_named(self):
        os.mkdir(self.path("bin"))
        for name in ("docker", "sbatch"):
            os.chmod(self.write(f"bin/{name}", "#!/bin/sh\nexit 0\n"), 0o755)
        for script, calls in (("docker run image a; docker --debug run image b; docker ps; true", {"docker": 2}),
                              ("sbatch job; true", {"slurm": 1}), ("docker images; true", {})):
            with self.subTest(script):
                result = self.tracerd("run", "--no-live", "--report", self.path("report.json"), "--", "sh", "-c", script,
                                      env=os.environ | {"PATH": f"{self.path('bin')}:{os.environ['PATH']}"})
                self.assertEqual(json.loads(text_of(self.path("report.json")))["certificate"]["handed_over"], calls, result.stderr)
                lines = re.findall(r"\n(\S+) was asked to run something \((\d+) calls?\): what its daemon ran is not in these figures", result.stderr)
                self.assertEqual({name: int(count) for name, count in lines}, calls)

    def test_the_cost_of_tracing_includes_its_start(self):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        result = self.tracerd("run", "--no-live", "--report", self.path("report.json"), "--record", self.path("r"), "--", "true")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        cost = json.loads(text_of(self.path("report.json")))["cost"]
        counted = cost["cpu_ns"] / SECOND
        self.assertTrue(0.7 * used < counted <= 1.02 * used, (counted, used))
        self.assertLess(cost["start_cpu_ns"], cost["cpu_ns"])
        line = next(line for line in result.stderr.split("\n") if "tracing cost" in line)
        self.assertRegex(line, r"tracing cost: CPU [\d.]+ m?s to start, then [\d.]+ [mu]?s")
        self.assertNotIn("%", line)
        recorded = self.report_of(self.path("r"))["cost"]
        self.assertTrue(0.5 * used < recorded["cpu_ns"] / SECOND <= used, (recorded, used))
        self.assertFalse({"start_cpu_ns", "snapshots_cpu_ns"} & set(recorded))


class Agreeing(support.TestCase):
    FIGURES = ("cpu_ns", "memory_bytes", "read_bytes", "written_bytes")

    def test_table_and_why_have_the_same_figures(self):
        for name in ("demo", "snakemake", "nextflow-25", "failures", "attached", "service-host"):
            recording = str(RECORDINGS / f"{name}.tracer")
            report = json.loads(self.tracerd("report", "--json", recording).stdout)
            rows = [(row["run_key"], row) for row in report["runs"] if "run_key" in row]
            rows += [(row["task_key"], row) for row in report["tasks"] if "task_key" in row]
            for key, row in rows[:12]:
                result = self.tracerd("why", "--json", recording, key)
                if result.returncode != 0:
                    continue
                why = json.loads(result.stdout)
                for figure in self.FIGURES:
                    with self.subTest(recording=name, row=row["name"], figure=figure):
                        known = {figure + end: row.get(figure + end) for end in ("", "_at_least", "_at_most")}
                        self.assertEqual({each: why.get(each) for each in known}, known)

    def test_cpu_time_is_exact_where_that_of_each_process_is(self):
        for path in sorted(RECORDINGS.glob("*.tracer")):
            report = json.loads(self.tracerd("report", "--json", str(path)).stdout)
            if not report["certificate"]["complete"] or report["certificate"]["attached"] or report["survivors"]:
                continue
            events = self.dump(str(path))
            exits = of_kind(events, "process_exit")
            if of_kind(events, "own_work") or not exits or any(each["cpu_ns"] is None for each in exits):
                continue
            with self.subTest(path.stem):
                total = sum(each["cpu_ns"] for each in exits)
                # By programs: below the last digit that is shown.
                self.assertLess(abs(report["totals"]["cpu_ns"] - total), total / 1000, report["totals"])


if __name__ == "__main__":
    support.main()
