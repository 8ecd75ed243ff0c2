# SPDX-License-Identifier: Apache-2.0
"""tracerd run: statuses, options, outputs, what the command gets, and what is printed."""

import glob
import json
import os
import shutil
import signal
import subprocess

import support
from support import NOBODY, PYTHON, TRACERD, of_kind, parse_lines, text_of, wait_until


class ExitStatus(support.TestCase):
    def test_success_passes_through(self):
        self.assertEqual(self.tracerd("run", "--", "true").returncode, 0)

    def test_a_failure_passes_through(self):
        self.assertEqual(self.tracerd("run", "--", "sh", "-c", "exit 3").returncode, 3)

    def test_a_signal_becomes_128_and_its_number(self):
        result = self.tracerd("run", "--", "sh", "-c", "kill -TERM $$")
        self.assertEqual(result.returncode, 128 + signal.SIGTERM)

    def test_the_command_s_own_127_is_not_mistaken_for_a_missing_command(self):
        result = self.tracerd("run", "--", "sh", "-c", "exit 127")
        self.assertEqual(result.returncode, 127)
        self.assertNotIn("TRC", result.stderr)

    def test_a_command_that_does_not_exist(self):
        self.assert_fails(self.tracerd("run", "--", "/no/such/program"), 127, "TRC120")

    def test_a_command_that_is_not_in_the_path(self):
        self.assert_fails(self.tracerd("run", "--", "no-such-program-anywhere"), 127, "TRC120")

    def test_under_sudo_it_may_be_in_the_caller_s_path(self):
        for caller in ({"SUDO_UID": str(support.NOBODY)}, {"SUDO_USER": "nobody"}):
            environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"} | caller
            for words in (["run"], ["task", "--sample", "S1"]):
                result = self.tracerd(*words, "--", "no-such-program-anywhere", env=environment)
                self.assert_fails(result, 127, "TRC120")
                self.assertIn('sudo env "PATH=$PATH" tracerd run', result.stderr)
            self.assertNotIn("sudo", self.tracerd("run", "--", "/no/such/program", env=environment).stderr)
        self.assertNotIn("sudo", self.tracerd("run", "--", "no-such-program-anywhere").stderr)

    def test_a_line_for_a_shell(self):
        for line in ("ls -l | wc", "ls -l", "true;false"):
            result = self.tracerd("run", line)
            self.assert_fails(result, 127, "TRC120")
            self.assertIn("tracerd run -- bash -c 'COMMAND'", result.stderr)

    def test_a_command_that_is_not_executable(self):
        path = self.path("plain")
        with open(path, "w", encoding="ascii"):
            pass
        self.assert_fails(self.tracerd("run", "--", path), 126, "TRC121")

    def test_a_script_whose_interpreter_is_missing(self):
        path = self.path("script")
        with open(path, "w", encoding="ascii") as file:
            file.write("#!/no/such/interpreter\n")
        os.chmod(path, 0o755)
        result = self.tracerd("run", "--", path)
        self.assert_fails(result, 127, "TRC120")
        self.assertIn("interpreter", result.stderr)

    def test_the_status_is_kept_when_sigchld_was_ignored_by_the_caller(self):
        result = self.tracerd("run", "--", "sh", "-c", "exit 4",
                              preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
        self.assertEqual(result.returncode, 4)


class Outputs(support.TestCase):
    def test_nothing_runs_when_the_recording_can_not_be_written(self):
        result = self.tracerd("run", "--record", "/no/such/folder/file", "--", "touch", self.path("ran"))
        self.assert_fails(result, 125, "TRC114")
        self.assertFalse(os.path.exists(self.path("ran")))

    def test_nothing_runs_when_the_json_file_can_not_be_written(self):
        result = self.tracerd("run", "--json", self.folder, "--", "touch", self.path("ran"))
        self.assert_fails(result, 125, "TRC114")
        self.assertFalse(os.path.exists(self.path("ran")))

    def test_json_on_standard_output_has_kind_first_in_each_line(self):
        result = self.tracerd("run", "--json", "-", "--", "sh", "-c", "true & wait")
        lines = result.stdout.splitlines()
        for line in lines:
            self.assertEqual(next(iter(json.loads(line))), "kind", line)
        kinds = [json.loads(line)["kind"] for line in lines]
        self.assertEqual((kinds[0], kinds[-1]), ("host", "session_end"))
        self.assertEqual(kinds.count("process_exit"), 2)

    def test_json_and_the_recording_hold_the_same_events(self):
        recording = self.path("recording")
        result, events = self.trace("sh", "-c", "ls / >/dev/null; for i in 1 2 3; do /bin/echo $i; done; false",
                                    options=["--record", recording])
        self.assertEqual(result.returncode, 1)
        self.assertEqual(self.dump(recording), events)
        self.assertGreaterEqual(len(of_kind(events, "process_exit")), 5)

    def test_a_reader_of_json_that_goes_away_does_not_disturb_the_command(self):
        read_end, write_end = os.pipe()
        os.close(read_end)
        process = self.start(TRACERD, "run", "--json", "-", "--", "sh", "-c", "exec >&-; true; echo on > " + self.path("on")
                             + "; exit 5", stdout=write_end, stderr=subprocess.PIPE)
        os.close(write_end)
        stderr = process.communicate(timeout=support.DEADLINE_SECONDS)[1]
        self.assertEqual(process.returncode, 5, stderr)
        self.assertEqual(text_of(self.path("on")), "on\n")
        self.assertIn("TRC114", stderr)

    def test_a_table_that_nobody_reads_does_not_change_the_status(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            self.assertEqual(subprocess.run([TRACERD, "run", "--", "sh", "-c", "exit 5"], stderr=full, check=False).returncode, 5)
        read_end, write_end = os.pipe()
        os.close(read_end)
        process = subprocess.run([TRACERD, "run", "--", "sh", "-c", "exit 6"], stderr=write_end, check=False)
        os.close(write_end)
        self.assertEqual(process.returncode, 6)

    def test_closed_descriptors_never_become_the_recording(self):
        recording = self.path("recording")
        for closed in ([2], [0, 1, 2]):
            with self.subTest(closed=closed):
                def close(closed=closed):
                    for fd in closed:
                        os.close(fd)

                # Not preexec_fn of subprocess: its own pipe may lie on a low number.
                pid = os.fork()
                if pid == 0:
                    close()
                    os.execv(TRACERD, [TRACERD, "run", "--record", recording, "--", "sh", "-c", "exit 7"])
                self.assertEqual(os.WEXITSTATUS(os.waitpid(pid, 0)[1]), 7)
                dump = self.tracerd("dump", recording)
                self.assertEqual((dump.returncode, dump.stderr), (0, ""))

    def test_the_wait_for_the_kernel_is_no_time_of_the_command_s_step(self):
        result, events = self.trace("true", options=["--step", "only"])
        rows = [line.split()[0] for line in result.stderr.splitlines() if line]
        self.assertNotIn("tracerd", rows, result.stderr)
        self.assertEqual(len(of_kind(events, "process_exit")), 1)

    def test_labels_appear_in_the_events_and_in_the_title(self):
        result, events = self.trace("sh", "-c", "true & wait", options=[
            "--pipeline", "p1", "--run", "r2", "--step", "align", "--sample", "s4"])
        for event in events[1:-1]:
            if not event.get("context"):
                continue
            labels = [event["context"][name] for name in ("pipeline", "run", "step", "sample")]
            self.assertEqual(labels, ["p1", "r2", "align", "s4"], event["kind"])
        self.assertIn("\np1 / r2 / align / s4: sh -c", result.stderr)

    def test_a_small_program_s_peak_is_not_that_of_the_large_one_which_spawned_it(self):
        script = "import subprocess; heap = bytearray(b'x') * (500 << 20); subprocess.run(['true'], check=True)"
        _, events = self.trace(PYTHON, "-c", script)
        exits = {event["argv"][0]: event["program"] for event in of_kind(events, "process_exit")}
        self.assertLess(exits["true"]["peak_rss_bytes"], 4 << 20)
        self.assertGreater(exits[PYTHON]["peak_rss_bytes"], 500 << 20)

    def test_the_table_says_whether_it_is_complete(self):
        result = self.tracerd("run", "--", "sh", "-c", "true & wait")
        self.assertIn("complete: 2 of 2 ended processes seen, nothing lost", result.stderr)
        self.assertNotIn("NOT complete", result.stderr)

    def test_failed_processes_are_listed(self):
        result = self.tracerd("run", "--", "sh", "-c", "sh -c 'exit 7'; sh -c 'kill -9 $$'; true")
        self.assertEqual(result.returncode, 0)
        self.assertIn("status 7", result.stderr)
        self.assertIn("signal 9 (KILL)", result.stderr)

    def test_a_status_that_is_an_answer_is_no_failure(self):
        script = "grep x /dev/null; expr 0 / 2; cmp /dev/null /dev/zero; grep; sh -c 'exit 1'; true"
        result, events = self.trace("sh", "-c", script)
        answers = {event["tool"]: event["status_is_answer"] for event in of_kind(events, "process_exit")
                   if event["exit_code"] == 1}
        self.assertEqual(answers, {"grep": True, "expr": True, "cmp": True, "sh -c": False})
        self.assertIn("\n2 failed:\n", result.stderr)
        total = next(line for line in result.stderr.splitlines() if line.startswith("total "))
        self.assertEqual(total.split()[-1], "2", result.stderr)

    def test_secrets_in_arguments_appear_nowhere(self):
        program = self.path("mysql")
        shutil.copy(shutil.which("false"), program)
        for words in (["sh", "-c", "/bin/true --password=hunter2; exit 1"], [program, "-phunter2"],
                      [program, "--password", "hunter2"]):
            with self.subTest(words=words):
                result, events = self.trace(*words, options=["--record", self.path("recording")])
                self.assertNotIn("hunter2", json.dumps(events))
                self.assertNotIn("hunter2", json.dumps(self.dump(self.path("recording"))))
                self.assertNotIn("hunter2", result.stderr)
                self.assertTrue(any("***" in json.dumps(event) for event in events))

    def test_a_failed_start_leaves_an_older_recording_alone(self):
        path = self.path("recording")
        self.tracerd("run", "--record", path, "--", "true")
        with open(path, "rb") as file:
            before = file.read()
        os.chmod(path, 0o666)
        result = self.tracerd("run", "--record", path, "--", "true", preexec_fn=lambda: os.setresuid(NOBODY, NOBODY, NOBODY))
        self.assertEqual(result.returncode, 125)
        with open(path, "rb") as file:
            self.assertEqual(file.read(), before)


class TheCommandItself(support.TestCase):
    def test_standard_input_and_output_are_the_command_s(self):
        result = self.tracerd("run", "--", "cat", stdin=None, input="hello\n")
        self.assertEqual(result.stdout, "hello\n")

    def test_nothing_of_tracerd_is_on_standard_output(self):
        self.assertEqual(self.tracerd("run", "--", "true").stdout, "")

    def test_the_command_has_the_standard_descriptors_and_no_other(self):
        result = self.tracerd("run", "--record", self.path("r"), "--json", self.path("j"), "--", PYTHON, "-c",
                              "import os; print(sorted(map(int, os.listdir('/proc/self/fd')))[:-1])")
        self.assertEqual(result.stdout, "[0, 1, 2]\n")

    def test_the_command_has_the_signal_mask_and_handlers_of_the_caller(self):
        words = ["grep", "-E", "^Sig(Blk|Ign|Cgt)", "/proc/self/status"]
        wanted = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout
        self.assertEqual(self.tracerd("run", "--", *words).stdout, wanted)

    def test_the_command_has_the_environment_and_the_folder_of_the_caller(self):
        result = self.tracerd("run", "--", "sh", "-c", "pwd; echo $MARK", cwd=self.folder, env=dict(os.environ, MARK="m"))
        self.assertEqual(result.stdout, f"{self.folder}\nm\n")


class Traces(support.TestCase):
    def test_no_bpf_program_thread_or_zombie_is_left_behind(self):
        bpftool = shutil.which("bpftool") or next(iter(glob.glob("/usr/sbin/bpftool")), None)

        def programs():
            listed = subprocess.run([bpftool, "prog", "list", "-j"], stdout=subprocess.PIPE, check=True).stdout
            return {program["id"]: [owner["pid"] for owner in program.get("pids", [])] for program in json.loads(listed)}

        process = self.start(TRACERD, "run", "--user", "nobody", "--", "sh", "-c", "echo ready; read x",
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(process.stdout.readline(), "ready\n")
        self.assertEqual(len(os.listdir(f"/proc/{process.pid}/task")), 1)
        with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as file:
            children = file.read().split()
        self.assertEqual(len(children), 1, "the command and nothing else")
        ours = {number for number, owners in programs().items() if process.pid in owners} if bpftool else set()
        process.communicate("\n", timeout=support.DEADLINE_SECONDS)
        self.assertEqual(process.returncode, 0)
        if not ours:
            self.skipTest("bpftool is missing, or does not say whose programs are whose")
        # The kernel frees them a moment after the last descriptor is closed.
        wait_until(lambda: not ours & set(programs()), "the BPF programs are gone")

    def test_two_tracers_at_once_both_see_everything(self):
        inner = self.path("inner.json")
        result, outer = self.trace(TRACERD, "run", "--json", inner, "--", "sh", "-c",
                                   "for i in 1 2 3 4 5; do /bin/echo twice-$i; done")
        self.assertEqual(result.returncode, 0, result.stderr)
        for events in (outer, parse_lines(text_of(inner))):
            seen = [event["argv"][1] for event in of_kind(events, "process_exit") if event["argv"][0] == "/bin/echo"]
            self.assertEqual(seen, [f"twice-{i}" for i in range(1, 6)])

    def test_the_binary_needs_no_library_when_it_is_built_static(self):
        if os.environ.get("TRACERD_STATIC") != "1":
            self.skipTest("tracerd was not built static")
        result = subprocess.run(["ldd", TRACERD], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                                env=dict(os.environ, LC_ALL="C"))
        self.assertRegex(result.stdout, "not a dynamic executable|statically linked")


if __name__ == "__main__":
    support.main()
