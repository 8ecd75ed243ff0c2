# SPDX-License-Identifier: Apache-2.0
"""What tracerd finds wrong: above the table, and by tracerd why."""

import html
import json
import os
import re
import subprocess
import sys

import support
from support import NOBODY, TRACERD, Terminal

# Its child is killed by a stranger, and it ends well all the same.
KILLED = """
sh -c 'echo $$ > victim; exec sleep 60' &
wait
exit 0
"""
STRANGER = """
until [ -s "$1" ]; do sleep 0.02; done
read pid < "$1"
while read name < /proc/$pid/comm; [ $name != sleep ]; do sleep 0.02; done
sleep 1
kill -9 $pid
"""
TASKS = """
for s in S1 S2; do
  "$TRACERD" task --step align --sample $s -- sh -c 'head -c 40000000 /dev/zero | gzip > /dev/null' &
done
wait
"$TRACERD" task --step sort --sample S1 -- sh -c 'sort nowhere; exit 3'
exit 0
"""


# "side" is the longest of all, and nobody needs it.
CHAIN = """
"$TRACERD" task --step side --sample b -- sh -c 'echo b > b; sleep 1' &
"$TRACERD" task --step make --sample a -- sh -c 'sleep 0.5; echo a > a1'
"$TRACERD" task --step use --sample a -- sh -c 'cat a1 > a2; sleep 0.4'
wait
sleep 0.6
"$TRACERD" task --step join --sample a -- sh -c 'cat a2 > a3; sleep 0.4'
exit 0
"""


# "use" waits for "make" from when it opens the FIFO on; "lone" for the script, which is in no task.
FIFOS = """
mkfifo f g
"$TRACERD" task --step make --sample a -- sh -c 'until [ -e ready ]; do sleep 0.05; done; sleep 3; echo x > f; true' &
"$TRACERD" task --step use --sample a -- sh -c ': > ready; cat f; sleep 0.3; true' &
"$TRACERD" task --step lone --sample a -- sh -c ': > alone; cat g; true' &
until [ -e alone ]; do sleep 0.05; done
sleep 2
echo x > g
wait
exit 0
"""

# Whom `ask` waits for is in another task, whom `pair` waits for is in itself.
LOCKS = """
"$TRACERD" task --step hold --sample a -- flock l sh -c ': > held; sleep 3; true' &
until [ -e held ]; do sleep 0.05; done
"$TRACERD" task --step take --sample a -- flock l sh -c 'sleep 0.3; true' &
"$TRACERD" task --step serve --sample a -- "$PYTHON" -c '
import socket, time
with socket.socket(socket.AF_UNIX) as listener:
    listener.bind("s")
    listener.listen()
    open("listens", "w").close()
    with listener.accept()[0] as client:
        client.recv(1)
        time.sleep(2)
        client.send(b"x")
        client.recv(1)
' &
until [ -e listens ]; do sleep 0.05; done
"$TRACERD" task --step ask --sample a -- "$PYTHON" -c '
import socket, time
with socket.socket(socket.AF_UNIX) as server:
    server.connect("s")
    server.send(b"x")
    server.recv(1)
    time.sleep(0.3)
' &
"$TRACERD" task --step pair --sample a -- sh -c 'flock m sleep 2 & sleep 0.5; flock m true; wait' &
wait
exit 0
"""


class Why(support.TestCase):
    def run_script(self, script, *options):
        path = self.path("r.tracer")
        result = self.tracerd("run", "--record", path, "--no-live", *options, "--", "bash", "-c", script, cwd=self.folder,
                              env=os.environ | {"TRACERD": TRACERD, "PYTHON": sys.executable})
        self.assertEqual(result.returncode, 0, result.stderr)
        return path, result.stderr

    def await_victim(self):
        stranger = subprocess.Popen(["sh", "-c", STRANGER, "sh", self.path("victim")])
        self.addCleanup(stranger.wait)

    def why(self, *words, status=0):
        result = self.tracerd("why", *words)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        return result.stdout if status == 0 else result.stderr

    def test_what_a_stranger_killed_is_said_first(self):
        self.await_victim()
        path, printed = self.run_script(KILLED)
        head, table = printed.split("  where time went", 1)
        self.assertRegex(head, r"\n\nerror: .*sleep.*\n")
        self.assertNotIn("error: ", table)
        text = self.why(path)
        self.assertRegex(text, r"^\d+ error")
        self.assertNotIn("killed_by_user", text)
        self.assertIn("was ended by SIGKILL", text)
        made = json.loads(self.why("--json", path))
        killed, = made["findings"]
        self.assertEqual((killed["code"], killed["severity"], killed["tool"]), ("killed_by_user", "error", "sleep"))
        pid = str(killed["pid"])
        of_pid = self.why(path, pid)
        self.assertRegex(of_pid, rf"^process sleep \(pid {pid}\) in run ")
        self.assertIn("ended by signal 9 (KILL)", of_pid)
        self.assertIn("mostly idle: ", of_pid)
        self.assertIn("error: ", of_pid)
        self.assertEqual(json.loads(self.why("--json", path, "pid:" + pid))["exit_signal"], 9)

    def test_one_task_whole(self):
        path, _ = self.run_script(TASKS)
        text = self.why(path, "align S1")
        self.assertTrue(text.startswith("task align (S1) in run "), text)
        self.assertRegex(text, r"\n  (mostly [a-zA-Z ]+: \d+ % of its time|bound by no single cause)\n")
        self.assertRegex(text, r"\n  gzip +\d+ ")
        self.assertRegex(text, r"\nprocesses over time \(.*\):\n")
        self.assertRegex(text, r"\n  gzip +\d+  \| *[█░]+ *\| +\d")
        self.assertRegex(text, r"at the same time, most CPU first:\n.*\n  align \(S2\) ")
        made = json.loads(self.why("--json", path, "sort"))
        self.assertEqual((made["subject"], made["step"], made["sample"], made["exit_code"]), ("task", "sort", "S1", 3))
        self.assertEqual([one["tool"] for one in made["failures"]], ["sort", "sh -c"][:len(made["failures"])])
        self.assertTrue(made["findings"])
        self.assertEqual({one["task_key"] for one in made["findings"]}, {made["task_key"]})
        report = json.loads(self.tracerd("report", "--json", path).stdout)
        row, = [each for each in report["tasks"] if each.get("task_key") == made["task_key"]]
        self.assertEqual((row["task_ledger"], row["bound_by"]), (made["task_ledger"], made["bound_by"]))
        ledger = row["task_ledger"]
        causes = sum(value for name, value in ledger.items() if name not in ("wall_ns", "computing_at_most_ns"))
        self.assertEqual(causes, ledger["wall_ns"])
        self.assertEqual(self.why(path, made["task_key"]), self.why(path, "sort"))
        lines = self.why(path, "align", status=2)
        self.assertEqual(len(re.findall(r"\n  [0-9a-f]{16}  task align \(S[12]\)", lines)), 2, lines)
        self.assertIn("'align' is ambiguous; use one of these keys:", lines)
        self.assertIn("has no task, run, process or tool 'nothing'\n", self.why(path, "nothing", status=1))
        unknown = self.why(path, "gzi", status=1)
        self.assertIn("has no task, run, process or tool 'gzi'; did you mean 'gzip'?\n", unknown)
        self.assertRegex(unknown, r"\ntools: .*\bgzip, .*\bsort\b")

    def test_tools_are_asked_for_by_their_names(self):
        path, _ = self.run_script("seq 300000 | sort -n > /dev/null; seq 10 > /dev/null; cat /etc/passwd > /dev/null")
        cat = self.why(path, "cat")
        self.assertRegex(cat, r"^process cat \(pid \d+\) in run ")
        self.assertRegex(cat, r"\n  began (at the start|\d+ .?s after the start), ")
        lines = self.why(path, "seq", status=2)
        self.assertRegex(lines, r"'seq' is ambiguous; use one of these keys:\n  pid:\d+  process seq, took \d+ .s, CPU \d+ .s: seq \d+\n")
        pid = re.findall(r"pid:\d+", lines)[0]
        self.assertTrue(self.why(path, pid).startswith("process seq "))
        self.assertRegex(self.why(path, json.loads(self.why("--json", path))["runs"][0]["run_key"]), r"\n  began at the start, ")

    def test_on_a_narrow_terminal_its_processes_fit(self):
        path, _ = self.run_script("seq 300000 | sort -n > /dev/null; true " + "word " * 30)
        run = json.loads(self.why("--json", path))["runs"][0]["run_key"]
        for columns, heads in ((120, "tool +pid +after .* command"), (60, "tool +pid .* ended by")):
            terminal = support.Terminal(self, TRACERD, "why", path, run, columns=columns)
            terminal.read_until(None)
            table = terminal.text.split("\nprocesses, most CPU first")[1].split("\n\n")[0].splitlines()
            self.assertRegex(table[1], f"^  {heads}$")
            self.assertEqual([line for line in table if len(line) >= columns], [])

    def test_the_critical_path_of_a_run(self):
        path, printed = self.run_script(CHAIN)
        run, = json.loads(self.why("--json", path))["runs"]
        critical = run["critical_path"]
        self.assertEqual([task["name"] for task in critical["tasks"]], ["make (a)", "use (a)", "join (a)"])
        took = [task["end_ns"] - task["begin_ns"] for task in critical["tasks"]]
        self.assertEqual((critical["basis"], critical["length_ns_at_least"]), ("files", sum(took)))
        self.assertGreaterEqual(sum(took), 1_300_000_000)
        self.assertLessEqual(sum(took), critical["length_ns_at_most"])
        self.assertLessEqual(critical["length_ns_at_most"], run["end_ns"] - run["begin_ns"])
        self.assertGreaterEqual(run["without_task_ns"], 500_000_000)
        line = (r"\nThe longest chain of tasks, make \(a\), use \(a\), join \(a\), took [12]\.\d+ s of \d\.\d+ s, by the files "
                r"that they passed on: more tasks at once can't make the run shorter than that\.")
        self.assertRegex(self.why(path), line)
        self.assertRegex(self.why(path), r"\. For \d+ ms no task ran\.\nfor details of a task: tracerd why FILE TASK; the slowest of \d+: ")
        row, = json.loads(self.tracerd("report", "--json", path).stdout)["runs"]
        self.assertEqual((row["critical_path"], row["without_task_ns"]), (critical, run["without_task_ns"]))
        self.assertRegex(printed, line)
        self.assertRegex(self.tracerd("report", path).stdout, line)
        self.assertRegex(html.unescape(self.tracerd("report", "--html", path).stdout), line)
        text = self.why(path, run["run_key"])
        self.assertRegex(text, r"its tasks over time \(.*\):\n  make \(a\) .*\n  use \(a\) .*\n  join \(a\) ")

    def test_a_task_that_waits_for_another(self):
        path, printed = self.run_script(FIFOS)
        use, make, lone = (json.loads(self.why("--json", path, step)) for step in ("use", "make", "lone"))
        wait, = use["waits_for"]
        self.assertEqual((wait["task_key"], wait["name"]), (make["task_key"], make["name"]))
        # Less than 3 s by how long its `cat` took to begin, on a busy machine.
        self.assertGreaterEqual(wait["wait_ns"], 2_000_000_000)
        self.assertLessEqual(wait["wait_ns"], use["task_ledger"]["pipe_ns"])
        self.assertRegex(self.why(path, "use"), r"\n  waits for task make \(a\): [23]\.\d s, by pipes\n")
        self.assertGreaterEqual(lone["task_ledger"]["pipe_ns"], 1_000_000_000)
        for other in (make, lone):
            self.assertNotIn("waits_for", other)
        rows = {row["step"]: row for row in json.loads(self.tracerd("report", "--json", path).stdout)["tasks"]}
        self.assertEqual({step for step, row in rows.items() if "waits_for" in row}, {"use"})
        self.assertEqual(rows["use"]["waits_for"], use["waits_for"])
        line = r"\ntask use \(a\) waited [23]\.\d+ s of its \S+ s for task make \(a\), by pipes\n"
        self.assertRegex(printed, line)
        self.assertRegex(self.tracerd("report", path).stdout, line)

    def test_tasks_that_wait_for_locks_and_sockets_of_others(self):
        path, printed = self.run_script(LOCKS)
        take, ask, pair = (json.loads(self.why("--json", path, step)) for step in ("take", "ask", "pair"))
        for task, other, cause, member in ((take, "hold (a)", "lock", "lock_ns"),
                                           (ask, "serve (a)", "local socket", "local_socket_ns")):
            wait, = task["waits_for"]
            self.assertEqual((wait["name"], wait["cause"]), (other, cause))
            # Less than 2 s and more by how long programs took to begin, on a busy machine.
            self.assertGreaterEqual(wait["wait_ns"], 1_200_000_000)
            self.assertLessEqual(wait["wait_ns"], task["task_ledger"][member])
        self.assertNotIn("waits_for", pair)
        self.assertLessEqual(pair["task_ledger"]["lock_ns"], 500_000_000)
        self.assertRegex(printed, r"\ntask take \(a\) waited [123]\.\d+ s of its \S+ s for task hold \(a\), by locks\n")
        self.assertRegex(self.why(path, "ask"), r"\n  waits for task serve \(a\): [12]\.\d+ s, by local sockets\n")

    def test_nothing_wrong(self):
        path, printed = self.run_script("true")
        self.assertNotIn("error: ", printed)
        self.assertNotIn("warning: ", printed)
        self.assertTrue(self.why(path).startswith("nothing was found"))
        self.assertEqual(json.loads(self.why("--json", path))["findings"], [])

    def test_without_rights_nobody_says_that_there_was_no_failure(self):
        path = self.path("polled")
        self.tracerd("run", "--record", path, "--", "sh", "-c", "cat nothere; sleep 0.3; true", env=os.environ | {"TRACER_SOURCE": "proc"})
        text = self.why(path)
        self.assertTrue(text.startswith("nothing was found, but most failures, short processes, waits and files can't be seen without rights"), text)

    def test_what_was_too_short_to_be_read_is_called_by_what_the_kernel_calls_it(self):
        polled = self.tracerd("run", "--", "false", env=os.environ | {"TRACER_SOURCE": "proc"}).stderr
        self.assertNotIn("(unknown)", polled)
        self.assertRegex(polled, r"(?m)^(  )?false +≥ 1 ")
        self.assertNotIn("at most 0", polled)

    def test_a_recording_without_findings_gets_them(self):
        path, _ = self.run_script(TASKS)
        found = json.loads(self.why("--json", path))["findings"]
        self.assertTrue(found)
        self.assertIn(found[0]["text"], self.tracerd("report", "--html", path).stdout)

    def test_a_reader_without_rights(self):
        path, _ = self.run_script(TASKS)
        os.chmod(path, 0o644)
        result = self.tracerd("why", path, user=NOBODY, group=NOBODY, extra_groups=[])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("warning: task sort (S1) failed: sort ", result.stdout)

    def test_a_command_that_names_a_task_is_in_it(self):
        path = self.path("r.tracer")
        result = self.tracerd("run", "--record", path, "--", TRACERD, "task", "--step", "S", "--", "bash", "-c",
                              "bash -c 'kill -SEGV $$'; true")
        self.assertEqual(result.returncode, 0, result.stderr)
        found, = json.loads(self.why("--json", path))["findings"]
        self.assertEqual((found["code"], found["severity"]), ("core_dumped", "warning"))
        self.assertRegex(self.why(path, "S"), r" crashed by SIG[A-Z]+ after ")

    def test_wrong_words(self):
        self.assert_fails(self.tracerd("why", "--moon", "a"), 2, "TRC101")
        # Of the latest run that a service has recorded.
        nobody = os.environ | {"TRACER_SOCKET": self.path("no.sock")}
        for words in ((), ("a",)):
            self.assert_fails(self.tracerd("why", *words, env=nobody), 1, "TRC140")
        self.assert_fails(self.tracerd("why", "a", "b", "c"), 1, "TRC110")
        self.assert_fails(self.tracerd("why", self.path("absent")), 1, "TRC110")

    def test_the_live_line_shows_a_failure(self):
        script = self.path("s.sh")
        with open(script, "w", encoding="utf-8") as file:
            file.write(KILLED.replace("exit 0", "sleep 3; exit 0").replace("victim", self.path("victim")))
        self.await_victim()
        terminal = Terminal(self, TRACERD, "run", "--", "bash", script, columns=200)
        terminal.read_until(None)
        self.assertEqual(terminal.exit_status(), 0)
        live = re.findall(r"\033\[24;1H\033\[m\033\[K(.*?)\0338", terminal.text)
        self.assertTrue(any(re.match(r"\d:\d\d  [\w, ]+ \| sleep \(pid", line) for line in live), terminal.text)


if __name__ == "__main__":
    support.main()
