# SPDX-License-Identifier: Apache-2.0
"""systemd as the first process of a copy of a Debian root: in namespaces and a cgroup of its own, with the kernel of this
machine and without its network. It ends with the process that made it."""
import os
import pathlib
import re
import subprocess
import time

from debian_roots import Inside
from python_package import NotThere

# In the root's mount namespace, and in the cgroup that becomes the root of the machine's.
BOOT = """
cd "$1" && umount -R proc sys dev &&
    mount -t proc proc proc && mount -t sysfs sysfs sys && mount -t cgroup2 cgroup2 sys/fs/cgroup &&
    mount -t bpf bpf sys/fs/bpf && mount -t tracefs tracefs sys/kernel/tracing &&
    mount -t tmpfs -o mode=755 dev dev && mount -t tmpfs -o mode=755 run run && mount -t tmpfs tmp tmp &&
    mkdir dev/pts dev/shm && mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts &&
    mount -t tmpfs shm dev/shm && ln -s pts/ptmx dev/ptmx && ln -s /proc/self/fd dev/fd || exit
for each in null:3 zero:5 full:7 random:8 urandom:9; do mknod -m 666 "dev/${each%:*}" c 1 "${each#*:}" || exit; done
mkdir outside && pivot_root . outside && umount -l outside && rmdir outside &&
    exec env -i container=tests PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --unit=multi-user.target
"""
LONGEST_BOOT_S = 120


def unified_hierarchy():
    """Where the cgroups of version 2 are, alone or beside those of version 1."""
    found = re.search(r"^\S+ (\S+) cgroup2 ", pathlib.Path("/proc/mounts").read_text(encoding="utf-8"), re.M)
    if not found:
        raise NotThere("no cgroups of version 2 here")
    return pathlib.Path(found[1])


class SystemdMachine(Inside):
    """Of a RootCopy that has the packages systemd and dbus. Raises NotThere."""

    def __init__(self, root):
        self.cgroup = unified_hierarchy() / f"tracer-machine-{root.holder.pid}"
        self.unshare = None
        try:
            self.cgroup.mkdir()
            self.boot(root)
        except OSError as error:
            self.close()
            raise NotThere(f"no cgroup can be made: {error}") from error
        except NotThere:
            self.close()
            raise

    def boot(self, root):
        words = ["nsenter", f"--mount=/proc/{root.holder.pid}/ns/mnt", "unshare", "--mount", "--pid", "--fork", "--kill-child",
                 "--uts", "--ipc", "--net", "--cgroup", "sh", "-c", BOOT, "sh", str(root.merged)]
        self.unshare = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "sh", "-c", 'echo $$ > "$0" && exec "$@"',
                                         str(self.cgroup / "cgroup.procs"), *words],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        until = time.monotonic() + LONGEST_BOOT_S
        while not self.is_up():
            if self.unshare.poll() is not None:
                raise NotThere("systemd does not start here: " + self.unshare.stdout.read().decode(errors="replace")[-500:])
            if time.monotonic() > until:
                raise NotThere(f"systemd does not come up here: {self.run('systemctl', 'list-jobs')[1][-500:]}")
            time.sleep(0.1)

    def is_up(self):
        children = pathlib.Path(f"/proc/{self.unshare.pid}/task/{self.unshare.pid}/children")
        self.first = children.read_text().strip() if children.exists() else ""
        name = pathlib.Path(f"/proc/{self.first}/comm")
        if not self.first or not name.exists() or name.read_text() != "systemd\n":
            return False
        return self.run("systemctl", "is-system-running")[1].strip() in ("running", "degraded")

    def close(self):
        if self.unshare:
            self.unshare.kill()
            self.unshare.communicate()
        if not self.cgroup.exists():
            return
        while "populated 1" in (self.cgroup / "cgroup.events").read_text():
            time.sleep(0.02)
        for folder, _, _ in os.walk(self.cgroup, topdown=False):
            os.rmdir(folder)

    def path(self, path):
        return pathlib.Path(f"/proc/{self.first}/root/{path.lstrip('/')}")

    def words(self, *words):
        return ["nsenter", f"--target={self.first}", "--mount", "--pid", "--net", "--uts", "--ipc", "--cgroup", "--root", "--wd",
                *map(str, words)]

    def as_user(self, name, *words):
        """A command of a user's own, in a unit and the slice of the user."""
        uid = self.run("id", "-u", name)[1].strip()
        return ("systemd-run", "--quiet", f"--uid={name}", f"--slice=user-{uid}.slice", "--pipe", "--wait",
                f"--setenv=HOME=/home/{name}", f"--working-directory=/home/{name}", *words)
