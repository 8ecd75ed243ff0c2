#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how far `tracer whatif` is from real runs: three pipelines on 1 CPU and on 2, each predicted from the other.

usage: bench/whatif.py [--rounds N] [--only NAMES] [--nice N] [--tracerd FILE] [--folder DIR]

make: chains of files, waits and a program with threads. xargs: sort and one-threaded compressors. snakemake: bwa mem with two
threads and samtools; needs snakemake, bwa and samtools. xz: a known limit, without a bar. A round runs a
pipeline on 1 CPU and on 2, one after the other.
--nice -19 keeps other work on the machine out of it. Exit status 1: a median error is beyond the bar.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BAR = 0.15

MAKE = r"""
SAMPLES = 1 2 3 4 5 6
all: merged.gz
raw%.txt:
	sleep 0.4; seq 1 $$(($* * 40000 + 100000)) | md5sum > /dev/null; seq 1 $$(($* * 30000 + 150000)) | sort -R > $@
sorted%.txt: raw%.txt
	sort --parallel=2 -S 64M $< > $@
packed%.gz: sorted%.txt
	xz -T 2 -1 -c --block-size=512KiB $< > $@
merged.gz: $(foreach s,$(SAMPLES),packed$(s).gz)
	cat $^ | xz -d | gzip -6 > $@
"""
SNAKEFILE = r"""
S = ["a", "b", "c", "d"]
rule all:
    input: "all.txt"
rule index:
    output: "ref.fa.bwt"
    shell: "bwa index ref.fa"
rule align:
    input: "ref.fa.bwt", "{s}.fq"
    output: "{s}.bam"
    threads: 1
    shell: "bwa mem -t 2 ref.fa {wildcards.s}.fq | samtools sort -o {output} -"
rule flagstat:
    input: "{s}.bam"
    output: "{s}.txt"
    shell: "samtools index {input}; samtools flagstat {input} > {output}"
rule sum:
    input: expand("{s}.txt", s=S)
    output: "all.txt"
    shell: "cat {input} > {output}"
"""


def prepare_make(folder: pathlib.Path) -> list[str]:
    (folder / "Makefile").write_text(MAKE)
    return ["make", "-s", "-j3"]


def prepare_xargs(folder: pathlib.Path) -> list[str]:
    make_texts(folder, 12)
    (folder / "run").write_text("ls in* | xargs -P 3 -I{} sh -c 'tr \\  \\\\n < {} | sort > {}.txt; bzip2 -k {}; gzip -9 -c {}.txt > {}.gz'\n"
                                "cat in*.gz | md5sum; cat in*.bz2 | bzip2 -dc | wc -c\n")
    return ["sh", "run"]


def prepare_xz(folder: pathlib.Path) -> list[str]:
    make_texts(folder, 8)
    (folder / "run").write_text("ls in* | xargs -P 4 -n 1 xz -4 -T 1 -k\n")
    return ["sh", "run"]


def make_texts(folder: pathlib.Path, count: int) -> None:
    generator = random.Random(7)
    words = [bytes(generator.choices(range(97, 123), k=7)) for _ in range(4000)]
    for number in range(count):
        (folder / f"in{number:02}").write_bytes(b" ".join(generator.choices(words, k=150_000 + number * 40_000)))


def prepare_snakemake(folder: pathlib.Path) -> list[str]:
    generator = random.Random(7)
    genome = "".join(generator.choices("ACGT", k=1_500_000))
    (folder / "ref.fa").write_text(">chr\n" + "\n".join(genome[i:i + 80] for i in range(0, len(genome), 80)) + "\n")
    for place, sample in enumerate("abcd"):
        with open(folder / f"{sample}.fq", "w") as file:
            for read in range(15_000 + 6_000 * place):
                at = generator.randrange(len(genome) - 150)
                bases = "".join(base if generator.random() > 0.02 else generator.choice("ACGT") for base in genome[at:at + 150])
                file.write(f"@r{read}\n{bases}\n+\n{'I' * 150}\n")
    (folder / "Snakefile").write_text(SNAKEFILE)
    return ["snakemake", "--cores", "2", "--quiet", "all"]


PIPELINES = {"make": prepare_make, "xargs": prepare_xargs, "snakemake": prepare_snakemake, "xz": prepare_xz}
# Four at once on one CPU evict each other's dictionaries from its caches and take up to 1.7 times the CPU time: not modeled.
LIMITS = {"xz"}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default=",".join(PIPELINES))
    parser.add_argument("--nice", type=int, default=0)
    parser.add_argument("--tracerd", default=str(ROOT / "build/release/tracerd"))
    parser.add_argument("--folder", help="keep the recordings there")
    options = parser.parse_args()
    bad = False
    with tempfile.TemporaryDirectory(prefix="whatif-") as temporary:
        for name in options.only.split(","):
            bad |= measure(name, options, pathlib.Path(options.folder or temporary) / name)
    return 1 if bad else 0


def set_nice(nice: int) -> None:
    """Of the new session, and of its group where the kernel groups sessions."""
    if nice:
        os.setpriority(os.PRIO_PROCESS, 0, nice)
        if os.path.exists("/proc/self/autogroup"):
            pathlib.Path("/proc/self/autogroup").write_text(str(nice))


def measure(name: str, options: argparse.Namespace, folder: pathlib.Path) -> bool:
    from tracer.whatif import what_if

    data = folder / "data"
    shutil.rmtree(data, ignore_errors=True)
    data.mkdir(parents=True)
    command = PIPELINES[name](data)
    given = {entry.name for entry in data.iterdir()}
    walls: dict[int, list[float]] = {1: [], 2: []}
    said: dict[int, list[float]] = {1: [], 2: []}
    own: dict[int, list[float]] = {1: [], 2: []}
    errors: dict[int, list[float]] = {1: [], 2: []}
    inside = {1: 0, 2: 0}
    for number in range(options.rounds):
        results = {}
        for cpus in (1, 2) if number % 2 else (2, 1):
            for entry in data.iterdir():
                if entry.name not in given:
                    shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
            recording = folder / f"{number}-{cpus}.tracer"
            subprocess.run([options.tracerd, "run", "--no-history", "--no-live", "--record", recording, "--", "taskset", "-c",
                            "0" if cpus == 1 else "0,1", *command], cwd=data, check=True, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, start_new_session=True, preexec_fn=lambda: set_nice(options.nice))
            result = results[cpus] = what_if(recording, cpus=[3 - cpus], recorded_cpus=cpus)
            walls[cpus].append(result.recorded_wall_ns / 1e9)
            own[cpus].append(result.replayed_wall_ns / result.recorded_wall_ns - 1)
            said[3 - cpus].append(result.rows[0]["wall_ns"] / 1e9)
        for cpus in (1, 2):
            errors[cpus].append(said[cpus][-1] / walls[cpus][-1] - 1)
            row = results[3 - cpus].rows[0]
            inside[cpus] += row["wall_low_ns"] <= results[cpus].recorded_wall_ns <= row["wall_high_ns"]
        print(f"  {name} round {number}: " + "; ".join(
            f"{cpus} CPU {walls[cpus][-1]:.2f} s, predicted {said[cpus][-1]:.2f} s ({errors[cpus][-1]:+.1%}), replayed "
            f"{own[cpus][-1]:+.1%}" for cpus in (1, 2)), flush=True)
    bad = False
    for cpus in (1, 2):
        middle = statistics.median(errors[cpus])
        bad |= abs(middle) > BAR and name not in LIMITS
        print(f"{name}: {cpus} CPU from {3 - cpus}: real {statistics.median(walls[cpus]):.2f} s, predicted "
              f"{statistics.median(said[cpus]):.2f} s: {middle:+.1%} ({min(errors[cpus]):+.1%} to {max(errors[cpus]):+.1%}), in its range "
              f"{inside[cpus]} of {options.rounds}", flush=True)
    return bad


if __name__ == "__main__":
    sys.exit(main())
