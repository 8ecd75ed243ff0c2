# SPDX-License-Identifier: Apache-2.0
"""Commands that do what programs seldom do: strange names, arguments, folders, executables, roots and numbers."""

import json
import os
import shutil
import subprocess

import support
from support import PYTHON, cgroup_hierarchy, of_kind


def removed(cgroup):
    """Whether it is gone now: its last process may be on its way out."""
    try:
        os.rmdir(cgroup)
    except OSError:
        return not os.path.isdir(cgroup)
    return True


def static_program():
    """A program that runs in an empty root and knows --help: tracerd itself, or None."""
    ldd = subprocess.run(["ldd", support.TRACERD], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return support.TRACERD if ldd.returncode != 0 else None


class Names(support.TestCase):
    def test_control_characters_do_not_reach_the_terminal(self):
        name = "evil\x1b[31m\n\r\x07\x7f"
        program = self.path(name)
        shutil.copy("/bin/false", program)
        result, events = self.trace(program, "\x1b]0;title\x07", "a\nb", "\x9b31m", options=["--step", "s\x1b[1m\nx"])
        self.assertEqual(result.returncode, 1)
        for character in result.stderr:
            self.assertTrue(character == "\n" or character >= " ", repr(result.stderr))
        for character in "\x7f\x9b":
            self.assertNotIn(character, result.stderr)
        ended = of_kind(events, "process_exit")[0]
        self.assertEqual(ended["exe"], program)
        self.assertEqual(ended["argv"], [program, "\x1b]0;title\x07", "a\nb", "\x9b31m"])

    def test_names_that_are_not_utf_8_make_valid_json(self):
        program = os.fsencode(self.path("plain")) + b"\xff\xfe"
        shutil.copy("/bin/false", program)
        result = subprocess.run([support.TRACERD, b"run", b"--json", b"-", b"--", program, b"\xc3(", b"\xed\xa0\x80",
                                 b"\xf4\x90\x80\x80"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        events = [json.loads(line) for line in result.stdout.decode("utf-8").splitlines()]
        ended = of_kind(events, "process_exit")[0]
        self.assertIn("\ufffd", ended["exe"])
        self.assertEqual(len(ended["argv"]), 4)
        result.stderr.decode("utf-8")

    def test_arguments_of_100_kilobytes_keep_their_head_and_their_tail(self):
        words = ["/bin/true", "first", *(f"{i:06}" + "x" * 993 for i in range(100)), "last"]
        result, events = self.trace(*words)
        self.assertEqual(result.returncode, 0)
        ended = of_kind(events, "process_exit")[0]
        self.assertEqual(ended["argv"][:2], words[:2])
        self.assertEqual(ended["argv"][-1], "last")
        self.assertGreater(ended["argv_cut_bytes"], 90000)
        kept = sum(len(word) + 1 for word in ended["argv"])
        self.assertAlmostEqual(kept + ended["argv_cut_bytes"], sum(len(word) + 1 for word in words), delta=8)

    def test_one_argument_of_100_kilobytes(self):
        result, events = self.trace("/bin/true", "A" * 100_000)
        self.assertEqual(result.returncode, 0)
        ended = of_kind(events, "process_exit")[0]
        self.assertEqual(ended["argv"][0], "/bin/true")
        self.assertEqual(set("".join(ended["argv"][1:])) - {"A", "…"}, set())
        self.assertGreater(ended["argv_cut_bytes"], 90000)

    def test_no_arguments_at_all_and_empty_ones(self):
        result, events = self.trace("/bin/true", "", "", "x", "")
        self.assertEqual(of_kind(events, "process_exit")[0]["argv"], ["/bin/true", "", "", "x", ""])
        self.assertEqual(result.returncode, 0)


class Places(support.TestCase):
    def assert_printable(self, text):
        for character in text:
            self.assertTrue(character == "\n" or (character.isprintable() and character >= " "), repr(text))

    def test_files_whose_names_are_no_names(self):
        names = [b"two\nlines", b"\x1b]0;title\x07\x1b[31m", b"\xff\xfe", b'"\\', b"x" * 255]
        recording = self.path("r.tracer")
        program = (f"names = {names!r}\nfor name in names:\n with open({os.fsencode(self.folder)!r} + b'/' + name, 'wb') as file:\n"
                   "  file.write(b'x' * 1000)\n")
        result = self.tracerd("run", "--record", recording, "--", PYTHON, "-c", program)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assert_printable(result.stderr)
        events = support.parse_lines(self.tracerd("dump", recording).stdout)
        uses = {event["path"]: event["written_bytes"] for event in of_kind(events, "file_use") if event["opened_to_write"]}
        if not uses and not of_kind(events, "file_use"):
            self.skipTest("no family files on this kernel")
        for name in names:
            self.assertEqual(uses.get(os.path.join(os.path.realpath(self.folder), name.decode(errors="replace"))), 1000, name)
        for words in (("files",), ("lineage",), ("lineage", "--dot"), ("report",), ("log",)):
            shown = self.tracerd(*words, recording)
            self.assertEqual(shown.returncode, 0, shown.stderr)
            self.assert_printable(shown.stdout)
        json.loads(self.tracerd("lineage", "--json", recording).stdout)

    def test_a_file_below_10000_folders(self):
        program = (f"import os\nos.chdir({self.folder!r})\n"
                   "for i in range(10000):\n os.mkdir('d'); os.chdir('d')\n"
                   "open('deepest', 'w').write('x' * 1000)\n")
        self.addCleanup(lambda: subprocess.run(["rm", "-rf", self.path("d")], check=True))
        result, events = self.trace(PYTHON, "-c", program)
        self.assertEqual(result.returncode, 0, result.stderr)
        uses = [use for use in of_kind(events, "file_use") if (use["path"] or "").endswith("/d/d/d/deepest")]
        if not of_kind(events, "file_use"):
            self.skipTest("no family files on this kernel")
        self.assertEqual([(use["path_cut"], use["written_bytes"]) for use in uses], [(True, 1000)])
        self.assertTrue(uses[0]["path"].startswith("…/d/d/"), uses[0]["path"][:20])

    def test_a_cgroup_whose_name_is_garbage(self):
        if not cgroup_hierarchy():
            self.skipTest("no cgroup can be made here")
        # What the kernel takes.
        name = b"ab" + bytes(byte for byte in range(1, 256) if byte not in b"\n/")
        group = os.path.join(os.fsencode(cgroup_hierarchy()), name)
        os.mkdir(group)
        self.addCleanup(lambda: support.wait_until(lambda: removed(group), "a cgroup that is empty can be removed"))
        program = (f"import os\nwith open({group!r} + b'/cgroup.procs', 'w') as procs:\n procs.write('0')\n"
                   "os.execv('/bin/true', ['true'])\n")
        result, events = self.trace(PYTHON, "-c", program)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assert_printable(result.stderr)
        self.assertEqual(of_kind(events, "process_exit")[-1]["cgroup"], "/" + name.decode(errors="replace"))

    def test_a_working_folder_nearly_as_deep_as_a_path_may_be(self):
        os.chmod(self.folder, 0o755)
        program = (f"import os\nos.chdir({self.folder!r})\n"
                   "for i in range(20):\n os.mkdir('d' * 190); os.chdir('d' * 190)\n"
                   "os.execv('/bin/pwd', ['/bin/pwd', '-P'])\n")
        result, events = self.trace(PYTHON, "-c", program)
        self.assertEqual(result.returncode, 0, result.stderr)
        deep = result.stdout.rstrip("\n")
        self.assertGreater(len(deep), 3800)
        cwd = of_kind(events, "process_exit")[-1]["cwd"]
        self.assertTrue(cwd is None or cwd == deep or (len(cwd) < len(deep) and "…" in cwd or "..." in cwd),
                        f"a path that is not so: {cwd[:60]}…{cwd[-20:]} ({len(cwd)})" if cwd else None)

    def test_a_working_folder_that_was_removed(self):
        gone = self.path("gone")
        os.mkdir(gone)
        result, events = self.trace("sh", "-c", "rmdir \"$PWD\"; /bin/true; /bin/echo x", cwd=gone)
        self.assertEqual(result.stdout, "x\n")
        self.assertEqual(len(of_kind(events, "process_exit")), 4 if shutil.which("rmdir") else 3)

    def test_an_executable_that_removes_itself(self):
        program = self.path("once")
        shutil.copy(shutil.which("sh"), program)
        result, events = self.trace(program, "-c", 'rm "$0"; /bin/true; exit 3', program)
        self.assertEqual(result.returncode, 3)
        last = of_kind(events, "process_exit")[-1]
        self.assertIn(program, last["exe"])

    def test_a_program_in_memory(self):
        program = ("import os\nfd = os.memfd_create('hidden')\n"
                   "with open('/bin/true', 'rb') as f: os.write(fd, f.read())\n"
                   "os.execve(fd, ['nameless', 'x'], {})\n")
        result, events = self.trace(PYTHON, "-c", program)
        self.assertEqual(result.returncode, 0, result.stderr)
        last = of_kind(events, "process_exit")[-1]
        self.assertEqual(last["argv"], ["nameless", "x"])
        self.assertIn("memfd:hidden", last["exe"])

    def test_a_program_in_another_root(self):
        program = static_program()
        if not program:
            self.skipTest("no static program is at hand")
        root = self.path("root")
        os.makedirs(os.path.join(root, "bin"))
        shutil.copy(program, os.path.join(root, "bin", "inside"))
        result, events = self.trace("chroot", root, "/bin/inside", "--help")
        self.assertEqual(result.returncode, 0, result.stderr)
        last = of_kind(events, "process_exit")[-1]
        self.assertEqual((last["exe"], last["cwd"]), ("/bin/inside", "/"))

    def test_a_program_in_a_private_mount_namespace(self):
        place = self.path("place")
        os.mkdir(place)
        result, events = self.trace("unshare", "-m", "sh", "-c", f"mount -t tmpfs none {place} && cp /bin/true {place}/inner && "
                                    f"cd {place} && ./inner; exit $?")
        if "mount:" in result.stderr:
            self.skipTest("nothing can be mounted here")
        self.assertEqual(result.returncode, 0, result.stderr)
        inner = [event for event in of_kind(events, "process_exit") if event["argv"] == ["./inner"]][0]
        self.assertEqual((inner["exe"], inner["cwd"]), (place + "/inner", place))
        self.assertNotEqual(inner["mount_namespace"], os.stat("/proc/self/ns/mnt").st_ino)

    def test_a_program_in_a_private_pid_namespace_has_its_outer_number(self):
        result, events = self.trace("unshare", "-pf", "sh", "-c", "/bin/echo $$; exit 2")
        self.assertEqual((result.returncode, result.stdout), (2, "1\n"), result.stderr)
        inner = [event for event in of_kind(events, "process_exit") if event["argv"] == ["/bin/echo", "1"]][0]
        self.assertNotEqual(inner["pid_namespace"], os.stat("/proc/self/ns/pid").st_ino)
        self.assertIn(inner["parent_pid"], [event["pid"] for event in of_kind(events, "process_exit")])


class Numbers(support.TestCase):
    def test_500_subshells(self):
        result, events = self.trace("bash", "-c", "for i in {1..500}; do (exit 3) & done; wait; (exit 0)")
        self.assertEqual(result.returncode, 0)
        exits = of_kind(events, "process_exit")
        self.assertEqual(len(exits), 502)
        self.assertEqual(len({(event["pid"], event["start_ns"]) for event in exits}), 502)
        self.assertIn("502 of 502 ended processes seen, nothing lost", result.stderr)
        self.assertIn("500 failed:", result.stderr)
        self.assertIn("… 499 more like it", result.stderr)
        self.assertLess(result.stderr.count("\n"), 24)

    def test_50_programs_in_a_row_in_one_process(self):
        result, events = self.trace("sh", "-c", 'test $1 -gt 0 || exit 8; exec sh -c "$0" "$0" $(($1 - 1))',
                                    'test $1 -gt 0 || exit 8; exec sh -c "$0" "$0" $(($1 - 1))', "49")
        self.assertEqual(result.returncode, 8)
        self.assertEqual(len(of_kind(events, "process_exec")), 50)
        self.assertEqual(len(of_kind(events, "process_exit")), 1)

    def test_a_thread_that_is_not_the_first_executes_a_program(self):
        program = ("import os, threading\n"
                   "threading.Thread(target=lambda: os.execv('/bin/echo', ['/bin/echo', 'thread'])).start()\n"
                   "threading.Event().wait()\n")
        result, events = self.trace(PYTHON, "-c", program)
        self.assertEqual((result.returncode, result.stdout), (0, "thread\n"))
        last = of_kind(events, "process_exit")[-1]
        self.assertEqual((last["argv"], last["exit_code"]), (["/bin/echo", "thread"], 0))
        self.assertEqual(len(of_kind(events, "process_exit")), 1 + sum(
            1 for event in of_kind(events, "process_start") if event["attached_ns"] is None))

    def test_a_first_thread_that_ends_before_the_others(self):
        program = ("import ctypes, os, threading, time\n"
                   "def last():\n"
                   "    while open(f'/proc/{os.getpid()}/stat').read().rsplit(')')[1].split()[0] != 'Z': time.sleep(0.01)\n"
                   "    sum(range(1000000)); os._exit(5)\n"
                   "threading.Thread(target=last).start()\n"
                   "ctypes.CDLL(None).syscall(60 if os.uname().machine == 'x86_64' else 93, 0)\n")
        result, events = self.trace(PYTHON, "-c", program)
        self.assertEqual(result.returncode, 5, result.stderr)
        last = of_kind(events, "process_exit")[-1]
        self.assertEqual((last["exit_code"], last["threads"]), (5, 2))


if __name__ == "__main__":
    support.main()
