# SPDX-License-Identifier: Apache-2.0
"""What reaches a terminal, and what the command can do to its tracer through the one they share."""

import ast
import contextlib
import os
import re
import shutil
import signal
import subprocess
import termios
import threading
import time

import support
from support import NOBODY, PYTHON, TRACERD, Terminal, of_kind, parse_lines, text_of, wait_until

STEERING = "\x85\x9b31m\x9d0;t\u061c\u200f\u202e\u2066x"

TYPE = """
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
failed = libc.ioctl(0, ctypes.c_ulong(int(sys.argv[1])), b'#')
print('refused:' if failed else 'typed:', ctypes.get_errno())
"""
PYTHON_OF_ALL = "/usr/bin/python3"
TIOCSTI, TIOCLINUX = 0x5412, 0x541C


class Text(support.TestCase):
    def assert_steers_nothing(self, text):
        for character in text:
            self.assertTrue(character in "\n" or " " <= character < "\x7f" or character >= "\xa0", repr(text))
        for character in STEERING[:-1]:
            if not character.isalnum() and character != ";":
                self.assertNotIn(character, text)

    def test_dump_escapes_what_steers_a_terminal(self):
        self.tracerd("run", "--record", self.path("r"), "--", "/bin/echo", STEERING)
        dumped = self.tracerd("dump", self.path("r")).stdout
        self.assert_steers_nothing(dumped)
        self.assertIn("\\u0085\\u009b31m\\u009d0;t\\u061c\\u200f\\u202e\\u2066x", dumped)
        exits = support.of_kind(support.parse_lines(dumped), "process_exit")
        self.assertEqual(exits[0]["argv"], ["/bin/echo", STEERING])

    def test_the_table_has_no_direction_marks(self):
        program = self.path("tool" + STEERING)
        shutil.copy("/bin/false", program)
        self.assert_steers_nothing(self.tracerd("run", "--", program, STEERING).stderr)

    def test_what_hides_is_the_same_in_tables_in_json_and_in_the_python_package(self):
        package = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../bindings/python/tracer/_format.py")
        with open(package, encoding="utf-8") as file:
            pattern, = [node.value.args[0].value for node in ast.parse(file.read()).body
                        if isinstance(node, ast.Assign) and node.targets[0].id == "_HIDDEN"]
        characters = [chr(code) for code in range(0x80, 0x110000) if not 0xd800 <= code < 0xe000]
        hidden = [character for character in characters if re.match(pattern, character)]
        # Beside each of them, what is shown.
        shown = sorted({chr(ord(character) + step) for character in hidden for step in (-1, 1)} - set(hidden) - {"\x7f"})
        self.assertGreater(len(hidden), 4000)
        for some in (hidden, shown):
            message = self.tracerd("run", "--", "a".join(some), env=os.environ | {"LC_ALL": "C.UTF-8"}).stderr
            # One for each byte.
            wanted = ["?" * len(character.encode()) for character in some] if some is hidden else some
            self.assertEqual(message.split(": ")[1], "a".join(wanted))
        self.tracerd("run", "--record", self.path("r"), "--", "/bin/true", *hidden, *shown)
        dumped = self.tracerd("dump", self.path("r")).stdout
        self.assertEqual(set(dumped) & set(hidden), set())
        argv = of_kind(parse_lines(dumped), "process_exit")[0]["argv"]
        self.assertTrue(any(character in "".join(argv) for character in hidden))
        self.assertTrue(any(character in dumped for character in shown))

    def test_names_of_files_in_messages(self):
        name = self.path("e\x1b]0;pwn\x07" + STEERING)
        with open(name, "wb") as file:
            file.write(b"no recording")
        messages = [self.tracerd("dump", name).stderr, self.tracerd("export", "--trace", "-", name).stderr,
                    self.tracerd("run", "--record", name + "/x", "--", "true").stderr,
                    self.tracerd("run", "--", name).stderr,
                    self.tracerd("check", "--rules", name).stderr, self.tracerd("dump", "--" + name).stderr]
        recording = self.path("r")
        self.tracerd("run", "--record", recording, "--", "true")
        with open(recording, "rb") as whole, open(name, "wb") as cut:
            cut.write(whole.read()[:-40])
        messages.append(self.tracerd("dump", name).stderr)
        for message in messages:
            self.assertIn("e?]0;pwn?", message)
            self.assert_steers_nothing(message)


class Stopped(support.TestCase):
    """A terminal that takes nothing, as after ^S, which any command may do to it."""
    STOP = "import os, sys, termios, time; termios.tcflow(0, termios.TCOOFF); "

    def test_the_tracer_goes_on_and_the_signal_that_asks_for_its_end_ends_it(self):
        json, done = self.path("json"), self.path("done")
        terminal = Terminal(self, TRACERD, "run", "--interval", "100", "--json", json, "--", PYTHON, "-c", self.STOP +
                            f"time.sleep(4); [os.system('true') for _ in range(50)]; open({done!r}, 'w')")
        wait_until(lambda: os.path.exists(done), "the command's end")
        wait_until(lambda: text_of(json).endswith("\n") and '"session_end"' in text_of(json), "the end of the events")
        self.assertEqual(len(of_kind(parse_lines(text_of(json)), "process_exit")), 51)
        os.kill(terminal.pid, signal.SIGTERM)
        self.assertEqual(terminal.exit_status(), 0)

    # Looks are followed by writes half a second later, so that the terminal stops in between.
    SLOWLY = ("sh", "-c", 'exec strace -f -D -qq -o /dev/null -P "$(tty)" -e trace=write -e inject=write:delay_enter=500000 "$@"', "sh")

    def test_one_that_is_stopped_between_a_look_and_a_write_stops_nothing(self):
        for fill in ("", "os.set_blocking(1, False)\ntry: os.write(1, b'x' * 100000)\nexcept OSError: pass\n"):
            with self.subTest(fill=bool(fill)):
                json, stopped = self.path("json" + fill[:1]), self.path("stopped" + fill[:1])
                terminal = Terminal(self, *self.SLOWLY, TRACERD, "run", "--interval", "100", "--json", json, "--", PYTHON, "-c",
                                    f"import os, termios, time; time.sleep(3)\n{fill}termios.tcflow(0, termios.TCOOFF)\n"
                                    f"open({stopped!r}, 'w'); time.sleep(600)")
                threading.Thread(target=self.swallow, args=(terminal.fd,), daemon=True).start()
                wait_until(lambda stopped=stopped: os.path.exists(stopped), "it has stopped the terminal")
                os.kill(terminal.pid, signal.SIGTERM)
                wait_until(lambda json=json: '"session_end"' in text_of(json), "the end of the events")
                # It waits for the terminal with its table, until it is asked again.
                os.kill(terminal.pid, signal.SIGTERM)
                wait_until(lambda pid=terminal.pid: os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT),
                           "the tracer's end")
                self.assertEqual(terminal.exit_status(), 128 + signal.SIGTERM)

    @staticmethod
    def swallow(fd):
        with contextlib.suppress(OSError):
            while os.read(fd, 65536):
                pass

    def test_what_is_inherited_stays_blocking(self):
        code = "import fcntl; print(fcntl.fcntl(2, fcntl.F_GETFL) & 0o4000)"
        terminal = Terminal(self, TRACERD, "run", "--no-live", "--", PYTHON, "-c", code)
        terminal.read_until("nothing lost")
        self.assertEqual(terminal.text.splitlines()[0], "0")

    def test_the_table_comes_when_the_terminal_goes_on(self):
        terminal = Terminal(self, TRACERD, "run", "--no-live", "--", PYTHON, "-c", self.STOP)
        command = f"/proc/{terminal.pid}/task/{terminal.pid}/children"
        time.sleep(1)
        wait_until(lambda: text_of(command) == "", "the command's end")
        self.assertEqual(os.waitpid(terminal.pid, os.WNOHANG), (0, 0))
        with open(os.readlink(f"/proc/{terminal.pid}/fd/0"), "r+b", buffering=0,
                  opener=lambda name, flags: os.open(name, flags | os.O_NOCTTY)) as own:
            termios.tcflow(own, termios.TCOON)
        terminal.read_until("nothing lost")
        self.assertEqual(terminal.exit_status(), 0)


class Typing(support.TestCase):
    """A command that runs as another user must not type into the terminal of the shell that started its tracer."""

    def setUp(self):
        super().setUp()
        if not os.path.exists(PYTHON_OF_ALL):
            self.skipTest("no Python that another user may execute")

    def try_to_type(self, request, *options):
        terminal = Terminal(self, TRACERD, "run", "--no-live", *options, "--",
                            PYTHON_OF_ALL, "-c", TYPE, str(request))
        terminal.read_until(None)
        self.assertEqual(terminal.exit_status(), 0, terminal.text)
        return terminal.text

    def test_another_user_s_command_does_not_type(self):
        for request in (TIOCSTI, TIOCLINUX, TIOCSTI | 1 << 32):
            with self.subTest(request=request):
                self.assertIn("refused: 1\n", self.try_to_type(request, "--user", str(NOBODY)))

    def test_root_s_own_command_is_not_filtered(self):
        self.assertNotIn("refused: 1\n", self.try_to_type(TIOCSTI))

    def test_nor_is_the_command_of_who_called_sudo(self):
        terminal = Terminal(self, "env", f"SUDO_UID={NOBODY}", TRACERD, "run", "--no-live", "--", "grep", "^Seccomp:",
                            "/proc/self/status")
        terminal.read_until(None)
        own = subprocess.run(["grep", "^Seccomp:", "/proc/self/status"], stdout=subprocess.PIPE, text=True, check=True)
        self.assertIn(own.stdout, terminal.text)

    def test_its_other_requests_and_setuid_programs_work(self):
        terminal = Terminal(self, TRACERD, "run", "--no-live", "--user", str(NOBODY), "--", "sh", "-c",
                            "stty size; grep NoNewPrivs /proc/self/status")
        terminal.read_until(None)
        self.assertIn(f"{Terminal.ROWS} {Terminal.COLUMNS}\n", terminal.text)
        self.assertIn("NoNewPrivs:\t0\n", terminal.text)


if __name__ == "__main__":
    support.main()
