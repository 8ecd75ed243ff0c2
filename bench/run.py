#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures libtracer's overhead beside its peers: paired, interleaved, as ratios.

usage: bench/run.py [--rounds N] [--only storm,dd,pipe,ping,bulk,opens,demo,cost,programs,memory,living,million]
                    [--tracers libtracer,psutil] [--before TRACERD] [--json FILE]

Needs root and build/release/tracerd. libtracer is measured with its lifecycle family only, beside the peers that see as much
(bpftrace, execsnoop and exitsnoop of libbpf-tools, perf), and with all families, beside bpftrace summing the time off the CPU by
command, offcputime of libbpf-tools and a poll of all processes by psutil every 0.1 s. Peers are measured where they are installed.
Each round runs each workload untraced and under each tracer, in an order that changes from round to round; a ratio is formed
within a round, and medians are told. With --before, a tracerd of an earlier build takes part. Nothing else should run meanwhile.
"programs" measures what each program in the kernel takes, a run and for each turn of `ping` and `opens`.
"""
import argparse
import ctypes
import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build/bench"
TRACERD = ROOT / "build/release/tracerd"
BPFTRACE = """
tracepoint:sched:sched_process_fork { printf("fork %d %d\\n", args->parent_pid, args->child_pid); }
tracepoint:sched:sched_process_exec { printf("exec %d %s\\n", args->pid, str(args->filename)); }
tracepoint:sched:sched_process_exit { printf("exit %d %s\\n", args->pid, args->comm); }
"""
BPFTRACE_OFF_CPU = """
tracepoint:sched:sched_switch {
    @out[args->prev_pid] = nsecs;
    if (@out[args->next_pid]) {
        @off[args->next_comm] = sum(nsecs - @out[args->next_pid]);
        delete(@out[args->next_pid]);
    }
}
"""
SYSTEM_PYTHON = "/usr/bin/python3"
PSUTIL = """
import psutil, time
while True:
    for process in psutil.process_iter(["pid", "name", "cmdline", "cpu_times", "memory_info", "io_counters"]):
        pass
    time.sleep(0.1)
"""
ALL_FAMILIES = "waits,snapshots"
WORKLOADS = {
    "storm": [str(BUILD / "storm"), "4000", str(BUILD / "noop")],
    "dd": ["dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=1500000", "status=none"],
    "pipe": ["sh", "-c", f"gzip -c {BUILD}/input | md5sum"],
    "ping": [str(BUILD / "pingpong"), "60000", "100"],
    "bulk": [str(BUILD / "pingpong"), "30000", "131072", "1"],
    "opens": [str(BUILD / "opens"), "3000000", str(BUILD / "input")],
    "demo": ["bash", str(ROOT / "examples/pipeline/pipeline.sh"), str(BUILD / "demo")],
}
TURNS = {
    "ping": ([str(BUILD / "pingpong"), "20000", "100"], 20000, "waits,network,files"),
    "opens": ([str(BUILD / "opens"), "300000", str(BUILD / "input")], 300000, "files"),
}
DEFAULT = "storm,dd,pipe,cost,memory,living"


def prepare():
    BUILD.mkdir(parents=True, exist_ok=True)
    for name in ("storm", "pingpong", "opens"):
        subprocess.run(["cc", "-O2", "-o", BUILD / name, ROOT / f"bench/{name}.c"], check=True)
    subprocess.run(["cc", "-O2", "-static", "-o", BUILD / "noop", ROOT / "bench/noop.c"], check=True)
    if not (BUILD / "input").exists():
        block = bytes(range(256)) * 4096
        with open(BUILD / "input", "wb") as out:
            for i in range(24):
                out.write(bytes(b ^ (i * 37 & 255) for b in block[:65536]) * 16 + os.urandom(1 << 20))
    if not (BUILD / "demo").exists():
        subprocess.run([sys.executable, ROOT / "examples/pipeline/make_data.py", "--out", BUILD / "demo"], check=True,
                       stdout=subprocess.DEVNULL)


def tracers(folder, wanted=None, before=None):
    """Name -> commands that trace the whole host until interrupted; those whose name begins with one that is wanted."""
    watch = ["watch", "--host", "--record", f"{folder}/bench.tracer"]
    found = {"libtracer, lifecycle": [[str(TRACERD), *watch, "--families", "none"]], "libtracer, all": [[str(TRACERD), *watch]]}
    if before:
        found["libtracer before, all"] = [[before, *watch]]
    if shutil.which("bpftrace"):
        found["bpftrace"] = [["bpftrace", "-e", BPFTRACE]]
        found["bpftrace, off-CPU"] = [["bpftrace", "-e", BPFTRACE_OFF_CPU]]
    if shutil.which("execsnoop") and shutil.which("exitsnoop"):
        found["libbpf-tools"] = [["execsnoop"], ["exitsnoop"]]
    if shutil.which("offcputime"):
        found["offcputime"] = [["offcputime", "3600"]]
    if subprocess.run([SYSTEM_PYTHON, "-c", "import psutil"], stderr=subprocess.DEVNULL).returncode == 0:
        found["psutil"] = [[SYSTEM_PYTHON, "-c", PSUTIL]]
    if shutil.which("perf"):
        found["perf record"] = [["perf", "record", "-q", "-a", "-o", f"{folder}/perf.data", "-e", "sched:sched_process_fork",
                                 "-e", "sched:sched_process_exec", "-e", "sched:sched_process_exit"]]
    return {name: commands for name, commands in found.items() if not wanted or name.startswith(tuple(wanted))}


class Tracing:
    """Runs a tracer's commands for as long as the block lasts."""

    def __init__(self, commands):
        self.commands = commands

    def __enter__(self):
        self.children = [subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                          stderr=subprocess.PIPE if len(self.commands) == 1 else subprocess.DEVNULL)
                         for command in self.commands]
        time.sleep(2)
        for child in self.children:
            if child.poll() is not None:
                sys.exit(f"{child.args[0]} ended at once with {child.returncode}; bpftrace and libbpf-tools need tracefs and "
                         "debugfs: mount -t tracefs x /sys/kernel/tracing; mount -t debugfs x /sys/kernel/debug")
        return self

    def __exit__(self, *_):
        self.messages = ""
        for child in self.children:
            child.send_signal(signal.SIGINT)
        for child in self.children:
            try:
                told = child.communicate(timeout=60)[1]
            except subprocess.TimeoutExpired:
                child.kill()
                told = child.communicate()[1]
                if child.args[0] != "bpftrace":  # which sometimes does not end
                    raise
            self.messages += (told or b"").decode(errors="replace")

    def cpu_ns(self):
        """Of all threads."""
        return sum(int(each.read_text().split()[0])
                   for each in pathlib.Path(f"/proc/{self.children[0].pid}/task").glob("*/schedstat"))

    def rss_kib(self):
        status = pathlib.Path(f"/proc/{self.children[0].pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0])


def wall_ns(workload):
    begin = time.monotonic_ns()
    result = subprocess.run(WORKLOADS[workload], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return int(result.stdout) if workload == "storm" else time.monotonic_ns() - begin


def ratios(workload, rounds, folder, wanted, before):
    contenders = {"untraced": [], **tracers(folder, wanted, before)}
    names = list(contenders)
    seen = {name: [] for name in names if name != "untraced"}
    wall_ns(workload)
    for number in range(rounds):
        walls = {}
        for name in names[number % len(names):] + names[:number % len(names)]:
            with Tracing(contenders[name]):
                walls[name] = wall_ns(workload)
        for name, values in seen.items():
            values.append(walls[name] / walls["untraced"])
        print(f"  {workload} round {number + 1}/{rounds}", {n: round(v[-1], 3) for n, v in seen.items()}, file=sys.stderr)
    return {name: {"median": statistics.median(v), "min": min(v), "max": max(v)} for name, v in seen.items()}


class BpfStatistics:
    """Lets the kernel time BPF programs, for as long as the block lasts: BPF_ENABLE_STATS, undone by closing."""

    def __enter__(self):
        attributes = (ctypes.c_uint32 * 16)()
        libc = ctypes.CDLL(None, use_errno=True)
        number = {"x86_64": 321, "aarch64": 280}[os.uname().machine]
        self.fd = libc.syscall(number, 32, ctypes.byref(attributes), 4)
        if self.fd < 0:
            sys.exit("BPF statistics are refused: " + os.strerror(ctypes.get_errno()))
        return self

    def __exit__(self, *_):
        os.close(self.fd)

    @staticmethod
    def programs():
        bpftool = shutil.which("bpftool") or "/usr/sbin/bpftool"
        listed = json.loads(subprocess.run([bpftool, "-j", "prog", "show"], check=True, stdout=subprocess.PIPE).stdout)
        return {p["id"]: (p.get("name", ""), p.get("run_cnt", 0), p.get("run_time_ns", 0)) for p in listed}


def costs(command, count, rounds, folder, families, before):
    """Kernel and daemon time per process lifetime, or other turn, of this build and of the one before in turns."""
    found = {name: ([], [], {}, []) for name in ("now", *(["before"] if before else []))}
    for _ in range(rounds):
        for name, results in found.items():
            cost(before if name == "before" else str(TRACERD), command, count, folder, families, *results)
    def spread(values):
        return {"median": statistics.median(values), "min": min(values), "max": max(values)}
    return {name: {"kernel_ns": spread(kernel), "daemon_ns": spread(daemon),
                   "programs": {n: {"runs": statistics.median(r for r, _ in v), "ns": statistics.median(t for _, t in v)}
                                for n, v in programs.items()},
                   "turns": count, "complete": complete}
            for name, (kernel, daemon, programs, complete) in found.items()}


def cost(tracerd, command, count, folder, families, kernel, daemon, programs, complete):
    """Adds that of running a command once; every program run counted."""
    old = set(BpfStatistics.programs())
    with Tracing([[tracerd, "watch", "--pid", str(os.getpid()), "--record", f"{folder}/cost.tracer",
                   "--families", families]]) as tracing:
        with BpfStatistics() as stats:
            cpu_before, before = tracing.cpu_ns(), stats.programs()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            time.sleep(0.5)
            cpu_after, after = tracing.cpu_ns(), stats.programs()
    mine = {i: v for i, v in after.items() if i not in old}
    total = 0
    for i, (name, runs, ns) in mine.items():
        _, old_runs, old_ns = before.get(i, ("", 0, 0))
        if runs > old_runs:
            programs.setdefault(name, []).append(((runs - old_runs) / count, (ns - old_ns) / (runs - old_runs)))
            total += ns - old_ns
    kernel.append(total / count)
    daemon.append((cpu_after - cpu_before) / count)
    complete[:] = [line for line in tracing.messages.splitlines() if "complete" in line]
    print(f"  cost: kernel {kernel[-1]:.0f} ns, daemon {daemon[-1]:.0f} ns a turn", complete, file=sys.stderr)


def memory(folder, storms):
    """Resident memory of the daemon and of the maps after 20,000 processes, and after so many times that."""
    with Tracing([[str(TRACERD), "watch", "--pid", str(os.getpid()), "--record", f"{folder}/memory.tracer"]]) as tracing:
        run = [str(BUILD / "storm"), "20000", str(BUILD / "noop")]
        subprocess.run(run, check=True, stdout=subprocess.DEVNULL)
        first = tracing.rss_kib()
        for _ in range(storms - 1):
            subprocess.run(run, check=True, stdout=subprocess.DEVNULL)
        last = tracing.rss_kib()
    return {"rss_kib_after_20000": first, f"rss_kib_after_{20000 * storms}": last, "ratio": last / first,
            "said": [line for line in tracing.messages.splitlines() if "complete" in line or "cost" in line]}


def living(count, folder):
    """CPU of the daemon and of the kernel programs it reads from, as shares of one CPU, with so many that live and sleep."""
    sleepers = [subprocess.Popen(["sleep", "1000"]) for _ in range(count)]
    try:
        with Tracing([[str(TRACERD), "watch", "--pid", str(os.getpid()), "--record", f"{folder}/living.tracer"]]) as tracing:
            seconds = 10
            begin = tracing.cpu_ns()
            time.sleep(seconds)
            share = (tracing.cpu_ns() - begin) / (seconds * 1e9)
            rss = tracing.rss_kib()
    finally:
        for sleeper in sleepers:
            sleeper.kill()
        for sleeper in sleepers:
            sleeper.wait()
    return {"processes": count, "share_of_one_cpu": share, "rss_kib": rss}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", default=DEFAULT)
    parser.add_argument("--tracers", help="only those whose names begin so")
    parser.add_argument("--before", help="the tracerd of an earlier build")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("needs root")
    # In the background of a shell it would be ignored, and some tracers leave it so.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if not TRACERD.exists():
        sys.exit("build it first: cmake --preset release && cmake --build --preset release")
    prepare()
    wanted = options.tracers.split(",") if options.tracers else None
    results = {"kernel": os.uname().release, "cpus": os.cpu_count(), "rounds": options.rounds}
    with tempfile.TemporaryDirectory() as folder:
        for name in options.only.split(","):
            if name in WORKLOADS:
                results[name] = ratios(name, options.rounds, folder, wanted, options.before)
            elif name == "cost":
                storm = [str(BUILD / "storm"), "20000", str(BUILD / "noop")]
                for families in ("none", ALL_FAMILIES):
                    results[f"cost, {families}"] = costs(storm, 20000, max(3, options.rounds // 3), folder, families, options.before)
            elif name == "programs":
                for workload, (command, turns, families) in TURNS.items():
                    results[f"programs, {workload}"] = costs(command, turns, options.rounds, folder, families, options.before)
            elif name == "living":
                results[name] = living(2000, folder)
            elif name == "memory":
                results[name] = memory(folder, 10)
            elif name == "million":
                results[name] = memory(folder, 50)
            else:
                sys.exit(f"there is no benchmark '{name}'")
    names = tracers("", wanted, options.before)
    print("| workload | " + " | ".join(names) + " |")
    print("|---|" + "---|" * len(names))
    for name in WORKLOADS:
        if name in results:
            print(f"| {name} | " + " | ".join("{median:.3f} ({min:.3f} to {max:.3f})".format(**v)
                                              for v in results[name].values()) + " |")
    for name in results:
        if name not in WORKLOADS and isinstance(results[name], dict):
            print(f"{name}: {json.dumps(results[name])}")
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
