# SPDX-License-Identifier: Apache-2.0
"""tracerd status --prometheus: what the text says of a known workload, and what Debian's own node-exporter and Prometheus make of it."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

import keeper
import support
from support import DEADLINE_SECONDS, TRACERD, wait_until
from test_serve import ALICE, ServeCase, become

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts/lib"))
from stamps import cache_folder  # noqa: E402

DASHBOARD = ROOT / "packaging/grafana/tracer.json"
SERIES = re.compile(r'(?P<name>[a-z_]+)\{(?P<labels>(?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)*)\} (?P<value>[0-9.]+)')
LABEL = re.compile(r'([a-z_]+)="((?:[^"\\\n]|\\["\\n])*)"')
PIPELINE = 'rna"seq\\ünï'
MIB = 1 << 20


def unescaped(text):
    return re.sub(r"\\(.)", lambda found: "\n" if found[1] == "n" else found[1], text)


def series_in(text):
    """Values by name and labels but the host; each line of the text is looked at."""
    values, announced = {}, {}
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name not in announced, f"{name} comes twice"
            announced[name] = kind
        if line.startswith("#"):
            continue
        found = SERIES.fullmatch(line)
        assert found, line
        labels = {name: unescaped(value) for name, value in LABEL.findall(found["labels"])}
        assert labels.pop("host") == socket.gethostname(), line
        assert announced[found["name"]] == ("counter" if found["name"].endswith("_total") else "gauge"), line
        key = (found["name"], *sorted(labels.items()))
        assert key not in values, f"{line} comes twice"
        values[key] = float(found["value"])
    return values


def value(values, name, **labels):
    """None: there is none."""
    return values.get((name, *sorted({"user_class": "user", "pipeline": PIPELINE, **labels}.items())))


class PrometheusCase(ServeCase):
    def prometheus(self, uid=0):
        return self.tracerd("status", "--prometheus", "--socket", self.socket, preexec_fn=lambda: become(uid) if uid else None)

    def text(self):
        result = self.prometheus()
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def until(self, condition, what):
        """The first text of which it holds."""
        def look():
            text = self.text()
            return text if condition(series_in(text)) else None
        return wait_until(look, what)

    def task(self, step, number, command, **context):
        """One of Alice, to its end: what wait4() says of its shell, in seconds of CPU time with those of its children."""
        process = subprocess.Popen(["/bin/sh", "-c", f"read go; {command}"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                   preexec_fn=lambda: become(ALICE))
        reply = self.client(ALICE).ask("attach", pid=process.pid, context={
            "engine": "nextflow", "pipeline": PIPELINE, "run": "r1", "run_id": "7", "step": step, "task": f"{step} ({number})",
            "task_id": str(number), **context})
        self.assertTrue(reply["ok"], reply)
        process.stdin.write(b"go\n")
        process.stdin.close()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        return usage.ru_utime + usage.ru_stime


class OfKernel(PrometheusCase):
    @classmethod
    def setUpClass(cls):
        if os.geteuid() != 0 or subprocess.run([TRACERD, "check"], capture_output=True).returncode != 0:
            raise unittest.SkipTest("needs root and the right to trace")

    def test_figures_of_a_known_workload(self):
        self.serve()
        before = series_in(self.text())
        self.assertIsNone(value(before, "tracer_tool_cpu_seconds_total", tool="true"))
        cpu_s = self.task("ALIGN", 1, "for i in 1 2 3 4 5 6 7 8 9 10; do /bin/true; done; i=0; "
                          "while [ $i -lt 500000 ]; do i=$((i+1)); done; exit 0")
        self.task("ALIGN", 2, "/bin/false; exit 1")
        self.task("SORT", 3, "/bin/dd if=/dev/zero bs=1M count=8 status=none | /bin/cat > /dev/null; exit 0")
        text = self.until(lambda now: value(now, "tracer_step_tasks_total", step="SORT") == 1, "the last task is over")
        now = series_in(text)
        steps = {step: tuple(value(now, f"tracer_step_{name}", step=step) for name in (
            "tasks_total", "failed_tasks_total", "running_tasks", "queued_tasks")) for step in ("ALIGN", "SORT")}
        self.assertEqual(steps, {"ALIGN": (2, 1, 0, 0), "SORT": (1, 0, 0, 0)})
        ended = {tool: value(now, "tracer_tool_processes_total", tool=tool) for tool in ("true", "false", "dd", "cat")}
        self.assertEqual(ended, {"true": 10, "false": 1, "dd": 1, "cat": 1})
        # Once, where it began, and not in the shell that passed it on.
        failures = {dict(key[1:])["tool"]: count for key, count in now.items()
                    if key[0] == "tracer_tool_failures_total" and ("pipeline", PIPELINE) in key and count}
        self.assertEqual(failures, {"false": 1})
        self.assertEqual([value(now, f"tracer_tool_{name}_bytes_total", tool=tool)
                          for name, tool in (("written", "dd"), ("written", "cat"))], 2 * [8 * MIB])
        # With what it reads of its libraries.
        self.assertGreaterEqual(value(now, "tracer_tool_read_bytes_total", tool="cat"), 8 * MIB)
        self.assertLess(value(now, "tracer_tool_read_bytes_total", tool="cat"), 8 * MIB + 65536)
        self.assertEqual(value(now, "tracer_tool_oom_kills_total", tool="dd"), 0)
        of_align = value(now, "tracer_step_cpu_seconds_total", step="ALIGN")
        # wait4() has what the shell was before it executed, too, and the sum has the second task.
        self.assertAlmostEqual(of_align, cpu_s, delta=0.1)
        sums = [sum(count for key, count in now.items() if key[0] == f"tracer_{name}_cpu_seconds_total" and ("pipeline", PIPELINE) in key)
                for name in ("tool", "step")]
        self.assertAlmostEqual(*sums, places=6)
        # Nothing is known of who these are: no user, no path, no argument.
        self.assertNotIn("/bin/", text)
        self.assertLess(len(now), 2000)
        # A counter never falls.
        subprocess.run(["/bin/true"], check=True)
        later = series_in(self.text())
        fallen = {key for key, count in now.items() if key[0].endswith("_total") and later.get(key, -1) < count}
        self.assertEqual(fallen, set())
        # What lives is by class, and the rest by nothing.
        self.assertGreater(now["tracer_processes", ("user_class", "system")], 0)
        self.assertGreater(now["tracer_tool_cpu_seconds_total", ("user_class", "system")], 0)
        self.assertGreater(now["tracer_service_memory_bytes",], 1 << 20)

    def test_what_lives_and_waits(self):
        self.serve()
        client = self.client(ALICE)
        context = {"engine": "nextflow", "pipeline": PIPELINE, "run_id": "7", "step": "ALIGN"}
        for number in (1, 2):
            self.assertTrue(client.ask("submit", context=context | {"task_id": str(number)})["ok"])
        burner = self.start("/bin/sh", "-c", "read go; while :; do :; done", stdin=subprocess.PIPE, preexec_fn=lambda: become(ALICE))
        self.assertTrue(client.ask("attach", pid=burner.pid, context=context | {"task_id": "9"})["ok"])
        burner.stdin.write("go\n")
        burner.stdin.flush()
        def cpu_of(now):
            return value(now, "tracer_step_cpu_seconds_total", step="ALIGN") or 0
        first = series_in(self.until(lambda now: cpu_of(now) > 0.2, "what it consumes is seen while it lives"))
        self.assertEqual((value(first, "tracer_step_queued_tasks", step="ALIGN"), value(first, "tracer_step_running_tasks", step="ALIGN")),
                         (2, 1))
        self.until(lambda now: cpu_of(now) > cpu_of(first), "it grows")
        self.assertEqual(value(first, "tracer_step_tasks_total", step="ALIGN"), 0)
        burner.kill()
        _, _, usage = os.wait4(burner.pid, 0)
        burner.returncode = -9
        last = series_in(self.until(lambda now: value(now, "tracer_step_tasks_total", step="ALIGN") == 1, "it has ended"))
        self.assertAlmostEqual(cpu_of(last), usage.ru_utime + usage.ru_stime, delta=0.1)
        self.assertEqual(value(last, "tracer_step_running_tasks", step="ALIGN"), 0)

    def test_names_beyond_the_bound_are_other(self):
        self.serve()
        for number in range(160):
            self.task(f"STEP{number}", number, "exit 0", pipeline=f"p{number}", run_id=str(number))
        now = series_in(self.until(lambda now: sum(count for key, count in now.items() if key[0] == "tracer_step_tasks_total") == 160,
                                   "all are over"))
        self.assertLess(len(now), 2000)
        self.assertEqual(value(now, "tracer_step_tasks_total", pipeline="p0", step="STEP0"), 1)
        self.assertGreater(value(now, "tracer_step_tasks_total", pipeline="other", step="other"), 0)

    def test_others_are_nobody_elses(self):
        self.serve()
        self.task("ALIGN", 1, "exit 0")
        result = self.prometheus(ALICE)
        self.assert_fails(result, 1, "TRC102")
        self.assertEqual(result.stdout, "")

    def test_a_restart_begins_at_0(self):
        """Also where a service manager keeps what the service has seen: Prometheus takes it for a reset."""
        config = self.write("tracerd.toml", "schema = 1\n")
        kept = keeper.Keeper([TRACERD, "serve", "--config", config, "--socket", self.socket], self.folder)
        self.addCleanup(kept.close)
        kept.start()
        self.assertTrue(kept.ready.wait(5 * DEADLINE_SECONDS))
        self.task("ALIGN", 1, "/bin/true; exit 0")
        burner = self.start("/bin/sh", "-c", "read go; while :; do :; done", stdin=subprocess.PIPE, preexec_fn=lambda: become(ALICE))
        self.assertTrue(self.client(ALICE).ask("attach", pid=burner.pid, context={
            "engine": "nextflow", "pipeline": PIPELINE, "run_id": "7", "step": "BURN", "task_id": "9"})["ok"])
        burner.stdin.write("go\n")
        burner.stdin.flush()
        self.until(lambda now: (value(now, "tracer_step_cpu_seconds_total", step="BURN") or 0) > 1, "it consumes")
        kept.end()
        self.task_while_down()
        kept.start()
        self.assertTrue(kept.ready.wait(5 * DEADLINE_SECONDS))
        self.task("ALIGN", 3, "/bin/true; /bin/true; exit 0")
        now = series_in(self.until(lambda now: value(now, "tracer_step_tasks_total", step="ALIGN") == 1, "a task ends"))
        self.assertEqual(value(now, "tracer_tool_processes_total", tool="true"), 2)
        self.assertEqual(value(now, "tracer_step_running_tasks", step="BURN"), 1)
        # What ended while it was down is counted now; of what lived on, only what came since.
        self.assertGreaterEqual(sum(count for key, count in now.items() if key[0] == "tracer_tool_processes_total"), 2 + 20)
        begin = time.monotonic()
        first = value(now, "tracer_step_cpu_seconds_total", step="BURN") or 0
        self.assertLess(first, 5)
        self.until(lambda now: (value(now, "tracer_step_cpu_seconds_total", step="BURN") or 0) > first + 0.5, "it consumes on")
        self.assertLess(time.monotonic() - begin, DEADLINE_SECONDS)

    @staticmethod
    def task_while_down():
        for _ in range(20):
            subprocess.run(["/bin/true"], check=True)


class OfAnyService(support.TestCase):
    """Without a kernel: what is printed of what a service says."""

    def setUp(self):
        super().setUp()
        self.socket = self.path("t.sock")

    def answering(self, **replies):
        listening = socket.socket(socket.AF_UNIX)
        listening.bind(self.socket)
        listening.listen(1)

        def serve():
            with contextlib.suppress(OSError):
                client, _ = listening.accept()
                with client, client.makefile("rwb") as lines:
                    for line in lines:
                        name = json.loads(line)["request"]
                        reply = {"ok": True, name: replies[name]} if name in replies else {
                            "ok": False, "code": "TRC142", "message": f'there is no request "{name}"'}
                        lines.write(json.dumps(reply).encode() + b"\n")
                        lines.flush()
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        result = self.tracerd("status", "--prometheus", "--socket", self.socket)
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join(DEADLINE_SECONDS)
        os.unlink(self.socket)
        return result

    STATUS = {"losses": {"ring_full_process_exit": 4}, "uptime_s": 7, "cost": {"cpu_ns": 1_500_000_000}}
    USAGE = {"host": socket.gethostname(), "processes": {"user": 3}, "tools": [], "steps": []}

    def test_awkward_names_and_unknown_figures(self):
        row = {"pipeline": 'a"b\\c\nd ü', "tool": "", "user_class": "user", "cpu_ns": 12_000_000_345}
        result = self.answering(status=self.STATUS, usage=self.USAGE | {"tools": [row]})
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn('pipeline="a\\"b\\\\c\\nd ü",user_class="user"} 12.000000345\n', result.stdout)
        self.assertEqual(series_in(result.stdout), {
            ("tracer_tool_cpu_seconds_total", ("pipeline", 'a"b\\c\nd ü'), ("user_class", "user")): 12.000000345,
            ("tracer_processes", ("user_class", "user")): 3, ("tracer_lost_total", ("cause", "ring_full_process_exit")): 4,
            ("tracer_service_uptime_seconds",): 7, ("tracer_service_cpu_seconds_total",): 1.5})

    def test_an_older_service_and_what_is_none(self):
        older = self.answering(status=self.STATUS)
        self.assert_fails(older, 1, "TRC142")
        self.assertIn("earlier version, which counts nothing for Prometheus", older.stderr)
        self.assertEqual(older.stdout, "")
        for usage in ([], {}, self.USAGE | {"tools": [{"pipeline": 1, "cpu_ns": 1}]}, self.USAGE | {"host": 1},
                      self.USAGE | {"processes": []}, self.USAGE | {"steps": [{"tasks": 1}]}):
            with self.subTest(usage=usage):
                self.assert_fails(self.answering(status=self.STATUS, usage=usage), 1, "TRC142")
        both = self.tracerd("status", "--prometheus", "--json")
        self.assert_fails(both, 2, "TRC107")


def program_of(package, name):
    """Of Debian's package, installed or only unpacked: installed, it would run as a service. None: it can't be had here."""
    installed = shutil.which(name)
    if installed:
        return installed
    folder = cache_folder() / "debian" / package
    program = folder / "usr/bin" / name
    if not program.exists() and shutil.which("apt-get"):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for words in (["apt-get", "-q", "download", package], ["sh", "-c", "dpkg -x ./*.deb . && rm ./*.deb"]):
            if subprocess.run(words, cwd=folder, capture_output=True, check=False, timeout=5 * DEADLINE_SECONDS).returncode != 0:
                return None
    return str(program) if program.exists() else None


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


class OfPrometheus(PrometheusCase):
    ALONE = "rates by time"
    WINDOW_S = 300  # All of the test, on a busy machine, too.

    @classmethod
    def setUpClass(cls):
        OfKernel.setUpClass.__func__(cls)
        cls.programs = {name: program_of(package, name) for package, name in (
            ("prometheus", "prometheus"), ("prometheus", "promtool"), ("prometheus-node-exporter", "prometheus-node-exporter"))}
        missing = [name for name, path in cls.programs.items() if path is None]
        if missing:
            raise unittest.SkipTest(f"not here, and not to be had by apt-get download: {', '.join(missing)}")

    def begin(self):
        """Node-exporter and Prometheus, which looks each second."""
        self.texts = self.path("texts")
        os.mkdir(self.texts)
        exporter, self.port = free_port(), free_port()
        config = self.write("prometheus.yml", "global: {scrape_interval: 1s}\nscrape_configs:\n- job_name: node\n"
                            f"  static_configs: [{{targets: ['127.0.0.1:{exporter}']}}]\n")
        log = open(self.path("log"), "w", encoding="utf-8")  # noqa: SIM115
        self.addCleanup(log.close)
        self.start(self.programs["prometheus-node-exporter"], "--collector.disable-defaults", "--collector.textfile",
                   f"--collector.textfile.directory={self.texts}", f"--web.listen-address=127.0.0.1:{exporter}", stdout=log, stderr=log)
        self.start(self.programs["prometheus"], f"--config.file={config}", f"--storage.tsdb.path={self.path('data')}",
                   f"--web.listen-address=127.0.0.1:{self.port}", "--log.level=warn", stdout=log, stderr=log)

    def query(self, expression):
        """Values by labels but those of the scrape."""
        url = f"http://127.0.0.1:{self.port}/api/v1/query?" + urllib.parse.urlencode({"query": expression})
        try:
            with urllib.request.urlopen(url, timeout=DEADLINE_SECONDS) as answer:
                data = json.load(answer)
        except urllib.error.HTTPError as error:
            if error.code == 503:  # It starts.
                return {}
            raise AssertionError(f"{expression}: {error.read()}") from error
        except OSError:
            return {}
        self.assertEqual(data["status"], "success", data)
        return {tuple(sorted((name, text) for name, text in each["metric"].items() if name not in ("instance", "job", "file"))):
                float(each["value"][1]) for each in data["data"]["result"]}

    def write_text(self):
        """As docs/service.md has it for a timer; waits until Prometheus has it."""
        line, = re.findall(r"^ExecStart=(/bin/sh -c '.*') (/\S+/tracer\.prom)$", (ROOT / "docs/service.md").read_text(), re.M)
        path = os.path.join(self.texts, os.path.basename(line[1]))
        environment = os.environ | {"PATH": f"{os.path.dirname(TRACERD)}:{os.environ['PATH']}", "TRACER_SOCKET": self.socket}
        subprocess.run(f"{line[0]} {path}", shell=True, check=True, env=environment)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.assertEqual(os.listdir(self.texts), ["tracer.prom"])
        uptime = series_in(text)["tracer_service_uptime_seconds",]
        events = series_in(text)["tracer_service_events_total",]
        wait_until(lambda: (list(self.query("tracer_service_uptime_seconds").values()), list(self.query("tracer_service_events_total").values()))
                   == ([uptime], [events]), f"Prometheus has the text: {support.text_of(self.path('log'))}")
        return text

    def queries(self):
        """Of each panel of the dashboard, as Grafana sends them."""
        with open(DASHBOARD, encoding="utf-8") as file:
            panels = json.load(file)["panels"]
        return {(panel["title"], target["refId"]): target["expr"].replace("$__rate_interval", f"{self.WINDOW_S}s").replace("$host", ".*")
                for panel in panels for target in panel["targets"]}

    def test_the_queries_of_the_dashboard(self):
        self.serve()
        self.begin()
        self.task("ALIGN", 1, "/bin/dd if=/dev/zero of=/dev/null bs=1M count=1 status=none; exit 0")
        self.task("SORT", 2, "/bin/false; exit 1")
        self.assertTrue(self.client(ALICE).ask("submit", context={"engine": "nextflow", "pipeline": PIPELINE, "run_id": "7", "step": "SORT",
                                                                 "task_id": "99"})["ok"])
        self.until(lambda now: value(now, "tracer_step_tasks_total", step="SORT") == 1, "both are over")
        first = self.write_text()
        linted = subprocess.run([self.programs["promtool"], "check", "metrics"], input=first, capture_output=True, text=True, check=False)
        self.assertEqual((linted.returncode, linted.stdout + linted.stderr), (0, ""))
        time.sleep(3)
        cpu_s = self.task("ALIGN", 3, "i=0; while [ $i -lt 1000000 ]; do i=$((i+1)); done; exit 0")
        for number in (4, 5, 6):
            self.task("SORT", number, f"/bin/dd if=/dev/zero of=/dev/null bs=1M count=32 status=none; /bin/false; exit {number % 2}")
        self.until(lambda now: value(now, "tracer_step_tasks_total", step="SORT") == 4, "all are over")
        second = self.write_text()
        fallen = {key for key, count in series_in(first).items() if key[0].endswith("_total") and series_in(second).get(key, -1) < count}
        self.assertEqual(fallen, set())
        self.assertEqual(self.query(f"count({{__name__=~\"tracer_.*\"}})"), {(): len(series_in(second))})
        time.sleep(3)
        answers = {which: self.query(expression) for which, expression in self.queries().items()}
        of = {title: answers[title, "A"] for title, _ in answers}
        align, sort = ((("pipeline", PIPELINE), ("step", step)) for step in ("ALIGN", "SORT"))
        pipeline = (("pipeline", PIPELINE),)

        def assert_about(rate, expected, what):
            # Prometheus extends what it has seen by half a look to both sides.
            self.assertGreater(rate * self.WINDOW_S, 0.97 * expected, what)
            self.assertLess(rate * self.WINDOW_S, 1.4 * expected, what)
        assert_about(of["CPUs in use, by pipeline"][pipeline], cpu_s, "CPU by pipeline")
        assert_about(max(of["CPUs in use, by tool"].values()), cpu_s, "CPU by tool")
        self.assertLessEqual(len(of["CPUs in use, by tool"]), 10)
        self.assertEqual(of["Running tasks, by step"], {align: 0, sort: 0})
        self.assertEqual(of["Waiting tasks, by step"], {align: 0, sort: 1})
        self.assertEqual(self.query("sum by (pipeline, step) (tracer_step_failed_tasks_total)"), {align: 0, sort: 2})
        assert_about(of["Failed tasks, by step"][sort] / self.WINDOW_S, 1, "failed tasks")
        self.assertEqual(of["Failed tasks, by step"][align], 0)
        failures = answers["Failures and kills for lack of memory, by tool", "A"]
        self.assertEqual(max(failures, key=failures.get), (("tool", "false"),))
        self.assertEqual(set(answers["Failures and kills for lack of memory, by tool", "B"].values()), {0})
        mean_s = of["Mean time of a task, by step"]
        self.assertGreater(mean_s[align], cpu_s - 0.1)
        self.assertLess(mean_s[align], 10 * cpu_s + 10)
        written = answers["Reads and writes, by pipeline", "B"]
        assert_about(written[pipeline], 3 * 32 * MIB, "written")
        self.assertGreater(answers["Reads and writes, by pipeline", "A"][pipeline], written[pipeline] * 0.9)
        self.assertGreater(of["Living processes"][("user_class", "system"),], 0)
        self.assertEqual({dict(labels)["cause"]: count for labels, count in of["Lost, by cause"].items()},
                         {dict(key[1:])["cause"]: count for key, count in series_in(second).items() if key[0] == "tracer_lost_total"})
        self.assertEqual(list(of["Cost of the service: CPUs"]), [(("host", socket.gethostname()),)])
        age_s, = of["Age of the text"].values()
        self.assertGreater(age_s, 0)
        self.assertLess(age_s, 60)


if __name__ == "__main__":
    support.main()
