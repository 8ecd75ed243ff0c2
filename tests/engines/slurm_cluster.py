# SPDX-License-Identifier: Apache-2.0
"""Slurm on this machine alone: munged, slurmctld and slurmd with all of their files in one folder."""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time

import ending
import installed

SLURM_CONF = """
ClusterName={cluster}
SlurmctldHost={node}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType={proctrack}
TaskPlugin={task_plugin}
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
DefMemPerCPU=256
SchedulerParameters=sched_interval=1,batch_sched_delay=0
SchedulerTimeSlice=5
ReturnToService=2
MpiDefault=none
MinJobAge=30
JobRequeue=0
NodeName={node} NodeAddr=127.0.0.1 CPUs=2 RealMemory=2048 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=60 State=UP OverSubscribe=YES:4
"""
CGROUP_CONF = """
CgroupPlugin=cgroup/v1
CgroupMountpoint=/sys/fs/cgroup
CgroupAutomount=no
ConstrainRAMSpace=yes
ConstrainCores=no
ConstrainDevices=no
"""
PACKAGES = "slurmctld slurmd slurm-client munge"


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Cluster:
    """Ends with stop(), which leaves no process and no cgroup."""

    def __init__(self, workspace, with_cgroups):
        self.programs = {name: installed.program(name, PACKAGES)
                         for name in ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scontrol")}
        self.folder = workspace.folder / "slurm"
        self.processes = []
        self.node = socket.gethostname().split(".")[0]
        self.with_cgroups = with_cgroups
        for name in ("state", "spool"):
            (self.folder / name).mkdir(parents=True)
        self.folder.chmod(0o755)
        values = {"folder": self.folder, "node": self.node, "cluster": "libtracer", "controller_port": free_port(),
                  "node_port": free_port(), "proctrack": "proctrack/cgroup" if with_cgroups else "proctrack/linuxproc",
                  "task_plugin": "task/cgroup" if with_cgroups else "task/none"}
        (self.folder / "slurm.conf").write_text(SLURM_CONF.format(**values))
        if with_cgroups:
            if not os.path.isdir("/sys/fs/cgroup/freezer") or not os.path.isdir("/sys/fs/cgroup/memory"):
                installed.skip("no cgroup v1 controllers freezer and memory, which this Slurm needs")
            (self.folder / "cgroup.conf").write_text(CGROUP_CONF)
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        self.environment = {"SLURM_CONF": str(self.folder / "slurm.conf")}
        self.had = set(self.cgroups())

    def cgroups(self):
        return pathlib.Path("/sys/fs/cgroup").glob(f"*/slurm_{self.node}*")

    def spawn(self, name, *words):
        with open(self.folder / f"{name}.out", "wb") as log:
            self.processes.append(subprocess.Popen([self.programs[name], *words], stdin=subprocess.DEVNULL, stdout=log,
                                                   stderr=log, env=os.environ | self.environment))

    def start(self):
        folder = self.folder
        self.spawn("munged", "--foreground", "--force", f"--socket={folder}/munge.socket",
                   f"--key-file={folder}/munge.key", f"--pid-file={folder}/munged.pid",
                   f"--log-file={folder}/munged.log", f"--seed-file={folder}/munged.seed", "--num-threads=2")
        self.wait_until(lambda: os.path.exists(f"{folder}/munge.socket"), "munged listens")
        self.spawn("slurmctld", "-D", "-c")
        self.spawn("slurmd", "-D")
        self.wait_until(lambda: "idle" in self.output("sinfo", "-h", "-o", "%T"), "the node is idle")

    def output(self, *words):
        result = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                text=True, env=os.environ | self.environment, timeout=60, check=False)
        return result.stdout

    def wait_for_jobs(self):
        self.wait_until(lambda: self.output("squeue", "-h") == "", "all jobs end")

    def wait_until(self, condition, what, seconds=60):
        until = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > until or any(one.poll() is not None for one in self.processes):
                logs = {path.name: path.read_text(errors="replace")[-1500:] for path in self.folder.glob("*.log")}
                raise AssertionError(f"never happened: {what}: {self.output('squeue')} {logs}")
            time.sleep(0.1)

    def stop(self):
        if len(self.processes) == 3:
            self.output("scancel", "-u", "root")
        for process in reversed(self.processes):
            ending.end(process, signal.SIGTERM, 20)
        self.processes = []
        until = time.monotonic() + 10
        while time.monotonic() < until and not self.remove_cgroups():
            time.sleep(0.2)
        shutil.rmtree(self.folder, ignore_errors=True)

    def remove_cgroups(self):
        """True if none is left that wasn't there before."""
        for root in set(self.cgroups()) - self.had:
            for folder, _, _ in os.walk(root, topdown=False):
                try:
                    os.rmdir(folder)
                except OSError:
                    return False
        return True
