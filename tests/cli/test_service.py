# SPDX-License-Identifier: Apache-2.0
"""Sessions of users without rights, by a running `tracerd serve`."""

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import unittest

import support
from support import TRACERD, of_kind, text_of, wait_until

USER = 20001
ANOTHER = 20002
AS_USER = ["setpriv", "--reuid", str(USER), "--regid", str(USER), "--clear-groups", "--inh-caps=-all", "--bounding-set=-all"]
# 24 processes: the shell, 20 of true, and a pipe of dd and cat, which write 8 MiB each.
WORK = 'for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do /bin/true; done; ' \
       '/bin/dd if=/dev/zero bs=1M count=8 status=none | /bin/cat > /dev/null; /bin/false; exit 0'
PROCESSES = 24


def begin_service(test, folder):
    """Its socket, once it answers."""
    path = os.path.join(folder, "tracer.sock")
    config = os.path.join(folder, "tracerd.toml")
    with open(config, "w", encoding="utf-8") as file:
        file.write("schema = 1\n")
    service = test.start(TRACERD, "serve", "--foreground", "--config", config, "--socket", path, stderr=subprocess.PIPE)

    def answers():
        test.assertIsNone(service.poll(), "the service has ended")
        with socket.socket(socket.AF_UNIX) as client:
            try:
                client.connect(path)
                client.sendall(b'{"request":"hello","version":1}\n')
                return client.recv(65536)
            except OSError:
                return b""

    wait_until(answers, "an answer of the service")
    return service, path


class Service(support.TestCase):
    @classmethod
    def setUpClass(cls):
        if os.geteuid() != 0 or subprocess.run([TRACERD, "check"], capture_output=True).returncode != 0:
            raise unittest.SkipTest("needs root and the right to trace")

    def setUp(self):
        super().setUp()
        self.service, self.socket = begin_service(self, self.folder)
        self.home = tempfile.mkdtemp(prefix="tracerd-cli-user-", dir="/tmp")
        os.chown(self.home, USER, USER)
        self.addCleanup(shutil.rmtree, self.home, True)
        self.environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "HOME": self.home,
                            "TRACER_SOCKET": self.socket}

    def run_as_user(self, *words, **environment):
        return subprocess.run([*AS_USER, TRACERD, *words], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              env=self.environment | environment, cwd=self.home, timeout=support.DEADLINE_SECONDS)

    def report(self, path):
        with open(path, encoding="utf-8") as file:
            return json.load(file)

    def test_a_command_of_an_ordinary_user_has_the_figures_of_the_kernel(self):
        by_service = os.path.join(self.home, "service.json")
        events = os.path.join(self.home, "events.json")
        result = self.run_as_user("run", "--report", by_service, "--json", events, "--", "/bin/sh", "-c", WORK)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(f"traced by the service at {self.socket}", result.stderr)
        by_kernel = self.path("kernel.json")
        result = self.tracerd("run", "--report", by_kernel, "--", "/bin/sh", "-c", WORK)
        self.assertEqual(result.returncode, 0, result.stderr)
        mine, kernels = self.report(by_service), self.report(by_kernel)
        self.assertEqual((mine["certificate"]["tier"], kernels["certificate"]["tier"]), ("service", "kernel"))
        for report in (mine, kernels):
            certificate = report["certificate"]
            self.assertTrue(certificate["complete"], certificate)
            self.assertEqual((certificate["exits_seen"], certificate["ended"]), (PROCESSES, PROCESSES))
        exits = of_kind(support.parse_lines(text_of(events)), "process_exit")
        self.assertEqual(len(exits), PROCESSES)
        self.assertEqual({event["uid"] for event in exits}, {USER})
        self.assertEqual(sum(event["written_bytes"] for event in exits if event["tool"] in ("dd", "cat")), 16 << 20)
        self.assertEqual(mine["totals"]["written_bytes"], kernels["totals"]["written_bytes"])
        self.assertEqual(self.rows(mine), self.rows(kernels))

    @staticmethod
    def rows(report):
        return sorted((row["name"], row["processes"], row["failed"], row["written_bytes"]) for row in report["tools"])

    def test_cpu_time_is_exact(self):
        events = os.path.join(self.home, "events.json")
        # The shell says what it has consumed itself, in ticks of 10 ms.
        result = self.run_as_user("run", "--json", events, "--", "/bin/sh", "-c",
                                  "i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done; times")
        self.assertEqual(result.returncode, 0, result.stderr)
        exit_event, = of_kind(support.parse_lines(text_of(events)), "process_exit")
        said_ns = sum(int(1e9 * float(each.removeprefix("0m").removesuffix("s")))
                      for each in result.stdout.split("\n")[0].split())
        self.assertGreater(said_ns, 50_000_000)
        self.assertLess(abs(exit_event["cpu_ns"] - said_ns), 40_000_000)

    def test_labels_of_the_command_are_in_its_events(self):
        events = os.path.join(self.home, "events.json")
        result = self.run_as_user("run", "--run", "r42", "--sample", "S1", "--json", events, "--", "/bin/sh", "-c",
                                  "/bin/true; /bin/true")
        self.assertEqual(result.returncode, 0, result.stderr)
        exits = of_kind(support.parse_lines(text_of(events)), "process_exit")
        self.assertEqual([(event["context"]["run"], event["context"]["sample"]) for event in exits], 3 * [("r42", "S1")])

    def test_the_waste_of_a_run_has_a_cost_by_the_chosen_price(self):
        """Half a second of 2 CPUs and 8 GiB, of which next to nothing is used."""
        script = """
import json, os, socket, subprocess
work = f"task{os.getpid()}"
os.mkdir(work)
with socket.socket(socket.AF_UNIX) as client:
    client.connect(os.environ["TRACER_SOCKET"])
    client.sendall(json.dumps({"request": "announce", "key": {"work_dir": os.path.abspath(work)},
                               "context": {"pipeline": "p", "run": "r", "step": "s", "task_id": work},
                               "requested": {"millicpus": 2000, "memory_bytes": 8 << 30}}).encode() + b"\\n")
    assert json.loads(client.makefile().readline())["ok"]
subprocess.run(["/bin/sleep", "0.5"], cwd=work, check=True)
os.rmdir(work)
"""
        folder = os.path.join(self.home, ".local", "share", "libtracer")
        os.makedirs(folder)
        price = os.path.join(folder, "price.json")
        with open(price, "w", encoding="utf-8") as file:
            json.dump({"schema": 1, "currency": "USD", "usd_per_hour": "360", "usd_per_cpu_hour": "124.615384615385",
                       "usd_per_gib_hour": "13.846153846154", "instance_type": "m5.large", "region": "eu-west-1",
                       "model": "on-demand", "basis": "listed", "date": "2026-11-01"}, file)
        report = os.path.join(self.home, "report.json")

        def run():
            result = self.run_as_user("run", "--report", report, "--", "/usr/bin/python3", "-c", script)
            self.assertEqual(result.returncode, 0, result.stderr)
            line, = (line for line in result.stderr.splitlines() if line.startswith("waste: "))
            return result, line, self.report(report)

        _, line, made = run()
        cost = made["waste_cost"]
        self.assertTrue(0.04 < float(cost["amount"]) < 0.1, cost)
        self.assertEqual((cost["state"], cost["basis"], cost["price_date"]), ("estimate", "listed", "2026-11-01"))
        self.assertIn("USD, an estimate by the list price of m5.large in eu-west-1 on demand, 360 USD an hour, of 2026-11-01", line)
        self.assertIn(f"; about {cost['amount'].rstrip('0')} USD", line)
        with open(price, "w", encoding="utf-8") as file:
            file.write('{"schema": 1, "curr')
        result, line, made = run()
        self.assertIn(f"tracerd: the waste has no cost: {price} is cut or damaged; ", result.stderr)
        self.assertNotIn("waste_cost", made)
        os.unlink(price)
        result, without, made = run()
        for text in (line, without):
            self.assertNotIn("USD", text)
        self.assertNotIn("price", result.stderr)
        self.assertNotIn("waste_cost", made)

    def test_a_command_is_a_run(self):
        events = os.path.join(self.home, "events.json")
        result = self.run_as_user("run", "--json", events, "--", "/bin/sh", "-c", "/bin/true; /bin/true")
        self.assertEqual(result.returncode, 0, result.stderr)
        finish, = of_kind(support.parse_lines(text_of(events)), "run_finish")
        self.assertEqual(finish["processes"], 3)

    def test_another_user_s_process_is_not_seen(self):
        other = self.start("setpriv", "--reuid", str(ANOTHER), "--regid", str(ANOTHER), "--clear-groups", "sleep", "100")
        wait_until(lambda: "sleep" in text_of(f"/proc/{other.pid}/comm"), "its exec")
        self.assert_fails(self.run_as_user("watch", "--pid", str(other.pid)), 1, "TRC102")

    def test_watching_a_tree_ends_with_it(self):
        child = self.start(*AS_USER, "sh", "-c", "read line; /bin/true; /bin/true; exit 0", stdin=subprocess.PIPE)
        wait_until(lambda: text_of(f"/proc/{child.pid}/comm") == "sh\n", "its exec")
        report, events = os.path.join(self.home, "report.json"), os.path.join(self.home, "events.json")
        watch = self.start(*AS_USER, TRACERD, "watch", "--pid", str(child.pid), "--report", report, "--json", events,
                           env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(lambda: of_kind(support.parse_lines(text_of(events)), "process_start"), "its beginning")
        child.stdin.write("go\n")
        child.stdin.close()
        self.assertEqual(watch.wait(support.DEADLINE_SECONDS), 0)
        certificate = self.report(report)["certificate"]
        self.assertEqual((certificate["exits_seen"], certificate["ended"], certificate["complete"]), (3, 3, True))

    def test_a_source_can_be_forced(self):
        result = self.run_as_user("run", "--", "/bin/true", TRACER_SOURCE="kernel")
        self.assert_fails(result, 125, "TRC102")
        self.assertNotIn("TRC140", result.stderr)
        self.assert_fails(self.run_as_user("run", "--", "/bin/true", TRACER_SOURCE="none"), 125, "TRC101")
        report = self.path("forced.json")
        result = self.tracerd("run", "--report", report, "--", "/bin/true",
                              env=os.environ | {"TRACER_SOURCE": "service", "TRACER_SOCKET": self.socket})
        self.assertEqual(result.returncode, 0, result.stderr)
        certificate = self.report(report)["certificate"]
        self.assertEqual((certificate["tier"], certificate["exits_seen"]), ("service", 1))

    def test_without_a_service_proc_is_polled_and_both_problems_are_reported(self):
        report = os.path.join(self.home, "polled.json")
        result = self.run_as_user("run", "--report", report, "--", "/bin/sh", "-c", "sleep 0.5; exit 3",
                                  TRACER_SOCKET=self.path("nothing"))
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertIn("tracerd: polls /proc, so that sums are lower bounds: missing capability CAP_BPF; and no service "
                      f"listens on {self.path('nothing')}", result.stderr)
        certificate = self.report(report)["certificate"]
        self.assertEqual((certificate["tier"], certificate["complete"], certificate["exits_seen"]), ("proc", False, 2))
        self.assertGreaterEqual(certificate["missed_at_most"], 0)
        self.assert_fails(self.run_as_user("run", "--", "/bin/true", TRACER_SOCKET="x" * 200), 125, "TRC101")

    def test_check_finds_the_service(self):
        result = self.run_as_user("check")
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("tracing works here by the service", result.stdout)

    def test_a_service_that_ends_leaves_a_stated_gap(self):
        events = os.path.join(self.home, "events.json")
        run = self.start(*AS_USER, TRACERD, "run", "--json", events, "--", "sh", "-c", "/bin/true; read line; /bin/true",
                         env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        wait_until(lambda: of_kind(support.parse_lines(text_of(events)), "process_exit"), "the first exit")
        self.service.send_signal(signal.SIGKILL)
        self.service.wait()
        _, told = run.communicate("go\n", timeout=support.DEADLINE_SECONDS)
        self.assertEqual(run.returncode, 0)
        self.assertIn("NOT complete", told)
        self.assertIn("; events of the service are missing", told)
        self.assertRegex(told, r"\ntracerd: the service ended: what ran after its last event \((at|\d[\d.]* \S+ after) the start\) was not seen\n")

    def test_on_a_terminal_it_says_where_it_serves(self):
        path = os.path.join(self.folder, "another.sock")
        terminal = support.Terminal(self, TRACERD, "serve", "--socket", path)
        terminal.read_until("Ctrl-C to stop")
        self.assertIn(f"tracerd: serving on {path}; ", terminal.text)
        os.kill(terminal.pid, signal.SIGINT)
        terminal.exit_status()


class Examples(support.TestCase):
    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("needs root")
        self.service, self.socket = begin_service(self, self.folder)
        self.examples = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples")

    def announced(self, *program):
        """A task that a program has announced is in the events of what runs in its folder."""
        folder = self.path("work")
        os.mkdir(folder)
        environment = os.environ | {"TRACER_SOCKET": self.socket}
        result = subprocess.run([*program, folder, "ALIGN"], capture_output=True, text=True, env=environment, timeout=60)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        events = self.path("events.json")
        result = self.tracerd("run", "--json", events, "--", "/bin/true", cwd=folder,
                              env=environment | {"TRACER_SOURCE": "service"})
        self.assertEqual(result.returncode, 0, result.stderr)
        exit_event, = of_kind(support.parse_lines(text_of(events)), "process_exit")
        self.assertEqual(exit_event["context"]["task"], "ALIGN")

    def test_the_standard_library_of_python_announces(self):
        self.announced(support.PYTHON, os.path.join(self.examples, "python_stdlib", "announce.py"))

    @unittest.skipUnless(shutil.which("java"), "needs a JDK")
    def test_a_plain_jdk_announces(self):
        self.announced("java", os.path.join(self.examples, "jvm", "Announce.java"))


if __name__ == "__main__":
    unittest.main()
