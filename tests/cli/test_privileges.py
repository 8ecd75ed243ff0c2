# SPDX-License-Identifier: Apache-2.0
"""Who runs tracerd, as whom the command runs, and what rights that takes."""

import os
import shutil
import signal
import subprocess
import sys
import unittest

import support
from support import NOBODY, TRACERD, of_kind, parse_lines, text_of, wait_until

# CAP_DAC_READ_SEARCH, CAP_KILL, CAP_SYS_PTRACE, CAP_PERFMON, CAP_BPF
NEEDED = 1 << 2 | 1 << 5 | 1 << 19 | 1 << 38 | 1 << 39


class Users(support.TestCase):
    def test_the_command_runs_as_the_user_that_is_named(self):
        result = self.tracerd("run", "--user", "nobody", "--", "sh", "-c", "id -u; id -g; id -G; echo $USER")
        expected = "\n".join(subprocess.run(["id", option, "nobody"], stdout=subprocess.PIPE, text=True,
                                            check=True).stdout.strip() for option in ("-u", "-g", "-G"))
        self.assertEqual(result.stdout, expected + "\nnobody\n")

    def test_a_user_may_be_a_number(self):
        self.assertEqual(self.tracerd("run", "--user", "54321", "--", "id", "-u").stdout, "54321\n")

    def test_an_unknown_user(self):
        result = self.tracerd("run", "--user", "no-such-user", "--", "touch", self.path("ran"))
        self.assert_fails(result, 125, "TRC122")
        self.assertFalse(os.path.exists(self.path("ran")))

    def test_under_sudo_the_command_and_its_recording_are_the_caller_s(self):
        recording = os.path.join(self.folder_of_nobody(), "recording")
        environment = dict(os.environ, SUDO_UID=str(NOBODY), SUDO_GID=str(NOBODY), SUDO_USER="nobody")
        result = self.tracerd("run", "--record", recording, "--", "id", "-u", env=environment)
        self.assertEqual((result.returncode, result.stdout), (0, f"{NOBODY}\n"), result.stderr)
        self.assertEqual(os.stat(recording).st_uid, NOBODY)
        exits = of_kind(self.dump(recording), "process_exit")
        self.assertEqual([event["uid"] for event in exits], [NOBODY])

    def test_a_caller_of_sudo_that_is_no_number_is_refused(self):
        for uid in ("1000x", "", "-1", " 0"):
            with self.subTest(uid=uid):
                result = self.tracerd("run", "--", "touch", self.path("ran"), env=dict(os.environ, SUDO_UID=uid))
                self.assert_fails(result, 125, "TRC122")
                self.assertFalse(os.path.exists(self.path("ran")))

    def test_the_number_that_means_no_change_is_no_user(self):
        for options, environment in ((["--user", "4294967295"], {}), ([], {"SUDO_UID": "4294967295"})):
            result = self.tracerd("run", *options, "--", "id", "-u", env=os.environ | environment)
            self.assert_fails(result, 125, "TRC122")

    def test_who_has_no_home_gets_none_of_root_s(self):
        places = {"HOME", "SHELL", "MAIL", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME",
                  "XDG_STATE_HOME", "DBUS_SESSION_BUS_ADDRESS"}
        environment = os.environ | dict.fromkeys(places, "/root/x")
        result = self.tracerd("run", "--user", "54321", "--", "env", env=environment)
        names = {line.split("=")[0] for line in result.stdout.splitlines()}
        self.assertIn("PATH", names)
        self.assertEqual(names & places, set())
        kept = self.tracerd("run", "--user", "root", "--", "env", env=environment).stdout
        self.assertIn("XDG_CONFIG_HOME=/root/x\n", kept)

    def test_under_sudo_a_folder_of_root_is_not_written_to(self):
        environment = dict(os.environ, SUDO_UID=str(NOBODY), SUDO_GID=str(NOBODY))
        self.assert_fails(self.tracerd("run", "--record", self.path("r"), "--", "true", env=environment), 125, "TRC114")

    def test_the_command_has_no_more_rights_than_its_user(self):
        result = self.tracerd("run", "--user", "nobody", "--", "grep", "-E", "^Cap(Prm|Eff|Amb)", "/proc/self/status")
        self.assertEqual(sorted({line.split()[1] for line in result.stdout.splitlines()}), ["0" * 16])

    def test_the_command_of_root_keeps_root_s_rights(self):
        wanted = subprocess.run(["grep", "-E", "^(Cap|NoNewPrivs)", "/proc/self/status"], stdout=subprocess.PIPE, text=True,
                                check=True).stdout
        result = self.tracerd("run", "--", "grep", "-E", "^(Cap|NoNewPrivs)", "/proc/self/status")
        self.assertEqual(result.stdout, wanted)


class Threads(support.TestCase):
    def test_no_thread_keeps_what_is_not_needed(self):
        tracer = self.start(TRACERD, "watch", "--host", "--json", self.path("out"), "--record", self.path("recording"),
                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(lambda: text_of(self.path("out")).count("\n") > 1, "watching")
        threads = os.listdir(f"/proc/{tracer.pid}/task")
        self.assertGreaterEqual(len(threads), 3)
        for thread in threads:
            status = dict(line.split(":\t", 1) for line in text_of(f"/proc/{tracer.pid}/task/{thread}/status").splitlines())
            for capabilities in ("CapPrm", "CapEff", "CapInh", "CapAmb", "CapBnd"):
                self.assertEqual(int(status[capabilities], 16) & ~NEEDED, 0, capabilities)
            self.assertEqual(set(status["Uid"].split() + status["Gid"].split()), {"2147483646"})
            self.assertEqual(status["Groups"].strip(), "")
            self.assertEqual(status["NoNewPrivs"], "1")
        tracer.send_signal(signal.SIGINT)
        self.assertEqual(tracer.wait(), 0)


class Helper(support.TestCase):
    """The small process that names the files of --rotate."""

    def test_it_has_the_rights_of_the_caller_of_sudo_or_no_capability_but_that_over_files(self):
        folder = self.folder_of_nobody()
        for environment, uid, capabilities in (({"SUDO_UID": str(NOBODY)}, NOBODY, 0), ({}, 0, 1 << 1)):
            with self.subTest(uid=uid):
                tracer = self.start(TRACERD, "watch", "--host", "--record", os.path.join(folder, str(uid)), "--max-size", "1MiB",
                                    "--rotate", "1", env=os.environ | environment, stdin=subprocess.DEVNULL,
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                wait_until(lambda tracer=tracer: "NoNewPrivs:\t1" in text_of(f"/proc/{tracer.pid}/status"), "watching")
                helper, = text_of(f"/proc/{tracer.pid}/task/{tracer.pid}/children").split()
                status = dict(line.split(":\t", 1) for line in text_of(f"/proc/{helper}/status").splitlines())
                self.assertEqual(status["Uid"].split(), [str(uid)] * 4)
                self.assertEqual({name: int(status[name], 16) for name in ("CapPrm", "CapEff", "CapBnd", "CapInh", "CapAmb")},
                                 dict.fromkeys(("CapPrm", "CapEff", "CapBnd"), capabilities)
                                 | dict.fromkeys(("CapInh", "CapAmb"), 0))
                self.assertEqual(status["NoNewPrivs"], "1")
                tracer.send_signal(signal.SIGINT)
                self.assertEqual(tracer.wait(), 0)
                self.assertFalse(support.alive(helper))


class Priority(support.TestCase):
    COMMAND = "import os; print(os.getpriority(os.PRIO_PROCESS, 0), os.getpriority(os.PRIO_PROCESS, os.getppid()))"

    def test_tracerd_goes_ahead_of_its_command_which_keeps_its_own(self):
        for given in (0, 5):
            result = self.tracerd("run", "--", sys.executable, "-c", self.COMMAND,
                                  preexec_fn=lambda given=given: os.setpriority(os.PRIO_PROCESS, 0, given))
            self.assertEqual(result.stdout, f"{given} -15\n", result.stderr)

    def test_each_thread_that_reads_does(self):
        tracer = self.start(TRACERD, "watch", "--host", "--json", self.path("out"), stdin=subprocess.DEVNULL,
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(lambda: text_of(self.path("out")).count("\n") > 1, "watching")
        nice = {int(thread): os.getpriority(os.PRIO_PROCESS, int(thread)) for thread in os.listdir(f"/proc/{tracer.pid}/task")}
        self.assertEqual(nice.pop(tracer.pid), -15)
        self.assertIn(-15, nice.values(), "who writes")
        # One asks file systems, for users, and has their priority.
        self.assertLessEqual(sorted(nice.values())[1:], [0])

    @unittest.skipUnless(os.path.exists("/proc/self/autogroup"), "no autogroup here")
    def test_a_session_of_its_own_goes_ahead_of_others_and_one_that_it_shares_or_that_is_ahead_stays(self):
        words = [TRACERD, "watch", "--host", "--rotate", "1", "--max-size", "1MiB", "--record", self.path("recording"),
                 "--json", self.path("out")]
        for before, nice in (("", -15), ("sleep 60 & ", 0), ("echo -18 > /proc/self/autogroup; ", -18)):
            with self.subTest(before=before):
                # The shell becomes tracerd, so that it leads the session.
                tracer = self.start("sh", "-c", before + 'exec "$@"', "sh", *words, start_new_session=True,
                                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                wait_until(lambda: text_of(self.path("out")).count("\n") > 1, "watching")
                self.assertTrue(text_of(f"/proc/{tracer.pid}/autogroup").endswith(f" nice {nice}\n"))
                for child in map(int, text_of(f"/proc/{tracer.pid}/task/{tracer.pid}/children").split()):
                    if text_of(f"/proc/{child}/comm") == "sleep\n":
                        os.kill(child, signal.SIGKILL)
                tracer.send_signal(signal.SIGINT)
                self.assertEqual(tracer.wait(), 0)
                os.unlink(self.path("out"))

    def test_one_that_is_ahead_already_stays_there(self):
        result = self.tracerd("run", "--", sys.executable, "-c", self.COMMAND,
                              preexec_fn=lambda: os.setpriority(os.PRIO_PROCESS, 0, -18))
        self.assertEqual(result.stdout, "-18 -18\n", result.stderr)


class WithoutPrivileges(support.TestCase):
    def setUp(self):
        super().setUp()
        # Where the build lies, nobody may not be allowed to look.
        self.binary = self.path("tracerd")
        shutil.copy(TRACERD, self.binary)

    def as_nobody(self, *words):
        def drop():
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)

        return self.tracerd(*words, binary=self.binary, preexec_fn=drop, cwd="/",
                            env=os.environ | {"TRACER_SOURCE": "kernel"})

    def test_run_says_which_capabilities_are_missing(self):
        result = self.as_nobody("run", "--", "true")
        self.assert_fails(result, 125, "TRC102")
        for capability in ("CAP_BPF", "CAP_PERFMON", "setcap"):
            self.assertIn(capability, result.stderr)

    def start_with(self, capabilities, *words):
        every = ",".join("+" + capability for capability in capabilities.split(","))
        return self.start("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", f"--inh-caps={every}",
                          f"--ambient-caps={every}", "--", self.binary, *words, cwd="/", stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def with_capabilities(self, capabilities, *words):
        process = self.start_with(capabilities, *words)
        stdout, stderr = process.communicate(timeout=support.DEADLINE_SECONDS)
        return subprocess.CompletedProcess(words, process.returncode, stdout, stderr)

    def test_two_capabilities_are_enough(self):
        result = self.with_capabilities("bpf,perfmon", "run", "--json", "-", "--", "sleep", "0.3")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("complete: 1 of 1 ended processes seen", result.stderr)
        self.assertNotIn("without ", result.stderr)
        exit_event, = of_kind(parse_lines(result.stdout), "process_exit")
        self.assertEqual(exit_event["uid"], NOBODY)
        self.assertGreater(exit_event["ledger"]["sleep_ns"], 250_000_000)

    def test_ambient_capabilities_are_not_the_command_s(self):
        result = self.with_capabilities("bpf,perfmon,dac_read_search", "run", "--", "sh", "-c",
                                        "grep -E '^Cap(Inh|Prm|Eff|Amb)' /proc/self/status; cat /etc/shadow > /dev/null")
        self.assertEqual({line.split()[1] for line in result.stdout.splitlines()}, {"0" * 16}, result.stdout)
        self.assertNotEqual(result.returncode, 0)

    def test_what_tracing_needs_no_more_is_given_up_without_root_as_well(self):
        watch = self.start_with("bpf,perfmon,sys_admin,dac_override,setpcap", "watch", "--host", "--record", "/dev/null")
        wait_until(lambda: "NoNewPrivs:\t1" in text_of(f"/proc/{watch.pid}/status"), "no new privileges")
        sets = dict(line.split(":\t") for line in text_of(f"/proc/{watch.pid}/status").splitlines() if "Cap" in line)
        watch.send_signal(signal.SIGINT)
        watch.communicate(timeout=support.DEADLINE_SECONDS)
        two = 1 << 38 | 1 << 39
        self.assertEqual({name: int(value, 16) & ~two for name, value in sets.items()},
                         dict.fromkeys(("CapInh", "CapPrm", "CapEff", "CapAmb", "CapBnd"), 0)
                         | {"CapBnd": int(sets["CapBnd"], 16) & ~two & NEEDED})
        self.assertEqual((int(sets["CapInh"], 16), int(sets["CapAmb"], 16)), (0, 0))

    def test_watch_says_which_capabilities_are_missing(self):
        self.assert_fails(self.as_nobody("watch", "--host"), 1, "TRC102")

    def test_check_as_nobody_finds_something_missing(self):
        result = self.as_nobody("check")
        self.assertEqual(result.returncode, 1)
        self.assertIn("MISSING capability CAP_BPF", result.stdout)

    def test_check_as_root_finds_that_tracing_works(self):
        result = self.tracerd("check")
        self.assertEqual(result.returncode, 0)
        self.assertIn("tracing works here", result.stdout)

    def test_dump_needs_no_privileges(self):
        recording = self.path("recording")
        self.tracerd("run", "--record", recording, "--", "true")
        os.chmod(recording, 0o644)
        self.assertEqual(self.as_nobody("dump", recording).returncode, 0)

    def status_while_it_reads(self, *words, env=None):
        """The lines of /proc/PID/status of a tracerd that waits for the rest of the recording in self.path("pipe")."""
        recording = self.path("recording")
        self.tracerd("run", "--record", recording, "--", "true")
        os.mkfifo(self.path("pipe"))
        reader = self.start(TRACERD, *words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
        with open(self.path("pipe"), "wb", buffering=0) as pipe, open(recording, "rb") as file:
            pipe.write(file.read())
            # It begins without rights; then it reads, and waits for more.
            wait_until(lambda: "NoNewPrivs:\t1" in text_of(f"/proc/{reader.pid}/status"), "it gives up its rights")
            wait_until(lambda: text_of(f"/proc/{reader.pid}/stat").rsplit(")", 1)[1].split()[0] == "S", "it waits")
            status = dict(line.split(":\t", 1) for line in text_of(f"/proc/{reader.pid}/status").splitlines())
        self.assertEqual(reader.wait(support.DEADLINE_SECONDS), 0)
        return status

    def test_dump_gives_up_root_once_the_recording_is_open(self):
        status = self.status_while_it_reads("dump", self.path("pipe"))
        self.assertEqual(status["Uid"].split(), ["2147483646"] * 4)
        self.assertEqual(status["Gid"].split(), ["2147483646"] * 4)
        self.assertEqual(status["Groups"].strip(), "")
        for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
            self.assertEqual(int(status[name], 16), 0, name)

    def test_export_goes_on_as_the_caller_of_sudo(self):
        folder = self.folder_of_nobody()
        status = self.status_while_it_reads("export", "--trace", os.path.join(folder, "trace"), self.path("pipe"),
                                            env=os.environ | {"SUDO_UID": str(NOBODY)})
        self.assertEqual(status["Uid"].split(), [str(NOBODY)] * 4)
        self.assertEqual((int(status["CapPrm"], 16), int(status["CapBnd"], 16)), (0, 0))
        self.assertEqual(os.stat(os.path.join(folder, "trace")).st_uid, NOBODY)

    def test_dump_with_explanations_goes_on_as_the_caller_of_sudo_or_with_no_capability_but_that_over_files(self):
        for environment, uid, capabilities in (({"SUDO_UID": str(NOBODY)}, NOBODY, 0), ({}, 0, 1 << 1)):
            status = self.status_while_it_reads("dump", "--explain", self.path("pipe"), env=os.environ | environment)
            self.assertEqual(status["Uid"].split(), [str(uid)] * 4)
            self.assertEqual((int(status["CapPrm"], 16), int(status["CapEff"], 16), int(status["CapBnd"], 16)),
                             (capabilities,) * 3)
            self.assertEqual((int(status["CapInh"], 16), int(status["CapAmb"], 16)), (0, 0))
            os.unlink(self.path("pipe"))

    def test_export_as_root_itself_keeps_no_capability_but_that_over_files(self):
        status = self.status_while_it_reads("export", "--trace", self.path("trace"), self.path("pipe"))
        self.assertEqual(int(status["CapPrm"], 16), 1 << 1)
        self.assertEqual(os.stat(self.path("trace")).st_uid, 0)


if __name__ == "__main__":
    support.main()
