# SPDX-License-Identifier: Apache-2.0
"""tracerd watch: trees, cgroups and the whole host."""

import contextlib
import os
import re
import signal
import subprocess

import support
from support import PYTHON, TRACERD, of_kind, parse_lines, text_of, wait_until


class Watch(support.TestCase):
    def start_shell(self, *words):
        """A shell that waits for commands on its standard input."""
        shell = self.start(*(words or ("sh",)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.tell(shell, "echo ready", "ready\n")
        return shell

    def tell(self, shell, command, answer):
        shell.stdin.write(command + "\n")
        shell.stdin.flush()
        self.assertEqual(shell.stdout.readline(), answer)
        # Once the shell goes on, what it ran has ended; before, it has only written.
        shell.stdin.write("echo .\n")
        shell.stdin.flush()
        self.assertEqual(shell.stdout.readline(), ".\n")

    def start_watch(self, *options, name="watch.json"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path(name))
        watch = self.start(TRACERD, "watch", *options, "--json", self.path(name), stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        # The host comes before anything is attached; then what lives, or the end of a snapshot of nothing.
        wait_until(lambda: watch.poll() is not None or len(self.events(name)) > 1, "the watch begins")
        self.assertIsNone(watch.poll(), watch.poll() is not None and watch.stderr.read())
        return watch

    def events(self, name="watch.json"):
        return parse_lines(text_of(self.path(name)))

    def end_watch(self, watch, number=signal.SIGINT):
        watch.send_signal(number)
        stderr = watch.communicate(timeout=support.DEADLINE_SECONDS)[1]
        self.assertEqual(watch.returncode, 0, stderr)
        self.assertIn("total ", stderr)
        return stderr

    def wait_for_start_of(self, pid, name="watch.json"):
        wait_until(lambda: any(event["pid"] == pid for event in of_kind(self.events(name), "process_start")),
                   f"the watch sees process {pid}")

    def echoes(self, name="watch.json"):
        """The second arguments of the /bin/echo processes that ended."""
        return [event["argv"][1] for event in of_kind(self.events(name), "process_exit")
                if event["argv"] and event["argv"][0] == "/bin/echo"]


class Trees(Watch):
    def test_a_dead_process_is_nothing_to_watch(self):
        process = subprocess.Popen(["true"])
        process.wait()
        self.assert_fails(self.tracerd("watch", "--pid", str(process.pid)), 1, "TRC106")

    def test_processes_that_lived_before_are_reported_with_their_whole_life(self):
        shell = self.start_shell()
        self.tell(shell, "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; echo done", "done\n")
        cpu_before = int(text_of(f"/proc/{shell.pid}/schedstat").split()[0])
        watch = self.start_watch("--pid", str(shell.pid))
        self.wait_for_start_of(shell.pid)
        shell.communicate("/bin/echo child; exit 5\n", timeout=support.DEADLINE_SECONDS)
        stderr = watch.communicate(timeout=support.DEADLINE_SECONDS)[1]
        self.assertEqual(watch.returncode, 0, "the watch ends with its tree: " + stderr)
        exits = {event["pid"]: event for event in of_kind(self.events(), "process_exit")}
        self.assertEqual(len(exits), 2)
        old = exits.pop(shell.pid)
        self.assertIsNotNone(old["attached_ns"])
        self.assertLess(old["start_ns"], old["attached_ns"])
        self.assertGreaterEqual(old["cpu_ns"], cpu_before)
        self.assertEqual(old["exit_code"], 5)
        self.assertEqual(old["threads"], 1)
        child = next(iter(exits.values()))
        self.assertEqual((child["argv"], child["attached_ns"], child["parent_pid"]), (["/bin/echo", "child"], None, shell.pid))
        total = next(line for line in stderr.splitlines() if line.startswith("total "))
        self.assertLessEqual(int(re.search(r"(\d+) %", total)[1]), 110, "CPU of a whole life by the wall of a whole life: " + total)

    def test_what_threads_did_that_ended_before_is_not_taken_for_nothing(self):
        script = ("import sys, threading; thread = threading.Thread(target=lambda: open('/dev/zero', 'rb').read(1 << 20)); "
                  "thread.start(); thread.join(); print('ready', flush=True); sys.stdin.readline()")
        python = subprocess.Popen([PYTHON, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(python.stdout.close)
        self.addCleanup(python.wait)
        self.addCleanup(python.kill)
        self.assertEqual(python.stdout.readline(), "ready\n")
        watch = self.start_watch("--pid", str(python.pid))
        self.wait_for_start_of(python.pid)
        python.stdin.close()
        stderr = watch.communicate(timeout=support.DEADLINE_SECONDS)[1]
        self.assertIsNone(of_kind(self.events(), "process_exit")[0]["read_bytes"])
        table = stderr.splitlines()
        heads = next(line for line in table if line.startswith("tool "))
        rows = [line for line in table if line.startswith(("total ", "python"))]
        self.assertEqual(len(rows), 2, stderr)
        for row in rows:
            for column in ("read", "written"):
                end = heads.index(column) + len(column)
                self.assertRegex(row[:end], r"(≥ .*B| -)$", column)

    def test_the_descendants_that_lived_before_are_seen_too(self):
        shell = self.start_shell()
        shell.stdin.write("sh -c 'sleep 1000 & echo $!; wait' &\n")
        shell.stdin.flush()
        grandchild = int(shell.stdout.readline())
        self.kill_at_end(grandchild)
        wait_until(lambda: text_of(f"/proc/{grandchild}/comm") == "sleep\n", "the grandchild sleeps")
        watch = self.start_watch("--pid", str(shell.pid))
        self.wait_for_start_of(grandchild)
        stderr = self.end_watch(watch)
        self.assertIn("3 still running:", stderr)
        samples = {event["pid"]: event for event in of_kind(self.events(), "process_sample")}
        self.assertEqual(len(samples), 3)
        self.assertEqual(samples[grandchild]["argv"], ["sleep", "1000"])

    def test_terminating_ends_a_watch_like_an_interrupt(self):
        shell = self.start_shell()
        for number in (signal.SIGTERM, signal.SIGHUP):
            with self.subTest(signal=number):
                watch = self.start_watch("--pid", str(shell.pid))
                self.assertIn("1 still running:", self.end_watch(watch, number))

    def test_labels_are_given_to_what_is_taken_in(self):
        shell = self.start_shell()
        watch = self.start_watch("--pid", str(shell.pid), "--step", "align")
        self.tell(shell, "/bin/echo x", "x\n")
        self.end_watch(watch)
        self.assertEqual({event["context"]["step"] for event in self.events() if event.get("context")}, {"align"})

    def test_two_watches_of_one_tree_both_see_everything(self):
        shell = self.start_shell()
        watches = [self.start_watch("--pid", str(shell.pid), name=name) for name in ("one", "two")]
        for name in ("one", "two"):
            self.wait_for_start_of(shell.pid, name)
        self.tell(shell, "/bin/echo both", "both\n")
        for watch in watches:
            self.end_watch(watch)
        for name in ("one", "two"):
            self.assertEqual(self.echoes(name), ["both"])

    def test_a_process_outside_of_the_tree_is_not_seen(self):
        inside, outside = self.start_shell(), self.start_shell()
        watch = self.start_watch("--pid", str(inside.pid))
        self.wait_for_start_of(inside.pid)
        self.tell(outside, "/bin/echo outside", "outside\n")
        self.tell(inside, "/bin/echo inside", "inside\n")
        self.end_watch(watch)
        self.assertEqual(self.echoes(), ["inside"])


class Cgroups(Watch):
    def make_cgroup(self, *names):
        """A folder of its own in the hierarchy that tracerd goes by: v1 memory, where there is one, else v2."""
        mounts = [line.split() for line in text_of("/proc/mounts").splitlines()]
        points = [mount[1] for mount in mounts if mount[2] == "cgroup" and "memory" in mount[3].split(",")]
        points += [mount[1] for mount in mounts if mount[2] == "cgroup2"]
        if not points:
            self.skipTest("no cgroup file system is mounted")
        path = os.path.join(points[0], f"tracerd-cli-{os.getpid()}", *names)
        try:
            os.makedirs(path)
        except OSError as error:
            self.skipTest(f"no cgroup can be made: {error}")
        # Cleanups run from last to first: innermost folders, after the processes in them are dead.
        top = os.path.join(points[0], f"tracerd-cli-{os.getpid()}")
        if not names:
            self.addCleanup(lambda: wait_until(lambda: self.remove(top), "the cgroups can be removed"))
        return path

    @staticmethod
    def remove(top):
        try:
            for folder, _, _ in os.walk(top, topdown=False):
                os.rmdir(folder)
        except OSError:
            pass
        return not os.path.exists(top)

    @staticmethod
    def move(process, folder):
        with open(os.path.join(folder, "cgroup.procs"), "w", encoding="ascii") as file:
            file.write(str(process.pid))

    def test_a_cgroup_that_does_not_exist_is_nothing_to_watch(self):
        self.assert_fails(self.tracerd("watch", "--cgroup", "/no/such"), 1, "TRC106")

    def test_what_runs_in_a_cgroup_is_seen_and_nothing_else(self):
        folder = self.make_cgroup()
        inside, outside = self.start_shell(), self.start_shell()
        self.move(inside, folder)
        watch = self.start_watch("--cgroup", folder)
        self.wait_for_start_of(inside.pid)
        self.tell(outside, "/bin/echo outside", "outside\n")
        self.tell(inside, "/bin/echo inside", "inside\n")
        self.end_watch(watch)
        self.assertEqual(self.echoes(), ["inside"])
        start = of_kind(self.events(), "process_start")[0]
        self.assertEqual((start["pid"], start["cgroup"]), (inside.pid, "/" + os.path.basename(folder)))
        self.assertIsNotNone(start["attached_ns"])

    def test_a_process_that_is_moved_in_later_is_seen_from_then_on(self):
        folder = self.make_cgroup()
        watch = self.start_watch("--cgroup", folder)
        shell = self.start_shell()
        self.move(shell, folder)
        self.tell(shell, "/bin/echo inside", "inside\n")
        self.end_watch(watch)
        self.assertEqual(self.echoes(), ["inside"])
        self.assertIn(shell.pid, [event["pid"] for event in of_kind(self.events(), "process_sample")])

    def test_a_cgroup_is_named_as_in_proc_too(self):
        folder = self.make_cgroup()
        shell = self.start_shell()
        self.move(shell, folder)
        watch = self.start_watch("--cgroup", "/" + os.path.basename(folder))
        self.tell(shell, "/bin/echo inside", "inside\n")
        self.end_watch(watch)
        self.assertEqual(self.echoes(), ["inside"])

    def test_a_nested_cgroup_that_is_made_later_is_seen(self):
        folder = self.make_cgroup()
        watch = self.start_watch("--cgroup", folder)
        nested = self.make_cgroup("nested", "deeper")
        shell = self.start_shell()
        self.move(shell, nested)
        self.tell(shell, "/bin/echo nested", "nested\n")
        self.end_watch(watch)
        self.assertEqual(self.echoes(), ["nested"])
        ended = of_kind(self.events(), "process_exit")[0]
        self.assertEqual(ended["cgroup"], "/" + os.path.basename(folder) + "/nested/deeper")

    def test_a_process_that_is_moved_out_is_still_followed(self):
        folder = self.make_cgroup()
        shell = self.start_shell()
        self.move(shell, folder)
        watch = self.start_watch("--cgroup", folder)
        self.wait_for_start_of(shell.pid)
        self.move(shell, os.path.dirname(folder))
        self.tell(shell, "/bin/echo moved", "moved\n")
        self.end_watch(watch)
        self.assertEqual(self.echoes(), ["moved"])


class Host(Watch):
    ALONE = "it sees what the other tests start"

    def test_the_host_s_watch_sees_a_process_that_nobody_named(self):
        watch = self.start_watch("--host")
        self.wait_for_start_of(os.getpid())
        subprocess.run(["/bin/echo", self.folder], stdout=subprocess.DEVNULL, check=True)
        self.end_watch(watch)
        self.assertIn(self.folder, self.echoes())

    def test_the_host_s_watch_begins_with_what_lives(self):
        watch = self.start_watch("--host")
        self.wait_for_start_of(os.getpid())
        self.end_watch(watch)
        own = [event for event in of_kind(self.events(), "process_start") if event["pid"] == os.getpid()]
        self.assertIsNotNone(own[0]["attached_ns"])


if __name__ == "__main__":
    support.main()
