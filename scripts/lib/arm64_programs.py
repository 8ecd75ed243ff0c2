# SPDX-License-Identifier: Apache-2.0
"""BPF programs for arm64. No machine here runs them, so that they are translated for it is all that is seen."""
import subprocess


def translate(source, output):
    """Its status, and what clang says; a warning is an error."""
    done = subprocess.run(["clang", "-target", "bpf", "-D__TARGET_ARCH_arm64", "-O2", "-g", "-mcpu=v3", "-Wall", "-Werror",
                           "-Wno-unknown-attributes", "-c", source, "-o", output],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, done.stdout
