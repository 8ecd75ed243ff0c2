#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The expected end of real runs: bench/expected_end.py TRACERD SNAKEMAKE [RUNS]. Needs root, and a Python with libtracer.

Records a Snakemake pipeline RUNS times (14), each with samples of other sizes, and asks for each from the fifth on, at half of its
time, by those before it."""

import random
import subprocess
import sys
import tempfile
from pathlib import Path

import tracer
from tracer.view._expected import expected_of, past_runs
from tracer.view._model import View

SNAKEFILE = """
SAMPLES = config["sizes"].split(",")
rule all:
    input: "report.txt"
rule index:
    output: "index.txt"
    shell: "seq 400000 | sort -R | md5sum > {output}"
rule align:
    input: "index.txt"
    output: "{sample}.align.txt"
    shell: "seq {wildcards.sample} | sort -R > {output}"
rule count:
    input: "{sample}.align.txt"
    output: "{sample}.count.txt"
    shell: "sort -n {input} | awk '{{ s += $1 % 7; print s }}' | tail -1 > {output}; sleep 0.5"
rule report:
    input: expand("{sample}.count.txt", sample=SAMPLES)
    output: "report.txt"
    shell: "cat {input} > {output}; seq 600000 | sort -R | tail -1 >> {output}"
"""
SAMPLES = 10
FIRST = 4


def main():
    tracerd, snakemake = (str(Path(word).absolute()) for word in sys.argv[1:3])
    runs = int(sys.argv[3]) if len(sys.argv) > 3 else 14
    chance = random.Random(45)
    past, near, near_left, held = [], 0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(runs):
            place = Path(folder) / str(number)
            place.mkdir()
            (place / "Snakefile").write_text(SNAKEFILE, encoding="utf-8")
            sizes = ",".join(str(round(500_000 * chance.lognormvariate(0, 0.35)) + at) for at in range(SAMPLES))
            recording = f"{folder}/{number}.tracer"
            subprocess.run([tracerd, "run", "--no-live", "--no-history", "--record", recording, "--", snakemake, "--cores", "2", "--quiet", "all",
                            "--config", f"sizes='{sizes}'"], cwd=place, check=True, capture_output=True)
            view = View(tracer.read(recording))
            view.refresh()
            (run,) = past_runs(view.index)
            half = (run.begin_ns + run.end_ns) // 2
            left = run.end_ns - half
            said = expected_of(run.at(half, {}), past)
            line = f"{number + 1}: {(run.end_ns - run.begin_ns) / 1e9:.1f} s, {len(run.tasks)} tasks"
            if said is not None and number >= FIRST:
                missed = abs(said.left_ns - left)
                near, near_left = near + (missed <= 0.4 * left), near_left + (missed <= 0.2 * left)
                held += said.least_ns <= left <= said.most_ns
                line += f"; at half: {left / 1e9:.1f} s left, said {said.text()}"
            print(line, flush=True)
            past.append(run)
    print(f"of {runs - FIRST}, the end within 20 % of the run's time: {near} (of what was left: {near_left}); in the range: {held}")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main()
