# SPDX-License-Identifier: Apache-2.0
"""tracerd check reports what tracerd run meets."""

import ctypes
import json
import os
import platform
import struct
import subprocess

import support
from support import TRACERD

SECCOMP_FILTER = 2
REFUSE = 0x00050000 | 1  # EPERM
ALLOW = 0x7FFF0000
BPF_CALL = {"x86_64": 321, "aarch64": 280}


def refuse_bpf():
    """A filter as containers have by default: bpf() is refused."""
    number = BPF_CALL[platform.machine()]
    program = struct.pack("HBBI", 0x20, 0, 0, 0) + struct.pack("HBBI", 0x15, 0, 1, number)
    program += struct.pack("HBBI", 0x06, 0, 0, REFUSE) + struct.pack("HBBI", 0x06, 0, 0, ALLOW)
    buffer = ctypes.create_string_buffer(program)

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))

    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(38, 1, 0, 0, 0)
    if libc.prctl(22, SECCOMP_FILTER, ctypes.byref(Program(4, ctypes.addressof(buffer)))) != 0:
        os._exit(99)


class Check(support.TestCase):
    def found(self, result):
        report = json.loads(result.stdout)
        self.assertEqual(set(report), {"works", "problems", "families"})
        for problem in report["problems"]:
            self.assertEqual(set(problem), {"code", "message", "fix", "detail"})
        return report

    def test_where_it_works(self):
        result = self.tracerd("check", "--json")
        report = self.found(result)
        self.assertEqual((result.returncode, report["works"], report["problems"]), (0, True, []))
        self.assertEqual([family["name"] for family in report["families"]],
                         ["lifecycle", "waits", "snapshots", "memory", "files", "network", "containers", "disks",
                          "syscalls", "gpu"])
        for family in report["families"]:
            self.assertEqual(set(family), {"name", "available", "mechanism", "problem"})
            # Few machines have a GPU that reports its use.
            if family["name"] != "gpu":
                self.assertTrue(family["available"])
            elif not family["available"]:
                self.assertEqual(family["problem"]["code"], "TRC119")
        text = self.tracerd("check").stdout
        self.assertIn("ok      loading and attaching programs", text)
        files = next(family for family in report["families"] if family["name"] == "files")
        if "vfs_rename" in files["mechanism"]:
            self.assertIsNone(files["problem"])
        else:
            self.assertRegex(files["problem"]["message"], "^renames and deletes are not seen: this kernel .+")
            self.assertTrue(files["problem"]["fix"])
            self.assertIn("partly  files: renames and deletes are not seen: ", text)
        self.assertRegex(text, r"ok      cost of the family syscalls: slows each call of the host by [1-9][0-9]* ns")

    def test_who_called_sudo_is_shown_how_to_do_without(self):
        way = f"To trace as yourself, with your own PATH, once: {os.path.realpath(TRACERD)} setup\n"
        self.assertIn(way, self.tracerd("check", env=os.environ | {"SUDO_UID": str(support.NOBODY)}).stdout)
        self.assertNotIn("To trace as yourself", self.tracerd("check").stdout)

    def test_where_bpf_is_refused(self):
        run = self.tracerd("run", "--", "true", preexec_fn=refuse_bpf, env=os.environ | {"TRACER_SOURCE": "kernel"})
        self.assert_fails(run, 125, "TRC105")
        run = self.tracerd("run", "--", "true", preexec_fn=refuse_bpf)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("tracerd: polls /proc, so that sums are lower bounds: the kernel refused to load", run.stderr)
        result = self.tracerd("check", "--json", preexec_fn=refuse_bpf)
        report = self.found(result)
        self.assertEqual((result.returncode, report["works"]), (1, False))
        self.assertEqual([problem["code"] for problem in report["problems"]], ["TRC105"])
        self.assertIn("seccomp profile", report["problems"][0]["fix"])
        text = self.tracerd("check", preexec_fn=refuse_bpf)
        self.assertEqual(text.returncode, 1)
        self.assertIn("\nexact tracing does not work here: items marked MISSING are required;\n"
                      "where the kernel refuses it, tracerd run uses /proc: its figures are lower bounds\n", text.stdout)

    def test_in_a_user_namespace(self):
        """Root in it may load nothing, as it is root of nothing that the kernel shares."""
        for flags, code in ((("--user", "--map-root-user"), "TRC105"), (("--user",), "TRC102")):
            with self.subTest(flags):
                within = ["unshare", *flags]
                if subprocess.run([*within, "true"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
                    self.skipTest("this machine has no user namespaces")
                result = subprocess.run([*within, TRACERD, "check", "--json"], capture_output=True, text=True, check=False)
                report = self.found(result)
                self.assertEqual((result.returncode, report["works"]), (1, False))
                self.assertEqual({problem["code"] for problem in report["problems"]}, {code})
                for problem in report["problems"]:
                    self.assertRegex(problem["fix"], "^a user namespace can't give the right .+ from outside of it")
                text = subprocess.run([*within, TRACERD, "check"], capture_output=True, text=True, check=False).stdout
                self.assertIn("          fix: a user namespace can't give the right", text)
                self.assertNotIn("tracerd check", text)

    def test_where_rights_can_not_be_given_up(self):
        without = ["setpriv", "--bounding-set", "-setuid,-setgid", "--inh-caps", "-setuid,-setgid"]
        run = subprocess.run([*without, TRACERD, "run", "--", "true"], capture_output=True, text=True, check=False)
        self.assert_fails(run, 125, "TRC102")
        result = subprocess.run([*without, TRACERD, "check", "--json"], capture_output=True, text=True, check=False)
        report = self.found(result)
        self.assertEqual((result.returncode, report["works"]), (1, False))
        self.assertEqual([problem["code"] for problem in report["problems"]], ["TRC102"])
        self.assertTrue(report["problems"][0]["fix"])

    def test_without_rights(self):
        as_nobody = ["setpriv", "--reuid", str(support.NOBODY), "--clear-groups", "--inh-caps=-all", "--bounding-set=-all"]
        result = subprocess.run([*as_nobody, TRACERD, "check", "--json"], capture_output=True, text=True, check=False)
        report = self.found(result)
        self.assertEqual((result.returncode, report["works"]), (1, False))
        self.assertIn("TRC102", [problem["code"] for problem in report["problems"]])
        self.assertIn("missing capability CAP_BPF", [problem["message"] for problem in report["problems"]])
        text = subprocess.run([*as_nobody, TRACERD, "check"], capture_output=True, text=True, check=False).stdout
        self.assertIn(f"once: {os.path.realpath(TRACERD)} setup\n", text)


if __name__ == "__main__":
    support.main()
