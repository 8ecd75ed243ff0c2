# SPDX-License-Identifier: Apache-2.0
"""podman with all of its files in one folder, and an image made of this machine's own bash and busybox."""

import io
import os
import pathlib
import re
import subprocess
import sys
import tarfile

import installed

IMAGE = "localhost/libtracer-engine"
CONTAINERS_CONF = """
[containers]
default_ulimits = ["nofile=20000:20000", "nproc=20000:20000"]
netns = "host"
log_driver = "none"
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
events_logfile_path = "{folder}/events.log"
tmp_dir = "{folder}/tmp"
"""
STORAGE_CONF = """
[storage]
driver = "vfs"
graphroot = "{folder}/storage"
runroot = "{folder}/run"
"""
REAPER = (sys.executable, str(installed.HERE / "reaper.py"))


class Podman:
    """Ends with stop(), which leaves no container, process or mount."""

    def __init__(self, workspace):
        self.program = installed.program("podman", "podman")
        installed.program("runc", "runc")
        self.folder = workspace.folder / "podman"
        self.folder.mkdir()
        (self.folder / "containers.conf").write_text(CONTAINERS_CONF.format(folder=self.folder))
        (self.folder / "storage.conf").write_text(STORAGE_CONF.format(folder=self.folder))
        self.had = set(traces())
        self.environment = {"CONTAINERS_CONF": str(self.folder / "containers.conf"),
                            "CONTAINERS_STORAGE_CONF": str(self.folder / "storage.conf")}

    def call(self, *words, **options):
        result = subprocess.run([*REAPER, self.program, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                check=False, env=os.environ | self.environment, timeout=120, **options)
        if result.returncode != 0:
            raise AssertionError(f"podman {words[0]}: {result.stdout.decode(errors='replace')[-2000:]}")
        return result.stdout.decode(errors="replace")

    def make_image(self):
        self.call("import", "--change", "ENV PATH=/usr/bin:/bin", "-", IMAGE, input=image_files())
        try:
            self.call("run", "--rm", IMAGE, "/bin/bash", "-c", "ls > /dev/null")
        except AssertionError as error:
            installed.skip(f"no container runs here: {error}")

    def stop(self):
        for words in (("rm", "--all", "--force", "--time", "0"), ("rmi", "--all", "--force")):
            self.call(*words)
        for path in set(traces()) - self.had:
            if path.is_dir():
                for folder, _, _ in os.walk(path, topdown=False):
                    os.rmdir(folder)
            else:
                path.unlink()


def traces():
    """What podman leaves outside of its folder."""
    return [*pathlib.Path("/sys/fs/cgroup").glob("*/libpod_parent"), *pathlib.Path("/dev/shm").glob("libpod_lock")]


def image_files():
    """A tar archive: bash with its libraries, and busybox by the names of its programs."""
    busybox = installed.program("busybox", "busybox-static")
    bash = installed.program("bash", "bash")
    libraries = re.findall(r"(/\S+) \(0x", subprocess.run(["ldd", bash], stdout=subprocess.PIPE, text=True,
                                                          check=True).stdout)
    names = subprocess.run([busybox, "--list"], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w", dereference=True) as archive:
        for path in (bash, *libraries):
            archive.add(path, "bin/bash" if path == bash else path.lstrip("/"))
        archive.add(busybox, "bin/busybox")
        for folder in ("tmp", "proc", "sys", "dev", "etc", "run", "var/tmp", "usr/bin"):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777
            archive.addfile(entry)
        for name in set(names) - {"busybox", "bash"}:
            entry = tarfile.TarInfo(f"bin/{name}")
            entry.type, entry.linkname = tarfile.SYMTYPE, "busybox"
            archive.addfile(entry)
    return content.getvalue()
