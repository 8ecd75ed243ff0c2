# SPDX-License-Identifier: Apache-2.0
"""What a tracerd that traces, and its command, can really do: each tries what only who has rights may do."""

import ctypes
import errno
import itertools
import json
import os
import shutil
import signal
import struct
import subprocess
import unittest

import attempts
import support
from support import NOBODY, TRACERD, text_of, wait_until

PYTHON_OF_ALL = "/usr/bin/python3"
REFUSED = {"EPERM", "EACCES", "ENOSYS"}
ROOT, SUDO, FILE, FILE_LEAST, AMBIENT = "root", "sudo", "file capabilities", "the least file capabilities", "ambient ones"
CAPABILITIES = {name: number for number, name in enumerate(
    "chown dac_override dac_read_search fowner fsetid kill setgid setuid setpcap linux_immutable net_bind_service "
    "net_broadcast net_admin net_raw ipc_lock ipc_owner sys_module sys_rawio sys_chroot sys_ptrace sys_pacct sys_admin "
    "sys_boot sys_nice sys_resource sys_time sys_tty_config mknod lease audit_write audit_control setfcap mac_override "
    "mac_admin syslog wake_alarm block_suspend audit_read perfmon bpf".split())}
# What docs/security.md names, each with what it allows.
NAMED = {"read what only root may", "read the environment of another's process", "signal another's process",
         "load a program that traces"}
LEAST = {"load a program that traces"}


@unittest.skipUnless(attempts.SUPPORTED, "system calls are made by other threads on x86-64 only")
@unittest.skipUnless(os.path.exists(PYTHON_OF_ALL), "no Python that another user may execute")
@unittest.skipUnless(shutil.which("setpriv"), "no setpriv: apt-get install util-linux")
class Rights(support.TestCase):
    def setUp(self):
        super().setUp()
        self.everybodys = self.path("everybodys")
        os.mkdir(self.everybodys)
        os.chmod(self.everybodys, 0o777)
        self.script = self.path("attempts.py")
        shutil.copy(attempts.__file__, self.script)
        os.chmod(self.script, 0o644)
        self.other = self.start("sleep", "600").pid
        self.trying = [PYTHON_OF_ALL, "-B", self.script, self.everybodys, str(self.other)]

    def copy_with(self, capabilities):
        if not shutil.which("setcap"):
            self.skipTest("no setcap: apt-get install libcap2-bin")
        binary = self.path("tracerd")
        shutil.copy(TRACERD, binary)
        if os.statvfs(binary).f_flag & os.ST_NOSUID:
            self.skipTest("programs of this folder get no capabilities: it is mounted nosuid")
        marked = subprocess.run(["setcap", capabilities, binary], stderr=subprocess.PIPE, text=True, check=False)
        if marked.returncode != 0:
            self.skipTest(f"files have no capabilities here: {marked.stderr}")
        return binary

    def every_capability(self):
        """That can be had here."""
        bounds = next(int(line.split()[1], 16) for line in text_of("/proc/self/status").splitlines() if "CapBnd" in line)
        return [name for name, number in CAPABILITIES.items() if bounds >> number & 1]

    def as_nobody(self, *options):
        return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *options, "--"]

    def words_of(self, kind):
        """How tracerd is started, what else is in its environment, and as whom its command should run."""
        if kind == ROOT:
            return [TRACERD], {}, []
        if kind == SUDO:
            return [TRACERD], {"SUDO_UID": str(NOBODY)}, ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}",
                                                        "--init-groups", "--"]
        if kind == AMBIENT:
            binary = self.path("tracerd")
            shutil.copy(TRACERD, binary)
            every = ",".join(f"+{name}" for name in self.every_capability())
            return [*self.as_nobody(f"--inh-caps={every}", f"--ambient-caps={every}"), binary], {}, self.as_nobody()
        names = self.every_capability() if kind == FILE else ["bpf", "perfmon"]
        capabilities = ",".join(f"cap_{name}" for name in names)
        return [*self.as_nobody(), self.copy_with(f"{capabilities}=ep")], {}, self.as_nobody()

    def run_traced(self, kind, command):
        """tracerd once it has given up what it does not need, and what the command found (of `run`)."""
        words, environment, user = self.words_of(kind)
        found = self.path("found")
        what = (["run", "--json", "/dev/null", "--", "sh", "-c", f"{' '.join(self.trying)}; exec sleep 600"]
                if command == "run" else ["watch", "--host", "--json", "/dev/null"])
        with open(found, "wb") as file:
            tracer = self.start(*words, *what, env=os.environ | environment, stdin=subprocess.DEVNULL, stdout=file,
                                stderr=subprocess.DEVNULL, cwd="/")
        wait_until(lambda: "NoNewPrivs:\t1" in text_of(f"/proc/{tracer.pid}/status") or tracer.poll() is not None,
                   "it gives up its rights")
        self.assertIsNone(tracer.poll())
        if command == "run":
            wait_until(lambda: text_of(found).endswith("\n"), "the command has tried all")
            wanted = subprocess.run([*user, *self.trying], stdout=subprocess.PIPE, text=True, check=True, cwd="/")
            self.assertEqual(json.loads(text_of(found)), json.loads(wanted.stdout), "what its user can do")
        else:
            wait_until(lambda: len(os.listdir(f"/proc/{tracer.pid}/task")) > 1, "it writes")
        return tracer

    def try_in_each_thread(self, pid, allowed):
        for thread in os.listdir(f"/proc/{pid}/task"):
            try:
                with attempts.Thread(int(thread)) as stopped:
                    found = stopped.outcomes(self.everybodys, self.other)
            except PermissionError as error:
                self.skipTest(f"threads of others can't be stopped here: {error}")
            self.assertEqual(found.pop("be safe from setuid programs"), "1")
            could = {name for name, result in found.items() if result not in REFUSED}
            # Threads that only write have less.
            self.assertEqual(could, allowed if int(thread) == pid else could & allowed)
            self.assertEqual({found[name] for name in could} - {"done"}, set())

    def test_nothing_that_is_not_named_is_left_and_the_command_can_do_what_its_user_can(self):
        for kind, command in itertools.product((ROOT, SUDO, FILE, FILE_LEAST, AMBIENT), ("run", "watch")):
            with self.subTest(kind=kind, command=command):
                tracer = self.run_traced(kind, command)
                self.try_in_each_thread(tracer.pid, LEAST if kind == FILE_LEAST else NAMED)
                # It goes on as before.
                tracer.send_signal(signal.SIGTERM)
                self.assertEqual(tracer.wait(support.DEADLINE_SECONDS), 128 + signal.SIGTERM if command == "run" else 0)

    def test_a_command_has_the_environment_of_its_caller(self):
        """The C library takes some of it from a program whose file has capabilities."""
        words, _, _ = self.words_of(FILE_LEAST)
        given = {"PATH": "/usr/bin:/bin", "TMPDIR": "/scratch", "LD_LIBRARY_PATH": "/opt/lib", "NAME": "a b=c", "EMPTY": ""}
        for command in (["run", "--no-live", "--no-history"], ["task", "--sample", "S1"], ["task", "--sample=S1"]):
            with self.subTest(command):
                found = subprocess.run([*words, *command, "--", "env"], env=given, stdout=subprocess.PIPE,
                                       stderr=subprocess.DEVNULL, text=True, check=True, cwd="/").stdout
                self.assertEqual(dict(line.split("=", 1) for line in found.splitlines()), given)

    def test_root_itself_could_do_all_of_it(self):
        found = json.loads(subprocess.run(self.trying, stdout=subprocess.PIPE, check=True).stdout)
        self.assertEqual({name for name, result in found.items() if result in REFUSED - {"ENOSYS"}}, set())


class Kept(support.TestCase):
    """Where the kernel does not do what it is asked for, or says it did: a seccomp filter of a container."""
    ALLOW, ERRNO = 0x7fff0000, 0x00050000
    SETRESUID, CAPSET = 117, 126

    def install(self, number, result):
        code = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (6, 0, 0, self.ERRNO | result), (6, 0, 0, self.ALLOW)]
        packed = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *each) for each in code))
        program = ctypes.create_string_buffer(struct.pack("<HxxxxxxQ", len(code), ctypes.addressof(packed)))
        if ctypes.CDLL(None).syscall(317, 1, 0, program) != 0:
            os._exit(99)

    @unittest.skipUnless(attempts.SUPPORTED, "the filter is for x86-64")
    def test_what_can_not_be_given_up_is_not_gone_on_with(self):
        self.tracerd("run", "--record", self.path("r"), "--", "true")
        for number, result in itertools.product((self.SETRESUID, self.CAPSET), (errno.EPERM, 0)):
            for words, status in ((("run", "--", "touch", self.path("ran")), 125), (("watch", "--host"), 1),
                                  (("dump", self.path("r")), 1), (("export", "--trace", "-", self.path("r")), 1)):
                if words[0] == "export" and number == self.SETRESUID:
                    continue  # It stays root, with no capability but that over files.
                with self.subTest(number=number, result=result, words=words[0]):
                    outcome = self.tracerd(*words, preexec_fn=lambda: self.install(number, result))
                    self.assert_fails(outcome, status, "TRC102")
        self.assertFalse(os.path.exists(self.path("ran")))

    def test_root_of_a_user_namespace_reads_recordings(self):
        self.tracerd("run", "--record", self.path("r"), "--", "true")
        os.chmod(self.path("r"), 0o644)
        result = subprocess.run(["unshare", "--user", "--map-root-user", TRACERD, "dump", self.path("r")],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        if "unshare" in result.stderr:
            self.skipTest(result.stderr)
        self.assertEqual(result.returncode, 0, result.stderr)


if __name__ == "__main__":
    support.main()
