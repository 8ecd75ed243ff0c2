# SPDX-License-Identifier: Apache-2.0
import subprocess

test = snakemake.params.test  # noqa: F821: Snakemake defines it
subprocess.check_call(["marker", "--test", test, "--step", snakemake.rule])  # noqa: F821
subprocess.check_call(f"marker --test {test} --step {snakemake.rule}; true", shell=True)  # noqa: F821
open(snakemake.output[0], "w").close()  # noqa: F821
