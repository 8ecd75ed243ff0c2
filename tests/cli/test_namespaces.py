# SPDX-License-Identifier: Apache-2.0
"""In namespaces of its own tracerd tells what it tells outside of them."""

import os
import subprocess
import time

import support
from support import TRACERD, of_kind, parse_lines, text_of

# Computes for 3 s of its own CPU time.
JOB = """/usr/bin/python3 -c "import time
while time.process_time() < 3: pass\""""


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


class PidNamespace(support.TestCase):
    """As in a container: pids are those that the namespace shows, in events as in its /proc."""
    INSIDE = ["unshare", "--pid", "--fork", "--mount-proc"]

    def inside(self, *words, proc=True):
        return subprocess.run([*(self.INSIDE if proc else self.INSIDE[:-1]), *words], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=support.DEADLINE_SECONDS, check=False)

    def traced(self, script, *options):
        """Of `tracerd run` of a shell script inside: what it printed, and the events."""
        out = self.path("out.json")
        result = self.inside(TRACERD, "run", "--json", out, *options, "--", "sh", "-c", script)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("nothing lost", result.stderr)
        return result.stdout, parse_lines(text_of(out))

    def test_run_tells_the_pids_that_the_command_sees(self):
        printed, events = self.traced("echo $$ $PPID; sh -c 'echo $$; :'; true")
        [shell, parent], [child] = [[int(word) for word in line.split()] for line in printed.splitlines()]
        ended = {event["pid"]: event for event in of_kind(events, "process_exit")}
        self.assertEqual(ended[shell]["argv"][:2], ["sh", "-c"])
        self.assertEqual(ended[shell]["parent_pid"], parent)
        self.assertEqual(ended[child]["parent_pid"], shell)
        self.assertGreaterEqual(len(ended), 2)
        self.assertLess(max(ended), 1000, "numbers of the initial namespace")

    def test_the_peer_of_a_pipe_is_named_by_its_pid(self):
        _, events = self.traced("(sleep 0.2; echo $$) | cat > /dev/null")
        [reader] = [event for event in of_kind(events, "process_exit") if event["argv"] == ["cat"]]
        self.assertGreater(reader["ledger"]["pipe_read_ns"], 100_000_000)
        peers = {event["pid"] for event in of_kind(events, "process_exit")} - {reader["pid"]}
        self.assertIn(reader["ledger"]["pipe_read_peer_pid"], peers)

    def test_namespaces_below_are_followed(self):
        printed, events = self.traced("unshare --pid --fork sh -c 'echo $$; true; :'")
        self.assertEqual(printed, "1\n")
        ended = of_kind(events, "process_exit")
        self.assertGreaterEqual(len(ended), 2)
        self.assertEqual(len({event["pid_namespace"] for event in ended}), 2)
        self.assertNotIn(1, {event["pid"] for event in ended})

    def test_a_task_in_a_namespace_below_is_counted(self):
        """Both jobs compute for 3 s, after what may not be counted yet: else the bounds were as far apart as that."""
        jobs = f"sleep 1; {JOB} & {JOB} & wait; true"
        out = self.path("out.json")
        result = subprocess.run([TRACERD, "run", "--json", out, "--", TRACERD, "task", "--step", "below", "--", *self.INSIDE,
                                 "sh", "-c", jobs], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                timeout=support.DEADLINE_SECONDS, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        task, = of_kind(parse_lines(text_of(out)), "task_finish")
        ledger = task["task_ledger"]
        self.assertGreaterEqual(ledger["computing_at_most_ns"], 3_000_000_000)
        self.assertLessEqual(ledger["computing_at_most_ns"] - ledger["computing_ns"], 1_500_000_000)

    def test_a_session_in_a_namespace_has_ledgers_of_tasks(self):
        _, events = self.traced(f"{TRACERD} task --step S -- sh -c '{JOB} & {JOB} & wait; true'; true")
        task, = of_kind(events, "task_finish")
        ledger = task["task_ledger"]
        self.assertGreaterEqual(ledger["computing_at_most_ns"], 3_000_000_000)
        self.assertLessEqual(ledger["computing_ns"], ledger["computing_at_most_ns"])
        parts = sum(value for name, value in ledger.items() if name not in ("wall_ns", "computing_at_most_ns"))
        self.assertEqual(parts, ledger["wall_ns"])

    def test_what_lives_is_met_by_its_pid(self):
        out = self.path("out.json")
        result = self.inside("sh", "-c", f"""
            sleep 300 & SLEEP=$!
            "{TRACERD}" watch --pid $SLEEP --json "{out}" 2> /dev/null & WATCH=$!
            while ! grep -q process_start "{out}" 2> /dev/null; do sleep 0.1; done
            kill $SLEEP; wait $WATCH; echo $SLEEP""")
        self.assertEqual(result.returncode, 0, result.stderr)
        [ended] = of_kind(parse_lines(text_of(out)), "process_exit")
        self.assertEqual(ended["pid"], int(result.stdout))
        self.assertEqual(ended["argv"], ["sleep", "300"])
        self.assertEqual(ended["exit_signal"], 15)

    def test_the_host_is_what_the_namespace_shows(self):
        out = self.path("out.json")
        outside = subprocess.Popen(["sh", "-c", "while :; do /bin/true outside-of-it; done"], stdin=subprocess.DEVNULL)
        try:
            result = self.inside("sh", "-c", f"""
                "{TRACERD}" watch --host --json "{out}" 2> /dev/null & WATCH=$!
                while [ "$(wc -l < "{out}" 2> /dev/null || echo 0)" -lt 3 ]; do sleep 0.1; done
                for n in 1 2 3; do /bin/echo inside-of-it; sleep 0.1; done
                kill -INT $WATCH; wait $WATCH""")
        finally:
            outside.kill()
            outside.wait()
        self.assertEqual(result.returncode, 0, result.stderr)
        events = parse_lines(text_of(out))
        words = [event["argv"][-1] for event in of_kind(events, "process_exit") if event["argv"]]
        self.assertEqual(words.count("inside-of-it"), 3)
        self.assertNotIn("outside-of-it", words)
        self.assertEqual(of_kind(events, "session_end")[0]["losses"], 0)

    def test_a_proc_of_another_namespace_is_refused(self):
        for words in (("run", "--", "touch", self.path("ran")), ("watch", "--host")):
            self.assert_fails(self.inside(TRACERD, *words, proc=False), 125 if words[0] == "run" else 1, "TRC118")
        self.assertFalse(os.path.exists(self.path("ran")))
        self.assertIn("TRC118", self.inside(TRACERD, "check", proc=False).stdout)


if __name__ == "__main__":
    support.main()
