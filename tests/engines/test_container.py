# SPDX-License-Identifier: Apache-2.0
"""tracerd inside a container, with a pid namespace and a /proc of its own."""

import json
import subprocess

import installed
import podman_image
import support

RIGHTS = ("--cap-add=BPF,PERFMON", "--security-opt=seccomp=unconfined")


class InAContainer(support.EngineTest):
    @classmethod
    def prepare(cls, workspace):
        cls.podman = podman_image.Podman(workspace)
        cls.addClassCleanup(cls.podman.stop)
        cls.podman.make_image()
        # Statically linked, or it finds no libraries there.
        ldd = subprocess.run(["ldd", support.TRACERD], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        if ldd.returncode == 0:
            installed.skip("tracerd is not statically linked")

    def call(self, rights, *words):
        return self.podman.call("run", "--rm", *rights, "-v", f"{support.TRACERD}:/tracerd:ro", podman_image.IMAGE, *words)

    def inside(self, rights, *words):
        return self.call(rights, "/tracerd", *words)

    def test_pids_are_those_of_the_container(self):
        # Into a file: what the command prints may come in the middle of a line.
        printed = self.call(RIGHTS, "/bin/bash", "-c", "/tracerd run --json /events -- /bin/bash -c 'echo pid $$; /bin/busybox true; :'"
                                                       " && /bin/busybox cat /events")
        events = [json.loads(line) for line in printed.splitlines() if line.startswith("{")]
        [shell] = [int(line.split()[1]) for line in printed.splitlines() if line.startswith("pid ")]
        ended = {event["pid"]: event for event in events if event["kind"] == "process_exit"}
        self.assertEqual(ended[shell]["argv"][0], "/bin/bash")
        [child] = [event for event in ended.values() if event["pid"] != shell]
        self.assertEqual((child["argv"], child["parent_pid"]), (["/bin/busybox", "true"], shell))
        [end] = [event for event in events if event["kind"] == "session_end"]
        self.assertEqual((end["losses"], end["processes_ended"]), (0, 2))

    def test_a_profile_that_forbids_it_is_named(self):
        with self.assertRaisesRegex(AssertionError, "TRC105(.|\n)*seccomp"):
            self.inside([*RIGHTS[:1], "--env", "TRACER_SOURCE=kernel"], "run", "--", "/bin/busybox", "true")


if __name__ == "__main__":
    support.main()
