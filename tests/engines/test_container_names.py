# SPDX-License-Identifier: Apache-2.0
"""Names and images of real containers, from the files that podman keeps."""

import contextlib
import json
import os
import pathlib
import signal
import subprocess

import ending
import installed
import podman_image
import support

PODMANS_OWN = pathlib.Path("/var/lib/containers/storage")


@contextlib.contextmanager
def podmans_place(storage):
    """podman's folder where everybody looks for it."""
    above = PODMANS_OWN.parent
    is_new = not above.exists()
    above.mkdir(exist_ok=True)
    PODMANS_OWN.symlink_to(storage)
    try:
        yield
    finally:
        PODMANS_OWN.unlink()
        if is_new:
            above.rmdir()


class Names(support.EngineTest):
    @classmethod
    def prepare(cls, workspace):
        if PODMANS_OWN.exists() or os.geteuid() != 0:
            installed.skip("podman is in use here, or this is not root")
        podman = podman_image.Podman(workspace)
        cls.addClassCleanup(podman.stop)
        podman.make_image()
        path = workspace.folder / "names.json"
        with podmans_place(workspace.folder / "podman/storage"), open(workspace.folder / "names.log", "wb") as log:
            tracer = subprocess.Popen([support.TRACERD, "watch", "--host", "--no-live", "--families", "containers", "--json",
                                       str(path)], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            try:
                workspace.wait_until_seen(path, tracer)
                podman.call("run", "--rm", "--name", "align_1", podman_image.IMAGE, "/bin/busybox", "true")
                podman.call("run", "--name", "sort_2", podman_image.IMAGE, "/bin/busybox", "true")
                podman.call("rm", "sort_2")
                workspace.wait_until_seen(path, tracer)
            finally:
                ending.end(tracer, signal.SIGINT, 60)
        cls.events = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]

    def of_kind(self, kind):
        return {event["name"]: event for event in self.events if event["kind"] == kind and event["runtime"] == "podman"}

    def test_starts_and_finishes_have_the_name_and_the_image(self):
        for kind in ("container_start", "container_finish"):
            found = self.of_kind(kind)
            self.assertEqual(set(found), {"align_1", "sort_2"}, kind)
            for event in found.values():
                self.assertRegex(event["image"], "^" + podman_image.IMAGE)
                self.assertRegex(event["container_id"], "^[0-9a-f]{64}$")


if __name__ == "__main__":
    support.main()
