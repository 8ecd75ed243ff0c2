# SPDX-License-Identifier: Apache-2.0
"""Debian's package under a real systemd: its unit, the descriptor store, the watchdog, a socket unit, an upgrade and a purge.
As root; nothing is installed or started on this machine."""
import collections
import contextlib
import ctypes
import json
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts/lib"))
import test_packages as packages
from debian_roots import RootCopy
from python_package import NotThere
from systemd_machine import SystemdMachine

DEADLINE_S = 120
USER = "alice"
HOME = f"/home/{USER}"
# Two processes each time, about 400 a second, until a file is there; prints how often.
STORM = f"i=0; while [ ! -e {HOME}/stop ]; do i=$((i + 1)); /bin/true $i; /bin/sleep 0.002; done; echo $i"
# A part of the ring is for what may come in floods: on a busy host, it is full before a slow start has ended.
OF_FLOODS = {"ring_full_file_use", "ring_full_connection", "ring_full_cgroup_end"}

# A user that is nobody, with BPF, PERFMON, SYS_PTRACE and DAC_READ_SEARCH; what it gave up is SETUID and SETGID.
RIGHTS = {"Uid": "2147483646", "CapPrm": "000000c000080004", "CapEff": "000000c000080004", "CapBnd": "000000c0000800c4",
          "CapInh": "0000000000000000", "CapAmb": "0000000000000000", "NoNewPrivs": "1", "Seccomp": "2"}


def living_programs():
    """The numbers of all BPF programs of this kernel."""
    call = {"x86_64": 321, "aarch64": 280}[platform.machine()]
    next_program, attributes, numbers = 11, (ctypes.c_uint32 * 3)(), set()
    while ctypes.CDLL(None).syscall(call, next_program, attributes, ctypes.sizeof(attributes)) == 0:
        numbers.add(str(attributes[1]))
        attributes[0] = attributes[1]
    return numbers


def setUpModule():
    packages.make("deb")


class UnderSystemd(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="libtracer-systemd-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, True)
        try:
            cls.root = RootCopy(cls.folder)
            cls.addClassCleanup(cls.root.close)
            cls.root.put("/root/tracerd.deb", packages.debs["tracerd"])
            apt = "apt-get", "-q", "-y", "--no-install-recommends"
            cls.done(cls.root, (*apt, "update"), (*apt, "install", "systemd", "dbus"),
                     (*apt, "install", "/root/tracerd.deb"),
                     # What it depends on stays, as the machine has no network.
                     ("dpkg", "--purge", "tracerd"))
            cls.machine = SystemdMachine(cls.root)
        except NotThere as error:
            raise unittest.SkipTest(str(error)) from error
        cls.addClassCleanup(cls.machine.close)
        cls.done(cls.machine, ("dpkg", "-i", "/root/tracerd.deb"), ("useradd", "--create-home", USER))

    @staticmethod
    def done(root, *commands):
        for words in commands:
            status, text = root.run(*words)
            if status != 0:
                raise NotThere(f"{' '.join(words)}: {text[-500:]}")

    def setUp(self):
        self.began = int(time.time())
        self.configure()
        self.good("systemctl", "start", "tracerd")
        self.addCleanup(self.machine.run, "systemctl", "stop", "tracerd.socket", "tracerd.service")

    def configure(self, unit="", configuration=""):
        """A drop-in of the unit, and the service's configuration."""
        self.machine.put("/etc/systemd/system/tracerd.service.d/test.conf", text=f"[Service]\n{unit}\n")
        self.machine.put("/etc/tracer/tracerd.toml", text=f"schema = 1\n{configuration}\n")
        self.good("systemctl", "daemon-reload")
        self.allow_starts()

    def allow_starts(self):
        """systemd refuses the sixth in a minute."""
        self.machine.run("systemctl", "reset-failed", "tracerd")

    def good(self, *words, **variables):
        status, text = self.machine.run(*words, **variables)
        self.assertEqual(status, 0, f"{words}: {text[-3000:]}\n{self.log()[-3000:]}")
        return text

    def log(self):
        return self.machine.run("journalctl", "--no-pager", "--output=short-monotonic", "--unit=tracerd", f"--since=@{self.began}")[1]

    def said(self):
        """Its own lines of the log."""
        return re.findall(r"tracerd\[\d+\]: (.*)", self.log())

    def assert_it_goes_on(self, times=1):
        """Those that were started last have continued what the one before did."""
        last = self.said()[-times:]
        self.assertEqual([line.startswith("tracerd: goes on with session") for line in last], times * [True], self.log())

    def property(self, name):
        return self.good("systemctl", "show", "--value", f"--property={name}", "tracerd").strip()

    def main_process(self):
        return self.property("MainPID")

    def wait_until(self, happens, what):
        until = time.monotonic() + DEADLINE_S
        while not happens():
            self.assertLess(time.monotonic(), until, f"not so after {DEADLINE_S} s: {what}\n{self.log()[-3000:]}")
            time.sleep(0.05)

    def wait_for_another(self, process):
        """Until the service is ready, as another process than `process`."""
        self.wait_until(lambda: self.property("ActiveState") == "active" and self.main_process() not in ("0", process),
                        "another process serves")

    def kill(self, signal):
        """The main process, and waits for the next."""
        self.allow_starts()
        process = self.main_process()
        self.good("sh", "-c", f"kill -{signal} {process}")
        self.wait_for_another(process)

    def kill_twice(self):
        """Also the next one, before it is ready."""
        self.allow_starts()
        process = self.main_process()
        self.good("sh", "-c", f"kill -KILL {process}")
        self.wait_until(lambda: self.main_process() not in ("0", process), "another process was started")
        self.kill("KILL")

    def of_status(self, key):
        found = re.search(rf"^{key}:\s*(\w+)", self.good("cat", f"/proc/{self.main_process()}/status"), re.M)
        return found[1]

    def assert_exact(self):
        text = self.good(*self.machine.as_user(USER, "tracerd", "run", "--no-history", "--", "sh", "-c",
                                               "gzip --version; gzip --help"))
        self.assertRegex(text, r"(?m)^ *gzip +2 ")
        self.assertRegex(text, r"complete: (\d+) of \1 ended processes seen, by the service, nothing lost")

    def test_a_user_is_served_and_the_fence_costs_nothing(self):
        self.assert_exact()
        status = self.good("tracerd", "status")
        self.assertIn("traces: lifecycle waits snapshots memory files network containers disks\n", status)
        self.assertIn("lost:   nothing\n", status)
        self.assertEqual(self.property("StatusText").partition(";")[0], "tracing")
        self.assertEqual(self.said(), [])
        self.assertEqual({key: self.of_status(key) for key in RIGHTS}, RIGHTS)

    @contextlib.contextmanager
    def a_pipeline(self):
        """Runs until the end of the block, as the user's. What it has printed is in the list then."""
        said = []
        process = subprocess.Popen(self.machine.words(*self.machine.as_user(
            USER, "env", "TRACER_SOURCE=service", "tracerd", "run", "--no-history", "--json", f"{HOME}/events.json", "--", "sh",
            "-c", STORM)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            yield said
        finally:
            self.machine.put(f"{HOME}/stop")
            said.append(process.communicate(timeout=DEADLINE_S)[0])
            self.machine.path(f"{HOME}/stop").unlink()
        self.assertEqual(process.returncode, 0, said)

    def test_nothing_is_lost_by_kills_restarts_an_upgrade_and_a_downgrade(self):
        packages.write_later_version(self.machine.path("/root/later.deb"), self.folder / "later")
        with self.a_pipeline() as said:
            for _ in range(3):
                time.sleep(0.7)
                self.kill("KILL")
            time.sleep(0.7)
            self.kill_twice()
            for words in (("systemctl", "restart", "tracerd"), *(("dpkg", "--force-confold", "-i", f"/root/{name}.deb") for name in ("later", "tracerd"))):
                time.sleep(0.7)
                before = self.main_process()
                self.allow_starts()
                self.good(*words)
                self.wait_for_another(before)
            time.sleep(0.5)
        self.assert_it_goes_on(times=6)
        self.assert_all_once(int(re.search(r"(?m)^\d+$", said[0])[0]))

    def events(self):
        """Those of the pipeline, and how often each number was one's first argument, by kind."""
        text = self.machine.path(f"{HOME}/events.json").read_text(encoding="utf-8")
        events = [json.loads(line) for line in text.splitlines()]
        return events, {kind: collections.Counter(event["argv"][1] for event in events
                                                  if event["kind"] == kind and event["argv"] and event["argv"][0] == "/bin/true")
                        for kind in ("process_exec", "process_exit")}

    def assert_all_once(self, count):
        self.assertGreater(count, 500)
        events, numbers = self.events()
        for kind, seen in numbers.items():
            wrong = [number for number in range(1, count + 1) if seen[str(number)] != 1]
            self.assertEqual((wrong[:9], len(seen)), ([], count), f"{kind}\n{self.log()}")
        losses = {event["cause"] for event in events if event["kind"] == "loss"}
        self.assertEqual(losses - OF_FLOODS, set(), self.log())

    def test_who_does_not_move_is_killed_by_the_watchdog_and_loses_nothing(self):
        # A process that is stopped does not take the first signal: systemd kills it later.
        self.configure(unit="WatchdogSec=2s\nTimeoutStopSec=1s")
        self.good("systemctl", "restart", "tracerd")
        process = self.main_process()
        time.sleep(5)
        self.assertEqual((self.main_process(), self.property("NRestarts")), (process, "0"), "it moves, and is left alone")
        self.kill("STOP")
        self.assertEqual(self.property("NRestarts"), "1")
        self.assertIn("Watchdog timeout", self.log())
        self.assert_it_goes_on()
        self.assert_exact()

    def test_a_reload_begins_a_new_recording(self):
        self.configure(configuration='[recordings]\nfolder = "/var/lib/tracer/recordings"\n')
        self.good("mkdir", "-p", "/var/lib/tracer/recordings")
        self.good("systemctl", "restart", "tracerd")
        process = self.main_process()
        self.good("systemctl", "reload", "tracerd")
        second = self.machine.path("/var/lib/tracer/recordings/host.tracer.1")
        self.wait_until(second.exists, "there are two recordings")
        self.assertEqual(self.main_process(), process)

    def its_programs(self):
        """The numbers of BPF programs that the service has."""
        links = self.machine.path(f"/proc/{self.main_process()}/fdinfo")
        programs = {found[1] for path in links.iterdir() if (found := re.search(r"^prog_id:\s*(\d+)", path.read_text(), re.M))}
        self.assertGreater(len(programs), 10)
        return programs

    def test_a_stop_leaves_nothing_in_the_kernel(self):
        programs = self.its_programs()
        self.good("systemctl", "stop", "tracerd")
        self.assertEqual((self.property("NFileDescriptorStore"), self.property("Result")), ("0", "success"))
        self.wait_until(lambda: not programs & living_programs(), "its programs are gone")
        status, text = self.machine.run(*self.machine.as_user(USER, "tracerd", "run", "--no-history", "--", "true"))
        self.assertEqual(status, 0, text)
        self.assertIn("no service listens on /run/tracer/tracer.sock", text)

    def test_the_first_client_starts_it_by_its_socket_and_waits_for_it(self):
        self.good("systemctl", "stop", "tracerd")
        # Longer than a service that runs needs for an answer.
        self.configure(unit="ExecStartPre=/bin/sleep 3")
        self.good("cp", "/usr/share/doc/tracerd/examples/tracerd.socket", "/etc/systemd/system/")
        self.good("systemctl", "daemon-reload")
        self.good("systemctl", "start", "tracerd.socket")
        self.assertEqual(self.property("ActiveState"), "inactive")
        self.assert_exact()
        self.kill("KILL")
        self.assert_it_goes_on()
        self.assert_exact()

    def test_it_can_open_no_socket_of_a_network(self):
        self.assertEqual(self.property("RestrictAddressFamilies"), "AF_UNIX")
        # In the same fence, as systemd sets it up for each of the unit's programs.
        self.configure(unit="ExecStartPre=/bin/bash -c 'for kind in tcp udp; do : < /dev/$$kind/127.0.0.1/9; done; true'")
        self.good("systemctl", "restart", "tracerd")
        self.wait_until(lambda: self.log().count("Address family not supported by protocol") == 2, "both are refused")

    def test_an_outbox_is_for_its_group(self):
        outbox = "/var/lib/tracer/outbox"
        self.good("useradd", "--system", "--gid", "tracer-ship", "shipper")
        self.configure(configuration=f'[recordings]\nfolder = "/var/lib/tracer"\nby_owner = true\noutbox = "{outbox}"\n')
        self.good("systemctl", "restart", "tracerd")
        self.good(*self.machine.as_user(USER, "true"))
        self.good("systemctl", "reload", "tracerd")
        self.wait_until(lambda: self.machine.run("sh", "-c", f"ls {outbox}/*/*/*/*-00000001.tracer")[0] == 0, "parts are sealed")
        self.good("systemctl", "stop", "tracerd")
        lines = self.good("find", outbox, "-printf", "%y %m %u %g\n").split("\n")[:-1]
        # RestrictSUIDSGID= of the unit refuses the bit of folders: each is given to the group.
        self.assertEqual(set(lines), {"d 770 root tracer-ship", "f 640 root tracer-ship"})
        self.assertNotIn("tracerd: ", "".join(line for line in self.said() if "outbox" in line))
        self.good("setpriv", "--reuid", "shipper", "--regid", "tracer-ship", "--clear-groups", "--inh-caps=-all", "sh", "-c",
                  f"cat {outbox}/*/*/*/*.tracer > /dev/null && rm {outbox}/*/*/*/*.tracer")

    def test_z_a_removal_and_a_purge_leave_a_pipeline_alone_and_nothing_behind(self):
        """The last one."""
        self.machine.path("/etc/systemd/system/tracerd.service.d/test.conf").unlink()
        for how in ("--remove", "--purge"):
            self.good("dpkg", "--force-confold", "-i", "/root/tracerd.deb")
            self.good("systemctl", "restart", "tracerd")
            programs = self.its_programs()
            with self.a_pipeline() as said:
                time.sleep(2)
                self.good("dpkg", how, "tracerd")
                time.sleep(0.5)
            # It went on; what ran before is there, all of it and once.
            _, numbers = self.events()
            seen = len(numbers["process_exec"])
            self.assertGreater(int(re.search(r"(?m)^\d+$", said[0])[0]), seen)
            self.assertGreater(seen, 100)
            for kind, last in (("process_exec", seen), ("process_exit", seen - 1)):
                self.assertEqual([number for number in range(1, last + 1) if numbers[kind][str(number)] != 1], [], kind)
            self.wait_until(lambda: not programs & living_programs(), "its programs are gone")
            self.assertEqual((self.property("ActiveState"), self.property("LoadState")), ("inactive", "not-found"))
            self.assertEqual(self.machine.run("sh", "-c", "grep -lx tracerd /proc/[0-9]*/comm")[1], "")
        for path in ("/var/lib/tracer", "/etc/tracer", "/run/tracer", "/usr/bin/tracerd", "/lib/systemd/system/tracerd.service"):
            self.assertFalse(self.machine.path(path).exists(), path)


if __name__ == "__main__":
    unittest.main(verbosity=2)
