# SPDX-License-Identifier: Apache-2.0
"""Signals, terminals, and what goes on living behind tracerd run."""

import os
import signal
import subprocess

import support
from support import PYTHON, TRACERD, Terminal, alive, of_kind, parse_lines, text_of, wait_until


class Terminals(support.TestCase):
    def test_stopped_by_a_key_it_gives_the_last_row_back_and_goes_on_later(self):
        terminal = Terminal(self, "bash", "--norc", "-ic",
                            f"{TRACERD} run --interval 200 -- sh -c 'sleep 5; echo done'; echo stopped: $?; fg")
        terminal.read_until("[2 running")
        terminal.write("\x1a")
        terminal.read_until("stopped: 148")
        self.assertIn("\x1b[24;1H\x1b[m\x1b[K\x1b8", terminal.text)
        terminal.read_until(None)
        self.assertEqual(terminal.exit_status(), 0)
        self.assertIn("done\n", terminal.text)
        self.assertIn("nothing lost", terminal.text)

    def test_where_no_shell_could_continue_it_the_key_stops_nothing(self):
        terminal = Terminal(self, TRACERD, "run", "--interval", "200", "--", "sh", "-c", "sleep 4; echo done")
        terminal.read_until("[2 running")
        terminal.write("\x1a")
        terminal.read_until(None)
        self.assertEqual(terminal.exit_status(), 0)
        self.assertIn("done\n", terminal.text)

    def test_the_command_has_the_terminal(self):
        terminal = Terminal(self, TRACERD, "run", "--", PYTHON, "-c",
                            "import os; print([os.isatty(fd) for fd in range(3)], os.tcgetpgrp(0) == os.getpgrp())")
        terminal.read_until(None)
        self.assertEqual(terminal.exit_status(), 0)
        self.assertIn("[True, True, True] True\n", terminal.text)

    def test_what_is_typed_goes_to_the_command(self):
        terminal = Terminal(self, TRACERD, "run", "--", "cat")
        terminal.write("hello\n")
        terminal.read_until("hello\nhello\n")  # the terminal's echo, and cat's answer
        terminal.write("\x04")
        terminal.read_until(None)
        self.assertEqual(terminal.exit_status(), 0)

    def test_an_interrupt_ends_a_command_that_takes_it(self):
        terminal = Terminal(self, TRACERD, "run", "--", "sh", "-c", "echo ready; exec sleep 1000")
        terminal.read_until("ready\n")
        terminal.write("\x03")
        terminal.read_until(None)
        self.assertEqual(terminal.exit_status(), 128 + signal.SIGINT)
        self.assertIn("signal 2 (INT)", terminal.text)
        self.assertNotIn("detached", terminal.text)

    def test_a_second_interrupt_detaches_and_leaves_the_command_alone(self):
        marks, script = self.path("marks"), self.path("script")
        with open(script, "w", encoding="ascii") as file:
            file.write(f"""trap 'echo int >> {marks}' INT
trap '' HUP
echo "pid $$ ready"
while :; do sleep 0.05; done
""")
        terminal = Terminal(self, TRACERD, "run", "--", "sh", script)
        terminal.read_until("ready\n")
        command = int(terminal.text.split("pid ")[1].split()[0])
        self.kill_at_end(command)
        terminal.write("\x03")
        wait_until(lambda: text_of(marks) == "int\n", "the command hears the first interrupt")
        self.assertEqual(os.waitpid(terminal.pid, os.WNOHANG), (0, 0), "tracerd goes on after the first interrupt")
        terminal.write("\x03")
        terminal.read_until("nothing lost")
        self.assertEqual(terminal.exit_status(), 130)
        self.assertIn("detached", terminal.text)
        self.assertIn(f"pid {command} ", terminal.text.split("still running:")[1])
        self.assertTrue(alive(command))


class Forwarding(support.TestCase):
    def start_command(self, script, **arguments):
        process = self.start(TRACERD, "run", "--", "sh", "-c", script, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, **arguments)
        command = int(process.stdout.readline())
        self.kill_at_end(command)
        return process, command

    def test_signals_to_tracerd_are_forwarded_to_the_command(self):
        for name in ("TERM", "HUP", "USR1", "USR2", "QUIT", "INT"):
            with self.subTest(signal=name):
                marks = self.path(name)
                process, _ = self.start_command(f"trap 'echo {name} > {marks}; exit 9' {name}; echo $$; "
                                                "while :; do sleep 0.05; done")
                process.send_signal(getattr(signal, "SIG" + name))
                stderr = process.communicate(timeout=support.DEADLINE_SECONDS)[1]
                self.assertEqual(process.returncode, 9, stderr)
                self.assertEqual(text_of(marks), name + "\n")
                self.assertIn("total", stderr)

    def test_a_command_killed_by_a_forwarded_signal_tells_so(self):
        process, _ = self.start_command("echo $$; exec sleep 1000")
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=support.DEADLINE_SECONDS)
        self.assertEqual(process.returncode, 128 + signal.SIGTERM)

    def test_a_stopped_command_is_not_taken_for_an_ended_one(self):
        process, command = self.start_command("echo $$; read x; kill -STOP $$; exit 6")
        wait_until(lambda: process.poll() is None and text_of(f"/proc/{command}/stat").split()[2:3] == ["T"],
                   "the command stops")
        self.assertIsNone(process.poll())
        os.kill(command, signal.SIGCONT)
        process.communicate(timeout=support.DEADLINE_SECONDS)
        self.assertEqual(process.returncode, 6)

    def test_who_stops_tracerd_and_continues_it_does_so_to_the_command(self):
        # In a group of its own, of this session: the kernel stops none of an orphaned group.
        process, command = self.start_command("echo $$; while :; do sleep 0.05; done", process_group=0)

        def states():
            return [text_of(f"/proc/{pid}/stat").split()[2] for pid in (process.pid, command)]
        process.send_signal(signal.SIGTSTP)
        wait_until(lambda: states() == ["T", "T"], "both stop")
        process.send_signal(signal.SIGCONT)
        wait_until(lambda: "T" not in states(), "both go on")
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=support.DEADLINE_SECONDS)
        self.assertEqual(process.returncode, 128 + signal.SIGTERM)

    def test_the_command_goes_on_when_tracerd_is_killed(self):
        process, command = self.start_command("echo $$; exec sleep 1000")
        process.kill()
        process.wait(timeout=support.DEADLINE_SECONDS)
        self.assertTrue(alive(command))


# Sends its tracer SIGCONT as fast as it can; prints the CPU time of both, in ticks.
FLOOD = """
import os, signal, time
tracer = os.getppid()
def ticks(pid):
    with open(f'/proc/{pid}/stat', encoding='ascii') as file: fields = file.read().rsplit(')', 1)[1].split()
    return int(fields[11]) + int(fields[12])
before = ticks(tracer), ticks(os.getpid())
until = time.monotonic() + 2
while time.monotonic() < until:
    for _ in range(100): os.kill(tracer, signal.SIGCONT)
print(ticks(tracer) - before[0], ticks(os.getpid()) - before[1])
"""


class Floods(support.TestCase):
    def test_whoever_floods_it_with_signals_pays_for_it_alone(self):
        result, events = self.trace(PYTHON, "-c", FLOOD)
        tracer, flooder = map(int, result.stdout.split())
        self.assertGreater(flooder, 10)
        self.assertLess(tracer, flooder * 0.2)
        self.assertEqual(events[-1]["kind"], "session_end")

    def test_a_signal_that_asks_for_the_end_comes_through_a_flood_of_others(self):
        flood = "import os, signal, sys\nwhile True: os.kill(int(sys.argv[1]), signal.SIGUSR1)\n"
        tracer = self.start(TRACERD, "run", "--", "sh", "-c", "trap '' USR1; trap 'kill $!; exit 7' TERM; "
                            f"{PYTHON} -c \"$0\" $PPID & echo ready; while :; do sleep 0.1; done", flood,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.assertEqual(tracer.stdout.readline(), "ready\n")
        tracer.send_signal(signal.SIGTERM)
        self.assertEqual(tracer.wait(support.DEADLINE_SECONDS), 7)


class Survivors(support.TestCase):
    def test_a_background_process_is_listed_and_left_alone(self):
        result, events = self.trace("sh", "-c", f"setsid sleep 1000 >/dev/null 2>&1 & echo $! > {self.path('pid')}; "
                                    "while ! grep -q sleep /proc/$!/comm; do :; done")
        survivor = int(text_of(self.path("pid")))
        self.kill_at_end(survivor)
        self.assertEqual(result.returncode, 0)
        self.assertIn("1 still running:", result.stderr)
        self.assertIn(f"pid {survivor}  sleep", result.stderr)
        self.assertTrue(alive(survivor))
        self.assertEqual([event["pid"] for event in of_kind(events, "process_sample")], [survivor])

    def test_a_process_that_forks_twice_stays_in_the_tree(self):
        program = ("import os, time\n"
                   "if os.fork(): os._exit(0)\n"
                   "os.setsid()\n"
                   "if os.fork(): os._exit(0)\n"
                   "os.execvp('/bin/echo', ['/bin/echo', 'daemon'])\n")
        path = self.path("trace.json")
        result = self.tracerd("run", "--json", path, "--", "sh", "-c", f"{PYTHON} -c \"$0\" | cat", program)
        self.assertEqual(result.stdout, "daemon\n")
        # It may end after the command, and so after the trace.
        execs = of_kind(parse_lines(text_of(path)), "process_exec")
        self.assertIn(["/bin/echo", "daemon"], [event["argv"] for event in execs])


if __name__ == "__main__":
    support.main()
